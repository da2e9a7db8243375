// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counts what a kernel asks of memory, as a device's counters would: of each vector memory instruction the lines that
// its lanes touch, however many lanes share one.
#pragma once
#include "simulator/memory/MemorySystem.h"
#include "simulator/memory/Watcher.h"

namespace heddle::simulator {

struct Transactions {
  /// Instructions of waves, and lines of lineBytes that they touch. Cache operations and accesses of no lane count for
  /// none.
  struct Count {
    uint64_t instructions = 0, lines = 0;
  };
  Count reads, writes, atomics;  ///< of global memory, by vector instructions
  Count scalarReads;             ///< lines of scalarLineBytes
  uint64_t scratch = 0, lds = 0; ///< instructions; a load to LDS is a read
  CacheCounts l2;

  static constexpr uint64_t scalarLineBytes = 64;
};

class TransactionCounter final : public Watcher {
public:
  void issued(Wave &wave, MemoryRequest &request) override;
  void performed(Wave &wave, MemoryRequest &request) override;
  Transactions counts;

private:
  void countGlobal(const MemoryRequest &request);
};

} // namespace heddle::simulator
