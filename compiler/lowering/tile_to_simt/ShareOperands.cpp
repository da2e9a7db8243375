// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gives each operand of a warp-group MMA shared memory: its ring, or a copy placed as early as its value allows.
#include "compiler/lowering/tile_to_simt/ShareOperands.h"
#include "compiler/dialects/simt/Simt.h"
#include "compiler/layout/MatrixLoad.h"
#include "compiler/lowering/tile_to_simt/LoopPipeliner.h"
#include "compiler/lowering/tile_to_simt/PipelineLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

namespace {
/// Copies of tiles that stand before loops, or before earlier matmuls.
using Copies = DenseMap<Value, SmallVector<StoreSharedOp, 2>>;

struct Operand {
  Value ring, stage; ///< or a tile in registers, and null
  bool transposed = false;
  bool copied = false;        ///< to a memory object made here, not by a pipelined loop
  Operation *place = nullptr; ///< the copy is made before it
  Value tile = {};            ///< that is copied
  StoreSharedOp made = {};    ///< the copy, where an earlier matmul has it
};
} // namespace

// What the load of the tile made contiguous, else the last axis.
static layout::Order memoryOrder(Value tile) {
  auto load = tile.getDefiningOp<GlobalLoadOp>();
  return load && load.getAxis() == 0 ? layout::Order{0, 1} : layout::Order{1, 0};
}

OperandTile simt::operandTile(MatrixDotOp dot, int operand) {
  Value tile = operand == 0 ? dot.getA() : dot.getB();
  int axisK = operand == 0 ? 1 : 0;
  auto trans = tile.getDefiningOp<TransOp>();
  if (!trans)
    return {tile, false, axisK};
  bool transposed = trans.getOrder() == ArrayRef<int32_t>{1, 0};
  return {trans.getSrc(), transposed, transposed ? 1 - axisK : axisK};
}

static bool mayLieAcross(Type element) {
  return element.getIntOrFloatBitWidth() == 16;
}

bool simt::groupsReadRing(SharedType ring, int axisK) {
  std::optional<OperandLayout> found = operandLayout(ring);
  return found && (mayLieAcross(ring.getElementType()) || found->columnMajor == (axisK == 0));
}

/// The outermost loop around a matmul that does not compute the tile; else the matmul.
static Operation *placeOfCopy(MatrixDotOp dot, Value tile) {
  Operation *place = dot;
  for (Operation *loop = dot->getParentOp(); isa<LoopLikeOpInterface>(loop); loop = loop->getParentOp()) {
    if (loop->isAncestor(tile.getParentBlock()->getParentOp()))
      break;
    place = loop;
  }
  return place;
}

/// A copy of the tile in such memory that is made on each path to the matmul; null for none.
static StoreSharedOp findCopy(const Copies &made, Value tile, SharedType type, MatrixDotOp dot) {
  for (StoreSharedOp store : made.lookup(tile))
    if (Operation *here = store->getBlock()->findAncestorOpInBlock(*dot);
        here && store->isBeforeInBlock(here) && store.getRing().getType() == type)
      return store;
  return {};
}

static Operand shareOperand(ImplicitLocOpBuilder &b, MatrixDotOp dot, int number, const Copies &made) {
  auto [operand, transposed, axisK] = operandTile(dot, number);
  if (number == 0 && liesAsLeftOperand(cast<RankedTensorType>(dot.getA().getType()), dot.getType()))
    return {dot.getA(), Value(), false};
  if (auto load = operand.getDefiningOp<LoadSharedOp>(); load && groupsReadRing(load.getRing().getType(), axisK))
    return {load.getRing(), load.getStage(), transposed};
  auto tile = cast<RankedTensorType>(operand.getType());
  layout::Shape shape(tile.getShape().begin(), tile.getShape().end());
  layout::Order order = mayLieAcross(tile.getElementType()) ? memoryOrder(operand) : layout::Order{axisK, 1 - axisK};
  layout::LinearLayout layout = layout::matrixShared(shape, int(tile.getElementTypeBitWidth()), order);
  auto type = SharedType::get(b.getContext(), 1, tile.getShape(), tile.getElementType(), layout);
  if (StoreSharedOp store = findCopy(made, operand, type, dot))
    return {store.getRing(), store.getStage(), transposed, false, nullptr, operand, store};
  Operation *place = placeOfCopy(dot, operand);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(place);
  Value ring = AllocOp::create(b, type);
  return {ring, arith::ConstantIntOp::create(b, 0, 32), transposed, true, place, operand};
}

/// The tiles that are to be in memory objects before `place`, between two barriers: who reads what was there before
/// comes to the first one, and who multiplies to the other.
static void copyOperands(ImplicitLocOpBuilder &b, ArrayRef<Operand> operands, Operation *place, Copies &made) {
  auto isHere = [&](const Operand &operand) { return operand.copied && operand.place == place; };
  if (llvm::none_of(operands, isHere))
    return;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(place);
  BarrierOp::create(b);
  for (const Operand &operand : llvm::make_filter_range(operands, isHere))
    made[operand.tile].push_back(StoreSharedOp::create(b, operand.tile, operand.ring, operand.stage));
  BarrierOp::create(b);
}

// After the barrier, or the waits at barrier objects, with which an iteration of a pipelined loop begins, and after the
// matmuls that begin there, if all operands are computed by then.
static Operation *earlyPlace(MatrixDotOp dot, bool isLeftInRegisters) {
  Operation *place = nullptr;
  bool isAtStart = false;
  for (Operation &op : *dot->getBlock()) {
    if (&op == dot)
      return place;
    isAtStart = place && isAtStart && isa<DotSharedOp, WaitArrivalsOp>(op);
    if (isAtStart)
      place = &op;
    if (isa<BarrierOp, WaitArrivalsOp>(op) && !place)
      place = &op, isAtStart = true;
    if (place && (dot.getC().getDefiningOp() == &op || (isLeftInRegisters && dot.getA().getDefiningOp() == &op)))
      return nullptr;
  }
  return nullptr;
}

/// Whether what the loop carries leaves a thread no room for the result of `dot`, less a few registers for the rest.
/// The assembler then issues a part of the matmul later, when half of the result has become something smaller; but only
/// over instructions that do not write to shared memory.
static bool isCrowded(MatrixDotOp dot) {
  constexpr int64_t mostWords = 240;
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  int64_t words = wordsOf(dot.getType());
  for (Value carried : loop ? ValueRange(loop.getRegionIterArgs()) : ValueRange())
    words += carried == dot.getC() ? 0 : wordsOf(carried.getType());
  return loop && words > mostWords;
}

/// Whether another matmul's result is used before this one in its block, as an attention's backward pass does. The
/// assembler runs what computes with that result between the instructions of a matmul that begins after it; of two
/// that begin together it waits for both first (ptxas 12.8, 13.0).
static bool followsUses(MatrixDotOp dot) {
  auto isBefore = [&](Operation *op) { return op->getBlock() == dot->getBlock() && op->isBeforeInBlock(dot); };
  return llvm::any_of(dot->getBlock()->getOps<DotWaitOp>(),
                      [&](DotWaitOp wait) { return isBefore(wait) && llvm::any_of(wait->getUsers(), isBefore); });
}

// The last product of a loop is still on its way when the loop ends.
static void finishBehindLoop(ImplicitLocOpBuilder &b, Value open) {
  auto loop = cast<scf::ForOp>(open.getDefiningOp()->getParentOp());
  for (OpOperand &use : open.getUses())
    if (isa<scf::YieldOp>(use.getOwner())) {
      Value sum = loop.getResult(use.getOperandNumber());
      b.setInsertionPointAfter(loop);
      Value done = DotWaitOp::create(b, sum.getType(), sum, 0);
      sum.replaceAllUsesExcept(done, done.getDefiningOp());
    }
}

static void share(MatrixDotOp dot, Copies &made) {
  ImplicitLocOpBuilder b(dot.getLoc(), dot);
  Operand a = shareOperand(b, dot, 0, made), bb = shareOperand(b, dot, 1, made);
  Operand operands[] = {a, bb};
  llvm::SetVector<Operation *> places;
  bool isCopiedHere = false; // in the same block, before the matmul
  for (const Operand &operand : operands) {
    if (operand.copied)
      places.insert(operand.place);
    isCopiedHere |= operand.made && operand.made->getBlock() == dot->getBlock();
  }
  for (Operation *place : places)
    copyOperands(b, operands, place, made);
  bool isInPlace = isCopiedHere || places.contains(dot) || isCrowded(dot) || (a.stage && followsUses(dot));
  Operation *early = isInPlace ? nullptr : earlyPlace(dot, /*isLeftInRegisters=*/!a.stage);
  if (early)
    b.setInsertionPointAfter(early);
  Value started = DotSharedOp::create(b, dot.getType(), a.ring, a.stage, bb.ring, bb.stage, dot.getC(), a.transposed,
                                      bb.transposed);
  b.setInsertionPoint(dot);
  Value done = DotWaitOp::create(b, dot.getType(), started, dot.getPending());
  dot.getD().replaceAllUsesWith(done);
  if (dot.getPending())
    finishBehindLoop(b, done);
  Operation *reads[] = {dot.getA().getDefiningOp(), dot.getB().getDefiningOp()};
  dot.erase();
  if (reads[0] == reads[1])
    reads[1] = nullptr;
  for (Operation *read : reads)
    while (read && read->use_empty() && isa<TransOp, LoadSharedOp>(read)) {
      Operation *source = read->getOperand(0).getDefiningOp();
      read->erase();
      read = source;
    }
}

/// A matmul goes on until its result is used, or until something else than another matmul writes memory or waits:
/// others begin meanwhile.
static void waitLate(DotWaitOp wait) {
  Operation *started = wait.getStarted().getDefiningOp();
  if (wait.getPending() || !started || started->getBlock() != wait->getBlock())
    return;
  auto isUsedIn = [&](Operation *op) {
    return llvm::any_of(wait->getUsers(), [&](Operation *user) { return op->isAncestor(user); });
  };
  Operation *next = wait->getNextNode();
  while (!next->hasTrait<mlir::OpTrait::IsTerminator>() && !isUsedIn(next) &&
         (isa<DotSharedOp, DotWaitOp, LoadSharedOp>(next) || isMemoryEffectFree(next)))
    next = next->getNextNode();
  wait->moveBefore(next);
}

/// Matmuls that begin after the one that is waited for go on, as those of attention's backward pass do beside the
/// exponentials. Registers of a left operand may get other values meanwhile (ptxas 13.0): with such a one, none does.
static void waitForOne(DotWaitOp wait) {
  Operation *started = wait.getStarted().getDefiningOp();
  if (wait.getPending() || !started || started->getBlock() != wait->getBlock())
    return;
  int64_t others = 0;
  for (Operation *op = started->getNextNode(); op != wait; op = op->getNextNode()) {
    auto other = dyn_cast<DotSharedOp>(op);
    if (op->getNumRegions() || (other && other.hasAInRegisters()))
      return;
    others += bool(other);
  }
  wait.setPending(uint64_t(others));
}

LogicalResult simt::shareOperands(ModuleOp module) {
  SmallVector<MatrixDotOp> dots;
  module.walk([&](MatrixDotOp dot) {
    if (dot.getWarpGroups())
      dots.push_back(dot);
  });
  Copies made;
  for (MatrixDotOp dot : dots)
    share(dot, made);
  SmallVector<DotWaitOp> waits;
  module.walk([&](DotWaitOp wait) { waits.push_back(wait); });
  llvm::for_each(waits, waitLate);
  llvm::for_each(waits, waitForOne);
  return success();
}
