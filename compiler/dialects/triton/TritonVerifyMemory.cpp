// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Verifier rules of the `tt` dialect for loads and stores (M), atomics (A), block pointers (B) and tensor descriptors
// (K).
#include "compiler/dialects/triton/TritonVerify.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::triton;

//===-- Loads and stores -----------------------------------------------------------------------------------------===//

// Rule M1: what is read or written has the pointee's type and the pointer's shape.
static LogicalResult verifyValue(Operation *op, StringRef what, Type value, Type pointer) {
  if (isValueFor(value, pointer))
    return success();
  return op->emitOpError() << what << " type " << value << " does not fit pointer type " << pointer << ", which needs "
                           << valueTypeOf(pointer);
}

// Rule M2: a mask is i1 in the pointer's shape.
static LogicalResult verifyMask(Operation *op, Value mask, Type pointer) {
  if (!mask || isMaskFor(mask.getType(), pointer))
    return success();
  return op->emitOpError() << "mask type " << mask.getType() << " does not fit pointer type " << pointer
                           << ", which needs " << maskTypeOf(pointer);
}

// Rule M9: cache hints are given in one form, 'cachePolicy' of Triton 3.9 or the words of older text.
template <typename Op>
static LogicalResult verifyCacheHints(Op op) {
  CachePolicyAttr policy = op.getCachePolicyAttr();
  if (!policy || (op.getCache() == CacheModifier::None && op.getEvict() == EvictionPolicy::Normal))
    return success();
  return op.emitOpError() << "has the cache hints " << policy
                          << " and also 'cacheModifier' = " << stringifyCacheModifier(op.getCache())
                          << ", 'evictionPolicy' = " << stringifyEvictionPolicy(op.getEvict()) << ": give them once";
}

// Rule M10: nothing is written through a pointer to constant memory.
static LogicalResult verifyWritable(Operation *op, Type pointer) {
  auto element = dyn_cast<PointerType>(elementTypeOf(pointer));
  if (!element || element.getAddressSpace() != constantSpace)
    return success();
  return op->emitOpError() << "writes through " << element << ", a pointer to constant memory";
}

static LogicalResult verifyBoundaryCheck(Operation *op, ArrayRef<int32_t> dimensions, Type pointer, bool isMasked) {
  if (!isBlockPointer(pointer)) {
    // Rule M3: only an access through a block pointer can check boundaries.
    if (!dimensions.empty())
      return op->emitOpError() << "'boundaryCheck' needs a block pointer, but the pointer has type " << pointer;
    return success();
  }
  // Rule M4: an access through a block pointer is not masked.
  if (isMasked)
    return op->emitOpError() << "an access through block pointer " << pointer << " takes 'boundaryCheck', not a mask";
  // Rule M5: 'boundaryCheck' names dimensions of the block, each once.
  int64_t rank = shapeOf(valueTypeOf(pointer)).size();
  llvm::SmallDenseSet<int32_t> seen;
  for (int32_t dimension : dimensions)
    if (dimension < 0 || dimension >= rank || !seen.insert(dimension).second)
      return op->emitOpError() << "'boundaryCheck' [" << dimensions << "] does not name dimensions of a block of rank "
                               << rank << ", each at most once";
  return success();
}

LogicalResult LoadOp::verify() {
  Type pointer = getPtr().getType();
  if (failed(verifyCacheHints(*this)) ||
      failed(verifyBoundaryCheck(*this, getBoundaryCheck(), pointer, getMask() || getOther())) ||
      failed(verifyMask(*this, getMask(), pointer)) || failed(verifyValue(*this, "result", getType(), pointer)))
    return failure();
  if (getOther()) {
    // Rule M6: 'other' is for masked elements.
    if (!getMask())
      return emitOpError("has a value for masked elements, but no mask");
    if (failed(verifyValue(*this, "other", getOther().getType(), pointer)))
      return failure();
  }
  if (auto padding = getPadding()) {
    // Rule M7: 'padding' fills what a boundary check leaves out.
    if (!isBlockPointer(pointer))
      return emitOpError() << "'padding' needs a block pointer, but the pointer has type " << pointer;
    // Rule M8: only floats can be padded by NaN.
    if (*padding == PaddingOption::Nan && !isa<FloatType>(elementTypeOf(getType())))
      return emitOpError() << "cannot pad elements of type " << elementTypeOf(getType()) << " by NaN";
  }
  return success();
}

LogicalResult StoreOp::verify() {
  Type pointer = getPtr().getType();
  if (failed(verifyCacheHints(*this)) || failed(verifyWritable(*this, pointer)) ||
      failed(verifyBoundaryCheck(*this, getBoundaryCheck(), pointer, bool(getMask()))) ||
      failed(verifyMask(*this, getMask(), pointer)))
    return failure();
  return verifyValue(*this, "value", getValue().getType(), pointer);
}

//===-- Atomics --------------------------------------------------------------------------------------------------===//

// Rule A1: an atomic works on scalars in memory, not on blocks.
static LogicalResult verifyAtomicPointer(Operation *op, Type pointer) {
  if (!isBlockPointer(pointer))
    return success();
  return op->emitOpError() << "cannot work on the block pointer " << pointer;
}

LogicalResult AtomicRMWOp::verify() {
  Type pointer = getPtr().getType();
  if (failed(verifyAtomicPointer(*this, pointer)) || failed(verifyWritable(*this, pointer)) ||
      failed(verifyValue(*this, "value", getVal().getType(), pointer)) ||
      failed(verifyValue(*this, "result", getType(), pointer)) || failed(verifyMask(*this, getMask(), pointer)))
    return failure();
  Type element = elementTypeOf(getVal().getType());
  unsigned bits = elementBits(element);
  bool isNumber = element.isIntOrFloat() && bits >= 8;
  auto kind = getAtomicRmwOp();
  auto reject = [&](StringRef needs) {
    return emitOpError() << "'" << stringifyRMWOp(kind) << "' works on " << needs << ", not on " << element;
  };
  switch (kind) {
  case RMWOp::FAdd:
    // Rule A2: fadd adds floats of at least 16 bits.
    return isa<FloatType>(element) && bits >= 16 ? success() : reject("floats of 16 to 64 bits");
  case RMWOp::Exchange:
    // Rule A3: exch takes any number of 8 to 64 bits.
    return isNumber ? success() : reject("numbers of 8 to 64 bits");
  default:
    // Rule A4: the other kinds work on integers.
    return isNumber && isa<IntegerType>(element) ? success() : reject("integers of 8 to 64 bits");
  }
}

LogicalResult AtomicCASOp::verify() {
  Type pointer = getPtr().getType();
  if (failed(verifyAtomicPointer(*this, pointer)) || failed(verifyWritable(*this, pointer)) ||
      failed(verifyValue(*this, "compared", getCmp().getType(), pointer)) ||
      failed(verifyValue(*this, "value", getVal().getType(), pointer)) ||
      failed(verifyValue(*this, "result", getType(), pointer)))
    return failure();
  // Rule A5: compare-and-swap works on 16, 32 or 64 bits.
  Type element = elementTypeOf(getVal().getType());
  if (!element.isIntOrFloat() || !llvm::is_contained({16u, 32u, 64u}, elementBits(element)))
    return emitOpError() << "works on numbers of 16, 32 or 64 bits, not on " << element;
  return success();
}

// Rule A7: what reads atomically is relaxed or an acquire, what writes relaxed or a release.
LogicalResult triton::verifySemantic(Operation *op, MemSemantic given, MemSemantic other) {
  if (given == MemSemantic::Relaxed || given == other)
    return success();
  return op->emitOpError() << "is '" << stringifyMemSemantic(given) << "', but can only be 'relaxed' or '"
                           << stringifyMemSemantic(other) << "'";
}

// Rule A8: what is read or written as one atomic access is a number of 8 to 64 bits.
static LogicalResult verifyAtomicElement(Operation *op, Type type) {
  Type element = elementTypeOf(type);
  if (element.isIntOrFloat() && elementBits(element) >= 8)
    return success();
  return op->emitOpError() << "works on numbers of 8 to 64 bits, not on " << element;
}

LogicalResult AtomicLoadOp::verify() {
  Type pointer = getPtr().getType();
  if (failed(verifyAtomicPointer(*this, pointer)) || failed(verifyValue(*this, "result", getType(), pointer)) ||
      failed(verifyMask(*this, getMask(), pointer)) || failed(verifyAtomicElement(*this, getType())))
    return failure();
  return verifySemantic(*this, getSem(), MemSemantic::Acquire);
}

LogicalResult AtomicStoreOp::verify() {
  Type pointer = getPtr().getType(), value = getValue().getType();
  if (failed(verifyAtomicPointer(*this, pointer)) || failed(verifyWritable(*this, pointer)) ||
      failed(verifyValue(*this, "value", value, pointer)) || failed(verifyMask(*this, getMask(), pointer)) ||
      failed(verifyAtomicElement(*this, value)))
    return failure();
  return verifySemantic(*this, getSem(), MemSemantic::Release);
}

LogicalResult AtomicPollOp::verify() {
  Type pointer = getPtr().getType();
  if (failed(verifyAtomicPointer(*this, pointer)) ||
      failed(verifyValue(*this, "expected", getExpected().getType(), pointer)) ||
      failed(verifySemantic(*this, getSem(), MemSemantic::Acquire)))
    return failure();
  // Rule A9: there is an answer for each pointer.
  if (!isMaskFor(getType(), pointer))
    return emitOpError() << "result type " << getType() << " does not fit pointer type " << pointer << ", which needs "
                         << maskTypeOf(pointer);
  // Rule A6: a poll reads 16, 32 or 64 bits.
  if (!llvm::is_contained({16u, 32u, 64u}, elementBits(getExpected().getType())))
    return emitOpError() << "polls integers of 16, 32 or 64 bits, not " << elementTypeOf(getExpected().getType());
  return success();
}

//===-- Block pointers -------------------------------------------------------------------------------------------===//

// Rule B1: there is one value per dimension of the block.
static LogicalResult hasOnePerDimension(Operation *op, StringRef what, size_t count, Type block) {
  size_t rank = shapeOf(block).size();
  if (count == rank)
    return success();
  return op->emitOpError() << "has " << count << " " << what << " for a block of rank " << rank;
}

LogicalResult MakeTensorPtrOp::verify() {
  Type block = valueTypeOf(getType());
  if (failed(hasOnePerDimension(*this, "sizes", getShape().size(), block)) ||
      failed(hasOnePerDimension(*this, "strides", getStrides().size(), block)) ||
      failed(hasOnePerDimension(*this, "offsets", getOffsets().size(), block)))
    return failure();
  // Rule B2: 'order' is a permutation of the dimensions.
  if (!isPermutation(getOrder(), shapeOf(block).size()))
    return emitOpError() << "'order' [" << getOrder() << "] is not a permutation of the " << shapeOf(block).size()
                         << " dimensions of the block";
  // Rule B3: the base points to the block's elements.
  if (getBase().getType() != basePointerOf(getType()))
    return emitOpError() << "base type " << getBase().getType() << " does not fit result type " << getType()
                         << ", which needs " << basePointerOf(getType());
  return success();
}

LogicalResult AdvanceOp::verify() {
  // Rule B4: advance keeps the type of the block pointer.
  if (getPtr().getType() != getType())
    return emitOpError() << "result type " << getType() << " is not the pointer's type " << getPtr().getType();
  return hasOnePerDimension(*this, "offsets", getOffsets().size(), valueTypeOf(getType()));
}

//===-- Tensor descriptors ---------------------------------------------------------------------------------------===//

// Rule K1: there is one value per dimension of the descriptor's block.
static LogicalResult hasOnePerDimension(Operation *op, StringRef what, size_t count, TensorDescType descriptor) {
  size_t rank = descriptor.getBlockType().getRank();
  if (count == rank)
    return success();
  return op->emitOpError() << "has " << count << " " << what << " for a descriptor of rank " << rank;
}

// Rule K2: the descriptor's elements are those of the tile or pointer; the signedness that only descriptors have is
// ignored.
static LogicalResult hasElement(Operation *op, TensorDescType descriptor, StringRef what, Type element) {
  Type own = descriptor.getBlockType().getElementType();
  if (signless(own) == element)
    return success();
  return op->emitOpError() << "descriptor has elements of type " << own << ", but the " << what << " has " << element;
}

LogicalResult MakeTensorDescOp::verify() {
  TensorDescType type = getType();
  if (failed(hasOnePerDimension(*this, "sizes", getShape().size(), type)) ||
      failed(hasOnePerDimension(*this, "strides", getStrides().size(), type)) ||
      failed(hasElement(*this, type, "pointee", signless(getBase().getType().getPointeeType()))))
    return failure();
  // Rule K3: only floats can be padded by NaN.
  Type element = type.getBlockType().getElementType();
  if (getPadding() == PaddingOption::Nan && !isa<FloatType>(element))
    return emitOpError() << "cannot pad elements of type " << element << " by NaN";
  return success();
}

// Rule K4: block and tile have one shape; leading dimensions of 1 may be missing.
static LogicalResult verifyBlockAccess(Operation *op, TensorDescType descriptor, RankedTensorType tile,
                                       size_t coordinates) {
  if (failed(hasOnePerDimension(op, "coordinates", coordinates, descriptor)) ||
      failed(hasElement(op, descriptor, "tile", tile.getElementType())))
    return failure();
  auto withoutLeadingOnes = [](ArrayRef<int64_t> shape) {
    return shape.drop_while([](int64_t size) { return size == 1; });
  };
  ArrayRef<int64_t> block = descriptor.getBlockType().getShape();
  if (withoutLeadingOnes(block) == withoutLeadingOnes(tile.getShape()))
    return success();
  return op->emitOpError() << "block shape " << shapeText(block) << " and tile shape " << shapeText(tile) << " differ";
}

LogicalResult DescriptorLoadOp::verify() {
  if (failed(verifyCacheHints(*this)))
    return failure();
  return verifyBlockAccess(*this, getDesc().getType(), getType(), getIndices().size());
}

LogicalResult DescriptorStoreOp::verify() {
  return verifyBlockAccess(*this, getDesc().getType(), getSrc().getType(), getIndices().size());
}

LogicalResult DescriptorReduceOp::verify() {
  if (failed(verifyBlockAccess(*this, getDesc().getType(), getSrc().getType(), getIndices().size())))
    return failure();
  // Rule K5: logic and wrapping counts work on integers; add, min and max on any number.
  Type element = getSrc().getType().getElementType();
  bool isAnyNumber =
      llvm::is_contained({DescriptorReduceKind::Add, DescriptorReduceKind::Min, DescriptorReduceKind::Max}, getKind());
  if (!isAnyNumber && !isa<IntegerType>(element))
    return emitOpError() << "'" << stringifyDescriptorReduceKind(getKind()) << "' works on integers, not on "
                         << element;
  return success();
}

// Rows are picked one by one, so the block is one row; the sizes below are those of the hardware that copies them.
static LogicalResult verifyRows(Operation *op, TensorDescType descriptor, RankedTensorType tile,
                                RankedTensorType rows) {
  RankedTensorType block = descriptor.getBlockType();
  // Rule K6: gather and scatter need a block of one row.
  if (block.getRank() != 2 || block.getDimSize(0) != 1)
    return op->emitOpError() << "needs a descriptor whose block is one row, but its shape is " << shapeText(block);
  // Rule K7: the row numbers are a one-dimensional tile of at least 8.
  if (rows.getRank() != 1 || rows.getDimSize(0) < 8)
    return op->emitOpError() << "needs at least 8 row numbers in one dimension, but they have type " << rows;
  // Rule K8: the tile has a row per row number and the columns of the block.
  if (tile.getShape() != ArrayRef<int64_t>{rows.getDimSize(0), block.getDimSize(1)})
    return op->emitOpError() << "tile shape is " << shapeText(tile) << ", but " << rows.getDimSize(0)
                             << " rows of block " << shapeText(block) << " give " << rows.getDimSize(0) << "x"
                             << block.getDimSize(1);
  if (failed(hasElement(op, descriptor, "tile", tile.getElementType())))
    return failure();
  // Rule K9: elements have at most 32 bits and a row at least 8 words of 32 bits.
  int64_t bits = elementBits(tile);
  if (bits > 32)
    return op->emitOpError() << "works on elements of at most 32 bits, but " << tile.getElementType() << " has "
                             << bits;
  if (bits > 0 && block.getDimSize(1) < 32 / bits * 8)
    return op->emitOpError() << "needs rows of at least " << 32 / bits * 8 << " elements of type "
                             << tile.getElementType() << ", but the block has " << block.getDimSize(1);
  return success();
}

LogicalResult DescriptorGatherOp::verify() {
  return verifyRows(*this, getDesc().getType(), getType(), cast<RankedTensorType>(getXOffsets().getType()));
}

LogicalResult DescriptorScatterOp::verify() {
  return verifyRows(*this, getDesc().getType(), getSrc().getType(), cast<RankedTensorType>(getXOffsets().getType()));
}
