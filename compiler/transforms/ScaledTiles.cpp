// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decodes formats and scales by shifts, masks and multiplications of tiles, the same for every target.
#include "compiler/transforms/ScaledTiles.h"
#include "compiler/transforms/FloatParts.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::triton;

static RankedTensorType tileType(Value tile) {
  return cast<RankedTensorType>(tile.getType());
}

//===-- Shapes of tiles without layouts --------------------------------------------------------------------------===//

Value TileShapes::join(Builder &b, Value first, Value second) const {
  SmallVector<int64_t> shape(tileType(first).getShape());
  shape.push_back(2);
  return JoinOp::create(b, tileType(first).clone(shape), first, second);
}

RankedTensorType TileShapes::exchanged(RankedTensorType tile, int64_t axis) const {
  SmallVector<int64_t> shape(tile.getShape());
  std::swap(shape[axis], shape[axis + 1]);
  return tile.clone(shape);
}

Value TileShapes::exchange(Builder &b, Value tile, int64_t axis) const {
  SmallVector<int32_t> order = llvm::to_vector(llvm::seq<int32_t>(0, tileType(tile).getRank()));
  std::swap(order[axis], order[axis + 1]);
  return TransOp::create(b, exchanged(tileType(tile), axis), tile, order);
}

Value TileShapes::reshape(Builder &b, Value tile, ArrayRef<int64_t> shape) const {
  return ReshapeOp::create(b, tileType(tile).clone(shape), tile, false, false);
}

Value TileShapes::repeat(Builder &b, Value tile, int64_t axis, RankedTensorType wanted) const {
  SmallVector<int64_t> shape(tileType(tile).getShape());
  int64_t times = wanted.getDimSize(axis) / shape[axis];
  shape.insert(shape.begin() + axis + 1, 1);
  tile = ExpandDimsOp::create(b, wanted.clone(shape), tile, axis + 1);
  shape[axis + 1] = times;
  tile = BroadcastOp::create(b, wanted.clone(shape), tile);
  return reshape(b, tile, wanted.getShape());
}

//===-- Numbers --------------------------------------------------------------------------------------------------===//

Type ScaledTiles::single(Value tile) {
  return tileType(tile).clone(builder.getF32Type());
}

Value ScaledTiles::integers(Value like, int64_t value) {
  RankedTensorType type = tileType(like);
  return arith::ConstantOp::create(builder,
                                   DenseElementsAttr::get(type, builder.getIntegerAttr(type.getElementType(), value)));
}

// Four bits, sign, two of exponent (bias 1), one of mantissa: as the sign and the upper bits of exponent and mantissa
// of an f16, whose bias is 15, they are the number by 2^14. That holds for 0.5 too, which is subnormal in both formats.
Value ScaledTiles::fromE2M1(Value nibbles) {
  auto bits = [&](int64_t mask, int64_t by) -> Value {
    Value some = arith::AndIOp::create(builder, nibbles, integers(nibbles, mask));
    return arith::ShLIOp::create(builder, some, integers(some, by));
  };
  RankedTensorType type = tileType(nibbles);
  Value half = arith::OrIOp::create(builder, bits(7, 9), bits(8, 12));
  half = arith::TruncIOp::create(builder, type.clone(builder.getI16Type()), half);
  half = arith::BitcastOp::create(builder, type.clone(builder.getF16Type()), half);
  Value small = arith::ExtFOp::create(builder, single(nibbles), half);
  Value factor = arith::ConstantOp::create(
      builder, DenseElementsAttr::get(cast<RankedTensorType>(single(nibbles)), builder.getF32FloatAttr(16384)));
  return arith::MulFOp::create(builder, small, factor);
}

// The codes of one sign count up: 0, 0.5, 1, 1.5, 2, 3, 4, 6. A number's code is how many of the midpoints lie below
// it; one that is a midpoint itself goes to the even code. Comparisons that are true of NaN count it as the largest.
Value ScaledTiles::toE2M1(Value values) {
  RankedTensorType type = tileType(values), word = type.clone(builder.getI32Type());
  Value bits = arith::BitcastOp::create(builder, word, values);
  Value size = arith::AndIOp::create(builder, bits, integers(bits, 0x7fffffff));
  Value code =
      arith::AndIOp::create(builder, arith::ShRUIOp::create(builder, bits, integers(bits, 28)), integers(bits, 8));
  size = arith::BitcastOp::create(builder, type, size);
  bool isEvenBelow = true;
  for (float midpoint : {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f}) {
    Value limit = arith::ConstantOp::create(builder, DenseElementsAttr::get(type, builder.getF32FloatAttr(midpoint)));
    auto order = isEvenBelow ? arith::CmpFPredicate::UGT : arith::CmpFPredicate::UGE;
    Value above = arith::CmpFOp::create(builder, order, size, limit);
    code = arith::AddIOp::create(builder, code, Value(arith::ExtUIOp::create(builder, word, above)));
    isEvenBelow = !isEvenBelow;
  }
  return arith::TruncIOp::create(builder, type.clone(builder.getI8Type()), code);
}

Value ScaledTiles::unpack(Value bytes, int64_t axis) {
  RankedTensorType type = tileType(bytes);
  Value wide = arith::ExtUIOp::create(builder, type.clone(builder.getI32Type()), bytes);
  Value first = fromE2M1(arith::AndIOp::create(builder, wide, integers(wide, 15)));
  Value second = fromE2M1(arith::ShRUIOp::create(builder, wide, integers(wide, 4)));
  Value tile = shapes.join(builder, first, second);
  for (int64_t last = type.getRank() - 1; last > axis; --last)
    tile = shapes.exchange(builder, tile, last);
  SmallVector<int64_t> shape(type.getShape());
  shape[axis] *= 2;
  return shapes.reshape(builder, tile, shape);
}

Value ScaledTiles::elements(const ScaledTile &side) {
  Value tile = side.tile;
  switch (side.format) {
  case ScaleDotElemType::E2M1:
    return unpack(tile, side.packedAxis);
  case ScaleDotElemType::BF16:
  case ScaleDotElemType::FP16:
    return arith::ExtFOp::create(builder, single(tile), tile);
  default:
    break;
  }
  if (elementTypeOf(tile.getType()).isInteger(8)) { // raw bytes
    MLIRContext *context = builder.getContext();
    Type element = side.format == ScaleDotElemType::E4M3 ? Type(Float8E4M3FNType::get(context))
                                                         : Type(Float8E5M2Type::get(context));
    tile = BitcastOp::create(builder, tileType(tile).clone(element), tile);
  }
  return FpToFpOp::create(builder, single(tile), tile, RoundingModeAttr());
}

// Scales of format E8M0 are the exponent of an f32: 2^(s - 127), where 0 is the denormal 2^-127 and 255 is NaN.
Value ScaledTiles::scales(Value scale) {
  if (isa<FloatType>(elementTypeOf(scale.getType())))
    return FpToFpOp::create(builder, single(scale), scale, RoundingModeAttr());
  Value exponent = arith::ExtUIOp::create(builder, tileType(scale).clone(builder.getI32Type()), scale);
  Value bits = arith::ShLIOp::create(builder, exponent, integers(exponent, 23));
  auto replace = [&](int64_t special, int64_t by) {
    Value found = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, exponent, integers(exponent, special));
    bits = arith::SelectOp::create(builder, found, integers(exponent, by), bits);
  };
  replace(0, 0x00400000);
  replace(255, 0x7fc00000);
  return arith::BitcastOp::create(builder, single(bits), bits);
}

// Repeated to (rows, K), and exchanged for the right side.
Value ScaledTiles::product(const ScaledTile &side) {
  Value tile = elements(side);
  if (!side.scale)
    return tile;
  int64_t last = tileType(tile).getRank() - 1;
  bool isRight = side.sumAxis != last;
  RankedTensorType wanted = isRight ? shapes.exchanged(tileType(tile), last - 1) : tileType(tile);
  Value scale = shapes.repeat(builder, scales(side.scale), last, wanted);
  if (isRight)
    scale = shapes.exchange(builder, scale, last - 1);
  return arith::MulFOp::create(builder, tile, scale);
}

//===-- In bf16 --------------------------------------------------------------------------------------------------===//

bool ScaledTiles::fitsBf16(const ScaledTile &side) {
  Type scale = side.scale ? elementTypeOf(side.scale.getType()) : Type();
  bool isPower = !scale || scale.isInteger(8);
  if (side.format == ScaleDotElemType::BF16 || side.format == ScaleDotElemType::FP16)
    return isPower;
  return isPower || scale.getIntOrFloatBitWidth() == 8;
}

SmallVector<Value, 3> ScaledTiles::partsInBf16(const ScaledTile &side) {
  if (side.format == ScaleDotElemType::BF16 && !side.scale)
    return {side.tile};
  return heddle::partsInBf16(builder, product(side), side.format == ScaleDotElemType::FP16 ? 2 : 1);
}

//===-- Sides of a product ---------------------------------------------------------------------------------------===//

static LogicalResult check(DotScaledOp op, const ScaledTile &side, const char *name) {
  if (side.format == ScaleDotElemType::E2M3 || side.format == ScaleDotElemType::E3M2)
    return op->emitError() << name << " element format `" << stringifyScaleDotElemType(side.format)
                           << "` is not supported";
  if (elementTypeOf(op.getC().getType()).getIntOrFloatBitWidth() > 32)
    return op->emitError("a scaled product is formed in f32, but the accumulator is of ")
           << elementTypeOf(op.getC().getType());
  if (!side.scale)
    return success();
  RankedTensorType tile = tileType(side.tile), scale = tileType(side.scale);
  bool isPackedAlongSum = side.format == ScaleDotElemType::E2M1 && side.packedAxis == side.sumAxis;
  int64_t elements = tile.getDimSize(side.sumAxis) * (isPackedAlongSum ? 2 : 1);
  int64_t scales = scale.getShape().back();
  if (scale.getRank() == tile.getRank() && scales != 0 && elements % scales == 0)
    return success();
  return op->emitError() << name << " has " << elements << " elements along K, which its " << scales
                         << " scales do not divide";
}

FailureOr<ScaledSides> heddle::sidesOf(DotScaledOp op) {
  int64_t last = tileType(op.getA()).getRank() - 1;
  ScaledSides sides{{op.getA(), op.getAScale(), op.getAElemType(), op.getLhsKPack() ? last : last - 1, last},
                    {op.getB(), op.getBScale(), op.getBElemType(), op.getRhsKPack() ? last - 1 : last, last - 1}};
  if (failed(check(op, sides.a, "lhs")) || failed(check(op, sides.b, "rhs")))
    return failure();
  return sides;
}
