// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Atomics and polls of a tile program: one element after the other, in the order of the tile.
#include "compiler/lowering/host/HostEmitter.h"
#include "compiler/lowering/peer/ExternCalls.h"
#include "compiler/lowering/peer/PeerTarget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace heddle::host;
using namespace heddle::triton;

static LLVM::AtomicOrdering orderingOf(MemSemantic semantic) {
  switch (semantic) {
  case MemSemantic::Relaxed:
    return LLVM::AtomicOrdering::monotonic;
  case MemSemantic::Acquire:
    return LLVM::AtomicOrdering::acquire;
  case MemSemantic::Release:
    return LLVM::AtomicOrdering::release;
  case MemSemantic::AcquireRelease:
    return LLVM::AtomicOrdering::acq_rel;
  }
  llvm_unreachable("unknown memory semantic");
}

// One element. Every scope is at least as wide as the process here, so scopes need no names.
Value HostEmitter::atomicStep(Operation *op, Value address, Value value, Value compare) {
  Value pointer = toPointer(address);
  Type element = elementTypeOf(op->getResult(0).getType()), type = value.getType();
  if (auto cas = dyn_cast<AtomicCASOp>(op)) {
    Type bits = b.getIntegerType(type.getIntOrFloatBitWidth());
    auto asBits = [&](Value x) { return x.getType() == bits ? x : Value(arith::BitcastOp::create(b, loc, bits, x)); };
    LLVM::AtomicOrdering success = orderingOf(cas.getSem());
    LLVM::AtomicOrdering failure = cas.getSem() == MemSemantic::Relaxed || cas.getSem() == MemSemantic::Release
                                       ? LLVM::AtomicOrdering::monotonic
                                       : LLVM::AtomicOrdering::acquire;
    Value pair = LLVM::AtomicCmpXchgOp::create(b, loc, pointer, asBits(compare), asBits(value), success, failure);
    Value old = LLVM::ExtractValueOp::create(b, loc, pair, ArrayRef<int64_t>{0});
    return old.getType() == type ? old : Value(arith::BitcastOp::create(b, loc, type, old));
  }
  auto rmw = cast<AtomicRMWOp>(op);
  if (rmw.getAtomicRmwOp() == RMWOp::FAdd && isNarrowFloat(element))
    return atomicNarrowAdd(rmw, pointer, value);
  return LLVM::AtomicRMWOp::create(b, loc, peer::atomicOperation(rmw.getAtomicRmwOp()), pointer, value,
                                   orderingOf(rmw.getSem()));
}

// No processor adds f16 or bf16 in memory: compare and exchange until nobody came between.
Value HostEmitter::atomicNarrowAdd(AtomicRMWOp op, Value pointer, Value value) {
  Type element = elementTypeOf(op.getResult().getType()), type = value.getType();
  Value term = widen(value, element);
  Value first = LLVM::LoadOp::create(b, loc, type, pointer, sizeOf(type), false, false, false, false,
                                     LLVM::AtomicOrdering::monotonic);
  auto loop = scf::WhileOp::create(
      b, loc, TypeRange{type}, ValueRange{first},
      [&](OpBuilder &, Location, ValueRange seen) {
        Value sum = narrow(arith::AddFOp::create(b, loc, widen(seen[0], element), term), element);
        Value pair = LLVM::AtomicCmpXchgOp::create(b, loc, pointer, seen[0], sum, orderingOf(op.getSem()),
                                                   LLVM::AtomicOrdering::monotonic);
        Value old = LLVM::ExtractValueOp::create(b, loc, pair, ArrayRef<int64_t>{0});
        Value changed = LLVM::ExtractValueOp::create(b, loc, pair, ArrayRef<int64_t>{1});
        Value failed = arith::XOrIOp::create(b, loc, changed, constantLike(b.getI1Type(), -1, changed));
        scf::ConditionOp::create(b, loc, failed, ValueRange{old});
      },
      [&](OpBuilder &, Location, ValueRange old) { scf::YieldOp::create(b, loc, old); });
  b.setInsertionPointAfter(loop);
  return loop.getResult(0);
}

// Elements one after the other; a tile's old values go to its buffer when somebody reads them.
void HostEmitter::emitAtomic(Operation *op) {
  auto cas = dyn_cast<AtomicCASOp>(op);
  auto rmw = dyn_cast<AtomicRMWOp>(op);
  Value pointer = op->getOperand(0), value = cas ? cas.getVal() : rmw.getVal();
  Value compare = cas ? cas.getCmp() : Value(), mask = cas ? Value() : rmw.getMask();
  Value result = op->getResult(0);
  Type type = registerType(elementTypeOf(result.getType()));
  auto tile = dyn_cast<RankedTensorType>(result.getType());
  if (!tile) {
    PieceScope scope(*this, 1);
    Access access = accessAt(op, pointer, mask, {});
    auto step = [&] {
      return atomicStep(op, access.address.scalar, scalar(value), compare ? scalar(compare) : Value());
    };
    if (!access.mask) {
      scalars[result] = step();
      return;
    }
    auto branch = scf::IfOp::create(b, loc, TypeRange{type}, access.mask->scalar, true);
    Value none = zero(type);
    none.getDefiningOp()->moveBefore(branch);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(branch.thenBlock());
    scf::YieldOp::create(b, loc, ValueRange{step()});
    b.setInsertionPointToEnd(branch.elseBlock());
    scf::YieldOp::create(b, loc, ValueRange{none});
    scalars[result] = branch.getResult(0);
    return;
  }
  TileBuffer *olds = nullptr;
  if (!result.use_empty())
    olds = allocateFor(ValueRange{result})[0];
  LaneMap lanes = chooseLanes(tile.getShape(), plan.preferredDim(value, pointer), maxLanes());
  iterate(tile.getShape(), lanes, [&](TileIndex index) {
    Access access = accessAt(op, pointer, mask, index);
    Value addresses = toLanes(access.address), values = toLanes(evaluate(value, index));
    Value compares = compare ? toLanes(evaluate(compare, index)) : Value();
    Value active = access.mask ? toLanes(*access.mask) : constantLike(b.getI1Type(), -1, addresses);
    bool vector = isa<VectorType>(values.getType());
    Value addressMemory = vector ? spill(addresses) : Value(), valueMemory = vector ? spill(values) : Value();
    Value compareMemory = vector && compares ? spill(compares) : Value(),
          oldMemory = olds ? spill(zero(values.getType())) : Value();
    forActiveLanes(active, [&](Value lane) {
      auto at = [&](Value memory, Value whole) {
        return vector ? spilledLane(memory, getElementTypeOrSelf(whole.getType()), lane) : whole;
      };
      Value old = atomicStep(op, at(addressMemory, addresses), at(valueMemory, values),
                             compares ? at(compareMemory, compares) : Value());
      if (olds)
        storeTo(gep(oldMemory, type, lane), old);
    });
    if (olds)
      writeBuffer(*olds, index, LaneValue::general(loadFrom(oldMemory, values.getType())));
  });
}

// Relaxed loads until the expected bits are there or the time is over, then the acquire fence. One load always. A wait
// without end is left through the stop check.
void HostEmitter::emitPoll(AtomicPollOp op) {
  PieceScope scope(*this, 1);
  Access access = accessAt(op, op.getPtr(), {}, {});
  Value pointer = toPointer(access.address.scalar), expected = scalar(op.getExpected());
  Type type = expected.getType(), word = b.getI64Type();
  auto clock = [&] { return callExtern(peer::externCallName({peer::ExternCall::Kind::Clock}), word, {}); };
  Value limit, start;
  if (op.getTimeout()) {
    limit = scalar(op.getTimeout());
    start = clock();
  }
  auto loop = scf::WhileOp::create(
      b, loc, TypeRange{b.getI1Type()}, ValueRange{},
      [&](OpBuilder &, Location, ValueRange) {
        Value seen = LLVM::LoadOp::create(b, loc, type, pointer, sizeOf(type), false, false, false, false,
                                          LLVM::AtomicOrdering::monotonic);
        Value different = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, seen, expected), again = different;
        if (limit) {
          Value passed = arith::SubIOp::create(b, loc, clock(), start);
          Value inTime = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, passed, limit);
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
  if (op.getSem() != MemSemantic::Relaxed)
    LLVM::FenceOp::create(b, loc, LLVM::AtomicOrdering::acquire, StringRef());
  scalars[op.getResult()] = loop.getResult(0);
}
