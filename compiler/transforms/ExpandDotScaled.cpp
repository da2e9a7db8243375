// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-expand-dot-scaled: a block-scaled matrix product becomes a product of f32 tiles. Elements and scales convert
// to f32 exactly, and so does their product unless it leaves the range of f32. Formats: OCP Microscaling (MX) 1.0.
#include "compiler/dialects/triton/Triton.h"
#include "compiler/transforms/Passes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace heddle {
#define GEN_PASS_DEF_EXPANDDOTSCALEDPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle::triton;

namespace {

/// One side of the product.
struct Operand {
  Value tile, scale; ///< `scale` may be null
  ScaleDotElemType format;
  int64_t packedAxis, sumAxis; ///< the axis along which e2m1 is packed, and that of K
  const char *name;
};

class Expander {
public:
  Expander(DotScaledOp op) : op(op), builder(op.getLoc(), op) {}

  LogicalResult run() {
    int64_t last = cast<RankedTensorType>(op.getA().getType()).getRank() - 1;
    Operand a = {op.getA(), op.getAScale(), op.getAElemType(), op.getLhsKPack() ? last : last - 1, last, "lhs"};
    Operand b = {op.getB(), op.getBScale(), op.getBElemType(), op.getRhsKPack() ? last - 1 : last, last - 1, "rhs"};
    for (const Operand &operand : {a, b})
      if (failed(check(operand)))
        return failure();
    Value c = op.getC();
    auto type = cast<RankedTensorType>(c.getType());
    bool isSingle = type.getElementType().isF32();
    if (!isSingle)
      c = arith::ExtFOp::create(builder, single(c), c);
    Value d = DotOp::create(builder, c.getType(), scaled(a), scaled(b), c);
    if (!isSingle)
      d = arith::TruncFOp::create(builder, type, d);
    op.replaceAllUsesWith(d);
    op.erase();
    return success();
  }

private:
  LogicalResult check(const Operand &operand) {
    if (operand.format == ScaleDotElemType::E2M3 || operand.format == ScaleDotElemType::E3M2)
      return op.emitError() << operand.name << " element format `" << stringifyScaleDotElemType(operand.format)
                            << "` is not supported";
    if (cast<RankedTensorType>(op.getC().getType()).getElementType().getIntOrFloatBitWidth() > 32)
      return op.emitError("a scaled product is formed in f32, but the accumulator is of ")
             << elementTypeOf(op.getC().getType());
    if (!operand.scale)
      return success();
    auto tile = cast<RankedTensorType>(operand.tile.getType()), scale = cast<RankedTensorType>(operand.scale.getType());
    bool isPackedAlongSum = operand.format == ScaleDotElemType::E2M1 && operand.packedAxis == operand.sumAxis;
    int64_t elements = tile.getDimSize(operand.sumAxis) * (isPackedAlongSum ? 2 : 1);
    int64_t scales = scale.getShape().back();
    if (scale.getRank() == tile.getRank() && scales != 0 && elements % scales == 0)
      return success();
    return op.emitError() << operand.name << " has " << elements << " elements along K, which its " << scales
                          << " scales do not divide";
  }

  Type like(Value tile, Type element) { return cast<RankedTensorType>(tile.getType()).clone(element); }
  Type single(Value tile) { return like(tile, builder.getF32Type()); }

  Value integers(Value like, int64_t value) {
    auto type = cast<RankedTensorType>(like.getType());
    return arith::ConstantOp::create(
        builder, DenseElementsAttr::get(type, builder.getIntegerAttr(type.getElementType(), value)));
  }

  Value reshape(Value tile, ArrayRef<int64_t> shape) {
    auto type = RankedTensorType::get(shape, elementTypeOf(tile.getType()));
    return ReshapeOp::create(builder, type, tile, false, false);
  }

  // Exchanges two neighbouring axes.
  Value exchange(Value tile, int64_t axis) {
    auto type = cast<RankedTensorType>(tile.getType());
    SmallVector<int64_t> shape(type.getShape());
    SmallVector<int32_t> order = llvm::to_vector(llvm::seq<int32_t>(0, type.getRank()));
    std::swap(shape[axis], shape[axis + 1]);
    std::swap(order[axis], order[axis + 1]);
    return TransOp::create(builder, type.clone(shape), tile, order);
  }

  // Four bits, sign, two of exponent (bias 1), one of mantissa: the magnitudes 0, 0.5, 1, 1.5, 2, 3, 4, 6, formed as
  // twice their value in integers.
  Value fromE2M1(Value nibbles) {
    Value one = integers(nibbles, 1);
    Value mantissa = arith::AndIOp::create(builder, nibbles, one);
    Value exponent =
        arith::AndIOp::create(builder, arith::ShRUIOp::create(builder, nibbles, one), integers(nibbles, 3));
    Value implicit = arith::MinUIOp::create(builder, exponent, one); // 0 for a denormal
    Value digits = arith::OrIOp::create(builder, mantissa, arith::ShLIOp::create(builder, implicit, one));
    Value twice = arith::ShLIOp::create(builder, digits, arith::SubIOp::create(builder, exponent, implicit));
    Value magnitude = arith::UIToFPOp::create(builder, single(nibbles), twice);
    Value isNegative =
        arith::CmpIOp::create(builder, arith::CmpIPredicate::ne,
                              arith::AndIOp::create(builder, nibbles, integers(nibbles, 8)), integers(nibbles, 0));
    auto number = [&](float value) {
      return arith::ConstantOp::create(
          builder, DenseElementsAttr::get(cast<RankedTensorType>(single(nibbles)), builder.getF32FloatAttr(value)));
    };
    Value unit = arith::SelectOp::create(builder, isNegative, number(-0.5f), number(0.5f));
    return arith::MulFOp::create(builder, magnitude, unit);
  }

  // Two values a byte, the lower half first.
  Value unpack(Value bytes, int64_t axis) {
    auto type = cast<RankedTensorType>(bytes.getType());
    Value wide = arith::ExtUIOp::create(builder, like(bytes, builder.getI32Type()), bytes);
    Value first = fromE2M1(arith::AndIOp::create(builder, wide, integers(wide, 15)));
    Value second = fromE2M1(arith::ShRUIOp::create(builder, wide, integers(wide, 4)));
    SmallVector<int64_t> joined(type.getShape());
    joined.push_back(2);
    Value tile = JoinOp::create(builder, RankedTensorType::get(joined, builder.getF32Type()), first, second);
    if (axis != type.getRank() - 1)
      tile = exchange(tile, type.getRank() - 1);
    SmallVector<int64_t> shape(type.getShape());
    shape[axis] *= 2;
    return reshape(tile, shape);
  }

  Value elements(const Operand &operand) {
    Value tile = operand.tile;
    switch (operand.format) {
    case ScaleDotElemType::E2M1:
      return unpack(tile, operand.packedAxis);
    case ScaleDotElemType::BF16:
    case ScaleDotElemType::FP16:
      return arith::ExtFOp::create(builder, single(tile), tile);
    default:
      break;
    }
    if (elementTypeOf(tile.getType()).isInteger(8)) { // raw bytes
      Type element = operand.format == ScaleDotElemType::E4M3 ? Type(Float8E4M3FNType::get(op.getContext()))
                                                              : Type(Float8E5M2Type::get(op.getContext()));
      tile = BitcastOp::create(builder, like(tile, element), tile);
    }
    return FpToFpOp::create(builder, single(tile), tile, RoundingModeAttr());
  }

  // Scales of format E8M0 are the exponent of an f32: 2^(s - 127), where 0 is the denormal 2^-127 and 255 is NaN.
  Value scaleNumbers(Value scale) {
    if (isa<FloatType>(elementTypeOf(scale.getType())))
      return FpToFpOp::create(builder, single(scale), scale, RoundingModeAttr());
    Value exponent = arith::ExtUIOp::create(builder, like(scale, builder.getI32Type()), scale);
    Value bits = arith::ShLIOp::create(builder, exponent, integers(exponent, 23));
    auto replace = [&](int64_t special, int64_t by) {
      Value found = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, exponent, integers(exponent, special));
      bits = arith::SelectOp::create(builder, found, integers(exponent, by), bits);
    };
    replace(0, 0x00400000);
    replace(255, 0x7fc00000);
    return arith::BitcastOp::create(builder, single(bits), bits);
  }

  // Scales lie as (rows, groups along K) for both sides: repeated to (rows, K), and exchanged for the right side.
  Value scaled(const Operand &operand) {
    Value tile = elements(operand);
    if (!operand.scale)
      return tile;
    Value scale = scaleNumbers(operand.scale);
    auto groups = cast<RankedTensorType>(scale.getType());
    int64_t rank = groups.getRank(), sum = cast<RankedTensorType>(tile.getType()).getDimSize(operand.sumAxis);
    SmallVector<int64_t> shape(groups.getShape());
    shape.push_back(1);
    scale = ExpandDimsOp::create(builder, RankedTensorType::get(shape, groups.getElementType()), scale, rank);
    shape.back() = sum / shape[rank - 1];
    scale = BroadcastOp::create(builder, RankedTensorType::get(shape, groups.getElementType()), scale);
    shape.pop_back();
    shape.back() = sum;
    scale = reshape(scale, shape);
    if (operand.sumAxis != rank - 1)
      scale = exchange(scale, rank - 2);
    return arith::MulFOp::create(builder, tile, scale);
  }

  DotScaledOp op;
  ImplicitLocOpBuilder builder;
};

struct ExpandDotScaledPass : heddle::impl::ExpandDotScaledPassBase<ExpandDotScaledPass> {
  void runOnOperation() override {
    SmallVector<DotScaledOp> work;
    getOperation()->walk([&](DotScaledOp op) { work.push_back(op); });
    for (DotScaledOp op : work)
      if (failed(Expander(op).run()))
        return signalPassFailure();
  }
};

} // namespace
