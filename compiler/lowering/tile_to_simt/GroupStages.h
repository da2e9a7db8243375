// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stages of loops over matmuls of warp groups (sm_90): matmuls, copies, and what is computed from results are stages,
// in the order of the loop. The groups of warps multiply one after the other.
#pragma once
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <vector>

namespace heddle::simt {

/// A way to make such stages.
struct GroupWay {
  enum Copies : uint8_t {
    InPlace, ///< a stage where they stand
    First,   ///< a stage before the first matmul, which waits for the matmul of the iteration before
  } copies = InPlace;
  size_t stages = 0;
  /// After how many of them what the copies bring for the next iteration is waited for.
  size_t waitAfter = 0;
  /// The wait stands before the copies of its iteration, and is for one group more.
  bool waitsLonger = false;
};

/// Those of an innermost loop that begins with a wait for copies and a barrier; none for another loop. Fewer stages,
/// and so fewer barriers, come first, and then those that leave copies in flight for longest.
std::vector<GroupWay> waysOfGroups(mlir::scf::ForOp loop);
/// Rewrites the loop by one of its ways.
void makeGroupStages(mlir::scf::ForOp loop, const GroupWay &way);

} // namespace heddle::simt
