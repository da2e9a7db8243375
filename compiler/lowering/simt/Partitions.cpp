// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Partitions of the block's warps: who starts and joins them waits at the barrier of all warps, as the partitions do
// (PartitionWarps.cpp). Within one, a barrier is a named one of its warps.
#include "compiler/lowering/simt/ThreadCode.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

namespace {
class Partitions : public ThreadCode {
public:
  using ThreadCode::ThreadCode;
  void lower(StartPartitionsOp) {
    meet();
    if (state.registers)
      target.takeRegisters(b, state.registers, state.moreRegisters);
  }
  void lower(JoinPartitionsOp) { meet(); }

private:
  void meet() {
    if (!refuseIfDivergent())
      target.barrier(b);
  }
};
} // namespace

void ThreadCode::inOneThreadIf(Value condition, llvm::function_ref<void()> body) {
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, state.thread, i32(0));
  when(condition ? both(isFirst, scalar(condition)) : isFirst, body);
}

void ThreadCode::blockBarrier() {
  int64_t threads = int64_t(state.options.warps) * target.lanesPerWarp();
  if (!state.barrier)
    target.barrier(b);
  else if (state.options.warps == 1)
    target.warpBarrier(b, /*beforeCopies=*/false);
  else
    target.namedBarrier(b, state.barrier, threads);
}

ThreadCode::Value ThreadCode::blockBarrierOr(Value bit) {
  if (!state.barrier)
    return target.barrierOr(b, bit, state.options.warps);
  return target.namedBarrierOr(b, bit, state.barrier, int64_t(state.options.warps) * target.lanesPerWarp());
}

void simt::addPartitions(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<Partitions, StartPartitionsOp, JoinPartitionsOp>(patterns, state);
}
