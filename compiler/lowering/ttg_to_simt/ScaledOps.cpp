// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Chooses between the chip's scaled instruction and arithmetic, and keeps the layouts that the text gives.
#include "compiler/lowering/ttg_to_simt/ScaledOps.h"
#include "compiler/layout/Axes.h"
#include "compiler/transforms/ScaledTiles.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using layout::LinearLayout;
namespace tt = heddle::triton;
namespace ttg = heddle::triton::gpu;
namespace amdg = heddle::triton::amdg;
using tt::ScaleDotElemType;

namespace {

RankedTensorType tileType(Value tile) {
  return cast<RankedTensorType>(tile.getType());
}

layout::Shape shapeOf(ArrayRef<int64_t> numbers) {
  return {numbers.begin(), numbers.end()};
}

Value inLayout(ImplicitLocOpBuilder &b, Value tile, const LinearLayout &layout) {
  if (layoutOf(tile.getType()) == layout)
    return tile;
  return ConvertLayoutOp::create(b, withLayout(tileType(tile), layout), tile);
}

/// Each result has the layout that follows from its operand's, in the same registers.
class ShapesWithLayouts : public TileShapes {
public:
  Value join(Builder &b, Value first, Value second) const override {
    SmallVector<int64_t> shape(tileType(first).getShape());
    shape.push_back(2);
    return tt::JoinOp::create(b, typeOf(first, shape, layout::joinTiles(layoutOf(first.getType()))), first, second);
  }
  RankedTensorType exchanged(RankedTensorType tile, int64_t axis) const override {
    RankedTensorType plain = TileShapes::exchanged(tile.cloneWithEncoding({}), axis);
    layout::Order order;
    for (int64_t each = 0; each < tile.getRank(); ++each)
      order.push_back(int(each));
    std::swap(order[size_t(axis)], order[size_t(axis + 1)]);
    return withLayout(plain, layout::permuteAxes(layoutOf(tile), order));
  }
  Value reshape(Builder &b, Value tile, ArrayRef<int64_t> shape) const override {
    RankedTensorType type = typeOf(tile, shape, layout::reshape(layoutOf(tile.getType()), shapeOf(shape)));
    return tt::ReshapeOp::create(b, type, tile, false, false);
  }
  // From the end: where the elements are wanted says where those are that are repeated.
  Value repeat(Builder &b, Value tile, int64_t axis, RankedTensorType wanted) const override {
    SmallVector<int64_t> shape(tileType(tile).getShape());
    int64_t times = wanted.getDimSize(axis) / shape[size_t(axis)];
    if (times == 1)
      return inLayout(b, tile, layoutOf(wanted));
    shape.insert(shape.begin() + axis + 1, times);
    LinearLayout repeated = layout::reshape(layoutOf(wanted), shapeOf(shape));
    LinearLayout single = layout::flattenAxis(repeated, int(axis + 1));
    tile = inLayout(b, tile, layout::slice(single, int(axis + 1)));
    RankedTensorType all = typeOf(tile, shape, repeated);
    shape[size_t(axis + 1)] = 1;
    tile = tt::ExpandDimsOp::create(b, typeOf(tile, shape, single), tile, axis + 1);
    return reshape(b, tt::BroadcastOp::create(b, all, tile), wanted.getShape());
  }

private:
  static RankedTensorType typeOf(Value tile, ArrayRef<int64_t> shape, const LinearLayout &layout) {
    return withLayout(RankedTensorType::get(shape, tileType(tile).getElementType()), layout);
  }
};

LogicalResult replace(Operation *op, Value by) {
  op->getResult(0).replaceAllUsesWith(by);
  op->erase();
  return success();
}

} // namespace

//===-- Matmuls --------------------------------------------------------------------------------------------------===//

/// Why no instruction with scales multiplies so; empty where one does.
static std::string whyNotScaled(tt::DotScaledOp op, MatrixAttr instruction, const GpuTarget &target) {
  for (ScaleDotElemType format : {op.getAElemType(), op.getBElemType()})
    if (format != ScaleDotElemType::E4M3 && format != ScaleDotElemType::E5M2 && format != ScaleDotElemType::E2M1)
      return ("matrix instructions with scales take e4m3, e5m2 and e2m1, not " + tt::stringifyScaleDotElemType(format))
          .str();
  if (!op.getLhsKPack() || !op.getRhsKPack())
    return "matrix instructions take e2m1 that are packed along K";
  int64_t k = tileType(op.getA()).getShape().back() * (op.getAElemType() == ScaleDotElemType::E2M1 ? 2 : 1);
  for (Value scale : {op.getAScale(), op.getBScale()})
    if (scale && (!tileType(scale).getElementType().isInteger(8) || tileType(scale).getShape().back() * 32 != k))
      return "matrix instructions take scales of E8M0, one for 32 elements";
  if (!tileType(op.getC()).getElementType().isF32())
    return "matrix instructions with scales add to f32";
  if (!instruction)
    return "the layout of the result is not that of a matrix instruction with scales";
  std::string why;
  if (!target.scaledInstruction(instruction, why))
    return why;
  int64_t m = instruction.getM(), n = instruction.getN(), depth = instruction.getK();
  ArrayRef<int64_t> results = tileType(op.getC()).getShape().take_back(2);
  if (results[0] % m || results[1] % n || k % depth)
    return llvm::formatv("{0}x{1}x{2} is no multiple of the instruction's {3}x{4}x{5}", results[0], results[1], k, m, n,
                         depth);
  return "";
}

namespace {
/// A matmul whose result is that of a matrix instruction of AMD's chips.
struct MfmaDot {
  tt::DotScaledOp op;
  ttg::AmdMfmaAttr mfma;
  MatrixAttr instruction;

  LinearLayout operand(Value tile, int number, int64_t kWidth) const {
    return layout::mfmaOperand(shapeOf(tileType(tile).getShape()), shapeOf(mfma.getWarpsPerCTA()), number, kWidth,
                               instruction.getM(), instruction.getN(), shapeOf(mfma.getTilesPerWarp()));
  }
  LinearLayout scale(Value tile, int number) const {
    return layout::mfmaScale(shapeOf(tileType(tile).getShape()), shapeOf(mfma.getWarpsPerCTA()), number,
                             instruction.getM(), shapeOf(mfma.getTilesPerWarp()));
  }
};
} // namespace

static LogicalResult convertToInstruction(const MfmaDot &dot, ImplicitLocOpBuilder &b) {
  tt::DotScaledOp op = dot.op;
  auto results = cast<RankedTensorType>(op.getType());
  auto fit = [&](Value tile, MatrixSide side, bool isScale) -> Value {
    if (!tile || liesForInstruction(dot.instruction, tileType(tile), results, side, isScale))
      return tile;
    int number = side == MatrixSide::A ? 0 : 1;
    return inLayout(b, tile, isScale ? dot.scale(tile, number) : dot.operand(tile, number, scaledRunBytes));
  };
  Value c = inLayout(b, op.getC(), layoutOf(results));
  auto made =
      ScaledDotOp::create(b, results, fit(op.getA(), MatrixSide::A, false), fit(op.getB(), MatrixSide::B, false), c,
                          fit(op.getAScale(), MatrixSide::A, true), fit(op.getBScale(), MatrixSide::B, true),
                          op.getAElemType(), op.getBElemType(), dot.instruction);
  return replace(op, made.getD());
}

// By the instruction for f32 whose results lie as those of the text, or element by element.
static LogicalResult multiplyAsF32(const MfmaDot &dot, const GpuTarget &target, const std::string &reason,
                                   ImplicitLocOpBuilder &b) {
  tt::DotScaledOp op = dot.op;
  FailureOr<ScaledSides> sides = sidesOf(op);
  if (failed(sides))
    return failure();
  op.emitWarning() << "`tt.dot_scaled` is multiplied as f32: " << reason;
  ShapesWithLayouts shapes;
  ScaledTiles tiles(b, shapes);
  auto results = cast<RankedTensorType>(op.getType());
  auto wide = cast<RankedTensorType>(results.clone(b.getF32Type()));
  Value c = inLayout(b, op.getC(), layoutOf(results)), left = tiles.product(sides->a), right = tiles.product(sides->b);
  if (wide != results)
    c = arith::ExtFOp::create(b, wide, c);
  auto made = MatrixDotOp::create(b, wide, left, right, c, MatrixAttr(), tt::InputPrecision::IEEE);
  std::string why;
  for (int64_t k = 1; dot.instruction && k <= 16; k *= 2) {
    MatrixAttr wanted = MatrixAttr::get(b.getContext(), dot.instruction.getM(), dot.instruction.getN(), k,
                                        dot.instruction.getTransposed(), Type());
    made.setInstructionAttr(wanted);
    if (std::optional<MatrixInstruction> found = target.findInstruction(made, why)) {
      b.setInsertionPoint(made);
      made.getAMutable().assign(inLayout(b, left, dot.operand(left, 0, found->kPerLane)));
      made.getBMutable().assign(inLayout(b, right, dot.operand(right, 1, found->kPerLane)));
      break;
    }
    made.removeInstructionAttr();
  }
  b.setInsertionPointAfter(made);
  Value d = wide == results ? made.getD() : Value(arith::TruncFOp::create(b, results, made.getD()));
  return replace(op, d);
}

LogicalResult simt::convertScaledDot(tt::DotScaledOp op, Attribute encoding, const GpuTarget &target) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  MfmaDot dot{op, dyn_cast<ttg::AmdMfmaAttr>(encoding), MatrixAttr()};
  if (dot.mfma && dot.mfma.getInstrShape()[0] == dot.mfma.getInstrShape()[1]) {
    ArrayRef<int64_t> size = dot.mfma.getInstrShape();
    dot.instruction = MatrixAttr::get(op.getContext(), size[0], size[1], size[2], dot.mfma.getIsTransposed(), Type());
  }
  std::string why = whyNotScaled(op, dot.instruction, target);
  if (why.empty())
    return convertToInstruction(dot, b);
  return multiplyAsF32(dot, target, why, b);
}

//===-- Conversions ----------------------------------------------------------------------------------------------===//

/// Scales of bf16 are powers of two: E8M0 is their exponent, of which 0 is 2^-127 and the highest NaN.
static Value asE8M0(ImplicitLocOpBuilder &b, Value scale) {
  RankedTensorType type = tileType(scale);
  if (!type.getElementType().isBF16())
    return scale;
  auto word = cast<RankedTensorType>(type.clone(b.getI16Type()));
  Value seven = arith::ConstantOp::create(b, DenseElementsAttr::get(word, b.getI16IntegerAttr(7)));
  Value shifted = arith::ShRUIOp::create(b, arith::BitcastOp::create(b, word, scale), seven);
  return arith::TruncIOp::create(b, type.clone(b.getI8Type()), shifted);
}

/// `values` (f32) times `scale`, which may be null, as the result of `op`.
static LogicalResult finishUpcast(Operation *op, ImplicitLocOpBuilder &b, Value values, Value scale, int64_t axis) {
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  values = inLayout(b, values, layoutOf(result));
  ShapesWithLayouts shapes;
  if (scale) {
    scale = shapes.repeat(b, ScaledTiles(b, shapes).scales(asE8M0(b, scale)), axis, tileType(values));
    values = arith::MulFOp::create(b, values, scale);
  }
  if (!result.getElementType().isF32())
    values = arith::TruncFOp::create(b, result, values);
  return replace(op, values);
}

/// Of a tile with `shape` elements: a scale for as many elements along `axis` each.
static LogicalResult checkUpcast(Operation *op, ArrayRef<int64_t> shape, Value scale, int64_t axis) {
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  Type element = result.getElementType();
  if (result.getShape() != shape || !(element.isF16() || element.isBF16() || element.isF32()))
    return op->emitOpError() << "makes " << result << " of " << op->getOperand(0).getType()
                             << ": the result is of f16, bf16 or f32, and has each element once";
  if (!scale)
    return success();
  SmallVector<int64_t> scales(tileType(scale).getShape());
  Type kind = tileType(scale).getElementType();
  bool fits = (kind.isInteger(8) || kind.isBF16()) && scales.size() == shape.size() &&
              shape[size_t(axis)] % scales[size_t(axis)] == 0;
  if (fits)
    scales[size_t(axis)] = shape[size_t(axis)];
  if (!fits || ArrayRef(scales) != shape)
    return op->emitOpError() << "has scales " << scale.getType() << " of " << result
                             << ": they are i8 or bf16, one for as many elements along axis " << axis;
  return success();
}

/// `axis` may be missing (-1).
static LogicalResult convertPacked(Operation *op, Value scale, int64_t axis) {
  RankedTensorType source = tileType(op->getOperand(0));
  if (axis < 0 || axis >= source.getRank() || !source.getElementType().isInteger(8))
    return op->emitOpError() << "unpacks " << source << " along axis " << axis
                             << ": e2m1 are packed in i8 along one of " << source.getRank() << " axes";
  SmallVector<int64_t> shape(source.getShape());
  shape[size_t(axis)] *= 2;
  if (failed(checkUpcast(op, shape, scale, axis)))
    return failure();
  ImplicitLocOpBuilder b(op->getLoc(), op);
  ShapesWithLayouts shapes;
  Value values = ScaledTiles(b, shapes).unpack(op->getOperand(0), axis);
  return finishUpcast(op, b, values, scale, axis);
}

LogicalResult simt::convertUpcast(ttg::Fp4ToFpOp op) {
  return convertPacked(op, Value(), int32_t(op.getAxis()));
}

LogicalResult simt::convertUpcast(amdg::ScaledUpcastFp4Op op) {
  return convertPacked(op, op.getScale(), op.getAxis() ? int64_t(int32_t(*op.getAxis())) : -1);
}

LogicalResult simt::convertUpcast(amdg::ScaledUpcastFp8Op op) {
  RankedTensorType source = tileType(op.getSrc());
  Type element = source.getElementType();
  if (!isa<Float8E4M3FNType, Float8E5M2Type>(element))
    return op.emitOpError() << "converts " << source << ": it is of f8E4M3FN or f8E5M2";
  if (failed(checkUpcast(op, source.getShape(), op.getScale(), 0)))
    return failure();
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value values = tt::FpToFpOp::create(b, source.clone(b.getF32Type()), op.getSrc(), tt::RoundingModeAttr());
  return finishUpcast(op, b, values, op.getScale(), 0);
}

/// The elements of `op` as f32, divided by their scales; null after an error.
static Value quotients(Operation *op, Value scale, std::optional<uint32_t> axisGiven, ImplicitLocOpBuilder &b) {
  RankedTensorType source = tileType(op->getOperand(0)), scales = tileType(scale);
  Type element = source.getElementType();
  int64_t axis = axisGiven ? int64_t(int32_t(*axisGiven)) : -1;
  bool fits = (element.isF16() || element.isBF16() || element.isF32()) && scales.getElementType().isInteger(8) &&
              axis >= 0 && axis < source.getRank() && scales.getRank() == source.getRank();
  SmallVector<int64_t> groups(scales.getShape());
  if (fits && source.getDimSize(axis) % groups[size_t(axis)] == 0)
    groups[size_t(axis)] = source.getDimSize(axis);
  if (!fits || ArrayRef(groups) != source.getShape()) {
    op->emitOpError() << "divides " << source << " by scales " << scales
                      << ": elements are f16, bf16 or f32, scales i8, one for as many elements along axis " << axis;
    return {};
  }
  ShapesWithLayouts shapes;
  Value values = op->getOperand(0);
  if (!element.isF32())
    values = arith::ExtFOp::create(b, source.clone(b.getF32Type()), values);
  return arith::DivFOp::create(b, values,
                               shapes.repeat(b, ScaledTiles(b, shapes).scales(scale), axis, tileType(values)));
}

LogicalResult simt::convertDowncast(amdg::ScaledDowncastFp8Op op) {
  auto result = cast<RankedTensorType>(op.getType());
  if (!isa<Float8E4M3FNType, Float8E5M2Type>(result.getElementType()) ||
      result.getShape() != tileType(op.getSrc()).getShape())
    return op.emitOpError() << "makes " << result << " of " << op.getSrc().getType()
                            << ": the result is of f8E4M3FN or f8E5M2, and has each element once";
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value values = quotients(op, op.getScale(), op.getAxis(), b);
  if (!values)
    return failure();
  auto rounding = tt::RoundingModeAttr::get(b.getContext(), tt::RoundingMode::NearestEven);
  Value made = tt::FpToFpOp::create(b, tileType(values).clone(result.getElementType()), values, rounding);
  return replace(op, inLayout(b, made, layoutOf(result)));
}

// The lower element of a pair is in the lower half of the byte.
LogicalResult simt::convertDowncast(amdg::ScaledDowncastFp4Op op) {
  auto result = cast<RankedTensorType>(op.getType());
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value values = quotients(op, op.getScale(), op.getAxis(), b);
  if (!values)
    return failure();
  auto axis = int64_t(int32_t(*op.getAxis()));
  SmallVector<int64_t> shape(tileType(values).getShape());
  shape[size_t(axis)] /= 2;
  if (result.getShape() != ArrayRef(shape) || !result.getElementType().isInteger(8))
    return op.emitOpError() << "makes " << result << " of " << op.getSrc().getType() << ": two e2m1 along axis " << axis
                            << " are an i8";
  ShapesWithLayouts shapes;
  Value pairs = ScaledTiles(b, shapes).toE2M1(values);
  shape.insert(shape.begin() + axis + 1, 2);
  pairs = shapes.reshape(b, pairs, shape);
  for (int64_t at = axis + 1; at < result.getRank(); ++at)
    pairs = shapes.exchange(b, pairs, at);
  pairs = inLayout(b, pairs, layout::joinTiles(layoutOf(result)));
  auto halves = tt::SplitOp::create(b, TypeRange{result, result}, pairs);
  Value four = arith::ConstantOp::create(b, DenseElementsAttr::get(result, b.getI8IntegerAttr(4)));
  Value upper = arith::ShLIOp::create(b, halves.getOutRHS(), four);
  return replace(op, arith::OrIOp::create(b, halves.getOutLHS(), upper));
}
