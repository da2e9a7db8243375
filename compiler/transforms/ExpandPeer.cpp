// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-expand-peer: what the `peer` dialect says in one operation becomes tile operations and the few that devices
// have code for: atomic_write, atomic_spin_wait, thread_id, clock, release_fence. docs/peer.md has the protocol.
#include "compiler/dialects/triton/TritonBuilders.h"
#include "compiler/dialects/triton/TritonGpu.h"
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

//===-- Block barrier --------------------------------------------------------------------------------------------===//

/// Lane i of the barrier's tiles stands for rank i. Threads below the world size store and poll; the others wait at the
/// block's own barriers, which order the data of all of them.
class BarrierExpander {
public:
  explicit BarrierExpander(BlockBarrierOp op) : op(op), emit(op, op.getGroup()), b(emit.b) {}

  void run() {
    ReleaseFenceOp::create(b);
    meet();
    if (op.getWorldSize() == 1)
      return replace(op, ValueRange{arith::ConstantOp::create(b, b.getBoolAttr(true))});
    prepare();
    Value seen = exchange();
    meet();
    Value mark = LoadOp::create(b, b.getI64Type(), ownSlot, Value(), Value(), ArrayRef<int32_t>(), PaddingOptionAttr(),
                                CacheModifier::None, EvictionPolicy::Normal, /*isVolatile=*/true);
    Value failed = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, mark, op.getEpoch());
    report(failed, seen);
    Value yes = arith::ConstantOp::create(b, b.getBoolAttr(true));
    replace(op, ValueRange{arith::XOrIOp::create(b, failed, yes)});
  }

private:
  void meet() {
    using gpu::BarrierMemory;
    gpu::BarrierOp::create(b, BarrierMemory::Local | BarrierMemory::GlobalRead | BarrierMemory::GlobalWrite);
  }

  void prepare() {
    int64_t ranks = op.getWorldSize();
    int64_t lanes = llvm::PowerOf2Ceil(ranks);
    rank = emit.rank();
    Value block = arith::ExtSIOp::create(b, b.getI64Type(), GetProgramIdOp::create(b, ProgramDim::X));
    Value row = emit.offset(op.getSignals(), arith::MulIOp::create(b, block, emit.i64(ranks)));
    ownSlot = emit.offset(row, rank);
    range = MakeRangeOp::create(b, RankedTensorType::get({lanes}, b.getI32Type()), 0, uint32_t(lanes));
    slots = emit.offset(row, range);
    auto compare = [&](arith::CmpIPredicate predicate, Value with) {
      return arith::CmpIOp::create(b, predicate, range, emit.inShapeOf(with, range));
    };
    others = arith::AndIOp::create(b, compare(arith::CmpIPredicate::ult, emit.i32(ranks)),
                                   compare(arith::CmpIPredicate::ne, rank));
    epochs = emit.inShapeOf(op.getEpoch(), range);
    isActive = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, ThreadIdOp::create(b), emit.i32(ranks));
  }

  // Tells every other rank, waits for each of them, and yields what was seen; lanes of nobody see the epoch. A lane
  // that failed leaves the epoch in the rank's own slot: after the block has met, all threads find it there.
  Value exchange() {
    auto branch = scf::IfOp::create(b, TypeRange{epochs.getType()}, isActive, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(branch.elseBlock());
    scf::YieldOp::create(b, epochs);
    b.setInsertionPointToEnd(branch.thenBlock());
    Value remote = emit.address(emit.inShapeOf(ownSlot, range), range);
    AtomicWriteOp::create(b, MemSemantic::Release, MemScope::System, remote, op.getEpoch(), others);
    Value loaded = AtomicSpinWaitOp::create(b, epochs.getType(), MemSemantic::Acquire, MemScope::System,
                                            Comparator::GreaterOrEqual, slots, op.getEpoch(), others, op.getDeadline(),
                                            op.getGroup());
    Value seen = arith::SelectOp::create(b, others, loaded, epochs);
    AtomicWriteOp::create(b, MemSemantic::Relaxed, MemScope::Cta, emit.inShapeOf(ownSlot, range), op.getEpoch(),
                          isMissing(seen));
    scf::YieldOp::create(b, seen);
    return branch.getResult(0);
  }

  Value isMissing(Value seen) { return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, seen, epochs); }

  void report(Value failed, Value seen) {
    OpBuilder::InsertionGuard guard(b);
    for (Value condition : {failed, isActive}) {
      auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
      b.setInsertionPoint(branch.thenBlock()->getTerminator());
    }
    emit.writeError({isMissing(seen), range, op.getEpoch(), seen}, op.getDeadline(), op.getTag());
  }

  BlockBarrierOp op;
  PeerEmitter emit;
  ImplicitLocOpBuilder &b;
  Value rank, range, others, epochs, isActive;
  Value ownSlot; ///< pointer to slot [block][rank]
  Value slots;   ///< pointers to the slots [block][0 ...]
};

void expand(BlockBarrierOp op) {
  BarrierExpander(op).run();
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
          .Case<RankOp, WorldSizeOp, AddressOp, DeadlineOp, PacketSendOp, PacketReceiveOp, ReportOp, BlockBarrierOp>(
              [](auto known) { expand(known); });
  }
};

} // namespace
