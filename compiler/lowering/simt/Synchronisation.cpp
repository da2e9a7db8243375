// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Barriers, waits, and what a thread asks of its launch.
#include "compiler/lowering/simt/ThreadCode.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

namespace {
class Synchronisation : public ThreadCode {
public:
  using ThreadCode::ThreadCode;
  void lower(BarrierOp op);
  void lower(CondBarrierOp op);
  void lower(ShiftWarpsOp) { barrierOfHalf(/*isUpper=*/true); }
  void lower(AlignWarpsOp) { barrierOfHalf(/*isUpper=*/false); }
  void lower(ScheduleBarrierOp op) { tell(target.scheduleBarrier(b, int64_t(op.getKinds()))); }
  void lower(SetPriorityOp op) { tell(target.setPriority(b, int64_t(op.getPriority()))); }
  void lower(FenceOp op) { target.orderBy(b, op.getSem(), op.getScope()); }
  void lower(StageOp) { refuse("run pipeline-warps and inline-stages first"); }
  void lower(AsyncCommitOp) { target.asyncCommit(b); }
  void lower(AsyncWaitOp op);
  void lower(GridDependencyWaitOp op);
  void lower(GridDependencyLaunchDependentsOp) {}
  void lower(LLVM::AssumeOp) {}
  void lower(GetProgramIdOp op) { made[op.getResult()] = {target.programId(b, int(op.getAxis()))}; }
  void lower(GetNumProgramsOp op) { made[op.getResult()] = {target.programCount(b, int(op.getAxis()))}; }
  void lower(WarpIdOp op) { made[op.getResult()] = {state.warp}; }

private:
  void barrier();
  void barrierOfHalf(bool isUpper);
  int64_t threads() { return int64_t(block().warps) * target.lanesPerWarp(); }
  void tell(bool isKnown) {
    if (!isKnown)
      refuse("this chip takes no such hint: leave it out");
  }
};
} // namespace

void Synchronisation::barrier() {
  if (divergent)
    return refuse("it stands in a branch or loop that not all threads take alike");
  blockBarrier();
}

void Synchronisation::lower(BarrierOp op) {
  if (op.getWarp())
    target.warpBarrier(b, op.getCopies());
  else if (facts.shifted.contains(op) && target.hasStageBarrier() && !divergent)
    target.stageBarrier(b, threads());
  else if (op.getBare() && !divergent)
    target.bareBarrier(b);
  else if (op.getShared() && facts.copiesDirectly && !divergent)
    target.sharedBarrier(b);
  else
    barrier();
}

void Synchronisation::lower(CondBarrierOp op) {
  if (!refuseIfDivergent())
    target.barrierIf(b, scalar(op.getCondition()));
}

void Synchronisation::barrierOfHalf(bool isUpper) {
  if (refuseIfDivergent())
    return;
  auto side = isUpper ? arith::CmpIPredicate::sge : arith::CmpIPredicate::slt;
  Value isHere = arith::CmpIOp::create(b, side, state.warp, i32(block().warps / 2));
  if (target.hasStageBarrier())
    target.stageBarrier(b, threads(), isHere);
  else
    target.barrierIf(b, isHere);
}

void Synchronisation::lower(AsyncWaitOp op) {
  if (target.hasAsyncCopies())
    target.asyncWait(b, int64_t(op.getPending()));
  else
    target.waitForCopies(b, int64_t(op.getInstructions().value_or(0)));
}

// In a branch or loop it may not be reached: then the kernel has waited at its start.
void Synchronisation::lower(GridDependencyWaitOp op) {
  if (op->getBlock() == &state.entry.getBody().front())
    state.kernel.dependentLaunch = target.waitForLaunchBefore(b);
}

void simt::addSynchronisation(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<Synchronisation, BarrierOp, CondBarrierOp, ShiftWarpsOp, AlignWarpsOp, ScheduleBarrierOp, SetPriorityOp,
            FenceOp, StageOp, AsyncCommitOp, AsyncWaitOp, GridDependencyWaitOp, GridDependencyLaunchDependentsOp,
            LLVM::AssumeOp, GetProgramIdOp, GetNumProgramsOp, WarpIdOp>(patterns, state);
}
