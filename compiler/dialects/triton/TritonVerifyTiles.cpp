// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Verifier rules of the `tt` dialect for shape changes (S), regions (R) and matrix products (D).
#include "compiler/dialects/triton/TritonVerify.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle::triton;

//===-- Shapes ---------------------------------------------------------------------------------------------------===//

// Rule S1: an operation that moves elements keeps their type.
static LogicalResult keepsElement(Operation *op, Type source, Type result) {
  Type from = elementTypeOf(source), to = elementTypeOf(result);
  if (from == to)
    return success();
  return op->emitOpError() << "element types " << from << " of the source and " << to << " of the result differ";
}

// Element type and shape of a result; the encoding is the producer's affair.
static LogicalResult resultIs(Operation *op, Type source, Type result, ArrayRef<int64_t> shape) {
  if (failed(keepsElement(op, source, result)))
    return failure();
  if (shapeOf(result) != shape)
    return op->emitOpError() << "result shape is " << shapeText(result) << ", but the operands give "
                             << shapeText(shape);
  return success();
}

// Rule S2: an axis names a dimension: it is at least 0 and below `bound`.
static LogicalResult axisBelow(Operation *op, int32_t axis, int64_t bound) {
  if (axis >= 0 && axis < bound)
    return success();
  return op->emitOpError() << "'axis' is " << axis << ", but must be at least 0 and below " << bound;
}

LogicalResult SplatOp::verify() {
  return keepsElement(*this, getSrc().getType(), getType());
}

LogicalResult UnsplatOp::verify() {
  // Rule S3: unsplat takes a tile of one element.
  int64_t elements = getSrc().getType().getNumElements();
  if (elements != 1)
    return emitOpError() << "needs a source of 1 element, but " << getSrc().getType() << " has " << elements;
  return keepsElement(*this, getSrc().getType(), getType());
}

LogicalResult ExpandDimsOp::verify() {
  SmallVector<int64_t> shape(getSrc().getType().getShape());
  if (failed(axisBelow(*this, getAxis(), shape.size() + 1)))
    return failure();
  // Rule S4: the result of expand_dims has a dimension of 1 at the axis and else the source's shape.
  shape.insert(shape.begin() + getAxis(), 1);
  return resultIs(*this, getSrc().getType(), getType(), shape);
}

LogicalResult BroadcastOp::verify() {
  ArrayRef<int64_t> from = getSrc().getType().getShape(), to = getType().getShape();
  // Rule S5: broadcast keeps the rank.
  if (from.size() != to.size())
    return emitOpError() << "ranks of source shape " << shapeText(from) << " and result shape " << shapeText(to)
                         << " differ (" << from.size() << " and " << to.size() << ")";
  // Rule S6: broadcast changes only dimensions of 1.
  for (auto [index, sizes] : llvm::enumerate(llvm::zip(from, to)))
    if (std::get<0>(sizes) != 1 && std::get<0>(sizes) != std::get<1>(sizes))
      return emitOpError() << "changes dimension " << index << " from " << std::get<0>(sizes) << " to "
                           << std::get<1>(sizes) << ", but only dimensions of 1 can grow";
  return keepsElement(*this, getSrc().getType(), getType());
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = getSrc().getType(), to = getType();
  // Rule S7: reshape keeps the number of elements.
  if (from.getNumElements() != to.getNumElements())
    return emitOpError() << "source shape " << shapeText(from) << " has " << from.getNumElements()
                         << " elements, result shape " << shapeText(to) << " has " << to.getNumElements();
  // Rule S8: both types have an encoding or neither.
  if (!from.getEncoding() != !to.getEncoding())
    return emitOpError() << "only one of " << from << " and " << to << " has an encoding";
  return keepsElement(*this, from, to);
}

LogicalResult TransOp::verify() {
  ArrayRef<int64_t> from = getSrc().getType().getShape();
  // Rule S9: 'order' is a permutation of the dimensions.
  if (!isPermutation(getOrder(), from.size()))
    return emitOpError() << "'order' [" << getOrder() << "] is not a permutation of the " << from.size()
                         << " dimensions of the source";
  // Rule S10: dimension d of the result of trans is dimension order[d] of the source.
  auto shape = llvm::map_to_vector(getOrder(), [&](int32_t dimension) { return from[dimension]; });
  return resultIs(*this, getSrc().getType(), getType(), shape);
}

// Rule S11: the two operands of join and cat, and the two results of split, have one type.
static LogicalResult areOneType(Operation *op, Type first, Type second, StringRef what) {
  if (first == second)
    return success();
  return op->emitOpError() << what << " types " << first << " and " << second << " differ";
}

LogicalResult JoinOp::verify() {
  if (failed(areOneType(*this, getLhs().getType(), getRhs().getType(), "operand")))
    return failure();
  // Rule S12: join adds an innermost dimension of 2.
  SmallVector<int64_t> shape(getLhs().getType().getShape());
  shape.push_back(2);
  return resultIs(*this, getLhs().getType(), getType(), shape);
}

LogicalResult SplitOp::verify() {
  if (failed(areOneType(*this, getOutLHS().getType(), getOutRHS().getType(), "result")))
    return failure();
  // Rule S13: split removes an innermost dimension of 2.
  ArrayRef<int64_t> shape = getSrc().getType().getShape();
  if (shape.empty() || shape.back() != 2)
    return emitOpError() << "needs a source whose last dimension is 2, but its shape is " << shapeText(shape);
  return resultIs(*this, getSrc().getType(), getOutLHS().getType(), shape.drop_back());
}

LogicalResult CatOp::verify() {
  if (failed(areOneType(*this, getLhs().getType(), getRhs().getType(), "operand")))
    return failure();
  // Rule S14: cat adds the sizes of dimension 0 and keeps the others.
  SmallVector<int64_t> shape(getLhs().getType().getShape());
  if (shape.empty())
    return emitOpError() << "needs operands of at least one dimension, not " << getLhs().getType();
  shape.front() *= 2;
  return resultIs(*this, getLhs().getType(), getType(), shape);
}

LogicalResult MakeRangeOp::verify() {
  // Rule S15: the result of make_range is one-dimensional, of i32.
  if (getType().getRank() != 1 || !getType().getElementType().isInteger(32))
    return emitOpError() << "result type " << getType() << " is not a one-dimensional tile of i32";
  // Rule S16: 'start' is below 'end' and the result holds all values between.
  int64_t start = static_cast<int32_t>(getStart()), end = static_cast<int32_t>(getEnd());
  if (start >= end)
    return emitOpError() << "'start' " << start << " is not below 'end' " << end;
  if (end - start != getType().getDimSize(0))
    return emitOpError() << "the range from " << start << " to " << end << " has " << end - start
                         << " values, but the result has " << getType().getDimSize(0);
  return success();
}

LogicalResult GatherOp::verify() {
  ArrayRef<int64_t> source = getSrc().getType().getShape(), indices = getIndices().getType().getShape();
  // Rule S17: source and indices of gather have one rank.
  if (source.size() != indices.size())
    return emitOpError() << "ranks of source shape " << shapeText(source) << " and index shape " << shapeText(indices)
                         << " differ";
  int32_t axis = getAxis();
  if (failed(axisBelow(*this, axis, source.size())))
    return failure();
  // Rule S18: source and indices of gather agree in every dimension but the axis.
  for (auto [index, sizes] : llvm::enumerate(llvm::zip(source, indices)))
    if (index != size_t(axis) && std::get<0>(sizes) != std::get<1>(sizes))
      return emitOpError() << "source shape " << shapeText(source) << " and index shape " << shapeText(indices)
                           << " differ in dimension " << index << ", which is not the axis " << axis;
  // Rule S19: the result of gather has the shape of the indices.
  return resultIs(*this, getSrc().getType(), getType(), indices);
}

LogicalResult HistogramOp::verify() {
  // Rule S20: a histogram counts a one-dimensional tile into a one-dimensional tile of i32.
  if (getType().getRank() != 1 || !getType().getElementType().isInteger(32))
    return emitOpError() << "result type " << getType() << " is not a one-dimensional tile of i32";
  if (getSrc().getType().getRank() != 1)
    return emitOpError() << "source type " << getSrc().getType() << " is not a one-dimensional tile";
  // Rule S21: the mask of a histogram has the shape of the source.
  if (getMask() && !haveSameShape(getMask().getType(), getSrc().getType()))
    return emitOpError() << "shapes of mask " << getMask().getType() << " and source " << getSrc().getType()
                         << " differ";
  return success();
}

//===-- Regions --------------------------------------------------------------------------------------------------===//

// Rule R1: a region operation has operands.
static LogicalResult hasOperands(Operation *op) {
  return op->getNumOperands() ? success() : op->emitOpError("has no operands");
}

// Rule R2: all operands have one shape.
static LogicalResult operandsHaveOneShape(Operation *op) {
  Type first = op->getOperand(0).getType();
  for (auto [index, type] : llvm::enumerate(op->getOperandTypes()))
    if (!haveSameShape(type, first))
      return op->emitOpError() << "operand " << index << " of type " << type << " and operand 0 of type " << first
                               << " differ in shape";
  return success();
}

// Rule R3: there are as many results as operands.
static LogicalResult hasResultPerOperand(Operation *op) {
  if (op->getNumResults() == op->getNumOperands())
    return success();
  return op->emitOpError() << "has " << op->getNumOperands() << " operands but " << op->getNumResults() << " results";
}

// Rule R4: the region takes `copies` scalars for each operand: those of an operand together when `grouped`
// (map_elementwise), else the first one of each operand, then the second ones (reduce, scan).
static LogicalResult verifyRegionArguments(Operation *op, Block &entry, int64_t copies, bool grouped) {
  int64_t operands = op->getNumOperands();
  if (entry.getNumArguments() != copies * operands)
    return op->emitOpError() << "region takes " << entry.getNumArguments() << " arguments, but " << operands
                             << " operands need " << copies * operands;
  for (BlockArgument argument : entry.getArguments()) {
    int64_t index = argument.getArgNumber(), operand = grouped ? index / copies : index % operands;
    Type wanted = elementTypeOf(op->getOperand(operand).getType());
    if (argument.getType() != wanted)
      return op->emitOpError() << "region argument " << index << " has type " << argument.getType() << ", but operand "
                               << operand << " has elements of type " << wanted;
  }
  return success();
}

// Rule R5: the region ends by the operation's own return, with `copies` scalars for each result, those of one together.
template <typename Return>
static LogicalResult verifyRegionReturn(Operation *op, Block &block, int64_t copies) {
  Operation *terminator = block.empty() ? nullptr : &block.back();
  if (!isa_and_nonnull<Return>(terminator))
    return op->emitOpError() << "region does not end by '" << Return::getOperationName() << "'";
  int64_t values = terminator->getNumOperands(), results = op->getNumResults();
  if (values != copies * results)
    return op->emitOpError() << "region returns " << values << " values, but " << results << " results need "
                             << copies * results;
  for (auto [index, type] : llvm::enumerate(terminator->getOperandTypes())) {
    Type wanted = elementTypeOf(op->getResult(index / copies).getType());
    if (type != wanted)
      return op->emitOpError() << "region returns value " << index << " of type " << type << ", but result "
                               << index / copies << " has elements of type " << wanted;
  }
  return success();
}

// Rule R6: result i has the element type of operand i, and its shape, for reduce without the axis.
static LogicalResult verifyRegionResults(Operation *op, ArrayRef<int64_t> shape) {
  for (auto [index, types] : llvm::enumerate(llvm::zip(op->getOperandTypes(), op->getResultTypes()))) {
    auto [operand, result] = types;
    if (elementTypeOf(operand) != elementTypeOf(result) || shapeOf(result) != shape)
      return op->emitOpError() << "result " << index << " has type " << result << ", but operand " << index
                               << " of type " << operand << " gives " << shapeText(shape) << " of "
                               << elementTypeOf(operand);
  }
  return success();
}

template <typename Return>
static LogicalResult verifyCombination(Operation *op, Region &region, ArrayRef<int64_t> resultShape) {
  if (failed(hasResultPerOperand(op)) || failed(verifyRegionResults(op, resultShape)) ||
      failed(verifyRegionArguments(op, region.front(), 2, /*grouped=*/false)))
    return failure();
  return verifyRegionReturn<Return>(op, region.front(), 1);
}

LogicalResult ReduceOp::verify() {
  if (failed(hasOperands(*this)) || failed(operandsHaveOneShape(*this)))
    return failure();
  SmallVector<int64_t> shape(shapeOf(getSrcs()[0].getType()));
  if (failed(axisBelow(*this, getAxis(), shape.size())))
    return failure();
  shape.erase(shape.begin() + getAxis());
  return verifyCombination<ReduceReturnOp>(*this, getCombineOp(), shape);
}

LogicalResult ScanOp::verify() {
  if (failed(hasOperands(*this)) || failed(operandsHaveOneShape(*this)))
    return failure();
  ArrayRef<int64_t> shape = shapeOf(getSrcs()[0].getType());
  if (failed(axisBelow(*this, getAxis(), shape.size())))
    return failure();
  return verifyCombination<ScanReturnOp>(*this, getCombineOp(), shape);
}

/// A return of a region of `Op`.
template <typename Op>
static LogicalResult verifyParent(Operation *returns) {
  Operation *parent = returns->getParentOp();
  if (isa<Op>(parent))
    return success();
  return returns->emitOpError() << "expects parent op '" << Op::getOperationName() << "', and stands in '"
                                << parent->getName().getStringRef() << "'";
}

LogicalResult ReduceReturnOp::verify() {
  return verifyParent<ReduceOp>(*this);
}

LogicalResult ScanReturnOp::verify() {
  return verifyParent<ScanOp>(*this);
}

LogicalResult MapElementwiseOp::verify() {
  if (failed(hasOperands(*this)) || failed(operandsHaveOneShape(*this)))
    return failure();
  // Rule R7: 'pack' is a power of two and the elements are a whole number of packs.
  int32_t pack = getPack();
  auto source = cast<RankedTensorType>(getSrcs()[0].getType());
  if (pack < 1 || !llvm::isPowerOf2_32(pack) || source.getNumElements() % pack)
    return emitOpError() << "'pack' is " << pack << ", but must be a power of two that divides the "
                         << source.getNumElements() << " elements of " << source;
  // Rule R8: every result of map_elementwise has the shape of the operands.
  for (auto [index, type] : llvm::enumerate(getResultTypes()))
    if (!haveSameShape(type, source))
      return emitOpError() << "shapes of result " << index << " of type " << type << " and operand 0 of type " << source
                           << " differ";
  if (getScalarOp().empty())
    return emitOpError("has an empty region");
  if (failed(verifyRegionArguments(*this, getScalarOp().front(), pack, /*grouped=*/true)))
    return failure();
  for (Block &block : getScalarOp())
    if (block.hasNoSuccessors() && failed(verifyRegionReturn<MapElementwiseReturnOp>(*this, block, pack)))
      return failure();
  // Rule R9: the region of map_elementwise writes no memory.
  Operation *writer = nullptr;
  getScalarOp().walk([&](Operation *op) {
    if (isa<StoreOp, AtomicRMWOp, AtomicCASOp, AtomicLoadOp, AtomicStoreOp, AtomicPollOp, DescriptorStoreOp,
            DescriptorReduceOp, DescriptorScatterOp>(op))
      writer = op;
  });
  if (writer)
    return emitOpError() << "region writes memory by '" << writer->getName() << "'";
  return success();
}

//===-- Matrix products ------------------------------------------------------------------------------------------===//

// Shapes of a product: a batch (1 for rank 2) and the three sizes, in elements of the product, not of storage.
struct MatmulShape {
  Type type;
  int64_t batch, rows, columns;
};

static MatmulShape sideOf(Type type) {
  ArrayRef<int64_t> shape = shapeOf(type);
  return {type, shape.size() == 3 ? shape[0] : 1, shape[shape.size() - 2], shape.back()};
}

// Rule D1: operands and result of a product have rank 2, or all rank 3.
static LogicalResult verifyRanks(Operation *op, Type a, Type b, Type d) {
  size_t rank = shapeOf(a).size();
  if ((rank == 2 || rank == 3) && shapeOf(b).size() == rank && shapeOf(d).size() == rank)
    return success();
  return op->emitOpError() << "shapes " << shapeText(a) << ", " << shapeText(b) << " and " << shapeText(d)
                           << " are not all of rank 2 or all of rank 3";
}

static LogicalResult verifyMatmulShapes(Operation *op, MatmulShape a, MatmulShape b, MatmulShape d) {
  auto agree = [&](StringRef dimension, MatmulShape x, MatmulShape y, int64_t xSize, int64_t ySize, StringRef what) {
    if (xSize == ySize)
      return success();
    return LogicalResult(op->emitOpError()
                         << what << " shapes " << shapeText(x.type) << " and " << shapeText(y.type)
                         << " do not agree on " << dimension << " (" << xSize << " and " << ySize << ")");
  };
  // Rule D2: columns of A are rows of B.
  if (failed(agree("K", a, b, a.columns, b.rows, "operand")))
    return failure();
  // Rule D3: the result has the rows of A and the columns of B.
  if (failed(agree("M", a, d, a.rows, d.rows, "operand and result")) ||
      failed(agree("N", b, d, b.columns, d.columns, "operand and result")))
    return failure();
  // Rule D4: the batch is the same everywhere.
  if (failed(agree("the batch", a, b, a.batch, b.batch, "operand")))
    return failure();
  return agree("the batch", a, d, a.batch, d.batch, "operand and result");
}

// Rule D5: the accumulator has the result's type.
static LogicalResult verifyAccumulator(Operation *op, Type accumulator, Type result) {
  if (accumulator == result)
    return success();
  return op->emitOpError() << "accumulator type " << accumulator << " is not the result type " << result;
}

LogicalResult DotOp::verify() {
  auto a = cast<RankedTensorType>(getA().getType()), b = cast<RankedTensorType>(getB().getType());
  auto d = cast<RankedTensorType>(getType());
  if (failed(verifyAccumulator(*this, getC().getType(), d)) || failed(verifyRanks(*this, a, b, d)) ||
      failed(verifyMatmulShapes(*this, sideOf(a), sideOf(b), sideOf(d))))
    return failure();
  // Rule D6: the operands of dot have one element type; two formats of fp8 may mix.
  Type aElement = a.getElementType(), bElement = b.getElementType(), dElement = d.getElementType();
  bool bothFp8 =
      isa<FloatType>(aElement) && isa<FloatType>(bElement) && elementBits(aElement) == 8 && elementBits(bElement) == 8;
  if (aElement != bElement && !bothFp8)
    return emitOpError() << "cannot multiply elements of type " << aElement << " and " << bElement;
  // Rule D7: integers accumulate in i32, floats in floats that are no narrower.
  if (isa<IntegerType>(aElement) ? !dElement.isInteger(32)
                                 : !isa<FloatType>(dElement) || elementBits(dElement) < elementBits(aElement))
    return emitOpError() << "cannot accumulate products of " << aElement << " in " << dElement;
  // Rule D8: both operands have an encoding or neither.
  if (!a.getEncoding() != !b.getEncoding())
    return emitOpError() << "only one of " << a << " and " << b << " has an encoding";
  // Rule D9: 'maxNumImpreciseAcc' is not negative.
  if (static_cast<int32_t>(getMaxNumImpreciseAcc()) < 0)
    return emitOpError() << "'maxNumImpreciseAcc' is " << static_cast<int32_t>(getMaxNumImpreciseAcc())
                         << ", but a count is not negative";
  return success();
}

// Rule D10: the operand of a scaled dot is stored in its format's own type or, for formats of 8 and fewer bits, in i8.
static LogicalResult verifyScaledElement(Operation *op, StringRef side, ScaleDotElemType format, Type stored) {
  auto isStoredIn = [&]() -> bool {
    switch (format) {
    case ScaleDotElemType::E4M3:
      return isa<Float8E4M3FNType>(stored) || stored.isInteger(8);
    case ScaleDotElemType::E5M2:
      return isa<Float8E5M2Type>(stored) || stored.isInteger(8);
    case ScaleDotElemType::E2M3:
    case ScaleDotElemType::E3M2:
    case ScaleDotElemType::E2M1:
      return stored.isInteger(8);
    case ScaleDotElemType::BF16:
      return stored.isBF16();
    case ScaleDotElemType::FP16:
      return stored.isF16();
    }
    return false;
  };
  if (isStoredIn())
    return success();
  return op->emitOpError() << side << " format '" << stringifyScaleDotElemType(format) << "' cannot be stored as "
                           << stored;
}

// Rule D11: only e2m1, two of which share a byte, can be packed along M or N.
static LogicalResult verifyPacking(Operation *op, StringRef side, ScaleDotElemType format, bool alongK) {
  if (alongK || format == ScaleDotElemType::E2M1)
    return success();
  return op->emitOpError() << "'" << side << "_k_pack = false' is for e2m1 only, but the format is '"
                           << stringifyScaleDotElemType(format) << "'";
}

// Rule D12: a scale has one row per row of A or column of B, and one column per 32 or 16 elements of K.
static LogicalResult verifyScale(Operation *op, StringRef side, Value scale, Type operand, int64_t outer, int64_t k) {
  if (!scale)
    return success();
  auto type = cast<RankedTensorType>(scale.getType());
  for (int64_t group : {32, 16}) {
    SmallVector<int64_t> wanted(shapeOf(operand).drop_back(2));
    wanted.append({outer, k / group});
    if (k % group == 0 && type.getShape() == ArrayRef(wanted))
      return success();
  }
  return op->emitOpError() << side << " scale of type " << type << " does not fit " << outer << " rows of " << k
                           << " elements with one scale per 32 or 16";
}

LogicalResult DotScaledOp::verify() {
  Type aType = getA().getType(), bType = getB().getType();
  if (failed(verifyAccumulator(*this, getC().getType(), getType())) ||
      failed(verifyRanks(*this, aType, bType, getType())))
    return failure();
  if (failed(verifyScaledElement(*this, "lhs", getAElemType(), elementTypeOf(aType))) ||
      failed(verifyScaledElement(*this, "rhs", getBElemType(), elementTypeOf(bType))) ||
      failed(verifyPacking(*this, "lhs", getAElemType(), getLhsKPack())) ||
      failed(verifyPacking(*this, "rhs", getBElemType(), getRhsKPack())))
    return failure();
  MatmulShape a = sideOf(aType), b = sideOf(bType), d = sideOf(getType());
  if (getAElemType() == ScaleDotElemType::E2M1)
    (getLhsKPack() ? a.columns : a.rows) *= 2;
  if (getBElemType() == ScaleDotElemType::E2M1)
    (getRhsKPack() ? b.rows : b.columns) *= 2;
  if (failed(verifyMatmulShapes(*this, a, b, d)))
    return failure();
  if (failed(verifyScale(*this, "lhs", getAScale(), aType, a.rows, a.columns)))
    return failure();
  return verifyScale(*this, "rhs", getBScale(), bType, b.columns, b.rows);
}
