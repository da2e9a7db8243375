// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a workgroup reads and writes while others run beside it, each as if it were alone: its stores are kept apart,
// and where it read and wrote is noted, so that afterwards one can tell whether it has seen what it would have
// seen in its turn.
#pragma once
#include "simulator/memory/AddressSpace.h"
#include "simulator/memory/Cache.h"
#include "simulator/memory/MemoryRequest.h"

namespace heddle::simulator {

class Speculation {
public:
  /// Of a workgroup. `memory` is a view of that of all, which nothing changes while the workgroup runs.
  void begin(AddressSpace &memory);
  void read(uint64_t address, unsigned size, void *out);
  void write(uint64_t address, unsigned size, const void *in);
  /// The request's read-modify-writes are done in its turn: the workgroup must not read there.
  void changeLater(const MemoryRequest &request);
  /// Whether it has written, or is to change, any of these bytes.
  bool hasWritten(uint64_t address, unsigned size) const;
  /// Whether the lanes, all in one buffer, find there what the workgroup would read; then it has read it.
  bool readsHome(const MemoryRequest &request, uint64_t lanes, unsigned size);

  /// Whether it has read where the other one has written.
  bool readsFrom(const Speculation &other) const;
  /// Whether it has read in a buffer of `home` between places that the launch has changed since its begin.
  bool readsChanged(AddressSpace &home) const;
  /// Puts its stores into the memory of all.
  void commit(AddressSpace &home);

private:
  /// The places in one buffer, from the lowest to the highest.
  struct Reach {
    uint64_t buffer = 0, first = 0, end = 0;
    bool meets(const Reach &other) const { return buffer == other.buffer && first < other.end && other.first < end; }
  };
  static void note(std::vector<Reach> &reaches, const Reach &reach);
  const Allocation &holder(uint64_t address, unsigned size, bool writes);

  AddressSpace *view = nullptr;
  std::vector<Reach> reads, writes;
  std::vector<Reach> changes; ///< of `writes`, by read-modify-writes
  Cache stored;               ///< of which the dirty bytes count
};

} // namespace heddle::simulator
