// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The layout of an operand from that of the result, operation by operation, and a clone in it.
#include "compiler/lowering/tile_to_simt/Relayout.h"
#include "compiler/layout/Axes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::LinearLayout;

LinearLayout simt::operandLayout(Operation *op, unsigned number, const LinearLayout &result) {
  if (auto expand = dyn_cast<ExpandDimsOp>(op))
    return layout::slice(result, int(expand.getAxis()));
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    LinearLayout layout = result;
    for (auto [axis, size] : llvm::enumerate(cast<RankedTensorType>(broadcast.getSrc().getType()).getShape()))
      if (size == 1)
        layout = layout::flattenAxis(layout, int(axis));
    return layout;
  }
  if (isa<JoinOp>(op))
    return layout::slice(result, int(result.outputs().size()) - 1);
  if (auto trans = dyn_cast<TransOp>(op))
    return layout::permuteAxes(result, layout::inverseOrder({trans.getOrder().begin(), trans.getOrder().end()}));
  if (auto shaped = dyn_cast<ReshapeOp>(op)) {
    auto shape = cast<RankedTensorType>(shaped.getSrc().getType()).getShape();
    return layout::reshape(result, layout::Shape(shape.begin(), shape.end()));
  }
  return result;
}

bool simt::hasAnyLayout(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() || !isPure(op))
    return false;
  if (isa<SplatOp, ExpandDimsOp, BroadcastOp, MakeRangeOp, TransOp, ReshapeOp>(op))
    return true;
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  return op->hasTrait<mlir::OpTrait::Elementwise>();
}

Operation *simt::cloneInLayout(OpBuilder &b, Operation *op, const LinearLayout &layout) {
  Operation *copy = op->clone();
  Value result = copy->getResult(0);
  result.setType(withLayout(cast<RankedTensorType>(result.getType()), layout));
  if (auto constant = dyn_cast<arith::ConstantOp>(copy)) {
    auto elements = cast<DenseElementsAttr>(constant.getValue());
    constant.setValueAttr(elements.reshape(cast<RankedTensorType>(result.getType())));
  }
  return b.insert(copy);
}
