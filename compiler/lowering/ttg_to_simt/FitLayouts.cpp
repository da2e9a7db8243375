// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The emission of threads takes operations whose results follow from their operands register by register. Where the
// layouts of a text say something else, a conversion is inserted.
#include "compiler/layout/Axes.h"
#include "compiler/lowering/ttg_to_simt/TtgToSimt.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::LinearLayout;

namespace {

layout::Shape shapeOf(Value value) {
  auto shape = cast<RankedTensorType>(value.getType()).getShape();
  return {shape.begin(), shape.end()};
}

class Fitter {
public:
  Fitter(const GpuTarget &target, int warps) : target(target), warps(warps) {}

  void fit(Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](ExpandDimsOp expand) {
          setOperand(op->getOpOperand(0), layout::slice(layoutOf(expand.getType()), int(expand.getAxis())));
        })
        .Case([&](BroadcastOp broadcast) {
          LinearLayout layout = layoutOf(broadcast.getType());
          for (auto [axis, size] : llvm::enumerate(shapeOf(broadcast.getSrc())))
            if (size == 1)
              layout = layout::flattenAxis(layout, int(axis));
          setOperand(op->getOpOperand(0), layout);
        })
        .Case([&](TransOp trans) {
          setResult(op->getResult(0), layout::permuteAxes(layoutOf(trans.getSrc().getType()),
                                                          {trans.getOrder().begin(), trans.getOrder().end()}));
        })
        .Case([&](ReshapeOp reshape) {
          setResult(op->getResult(0), layout::reshape(layoutOf(reshape.getSrc().getType()), shapeOf(reshape)));
        })
        .Case<JoinOp, CatOp>([&](auto pieces) {
          LinearLayout layout = layoutOf(pieces.getLhs().getType());
          setOperand(op->getOpOperand(1), layout);
          setResult(op->getResult(0), isa<JoinOp>(op) ? layout::joinTiles(layout) : layout::concatenateTiles(layout));
        })
        .Case([&](SplitOp split) {
          int last = int(shapeOf(split.getSrc()).size()) - 1;
          if (!layout::staysInRegisters(layoutOf(split.getSrc().getType()), last))
            setOperand(op->getOpOperand(0),
                       layout::blockedByPacks(shapeOf(split.getSrc()), 2, target.lanesPerWarp(), warps));
          LinearLayout half = layout::slice(layoutOf(split.getSrc().getType()), last);
          for (Value result : op->getResults())
            setResult(result, half);
        })
        .Case([&](TileReduceOp reduce) {
          LinearLayout layout = layoutOf(reduce.getSources()[0].getType());
          for (OpOperand &operand : op->getOpOperands())
            setOperand(operand, layout);
          for (Value result : op->getResults())
            if (isa<RankedTensorType>(result.getType()))
              setResult(result, layout::slice(layout, int(reduce.getAxis())));
        })
        .Case([&](TileScanOp scan) {
          LinearLayout layout = layoutOf(scan.getSources()[0].getType());
          auto axis = int(scan.getAxis());
          if (!layout::isScanOrdered(layout, axis))
            layout = layout::blockedAlong(shapeOf(scan.getSources()[0]), axis, target.lanesPerWarp(), warps);
          setAll(op, layout);
        })
        .Case([&](MapElementwiseOp map) {
          if (map.getPack() > 1) // elements that one step of the body takes lie in one thread
            setAll(op,
                   layout::blockedByPacks(shapeOf(map.getResult()[0]), map.getPack(), target.lanesPerWarp(), warps));
        });
  }

private:
  void setAll(Operation *op, const LinearLayout &layout) {
    for (OpOperand &operand : op->getOpOperands())
      setOperand(operand, layout);
    for (Value result : op->getResults())
      setResult(result, layout);
  }

  void setOperand(OpOperand &operand, const LinearLayout &layout) {
    auto tile = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!tile || layoutOf(tile) == layout)
      return;
    OpBuilder b(operand.getOwner());
    operand.set(ConvertLayoutOp::create(b, operand.getOwner()->getLoc(), withLayout(tile, layout), operand.get()));
  }

  void setResult(Value result, const LinearLayout &layout) {
    auto tile = cast<RankedTensorType>(result.getType());
    if (layoutOf(tile) == layout)
      return;
    OpBuilder b(result.getContext());
    b.setInsertionPointAfterValue(result);
    result.setType(withLayout(tile, layout));
    auto convert = ConvertLayoutOp::create(b, result.getLoc(), tile, result);
    result.replaceAllUsesExcept(convert.getResult(), convert);
  }

  const GpuTarget &target;
  int warps;
};

} // namespace

void simt::fitLayouts(FuncOp function, const GpuTarget &target, int warps) {
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) { ops.push_back(op); });
  Fitter fitter(target, warps);
  for (Operation *op : ops)
    fitter.fit(op);
}
