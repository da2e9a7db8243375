// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads an algorithm as a Promela model, so that SPIN checks all interleavings of its ranks under release/acquire
// rules: that every wait ends, that no access of memory races with another, and that every output is what the
// collective says. docs/testing.md describes the model, docs/collectives.md how to run it by hand.
#pragma once
#include "collectives/Plan.h"
#include <string>
#include <vector>

namespace heddle {

/// Something wrong with the protocol, to see whether the check finds it.
enum class ProtocolFault {
  None,
  RelaxedSignal, ///< the barrier's stores are relaxed, and no fence comes before them; Lamport: launches release
                 ///< nothing
  RelaxedWait,   ///< the barrier's polls are relaxed; Lamport: launches acquire nothing
  MissingWait,   ///< of each rank for its next one: in barriers, and for packets
  SingleBuffer,  ///< one parity instead of two
  SameEpoch,     ///< every round has the epoch, and the flag, of the first one
  SecondBarrier, ///< of each round is left out
  SourcesOnly,   ///< a barrier waits only for the ranks whose data are read after it
  KeptPacket,    ///< packets of Lamport's form stay where they came when they have been taken
  KeptEscape,    ///< so does what says which word one of them stands for
  EagerEscape,   ///< that is taken as it is, not waited for
  LateEscape,    ///< that is sent when the rank has waited for the others
};

struct ModelOptions {
  /// Of one call or of several: to the protocol it is the same. From the third on buffers are used again.
  int rounds = 3;
  ProtocolFault fault = ProtocolFault::None;
  bool inPlace = false; ///< of direct algorithms: input and output are the same memory
};

/// The most ranks and rounds that a model has names for.
inline constexpr int maxModelRanks = 3, maxModelRounds = 7;

const char *faultName(ProtocolFault fault);            ///< `relaxed_signal`, ...
const std::vector<ProtocolFault> &allProtocolFaults(); ///< but None

/// The model of the plan's algorithm for one block with one tile in each round. Throws Error{Input} for more ranks or
/// rounds than it has names for.
std::string promelaModel(const Plan &plan, const ModelOptions &options = {});

} // namespace heddle
