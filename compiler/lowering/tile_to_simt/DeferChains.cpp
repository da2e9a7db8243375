// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the chain and what belongs to its second matmul, and writes the loop again: the first iteration without the
// second matmul, the loop over the others, and the second matmul of the last one.
#include "compiler/lowering/tile_to_simt/DeferChains.h"
#include "compiler/lowering/tile_to_simt/DeferMatmul.h"
#include "compiler/lowering/tile_to_simt/LoopSlice.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

namespace {

/// A loop and its chain.
class LoadedLater : DeferredLoop {
public:
  explicit LoadedLater(scf::ForOp loop) : DeferredLoop(loop), slice(loop) {}

  bool find();
  /// The loop over all iterations but the first.
  scf::ForOp rewrite();
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

  LoopSlice slice;             ///< of the load's address
  SetVector<Operation *> late; ///< the load of the second one's right operand, and what is made of it
};

} // namespace

bool LoadedLater::find() {
  MatmulChain found = chainOf(loop);
  if (!found || loop.getUnsignedCmp())
    return false;
  setChain(found);
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

SmallVector<Value> LoadedLater::readLater(const IRMapping &map, Value counter) {
  SmallVector<Value> values = {map.lookupOrDefault(chain.second.getC()), map.lookupOrDefault(chain.second.getA()),
                               counter};
  for (unsigned scalar : slice.carried())
    values.push_back(map.lookupOrDefault(Value(loop.getRegionIterArg(scalar))));
  return values;
}

SmallVector<Value> LoadedLater::carriedAfter(const IRMapping &map, Value counter) {
  SmallVector<Value> values = othersAfter(map);
  llvm::append_range(values, readLater(map, counter));
  return values;
}

Value LoadedLater::multiply(ValueRange later) {
  IRMapping map = slice.at(later[2], later.drop_front(3));
  slice.clone(b, map);
  for (Operation *op : late)
    b.clone(*op, map);
  map.map(chain.second.getC(), later[0]);
  map.map(chain.second.getA(), later[1]);
  return b.clone(*chain.second, map)->getResult(0);
}

scf::ForOp LoadedLater::makeLoop(ValueRange inits) {
  IRMapping map;
  auto made = beginLoop(inits, map);
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (isLate(&op) || path.contains(&op))
      continue;
    b.clone(op, map);
    if (&op == chain.first)
      map.map(loop.getRegionIterArg(number), multiply(laterOf(made.getRegionIterArgs())));
  }
  for (Operation &op : loop.getBody()->without_terminator())
    if (path.contains(&op))
      b.clone(op, map);
  scf::YieldOp::create(b, carriedAfter(map, map.lookup(loop.getInductionVar())));
  b.setInsertionPointAfter(made);
  return made;
}

scf::ForOp LoadedLater::rewrite() {
  scf::IfOp branch = beginBranch();
  IRMapping map = firstIteration();
  for (Operation &op : loop.getBody()->without_terminator())
    if (!isLate(&op))
      b.clone(op, map);
  scf::ForOp made = makeLoop(carriedAfter(map, loop.getLowerBound()));
  endBranch(branch, made.getResults(), multiply(laterOf(made.getResults())));
  return made;
}

//===-- Choice ---------------------------------------------------------------------------------------------------===//

static std::vector<scf::ForOp> innermostLoops(ModuleOp module) {
  std::vector<scf::ForOp> loops;
  module.walk([&](scf::ForOp loop) {
    if (isInnermost(loop))
      loops.push_back(loop);
  });
  return loops;
}

static void tellDeferral(Location location) {
  emitRemark(location) << "the second of two dependent matmuls moves to the next iteration, for a warp pipeline";
}

/// For pipeline-loops. Gives the loops.
static std::vector<scf::ForOp> markAll(ModuleOp module) {
  std::vector<scf::ForOp> marked;
  for (scf::ForOp loop : innermostLoops(module))
    if (!loop.getUnsignedCmp() && chainOf(loop)) {
      loop->setAttr(defersSecondAttribute, UnitAttr::get(module.getContext()));
      tellDeferral(loop.getLoc());
      marked.push_back(loop);
    }
  return marked;
}

/// Gives the loops that it makes.
static std::vector<scf::ForOp> loadAllLater(ModuleOp module) {
  std::vector<LoadedLater> deferrals;
  for (scf::ForOp loop : innermostLoops(module))
    if (LoadedLater one(loop); one.find())
      deferrals.push_back(std::move(one));
  std::vector<scf::ForOp> made;
  for (LoadedLater &one : deferrals) {
    tellDeferral(one.location());
    made.push_back(one.rewrite());
  }
  return made;
}

/// Whether each loop that was to have its second matmul in the next iteration has that, and stages.
static bool areStaged(ModuleOp module) {
  return !module
              .walk([](scf::ForOp loop) {
                bool isStaged = !loop.getBody()->getOps<StageOp>().empty();
                bool isLeft = loop->hasAttr(defersSecondAttribute); // by pipeline-loops
                return isLeft || (loop->hasAttr(deferredAttribute) && !isStaged) ? WalkResult::interrupt()
                                                                                 : WalkResult::advance();
              })
              .wasInterrupted();
}

void simt::deferChains(ModuleOp module, llvm::function_ref<LogicalResult(OwningOpRef<ModuleOp> &)> runPhasesAfter) {
  for (auto *defer : {markAll, loadAllLater}) {
    auto isAccepted = [&] {
      OwningOpRef<ModuleOp> copy = module.clone();
      ScopedDiagnosticHandler ignore(module.getContext(), [](Diagnostic &) { return success(); });
      std::vector<scf::ForOp> deferred = defer(*copy);
      for (scf::ForOp loop : deferred)
        loop->setAttr(deferredAttribute, UnitAttr::get(module.getContext()));
      return !deferred.empty() && succeeded(runPhasesAfter(copy)) && areStaged(*copy);
    };
    if (isAccepted()) {
      defer(module);
      return;
    }
  }
}
