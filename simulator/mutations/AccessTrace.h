// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All that the waves of a run let others see: which instructions accessed memory, where, and with what. Two runs of the
// same trace differ in nothing but in which lane did what.
#pragma once
#include "simulator/memory/Watcher.h"
#include <set>
#include <unordered_map>

namespace heddle::simulator {

class AccessTrace final : public Watcher {
public:
  void beforeInstruction(Wave &wave, const Instruction &instruction) override;
  void issued(Wave &wave, MemoryRequest &request) override;
  void waveEnds(Wave &wave) override;

  /// 128 bits of hash over all waves, in whatever order they ended.
  struct Digest {
    uint64_t words[2] = {0, 0};
    bool operator==(const Digest &) const = default;
  };
  Digest digest() const { return total; }
  /// Whether the mask at this address ever left out a lane that was active.
  bool masks(uint64_t pc) const { return masked.contains(pc); }

private:
  void add(const Wave &wave, uint64_t value);
  std::unordered_map<uint32_t, Digest> waves; ///< by number, which says workgroup and launch
  Digest total;
  std::set<uint64_t> masked;
};

} // namespace heddle::simulator
