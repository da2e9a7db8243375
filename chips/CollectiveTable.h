// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What was measured of collectives on a chip: up to which sizes each kind of algorithm is the best, and with how many
// blocks. A chip without such a table gets plans by what its links carry (collectives/LinkLoads.h).
#pragma once
#include <cstdint>

namespace heddle {

/// Up to where packets are the best, in bytes.
struct PacketLimits {
  int64_t oneShot;   ///< all-reduce: the input's
  int64_t twoShot;   ///< all-reduce: then by two shots
  int64_t gathered;  ///< all-gather: of the larger array
  int64_t scattered; ///< reduce-scatter: of the larger array
  int64_t swapped;   ///< all-to-all: of either array
};

/// Where an algorithm stops being the best and the next begins, in bytes of the input.
struct Crossovers {
  PacketLimits ll, lamport;
  int64_t oneShot; ///< all-reduce: one shot up to here, when two shots can be direct
  int64_t staged;  ///< all-reduce: one shot up to here, when they cannot
  int64_t copied;  ///< other collectives: staged up to here, when they can be direct; of the larger array
  int64_t read;    ///< all-reduce: two shots, when they can be direct, read inputs up to here, and push them above
};

/// What is best on GPUs depends on how many ranks share the links and synchronise.
struct CollectiveTable {
  int mostRanks; ///< for collectives of so many ranks at most
  Crossovers limits;
  int packetBlocks;          ///< at most
  int64_t singlePacketBytes; ///< LL: up to here a thread sends one packet, adjacent to its warp's others; then two
  int64_t manyBlocksBytes;   ///< direct algorithms, and one shot by pulling: from here, of a slice or part of one rank,
                             ///< with as many blocks as there may be
  int mostWarps;             ///< of a block that would otherwise take a second turn
  int lamportWarps;          ///< of a block of Lamport's packets that has one turn in any case
  int64_t twoWordsBytes;     ///< of a slice or part: from here a thread sends two of Lamport's packets at once
  bool takesRows;            ///< a collective had better compute what is made of its rows
};

} // namespace heddle
