// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-loop-carried-offsets: a tile that scf.for moves by a uniform amount is carried as one scalar offset from the
// tile's value before the loop. Loops are visited inside out: what an inner loop leaves is again a uniform step
// of the loop around it.
#include "compiler/dialects/triton/Triton.h"
#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

namespace heddle {
#define GEN_PASS_DEF_LOOPCARRIEDOFFSETSPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle::triton;

namespace {

/// One step from the carried tile to the yielded one.
struct Step {
  Operation *op;
  Value increment; ///< tile
};

bool isElementwiseArith(Operation *op) {
  return op && isa<arith::ArithDialect>(op->getDialect()) && op->getNumResults() == 1 && op->getNumOperands() > 0 &&
         op->hasTrait<mlir::OpTrait::Elementwise>() && isPure(op);
}

/// Whether every element of `tile` has one value that a scalar expression can give.
bool isUniform(Value tile) {
  DenseElementsAttr constant;
  if (matchPattern(tile, m_Constant(&constant)))
    return constant.isSplat();
  Operation *op = tile.getDefiningOp();
  if (isa_and_present<SplatOp>(op))
    return true;
  if (isa_and_present<BroadcastOp, ExpandDimsOp, ReshapeOp, TransOp>(op))
    return isUniform(op->getOperand(0));
  return isElementwiseArith(op) && llvm::all_of(op->getOperands(), [](Value operand) {
           return isa<RankedTensorType>(operand.getType()) && isUniform(operand);
         });
}

/// The scalar that every element of the uniform `tile` has.
Value scalarOf(Value tile, OpBuilder &builder) {
  DenseElementsAttr constant;
  Type element = elementTypeOf(tile.getType());
  if (matchPattern(tile, m_Constant(&constant)))
    return arith::ConstantOp::create(builder, tile.getLoc(), element,
                                     cast<TypedAttr>(constant.getSplatValue<Attribute>()));
  Operation *op = tile.getDefiningOp();
  if (auto splat = dyn_cast<SplatOp>(op))
    return splat.getSrc();
  if (isa<BroadcastOp, ExpandDimsOp, ReshapeOp, TransOp>(op))
    return scalarOf(op->getOperand(0), builder);
  IRMapping scalars;
  for (Value operand : op->getOperands())
    if (!scalars.contains(operand))
      scalars.map(operand, scalarOf(operand, builder));
  Operation *scalar = builder.clone(*op, scalars);
  scalar->getResult(0).setType(element);
  return scalar->getResult(0);
}

/// The steps by which `yielded` is reached from `carried`; none when something else happens on the way.
SmallVector<Step> uniformSteps(Value carried, Value yielded) {
  SmallVector<Step> steps;
  for (Value tile = yielded; tile != carried;) {
    Operation *op = tile.getDefiningOp();
    if (auto addPtr = dyn_cast_or_null<AddPtrOp>(op)) {
      steps.push_back({op, addPtr.getOffset()});
      tile = addPtr.getPtr();
    } else if (auto add = dyn_cast_or_null<arith::AddIOp>(op)) {
      bool swapped = isUniform(add.getLhs());
      steps.push_back({op, swapped ? add.getLhs() : add.getRhs()});
      tile = swapped ? add.getRhs() : add.getLhs();
    } else if (auto subtract = dyn_cast_or_null<arith::SubIOp>(op)) {
      steps.push_back({op, subtract.getRhs()});
      tile = subtract.getLhs();
    } else {
      return {};
    }
    if (!isUniform(steps.back().increment))
      return {};
  }
  return steps;
}

SmallVector<OpOperand *> usesOf(Value value) {
  return llvm::map_to_vector(value.getUses(), [](OpOperand &use) { return &use; });
}

/// Points `uses` to the tile `start` moved by the scalar `offset`.
void useMovedTile(ArrayRef<OpOperand *> uses, Value start, Value offset, OpBuilder &builder) {
  if (uses.empty())
    return;
  auto type = cast<RankedTensorType>(start.getType());
  Location location = offset.getLoc();
  Value tile = SplatOp::create(builder, location, type.clone(offset.getType()), offset);
  if (isa<PointerType>(type.getElementType()))
    tile = AddPtrOp::create(builder, location, type, start, tile);
  else
    tile = arith::AddIOp::create(builder, location, start, tile);
  for (OpOperand *use : uses)
    use->set(tile);
}

/// The carried scalar after `steps`, which are listed from the last to the first.
Value advanceOffset(Value offset, ArrayRef<Step> steps, OpBuilder &builder) {
  for (const Step &step : llvm::reverse(steps)) {
    Location location = step.op->getLoc();
    Value increment = scalarOf(step.increment, builder);
    if (increment.getType() != offset.getType())
      increment = builder.createOrFold<arith::ExtSIOp>(location, offset.getType(), increment);
    if (isa<arith::SubIOp>(step.op))
      offset = arith::SubIOp::create(builder, location, offset, increment);
    else
      offset = arith::AddIOp::create(builder, location, offset, increment);
  }
  return offset;
}

void carryOffset(scf::ForOp loop, unsigned index, ArrayRef<Step> steps) {
  BlockArgument carried = loop.getRegionIterArg(index);
  OpResult result = loop->getResult(index);
  OpOperand &init = loop.getInitArgsMutable()[index];
  Value start = init.get();
  Type element = elementTypeOf(start.getType());
  Type scalar = isa<PointerType>(element) ? IntegerType::get(loop.getContext(), 64) : element;

  SmallVector<OpOperand *> usesInside = usesOf(carried), usesAfter = usesOf(result);
  carried.setType(scalar);
  result.setType(scalar);
  Operation *terminator = loop.getBody()->getTerminator();
  OpBuilder builder(terminator);
  terminator->setOperand(index, advanceOffset(carried, steps, builder));
  builder.setInsertionPoint(loop);
  init.set(arith::ConstantOp::create(builder, start.getLoc(), builder.getIntegerAttr(scalar, 0)));
  builder.setInsertionPointToStart(loop.getBody());
  useMovedTile(usesInside, start, carried, builder);
  builder.setInsertionPointAfter(loop);
  useMovedTile(usesAfter, start, result, builder);
  for (const Step &step : steps)
    if (step.op->use_empty())
      step.op->erase();
}

struct LoopCarriedOffsetsPass : heddle::impl::LoopCarriedOffsetsPassBase<LoopCarriedOffsetsPass> {
  void runOnOperation() override {
    getOperation()->walk<WalkOrder::PostOrder>([](scf::ForOp loop) {
      for (unsigned index = 0; index < loop.getNumRegionIterArgs(); ++index) {
        auto type = dyn_cast<RankedTensorType>(loop.getRegionIterArg(index).getType());
        if (!type || !isa<PointerType, IntegerType>(type.getElementType()))
          continue;
        SmallVector<Step> steps = uniformSteps(loop.getRegionIterArg(index), loop.getYieldedValues()[index]);
        if (!steps.empty())
          carryOffset(loop, index, steps);
      }
    });
  }
};

} // namespace
