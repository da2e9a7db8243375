// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a random warp pipeline fills and reads its rings of tiles, and whether that is legal. Two groups of warps
// execute the stages one stage apart: this is a model of time, computed from numbers alone, and knows nothing of the
// compiler.
#pragma once
#include "tests/fuzz/Random.h"
#include <set>
#include <string>
#include <vector>

namespace heddle::gluon_programs {

/// Iteration k reads tile k of a ring, and fills the slot of tile k + ahead.
struct RingPlacement {
  bool isCopied = false; ///< by asynchronous copies; others: by loads and stores
  int64_t slots = 2, ahead = 1, fillStage = 0;
  std::vector<int64_t> readStages;
  size_t group = 0; ///< of copies: which group of an iteration has it
};

/// A wait for copies, directly before a stage; before stage 0 it may stand at the end of the loop.
struct WaitPlacement {
  int64_t stage = 0, pending = 0;
  bool isAtEnd = false;
};

struct PipelinePlacement {
  bool isStraight = false;       ///< no loop: the iterations one after the other
  int64_t stages = 2, ahead = 1; ///< `ahead`: of all copies
  std::vector<RingPlacement> rings;
  std::vector<int64_t> groupStages; ///< in which the groups of an iteration are made, in their order
  std::vector<WaitPlacement> waits;
  std::vector<bool> barriers; ///< before which stages the text has a barrier; the last: at the end of the loop
  int64_t pendingBefore = 0;  ///< of the wait between the copies before the pipeline and its first stage

  /// Rules of which one refuses it; empty: it is legal.
  std::set<std::string> brokenRules() const;
  /// Whether it is right where all warps execute the stages one after the other.
  bool isRightInOrder() const;

private:
  int64_t distance(const RingPlacement &ring, int64_t readStage) const;
  bool isLate(const WaitPlacement &wait) const;
  int64_t timeOfWait(const RingPlacement &ring, int64_t tile) const;
};

PipelinePlacement randomPlacement(fuzz::Random &random, bool isStraight, bool isLegal);

} // namespace heddle::gluon_programs
