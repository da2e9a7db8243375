// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What each process of a group has launched, for all to see: a page of each, which only its owner can write. So a rank
// that launches something else than the others is found at the launch, without waiting for other ranks.
#pragma once
#include "runtime/processes/MemoryFile.h"
#include "runtime/processes/Neighbours.h"

namespace heddle {

class LaunchRing {
public:
  static constexpr size_t length = 1024; ///< launches that are remembered of each rank

  /// Collective, as Neighbours::exchange.
  LaunchRing(Neighbours &neighbours, double seconds);

  /// This rank makes its launch `number`, from 1 on, of what `hash` stands for. One thread at a time.
  void record(uint64_t number, uint64_t hash);
  struct Difference {
    int rank;
    uint64_t hash;
  };
  /// A rank that launched something else as its launch `number`, if one did and it is remembered.
  std::optional<Difference> differenceAt(uint64_t number, uint64_t hash) const;
  uint64_t countOf(int rank) const; ///< launches so far

  void fail();            ///< this rank launches no more, and expects no more of others
  int failedRank() const; ///< one of the others that has said so; -1 for none

private:
  struct Page;
  const int own;
  std::vector<FileMapping> mappings;
  std::vector<Page *> pages; ///< by rank
};

} // namespace heddle
