// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gives values their own layouts, forward and backward, until nothing changes; then rewrites the kernel.
#include "compiler/lowering/tile_to_simt/AssignLayouts.h"
#include "compiler/lowering/simt/GlobalOrder.h"
#include "compiler/lowering/tile_to_simt/LayoutAssigner.h"
#include "compiler/lowering/tile_to_simt/Relayout.h"
#include "compiler/lowering/tile_to_simt/SplitRows.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::LinearLayout;

const LinearLayout *LayoutAssigner::own(Value value) {
  auto found = layouts.find(value);
  return found == layouts.end() ? nullptr : &found->second;
}

LinearLayout LayoutAssigner::ownOrDefault(Value value) {
  const LinearLayout *layout = own(value);
  return layout ? *layout : defaultLayout(shapeOf(value));
}

bool LayoutAssigner::setOwn(Value value, const LinearLayout &layout) {
  return layouts.insert({value, LinearLayout(layout)}).second;
}

// Made anew wherever it is needed, unless an operand has a layout of its own.
static bool isShape(Operation *op) {
  return isa<SplatOp, ExpandDimsOp, BroadcastOp, MakeRangeOp, arith::ConstantOp>(op);
}

bool LayoutAssigner::isElementwise(Operation *op) {
  if (isa<MapElementwiseOp>(op))
    return true;
  if (op->getNumResults() != 1 || op->getNumRegions() || isShape(op) ||
      isa<LoadOp, ExternElementwiseOp, ElementwiseInlineAsmOp>(op))
    return false;
  StringRef dialect = op->getDialect()->getNamespace();
  return op->hasTrait<mlir::OpTrait::Elementwise>() || dialect == "arith" || dialect == "math" || dialect == "ub";
}

bool LayoutAssigner::visit(Operation *op) {
  bool changed = false;
  auto setAll = [&](LinearLayout layout) { // a copy, as in get
    for (Value result : op->getResults())
      if (tileOf(result))
        changed |= setOwn(result, layout);
  };
  if (llvm::none_of(op->getResults(), [](Value result) { return tileOf(result); }))
    return false;
  if (llvm::all_of(op->getResults(), [&](Value result) { return !tileOf(result) || own(result); }))
    return false;
  if (isa<LoadOp, AtomicRMWOp, AtomicCASOp, AtomicLoadOp, AtomicPollOp>(op)) {
    setAll(accessLayout(op, op->getOperand(0)));
  } else if (isa<ExternElementwiseOp, ElementwiseInlineAsmOp>(op)) {
    for (Value source : op->getOperands())
      if (const LinearLayout *layout = tileOf(source) ? own(source) : nullptr) {
        setAll(*layout);
        return changed;
      }
    auto tile = tileOf(op->getResult(0));
    int64_t share = std::clamp<int64_t>(tile.getNumElements() / threads(), 1, 4);
    setAll(defaultLayout(shapeOf(op->getResult(0)), share));
  } else if (auto dot = dyn_cast<DotOp>(op)) {
    setAll(dotLayout(dot));
  } else if (auto dot = dyn_cast<DotScaledOp>(op)) {
    setAll(dotLayout(dot));
  } else if (isa<ReduceOp, ScanOp>(op) && !isLast && mayGetLayout(op->getOperand(0))) {
    return false; // what a loop carries has a layout only when the loop has been gone through
  } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
    setAll(layout::slice(reduceLayout(reduce), int(reduce.getAxis())));
  } else if (isa<ScanOp>(op)) {
    setAll(scanLayout(cast<ScanOp>(op)));
  } else if (isa<HistogramOp>(op)) {
    setAll(defaultLayout(shapeOf(op->getResult(0))));
  } else if (auto gather = dyn_cast<GatherOp>(op)) {
    setAll(ownOrDefault(gather.getIndices()));
  } else if (auto contiguous = op->getAttrOfType<IntegerAttr>("simt.contiguous"); contiguous && isa<ReshapeOp>(op)) {
    auto tile = tileOf(op->getResult(0)); // who wrote the program knows better
    int64_t share = std::clamp<int64_t>(tile.getNumElements() / threads(), 1, contiguous.getInt());
    auto span = op->getAttrOfType<IntegerAttr>("simt.span");
    setAll(span ? spreadLayout(tile.getNumElements(), share, span.getInt())
                : defaultLayout(shapeOf(op->getResult(0)), share));
  } else if (isa<TransOp, ReshapeOp>(op)) {
    if (const LinearLayout *layout = own(op->getOperand(0)))
      setAll(*throughShape(op, *layout));
  } else if (isa<JoinOp, CatOp>(op)) {
    setAll(*throughShape(op, piecesLayout(op)));
  } else if (auto split = dyn_cast<SplitOp>(op)) {
    setAll(layout::slice(piecesLayout(op), int(tileOf(split.getSrc()).getRank()) - 1));
  } else if (auto map = dyn_cast<MapElementwiseOp>(op); map && map.getPack() > 1) {
    setAll(packLayout(map));
  } else if (isElementwise(op)) {
    for (Value operand : op->getOperands())
      if (const LinearLayout *layout = tileOf(operand) ? own(operand) : nullptr) {
        setAll(*layout);
        break;
      }
  }
  return changed;
}

const LinearLayout *LayoutAssigner::layoutOfUsers(Value value) {
  for (Operation *user : value.getUsers())
    if (const LinearLayout *layout = isElementwise(user) ? own(user->getResult(0)) : nullptr)
      return layout;
  return nullptr;
}

bool LayoutAssigner::join(Value to, ArrayRef<Value> sources) {
  if (!tileOf(to) || own(to))
    return false;
  for (Value source : sources)
    if (const LinearLayout *layout = own(source))
      return setOwn(to, LinearLayout(*layout));
  if (const LinearLayout *layout = asksUsers ? layoutOfUsers(to) : nullptr)
    return setOwn(to, LinearLayout(*layout));
  return isLast && setOwn(to, defaultLayout(shapeOf(to)));
}

// Where values meet: loops, conditionals, blocks. What an iteration leaves counts before what it starts from.
bool LayoutAssigner::visitMerges() {
  bool changed = false;
  function.walk([&](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [argument, result, init, yielded] :
           llvm::zip(loop.getRegionIterArgs(), loop.getResults(), loop.getInitArgs(), loop.getYieldedValues())) {
        changed |= join(argument, {yielded, init});
        changed |= join(result, {argument});
      }
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      if (branch.getElseRegion().empty())
        return;
      for (auto [result, first, second] :
           llvm::zip(branch.getResults(), branch.thenYield().getOperands(), branch.elseYield().getOperands()))
        changed |= join(result, {first, second});
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      for (auto [argument, init, yielded] :
           llvm::zip(loop.getBeforeArguments(), loop.getInits(), loop.getYieldOp().getOperands()))
        changed |= join(argument, {yielded, init});
      for (auto [argument, result, passed] :
           llvm::zip(loop.getAfterArguments(), loop.getResults(), loop.getConditionOp().getArgs())) {
        changed |= join(argument, {passed});
        changed |= join(result, {argument});
      }
    } else if (auto branch = dyn_cast<BranchOpInterface>(op)) {
      for (unsigned i = 0; i < op->getNumSuccessors(); ++i)
        for (auto [argument, passed] :
             llvm::zip(op->getSuccessor(i)->getArguments(), branch.getSuccessorOperands(i).getForwardedOperands()))
          changed |= join(argument, {passed});
    }
  });
  return changed;
}

// Where the first of its users stands, or what that is in; nothing when one of them is in no such operation.
static Operation *firstUser(Operation *op) {
  Operation *first = nullptr;
  for (Operation *user : op->getUsers()) {
    Operation *here = op->getBlock()->findAncestorOpInBlock(*user);
    if (!here)
      return nullptr;
    if (!first || here->isBeforeInBlock(first))
      first = here;
  }
  return first;
}

// Exchanges come right before they are needed: loads in between are then under way while threads wait for each other.
// What is converted is a value with a layout of its own, never the result of a conversion (see get): none of them is
// another one's first user, and in whichever order they move, each has its place after one step.
static void sinkConversions(FuncOp function) {
  SmallVector<ConvertLayoutOp> conversions;
  function.walk([&](ConvertLayoutOp op) { conversions.push_back(op); });
  for (ConvertLayoutOp op : conversions)
    if (Operation *first = firstUser(op))
      op->moveBefore(first);
}

void LayoutAssigner::findRepeatable(ArrayRef<Operation *> ops) {
  // What other blocks may change in between, all threads must see alike.
  if (llvm::any_of(ops, [](Operation *op) {
        return isa<AtomicRMWOp, AtomicCASOp, AtomicLoadOp, AtomicStoreOp, AtomicPollOp>(op);
      }))
    return;
  // A store through another argument may be to the same memory, in place: other threads must have loaded before it. An
  // exchange has a barrier for that. Small tiles are scales and biases, unless as many elements are stored.
  auto sizeOf = [](Value pointer) { return tileOf(pointer) ? tileOf(pointer).getNumElements() : 1; };
  auto mayBeStored = [&](LoadOp load, bool isWhole) {
    Value from = rootOf(load.getPtr());
    return llvm::any_of(ops, [&](Operation *op) {
      auto store = dyn_cast<StoreOp>(op);
      if (!store || (isWhole && sizeOf(store.getPtr()) != sizeOf(load.getPtr())))
        return false;
      Value to = rootOf(store.getPtr());
      return !from || !to ||
             (from != to && getElementTypeOrSelf(store.getPtr()) == getElementTypeOrSelf(load.getPtr()));
    });
  };
  for (Operation *op : ops) {
    RankedTensorType tile = op->getNumResults() == 1 ? tileOf(op->getResult(0)) : RankedTensorType();
    if (!tile || (tile.getRank() != 1 && tile.getNumElements() > threads()))
      continue;
    auto load = dyn_cast<LoadOp>(op);
    bool isStored = load && mayBeStored(load, /*isWhole=*/false);
    if (isStored && (tile.getNumElements() > threads() || mayBeStored(load, /*isWhole=*/true)))
      continue;
    if (isStored)
      storedElsewhere.insert(op);
    if (load ? !load.getIsVolatile() : isElementwise(op) && hasAnyLayout(op))
      repeatable[op] = llvm::to_vector(op->getOperands());
  }
}

void LayoutAssigner::run() {
  findReducedRows();
  SmallVector<Operation *> ops;
  function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
  for (bool changed = true; changed || !isLast;) {
    isLast |= !changed && asksUsers;
    asksUsers |= !changed;
    changed = false;
    for (Operation *op : ops)
      changed |= visit(op);
    changed |= visitMerges();
  }
  findRepeatable(ops);
  for (Operation *op : ops)
    rewrite(op);
  for (auto &[value, layout] : layouts)
    Value(value).setType(withLayout(tileOf(value), layout));
  for (Operation *op : llvm::reverse(ops)) {
    bool unplaced =
        llvm::any_of(op->getResults(), [](Value result) { return tileOf(result) && !hasLayout(result.getType()); });
    bool isComputedAgain = isa<JoinOp>(op) || hasAnyLayout(op); // for other uses, in other layouts
    if ((unplaced || isComputedAgain) && op->use_empty())
      op->erase();
  }
  replaceOperations();
  sinkConversions(function);
}

LogicalResult simt::assignLayouts(ModuleOp module, const GpuTarget &target, int warps, bool warpGroups) {
  module.getContext()->loadDialect<SimtDialect>();
  int count = 0;
  FuncOp function = findKernel(module, count);
  if (!function)
    return module.emitError() << "expected one public 'tt.func', found " << count;
  if (warpGroups)
    splitRows(function, target, warps);
  if (warpGroups)
    LayoutAssigner(function, target, warps, warpGroups).arrangeOperands();
  LayoutAssigner assigner(function, target, warps, warpGroups);
  if (failed(assigner.checkScaledDots()))
    return failure();
  assigner.run();
  return success();
}
