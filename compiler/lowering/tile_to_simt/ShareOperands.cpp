// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/lowering/tile_to_simt/ShareOperands.h"
#include "compiler/dialects/simt/Simt.h"
#include "compiler/layout/MatrixLoad.h"
#include "compiler/lowering/tile_to_simt/PipelineLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

namespace {
struct Operand {
  Value ring, stage;
  bool transposed;
  bool copied; ///< made here, not by a pipelined loop
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

static Operand shareOperand(ImplicitLocOpBuilder &b, MatrixDotOp dot, int number) {
  auto [operand, transposed, axisK] = operandTile(dot, number);
  if (auto load = operand.getDefiningOp<LoadSharedOp>(); load && groupsReadRing(load.getRing().getType(), axisK))
    return {load.getRing(), load.getStage(), transposed, false};
  auto tile = cast<RankedTensorType>(operand.getType());
  layout::Shape shape(tile.getShape().begin(), tile.getShape().end());
  layout::Order order = mayLieAcross(tile.getElementType()) ? memoryOrder(operand) : layout::Order{axisK, 1 - axisK};
  layout::LinearLayout layout = layout::matrixShared(shape, int(tile.getElementTypeBitWidth()), order);
  Value ring = AllocOp::create(b, SharedType::get(b.getContext(), 1, tile.getShape(), tile.getElementType(), layout));
  return {ring, arith::ConstantIntOp::create(b, 0, 32), transposed, true};
}

// Behind the barrier that begins an iteration of a pipelined loop, if everything is there by then.
static Operation *earlyPlace(MatrixDotOp dot) {
  Operation *barrier = nullptr;
  for (Operation &op : *dot->getBlock()) {
    if (&op == dot)
      return barrier;
    if (isa<BarrierOp>(op) && !barrier)
      barrier = &op;
    if (dot.getC().getDefiningOp() == &op && barrier)
      return nullptr;
  }
  return nullptr;
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

static void share(MatrixDotOp dot) {
  ImplicitLocOpBuilder b(dot.getLoc(), dot);
  Operand a = shareOperand(b, dot, 0), bb = shareOperand(b, dot, 1);
  if (a.copied || bb.copied)
    BarrierOp::create(b); // who reads what was there before
  for (auto [operand, value] : {std::pair(a, dot.getA()), std::pair(bb, dot.getB())}) {
    if (!operand.copied)
      continue;
    Value tile = operand.transposed ? value.getDefiningOp<TransOp>().getSrc() : value;
    StoreSharedOp::create(b, tile, operand.ring, operand.stage);
  }
  Operation *early = nullptr;
  if (a.copied || bb.copied)
    BarrierOp::create(b);
  else
    early = earlyPlace(dot);
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

LogicalResult simt::shareOperands(ModuleOp module) {
  SmallVector<MatrixDotOp> dots;
  module.walk([&](MatrixDotOp dot) {
    if (dot.getWarpGroups())
      dots.push_back(dot);
  });
  for (MatrixDotOp dot : dots)
    share(dot);
  return success();
}
