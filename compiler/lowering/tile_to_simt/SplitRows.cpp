// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds which values of a loop have the rows, and along which axis; then makes the loop again with two halves of each.
#include "compiler/lowering/tile_to_simt/SplitRows.h"
#include "compiler/lowering/simt/GpuTarget.h"
#include "compiler/lowering/tile_to_simt/LoopSlice.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

namespace {

RankedTensorType tileOf(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

RankedTensorType halfOf(RankedTensorType type, int axis) {
  SmallVector<int64_t> shape(type.getShape());
  shape[size_t(axis)] /= 2;
  return RankedTensorType::get(shape, type.getElementType());
}

bool isElementwise(Operation *op) {
  return op->getNumResults() == 1 && op->getNumRegions() == 0 && isPure(op) &&
         op->hasTrait<mlir::OpTrait::Elementwise>();
}

/// The axis of an operand on which lies what is on `axis` of the result; -1: on none; nothing: unknown.
std::optional<int> axisOfOperand(Operation *op, unsigned number, int axis) {
  Value operand = op->getOperand(number);
  if (!tileOf(operand))
    return -1;
  if (isElementwise(op))
    return axis;
  if (auto load = dyn_cast<LoadOp>(op))
    return load.getIsVolatile() ? std::nullopt : std::optional(axis);
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return axis + (int(reduce.getAxis()) <= axis);
  if (auto expand = dyn_cast<ExpandDimsOp>(op)) {
    int added = int(expand.getAxis());
    return axis == added ? -1 : axis - (added < axis);
  }
  if (isa<BroadcastOp>(op))
    return tileOf(operand).getDimSize(unsigned(axis)) == 1 ? -1 : axis;
  if (auto trans = dyn_cast<TransOp>(op))
    return trans.getOrder()[size_t(axis)];
  if (isa<DotOp>(op))
    return axis != 0 ? std::nullopt : std::optional(number == 1 ? -1 : 0);
  return std::nullopt;
}

/// The other way round, for results of users; nothing where the rows would get lost or change places.
std::optional<int> axisOfResult(OpOperand &use, int axis) {
  Operation *op = use.getOwner();
  if (op->getNumResults() == 0 || !tileOf(op->getResult(0)))
    return std::nullopt;
  for (int result = 0; result < int(tileOf(op->getResult(0)).getRank()); ++result)
    if (std::optional<int> found = axisOfOperand(op, use.getOperandNumber(), result); found && *found == axis)
      return result;
  return std::nullopt;
}

using Parts = std::pair<Value, Value>;

/// Halves of values outside of the loops, and values that are put together of halves.
class Halves {
public:
  /// Both halves along the axis, made after the value.
  Parts of(Value value, int axis);
  /// The value of which these are the halves along the axis.
  Value join(ImplicitLocOpBuilder &b, Parts parts, int axis);
  /// The axis along which the value is made of one that has been put together, element by element; nothing otherwise.
  std::optional<int> axisOfJoined(Value value);

private:
  Parts make(Value value, int axis);

  llvm::DenseMap<std::pair<Value, int>, Parts> known;
  llvm::DenseMap<Value, int> joined; ///< the axes
};

/// One loop, in halves.
class RowSplitter {
public:
  RowSplitter(scf::ForOp loop, Halves &outside) : loop(loop), operation(loop), outside(outside) {}

  bool plan(); ///< whether all that has the rows can be taken apart; before anything else
  /// Of a thread: what the loop carries, and the largest result that is not a sum.
  struct Words {
    int64_t sums = 0, between = 0;
  };
  Words wordsOf(int64_t warps) const;
  void split();
  bool startsWithSumsOf(const RowSplitter &other) const { return startsAfter == other.operation; }
  int64_t rows() const { return mostRows; }
  ArrayRef<DotOp> dots() const { return matmuls; }

private:
  bool add(Value value, int axis);
  bool addUsers(Value value);
  bool isInLoop(Value value) { return loop.getRegion().isAncestor(value.getParentRegion()); }
  Value half(Value value, int axis, int which);
  void cloneHalf(scf::ForOp made, Operation &op, int which);

  scf::ForOp loop;
  Operation *operation; ///< the loop, also when it is gone
  Halves &outside;
  llvm::MapVector<Value, int> axes; ///< of values in the loop that have the rows
  SmallVector<DotOp> matmuls;
  Operation *startsAfter = nullptr; ///< the loop whose results are what this one carries first
  int64_t mostRows = 0;
  IRMapping others, halves[2];
};

} // namespace

/// The loop that leaves the value, also in a conditional; null where none does.
static Operation *loopOf(Value value) {
  Operation *op = value.getDefiningOp();
  auto branch = dyn_cast_or_null<scf::IfOp>(op);
  if (!branch)
    return isa_and_nonnull<scf::ForOp>(op) ? op : nullptr;
  unsigned number = cast<OpResult>(value).getResultNumber();
  Operation *before = loopOf(branch.thenYield().getOperand(number));
  return before ? before : loopOf(branch.elseYield().getOperand(number));
}

bool RowSplitter::add(Value value, int axis) {
  if (!tileOf(value) || axis < 0 || !isInLoop(value))
    return true;
  if (tileOf(value).getDimSize(unsigned(axis)) != mostRows)
    return false;
  auto [place, isNew] = axes.insert({value, axis});
  if (!isNew)
    return place->second == axis;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() != loop.getBody() || argument.getArgNumber() == 0)
      return false;
    return add(loop.getYieldedValues()[argument.getArgNumber() - 1], axis);
  }
  Operation *op = value.getDefiningOp();
  if (op->getBlock() != loop.getBody() || (op->getNumResults() != 1 && !isa<ReduceOp>(op)))
    return false;
  if (isa<SplatOp, MakeRangeOp>(op))
    return true;
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  for (Value result : op->getResults())
    if (!add(result, axis))
      return false;
  for (OpOperand &operand : op->getOpOperands()) {
    std::optional<int> of = axisOfOperand(op, operand.getOperandNumber(), axis);
    if (!of || !add(operand.get(), *of))
      return false;
  }
  return true;
}

bool RowSplitter::addUsers(Value value) {
  int axis = axes.lookup(value);
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (user->getBlock() != loop.getBody())
      return false;
    if (isa<scf::YieldOp>(user)) {
      if (!add(loop.getRegionIterArg(use.getOperandNumber()), axis))
        return false;
      continue;
    }
    std::optional<int> result = axisOfResult(use, axis);
    if (!result || !add(user->getResult(0), *result))
      return false;
  }
  return true;
}

bool RowSplitter::plan() {
  MemoryWrites writes; // past which loads would move
  writes.add(loop);
  if (!writes.isNone())
    return false;
  bool dependsOnAnother = false;
  for (Operation &op : *loop.getBody()) {
    auto dot = dyn_cast<DotOp>(op);
    if (!dot)
      continue;
    if (tileOf(dot.getD()).getRank() != 2)
      return false;
    matmuls.push_back(dot);
    mostRows = std::max(mostRows, tileOf(dot.getD()).getDimSize(0));
  }
  if (matmuls.size() < 2 || mostRows % 2)
    return false;
  for (DotOp dot : matmuls)
    if (!add(dot.getD(), 0))
      return false;
  for (size_t i = 0; i < axes.size(); ++i)
    if (!addUsers(axes.getArrayRef()[i].first))
      return false;
  for (DotOp dot : matmuls)
    dependsOnAnother |= axes.contains(dot.getA());
  for (Value init : loop.getInitArgs())
    if (Operation *before = tileOf(init) ? loopOf(init) : nullptr)
      startsAfter = before;
  return dependsOnAnother;
}

RowSplitter::Words RowSplitter::wordsOf(int64_t warps) const {
  Words of;
  auto words = [&](Value value) {
    auto tile = tileOf(value);
    return tile.getNumElements() * tile.getElementTypeBitWidth() / 32 / (warps * 32);
  };
  for (auto [value, axis] : axes)
    if (isa<BlockArgument>(value))
      of.sums += words(value);
  auto yielded = scf::ForOp(loop).getYieldedValues();
  for (DotOp dot : matmuls)
    if (!llvm::is_contained(yielded, dot.getD()))
      of.between = std::max(of.between, words(dot.getD()));
  return of;
}

//===-- Outside of the loops -------------------------------------------------------------------------------------===//

static Value withShape(OpBuilder &b, Operation *op, ArrayRef<Value> operands, RankedTensorType type) {
  Operation *copy = b.clone(*op);
  copy->setOperands(operands);
  copy->getResult(0).setType(type);
  return copy->getResult(0);
}

Parts Halves::of(Value value, int axis) {
  auto found = known.find({value, axis});
  if (found != known.end())
    return found->second;
  Parts made = make(value, axis);
  return known[{value, axis}] = made;
}

// What costs nothing is computed again for half the rows, and what is loaded is loaded in two parts; the rest is taken
// apart.
Parts Halves::make(Value value, int axis) {
  Operation *op = value.getDefiningOp();
  OpBuilder b(value.getContext());
  b.setInsertionPointAfterValue(value);
  RankedTensorType type = halfOf(tileOf(value), axis);
  auto load = dyn_cast_or_null<LoadOp>(op);
  auto constant = dyn_cast_or_null<arith::ConstantOp>(op);
  if (auto range = dyn_cast_or_null<MakeRangeOp>(op)) {
    auto size = uint32_t(type.getDimSize(0)), start = uint32_t(range.getStart());
    return {MakeRangeOp::create(b, op->getLoc(), type, start, start + size),
            MakeRangeOp::create(b, op->getLoc(), type, start + size, start + 2 * size)};
  }
  if (auto splat = dyn_cast_or_null<SplatOp>(op)) {
    Value one = SplatOp::create(b, op->getLoc(), type, splat.getSrc());
    return {one, one};
  }
  if (constant && isa<SplatElementsAttr>(constant.getValue())) {
    auto elements = cast<DenseElementsAttr>(constant.getValue());
    Value one = arith::ConstantOp::create(b, op->getLoc(), elements.resizeSplat(type));
    return {one, one};
  }
  if (auto shaped = dyn_cast_or_null<ReshapeOp>(op);
      shaped && axis == 0 && tileOf(shaped.getSrc()).getRank() == 1 && !shaped.getAllowReorder()) {
    Parts parts = of(shaped.getSrc(), 0);
    Value low = withShape(b, op, parts.first, type);
    return {low, withShape(b, op, parts.second, type)};
  }
  if (op && (isElementwise(op) || isa<ExpandDimsOp, BroadcastOp, TransOp>(op) || (load && !load.getIsVolatile()))) {
    SmallVector<Value> first, second;
    for (OpOperand &operand : op->getOpOperands()) {
      int along = *axisOfOperand(op, operand.getOperandNumber(), axis);
      Parts parts = along < 0 ? Parts(operand.get(), operand.get()) : of(operand.get(), along);
      first.push_back(parts.first);
      second.push_back(parts.second);
    }
    Value low = withShape(b, op, first, type);
    return {low, withShape(b, op, second, type)};
  }
  SmallVector<int64_t> apart(type.getShape()), last(type.getShape());
  apart.insert(apart.begin() + axis, 2);
  last.push_back(2);
  auto order = llvm::to_vector(llvm::seq<int32_t>(int32_t(apart.size())));
  order.erase(order.begin() + axis);
  order.push_back(axis);
  auto shaped = [&](ArrayRef<int64_t> shape) { return RankedTensorType::get(shape, type.getElementType()); };
  Value numbered = ReshapeOp::create(b, value.getLoc(), shaped(apart), value);
  Value moved = TransOp::create(b, value.getLoc(), shaped(last), numbered, order);
  auto parts = SplitOp::create(b, value.getLoc(), type, type, moved);
  return {parts.getOutLHS(), parts.getOutRHS()};
}

Value Halves::join(ImplicitLocOpBuilder &b, Parts parts, int axis) {
  auto type = tileOf(parts.first);
  SmallVector<int64_t> last(type.getShape()), apart(type.getShape()), shape(type.getShape());
  last.push_back(2);
  apart.insert(apart.begin() + axis, 2);
  shape[size_t(axis)] *= 2;
  auto order = llvm::to_vector(llvm::seq<int32_t>(int32_t(shape.size())));
  order.insert(order.begin() + axis, int32_t(shape.size()));
  auto shaped = [&](ArrayRef<int64_t> sizes) { return RankedTensorType::get(sizes, type.getElementType()); };
  Value both = JoinOp::create(b, shaped(last), parts.first, parts.second);
  Value moved = TransOp::create(b, shaped(apart), both, order);
  Value value = ReshapeOp::create(b, shaped(shape), moved);
  known[{value, axis}] = parts;
  joined[value] = axis;
  return value;
}

std::optional<int> Halves::axisOfJoined(Value value) {
  if (auto found = joined.find(value); found != joined.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  if (!op || !tileOf(value) || !(isElementwise(op) || isa<ExpandDimsOp, BroadcastOp>(op)))
    return std::nullopt;
  for (OpOperand &operand : op->getOpOperands())
    if (std::optional<int> axis = tileOf(operand.get()) ? axisOfJoined(operand.get()) : std::nullopt)
      return axisOfResult(operand, *axis);
  return std::nullopt;
}

/// Stores of what is made of joined values, half by half: halves need not be joined for them.
static void splitStores(FuncOp function, Halves &halves) {
  SmallVector<StoreOp> stores;
  function.walk([&](StoreOp store) { stores.push_back(store); });
  for (StoreOp store : stores) {
    std::optional<int> axis = tileOf(store.getValue()) ? halves.axisOfJoined(store.getValue()) : std::nullopt;
    if (!axis || store->getParentOp() != function)
      continue;
    OpBuilder b(store);
    Operation *copies[] = {b.clone(*store), b.clone(*store)};
    for (OpOperand &operand : store->getOpOperands()) {
      Parts parts = halves.of(operand.get(), *axis);
      copies[0]->setOperand(operand.getOperandNumber(), parts.first);
      copies[1]->setOperand(operand.getOperandNumber(), parts.second);
    }
    store.erase();
  }
}

static void eraseUnused(FuncOp function) {
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
}

//===-- In a loop ------------------------------------------------------------------------------------------------===//

Value RowSplitter::half(Value value, int axis, int which) {
  if (axis < 0 || !tileOf(value))
    return others.lookupOrDefault(value);
  if (Value found = halves[which].lookupOrNull(value))
    return found;
  Parts parts = outside.of(value, axis);
  return which ? parts.second : parts.first;
}

void RowSplitter::cloneHalf(scf::ForOp made, Operation &op, int which) {
  int axis = axes.lookup(op.getResult(0));
  SmallVector<Value> operands;
  for (OpOperand &operand : op.getOpOperands()) {
    bool isMade = isa<SplatOp, MakeRangeOp, arith::ConstantOp>(op);
    int of = isMade ? -1 : *axisOfOperand(&op, operand.getOperandNumber(), axis);
    operands.push_back(half(operand.get(), of, which));
  }
  OpBuilder b = OpBuilder::atBlockEnd(made.getBody());
  Operation *copy = b.clone(op);
  copy->setOperands(operands);
  for (auto [result, made] : llvm::zip(op.getResults(), copy->getResults())) {
    made.setType(halfOf(tileOf(result), axis));
    halves[which].map(result, made);
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(copy))
    constant.setValueAttr(
        cast<DenseElementsAttr>(constant.getValue()).resizeSplat(cast<ShapedType>(constant.getType())));
  if (auto range = dyn_cast<MakeRangeOp>(copy)) {
    auto size = uint32_t(tileOf(range.getResult()).getDimSize(0));
    uint32_t start = uint32_t(range.getStart()) + uint32_t(which) * size;
    range.setStart(start);
    range.setEnd(start + size);
  }
}

void RowSplitter::split() {
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  SmallVector<Value> inits;
  SmallVector<int> places; // of what the loop carries, the first one of two
  for (auto [argument, init] : llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs())) {
    places.push_back(int(inits.size()));
    auto found = axes.find(argument);
    if (found == axes.end()) {
      inits.push_back(init);
      continue;
    }
    Parts parts = outside.of(init, found->second);
    inits.push_back(parts.first);
    inits.push_back(parts.second);
  }
  b.setInsertionPoint(loop);
  auto made = scf::ForOp::create(b, loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), inits);
  made->setAttrs(loop->getAttrs());
  if (!made.getBody()->empty())
    made.getBody()->back().erase();
  others.map(loop.getInductionVar(), made.getInductionVar());
  for (auto [argument, place] : llvm::zip(loop.getRegionIterArgs(), places)) {
    if (!axes.contains(argument)) {
      others.map(argument, made.getRegionIterArg(unsigned(place)));
      continue;
    }
    for (int which : {0, 1})
      halves[which].map(argument, made.getRegionIterArg(unsigned(place + which)));
  }
  auto hasRows = [&](Operation &op) { return op.getNumResults() && axes.contains(op.getResult(0)); };
  b.setInsertionPointToEnd(made.getBody());
  for (Operation &op : loop.getBody()->without_terminator())
    if (!hasRows(op))
      b.clone(op, others);
  for (int which : {0, 1})
    for (Operation &op : loop.getBody()->without_terminator())
      if (hasRows(op))
        cloneHalf(made, op, which);
  SmallVector<Value> yielded;
  for (auto [argument, value] : llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues())) {
    auto found = axes.find(argument);
    if (found == axes.end())
      yielded.push_back(others.lookupOrDefault(value));
    else
      for (int which : {0, 1})
        yielded.push_back(half(value, found->second, which));
  }
  b.setInsertionPointToEnd(made.getBody());
  scf::YieldOp::create(b, yielded);
  b.setInsertionPointAfter(made);
  for (auto [argument, result, place] : llvm::zip(loop.getRegionIterArgs(), loop.getResults(), places)) {
    auto found = axes.find(argument);
    if (found == axes.end()) {
      result.replaceAllUsesWith(made.getResult(unsigned(place)));
      continue;
    }
    Parts parts(made.getResult(unsigned(place)), made.getResult(unsigned(place + 1)));
    result.replaceAllUsesWith(outside.join(b, parts, found->second));
  }
  loop.erase();
}

/// Whether each warp group multiplies two instructions' rows or more, and there is one group. Two groups have producer
/// warps, which are worth more.
static bool isOfOneGroup(const RowSplitter &splitter, const GpuTarget &target, int warps) {
  constexpr int64_t rowsOfInstruction = 64;
  return llvm::all_of(splitter.dots(), [&](DotOp dot) {
    std::optional<GroupInstruction> group = target.groupInstruction(dot, warps);
    return group && group->groupsAlongN == 1 && group->groupsAlongM == 1 && splitter.rows() >= 2 * rowsOfInstruction &&
           tileOf(dot.getD()).getDimSize(0) == splitter.rows();
  });
}

/// Whether the loop starts with sums of another one, or leaves them to it.
static bool isOneOfTwo(const RowSplitter &splitter, ArrayRef<std::unique_ptr<RowSplitter>> all) {
  return llvm::any_of(all, [&](const std::unique_ptr<RowSplitter> &other) {
    return splitter.startsWithSumsOf(*other) || other->startsWithSumsOf(splitter);
  });
}

// Times on one H200 are in docs/sm_90-code.md.
void simt::splitRows(FuncOp function, const GpuTarget &target, int warps) {
  SmallVector<scf::ForOp> loops;
  function.walk([&](scf::ForOp loop) { loops.push_back(loop); });
  Halves halves;
  SmallVector<std::unique_ptr<RowSplitter>> splitters;
  for (scf::ForOp loop : loops)
    if (auto splitter = std::make_unique<RowSplitter>(loop, halves);
        splitter->plan() && isOfOneGroup(*splitter, target, warps))
      splitters.push_back(std::move(splitter));
  bool isSplit = false;
  for (std::unique_ptr<RowSplitter> &splitter : splitters) {
    constexpr int64_t others = 8; // registers for addresses and the like, at least
    auto [sums, between] = splitter->wordsOf(warps);
    int64_t needed = sums + between + between / 2 + others, room = target.registersPerThread(warps);
    // Where the sums, all of which stay, are most of it, there is little to gain. With fewer registers another block
    // fits, which is worth it where the sums are the smaller part; or where one loop goes on with what another has
    // summed, as where causal attention masks its last tiles.
    bool isLarge = 2 * (between + others) >= sums;
    bool isWorth = needed > room * 3 / 5 && (between + others >= sums || isOneOfTwo(*splitter, splitters));
    if (!isLarge || (needed <= room && !isWorth))
      continue;
    splitter->split();
    isSplit = true;
  }
  if (!isSplit)
    return;
  splitStores(function, halves);
  eraseUnused(function);
}
