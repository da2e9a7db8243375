// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the chain and what belongs to its second matmul, and writes the loop again: the first iteration without the
// second matmul, the loop over the others, and the second matmul of the last one.
#include "compiler/lowering/tile_to_simt/DeferChains.h"
#include "compiler/lowering/tile_to_simt/DeferMatmul.h"
#include "compiler/lowering/tile_to_simt/LoopSlice.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

namespace {

/// A loop and its chain.
class Deferral {
public:
  explicit Deferral(scf::ForOp loop) : loop(loop), b(loop.getLoc(), loop), slice(loop) {}

  bool find();
  void rewrite();
  Location location() const { return loop->getLoc(); }

private:
  /// What the second matmul takes an iteration later: its sum and left operand, the counter, and the scalars of which
  /// the load's address is computed.
  SmallVector<Value> readLater(const IRMapping &map, Value counter);
  /// What the loop carries after an iteration that `map` knows: all but the sum, then what is read later.
  SmallVector<Value> carriedAfter(const IRMapping &map, Value counter);
  /// The second matmul of an iteration, for what was carried from there.
  Value multiply(ValueRange later);
  scf::ForOp makeLoop(ValueRange inits);
  bool isLate(Operation *op) const { return op == chain.second || late.contains(op); }

  scf::ForOp loop;
  ImplicitLocOpBuilder b;
  LoopSlice slice; ///< of the load's address
  MatmulChain chain;
  unsigned number = 0;         ///< of the carried sum
  SetVector<Operation *> path; ///< from the carried sum to the one that the second matmul adds to
  SetVector<Operation *> late; ///< the load of the second one's right operand, and what is made of it
};

} // namespace

bool Deferral::find() {
  chain = chainOf(loop);
  if (!chain || loop.getUnsignedCmp())
    return false;
  number = *carriedNumber(loop, chain.second);
  path = *pathToSum(loop, loop.getRegionIterArg(number), chain.second);
  GlobalLoadOp load;
  SmallVector<Operation *> steps;
  for (Operation *op = chain.second.getB().getDefiningOp(); op && !load; op = op->getOperand(0).getDefiningOp()) {
    if (op->getBlock() != loop.getBody() || !op->hasOneUse())
      return false;
    steps.push_back(op);
    load = dyn_cast<GlobalLoadOp>(op);
    if (!load && !isa<ConvertLayoutOp, TransOp>(op))
      return false;
  }
  if (!load || load.getIsVolatile() || slice.loopWrites().mayChange(load.getPointer()) ||
      !slice.add({load.getPointer(), load.getMask(), load.getOther()}))
    return false;
  late.insert(steps.rbegin(), steps.rend());
  return true;
}

SmallVector<Value> Deferral::readLater(const IRMapping &map, Value counter) {
  SmallVector<Value> values = {map.lookupOrDefault(chain.second.getC()), map.lookupOrDefault(chain.second.getA()),
                               counter};
  for (unsigned scalar : slice.carried())
    values.push_back(map.lookupOrDefault(Value(loop.getRegionIterArg(scalar))));
  return values;
}

SmallVector<Value> Deferral::carriedAfter(const IRMapping &map, Value counter) {
  SmallVector<Value> values;
  for (auto [i, value] : llvm::enumerate(loop.getYieldedValues()))
    if (i != number)
      values.push_back(map.lookupOrDefault(value));
  llvm::append_range(values, readLater(map, counter));
  return values;
}

Value Deferral::multiply(ValueRange later) {
  IRMapping map = slice.at(later[2], later.drop_front(3));
  slice.clone(b, map);
  for (Operation *op : late)
    b.clone(*op, map);
  map.map(chain.second.getC(), later[0]);
  map.map(chain.second.getA(), later[1]);
  return b.clone(*chain.second, map)->getResult(0);
}

scf::ForOp Deferral::makeLoop(ValueRange inits) {
  auto made = scf::ForOp::create(b, secondCounter(b, loop), loop.getUpperBound(), loop.getStep(), inits);
  made->setAttrs(loop->getAttrs());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(made.getBody());
  IRMapping map;
  map.map(loop.getInductionVar(), made.getInductionVar());
  ValueRange arguments = made.getRegionIterArgs();
  size_t others = 0;
  for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs()))
    if (i != number)
      map.map(argument, arguments[others++]);
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (isLate(&op) || path.contains(&op))
      continue;
    b.clone(op, map);
    if (&op == chain.first)
      map.map(loop.getRegionIterArg(number), multiply(arguments.drop_front(others)));
  }
  for (Operation &op : loop.getBody()->without_terminator())
    if (path.contains(&op))
      b.clone(op, map);
  scf::YieldOp::create(b, carriedAfter(map, made.getInductionVar()));
  return made;
}

void Deferral::rewrite() {
  Value isAny = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, loop.getLowerBound(), loop.getUpperBound());
  auto branch = scf::IfOp::create(b, loop.getResultTypes(), isAny, /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loop.getInitArgs());
  b.setInsertionPointToStart(branch.thenBlock());
  IRMapping map;
  map.map(loop.getInductionVar(), loop.getLowerBound());
  map.map(loop.getRegionIterArgs(), loop.getInitArgs());
  for (Operation &op : loop.getBody()->without_terminator())
    if (!isLate(&op))
      b.clone(op, map);
  ValueRange results = makeLoop(carriedAfter(map, loop.getLowerBound())).getResults();
  size_t others = loop.getNumResults() - 1;
  SmallVector<Value> yielded = llvm::to_vector(results.take_front(others));
  yielded.insert(yielded.begin() + number, multiply(results.drop_front(others)));
  scf::YieldOp::create(b, yielded);
  loop->replaceAllUsesWith(branch.getResults());
  loop.erase();
}

static size_t deferAll(ModuleOp module) {
  std::vector<Deferral> deferrals;
  module.walk([&](scf::ForOp loop) {
    bool isInnermost =
        !loop.getBody()->walk([](LoopLikeOpInterface) { return WalkResult::interrupt(); }).wasInterrupted();
    if (Deferral one(loop); isInnermost && one.find())
      deferrals.push_back(std::move(one));
  });
  for (Deferral &one : deferrals) {
    emitRemark(one.location())
        << "the second of two dependent matmuls moves to the next iteration, for a warp pipeline";
    one.rewrite();
  }
  return deferrals.size();
}

/// Loops over two matmuls that have stages.
static size_t countStaged(ModuleOp module) {
  size_t count = 0;
  module.walk([&](scf::ForOp loop) {
    size_t matmuls = 0;
    for (StageOp stage : loop.getBody()->getOps<StageOp>())
      stage.walk([&](MatrixDotOp) { ++matmuls; });
    count += matmuls == 2;
  });
  return count;
}

void simt::deferChains(ModuleOp module, llvm::function_ref<LogicalResult(OwningOpRef<ModuleOp> &)> runPhasesAfter) {
  OwningOpRef<ModuleOp> copy = module.clone();
  auto isAccepted = [&] {
    ScopedDiagnosticHandler ignore(module.getContext(), [](Diagnostic &) { return success(); });
    size_t deferred = deferAll(*copy);
    return deferred > 0 && succeeded(runPhasesAfter(copy)) && countStaged(*copy) == deferred;
  };
  if (isAccepted())
    deferAll(module);
}
