// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of strided tensors as pointer tiles and masks; values in parts through control flow.
#include "compiler/transforms/BlockAccess.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

using namespace mlir;

namespace heddle::triton {

Value toI64(ImplicitLocOpBuilder &builder, Value value) {
  Type element = elementTypeOf(value.getType());
  if (element.isInteger(64))
    return value;
  Type wide = builder.getI64Type();
  if (auto tile = dyn_cast<RankedTensorType>(value.getType()))
    wide = tile.clone(wide);
  return builder.createOrFold<arith::ExtSIOp>(wide, value);
}

Value consecutive(ImplicitLocOpBuilder &builder, Value offset, int64_t size) {
  auto narrow = RankedTensorType::get({size}, builder.getI32Type());
  Value range = toI64(builder, MakeRangeOp::create(builder, narrow, 0, size));
  Value start = SplatOp::create(builder, range.getType(), toI64(builder, offset));
  return arith::AddIOp::create(builder, start, range);
}

// A one-dimensional tile as dimension `dimension` of a tile of shape `shape`.
static Value spread(ImplicitLocOpBuilder &builder, Value tile, ArrayRef<int64_t> shape, int64_t dimension) {
  auto type = cast<RankedTensorType>(tile.getType());
  SmallVector<int64_t> grown = {type.getDimSize(0)};
  for (int64_t axis = 0; axis < int64_t(shape.size()); ++axis) {
    if (axis == dimension)
      continue;
    grown.insert(grown.begin() + axis, 1);
    tile = ExpandDimsOp::create(builder, RankedTensorType::get(grown, type.getElementType()), tile, axis);
  }
  if (grown == shape)
    return tile;
  return BroadcastOp::create(builder, RankedTensorType::get(shape, type.getElementType()), tile);
}

static SmallVector<int64_t> shapeOf(ValueRange coordinates) {
  return llvm::map_to_vector(coordinates,
                             [](Value tile) { return cast<RankedTensorType>(tile.getType()).getDimSize(0); });
}

/// The pointers to base + sum over d of coordinates[d] * strides[d].
static Value pointersTo(ImplicitLocOpBuilder &builder, Value base, ValueRange coordinates, ValueRange strides) {
  SmallVector<int64_t> shape = shapeOf(coordinates);
  Value pointers = SplatOp::create(builder, RankedTensorType::get(shape, base.getType()), base);
  for (auto [dimension, coordinate, stride] : llvm::enumerate(coordinates, strides)) {
    Value factor = SplatOp::create(builder, coordinate.getType(), stride);
    Value offsets = spread(builder, arith::MulIOp::create(builder, coordinate, factor), shape, dimension);
    pointers = AddPtrOp::create(builder, pointers.getType(), pointers, offsets);
  }
  return pointers;
}

/// Whether the checked coordinates lie inside the shape; null when none is checked.
static Value insideBounds(ImplicitLocOpBuilder &builder, ValueRange coordinates, ValueRange shape,
                          ArrayRef<int32_t> checked) {
  Value inside;
  for (int32_t dimension : checked) {
    Value coordinate = coordinates[dimension];
    Type type = coordinate.getType();
    Value zero = arith::ConstantOp::create(builder, builder.getZeroAttr(type));
    Value size = SplatOp::create(builder, type, toI64(builder, shape[dimension]));
    Value above = arith::CmpIOp::create(builder, arith::CmpIPredicate::sge, coordinate, zero);
    Value below = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, coordinate, size);
    Value both = spread(builder, arith::AndIOp::create(builder, above, below), shapeOf(coordinates), dimension);
    inside = inside ? Value(arith::AndIOp::create(builder, inside, both)) : both;
  }
  return inside;
}

Access accessAt(ImplicitLocOpBuilder &builder, Value base, ValueRange coordinates, ValueRange shape, ValueRange strides,
                ArrayRef<int32_t> checked) {
  Value pointers = pointersTo(builder, base, coordinates, strides);
  return {pointers, insideBounds(builder, coordinates, shape, checked)};
}

SmallVector<Value> coordinatesOf(ImplicitLocOpBuilder &builder, ValueRange offsets, ArrayRef<int64_t> sizes) {
  SmallVector<Value> coordinates;
  for (auto [offset, size] : llvm::zip_equal(offsets, sizes))
    coordinates.push_back(consecutive(builder, offset, size));
  return coordinates;
}

LogicalResult refuseArgument(FuncOp function, size_t index, StringRef what, StringRef instead) {
  InFlightDiagnostic error = function.emitError("argument ")
                             << index << " of `" << function.getName() << "` is a " << what;
  error.attachNote() << (function.isPublic() ? instead : "inline calls before (`heddle-inline-calls`)");
  return error;
}

Value paddingTile(ImplicitLocOpBuilder &builder, RankedTensorType type, PaddingOption padding) {
  if (padding == PaddingOption::Zero)
    return arith::ConstantOp::create(builder, builder.getZeroAttr(type));
  auto element = cast<FloatType>(type.getElementType());
  APFloat nan = APFloat::getNaN(element.getFloatSemantics());
  return arith::ConstantOp::create(builder, DenseElementsAttr::get(type, nan));
}

namespace {

struct SelectParts : OpConversionPattern<arith::SelectOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(arith::SelectOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> parts;
    for (auto [a, b] : llvm::zip_equal(adaptor.getTrueValue(), adaptor.getFalseValue()))
      parts.push_back(arith::SelectOp::create(rewriter, op.getLoc(), op.getCondition(), a, b));
    rewriter.replaceOpWithMultiple(op, {parts});
    return success();
  }
};

struct PoisonParts : OpConversionPattern<ub::PoisonOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(ub::PoisonOp op, OneToNOpAdaptor, ConversionPatternRewriter &rewriter) const override {
    SmallVector<Type> types;
    if (failed(getTypeConverter()->convertType(op.getType(), types)))
      return failure();
    SmallVector<Value> parts =
        llvm::map_to_vector(types, [&](Type type) { return Value(ub::PoisonOp::create(rewriter, op.getLoc(), type)); });
    rewriter.replaceOpWithMultiple(op, {parts});
    return success();
  }
};

} // namespace

LogicalResult convertParts(Operation *root, const TypeConverter &converter, RewritePatternSet &&patterns) {
  ConversionTarget target(*root->getContext());
  target.markUnknownOpDynamicallyLegal([&](Operation *op) { return converter.isLegal(op); });
  scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns, target);
  patterns.add<SelectParts, PoisonParts>(converter, root->getContext());
  return applyPartialConversion(root, target, std::move(patterns));
}

} // namespace heddle::triton
