// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Waiting for values in memory. One thread waits for a scalar; for a tile each owner waits for its elements one after
// the other, within one limit of time: what comes while an earlier one is awaited is there when its turn comes.
#include "compiler/lowering/peer/ExternCalls.h"
#include "compiler/lowering/simt/RecordCode.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

namespace {
class Polls : public RecordCode {
public:
  using RecordCode::RecordCode;
  void lower(GlobalWaitOp op);

private:
  void pollScalar(GlobalWaitOp op);
  void pollTile(GlobalWaitOp op);
  /// Waits in this thread for the value of a register; whether it came. `start`: when the wait began, null where it has
  /// no limit. `mayEnd`: a failed assertion of some program ends the wait.
  Value waitForValue(GlobalWaitOp op, int64_t reg, Value start, bool mayEnd);
  void endProgramUnless(Value came);
};
} // namespace

// One look always; without a limit, until the value is there. The value of a scalar is read by a compare-and-swap with
// the operation's order, those of a tile by relaxed loads, which a fence follows.
Value Polls::waitForValue(GlobalWaitOp op, int64_t reg, Value start, bool mayEnd) {
  Value expected = of(op.getExpected())[size_t(reg)], pointer = of(op.getPointer())[size_t(reg)];
  bool isTile = isa<RankedTensorType>(op.getPointer().getType());
  auto loop = scf::WhileOp::create(
      b, TypeRange{b.getI1Type()}, ValueRange{},
      [&](OpBuilder &, Location, ValueRange) {
        Value seen = isTile ? target.atomicLoad(b, cast<IntegerType>(expected.getType()), pointer, MemSemantic::Relaxed,
                                                op.getScope())
                            : target.compareAndSwap(b, pointer, expected, expected, op.getSem(), op.getScope());
        Value different = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, seen, expected), again = different;
        if (start) {
          Value passed = arith::SubIOp::create(b, clock(), start), limit = scalar(op.getTimeout());
          again = arith::AndIOp::create(b, again, arith::CmpIOp::create(b, arith::CmpIPredicate::ult, passed, limit));
        }
        if (mayEnd)
          again = arith::AndIOp::create(b, again, inverted(someProgramFailed()));
        scf::ConditionOp::create(b, again, ValueRange{inverted(different)});
      },
      [&](OpBuilder &, Location, ValueRange) { scf::YieldOp::create(b, ValueRange{}); });
  return loop.getResult(0);
}

void Polls::endProgramUnless(Value came) {
  when(inverted(came), [&] { target.endThread(b); });
}

// The other threads wait for the one that does, and learn how it ended.
void Polls::pollScalar(GlobalWaitOp op) {
  bool mayEnd = facts.mayFail && !op.getTimeout();
  Value never = constantOf(b.getI1Type(), 0);
  auto wait = [&]() -> Values { return {waitForValue(op, 0, op.getTimeout() ? clock() : Value(), mayEnd)}; };
  Value came = when(isOwner(LinearLayout()), {b.getI1Type()}, wait, {never}).front();
  if (!op.getTimeout() && !facts.mayFail) {
    blockBarrier();
    if (op.getResult())
      made[op.getResult()] = {constantOf(b.getI1Type(), 1)};
    return;
  }
  came = blockBarrierOr(came);
  if (mayEnd)
    endProgramUnless(came);
  if (op.getResult())
    made[op.getResult()] = {came};
}

void Polls::pollTile(GlobalWaitOp op) {
  bool mayEnd = facts.mayFail && !op.getTimeout();
  Type tile = op.getPointer().getType(), bit = b.getI1Type();
  Value start = op.getTimeout() ? clock() : Value();
  if (isMissingExchange(tile))
    return;
  Values results = once(tile, bit, [&](int64_t reg) -> Values { return {waitForValue(op, reg, start, mayEnd)}; }, {});
  if (op.getSem() != MemSemantic::Relaxed)
    target.acquireFence(b, op.getScope());
  if (mayEnd) {
    Value isMissing = constantOf(bit, 0);
    for (Value came : results)
      isMissing = arith::OrIOp::create(b, isMissing, inverted(came));
    isMissing = both(isOwner(layoutOf(tile)), isMissing);
    endProgramUnless(inverted(blockBarrierOr(isMissing)));
  } else {
    blockBarrier(); // each thread has waited for its elements; what comes next is for those of all
  }
  if (op.getResult())
    made[op.getResult()] = results;
}

void Polls::lower(GlobalWaitOp op) {
  if (refuseIfDivergent())
    return;
  if (isa<RankedTensorType>(op.getPointer().getType()))
    return pollTile(op);
  pollScalar(op);
}

void simt::addPolls(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<Polls, GlobalWaitOp>(patterns, state);
}
