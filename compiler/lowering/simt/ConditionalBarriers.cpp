// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Barriers that only some warps of a block come to. They order nothing, and from there on the warps are a barrier
// apart: HazardWalk counts by how many at most. That is sound where each is executed once at most, and where nothing
// but accesses of memory objects exchanges values at barriers.
#include "compiler/lowering/simt/HazardWalk.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

/// Whether a path leads from the block back to it.
static bool isInCycle(Block *block) {
  llvm::SetVector<Block *> reached(block->succ_begin(), block->succ_end());
  for (size_t i = 0; i < reached.size(); ++i)
    reached.insert(reached[i]->succ_begin(), reached[i]->succ_end());
  return reached.contains(block);
}

static bool isInLoop(Operation *op) {
  for (Operation *inner = op; !isa<triton::FuncOp>(inner); inner = inner->getParentOp())
    if (isa<LoopLikeOpInterface>(inner->getParentOp()) || isInCycle(inner->getBlock()))
      return true;
  return false;
}

LogicalResult HazardWalk::checkConditional() {
  SmallVector<Operation *> barriers;
  // A failed assertion is told to all threads, in loops that wait as well.
  auto exchanges = [&](Operation *op) {
    return (isBlockBarrier(op) && !isa<BarrierOp>(op)) || isa<triton::AssertOp>(op);
  };
  Operation *anyExchange = nullptr;
  function.walk([&](Operation *op) {
    if (isa<CondBarrierOp, ShiftWarpsOp>(op))
      barriers.push_back(op);
    else if (exchanges(op))
      anyExchange = op;
  });
  for (Operation *barrier : barriers) {
    auto some = dyn_cast<CondBarrierOp>(barrier);
    if (some && isInLoop(barrier))
      return barrier->emitOpError("stands in a loop: how many barriers warps are apart after it is not known");
    if (isDivergent(barrier))
      return barrier->emitOpError("stands in a branch that not all threads take");
    if (some && uniformity.mayDifferInWarp(some.getCondition()))
      return barrier->emitOpError("has a condition that may differ among the threads of a warp; compute it of "
                                  "`simt.warp_id` and values that all threads share");
    Operation *exchange = some ? anyExchange : nullptr;
    for (Operation *op = barrier->getNextNode(); !some && op && !isa<AlignWarpsOp>(op); op = op->getNextNode())
      op->walk([&](Operation *inner) {
        if (exchanges(inner))
          exchange = inner;
      });
    if (exchange) {
      auto error =
          exchange->emitOpError("exchanges values at barriers of the block, in a function in which conditional "
                                "barriers keep warps apart");
      error.attachNote(barrier->getLoc()) << "the conditional barrier";
      return failure();
    }
  }
  return success();
}
