// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Splits f32 into leading and trailing parts of tf32 or bf16, and sums the products of parts from small to large.
#include "compiler/transforms/FloatParts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace heddle;
using namespace heddle::triton;

static RankedTensorType tileType(Value tile) {
  return cast<RankedTensorType>(tile.getType());
}

static Value integers(ImplicitLocOpBuilder &builder, Value like, int64_t value) {
  RankedTensorType type = tileType(like);
  Attribute each = builder.getIntegerAttr(type.getElementType(), value);
  return arith::ConstantOp::create(builder, DenseElementsAttr::get(type, each));
}

static Value bitsOf(ImplicitLocOpBuilder &builder, Value tile) {
  return arith::BitcastOp::create(builder, tileType(tile).clone(builder.getI32Type()), tile);
}

// What `part` lacks. Beside an infinity the difference would be NaN.
static Value restOf(ImplicitLocOpBuilder &builder, Value tile, Value part) {
  auto all = [&](float value) -> Value {
    return arith::ConstantOp::create(builder, DenseElementsAttr::get(tileType(tile), builder.getF32FloatAttr(value)));
  };
  Value rest = arith::SubFOp::create(builder, tile, part);
  Value isInfinite = arith::CmpFOp::create(builder, arith::CmpFPredicate::OEQ, math::AbsFOp::create(builder, tile),
                                           all(std::numeric_limits<float>::infinity()));
  return arith::SelectOp::create(builder, isInfinite, all(0), rest);
}

// A NaN whose payload lies in the bits that are cut off would become an infinity.
static Value quieted(ImplicitLocOpBuilder &builder, Value tile) {
  Value bits = bitsOf(builder, tile);
  Value quiet = arith::OrIOp::create(builder, bits, integers(builder, bits, 0x00400000));
  Value isNan = arith::CmpFOp::create(builder, arith::CmpFPredicate::UNO, tile, tile);
  return arith::BitcastOp::create(builder, tile.getType(), Value(arith::SelectOp::create(builder, isNan, quiet, bits)));
}

// The upper half of the bits is a bf16, rounded towards zero.
SmallVector<Value, 3> heddle::partsInBf16(ImplicitLocOpBuilder &builder, Value tile, int count) {
  RankedTensorType type = tileType(tile);
  SmallVector<Value, 3> parts;
  if (count > 1) // others are loaded in fewer bits
    tile = quieted(builder, tile);
  while (true) {
    Value bits = bitsOf(builder, tile);
    Value upper = arith::ShRUIOp::create(builder, bits, integers(builder, bits, 16));
    upper = arith::TruncIOp::create(builder, type.clone(builder.getI16Type()), upper);
    parts.push_back(arith::BitcastOp::create(builder, type.clone(builder.getBF16Type()), upper));
    if (int(parts.size()) == count)
      return parts;
    tile = restOf(builder, tile, arith::ExtFOp::create(builder, type, parts.back()));
  }
}

SmallVector<Value, 3> heddle::partsForTf32(ImplicitLocOpBuilder &builder, Value tile) {
  tile = quieted(builder, tile);
  Value bits = bitsOf(builder, tile);
  bits = arith::AndIOp::create(builder, bits, integers(builder, bits, int32_t(0xffffe000)));
  Value upper = arith::BitcastOp::create(builder, tile.getType(), bits);
  return {upper, restOf(builder, tile, upper)};
}

// An infinity times a part that is 0 is NaN. Then the product of the first parts says what the sum is.
Value heddle::multiplyParts(ImplicitLocOpBuilder &builder, ArrayRef<Value> a, ArrayRef<Value> b, Value sum,
                            size_t least, InputPrecision precision) {
  Type type = sum.getType();
  Value zero, small;
  for (size_t number = least; number > 0; --number)
    for (size_t left = 0; left < a.size(); ++left)
      if (left <= number && number - left < b.size()) {
        if (!small)
          small = zero = arith::ConstantOp::create(builder, builder.getZeroAttr(type));
        small = DotOp::create(builder, type, a[left], b[number - left], small, precision);
      }
  if (small) {
    Value isNan = arith::CmpFOp::create(builder, arith::CmpFPredicate::UNO, small, small);
    sum = arith::AddFOp::create(builder, sum, arith::SelectOp::create(builder, isNan, zero, small));
  }
  return DotOp::create(builder, type, a[0], b[0], sum, precision);
}
