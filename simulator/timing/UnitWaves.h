// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The waves and workgroups of UnitModel, for its own sources.
#pragma once
#include "simulator/timing/UnitModel.h"

namespace heddle::simulator {

/// Vector registers, then scalar ones, then SCC.
inline constexpr unsigned vectorCount = 512, scalarCount = 128, registerCount = vectorCount + scalarCount + 1;

/// Calls `action(index)` for each register of the span.
template <typename Action>
void forRegisters(const RegisterSpan &span, Action action) {
  if (!span.isVector && span.first == sccRegister)
    return action(registerCount - 1);
  unsigned begin = span.isVector ? 0 : vectorCount, most = span.isVector ? vectorCount : scalarCount;
  for (unsigned index = span.first; index < std::min<unsigned>(span.first + span.words, most); ++index)
    action(begin + index);
}

struct UnitModel::WaveModel {
  GroupModel *group = nullptr;
  unsigned index = 0; ///< in the group
  std::deque<TimedOperation> operations;
  bool isComplete = false, hasEnded = false, isAtBarrier = false;
  int priority = 0;
  uint64_t nextIssue = 0; ///< not before
  Bound nextBound = Bound::Idle;
  uint32_t previous = 0; ///< instruction, by index

  bool isPrepared = false; ///< the next two are of the first operation
  uint64_t ready = 0;      ///< as far as the wave itself is concerned
  Bound bound = Bound::Idle;
  Bound unitBound = Bound::Idle; ///< what it has waited for since then
  uint32_t waiting = 0;          ///< whose wait it is: a barrier's, not that of the instruction after it

  uint64_t registerReady[registerCount] = {};
  /// When a matrix instruction may add to registers that the one before wrote, all of them and no others.
  uint64_t accumulatorReady[vectorCount] = {};
  uint8_t accumulatorWords[vectorCount] = {};
  std::deque<Flight> vector, local; ///< what vmcnt and lgkmcnt count

  void raise(uint64_t time, Bound reason) {
    if (time > ready)
      ready = time, bound = reason;
  }
};

struct UnitModel::GroupModel {
  size_t index = 0;
  std::vector<std::unique_ptr<WaveModel>> waves;
  unsigned live = 0, arrived = 0;
};

} // namespace heddle::simulator
