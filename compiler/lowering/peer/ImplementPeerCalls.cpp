// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-implement-peer-calls: the second and last stage. A write is an atomic store, a wait a loop of atomic loads
// that looks at the clock and the abort word once in a while; a value leaves a loop through an argument of the block
// after.
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
  /// `ops` is one call, or waits to be done together.
  Implementer(ArrayRef<LLVM::CallOp> ops, const ExternCall &call, const PeerTarget &target)
      : ops(ops), op(ops.front()), call(call), target(target), b(op.getLoc(), op) {}

  void run() {
    switch (call.kind) {
    case ExternCall::Kind::ThreadId:
      return finish(threadId());
    case ExternCall::Kind::Clock:
      return finish(emitClock(b, target));
    case ExternCall::Kind::Hold:
      return finish(hold());
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

  /// By an instruction without text, that no pass looks into or moves.
  Value hold() {
    Value value = op.getArgOperands()[0];
    if (!target.holdConstraints)
      return value;
    return LLVM::InlineAsmOp::create(b, value.getType(), value, /*asm_string=*/"", target.holdConstraints,
                                     /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                     LLVM::AsmDialectAttr(), ArrayAttr())
        .getResult(0);
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
  Value mask(LLVM::CallOp call) {
    Value bits = call.getArgOperands().back();
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
    LLVM::CondBrOp::create(b, mask(op), active, exit);
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
  // loop and slow leave by done(values), which enters exit(values). Where one masked wait, or all of several, are
  // masked off, entry goes to exit at once, but where the target has predicates for several: those that are masked off
  // hold, and read nothing under a predicate, else a word of the group.
  void spinWait() {
    Type type = op.getResult().getType(), i32 = b.getI32Type();
    SmallVector<Type> types(ops.size(), type);
    bool isAcquire = call.semantic == MemSemantic::Acquire, isAlone = ops.size() == 1;
    Block *entry = op->getBlock(), *exit = entry->splitBlock(op);
    auto block = [&](TypeRange arguments) {
      return b.createBlock(exit, arguments, SmallVector<Location>(arguments.size(), op.getLoc()));
    };
    SmallVector<BlockArgument> results;
    for (Type result : types)
      results.push_back(exit->addArgument(result, op.getLoc()));
    Block *loop = block(i32), *miss = block({}), *slow = block({}), *done = block(types);

    b.setInsertionPointToEnd(entry);
    Value none = constant(i32, 0), zero = constant(type, 0);
    SmallVector<Value> places, masks;
    for (LLVM::CallOp wait : ops) {
      places.push_back(pointer(wait.getArgOperands()[0]));
      if (!call.masked)
        continue;
      masks.push_back(mask(wait));
      if (!isAlone && !target.predicatesLoads)
        places.back() = LLVM::SelectOp::create(b, masks.back(), places.back(), pointer(wait.getArgOperands()[3]));
    }
    if (call.masked && (isAlone || !target.predicatesLoads))
      LLVM::CondBrOp::create(b, anyOf(masks), loop, ValueRange{none}, exit, SmallVector<Value>(ops.size(), zero));
    else
      LLVM::BrOp::create(b, ValueRange{none}, loop);

    b.setInsertionPointToEnd(loop);
    SmallVector<Value> loaded;
    const char *order = call.scope == MemScope::System ? "relaxed.sys"
                        : call.scope == MemScope::Gpu  ? "relaxed.gpu"
                                                       : "relaxed.cta";
    bool predicates = call.masked && !isAlone && target.predicatesLoads;
    for (auto [number, place] : llvm::enumerate(places))
      loaded.push_back(predicates ? emitPredicatedLoad(b, place, masks[number], zero, order)
                                  : load(place, call.width, isAcquire && !target.fencesAfterLoop, call.scope));
    Value all;
    for (auto [number, wait] : llvm::enumerate(ops)) {
      LLVM::CallOp own = wait;
      Value one = holds(loaded[number], own.getArgOperands()[1]);
      if (call.masked && !isAlone)
        one = LLVM::OrOp::create(b, one, LLVM::XOrOp::create(b, masks[number], constant(b.getI1Type(), 1)));
      all = all ? Value(LLVM::AndOp::create(b, all, one)) : one;
    }
    LLVM::CondBrOp::create(b, all, done, loaded, miss, ValueRange{});

    b.setInsertionPointToEnd(miss);
    Value count = LLVM::AddOp::create(b, loop->getArgument(0), constant(i32, 1));
    letOthersRun(count, slow);
    LLVM::CondBrOp::create(b, everyNth(count, target.pollsPerClock), slow, ValueRange{}, loop, ValueRange{count});

    b.setInsertionPointToEnd(slow);
    LLVM::CondBrOp::create(b, mustStop(), done, loaded, loop, ValueRange{count});

    b.setInsertionPointToEnd(done);
    if (isAcquire && target.fencesAfterLoop)
      LLVM::FenceOp::create(b, LLVM::AtomicOrdering::acquire, syncScope(target, call.scope));
    SmallVector<Value> values(done->getArguments());
    if (call.masked && !isAlone)
      for (auto [value, active] : llvm::zip(values, masks))
        value = LLVM::SelectOp::create(b, active, value, zero);
    LLVM::BrOp::create(b, values, exit);
    for (auto [wait, result] : llvm::zip(ops, results)) {
      LLVM::CallOp call = wait;
      call.getResult().replaceAllUsesWith(result);
      call.erase();
    }
  }

  Value anyOf(ArrayRef<Value> bits) {
    Value result = bits.front();
    for (Value bit : bits.drop_front())
      result = LLVM::OrOp::create(b, result, bit);
    return result;
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

  /// Whether the deadline has passed, the group's abort word is set, or this rank has missed a peer before: then it
  /// waits no more, in this kernel and in those queued after it.
  Value mustStop() {
    static_assert(offsetof(heddle::PeerError, state) == 0 && heddle::PeerErrorState::Free == heddle::PeerErrorState{});
    Value isLate = compare(LLVM::ICmpPredicate::uge, emitClock(b, target), op.getArgOperands()[2]);
    Value isAsked = isSet(offsetof(heddle::PeerGroup, abort)), hasFailed = isSet(offsetof(heddle::PeerGroup, error));
    return LLVM::OrOp::create(b, LLVM::OrOp::create(b, isLate, isAsked), hasFailed);
  }

  /// Whether the u32 is not 0 whose address is this field of the group.
  Value isSet(size_t fieldBytes) {
    Value group = pointer(op.getArgOperands()[3]);
    Value field =
        LLVM::GEPOp::create(b, group.getType(), b.getI8Type(), group, ArrayRef<LLVM::GEPArg>{int32_t(fieldBytes)});
    Value address = LLVM::LoadOp::create(b, b.getI64Type(), field, 8);
    Value word = load(LLVM::IntToPtrOp::create(b, group.getType(), address), 32, false, MemScope::System);
    return compare(LLVM::ICmpPredicate::ne, word, constant(word.getType(), 0));
  }

  ArrayRef<LLVM::CallOp> ops;
  LLVM::CallOp op; ///< the first
  const ExternCall &call;
  const PeerTarget &target;
  ImplicitLocOpBuilder b;
};

//===-- Waits for several words at once --------------------------------------------------------------------------===//

/// Of waits that become one: what is late is then waited for once, and the loads of a turn overlap.
constexpr size_t mostWords = 32;

bool isMovable(Operation *op) {
  return op->getNumRegions() == 0 && isMemoryEffectFree(op) && !op->hasTrait<mlir::OpTrait::IsTerminator>();
}

/// Moves what `op` needs of the operations between `first` and it before `first`. False, and nothing is moved,
/// when that is not only pure operations.
bool moveOperandsBefore(LLVM::CallOp op, LLVM::CallOp first, SmallVectorImpl<Operation *> &between) {
  SmallPtrSet<Operation *, 16> needed;
  SmallVector<Value> work(op.getArgOperands());
  while (!work.empty()) {
    Operation *maker = work.pop_back_val().getDefiningOp();
    if (!maker || maker->getBlock() != op->getBlock() || (maker != first && maker->isBeforeInBlock(first)))
      continue;
    if (!isMovable(maker)) // one of the waits
      return false;
    if (needed.insert(maker).second)
      llvm::append_range(work, maker->getOperands());
  }
  llvm::erase_if(between, [&](Operation *maker) {
    if (!needed.contains(maker))
      return false;
    maker->moveBefore(first);
    return true;
  });
  return true;
}

/// The waits that can be one with `first`: of its kind, deadline and group, after it in its block with nothing between
/// them but what computes operands. Those are then computed before it.
SmallVector<LLVM::CallOp> waitsWith(LLVM::CallOp first) {
  SmallVector<LLVM::CallOp> result = {first};
  SmallVector<Operation *> between;
  auto sharesOperand = [&](LLVM::CallOp next, unsigned number) {
    return next.getArgOperands()[number] == first.getArgOperands()[number];
  };
  for (Operation *op = first->getNextNode(); op && result.size() < mostWords; op = op->getNextNode()) {
    auto next = dyn_cast<LLVM::CallOp>(op);
    if (next && next.getCallee() == first.getCallee()) {
      if (!sharesOperand(next, 2) || !sharesOperand(next, 3) || !moveOperandsBefore(next, first, between))
        break;
      result.push_back(next);
    } else if (isMovable(op)) {
      between.push_back(op);
    } else {
      break;
    }
  }
  return result;
}

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
    DenseSet<Operation *> done;
    for (auto &[op, call] : work) {
      if (done.contains(op))
        continue;
      bool joins = row->joinsWaits && call.kind == ExternCall::Kind::SpinWait && call.semantic == MemSemantic::Relaxed;
      SmallVector<LLVM::CallOp> ops = joins ? waitsWith(op) : SmallVector<LLVM::CallOp>{op};
      done.insert(ops.begin(), ops.end());
      Implementer(ops, call, *row).run();
    }
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
