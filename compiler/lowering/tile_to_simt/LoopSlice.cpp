// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collects the slice, refuses what cannot be computed twice, and clones it for another iteration.
#include "compiler/lowering/tile_to_simt/LoopSlice.h"
#include "compiler/layout/Axes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
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
  if (op->getBlock() != loop.getBody() || op->getNumRegions() || !isPure(op) || isScalarOfTile)
    return false;
  if (!ops.insert(op))
    return true;
  return llvm::all_of(op->getOperands(), [&](Value operand) { return collect(operand); });
}

IRMapping LoopSlice::at(Value counter, ValueRange scalars) const {
  IRMapping map;
  scf::ForOp of = loop;
  map.map(of.getInductionVar(), counter);
  for (auto [number, value] : llvm::zip(numbers, scalars))
    map.map(of.getRegionIterArg(number), value);
  return map;
}

void LoopSlice::clone(OpBuilder &b, IRMapping &map, llvm::function_ref<bool(Operation *)> isWanted) const {
  scf::ForOp of = loop;
  for (Operation &op : of.getBody()->without_terminator())
    if (ops.contains(&op) && isWanted(&op))
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

bool simt::writesMemory(scf::ForOp loop) {
  return loop.getBody()
      ->walk([](Operation *op) {
        if (op->hasTrait<mlir::OpTrait::HasRecursiveMemoryEffects>() || isMemoryEffectFree(op))
          return WalkResult::advance();
        auto effects = dyn_cast<MemoryEffectOpInterface>(op);
        bool onlyReads =
            effects && !effects.hasEffect<MemoryEffects::Write>() && !effects.hasEffect<MemoryEffects::Free>();
        return onlyReads ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
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
