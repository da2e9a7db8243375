// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rules of pipeline stages and of what is told to schedulers.
#include "compiler/dialects/simt/Simt.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

void StageOp::getSuccessorRegions(RegionBranchPoint point, SmallVectorImpl<RegionSuccessor> &regions) {
  if (point.isParent())
    regions.push_back(RegionSuccessor(&getBody()));
  else
    regions.push_back(RegionSuccessor(getOperation(), getResults()));
}

/// Whether warps wait there, for each other or for copies and matmuls in flight.
static bool waits(Operation *op) {
  if (auto barrier = dyn_cast<BarrierOp>(op); barrier && barrier.getWarp())
    return false;
  return isa<BarrierOp, ShiftWarpsOp, AlignWarpsOp, CondBarrierOp, AsyncWaitOp, DotWaitOp, GlobalWaitOp,
             WaitArrivalsOp>(op);
}

static LogicalResult verifyPriority(Operation *op, int64_t priority) {
  // Rule S66: hardware has four priorities.
  if (priority < 0 || priority > 3)
    return op->emitOpError() << "has priority " << priority << ": it is 0, 1, 2 or 3";
  return success();
}

LogicalResult SetPriorityOp::verify() {
  return verifyPriority(*this, int64_t(getPriority()));
}

/// The next operation before or after `op` in its block that shifts or aligns warps.
static Operation *nextShift(Operation *op, bool isAfter) {
  do
    op = isAfter ? op->getNextNode() : op->getPrevNode();
  while (op && !isa<ShiftWarpsOp, AlignWarpsOp>(op));
  return op;
}

// Rule S73: what shifts warps and what aligns them again stand in one block, one after the other.
LogicalResult ShiftWarpsOp::verify() {
  if (!isa_and_nonnull<AlignWarpsOp>(nextShift(*this, /*isAfter=*/true)))
    return emitOpError() << "is not followed by '" << AlignWarpsOp::getOperationName() << "' in its block";
  return success();
}

LogicalResult AlignWarpsOp::verify() {
  if (!isa_and_nonnull<ShiftWarpsOp>(nextShift(*this, /*isAfter=*/false)))
    return emitOpError() << "does not follow '" << ShiftWarpsOp::getOperationName() << "' in its block";
  return success();
}

// Rule S77: barrier objects are words of 64 bits.
static LogicalResult verifyObjects(Operation *op, SharedType objects) {
  if (!objects.getElementType().isInteger(64) || objects.getShape() != ArrayRef<int64_t>{1})
    return op->emitOpError() << "takes a ring of one i64 a stage, not " << objects;
  return success();
}

LogicalResult InitArrivalsOp::verify() {
  // Rule S78: the hardware counts 1 to 2^20 - 1 arrivals.
  constexpr int64_t mostArrivals = (int64_t(1) << 20) - 1;
  auto arrivals = int64_t(getArrivals());
  if (arrivals < 1 || arrivals > mostArrivals)
    return emitOpError() << "expects " << arrivals << " arrivals: there are 1 to " << mostArrivals;
  return verifyObjects(*this, getObjects().getType());
}

LogicalResult ArriveOp::verify() {
  return verifyObjects(*this, getObjects().getType());
}

LogicalResult WaitArrivalsOp::verify() {
  return verifyObjects(*this, getObjects().getType());
}

// Rule S78, of what one thread counts.
static LogicalResult verifyCount(Operation *op, uint64_t count) {
  if (count >= 1 && count < uint64_t(1) << 20)
    return success();
  return op->emitOpError() << "counts " << int64_t(count) << ": there are 1 to " << (1 << 20) - 1;
}

LogicalResult ArriveOnceOp::verify() {
  return failed(verifyCount(*this, getCount())) ? failure() : verifyObjects(*this, getObjects().getType());
}

LogicalResult ExpectBytesOp::verify() {
  return failed(verifyCount(*this, getBytes())) ? failure() : verifyObjects(*this, getObjects().getType());
}

LogicalResult EndArrivalsOp::verify() {
  return verifyObjects(*this, getObjects().getType());
}

LogicalResult ScheduleBarrierOp::verify() {
  // Rule S71: a bit for each of 12 kinds of instructions.
  constexpr int64_t allKinds = 0xFFF;
  if (auto kinds = int64_t(getKinds()); kinds & ~allKinds)
    return emitOpError() << "lets kinds " << kinds << " pass: the mask has 12 bits, 0 to " << allKinds;
  return success();
}

LogicalResult StageOp::verify() {
  if (getPriority() && failed(verifyPriority(*this, int64_t(*getPriority()))))
    return failure();
  // Rule S67: the region takes nothing, and what it yields is what the stage leaves.
  Block &body = getBody().front();
  auto yield = body.empty() ? YieldOp() : dyn_cast<YieldOp>(body.back());
  if (!yield)
    return emitOpError() << "has a region that does not end by '" << YieldOp::getOperationName() << "'";
  if (body.getNumArguments())
    return emitOpError() << "has a region of " << body.getNumArguments()
                         << " arguments: a stage uses values from before it as they are";
  if (yield.getValues().getTypes() != getResults().getTypes())
    return emitOpError() << "has " << getNumResults() << " results of " << getResults().getTypes() << " and yields "
                         << yield.getNumOperands() << " values of " << yield.getValues().getTypes();
  WalkResult result = getBody().walk([&](Operation *op) {
    // Rule S68: waits and barriers stand between stages, where the other group has one too. Rule W2 of
    // docs/warp-pipeline.md, as is S69.
    if (waits(op)) {
      auto error = op->emitOpError() << "waits in stage '" << getLabel() << "': it stands between two stages (rule W2)";
      error.attachNote(getLoc()) << "the stage";
      return WalkResult::interrupt();
    }
    // Rule S69: a stage has no loop and no stage in it.
    if (isa<LoopLikeOpInterface, StageOp>(op)) {
      auto error = op->emitOpError() << "stands in stage '" << getLabel()
                                     << "': a stage has no loop and no stage in it (rule W2)";
      error.attachNote(getLoc()) << "the stage";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
