// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the walk over hazards inserts barriers and waits, and which of them it leaves out again.
#include "compiler/lowering/simt/InsertBarriers.h"
#include "compiler/lowering/simt/Exchanges.h"
#include "compiler/lowering/simt/HazardWalk.h"
#include "compiler/lowering/simt/PlaceShared.h"
#include <map>

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

/// Inserted barriers of which each is tried, which takes a walk.
static constexpr size_t mostTried = 64;

LogicalResult HazardWalk::insertBefore(Operation *op, HazardState &state, Scope scope) {
  if (isDivergent(op))
    return op->emitOpError("needs a barrier before it, and stands in a branch or loop that not all threads take alike");
  if (auto stage = op->getParentOfType<StageOp>(); stage && scope == Scope::Block)
    return op->emitOpError() << "needs a barrier before it, and stands in stage '" << stage.getLabel()
                             << "' of a warp pipeline, in which there is none (rule W4)";
  if (auto known = dyn_cast_or_null<BarrierOp>(op->getPrevNode()); known && known.getWarp()) {
    known.setCopies(scope != Scope::Block && (known.getCopies() || scope == Scope::WarpBeforeCopies));
    known.setWarp(scope != Scope::Block);
    synchronise(state, scope);
    return success();
  }
  // What one thread does and then tells the others stays together. A load that each thread makes for itself comes
  // before the barrier: it is in flight while threads wait.
  Operation *at = op;
  SmallVector<int> between;
  for (Operation *made = op->getPrevNode(); isa<StoreSharedOp>(op) && made; made = made->getPrevNode()) {
    auto load = dyn_cast<GlobalLoadOp>(made);
    bool isTold = GlobalOrder::isAccess(made) && made->getNumResults() && !isBlockBarrier(made) &&
                  isForExchange(made) && (!load || order.mustAgree(load));
    if (!isTold && !isa<AllocOp, triton::SplatOp>(made))
      break;
    if (isTold) {
      at = made;
      between.push_back(numbers.lookup(made));
    }
  }
  OpBuilder b(at);
  inserted.push_back(BarrierOp::create(b, op->getLoc(), /*warp=*/scope != Scope::Block,
                                       /*copies=*/scope == Scope::WarpBeforeCopies, /*shared=*/false,
                                       /*bare=*/false));
  note(inserted.back());
  synchronise(state, scope);
  for (int number : between)
    state.global.insert({number});
  return success();
}

// Also for copies that no group has taken in.
LogicalResult HazardWalk::insertWaitBetween(Operation *copy, Operation *op, HazardState &state) {
  if (!std::exchange(hasWarned, true)) {
    auto warning =
        op->emitWarning() << nameOf(op)
                          << " waits for all copies in flight: whether one of them is to the tile of shared "
                             "memory that it accesses is not known; number the tiles of a ring by constants, "
                             "or by a loop's iterations modulo their number";
    warning.attachNote(copy->getLoc()) << "the copy";
  }
  OpBuilder b(op);
  Operation *made[] = {AsyncCommitOp::create(b, op->getLoc()), AsyncWaitOp::create(b, op->getLoc(), uint64_t(0))};
  for (Operation *each : made) {
    note(each);
    if (failed(visit(each, state)))
      return failure();
  }
  return success();
}

LogicalResult HazardWalk::insertBulkWait(Operation *op, HazardState &state) {
  OpBuilder b(op);
  Operation *wait = BulkWaitOp::create(b, op->getLoc(), uint64_t(0), /*reads=*/true);
  note(wait);
  return visit(wait, state);
}

bool HazardWalk::isEnough() {
  Mode was = std::exchange(mode, Mode::Try);
  bool result = succeeded(visitFunction());
  mode = was;
  return result;
}

// Each barrier was needed by the accesses of the text before it. Those of inner loops cost most, and go first.
void HazardWalk::dropNeedless() {
  auto depthOf = [](Operation *op) {
    int depth = 0;
    while ((op = op->getParentOp()))
      depth += isa<LoopLikeOpInterface>(op);
    return depth;
  };
  bool hasLoops = !function.getBody().hasOneBlock();
  function.walk([&](LoopLikeOpInterface) { hasLoops = true; });
  if (!hasLoops || inserted.size() > mostTried)
    return;
  std::multimap<int, BarrierOp, std::greater<>> deepestFirst; // of one depth, in the order of the text
  for (BarrierOp barrier : inserted)
    deepestFirst.emplace(depthOf(barrier), barrier);
  SmallVector<BarrierOp> kept;
  for (auto [depth, barrier] : deepestFirst) {
    Operation *next = barrier->getNextNode();
    barrier->remove();
    if (isEnough()) {
      effects.erase(barrier);
      barrier->destroy();
      continue;
    }
    kept.push_back(barrier);
    next->getBlock()->getOperations().insert(next->getIterator(), barrier);
    if (barrier.getWarp())
      continue;
    barrier.setWarp(true);
    if (isEnough())
      continue;
    barrier.setCopies(true);
    if (isEnough())
      continue;
    barrier.setCopies(false);
    barrier.setWarp(false);
  }
  inserted = std::move(kept);
}

// Only copies in flight gain by it.
void HazardWalk::narrowToShared() {
  bool hasCopies = false;
  function.walk([&](Operation *op) { hasCopies |= isa<AsyncCopyOp, AsyncBufferCopyOp>(op); });
  if (!hasCopies || inserted.size() > mostTried)
    return;
  for (BarrierOp barrier : inserted)
    if (!barrier.getWarp()) {
      barrier.setShared(true);
      if (!isEnough())
        barrier.setShared(false);
    }
}

LogicalResult simt::insertBarriers(ModuleOp module, BlockShape block) {
  for (auto function : module.getOps<triton::FuncOp>()) {
    HazardWalk walk(function, block.of(function), HazardWalk::Mode::Insert);
    if (failed(walk.run()))
      return failure();
    walk.dropNeedless();
    walk.narrowToShared();
    walk.joinPipelines();
    walk.narrowInPipelines();
  }
  return success();
}

LogicalResult simt::verifyHazards(ModuleOp module, BlockShape block) {
  for (auto function : module.getOps<triton::FuncOp>())
    if (failed(verifyPlaces(function)) ||
        failed(HazardWalk(function, block.of(function), HazardWalk::Mode::Report).run()))
      return failure();
  return success();
}
