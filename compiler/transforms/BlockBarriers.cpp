// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A rank stores a word, or some, into its slots in the memory of every other rank and polls its own. Tiles have an
// element for each word of each rank, and the first threads of the block store and poll; the others wait for them at
// the block's own barrier, which also tells all of them whether a rank was missing.
#include "compiler/transforms/BlockBarriers.h"
#include "compiler/dialects/triton/TritonBuilders.h"
#include "compiler/dialects/ttg/TritonGpu.h"
#include "compiler/transforms/PeerEmitter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle::triton;

namespace heddle::peer {
namespace {

/// What the two operations have in common; `Op` is one of them.
template <class Op>
class RankBarrier {
public:
  RankBarrier(Op op, int64_t words) : op(op), emit(op, op.getGroup()), b(emit.b), words(words) {}

protected:
  /// The block's own barrier: what its threads stored before comes before what one of them stores after it.
  void meet() {
    using gpu::BarrierMemory;
    gpu::BarrierOp::create(b, BarrierMemory::Local | BarrierMemory::GlobalRead | BarrierMemory::GlobalWrite);
  }

  /// `slots`: of this rank, [block][world size][words].
  void prepare(Value slots) {
    int64_t ranks = op.getWorldSize(), count = int64_t(llvm::PowerOf2Ceil(uint64_t(ranks))) * words;
    rank = emit.rank();
    Value block = arith::ExtSIOp::create(b, b.getI64Type(), GetProgramIdOp::create(b, ProgramDim::X));
    Value row = emit.offset(slots, arith::MulIOp::create(b, block, emit.i64(ranks * words)));
    range = MakeRangeOp::create(b, RankedTensorType::get({count}, b.getI32Type()), 0, uint32_t(count));
    received = emit.offset(row, range);
    peers = range;
    Value own = rank;
    if (words > 1) {
      peers = arith::ShRUIOp::create(b, range, spread(emit.i32(llvm::Log2_64(uint64_t(words)))));
      numbers = arith::AndIOp::create(b, range, spread(emit.i32(words - 1)));
      own = arith::MulIOp::create(b, rank, emit.i32(words));
    }
    Value sent = emit.offset(row, own);
    sent = words > 1 ? emit.offset(sent, numbers) : spread(sent);
    isOther = arith::AndIOp::create(b, compare(arith::CmpIPredicate::ult, peers, emit.i32(ranks)),
                                    compare(arith::CmpIPredicate::ne, peers, rank));
    isActive = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, ThreadIdOp::create(b), emit.i32(count));
    targets = sent;
  }

  Value spread(Value value) { return emit.inShapeOf(value, range); }
  Value compare(arith::CmpIPredicate predicate, Value tile, Value with) {
    return arith::CmpIOp::create(b, predicate, tile, spread(with));
  }

  /// Tells every other rank, waits for each of them, and yields what was seen; elements of no rank see `expected`.
  Value exchange(MemSemantic sem, Value sent, Comparator comparator, Value expected) {
    Value wanted = spread(expected);
    auto branch = scf::IfOp::create(b, TypeRange{wanted.getType()}, isActive, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(branch.elseBlock());
    scf::YieldOp::create(b, wanted);
    b.setInsertionPointToEnd(branch.thenBlock());
    Value remote = emit.address(targets, peers);
    AtomicWriteOp::create(b, sem, MemScope::System, remote, sent, isOther);
    Value loaded = AtomicSpinWaitOp::create(b, wanted.getType(), MemSemantic::Acquire, MemScope::System, comparator,
                                            received, expected, isOther, op.getDeadline(), op.getGroup());
    scf::YieldOp::create(b, ValueRange{arith::SelectOp::create(b, isOther, loaded, wanted)});
    return branch.getResult(0);
  }

  /// Reports who was missing, and replaces the operation by whether none was. Only the threads that polled know; that
  /// any bit is set is asked of all threads of the block, which meet there (simt/Reduce.cpp).
  void finish(Value missing, Value expected, Value seen) {
    Value failed = createAny(b, missing);
    {
      OpBuilder::InsertionGuard guard(b);
      for (Value condition : {failed, isActive}) {
        auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
        b.setInsertionPoint(branch.thenBlock()->getTerminator());
      }
      emit.writeError({missing, peers, expected, seen}, op.getDeadline(), op.getTag());
    }
    replace(arith::XOrIOp::create(b, failed, arith::ConstantOp::create(b, b.getBoolAttr(true))));
  }

  void replace(Value ok) {
    op->replaceAllUsesWith(ValueRange{ok});
    op->erase();
  }

  Op op;
  PeerEmitter emit;
  ImplicitLocOpBuilder &b;
  int64_t words;           ///< of a rank, a power of two
  Value rank;              ///< i32
  Value range;             ///< i32: 0, 1, ...; the rest are tiles of its shape, but for the last
  Value peers, numbers;    ///< i32: the rank that an element stands for, the word; numbers only where there are several
  Value targets, received; ///< pointers: this rank's slots, and those that the peers store into
  Value isOther;           ///< i1: a rank, and not this one
  Value isActive;          ///< i1, scalar: this thread stores and polls
};

class Barrier : RankBarrier<BlockBarrierOp> {
public:
  explicit Barrier(BlockBarrierOp op) : RankBarrier(op, 1) {}

  void run() {
    ReleaseFenceOp::create(b);
    meet();
    if (op.getWorldSize() == 1)
      return replace(arith::ConstantOp::create(b, b.getBoolAttr(true)));
    prepare(op.getSignals());
    Value epoch = op.getEpoch();
    Value seen = exchange(MemSemantic::Release, spread(epoch), Comparator::GreaterOrEqual, epoch);
    finish(compare(arith::CmpIPredicate::ult, seen, epoch), epoch, seen);
  }
};

class Exchange : RankBarrier<BlockExchangeOp> {
public:
  explicit Exchange(BlockExchangeOp op) : RankBarrier(op, 2 * int64_t(op.getValues().size())) {}

  void run() {
    if (op.getSem() == MemSemantic::Release) {
      ReleaseFenceOp::create(b);
      meet();
    }
    if (op.getWorldSize() == 1)
      return replace(arith::ConstantOp::create(b, b.getBoolAttr(true)));
    prepare(op.getSlots());
    // Not 0, which is what slots hold at first.
    Value flag = arith::AddIOp::create(b, arith::RemUIOp::create(b, op.getEpoch(), emit.i64(0xFFFFFFFF)), emit.i64(1));
    Value high = arith::ShLIOp::create(b, flag, emit.i64(32));
    Value seen = exchange(op.getSem(), packets(high), Comparator::HighHalfEqual, high);
    Value flags = arith::ShRUIOp::create(b, seen, spread(emit.i64(32)));
    Value missing = compare(arith::CmpIPredicate::ne, flags, flag);
    Value nothing = compare(arith::CmpIPredicate::eq, flags, emit.i64(0));
    Value epochs = arith::SelectOp::create(b, nothing, flags, arith::SubIOp::create(b, flags, spread(emit.i64(1))));
    finish(missing, op.getEpoch(), epochs);
  }

private:
  Value packets(Value flag) {
    Value result;
    for (auto [number, value] : llvm::enumerate(op.getValues()))
      for (int half = 0; half < 2; ++half) {
        Value bits = half ? Value(arith::ShRUIOp::create(b, value, emit.i64(32)))
                          : Value(arith::AndIOp::create(b, value, emit.i64(0xFFFFFFFF)));
        Value packet = spread(arith::OrIOp::create(b, bits, flag));
        Value isIts = compare(arith::CmpIPredicate::eq, numbers, emit.i32(int64_t(2 * number) + half));
        result = result ? Value(arith::SelectOp::create(b, isIts, packet, result)) : packet;
      }
    return result;
  }
};

} // namespace

void expandBarrier(BlockBarrierOp op) {
  Barrier(op).run();
}

void expandBarrier(BlockExchangeOp op) {
  Exchange(op).run();
}

} // namespace heddle::peer
