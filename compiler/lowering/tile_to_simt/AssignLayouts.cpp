// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/lowering/tile_to_simt/AssignLayouts.h"
#include "compiler/analysis/Access.h"
#include "compiler/analysis/AxisInfo.h"
#include "compiler/dialects/simt/Simt.h"
#include "compiler/layout/Encodings.h"
#include "compiler/lowering/simt/GpuTarget.h"
#include "compiler/lowering/simt/SimtToThreads.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::Dim;
using layout::LinearLayout;
using layout::tileDim;

namespace {

class LayoutAssigner {
public:
  LayoutAssigner(FuncOp function, const GpuTarget &target, int warps, bool warpGroups)
      : function(function), target(target), warps(warps), warpGroups(warpGroups), facts(function),
        accesses(function, facts) {}

  void run();

private:
  static RankedTensorType tileOf(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }
  static layout::Shape shapeOf(Value value) {
    auto shape = tileOf(value).getShape();
    return {shape.begin(), shape.end()};
  }
  int64_t threads() const { return int64_t(warps) * target.lanesPerWarp(); }

  LinearLayout defaultLayout(const layout::Shape &shape, int64_t perThread = 1);
  /// The layout that the value has of its own, or one for its shape.
  LinearLayout ownOrDefault(Value value);
  const LinearLayout *own(Value value);
  bool setOwn(Value value, const LinearLayout &layout); ///< whether that is new

  //===-- Which layouts ------------------------------------------------------------------------------------------===//
  bool visit(Operation *op); ///< whether something changed
  bool visitMerges(bool last);
  bool join(Value target, ArrayRef<Value> sources, bool last);
  LinearLayout accessLayout(Operation *op, Value pointer);
  layout::Shape warpsOf(DotOp op); ///< of a matrix instruction's result, along each axis
  LinearLayout dotLayout(DotOp op);
  /// The instruction for groups of warps, where both operands come from memory in the same block.
  std::optional<GroupInstruction> groupInstruction(DotOp op);
  LinearLayout reduceLayout(ReduceOp op);
  LinearLayout scanLayout(ScanOp op);
  LinearLayout packLayout(MapElementwiseOp op); ///< the elements of a pack are in registers of one thread
  /// What the operands of a join or cat, or the operand of a split, are to have.
  LinearLayout piecesLayout(Operation *op);
  std::optional<LinearLayout> throughShape(Operation *op, const LinearLayout &source);

  //===-- Rewriting ----------------------------------------------------------------------------------------------===//
  /// What operand `number` of a shape or element operation needs for its result to have `result`.
  LinearLayout needed(Operation *op, unsigned number, const LinearLayout &result);
  Value get(Value value, LinearLayout layout); ///< a copy: `layouts` may move what it holds
  void rewrite(Operation *op);
  void setOperand(OpOperand &operand, LinearLayout layout);

  FuncOp function;
  const GpuTarget &target;
  int warps;
  bool warpGroups;
  analysis::AxisAnalysis facts;
  analysis::AccessAnalysis accesses;
  DenseMap<Value, LinearLayout> layouts;
  /// Of the operands of reductions, joins, ...: chosen once, when the results get theirs.
  DenseMap<Operation *, LinearLayout> operandLayouts;
  DenseMap<std::pair<Value, Attribute>, Value> made;
};

} // namespace

//===-- Helpers --------------------------------------------------------------------------------------------------===//

static int64_t countOf(const layout::Shape &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

static layout::Order rowMajor(size_t rank) {
  layout::Order order;
  for (size_t axis = rank; axis-- > 0;)
    order.push_back(int(axis));
  return order;
}

LinearLayout LayoutAssigner::defaultLayout(const layout::Shape &shape, int64_t perThread) {
  layout::Shape size(shape.size(), 1);
  if (!shape.empty())
    size.back() = std::min(perThread, shape.back());
  return layout::defaultBlocked(shape, size, rowMajor(shape.size()), target.lanesPerWarp(), warps);
}

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

// Without one axis' contribution: what a value that is broadcast along it has.
static LinearLayout flattenAxis(const LinearLayout &layout, int axis) {
  std::vector<LinearLayout::Input> inputs = layout.inputs();
  std::vector<LinearLayout::Output> outputs = layout.outputs();
  for (size_t out = 0; out < outputs.size(); ++out) {
    if (outputs[out].dim != tileDim(axis))
      continue;
    outputs[out].size = 1;
    for (LinearLayout::Input &input : inputs)
      for (std::vector<int64_t> &basis : input.bases)
        basis[out] = 0;
  }
  return LinearLayout(std::move(inputs), std::move(outputs)).removeZeroBases(Dim::Register);
}

// Row-major: the last axis is the minor one.
static LinearLayout reshape(const LinearLayout &source, ArrayRef<int64_t> shape) {
  std::vector<Dim> reversed;
  for (size_t axis = source.outputs().size(); axis-- > 0;)
    reversed.push_back(tileDim(int(axis)));
  std::vector<LinearLayout::Output> outputs;
  for (size_t axis = shape.size(); axis-- > 0;)
    outputs.push_back({tileDim(int(axis)), shape[axis]});
  std::vector<Dim> order;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    order.push_back(tileDim(int(axis)));
  return source.transposeOutputs(reversed).reshapeOutputs(outputs).transposeOutputs(order);
}

static bool movesOneAxis(const LinearLayout &layout) {
  for (const LinearLayout::Input &input : layout.inputs())
    for (const std::vector<int64_t> &basis : input.bases)
      if (llvm::count_if(basis, [](int64_t part) { return part != 0; }) > 1)
        return false;
  return true;
}

// Made anew wherever it is needed, unless an operand has a layout of its own.
static bool isShape(Operation *op) {
  return isa<SplatOp, ExpandDimsOp, BroadcastOp, MakeRangeOp, arith::ConstantOp>(op);
}

static bool isElementwise(Operation *op) {
  if (isa<MapElementwiseOp>(op))
    return true;
  if (op->getNumResults() != 1 || op->getNumRegions() || isShape(op) || isa<LoadOp, ExternElementwiseOp>(op))
    return false;
  StringRef dialect = op->getDialect()->getNamespace();
  return op->hasTrait<mlir::OpTrait::Elementwise>() || dialect == "arith" || dialect == "math" || dialect == "ub";
}

//===-- Which layouts --------------------------------------------------------------------------------------------===//

LinearLayout LayoutAssigner::accessLayout(Operation *op, Value pointer) {
  analysis::AccessLayout access = accesses.chooseAccess(op, threads());
  layout::Shape shape = shapeOf(pointer);
  if (access.order.empty())
    return defaultLayout(shape);
  return layout::defaultBlocked(shape, access.sizePerThread, access.order, target.lanesPerWarp(), warps);
}

// Whether `from` is computed, element by element, from a matrix product.
static bool isMadeOfProduct(Value from) {
  SetVector<Value> seen;
  seen.insert(from);
  for (size_t i = 0; i < seen.size(); ++i) {
    Operation *op = seen[i].getDefiningOp();
    if (isa_and_nonnull<DotOp>(op))
      return true;
    if (op && (isElementwise(op) || isa<BroadcastOp>(op)))
      seen.insert(op->operand_begin(), op->operand_end());
  }
  return false;
}

// Whether rows of the product are taken as a whole: their elements combined, or multiplied by another matrix.
static bool isUsedByRows(DotOp product) {
  int last = int(cast<RankedTensorType>(product.getType()).getRank()) - 1;
  SetVector<Value> seen;
  seen.insert(product.getResult());
  for (size_t i = 0; i < seen.size(); ++i)
    for (OpOperand &use : seen[i].getUses()) {
      Operation *user = use.getOwner();
      auto reduce = dyn_cast<ReduceOp>(user);
      if ((reduce && int(reduce.getAxis()) == last) || (isa<DotOp>(user) && use.getOperandNumber() == 0))
        return true;
      if (isElementwise(user))
        seen.insert(user->result_begin(), user->result_end());
    }
  return false;
}

// Warps go along the longer side of the result, but not beyond what an instruction covers. In chains as of attention
// they go along rows: what is done with a row then stays within a warp, and a product becomes an operand in its
// registers.
layout::Shape LayoutAssigner::warpsOf(DotOp op) {
  layout::Shape shape = shapeOf(op.getD());
  size_t rank = shape.size();
  MatrixInstruction instruction = *target.matrixInstruction(op);
  layout::Shape split(rank, 1);
  bool byRows = isMadeOfProduct(op.getA()) || isUsedByRows(op);
  for (int left = warps; left > 1; left /= 2) {
    int64_t rows = shape[rank - 2] / split[rank - 2], columns = shape[rank - 1] / split[rank - 1];
    bool rowsFit = rows >= 2 * instruction.m, columnsFit = columns >= 2 * instruction.n;
    size_t axis = rowsFit && (byRows || rows >= columns || !columnsFit) ? rank - 2
                  : columnsFit                                          ? rank - 1
                  : rank == 3 && shape[0] > split[0]                    ? 0
                                                                        : rank - 2;
    split[axis] *= 2;
  }
  return split;
}

std::optional<GroupInstruction> LayoutAssigner::groupInstruction(DotOp op) {
  auto isLoaded = [&](Value operand) {
    if (auto trans = operand.getDefiningOp<TransOp>())
      operand = trans.getSrc();
    Operation *load = operand.getDefiningOp<LoadOp>();
    return load && load->getBlock() == op->getBlock();
  };
  bool fits = warpGroups && isLoaded(op.getA()) && isLoaded(op.getB());
  return fits ? target.groupInstruction(op, warps) : std::nullopt;
}

LinearLayout LayoutAssigner::dotLayout(DotOp op) {
  layout::Shape shape = shapeOf(op.getD());
  size_t rank = shape.size();
  if (std::optional<GroupInstruction> group = groupInstruction(op))
    return layout::wgmmaAccumulator(shape, {4 * group->groupsAlongM, group->groupsAlongN}, group->n);
  std::optional<MatrixInstruction> instruction = target.matrixInstruction(op);
  if (!instruction) {
    layout::Shape size(rank, 1);
    for (size_t axis = rank - 2; axis < rank; ++axis)
      size[axis] = std::min<int64_t>(4, shape[axis]);
    while (countOf(size) > 1 && countOf(shape) / countOf(size) < threads()) {
      auto largest = std::max_element(size.begin(), size.end());
      *largest /= 2;
    }
    return layout::defaultBlocked(shape, size, rowMajor(rank), target.lanesPerWarp(), warps);
  }
  return layout::mmaAccumulator(shape, warpsOf(op));
}

LinearLayout LayoutAssigner::reduceLayout(ReduceOp op) {
  auto [known, isNew] = operandLayouts.try_emplace(op);
  if (!isNew)
    return known->second;
  known->second = defaultLayout(shapeOf(op.getSrcs()[0]));
  for (Value source : op.getSrcs())
    if (const LinearLayout *layout = own(source); layout && movesOneAxis(*layout)) {
      known->second = *layout;
      break;
    }
  return known->second;
}

// One that the scan can walk through in order: what the operand has, or runs along the axis in each thread.
LinearLayout LayoutAssigner::scanLayout(ScanOp op) {
  auto axis = int(op.getAxis());
  Value source = op.getSrcs()[0];
  if (const LinearLayout *layout = own(source); layout && isScanOrdered(*layout, axis))
    return *layout;
  layout::Shape shape = shapeOf(source), size(shape.size(), 1);
  size[size_t(axis)] = std::clamp<int64_t>(countOf(shape) / threads(), 1, shape[size_t(axis)]);
  layout::Order order = rowMajor(shape.size());
  llvm::erase(order, axis);
  order.insert(order.begin(), axis);
  return layout::defaultBlocked(shape, size, order, target.lanesPerWarp(), warps);
}

LinearLayout LayoutAssigner::packLayout(MapElementwiseOp op) {
  layout::Shape shape = shapeOf(op.getResult()[0]), size(shape.size(), 1);
  int64_t left = op.getPack();
  for (size_t axis = shape.size(); axis-- > 0; left /= size[axis])
    size[axis] = std::min(left, shape[axis]);
  return layout::defaultBlocked(shape, size, rowMajor(shape.size()), target.lanesPerWarp(), warps);
}

// The last axis of a split is one register bit, the lowest.
static bool splitsInRegisters(const LinearLayout &layout, int last) {
  for (Dim in : {Dim::Lane, Dim::Warp})
    for (int bit = 0; bit < layout.inputBits(in); ++bit)
      if (layout.basis(in, bit, tileDim(last)))
        return false;
  return true;
}

LinearLayout LayoutAssigner::piecesLayout(Operation *op) {
  auto [known, isNew] = operandLayouts.try_emplace(op);
  if (!isNew)
    return known->second;
  layout::Shape shape = shapeOf(op->getOperand(0));
  const LinearLayout *layout = own(op->getOperand(0));
  if (isa<SplitOp>(op)) {
    bool fits = layout && splitsInRegisters(*layout, int(shape.size()) - 1);
    return known->second = fits ? *layout : defaultLayout(shape, /*perThread=*/2);
  }
  if (!layout)
    layout = own(op->getOperand(1));
  return known->second = layout ? *layout : defaultLayout(shape);
}

std::optional<LinearLayout> LayoutAssigner::throughShape(Operation *op, const LinearLayout &source) {
  if (auto trans = dyn_cast<TransOp>(op))
    return layout::permuteAxes(source, {trans.getOrder().begin(), trans.getOrder().end()});
  if (auto shaped = dyn_cast<ReshapeOp>(op))
    return reshape(source, cast<RankedTensorType>(shaped.getType()).getShape());
  if (isa<JoinOp>(op)) {
    int last = int(source.outputs().size());
    std::vector<Dim> axes;
    for (int axis = 0; axis <= last; ++axis)
      axes.push_back(tileDim(axis));
    return (LinearLayout::identity1D(2, Dim::Register, tileDim(last)) * source).transposeOutputs(axes);
  }
  if (isa<CatOp>(op))
    return source * LinearLayout::identity1D(2, Dim::Register, Dim::Dim0);
  return std::nullopt;
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
  if (isa<LoadOp, AtomicRMWOp, AtomicCASOp>(op)) {
    setAll(accessLayout(op, op->getOperand(0)));
  } else if (auto call = dyn_cast<ExternElementwiseOp>(op)) {
    for (Value source : call.getSrcs())
      if (const LinearLayout *layout = tileOf(source) ? own(source) : nullptr) {
        setAll(*layout);
        return changed;
      }
    auto tile = tileOf(op->getResult(0));
    int64_t share = std::clamp<int64_t>(tile.getNumElements() / threads(), 1, 4);
    setAll(defaultLayout(shapeOf(op->getResult(0)), share));
  } else if (auto dot = dyn_cast<DotOp>(op)) {
    setAll(dotLayout(dot));
  } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
    setAll(layout::slice(reduceLayout(reduce), int(reduce.getAxis())));
  } else if (isa<ScanOp>(op)) {
    setAll(scanLayout(cast<ScanOp>(op)));
  } else if (isa<HistogramOp>(op)) {
    setAll(defaultLayout(shapeOf(op->getResult(0))));
  } else if (auto gather = dyn_cast<GatherOp>(op)) {
    setAll(ownOrDefault(gather.getIndices()));
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

bool LayoutAssigner::join(Value to, ArrayRef<Value> sources, bool last) {
  if (!tileOf(to) || own(to))
    return false;
  for (Value source : sources)
    if (const LinearLayout *layout = own(source))
      return setOwn(to, LinearLayout(*layout));
  return last && setOwn(to, defaultLayout(shapeOf(to)));
}

// Where values meet: loops, conditionals, blocks. What an iteration leaves counts before what it starts from.
bool LayoutAssigner::visitMerges(bool last) {
  bool changed = false;
  function.walk([&](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [argument, result, init, yielded] :
           llvm::zip(loop.getRegionIterArgs(), loop.getResults(), loop.getInitArgs(), loop.getYieldedValues())) {
        changed |= join(argument, {yielded, init}, last);
        changed |= join(result, {argument}, last);
      }
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      if (branch.getElseRegion().empty())
        return;
      for (auto [result, first, second] :
           llvm::zip(branch.getResults(), branch.thenYield().getOperands(), branch.elseYield().getOperands()))
        changed |= join(result, {first, second}, last);
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      for (auto [argument, init, yielded] :
           llvm::zip(loop.getBeforeArguments(), loop.getInits(), loop.getYieldOp().getOperands()))
        changed |= join(argument, {yielded, init}, last);
      for (auto [argument, result, passed] :
           llvm::zip(loop.getAfterArguments(), loop.getResults(), loop.getConditionOp().getArgs())) {
        changed |= join(argument, {passed}, last);
        changed |= join(result, {argument}, last);
      }
    } else if (auto branch = dyn_cast<BranchOpInterface>(op)) {
      for (unsigned i = 0; i < op->getNumSuccessors(); ++i)
        for (auto [argument, passed] :
             llvm::zip(op->getSuccessor(i)->getArguments(), branch.getSuccessorOperands(i).getForwardedOperands()))
          changed |= join(argument, {passed}, last);
    }
  });
  return changed;
}

//===-- Rewriting ------------------------------------------------------------------------------------------------===//

LinearLayout LayoutAssigner::needed(Operation *op, unsigned number, const LinearLayout &result) {
  if (auto expand = dyn_cast<ExpandDimsOp>(op))
    return layout::slice(result, int(expand.getAxis()));
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    LinearLayout layout = result;
    for (auto [axis, size] : llvm::enumerate(tileOf(broadcast.getSrc()).getShape()))
      if (size == 1)
        layout = flattenAxis(layout, int(axis));
    return layout;
  }
  if (auto trans = dyn_cast<TransOp>(op)) {
    layout::Order inverse(trans.getOrder().size());
    for (auto [to, from] : llvm::enumerate(trans.getOrder()))
      inverse[size_t(from)] = int(to);
    return layout::permuteAxes(result, inverse);
  }
  if (auto shaped = dyn_cast<ReshapeOp>(op))
    return reshape(result, tileOf(shaped.getSrc()).getShape());
  return result;
}

Value LayoutAssigner::get(Value value, LinearLayout layout) {
  auto tile = tileOf(value);
  Attribute key = LinearAttr::get(value.getContext(), layout);
  auto found = made.find({value, key});
  if (found != made.end())
    return found->second;
  OpBuilder b(value.getContext());
  b.setInsertionPointAfterValue(value);
  Value result;
  if (const LinearLayout *has = own(value)) {
    if (*has == layout)
      return value;
    result = ConvertLayoutOp::create(b, value.getLoc(), withLayout(tile, layout), value);
  } else {
    Operation *op = value.getDefiningOp();
    Operation *copy = op->clone();
    copy->getResult(0).setType(withLayout(tile, layout));
    if (auto constant = dyn_cast<arith::ConstantOp>(copy)) {
      auto elements = cast<DenseElementsAttr>(constant.getValue());
      constant.setValueAttr(elements.reshape(cast<RankedTensorType>(copy->getResult(0).getType())));
    }
    b.insert(copy);
    for (OpOperand &operand : copy->getOpOperands())
      if (tileOf(operand.get()))
        operand.set(get(op->getOperand(operand.getOperandNumber()), needed(op, operand.getOperandNumber(), layout)));
    result = copy->getResult(0);
    layouts.insert({result, layout});
  }
  made[{value, key}] = result;
  return result;
}

void LayoutAssigner::setOperand(OpOperand &operand, LinearLayout layout) {
  if (tileOf(operand.get()))
    operand.set(get(operand.get(), layout));
}

void LayoutAssigner::rewrite(Operation *op) {
  auto all = [&](LinearLayout layout) {
    for (OpOperand &operand : op->getOpOperands())
      setOperand(operand, layout);
  };
  auto toValues = [&](MutableArrayRef<OpOperand> operands, ValueRange targets) {
    for (auto [operand, to] : llvm::zip(operands, targets))
      if (tileOf(to))
        setOperand(operand, *own(to));
  };
  if (isa<LoadOp, StoreOp, AtomicRMWOp, AtomicCASOp>(op)) {
    Value pointer = op->getOperand(0);
    if (!tileOf(pointer))
      return;
    analysis::AccessLayout access = accesses.chooseAccess(op, threads());
    if (!access.order.empty() && isa<LoadOp, StoreOp>(op)) {
      Value mask = isa<LoadOp>(op) ? cast<LoadOp>(op).getMask() : cast<StoreOp>(op).getMask();
      int64_t width = analysis::alignedElements(facts, pointer, mask, access.order);
      Builder b(op->getContext());
      op->setAttr("simt.vector", b.getI64IntegerAttr(std::min<int64_t>(width, 16)));
      op->setAttr("simt.axis", b.getI64IntegerAttr(access.order[0]));
    }
    return all(accessLayout(op, pointer));
  }
  if (auto dot = dyn_cast<DotOp>(op)) {
    const LinearLayout &result = *own(dot.getD());
    setOperand(dot.getCMutable(), result);
    if (groupInstruction(dot)) {
      dot->setAttr("simt.group", UnitAttr::get(dot.getContext()));
      return; // the operands go to shared memory from wherever they are
    }
    std::optional<MatrixInstruction> instruction = target.matrixInstruction(dot);
    if (!instruction) {
      for (OpOperand *operand : {&dot.getAMutable(), &dot.getBMutable()})
        setOperand(*operand, ownOrDefault(operand->get()));
      return;
    }
    layout::Shape split = warpsOf(dot);
    setOperand(dot.getAMutable(), layout::mmaOperand(shapeOf(dot.getA()), split, 0, instruction->kWidth));
    setOperand(dot.getBMutable(), layout::mmaOperand(shapeOf(dot.getB()), split, 1, instruction->kWidth));
    return;
  }
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return all(reduceLayout(reduce));
  if (isa<ScanOp>(op))
    return all(*own(op->getResult(0)));
  if (auto histogram = dyn_cast<HistogramOp>(op))
    return all(ownOrDefault(histogram.getSrc()));
  if (auto gather = dyn_cast<GatherOp>(op)) {
    setOperand(gather.getSrcMutable(), ownOrDefault(gather.getSrc()));
    return setOperand(gather.getIndicesMutable(), *own(gather.getResult()));
  }
  if (isa<JoinOp, CatOp, SplitOp>(op))
    return all(piecesLayout(op));
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    toValues(loop.getInitArgsMutable(), loop.getRegionIterArgs());
    return;
  }
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return toValues(loop.getInitsMutable(), loop.getBeforeArguments());
  if (auto condition = dyn_cast<scf::ConditionOp>(op))
    return toValues(condition.getArgsMutable(), cast<scf::WhileOp>(op->getParentOp()).getAfterArguments());
  if (isa<scf::YieldOp>(op)) {
    ValueRange targets = op->getParentOp()->getResults();
    if (auto loop = dyn_cast<scf::WhileOp>(op->getParentOp()))
      targets = loop.getBeforeArguments();
    return toValues(op->getOpOperands(), targets);
  }
  if (auto branch = dyn_cast<BranchOpInterface>(op)) {
    for (unsigned i = 0; i < op->getNumSuccessors(); ++i) {
      SuccessorOperands operands = branch.getSuccessorOperands(i);
      for (unsigned k = 0; k < operands.size(); ++k)
        if (Value to = op->getSuccessor(i)->getArgument(k); tileOf(to))
          setOperand(op->getOpOperand(operands.getOperandIndex(k)), *own(to));
    }
    return;
  }
  if (op->getNumResults() && tileOf(op->getResult(0))) {
    const LinearLayout *layout = own(op->getResult(0));
    if (!layout)
      return; // made on demand
    LinearLayout result = *layout;
    for (OpOperand &operand : op->getOpOperands())
      setOperand(operand, needed(op, operand.getOperandNumber(), result));
    return;
  }
  // What reads a tile and leaves none.
  for (OpOperand &operand : op->getOpOperands())
    if (tileOf(operand.get()))
      setOperand(operand, ownOrDefault(operand.get()));
}

void LayoutAssigner::run() {
  SmallVector<Operation *> ops;
  function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
  bool changed = true, last = false;
  while (changed || !last) {
    if (!changed)
      last = true; // what nothing decides gets a layout for its shape
    changed = false;
    for (Operation *op : ops)
      changed |= visit(op);
    changed |= visitMerges(last);
  }
  for (Operation *op : ops)
    rewrite(op);
  for (auto &[value, layout] : layouts)
    Value(value).setType(withLayout(tileOf(value), layout));
  for (Operation *op : llvm::reverse(ops)) {
    bool unplaced =
        llvm::any_of(op->getResults(), [](Value result) { return tileOf(result) && !hasLayout(result.getType()); });
    if (unplaced && op->use_empty())
      op->erase();
  }
}

LogicalResult simt::assignLayouts(ModuleOp module, const GpuTarget &target, int warps, bool warpGroups) {
  module.getContext()->loadDialect<SimtDialect>();
  int count = 0;
  FuncOp function = findKernel(module, count);
  if (!function)
    return module.emitError() << "expected one public 'tt.func', found " << count;
  LayoutAssigner(function, target, warps, warpGroups).run();
  return success();
}
