// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Barrier objects in shared memory: threads arrive at one place and wait at another.
#include "compiler/lowering/simt/SharedCode.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

namespace {
class Arrivals : public SharedCode {
public:
  using SharedCode::SharedCode;
  void lower(InitArrivalsOp op);
  void lower(ArriveOp op);
  void lower(WaitArrivalsOp op);
  void lower(ArriveOnceOp op);
  void lower(ExpectBytesOp op);
  void lower(EndArrivalsOp op);

private:
  bool isRefused(); ///< where the chip has no such objects
  void eachObject(Value objects, llvm::function_ref<void(Value)> body);
};
} // namespace

bool Arrivals::isRefused() {
  if (target.hasArrivals())
    return false;
  refuse("this chip has no barrier objects in shared memory: use simt.barrier");
  return true;
}

void Arrivals::lower(InitArrivalsOp op) {
  if (isRefused())
    return;
  inOneThreadIf({}, [&] {
    eachObject(op.getObjects(), [&](Value object) { target.initArrivals(b, object, int64_t(op.getArrivals())); });
    target.publishArrivals(b);
  });
}

void Arrivals::eachObject(Value objects, llvm::function_ref<void(Value)> body) {
  auto ring = cast<SharedType>(objects.getType());
  Value first = firstByteOf(objects, Value());
  for (int64_t stage = 0; stage < ring.getStages(); ++stage)
    body(stage ? sharedPointer(first, i32(stage * ring.getTileBytes())) : first);
}

void Arrivals::lower(EndArrivalsOp op) {
  if (!isRefused())
    inOneThreadIf({}, [&] { eachObject(op.getObjects(), [&](Value object) { target.endArrivals(b, object); }); });
}

void Arrivals::lower(ArriveOnceOp op) {
  if (isRefused())
    return;
  Value object = firstByteOf(op.getObjects(), op.getStage());
  inOneThreadIf(op.getCondition(), [&] { target.arriveTimes(b, object, int64_t(op.getCount())); });
}

void Arrivals::lower(ExpectBytesOp op) {
  if (isRefused())
    return;
  Value object = firstByteOf(op.getObjects(), op.getStage());
  inOneThreadIf(op.getCondition(), [&] { target.expectBytes(b, object, int64_t(op.getBytes())); });
}

void Arrivals::lower(ArriveOp op) {
  if (isRefused())
    return;
  Value object = firstByteOf(op.getObjects(), op.getStage());
  if (op.getCopies())
    return target.arriveAfterCopies(b, object, op.getIncrements());
  target.warpBarrier(b, /*beforeCopies=*/false);
  when(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, state.lane, i32(0)), [&] { target.arrive(b, object); });
}

// Hardware gives up waiting after some time, and is asked again.
void Arrivals::lower(WaitArrivalsOp op) {
  if (isRefused())
    return;
  Value object = firstByteOf(op.getObjects(), op.getStage()), parity = scalar(op.getParity());
  OpBuilder::InsertionGuard outer(b);
  if (op.getCondition())
    b.setInsertionPointToStart(scf::IfOp::create(b, scalar(op.getCondition())).thenBlock());
  auto loop = scf::WhileOp::create(b, TypeRange(), ValueRange(), nullptr, nullptr);
  OpBuilder::InsertionGuard guard(b);
  loop.getBefore().getBlocks().clear();
  loop.getAfter().getBlocks().clear();
  b.createBlock(&loop.getBefore());
  Value ended = target.waitArrivals(b, object, parity);
  scf::ConditionOp::create(b, arith::XOrIOp::create(b, ended, arith::ConstantIntOp::create(b, 1, 1)), ValueRange());
  b.createBlock(&loop.getAfter());
  scf::YieldOp::create(b, ValueRange());
}

void simt::addArrivals(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<Arrivals, InitArrivalsOp, ArriveOp, WaitArrivalsOp, ArriveOnceOp, ExpectBytesOp, EndArrivalsOp>(patterns,
                                                                                                            state);
}
