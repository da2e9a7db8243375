// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Barriers, waits, and what a thread asks of its launch.
#include "compiler/lowering/simt/ThreadCode.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

namespace {
class Synchronisation : public ThreadCode {
public:
  using ThreadCode::ThreadCode;
  void lower(BarrierOp op);
  void lower(gpu::BarrierOp) { barrier(); }
  void lower(AsyncCommitOp) { target.asyncCommit(b); }
  void lower(AsyncWaitOp op);
  void lower(GridDependencyWaitOp op);
  void lower(GridDependencyLaunchDependentsOp) {}
  void lower(LLVM::AssumeOp) {}
  void lower(GetProgramIdOp op) { made[op.getResult()] = {target.programId(b, int(op.getAxis()))}; }
  void lower(GetNumProgramsOp op) { made[op.getResult()] = {target.programCount(b, int(op.getAxis()))}; }
  void lower(WarpIdOp op) { made[op.getResult()] = {state.warp}; }
  void barrier();
};

/// `ttg.barrier`, which stands in Triton IR and whose dialect this room does not know.
class NamedBarrier : public ConversionPattern {
public:
  NamedBarrier(ThreadState &state, MLIRContext *context)
      : ConversionPattern("ttg.barrier", /*benefit=*/2, context), state(state) {}
  LogicalResult matchAndRewrite(Operation *op, ArrayRef<ValueRange>,
                                ConversionPatternRewriter &rewriter) const override {
    Synchronisation code(state, rewriter, op);
    code.barrier();
    code.finish(rewriter);
    return success();
  }

private:
  ThreadState &state;
};
} // namespace

void Synchronisation::barrier() {
  if (divergent)
    return refuse("it stands in a branch or loop that not all threads take alike");
  target.barrier(b);
}

void Synchronisation::lower(BarrierOp op) {
  if (op.getWarp())
    target.warpBarrier(b);
  else if (op.getShared() && facts.copiesDirectly && !divergent)
    target.sharedBarrier(b);
  else
    barrier();
}

void Synchronisation::lower(AsyncWaitOp op) {
  if (target.hasAsyncCopies())
    target.asyncWait(b, int64_t(op.getPending()));
  else
    target.waitForCopies(b, int64_t(op.getInstructions().value_or(0)));
  if (facts.publishes)
    target.publishShared(b);
}

// In a branch or loop it may not be reached: then the kernel has waited at its start.
void Synchronisation::lower(GridDependencyWaitOp op) {
  if (op->getBlock() == &state.entry.getBody().front())
    state.kernel.dependentLaunch = target.waitForLaunchBefore(b);
}

void simt::addSynchronisation(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<Synchronisation, BarrierOp, gpu::BarrierOp, AsyncCommitOp, AsyncWaitOp, GridDependencyWaitOp,
            GridDependencyLaunchDependentsOp, LLVM::AssumeOp, GetProgramIdOp, GetNumProgramsOp, WarpIdOp>(patterns,
                                                                                                          state);
  patterns.add(std::make_unique<NamedBarrier>(state, patterns.getContext()));
}
