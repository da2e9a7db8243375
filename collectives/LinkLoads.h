// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an algorithm puts on the links between ranks: one more way of reading it. Where any two devices have links of
// their own (chips/Chip.h), a collective is as fast as its fullest link, so a plan looks for algorithms that use all of
// them at once and alike; where a switch joins them, as fast as the device that sends or gets the most.
#pragma once
#include "collectives/Algorithm.h"

namespace heddle {

struct PeerLinks;

struct LinkLoads {
  /// What may go on at once: between two barriers, or between packets and those that answer them.
  struct Phase {
    std::vector<double>
        parts; ///< [from][to]: how many parts or slices; packets with flags count twice, a tile in turn half
    double largest() const;
    double smallest(int ranks) const;    ///< of the pairs of different ranks
    double fullestPort(int ranks) const; ///< the most that a rank sends or gets: what goes over its link to a switch
    bool reads = false;                  ///< ranks read memory of others, which takes a way there and one back
    bool isIdle() const { return largest() == 0; }
  };
  int ranks = 1;
  std::vector<Phase> phases; ///< idle ones too
  int barriers = 0;          ///< of a round
  int legs = 0;              ///< times that packets are waited for, those with addresses among them
  /// Parts or slices that a rank stores into staging memory, its own or of others; packets as what they are twice, as
  /// they have twice the bytes or are replaced when they were read.
  double staged = 0;
};

/// Of one round that handles every element.
LinkLoads linkLoads(const Algorithm &algorithm, const Collective &collective, PacketForm packets);

/// What a call takes, in nanoseconds: an estimate, to compare algorithms by.
double estimateNanoseconds(const LinkLoads &loads, const PeerLinks &links, int64_t partBytes);

} // namespace heddle
