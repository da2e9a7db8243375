// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-expand-dot-scaled: a block-scaled matrix product becomes a product of tiles of bf16 or of f32.
#include "compiler/transforms/FloatParts.h"
#include "compiler/transforms/Passes.h"
#include "compiler/transforms/ScaledTiles.h"

namespace heddle {
#define GEN_PASS_DEF_EXPANDDOTSCALEDPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle::triton;

static LogicalResult expand(DotScaledOp op, bool asBf16) {
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
  asBf16 &= heddle::ScaledTiles::fitsBf16(sides->a) && heddle::ScaledTiles::fitsBf16(sides->b);
  Value d;
  if (asBf16) {
    SmallVector<Value, 3> a = tiles.partsInBf16(sides->a), b = tiles.partsInBf16(sides->b);
    d = heddle::multiplyParts(builder, a, b, c, a.size() + b.size() - 2);
  } else {
    Value a = tiles.product(sides->a), b = tiles.product(sides->b);
    d = DotOp::create(builder, c.getType(), a, b, c);
  }
  if (!isSingle)
    d = arith::TruncFOp::create(builder, type, d);
  op.replaceAllUsesWith(d);
  op.erase();
  return success();
}

/// Whether matrix instructions with scales multiply so.
static bool isOfBlocks(DotScaledOp op) {
  auto isMx = [](ScaleDotElemType format) {
    return format == ScaleDotElemType::E4M3 || format == ScaleDotElemType::E5M2 || format == ScaleDotElemType::E2M1;
  };
  auto d = cast<RankedTensorType>(op.getType()), a = cast<RankedTensorType>(op.getA().getType());
  ArrayRef<int64_t> results = d.getShape().take_back(2);
  int64_t k = a.getShape().back() * (op.getAElemType() == ScaleDotElemType::E2M1 ? 2 : 1);
  auto isPower = [&](Value scale) { // one for 32 elements
    auto type = scale ? cast<RankedTensorType>(scale.getType()) : RankedTensorType();
    return !type || (type.getElementType().isInteger(8) && type.getShape().back() * 32 == k);
  };
  auto divides = [&](int64_t size, int64_t depth) {
    return results[0] % size == 0 && results[1] % size == 0 && k % depth == 0;
  };
  return isMx(op.getAElemType()) && isMx(op.getBElemType()) && isPower(op.getAScale()) && isPower(op.getBScale()) &&
         op.getLhsKPack() && op.getRhsKPack() && d.getElementType().isF32() && (divides(16, 128) || divides(32, 64));
}

namespace {

struct ExpandDotScaledPass : heddle::impl::ExpandDotScaledPassBase<ExpandDotScaledPass> {
  using ExpandDotScaledPassBase::ExpandDotScaledPassBase;
  void runOnOperation() override {
    SmallVector<DotScaledOp> work;
    getOperation()->walk([&](DotScaledOp op) { work.push_back(op); });
    for (DotScaledOp op : work)
      if (!(keepBlocks && isOfBlocks(op)) && failed(expand(op, asBf16)))
        return signalPassFailure();
  }
};

} // namespace
