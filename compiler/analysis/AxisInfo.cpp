// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fixpoint of axis facts: forwards from the arguments, optimistic at first (no facts yet means "not computed"),
// over loops and branches until nothing changes. Its own walk over the IR, because every compilation for a GPU runs it.
#include "compiler/analysis/AxisInfo.h"
#include "compiler/analysis/AxisRules.h"
#include "compiler/dialects/triton/Triton.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::analysis;

namespace {
// After so many rounds a value that still changes is given up, so that slow descents end.
constexpr int mostRounds = 16;

class Solver {
public:
  explicit Solver(llvm::DenseMap<Value, AxisInfo> &infos) : infos(infos) {}

  void visitModule(ArrayRef<triton::FuncOp> functions);

private:
  const AxisInfo *find(Value value) const {
    auto found = infos.find(value);
    return found == infos.end() ? nullptr : &found->second;
  }
  void set(Value value, AxisInfo info) {
    normalise(value.getType(), info);
    infos.insert_or_assign(value, std::move(info));
  }
  /// `target` may also be what `source` is. Returns whether this is news.
  bool flow(Value source, Value target, int round);
  bool flowAll(ValueRange sources, ValueRange targets, int round);

  void seedArguments(triton::FuncOp function, bool isCalled);
  bool visitFunction(triton::FuncOp function, int round);
  void visitRegion(Region &region);
  bool visitBlock(Block &block, int round);
  bool visitBranch(BranchOpInterface branch, int round);
  void visit(Operation *op);
  void visitFor(scf::ForOp loop);
  void visitWhile(scf::WhileOp loop);
  void visitIf(scf::IfOp branch);
  void visitCall(triton::CallOp call);
  void visitPlain(Operation *op);
  void setUnknown(ValueRange values);
  void learn(LLVM::AssumeOp assumption);
  void learnDivisor(Value value, int64_t divisor);

  llvm::DenseMap<Value, AxisInfo> &infos;
  llvm::DenseMap<StringAttr, triton::FuncOp> callees;
  llvm::DenseMap<Operation *, SmallVector<std::optional<AxisInfo>>> returned; ///< by function
  int callRound = 0;
  bool callsChanged = false;
};

bool Solver::flow(Value source, Value target, int round) {
  const AxisInfo *incoming = find(source);
  if (!incoming)
    return false;
  const AxisInfo *old = find(target);
  if (!old) {
    set(target, *incoming);
    return true;
  }
  AxisInfo joined = join(target.getType(), *old, *incoming);
  normalise(target.getType(), joined);
  if (joined == *old)
    return false;
  infos[target] = round < mostRounds ? std::move(joined) : unknownInfo(target.getType());
  return true;
}

bool Solver::flowAll(ValueRange sources, ValueRange targets, int round) {
  bool changed = false;
  for (auto [source, target] : llvm::zip_equal(sources, targets))
    changed |= flow(source, target, round);
  return changed;
}

void Solver::setUnknown(ValueRange values) {
  for (Value value : values)
    infos.insert_or_assign(value, unknownInfo(value.getType()));
}

//===-- Functions ------------------------------------------------------------------------------------------------===//

void Solver::visitModule(ArrayRef<triton::FuncOp> functions) {
  llvm::DenseSet<StringRef> called;
  if (functions.size() > 1)
    for (triton::FuncOp function : functions) {
      callees[function.getSymNameAttr()] = function;
      function.walk([&](triton::CallOp call) { called.insert(call.getCallee()); });
    }
  for (triton::FuncOp function : functions)
    seedArguments(function, called.contains(function.getSymName()));
  do {
    callsChanged = false;
    for (triton::FuncOp function : functions)
      visitRegion(function.getBody());
  } while (callsChanged && ++callRound);
}

// What is known about the arguments of a function that is only called is what the calls pass.
void Solver::seedArguments(triton::FuncOp function, bool isCalled) {
  if (function.isExternal() || (isCalled && function.isPrivate()))
    return;
  for (BlockArgument argument : function.getArguments()) {
    AxisInfo info = unknownInfo(argument.getType());
    if (DictionaryAttr hints = function.getArgAttrDict(argument.getArgNumber()))
      applyHints(hints, info);
    set(argument, std::move(info));
  }
}

void Solver::visitCall(triton::CallOp call) {
  triton::FuncOp callee = callees.lookup(call.getCalleeAttr().getAttr());
  if (!callee || callee.isExternal())
    return setUnknown(call.getResults());
  callsChanged |= flowAll(call.getArgOperands(), callee.getArguments(), callRound);
  for (auto [result, info] : llvm::zip(call.getResults(), returned[callee]))
    if (info)
      set(result, *info);
}

//===-- Control flow ---------------------------------------------------------------------------------------------===//

void Solver::visitRegion(Region &region) {
  if (region.hasOneBlock()) {
    visitBlock(region.front(), 0);
    return;
  }
  bool changed = !region.empty();
  for (int round = 0; changed; ++round) {
    changed = false;
    for (Block &block : region)
      changed |= visitBlock(block, round);
  }
}

bool Solver::visitBlock(Block &block, int round) {
  for (Operation &op : block)
    visit(&op);
  auto branch = dyn_cast_if_present<BranchOpInterface>(block.empty() ? nullptr : &block.back());
  return branch && visitBranch(branch, round);
}

bool Solver::visitBranch(BranchOpInterface branch, int round) {
  bool changed = false;
  for (unsigned i = 0; i < branch->getNumSuccessors(); ++i) {
    SuccessorOperands passed = branch.getSuccessorOperands(i);
    for (auto [j, argument] : llvm::enumerate(branch->getSuccessor(i)->getArguments()))
      if (Value source = passed[j])
        changed |= flow(source, argument, round);
      else
        setUnknown(argument);
  }
  return changed;
}

void Solver::visitFor(scf::ForOp loop) {
  const AxisInfo *lower = find(loop.getLowerBound()), *step = find(loop.getStep());
  if (lower && step) {
    AxisInfo info = unknownInfo(loop.getInductionVar().getType());
    info.axes[0].divisibility = std::min(lower->divisorOfAll(), step->divisorOfAll());
    info.maybeNegative = lower->maybeNegative || step->maybeNegative;
    set(loop.getInductionVar(), std::move(info));
  }
  flowAll(loop.getInitArgs(), loop.getRegionIterArgs(), 0);
  int round = 0;
  do
    visitRegion(loop.getRegion());
  while (flowAll(loop.getYieldedValues(), loop.getRegionIterArgs(), round++));
  for (auto [result, argument] : llvm::zip_equal(loop.getResults(), loop.getRegionIterArgs()))
    if (const AxisInfo *info = find(argument))
      set(result, AxisInfo(*info));
}

void Solver::visitWhile(scf::WhileOp loop) {
  flowAll(loop.getInits(), loop.getBeforeArguments(), 0);
  int round = 0;
  do {
    visitRegion(loop.getBefore());
    flowAll(loop.getConditionOp().getArgs(), loop.getAfterArguments(), round);
    visitRegion(loop.getAfter());
  } while (flowAll(loop.getYieldOp().getOperands(), loop.getBeforeArguments(), round++));
  for (auto [result, passed] : llvm::zip_equal(loop.getResults(), loop.getConditionOp().getArgs()))
    if (const AxisInfo *info = find(passed))
      set(result, AxisInfo(*info));
}

void Solver::visitIf(scf::IfOp branch) {
  visitRegion(branch.getThenRegion());
  if (branch.getElseRegion().empty())
    return;
  visitRegion(branch.getElseRegion());
  for (auto [i, result] : llvm::enumerate(branch.getResults())) {
    const AxisInfo *left = find(branch.thenYield().getOperand(i)), *right = find(branch.elseYield().getOperand(i));
    if (left && right)
      set(result, join(result.getType(), *left, *right));
    else if (left || right)
      set(result, AxisInfo(left ? *left : *right));
  }
}

//===-- Single operations ----------------------------------------------------------------------------------------===//

void Solver::visit(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return visitFor(loop);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return visitWhile(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return visitIf(branch);
  if (auto call = dyn_cast<triton::CallOp>(op))
    return visitCall(call);
  if (auto end = dyn_cast<triton::ReturnOp>(op); end && !callees.empty()) {
    auto &infosOfResults = returned[op->getParentOp()];
    infosOfResults.resize(end.getSrcs().size());
    for (auto [value, info] : llvm::zip_equal(end.getSrcs(), infosOfResults))
      if (const AxisInfo *found = find(value)) {
        AxisInfo joined = info ? join(value.getType(), *info, *found) : *found;
        normalise(value.getType(), joined);
        callsChanged |= info != joined;
        info = callRound < mostRounds ? joined : unknownInfo(value.getType());
      }
    return;
  }
  if (auto assumption = dyn_cast<LLVM::AssumeOp>(op))
    return learn(assumption);
  for (Region &region : op->getRegions()) {
    for (Block &block : region)
      setUnknown(block.getArguments());
    visitRegion(region);
  }
  if (op->getNumRegions())
    return setUnknown(op->getResults());
  visitPlain(op);
}

void Solver::visitPlain(Operation *op) {
  if (op->getNumResults() == 0)
    return;
  SmallVector<const AxisInfo *, 4> operands;
  for (Value operand : op->getOperands())
    operands.push_back(find(operand));
  for (OpResult result : op->getResults())
    if (std::optional<AxisInfo> info = computeInfo(result, operands)) {
      normalise(result.getType(), *info);
      if (result.getResultNumber() == 0)
        applyHints(op->getDiscardableAttrDictionary(), *info);
      set(result, std::move(*info));
      operands.clear();
      for (Value operand : op->getOperands()) // the map may have grown
        operands.push_back(find(operand));
    }
}

//===-- Assumptions ----------------------------------------------------------------------------------------------===//

void Solver::learnDivisor(Value value, int64_t divisor) {
  const AxisInfo *info = find(value);
  if (!info || isa<ShapedType>(value.getType()))
    return;
  AxisInfo better = *info;
  better.axes[0].divisibility = std::max(better.axes[0].divisibility, divisor);
  set(value, std::move(better));
}

// `x % c == 0` and `x >= 0`, for all that comes after; only where the assumption runs whenever `x` is computed, and not
// for values that other rounds of the fixpoint add to.
void Solver::learn(LLVM::AssumeOp assumption) {
  auto compare = assumption.getCond().getDefiningOp<arith::CmpIOp>();
  if (!compare)
    return;
  auto isOurs = [&](Value value) {
    bool isSeed =
        callees.empty() && isa<triton::FuncOp>(assumption->getParentOp()) && assumption->getBlock()->isEntryBlock();
    return value.getParentBlock() == assumption->getBlock() && (value.getDefiningOp() || isSeed);
  };
  Value left = compare.getLhs();
  APInt right;
  if (!matchPattern(compare.getRhs(), m_ConstantInt(&right)))
    return;
  Operation *remainder = left.getDefiningOp();
  if (compare.getPredicate() == arith::CmpIPredicate::eq && right.isZero() &&
      isa_and_present<arith::RemSIOp, arith::RemUIOp>(remainder) && isOurs(remainder->getOperand(0))) {
    const AxisInfo *divisor = find(remainder->getOperand(1));
    return learnDivisor(remainder->getOperand(0), divisor ? divisor->divisorOfAll() : 1);
  }
  bool notNegative = (compare.getPredicate() == arith::CmpIPredicate::sge && right.isNonNegative()) ||
                     (compare.getPredicate() == arith::CmpIPredicate::sgt && right.sge(-1));
  if (auto found = infos.find(left); notNegative && found != infos.end() && isOurs(left))
    found->second.maybeNegative = false;
}
} // namespace

AxisAnalysis::AxisAnalysis(Operation *root) {
  SmallVector<triton::FuncOp> functions;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto function = dyn_cast<triton::FuncOp>(op);
    if (function)
      functions.push_back(function);
    return function ? WalkResult::skip() : WalkResult::advance();
  });
  Solver(infos).visitModule(functions);
}

const AxisInfo &AxisAnalysis::of(Value value) const {
  auto found = infos.find(value);
  if (found != infos.end())
    return found->second;
  // Outside of what was analysed, poison, or never computed.
  static const std::vector<AxisInfo> unknown = [] {
    std::vector<AxisInfo> byRank(21);
    for (size_t rank = 0; rank < byRank.size(); ++rank)
      byRank[rank].axes.resize(std::max<size_t>(1, rank));
    return byRank;
  }();
  return unknown[shapeOf(value.getType()).size()];
}
