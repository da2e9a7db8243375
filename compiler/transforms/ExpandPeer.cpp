// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-expand-peer: what the `peer` dialect says in one operation becomes tile operations and the few that devices
// have code for: atomic_write, atomic_spin_wait, thread_id, clock, hold, release_fence. docs/peer.md has the
// protocol.
#include "compiler/dialects/triton/TritonBuilders.h"
#include "compiler/dialects/ttg/TritonGpu.h"
#include "compiler/transforms/BlockBarriers.h"
#include "compiler/transforms/Passes.h"
#include "compiler/transforms/PeerEmitter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace heddle {
#define GEN_PASS_DEF_EXPANDPEERPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle::peer;
using namespace heddle::triton;

namespace {

void replace(Operation *op, ValueRange values) {
  op->replaceAllUsesWith(values);
  op->erase();
}

void expand(RankOp op) {
  PeerEmitter emit(op, op.getGroup());
  replace(op, emit.rank());
}

void expand(WorldSizeOp op) {
  PeerEmitter emit(op, op.getGroup());
  Value size = emit.field(offsetof(heddle::PeerGroup, worldSize));
  replace(op, ValueRange{arith::TruncIOp::create(emit.b, emit.b.getI32Type(), size)});
}

void expand(AddressOp op) {
  PeerEmitter emit(op, op.getGroup());
  replace(op, emit.address(op.getPointer(), op.getRank()));
}

void expand(DeadlineOp op) {
  PeerEmitter emit(op, op.getGroup());
  Value limit = emit.limit();
  replace(op, ValueRange{arith::AddIOp::create(emit.b, ClockOp::create(emit.b), limit)});
}

//===-- Packets: data in the low half, the flag in the high half -------------------------------------------------===//

Value highHalf(PeerEmitter &emit, Value flag) {
  Value wide = arith::ExtUIOp::create(emit.b, emit.b.getI64Type(), flag);
  return arith::ShLIOp::create(emit.b, wide, emit.i64(32));
}

void expand(PacketSendOp op) {
  PeerEmitter emit(op, Value());
  Value data = op.getData();
  Value low = arith::ExtUIOp::create(emit.b, integerTypeOf(data.getType(), 64), data);
  Value word = arith::OrIOp::create(emit.b, low, emit.inShapeOf(highHalf(emit, op.getFlag()), low));
  AtomicWriteOp::create(emit.b, MemSemantic::Relaxed, MemScope::System, op.getPtr(), word, op.getMask());
  op.erase();
}

void expand(PacketReceiveOp op) {
  PeerEmitter emit(op, op.getGroup());
  ImplicitLocOpBuilder &b = emit.b;
  Value expected = highHalf(emit, op.getFlag());
  Value word = AtomicSpinWaitOp::create(b, valueTypeOf(op.getPtr().getType()), MemSemantic::Relaxed, MemScope::System,
                                        Comparator::HighHalfEqual, op.getPtr(), expected, op.getMask(),
                                        op.getDeadline(), op.getGroup());
  Value data = arith::TruncIOp::create(b, op.getData().getType(), word);
  auto spread = [&](Value value) { return emit.inShapeOf(value, word); };
  Value high = arith::ShRUIOp::create(b, word, spread(emit.i64(32)));
  Value flag = arith::ExtUIOp::create(b, b.getI64Type(), op.getFlag());
  Value ok = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, high, spread(flag));
  if (Value mask = op.getMask()) {
    Value yes = arith::ConstantOp::create(b, b.getBoolAttr(true));
    ok = arith::OrIOp::create(b, ok, arith::XOrIOp::create(b, mask, spread(yes)));
  }
  replace(op, {data, ok});
}

//===-- Report ---------------------------------------------------------------------------------------------------===//

void expand(ReportOp op) {
  PeerEmitter emit(op, op.getGroup());
  auto branch = scf::IfOp::create(emit.b, createAny(emit.b, op.getFailed()), /*withElseRegion=*/false);
  emit.b.setInsertionPoint(branch.thenBlock()->getTerminator());
  emit.writeError({op.getFailed(), op.getPeer(), op.getExpected(), op.getSeen()}, op.getDeadline(), op.getTag());
  op.erase();
}

struct ExpandPeerPass : heddle::impl::ExpandPeerPassBase<ExpandPeerPass> {
  void runOnOperation() override {
    SmallVector<Operation *> work;
    getOperation()->walk([&](Operation *op) {
      if (isa_and_nonnull<PeerDialect>(op->getDialect()))
        work.push_back(op);
    });
    for (Operation *op : work)
      llvm::TypeSwitch<Operation *>(op)
          .Case<RankOp, WorldSizeOp, AddressOp, DeadlineOp, PacketSendOp, PacketReceiveOp, ReportOp>(
              [](auto known) { expand(known); })
          .Case([](BlockBarrierOp barrier) { expandBarrier(barrier); })
          .Case([](BlockExchangeOp exchange) { expandBarrier(exchange); });
  }
};

} // namespace
