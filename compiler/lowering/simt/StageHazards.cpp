// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Accesses of stages that two groups of warps execute at the same time, and barriers of stages that need order nothing.
// A pipeline's barriers order what is two stages apart; no barrier can order what is one apart.
#include "compiler/lowering/simt/HazardWalk.h"
#include "compiler/lowering/simt/InsertBarriers.h"
#include "compiler/lowering/simt/WarpPipelines.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

LogicalResult HazardWalk::reportInStages(const SharedAccess &earlier, const SharedAccess &later) {
  if (mode == Mode::Try)
    return failure();
  auto stage = later.op->getParentOfType<StageOp>(), before = earlier.op->getParentOfType<StageOp>();
  auto does = [](const SharedAccess &access) { return access.writes ? "writes" : "reads"; };
  // Rule W4: no operation of a stage needs a barrier that the text does not show.
  AllocOp object = later.part.object;
  if (object && object.getScratch() && stage == before) {
    auto error =
        later.op->emitError() << "goes through shared memory from warp to warp, which takes a barrier, in stage '"
                              << stage.getLabel()
                              << "' (rule W4): let one warp have all that is reduced or exchanged, by another "
                                 "layout, or move it before the pipeline or after it";
    error.attachNote(earlier.op->getLoc()) << "what it exchanges is written here";
    return failure();
  }
  // A copy that is over was waited for before the stage: it is one of another iteration.
  bool isCopy = isa<AsyncCopyOp, AsyncBufferCopyOp>(earlier.op);
  Block &body = stage.getBody().front();
  Operation *first = body.findAncestorOpInBlock(*earlier.op), *second = body.findAncestorOpInBlock(*later.op);
  if (stage == before && !isCopy && first && (first == second || first->isBeforeInBlock(second))) {
    auto error = later.op->emitError() << nameOf(later.op) << " " << does(later) << " bytes of shared memory that "
                                       << nameOf(earlier.op) << " " << does(earlier) << " before in the same stage '"
                                       << stage.getLabel()
                                       << "', in which no barrier can stand (rule W7): begin a stage between the two";
    error.attachNote(earlier.op->getLoc()) << "the access before";
    return failure();
  }
  // Rule W7: what stages access that two groups execute at the same time lies apart.
  auto error = later.op->emitError() << nameOf(later.op) << " in stage '" << stage.getLabel() << "' " << does(later)
                                     << " bytes of shared memory that " << nameOf(earlier.op);
  if (before)
    error << " in stage '" << before.getLabel() << "'";
  error << " " << does(earlier) << " at the same time in the other group of warps (rule W7)";
  WarpPipeline pipeline = pipelineOf(stage);
  auto *from = llvm::find(pipeline.stages, before), *to = llvm::find(pipeline.stages, stage);
  if (from != pipeline.stages.end()) {
    bool isSame = from < to;
    error << (isSame ? ": the stages are one apart, in one iteration"
                     : ": the stages are one apart, over the end of an iteration");
  }
  error.attachNote(earlier.op->getLoc()) << "the access before";
  if (earlier.inFlight == SharedAccess::No && isCopy)
    error.attachNote(earlier.op->getLoc())
        << "it is waited for directly before the stage that accesses it, and so not yet by the other group: let the "
           "wait stand one stage earlier";
  int64_t tiles = object ? object.getRing().getType().getStages() : 1;
  error.attachNote(stage.getLoc()) << "an empty stage between the two would keep them apart, or a ring of "
                                   << (tiles > 1 ? tiles + 1 : 2) << " tiles, of which each iteration takes the next";
  return failure();
}

// Rule W7, of global memory, where barriers of all memory between the stages are not enough.
LogicalResult HazardWalk::reportGlobalInStage(const GlobalAccess &earlier, const GlobalAccess &later) {
  if (mode == Mode::Try)
    return failure();
  auto stage = later.op->getParentOfType<StageOp>();
  auto error =
      later.op->emitError()
      << nameOf(later.op) << " in stage '" << stage.getLabel() << "' accesses global memory that " << nameOf(earlier.op)
      << " may have accessed before in another thread (rule W7): two barriers of all memory are missing between "
         "them; move one of the two out of the pipeline";
  error.attachNote(earlier.op->getLoc()) << "the access before";
  return failure();
}

static SmallVector<BarrierOp> barriersAfter(StageOp stage) {
  SmallVector<BarrierOp> barriers;
  auto addUpToStage = [&](Operation *op) {
    for (; op && !isa<StageOp, AlignWarpsOp>(op); op = op->getNextNode())
      if (auto barrier = dyn_cast<BarrierOp>(op); barrier && !barrier.getWarp())
        barriers.push_back(barrier);
  };
  WarpPipeline pipeline = pipelineOf(stage);
  bool isLast = stage == pipeline.stages.back();
  if (pipeline.loop || !isLast)
    addUpToStage(stage->getNextNode());
  if (pipeline.loop && isLast)
    addUpToStage(&stage->getBlock()->front());
  return barriers;
}

bool HazardWalk::widenBarriers(StageOp stage) {
  if (mode != Mode::Insert)
    return false;
  for (StageOp each : pipelineOf(stage).stages)
    for (BarrierOp barrier : barriersAfter(each)) {
      isAgain |= barrier.getShared() || barrier.getBare();
      barrier.setShared(false);
      barrier.setBare(false);
    }
  return isAgain;
}

//===-- Pipelines one after the other ----------------------------------------------------------------------------===//

/// Where the next pipeline begins, if nothing stands between at which all warps must be in step; or null.
ShiftWarpsOp HazardWalk::nextPipeline(AlignWarpsOp end) {
  for (Operation *op = end->getNextNode(); op; op = op->getNextNode()) {
    if (auto begin = dyn_cast<ShiftWarpsOp>(op))
      return begin;
    bool isBegin = isa<BarrierOp>(op) && isa_and_nonnull<ShiftWarpsOp>(op->getNextNode());
    if (op->getNumRegions() || isa<CondBarrierOp>(op) || (isBlockBarrier(op) && !isBegin))
      return {};
  }
  return {};
}

bool HazardWalk::isEnoughWithout(ArrayRef<Operation *> ops) {
  SmallVector<std::pair<Operation *, Operation *>> places; // each before another
  for (Operation *op : ops) {
    places.emplace_back(op, op->getNextNode());
    op->remove();
  }
  bool result = isEnough();
  for (auto [op, next] : llvm::reverse(places))
    if (result) {
      effects.erase(op);
      op->destroy();
    } else {
      next->getBlock()->getOperations().insert(next->getIterator(), op);
    }
  return result;
}

void HazardWalk::narrowBetween(BarrierOp barrier) {
  barrier.setBare(true);
  if (isEnough())
    return;
  barrier.setBare(false);
  barrier.setShared(true);
  if (!isEnough())
    barrier.setShared(false);
}

// A loop's pipeline ends at a barrier; another one keeps the groups a barrier further apart, like an empty stage.
// Straight code ends at none, so that the one before the next pipeline stays.
void HazardWalk::joinPipelines() {
  SmallVector<AlignWarpsOp> ends;
  bool hasHints = false;
  function.walk([&](Operation *op) {
    if (auto end = dyn_cast<AlignWarpsOp>(op))
      ends.push_back(end);
    hasHints |= isa<ScheduleBarrierOp>(op);
  });
  for (AlignWarpsOp end : ends) {
    ShiftWarpsOp begin = nextPipeline(end);
    auto barrier = begin ? dyn_cast<BarrierOp>(begin->getPrevNode()) : BarrierOp();
    if (!barrier || barrier.getWarp())
      continue;
    auto priority = dyn_cast_or_null<SetPriorityOp>(end->getPrevNode());
    bool setsAgain = isa_and_nonnull<SetPriorityOp>(begin->getNextNode());
    Operation *last = priority ? priority->getPrevNode() : end->getPrevNode();
    bool isClosed = isa_and_nonnull<scf::ForOp, BarrierOp>(last);
    bool isJoined = isClosed && isEnoughWithout({end, barrier, begin});
    if (!isJoined && isEnoughWithout({end, begin})) {
      isJoined = true;
      OpBuilder b(barrier);
      if (hasHints)
        ScheduleBarrierOp::create(b, barrier.getLoc(), 0);
      b.setInsertionPointAfter(barrier);
      if (hasHints)
        ScheduleBarrierOp::create(b, barrier.getLoc(), 0);
      narrowBetween(barrier);
    }
    if (isJoined && priority && setsAgain)
      priority.erase();
  }
}

// Those after stages that read shared memory first: their threads need not wait for what they read.
void HazardWalk::narrowInPipelines() {
  SmallVector<BarrierOp> barriers, afterOthers;
  function.walk([&](StageOp stage) {
    bool reads = stage
                     .walk([](Operation *op) {
                       return isa<LoadSharedOp, LoadRepackedOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
                     })
                     .wasInterrupted();
    llvm::append_range(reads ? barriers : afterOthers, barriersAfter(stage));
  });
  llvm::append_range(barriers, afterOthers);
  for (BarrierOp barrier : barriers) {
    bool wasShared = barrier.getShared();
    barrier.setShared(false);
    barrier.setBare(true);
    if (isEnough())
      continue;
    barrier.setBare(false);
    barrier.setShared(true);
    if (!wasShared && !isEnough())
      barrier.setShared(false);
  }
  function.walk([&](ShiftWarpsOp shift) { // the barrier before it
    auto barrier = dyn_cast_or_null<BarrierOp>(shift->getPrevNode());
    if (!barrier || barrier.getWarp() || barrier.getShared() || barrier.getBare())
      return;
    barrier.setShared(true);
    if (!isEnough())
      barrier.setShared(false);
  });
}
