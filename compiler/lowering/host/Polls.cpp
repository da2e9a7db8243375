// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Waiting for values in memory. The elements of a tile are waited for one after the other, within one limit of time:
// what comes while an earlier one is awaited is there when its turn comes.
#include "compiler/lowering/host/HostEmitter.h"
#include "compiler/lowering/peer/ExternCalls.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace heddle::host;
using namespace heddle::triton;

Value HostEmitter::clock() {
  return callExtern(peer::externCallName({peer::ExternCall::Kind::Clock}), b.getI64Type(), {});
}

// Relaxed loads until the expected bits are there or the time since `start` is over. One load always. A wait without
// end is left through the stop check.
Value HostEmitter::pollStep(AtomicPollOp op, Value address, Value expected, Value start) {
  Value pointer = toPointer(address);
  Type type = expected.getType();
  auto loop = scf::WhileOp::create(
      b, loc, TypeRange{b.getI1Type()}, ValueRange{},
      [&](OpBuilder &, Location, ValueRange) {
        Value seen = LLVM::LoadOp::create(b, loc, type, pointer, sizeOf(type), false, false, false, false,
                                          LLVM::AtomicOrdering::monotonic);
        Value again = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, seen, expected);
        if (start) {
          Value passed = arith::SubIOp::create(b, loc, clock(), start);
          Value inTime = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, passed, scalar(op.getTimeout()));
          again = arith::AndIOp::create(b, loc, again, inTime);
        }
        Value same = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, seen, expected);
        scf::ConditionOp::create(b, loc, again, ValueRange{same});
      },
      [&](OpBuilder &, Location, ValueRange) {
        emitStopCheck(op, /*spin=*/true);
        scf::YieldOp::create(b, loc);
      });
  b.setInsertionPointAfter(loop);
  return loop.getResult(0);
}

void HostEmitter::pollTile(AtomicPollOp op, Value start) {
  auto tile = cast<RankedTensorType>(op.getPtr().getType());
  TileBuffer *answers = op->use_empty() ? nullptr : allocateFor(op->getResults())[0];
  LaneMap lanes = chooseLanes(tile.getShape(), plan.preferredDim(op.getExpected(), op.getPtr()), maxLanes());
  iterate(tile.getShape(), lanes, [&](TileIndex index) {
    Access access = accessAt(op, op.getPtr(), {}, index);
    Value addresses = toLanes(access.address), expected = toLanes(evaluate(op.getExpected(), index));
    auto vector = dyn_cast<VectorType>(addresses.getType());
    Value every = constantLike(b.getI1Type(), -1, addresses), answerMemory = spill(every);
    Value addressMemory = vector ? spill(addresses) : Value(), expectedMemory = vector ? spill(expected) : Value();
    forActiveLanes(every, [&](Value lane) {
      Value address = vector ? spilledLane(addressMemory, b.getI64Type(), lane) : addresses;
      Value value = vector ? spilledLane(expectedMemory, getElementTypeOrSelf(expected.getType()), lane) : expected;
      Value came = pollStep(op, address, value, start);
      storeTo(gep(answerMemory, b.getI8Type(), lane), arith::ExtUIOp::create(b, loc, b.getI8Type(), came));
    });
    if (!answers)
      return;
    Value bytes = loadFrom(answerMemory, vector ? Type(vector.clone(b.getI8Type())) : b.getI8Type());
    Value bits = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, bytes, constantLike(b.getI8Type(), 0, bytes));
    writeBuffer(*answers, index, LaneValue::general(bits));
  });
}

void HostEmitter::emitPoll(AtomicPollOp op) {
  PieceScope scope(*this, 1);
  Value start = op.getTimeout() ? clock() : Value();
  if (isa<RankedTensorType>(op.getPtr().getType())) {
    pollTile(op, start);
  } else {
    Access access = accessAt(op, op.getPtr(), {}, {});
    scalars[op.getResult()] = pollStep(op, access.address.scalar, scalar(op.getExpected()), start);
  }
  if (op.getSem() != MemSemantic::Relaxed)
    LLVM::FenceOp::create(b, loc, LLVM::AtomicOrdering::acquire, StringRef());
}
