// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The algorithms: one file each in algorithms/, one table here.
#pragma once
#include "collectives/Protocol.h"
#include <string>
#include <vector>

namespace heddle {

struct Algorithm {
  const char *name;     ///< `one_shot_pull`
  const char *sentence; ///< for help and documentation
  std::vector<CollectiveKind> kinds;
  /// Whether the elements are cut into one slice per rank (the parts of `input` and `output` are then slices of the
  /// single part of an all-reduce or a broadcast).
  bool slices;
  int (*stagingSlots)(int ranks); ///< of each parity
  int (*inboxSlots)(int ranks);   ///< of each parity
  int barriers;                   ///< per round
  void (*write)(ProtocolWriter &writer, const Collective &collective);
  bool direct = false;    ///< ranks reach into each other's operands, which have to be plain buffers
  bool oneBuffer = false; ///< no rank stages for a round before all have read what was staged for the one before
  /// A flag says of each tile that it is staged, in place of barriers. Only for kernels that compute what is staged or
  /// compute with it, whose blocks share out the work (kernel/KernelFlags.cpp); in no table.
  bool flags = false;

  bool does(CollectiveKind kind) const;
};

extern const Algorithm oneShotPull, oneShotPackets, twoShotPull, twoShotPackets, twoShotDirect,
    twoShotPush;                                                                                  // all-reduce
extern const Algorithm gatherPackets, gatherPush, gatherPull, gatherDirectPush, gatherDirectPull; // all-gather
extern const Algorithm scatterPackets, scatterPull, scatterDirect;                                // reduce-scatter
extern const Algorithm exchangePackets, exchangePush, exchangeDirect;                             // all-to-all
extern const Algorithm oneShotFlags, scatterFlags, gatherFlags; // of kernels with matmuls: not among allAlgorithms
extern const Algorithm permutePull, broadcastPull, broadcastScatter;

/// Sends part or slice p to rank p as packets, for every other rank: all are asked for before one is sent, but for
/// costly ones.
void sendParts(ProtocolWriter &writer, int ranks);
/// Puts out, in its part or slice, what each other rank has sent into its slot, base + rank: all are waited for
/// together.
void putOutReceived(ProtocolWriter &writer, int ranks, int base = 0);

/// Every algorithm, in the order of the collectives.
const std::vector<const Algorithm *> &allAlgorithms();

/// Throws Error{Input} naming the algorithms of the collective.
const Algorithm &findAlgorithm(CollectiveKind kind, const std::string &name);

} // namespace heddle
