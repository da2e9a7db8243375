// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which bytes of an allocation hold what nothing has written. Kept by PoisonCheck. Most kernels write a buffer whole
// blocks at a time, so that a block has a flag for each of its bytes only when these differ: what is not looked at is
// memory that is never touched.
#pragma once
#include "simulator/state/ReportLine.h"
#include <cstdint>
#include <memory>
#include <vector>

namespace heddle::simulator {

class UnwrittenBytes {
public:
  enum : uint8_t { Written, Never, Copied }; ///< Copied: a store brought what nothing had written

  static constexpr uint64_t bytesBehind = 3; ///< have flags too, and are written (AddressSpace::toChange)

  /// All bytes have that flag.
  UnwrittenBytes(uint64_t sizeBytes, uint8_t flag);

  uint8_t at(uint64_t offset) const {
    uint8_t common = blocks[offset / blockBytes];
    return common == Mixed ? flags[offset] : common;
  }
  bool areWritten(uint64_t offset, uint64_t size) const;
  uint64_t countUnwritten(uint64_t offset, uint64_t size) const;
  void setWritten(uint64_t offset, uint64_t size);
  /// The flags of these bytes, one for each, to be changed.
  uint8_t *flagsOf(uint64_t offset, uint64_t size);

  std::optional<ReportLine> firstStore; ///< the report's line of the first store of what nothing had written

private:
  static constexpr uint64_t blockBytes = 256; ///< what the lanes of a wave write side by side
  static constexpr uint8_t Mixed = 0xFF;
  std::vector<uint8_t> blocks;      ///< the flag of all bytes of a block, or Mixed
  std::unique_ptr<uint8_t[]> flags; ///< of the bytes of mixed blocks; the others' are not initialised
};

} // namespace heddle::simulator
