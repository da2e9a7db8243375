// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collects the slice, refuses what cannot be computed twice, and clones it for another iteration.
#include "compiler/lowering/tile_to_simt/LoopSlice.h"
#include "compiler/layout/Axes.h"
#include "compiler/lowering/simt/GlobalOrder.h"
#include "compiler/lowering/tile_to_simt/LoopPipeliner.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::LinearLayout;

//===-- Slices ---------------------------------------------------------------------------------------------------===//

bool LoopSlice::add(ArrayRef<Value> values) {
  auto wereOps = ops;
  auto wereNumbers = numbers;
  if (llvm::all_of(values, [&](Value value) { return !value || collect(value); }))
    return true;
  ops = std::move(wereOps);
  numbers = std::move(wereNumbers);
  return false;
}

/// Whether it may be computed for an iteration that is not executed: division by zero has a result
/// (compiler/arithmetic).
static bool mayBeComputed(Operation *op) {
  return isPure(op) || isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op);
}

bool LoopSlice::collect(Value value) {
  if (!loop.getRegion().isAncestor(value.getParentRegion()))
    return true;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument == loop.getInductionVar())
      return true;
    unsigned number = argument.getArgNumber() - 1;
    if (isa<RankedTensorType>(value.getType()))
      return false;
    return !numbers.insert(number) || collect(loop.getYieldedValues()[number]);
  }
  Operation *op = value.getDefiningOp();
  auto isTile = [](Type type) { return isa<RankedTensorType>(type); };
  bool isScalarOfTile = !isTile(value.getType()) && llvm::any_of(op->getOperandTypes(), isTile);
  bool isKnown = op->getBlock() == loop.getBody() && !op->getNumRegions() && !isScalarOfTile;
  if (!isKnown || !(mayBeComputed(op) || isIndexLoad(op)))
    return false;
  if (!ops.insert(op))
    return true;
  return llvm::all_of(op->getOperands(), [&](Value operand) { return collect(operand); });
}

bool LoopSlice::isIndexLoad(Operation *op) const {
  auto load = dyn_cast<GlobalLoadOp>(op);
  return load && !load.getIsVolatile() && !writes.mayChange(load.getPointer()) &&
         getElementTypeOrSelf(load.getType()).isInteger() && wordsOf(load.getType()) <= mostIndexWords;
}

SmallVector<GlobalLoadOp> LoopSlice::indexLoads() const {
  scf::ForOp of = loop;
  return llvm::to_vector(
      llvm::make_filter_range(of.getBody()->getOps<GlobalLoadOp>(), [&](GlobalLoadOp load) { return contains(load); }));
}

IRMapping LoopSlice::at(Value counter, ValueRange scalars) const {
  IRMapping map;
  scf::ForOp of = loop;
  map.map(of.getInductionVar(), counter);
  for (auto [number, value] : llvm::zip(numbers, scalars))
    map.map(of.getRegionIterArg(number), value);
  for (auto [load, value] : llvm::zip(indexLoads(), scalars.drop_front(std::min(numbers.size(), scalars.size()))))
    map.map(load.getResult(), value);
  return map;
}

SmallVector<Value> LoopSlice::loadIndices(OpBuilder &b, Value counter, ValueRange scalars, Value active) const {
  llvm::SetVector<Operation *> needed; // and what computes their addresses
  for (GlobalLoadOp load : indexLoads())
    needed.insert(load);
  for (size_t i = 0; i < needed.size(); ++i)
    for (Value operand : needed[i]->getOperands())
      if (Operation *op = operand.getDefiningOp(); op && contains(op))
        needed.insert(op);
  IRMapping map = at(counter, scalars.take_front(numbers.size()));
  SmallVector<Value> indices;
  scf::ForOp of = loop;
  for (Operation &op : of.getBody()->without_terminator())
    if (needed.contains(&op)) {
      auto load = dyn_cast<GlobalLoadOp>(b.clone(op, map));
      if (!load)
        continue;
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(load);
      load.getMaskMutable().assign(maskWhere(b, load.getLoc(), active, load.getMask(), load.getType()));
      indices.push_back(load.getResult());
    }
  return indices;
}

void LoopSlice::clone(OpBuilder &b, IRMapping &map, llvm::function_ref<bool(Operation *)> isWanted) const {
  scf::ForOp of = loop;
  for (Operation &op : of.getBody()->without_terminator())
    if (ops.contains(&op) && !isa<GlobalLoadOp>(op) && isWanted(&op))
      b.clone(op, map);
}

void LoopSlice::cloneScalars(OpBuilder &b, IRMapping &map) const {
  auto isTile = [](Type type) { return isa<RankedTensorType>(type); };
  clone(b, map, [&](Operation *op) { return llvm::none_of(op->getResultTypes(), isTile); });
}

SmallVector<Value> LoopSlice::next(const IRMapping &map) const {
  scf::ForOp of = loop;
  return llvm::map_to_vector(numbers,
                             [&](unsigned number) { return map.lookupOrDefault(of.getYieldedValues()[number]); });
}

//===-- Loops ----------------------------------------------------------------------------------------------------===//

Value simt::maskWhere(OpBuilder &b, Location at, Value active, Value mask, Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  if (!tile)
    return mask ? Value(arith::SelectOp::create(b, at, active, mask, arith::ConstantIntOp::create(b, at, 0, 1)))
                : active;
  auto bits = RankedTensorType::get(tile.getShape(), b.getI1Type(), tile.getEncoding());
  Value all = SplatOp::create(b, at, bits, active);
  if (!mask)
    return all;
  Value never = arith::ConstantOp::create(b, at, SplatElementsAttr::get(bits, false));
  return arith::SelectOp::create(b, at, all, mask, never);
}

MatrixDotOp simt::firstDotOf(GlobalLoadOp load) {
  SmallVector<Value> work = {load.getResult()};
  llvm::SmallPtrSet<Operation *, 16> seen;
  MatrixDotOp first;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    for (Operation *user : value.getUsers()) {
      if (user->getBlock() != load->getBlock())
        continue;
      if (auto dot = dyn_cast<MatrixDotOp>(user)) {
        bool reads = dot.getA() == value || dot.getB() == value;
        if (reads && (!first || dot->isBeforeInBlock(first)))
          first = dot;
      } else if (isPure(user) && user->getNumRegions() == 0 && seen.insert(user).second) {
        llvm::append_range(work, user->getResults());
      }
    }
  }
  return first;
}

static bool onlyReads(Operation *op) {
  if (op->hasTrait<mlir::OpTrait::HasRecursiveMemoryEffects>() || isMemoryEffectFree(op))
    return true;
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  return effects && !effects.hasEffect<MemoryEffects::Write>() && !effects.hasEffect<MemoryEffects::Free>();
}

// Atomics may order what other blocks do: loads stay where they are then.
void MemoryWrites::add(Operation *op) {
  op->walk([&](Operation *inner) {
    if (onlyReads(inner))
      return;
    auto store = dyn_cast<GlobalStoreOp>(inner);
    Value root = store ? rootOf(store.getPointer()) : Value();
    if (root && isKernelArgument(root))
      roots.insert(root);
    else
      isAnywhere = true;
  });
}

bool MemoryWrites::mayChange(Value pointer) const {
  if (isNone())
    return false;
  Value root = rootOf(pointer);
  return isAnywhere || !isKernelArgument(root) || roots.contains(root);
}

SmallVector<Value> simt::moveBody(scf::ForOp loop, scf::ForOp made, Block::iterator place) {
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  SmallVector<Value> yielded = llvm::to_vector(yield.getOperands());
  yield.erase();
  made.getBody()->getOperations().splice(place, loop.getBody()->getOperations());
  for (auto [from, to] : llvm::zip(loop.getBody()->getArguments(), made.getBody()->getArguments()))
    from.replaceAllUsesWith(to);
  for (Value &value : yielded)
    if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner() == loop.getBody())
      value = made.getBody()->getArgument(argument.getArgNumber());
  return yielded;
}

bool simt::isInnermost(scf::ForOp loop) {
  return !loop.getBody()->walk([](LoopLikeOpInterface) { return WalkResult::interrupt(); }).wasInterrupted();
}

Value simt::nextStage(ImplicitLocOpBuilder &b, Value stage, int64_t stages) {
  auto constant = [&](int64_t value) -> Value { return arith::ConstantIntOp::create(b, value, 32); };
  Value next = arith::AddIOp::create(b, stage, constant(1));
  Value wraps = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, next, constant(stages));
  return arith::SelectOp::create(b, wraps, constant(0), next);
}

SmallVector<TileRead> simt::readsOf(GlobalLoadOp load, bool &isAll) {
  SmallVector<TileRead> reads;
  isAll = true;
  auto take = [&](Operation *user, TransOp trans) {
    auto convert = dyn_cast<ConvertLayoutOp>(user);
    isAll &= bool(convert);
    if (!convert)
      return;
    LinearLayout wanted = layoutOf(convert->getResult(0).getType());
    if (trans) {
      layout::Order order(trans.getOrder().begin(), trans.getOrder().end());
      wanted = layout::permuteAxes(wanted, layout::inverseOrder(order));
    }
    reads.push_back({convert, trans, wanted});
  };
  for (Operation *user : load->getUsers())
    if (auto trans = dyn_cast<TransOp>(user))
      for (Operation *next : trans->getUsers())
        take(next, trans);
    else
      take(user, {});
  return reads;
}

void simt::readRing(GlobalLoadOp load, Value ring, Value stage) {
  ImplicitLocOpBuilder b(load.getLoc(), load);
  auto tile = cast<RankedTensorType>(load.getType());
  auto readBefore = [&](Operation *place, RankedTensorType type) -> Value {
    b.setInsertionPoint(place);
    return LoadSharedOp::create(b, type, ring, stage, Value());
  };
  bool isAll = true;
  for (auto &[convert, trans, layout] : readsOf(load, isAll)) {
    Value read = readBefore(convert, withLayout(tile, layout));
    if (trans)
      read = TransOp::create(b, convert->getResult(0).getType(), read, trans.getOrder());
    convert->getResult(0).replaceAllUsesWith(read);
    convert->erase();
  }
  for (Operation *user : llvm::make_early_inc_range(load->getUsers()))
    if (isa<TransOp>(user) && user->use_empty())
      user->erase();
  if (!load->use_empty())
    load.getResult().replaceAllUsesWith(readBefore(load, tile));
  load.erase();
}
