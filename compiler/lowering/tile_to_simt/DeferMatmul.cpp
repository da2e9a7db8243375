// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the two matmuls and what lies between them, then rewrites the loop with the second one an iteration later.
#include "compiler/lowering/tile_to_simt/DeferMatmul.h"
#include "compiler/lowering/tile_to_simt/LoopPipeliner.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

//===-- Finding --------------------------------------------------------------------------------------------------===//

/// The number of the carried value that the matmul gives and nothing else uses.
static std::optional<unsigned> carriedNumber(scf::ForOp loop, MatrixDotOp dot) {
  if (!dot->hasOneUse() || *dot->user_begin() != loop.getBody()->getTerminator())
    return std::nullopt;
  return dot->use_begin()->getOperandNumber();
}

/// What is computed in the body from a carried value on its way to the sum of `dot`; nothing if it goes elsewhere too.
static std::optional<SetVector<Operation *>> pathToSum(scf::ForOp loop, Value carried, MatrixDotOp dot) {
  SetVector<Operation *> path;
  SmallVector<Value> work = {carried};
  while (!work.empty())
    for (OpOperand &use : work.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (user == dot && &use == &dot.getCMutable())
        continue;
      if (user->getBlock() != loop.getBody() || user->getNumRegions() || !isPure(user) || user == dot ||
          user->hasTrait<mlir::OpTrait::IsTerminator>())
        return std::nullopt;
      if (path.insert(user))
        llvm::append_range(work, user->getResults());
    }
  return path;
}

/// Whether `value` is computed in the body from what `from` gives.
static bool isComputedFrom(Value value, Operation *from) {
  SetVector<Operation *> needed;
  auto add = [&](Value operand) {
    Operation *op = operand.getDefiningOp();
    if (op && op->getBlock() == from->getBlock())
      needed.insert(op);
  };
  add(value);
  for (size_t i = 0; i < needed.size(); ++i)
    for (Value operand : needed[i]->getOperands())
      add(operand);
  return needed.contains(from);
}

MatmulChain simt::chainOf(scf::ForOp loop) {
  auto dots = llvm::to_vector(loop.getBody()->getOps<MatrixDotOp>());
  if (dots.size() != 2)
    return {};
  MatmulChain chain{dots[0], dots[1]};
  std::optional<unsigned> number = carriedNumber(loop, chain.second);
  bool isFirstEarly = loop.isDefinedOutsideOfLoop(chain.first.getC()) && !isa<BlockArgument>(chain.first.getA());
  auto path = number ? pathToSum(loop, loop.getRegionIterArg(*number), chain.second) : std::nullopt;
  bool isChain = path && isFirstEarly && !path->contains(chain.first) && isComputedFrom(dots[1].getA(), dots[0]);
  return isChain ? chain : MatmulChain();
}

MatmulChain simt::findChain(scf::ForOp loop, int64_t mostWords) {
  MatmulChain chain = chainOf(loop);
  if (!chain || !chain.first.getWarpGroups() || !chain.second.getWarpGroups())
    return {};
  auto left = cast<RankedTensorType>(chain.second.getA().getType());
  int64_t words = wordsOf(chain.first.getType()) + wordsOf(chain.second.getType()) + wordsOf(left);
  if (!liesAsLeftOperand(left, chain.second.getType()))
    return {};
  chain.isDeferrable = words <= mostWords * 3 / 4;
  return chain;
}

//===-- Rewriting ------------------------------------------------------------------------------------------------===//

// From 0 on, the difference does not overflow.
Value simt::boundWithoutOne(ImplicitLocOpBuilder &b, scf::ForOp loop) {
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound();
  if (APInt least; matchPattern(lower, m_ConstantInt(&least)) && least.isNonNegative())
    return b.createOrFold<arith::SubIOp>(upper, loop.getStep());
  Value distance = arith::SubIOp::create(b, upper, lower);
  Value isMore = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, distance, loop.getStep());
  return arith::SelectOp::create(b, isMore, arith::SubIOp::create(b, upper, loop.getStep()), lower);
}

void DeferredLoop::setChain(MatmulChain taken) {
  chain = taken;
  number = *carriedNumber(loop, chain.second);
  path = *pathToSum(loop, loop.getRegionIterArg(number), chain.second);
}

scf::IfOp DeferredLoop::beginBranch() {
  if (hasIteration)
    return {};
  Value isAny = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, loop.getLowerBound(), loop.getUpperBound());
  auto branch = scf::IfOp::create(b, loop.getResultTypes(), isAny, /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loop.getInitArgs());
  b.setInsertionPointToStart(branch.thenBlock());
  return branch;
}

IRMapping DeferredLoop::firstIteration() {
  IRMapping map;
  map.map(loop.getInductionVar(), loop.getLowerBound());
  map.map(loop.getRegionIterArgs(), loop.getInitArgs());
  return map;
}

SmallVector<Value> DeferredLoop::othersAfter(const IRMapping &map) {
  SmallVector<Value> values;
  for (auto [i, value] : llvm::enumerate(loop.getYieldedValues()))
    if (i != number)
      values.push_back(map.lookupOrDefault(value));
  return values;
}

scf::ForOp DeferredLoop::beginLoop(ValueRange inits, IRMapping &map) {
  // It counts from the first iteration to the last but one, as the counter after the last may be beyond its type.
  auto made = scf::ForOp::create(b, loop.getLowerBound(), boundWithoutOne(b, loop), loop.getStep(), inits);
  made->setAttrs(loop->getAttrs());
  b.setInsertionPointToStart(made.getBody());
  map.map(loop.getInductionVar(), arith::AddIOp::create(b, made.getInductionVar(), loop.getStep()));
  size_t others = 0;
  for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs()))
    if (i != number)
      map.map(argument, made.getRegionIterArg(others++));
  return made;
}

void DeferredLoop::endBranch(scf::IfOp branch, ValueRange results, Value sum) {
  SmallVector<Value> yielded = llvm::to_vector(results.take_front(loop.getNumResults() - 1));
  yielded.insert(yielded.begin() + number, sum);
  if (branch) {
    scf::YieldOp::create(b, yielded);
    yielded = llvm::to_vector_of<Value>(branch.getResults());
  }
  loop->replaceAllUsesWith(yielded);
  loop.erase();
}

namespace {
class Deferral : DeferredLoop {
public:
  Deferral(scf::ForOp loop, MatmulChain chain, bool hasIteration) : DeferredLoop(loop, hasIteration) {
    setChain(chain);
    Value right = chain.second.getB();
    if ((trans = right.getDefiningOp<TransOp>()))
      right = trans.getSrc();
    read = right.getDefiningOp<LoadSharedOp>();
  }

  Operation *rewrite();

private:
  /// What the loop carries after an iteration that `map` knows: all but the sum, then what the second matmul reads.
  SmallVector<Value> carriedAfter(const IRMapping &map);
  /// Values that the second matmul takes an iteration later: sum, left operand, number of the right one's tile, and
  /// where it is waited for alone, the number and the parity of the barrier object.
  SmallVector<Value> readLater();
  /// The second matmul of the iteration before.
  Value multiply(ValueRange later);
  Value multiplyLast(ValueRange later);
  void waitForRight(ValueRange later);
  void freeRight(ValueRange later);
  bool isOfSecond(Operation &op) { return &op == chain.second || &op == chain.wait || &op == chain.arrive; }
  bool isOfGroups() { return bool(chain.first.getWarpGroups()); }
  scf::ForOp makeLoop(ValueRange inits);
  SmallVector<Value> makeOthers(ValueRange inits);

  TransOp trans = {};
  LoadSharedOp read = {}; ///< of the second matmul's right operand
};
} // namespace

SmallVector<Value> Deferral::carriedAfter(const IRMapping &map) {
  SmallVector<Value> values = othersAfter(map);
  for (Value value : readLater())
    values.push_back(map.lookupOrDefault(value));
  return values;
}

SmallVector<Value> Deferral::readLater() {
  SmallVector<Value> values = {chain.second.getC(), chain.second.getA(), read.getStage()};
  if (WaitArrivalsOp wait = chain.wait)
    values.append({wait.getStage(), wait.getParity()});
  return values;
}

void Deferral::waitForRight(ValueRange later) {
  if (WaitArrivalsOp wait = chain.wait)
    WaitArrivalsOp::create(b, wait.getObjects(), later[3], later[4]);
}

void Deferral::freeRight(ValueRange later) {
  if (ArriveOp arrive = chain.arrive)
    ArriveOp::create(b, arrive.getObjects(), later[3], /*copies=*/false);
}

Value Deferral::multiply(ValueRange later) {
  Value sum = later[0], left = later[1];
  IRMapping map;
  map.map(read.getStage(), later[2]);
  Value right = b.clone(*read, map)->getResult(0);
  if (trans)
    right = b.clone(*trans, map)->getResult(0);
  map.map(chain.second.getB(), right);
  map.map(chain.second.getA(), left);
  map.map(chain.second.getC(), sum);
  return b.clone(*chain.second, map)->getResult(0);
}

scf::ForOp Deferral::makeLoop(ValueRange inits) {
  IRMapping map;
  auto made = beginLoop(inits, map);
  ValueRange later = laterOf(made.getRegionIterArgs());
  auto isLast = [&](Operation &op) { return isa<ArriveOp>(op) && chain.second->isBeforeInBlock(&op); };
  bool isWaiting = false;
  Value sum;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (isOfSecond(op) || path.contains(&op) || isLast(op))
      continue;
    b.clone(op, map);
    if (isa<WaitArrivalsOp>(op) && !std::exchange(isWaiting, true))
      waitForRight(later);
    if (&op == chain.first && !isOfGroups())
      sum = multiply(later);
  }
  if (isOfGroups()) { // the second one begins while the first one goes on
    cast<MatrixDotOp>(map.lookup(chain.first.getD()).getDefiningOp()).setPending(1);
    sum = multiply(later);
  }
  map.map(loop.getRegionIterArg(number), sum);
  for (Operation &op : loop.getBody()->without_terminator())
    if (path.contains(&op) || (isLast(op) && !isOfSecond(op)))
      b.clone(op, map);
  freeRight(later);
  scf::YieldOp::create(b, carriedAfter(map));
  b.setInsertionPointAfter(made);
  return made;
}

// Numbers of tiles are constants there, which tell the tiles of the iterations that follow.
static void cloneFirst(ImplicitLocOpBuilder &b, Operation &op, IRMapping &map) {
  Operation *clone = b.clone(op, map);
  SmallVector<Value> folded;
  if (op.getNumResults() != 1 || !op.getResult(0).getType().isSignlessInteger() || failed(b.tryFold(clone, folded)) ||
      folded.empty())
    return;
  map.map(op.getResult(0), folded.front());
  clone->erase();
}

/// All iterations but the first one; what they give. Where matmuls are of one warp, a branch tells the loop's
/// iterations from none, so that LLVM makes one block of it.
SmallVector<Value> Deferral::makeOthers(ValueRange inits) {
  if (isOfGroups())
    return llvm::to_vector_of<Value>(makeLoop(inits).getResults());
  Value left = arith::SubIOp::create(b, loop.getUpperBound(), loop.getLowerBound());
  Value isMore = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, left, loop.getStep());
  auto branch = scf::IfOp::create(b, TypeRange(inits), isMore, /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, inits);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, makeLoop(inits).getResults());
  b.setInsertionPointAfter(branch);
  return llvm::to_vector_of<Value>(branch.getResults());
}

Value Deferral::multiplyLast(ValueRange later) {
  if (chain.wait) {
    waitForRight(later);
  } else {
    AsyncWaitOp::create(b, uint64_t(0)); // none is to the tile that the last one reads
    BarrierOp::create(b, /*warp=*/false, /*copies=*/false, /*shared=*/!isOfGroups(), /*bare=*/false);
  }
  return multiply(later);
}

Operation *Deferral::rewrite() {
  scf::IfOp branch = beginBranch();
  IRMapping map = firstIteration();
  for (Operation &op : loop.getBody()->without_terminator())
    if (!isOfSecond(op))
      cloneFirst(b, op, map);
  SmallVector<Value> results = makeOthers(carriedAfter(map));
  ValueRange later = laterOf(results);
  Value sum = multiplyLast(later);
  freeRight(later);
  Operation *around = branch ? branch.getOperation() : loop->getParentOp();
  endBranch(branch, results, sum);
  around->walk([](LoadSharedOp load) { // of matmuls that are elsewhere now
    if (load->use_empty())
      load.erase();
  });
  return branch;
}

void simt::leavePending(scf::ForOp loop, MatmulChain chain) {
  chain.second.setPending(1);
  Value sum = loop.getRegionIterArg(*carriedNumber(loop, chain.second));
  SmallVector<Operation *> users;
  for (Operation *user : sum.getUsers())
    if (user != chain.second)
      users.push_back(user);
  if (users.empty())
    return;
  OpBuilder b(*llvm::min_element(users, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); }));
  Value done = DotWaitOp::create(b, chain.second.getLoc(), sum.getType(), sum, 0);
  for (Operation *user : users)
    user->replaceUsesOfWith(sum, done);
}

Operation *simt::deferSecond(scf::ForOp loop, MatmulChain chain, bool hasIteration) {
  return Deferral(loop, chain, hasIteration).rewrite();
}
