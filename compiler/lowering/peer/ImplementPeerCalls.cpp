// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-implement-peer-calls: the second and last stage. A write is an atomic store, a wait a loop of atomic loads
// that looks at the clock and the abort word once in a while; a value leaves a loop through an argument of the block
// behind.
#include "compiler/lowering/peer/ExternCalls.h"
#include "compiler/lowering/peer/Passes.h"
#include "compiler/lowering/peer/PeerTarget.h"

namespace heddle {
#define GEN_PASS_DEF_IMPLEMENTPEERCALLSPASS
#include "compiler/lowering/peer/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle::peer;
using heddle::triton::MemScope;
using heddle::triton::MemSemantic;

namespace {

// Of the polls without success, on the host: how many before other threads may run, once and then again and again.
// Powers of two. Ranks may outnumber cores.
constexpr int64_t pollsBeforeYield = 96, pollsPerYield = 16;

LLVM::ICmpPredicate predicateOf(Comparator comparator) {
  switch (comparator) {
  case Comparator::Equal:
  case Comparator::HighHalfEqual:
    return LLVM::ICmpPredicate::eq;
  case Comparator::LessThan:
    return LLVM::ICmpPredicate::ult;
  case Comparator::LessOrEqual:
    return LLVM::ICmpPredicate::ule;
  case Comparator::GreaterThan:
    return LLVM::ICmpPredicate::ugt;
  case Comparator::GreaterOrEqual:
    return LLVM::ICmpPredicate::uge;
  }
  llvm::report_fatal_error("peer: unknown comparator");
}

class Implementer {
public:
  Implementer(LLVM::CallOp op, const ExternCall &call, const PeerTarget &target)
      : op(op), call(call), target(target), b(op.getLoc(), op) {}

  void run() {
    switch (call.kind) {
    case ExternCall::Kind::ThreadId:
      return finish(threadId());
    case ExternCall::Kind::Clock:
      return finish(emitClock(b, target));
    case ExternCall::Kind::ReleaseFence:
      // Elsewhere the barrier of the block and the release of one thread cover the stores of the others.
      if (target.fencesEachThread)
        emitReleaseFence(b, target, MemScope::System);
      return finish({});
    case ExternCall::Kind::Write:
      return write();
    case ExternCall::Kind::SpinWait:
      return spinWait();
    }
    llvm::report_fatal_error("peer: unknown kind of extern call");
  }

private:
  Value constant(Type type, int64_t value) { return LLVM::ConstantOp::create(b, type, b.getIntegerAttr(type, value)); }
  Value compare(LLVM::ICmpPredicate predicate, Value a, Value c) { return LLVM::ICmpOp::create(b, predicate, a, c); }

  /// Without a result, what uses it is wrong and reads poison.
  void finish(Value result) {
    if (!result && !op.getResult().use_empty())
      result = LLVM::PoisonOp::create(b, op.getResult().getType());
    if (result)
      op.getResult().replaceAllUsesWith(result);
    op.erase();
  }

  Value threadId() {
    if (!target.threadId)
      return constant(b.getI32Type(), 0);
    return LLVM::CallIntrinsicOp::create(b, b.getI32Type(), b.getStringAttr(target.threadId), ValueRange{})
        .getResult(0);
  }

  /// A pointer into global memory.
  Value pointer(Value value) {
    auto type = LLVM::LLVMPointerType::get(b.getContext(), target.addressSpace);
    return value.getType() == type ? value : Value(LLVM::AddrSpaceCastOp::create(b, type, value));
  }

  /// The mask of a masked call, as i1.
  Value mask() {
    Value bits = op.getArgOperands().back();
    return bits.getType().isInteger(1) ? bits : compare(LLVM::ICmpPredicate::ne, bits, constant(bits.getType(), 0));
  }

  void store() {
    Value at = pointer(op.getArgOperands()[0]), value = op.getArgOperands()[1];
    auto ordering = LLVM::AtomicOrdering::monotonic;
    if (call.semantic == MemSemantic::Release) {
      if (target.streamFence)
        LLVM::CallIntrinsicOp::create(b, b.getStringAttr(target.streamFence), ValueRange{});
      if (target.splitsRelease)
        emitReleaseFence(b, target, call.scope);
      else
        ordering = LLVM::AtomicOrdering::release;
    }
    LLVM::StoreOp::create(b, value, at, call.width / 8, false, false, false, ordering, syncScope(target, call.scope));
  }

  void write() {
    if (!call.masked) {
      store();
      return finish({});
    }
    Block *entry = op->getBlock(), *exit = entry->splitBlock(op);
    Block *active = b.createBlock(exit);
    store();
    LLVM::BrOp::create(b, exit);
    b.setInsertionPointToEnd(entry);
    LLVM::CondBrOp::create(b, mask(), active, exit);
    b.setInsertionPoint(op);
    finish({});
  }

  Value load(Value at, unsigned bits, bool isAcquire, MemScope scope) {
    auto ordering = isAcquire ? LLVM::AtomicOrdering::acquire : LLVM::AtomicOrdering::monotonic;
    return LLVM::LoadOp::create(b, b.getIntegerType(bits), at, bits / 8, false, false, false, false, ordering,
                                syncScope(target, scope));
  }

  Value holds(Value loaded, Value expected) {
    if (call.comparator == Comparator::HighHalfEqual) {
      Value half = constant(loaded.getType(), 32);
      loaded = LLVM::LShrOp::create(b, loaded, half);
      expected = LLVM::LShrOp::create(b, expected, half);
    }
    return compare(predicateOf(call.comparator), loaded, expected);
  }

  /// Whether the low bits of a count are zero.
  Value everyNth(Value count, int64_t period) {
    Value rest = LLVM::AndOp::create(b, count, constant(count.getType(), period - 1));
    return compare(LLVM::ICmpPredicate::eq, rest, constant(count.getType(), 0));
  }

  // entry -> loop(count) -> miss -> [yield ->] again -> loop, or now and then again -> slow -> loop;
  // loop and slow leave by done(value), which enters exit(value). Without a mask entry goes on to loop only.
  void spinWait() {
    Type type = op.getResult().getType(), i32 = b.getI32Type();
    bool isAcquire = call.semantic == MemSemantic::Acquire;
    Block *entry = op->getBlock(), *exit = entry->splitBlock(op);
    BlockArgument result = exit->addArgument(type, op.getLoc());
    auto block = [&](TypeRange types) {
      return b.createBlock(exit, types, SmallVector<Location>(types.size(), op.getLoc()));
    };
    Block *loop = block(i32), *miss = block({}), *slow = block({}), *done = block(type);

    b.setInsertionPointToEnd(entry);
    Value at = pointer(op.getArgOperands()[0]), none = constant(i32, 0);
    if (call.masked)
      LLVM::CondBrOp::create(b, mask(), loop, ValueRange{none}, exit, ValueRange{constant(type, 0)});
    else
      LLVM::BrOp::create(b, ValueRange{none}, loop);

    b.setInsertionPointToEnd(loop);
    Value loaded = load(at, call.width, isAcquire && !target.fencesAfterLoop, call.scope);
    LLVM::CondBrOp::create(b, holds(loaded, op.getArgOperands()[1]), done, ValueRange{loaded}, miss, ValueRange{});

    b.setInsertionPointToEnd(miss);
    Value count = LLVM::AddOp::create(b, loop->getArgument(0), constant(i32, 1));
    letOthersRun(count, slow);
    LLVM::CondBrOp::create(b, everyNth(count, target.pollsPerClock), slow, ValueRange{}, loop, ValueRange{count});

    b.setInsertionPointToEnd(slow);
    LLVM::CondBrOp::create(b, mustStop(), done, ValueRange{loaded}, loop, ValueRange{count});

    b.setInsertionPointToEnd(done);
    if (isAcquire && target.fencesAfterLoop)
      LLVM::FenceOp::create(b, LLVM::AtomicOrdering::acquire, syncScope(target, call.scope));
    LLVM::BrOp::create(b, ValueRange{done->getArgument(0)}, exit);
    b.setInsertionPoint(op);
    finish(result);
  }

  /// On the host: spares the core, and after a while gives it to whom this thread may be waiting for.
  void letOthersRun(Value count, Block *next) {
    if (!target.pause)
      return;
    LLVM::CallIntrinsicOp::create(b, b.getStringAttr(target.pause), ValueRange{});
    Value isLate = compare(LLVM::ICmpPredicate::ugt, count, constant(count.getType(), pollsBeforeYield));
    Value yields = LLVM::AndOp::create(b, isLate, everyNth(count, pollsPerYield));
    Block *here = b.getInsertionBlock(), *yield = b.createBlock(next), *again = b.createBlock(next);
    b.setInsertionPointToEnd(here);
    LLVM::CondBrOp::create(b, yields, yield, again);
    b.setInsertionPointToEnd(yield);
    callLibrary(b, "sched_yield", {});
    LLVM::BrOp::create(b, again);
    b.setInsertionPointToEnd(again);
  }

  /// Whether the deadline has passed or the group's abort word is set.
  Value mustStop() {
    Value deadline = op.getArgOperands()[2], group = pointer(op.getArgOperands()[3]);
    Value isLate = compare(LLVM::ICmpPredicate::uge, emitClock(b, target), deadline);
    Value field = LLVM::GEPOp::create(b, group.getType(), b.getI8Type(), group,
                                      ArrayRef<LLVM::GEPArg>{int32_t(offsetof(heddle::PeerGroup, abort))});
    Value address = LLVM::LoadOp::create(b, b.getI64Type(), field, 8);
    Value word = load(LLVM::IntToPtrOp::create(b, group.getType(), address), 32, false, MemScope::System);
    Value isAsked = compare(LLVM::ICmpPredicate::ne, word, constant(word.getType(), 0));
    return LLVM::OrOp::create(b, isLate, isAsked);
  }

  LLVM::CallOp op;
  const ExternCall &call;
  const PeerTarget &target;
  ImplicitLocOpBuilder b;
};

struct ImplementPeerCallsPass : heddle::impl::ImplementPeerCallsPassBase<ImplementPeerCallsPass> {
  using ImplementPeerCallsPassBase::ImplementPeerCallsPassBase;

  void runOnOperation() override {
    const PeerTarget *row = findPeerTarget(target);
    if (!row) {
      getOperation().emitError() << "unknown target '" << target << "': it is " << peerTargetNames();
      return signalPassFailure();
    }
    SmallVector<std::pair<LLVM::CallOp, ExternCall>> work;
    bool isValid = true;
    getOperation().walk([&](LLVM::CallOp op) {
      if (!op.getCallee() || !isExternCallName(*op.getCallee()))
        return;
      FailureOr<ExternCall> call = read(op);
      if (succeeded(call))
        work.push_back({op, *call});
      else
        isValid = false;
    });
    if (!isValid)
      return signalPassFailure();
    for (auto &[op, call] : work)
      Implementer(op, call, *row).run();
    eraseDeclarations();
  }

private:
  static FailureOr<ExternCall> read(LLVM::CallOp op) {
    auto emitError = [&] { return op.emitOpError(); };
    FailureOr<ExternCall> call = parseExternCall(*op.getCallee(), emitError);
    if (failed(call) || failed(checkExternCall(*call, *op.getCallee(), op.getArgOperands().getTypes(),
                                               op.getNumResults() ? op.getResult().getType() : Type(), emitError)))
      return failure();
    return call;
  }

  void eraseDeclarations() {
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<LLVM::LLVMFuncOp>())) {
      if (!function.isExternal() || !isExternCallName(function.getName()))
        continue;
      if (SymbolTable::symbolKnownUseEmpty(function, getOperation())) {
        function.erase();
        continue;
      }
      function.emitError() << "'" << function.getName() << "' is no function whose address can be taken";
      signalPassFailure();
    }
  }
};

} // namespace
