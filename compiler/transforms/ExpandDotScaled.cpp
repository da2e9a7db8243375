// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-expand-dot-scaled: a block-scaled matrix product becomes a product of f32 tiles.
#include "compiler/transforms/Passes.h"
#include "compiler/transforms/ScaledTiles.h"

namespace heddle {
#define GEN_PASS_DEF_EXPANDDOTSCALEDPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle::triton;

static LogicalResult expand(DotScaledOp op) {
  FailureOr<heddle::ScaledSides> sides = heddle::sidesOf(op);
  if (failed(sides))
    return failure();
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  heddle::TileShapes shapes;
  heddle::ScaledTiles tiles(builder, shapes);
  Value c = op.getC();
  auto type = cast<RankedTensorType>(c.getType());
  bool isSingle = type.getElementType().isF32();
  if (!isSingle)
    c = arith::ExtFOp::create(builder, type.clone(builder.getF32Type()), c);
  Value a = tiles.product(sides->a), b = tiles.product(sides->b);
  Value d = DotOp::create(builder, c.getType(), a, b, c);
  if (!isSingle)
    d = arith::TruncFOp::create(builder, type, d);
  op.replaceAllUsesWith(d);
  op.erase();
  return success();
}

namespace {

struct ExpandDotScaledPass : heddle::impl::ExpandDotScaledPassBase<ExpandDotScaledPass> {
  void runOnOperation() override {
    SmallVector<DotScaledOp> work;
    getOperation()->walk([&](DotScaledOp op) { work.push_back(op); });
    for (DotScaledOp op : work)
      if (failed(expand(op)))
        return signalPassFailure();
  }
};

} // namespace
