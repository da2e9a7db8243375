// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory descriptors: their type as text, and the rules of the operations on them.
#include "compiler/dialects/triton/TritonVerify.h"
#include "compiler/dialects/ttg/TritonGpu.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace heddle::triton;
using namespace heddle::triton::gpu;

Type MemDescType::parse(AsmParser &parser) {
  SMLoc at = parser.getCurrentLocation();
  SmallVector<int64_t> shape, allocShape;
  Type element;
  Attribute encoding, space;
  bool isMutable = false;
  if (parser.parseLess() || parser.parseDimensionList(shape, /*allowDynamic=*/false) || parser.parseType(element) ||
      parser.parseComma() || parser.parseAttribute(encoding) || parser.parseComma() || parser.parseAttribute(space))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("mutable"))) {
      isMutable = true;
    } else if (parser.parseDimensionList(allocShape, /*allowDynamic=*/false, /*withTrailingX=*/false)) {
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  if (allocShape.empty())
    allocShape = shape;
  return parser.getChecked<MemDescType>(at, parser.getContext(), ArrayRef<int64_t>(shape), element, encoding, space,
                                        isMutable, ArrayRef<int64_t>(allocShape));
}

static void printShape(AsmPrinter &printer, ArrayRef<int64_t> shape) {
  llvm::interleave(shape, printer, "x");
}

void MemDescType::print(AsmPrinter &printer) const {
  printer << "<";
  printShape(printer, getShape());
  printer << "x" << getElementType() << ", " << getEncoding() << ", " << getMemorySpace();
  if (getMutableMemory())
    printer << ", mutable";
  if (getAllocShape() != getShape()) {
    printer << ", ";
    printShape(printer, getAllocShape());
  }
  printer << ">";
}

LogicalResult MemDescType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape, Type element,
                                  Attribute encoding, Attribute space, bool, ArrayRef<int64_t> allocShape) {
  // Rule V1: elements of whole bytes.
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8)
    return emitError() << "a memory object holds elements of whole bytes, not " << element;
  // Rule V2: an encoding of shared memory, in shared memory.
  if (!isSharedEncoding(encoding))
    return emitError() << "a memory object has a layout of shared memory, not " << encoding;
  if (!isa<SharedMemoryAttr>(space))
    return emitError() << "a memory object is in `#ttg.shared_memory`, not " << space;
  // Rule V3: the encoding is of all axes, or of all but that of a ring.
  auto rank = int64_t(shape.size());
  int64_t encoded = rankOf(encoding).value_or(0);
  if (encoded != rank && encoded != rank - 1)
    return emitError() << "a layout of " << encoded << " axes for a memory object of " << rank;
  // Rule V4: the axes of the encoding have sizes that are powers of two, a ring has any number of slots.
  for (int64_t axis = rank - encoded; axis < rank; ++axis)
    if (shape[size_t(axis)] < 1 || !llvm::isPowerOf2_64(uint64_t(shape[size_t(axis)])))
      return emitError() << "axis " << axis << " of a memory object of " << shapeText(shape)
                         << " has a size that is no power of two";
  constexpr int64_t mostSlots = 1 << 20;
  int64_t elements = 1;
  for (int64_t size : allocShape.take_back(size_t(encoded)))
    elements =
        size > 0 && size <= maxTileElements ? std::min(elements * size, maxTileElements + 1) : maxTileElements + 1;
  if (shape.empty() || shape.front() < 1 || shape.front() > mostSlots || elements > maxTileElements)
    return emitError() << "a memory object of " << shapeText(shape) << " in " << shapeText(allocShape)
                       << ": a tile has at most " << maxTileElements << " elements, a ring " << mostSlots << " slots";
  // Rule V5: a view is not larger than what it is cut from.
  bool fits = allocShape.size() >= shape.size();
  for (size_t i = 0; fits && i < shape.size(); ++i)
    fits = shape[shape.size() - 1 - i] <= allocShape[allocShape.size() - 1 - i];
  if (!fits)
    return emitError() << "a view of " << shapeText(shape) << " in an allocation of " << shapeText(allocShape);
  // Rule V6: padded rows are those of this shape.
  auto padded = dyn_cast<PaddedSharedAttr>(encoding);
  if (padded && padded.getShape() != allocShape.take_back(size_t(encoded)))
    return emitError() << "padding for " << shapeText(padded.getShape()) << " in a memory object of "
                       << shapeText(allocShape);
  // Rule N14: a row of a layout of NVIDIA's holds what is swizzled, in elements of its size.
  if (auto nvmma = dyn_cast<NvmmaSharedAttr>(encoding)) {
    auto rank = size_t(nvmma.getRank());
    ArrayRef<int64_t> tile = allocShape.take_back(rank);
    int64_t bits = element.getIntOrFloatBitWidth(), columns = nvmma.getTransposed() ? tile.front() : tile.back();
    int64_t least = rank == 1 ? 1 : std::max<int64_t>(16, nvmma.getSwizzlingByteWidth()) * 8 / bits;
    if (bits != nvmma.getElementBitWidth() || columns < least)
      return emitError() << "rows of " << columns << " elements of " << bits << " bits in " << encoding
                         << ": they are of " << nvmma.getElementBitWidth() << " bits, and a row has " << least
                         << " or more";
  }
  return success();
}

//===-- Operations -----------------------------------------------------------------------------------------------===//

static LogicalResult verifySameTile(Operation *op, Type tile, MemDescType memory) {
  auto tensor = cast<RankedTensorType>(tile);
  // Rule V7: a tile and its memory object have one shape and one type of elements.
  if (tensor.getShape() != memory.getShape() || tensor.getElementType() != memory.getElementType())
    return op->emitOpError() << "moves " << shapeText(tensor.getShape()) << " elements of " << tensor.getElementType()
                             << " to or from a memory object of " << shapeText(memory.getShape()) << " elements of "
                             << memory.getElementType();
  return success();
}

LogicalResult LocalAllocOp::verify() {
  MemDescType memory = getType();
  // Rule V8: what nothing is written to at once must be mutable.
  if (!getSrc())
    return memory.getMutableMemory() ? success() : emitOpError("makes an immutable memory object with nothing in it");
  return verifySameTile(*this, getSrc().getType(), memory);
}

LogicalResult LocalLoadOp::verify() {
  return verifySameTile(*this, getType(), getSrc().getType());
}

LogicalResult LocalStoreOp::verify() {
  // Rule V9: only mutable memory is written.
  if (!getDst().getType().getMutableMemory())
    return emitOpError("writes to an immutable memory object");
  return verifySameTile(*this, getSrc().getType(), getDst().getType());
}

LogicalResult AsyncCopyOp::verify() {
  if (!getDst().getType().getMutableMemory())
    return emitOpError("writes to an immutable memory object");
  return success();
}

static LogicalResult verifyIndexed(Operation *op, MemDescType memory, Type tileType, Type indexType, int64_t axis) {
  auto tile = cast<RankedTensorType>(tileType), indices = cast<RankedTensorType>(indexType);
  ArrayRef<int64_t> shape = memory.getShape();
  // Rule V17: the axis is one of the memory object's, and each element has an index, in its layout.
  if (axis < 0 || axis >= int64_t(shape.size()))
    return op->emitOpError() << "takes an index along axis " << axis << " of a memory object of " << shapeText(shape);
  if (indices.getShape() != tile.getShape() || indices.getEncoding() != tile.getEncoding())
    return op->emitOpError() << "has indices " << indices << " for a tile of " << tile;
  // Rule V18: the elements are those of the memory object, which has the other coordinates.
  bool fits = tile.getElementType() == memory.getElementType() && tile.getRank() == int64_t(shape.size());
  for (size_t at = 0; fits && at < shape.size(); ++at)
    fits = int64_t(at) == axis || tile.getShape()[at] <= shape[at];
  if (!fits)
    return op->emitOpError() << "moves " << tile << " to or from a memory object of " << shapeText(shape)
                             << " elements of " << memory.getElementType();
  return success();
}

LogicalResult LocalGatherOp::verify() {
  return verifyIndexed(*this, getSrc().getType(), getType(), getIndices().getType(), int64_t(getAxis()));
}

LogicalResult LocalScatterOp::verify() {
  if (!getDst().getType().getMutableMemory())
    return emitOpError("writes to an immutable memory object");
  return verifyIndexed(*this, getDst().getType(), getValues().getType(), getIndices().getType(), int64_t(getAxis()));
}

LogicalResult LocalAtomicScatterRMWOp::verify() {
  if (!getDst().getType().getMutableMemory())
    return emitOpError("writes to an immutable memory object");
  auto tile = cast<RankedTensorType>(getType());
  // Rule V19: what is updated with has the type of the old values, the mask their shape and layout.
  if (getValues().getType() != tile ||
      (getMask() && getMask().getType() != tile.clone(IntegerType::get(getContext(), 1))))
    return emitOpError() << "updates with " << getValues().getType() << " and returns " << tile
                         << (getMask() ? ", or has a mask of another layout" : "");
  // Rule V20: integer updates of integers, `fadd` of floats; both are exchanged.
  bool isFloat = isa<FloatType>(tile.getElementType()), sumsFloats = getAtomicRmwOp() == RMWOp::FAdd;
  if (getAtomicRmwOp() != RMWOp::Exchange && isFloat != sumsFloats)
    return emitOpError() << "has kind '" << stringifyRMWOp(getAtomicRmwOp()) << "' for elements of "
                         << tile.getElementType();
  return verifyIndexed(*this, getDst().getType(), tile, getIndices().getType(), int64_t(getAxis()));
}

LogicalResult MemDescIndexOp::verify() {
  MemDescType from = getSrc().getType(), to = getType();
  // Rule V10: a slot has the shape of the ring without its first axis.
  if (to.getShape() != from.getShape().drop_front() || to.getElementType() != from.getElementType() ||
      to.getEncoding() != from.getEncoding())
    return emitOpError() << "takes a slot of " << to << " out of " << from;
  if (rankOf(from.getEncoding()) == int64_t(from.getShape().size()))
    return emitOpError() << "takes a slot of a memory object of " << shapeText(from.getShape())
                         << ", whose layout is of all its axes";
  return success();
}

// Rule V21: a wait leaves a number of groups, or of instructions, in flight.
static LogicalResult verifyLeft(Operation *op, uint32_t number, const char *things) {
  if (int32_t(number) >= 0)
    return success();
  return op->emitOpError() << "leaves " << int32_t(number) << " " << things << " in flight: give 0 or more";
}

LogicalResult gpu::AsyncWaitOp::verify() {
  return verifyLeft(*this, getNum(), "groups of copies");
}

LogicalResult amdg::AsyncWaitOp::verify() {
  return verifyLeft(*this, getNumInst(), "instructions of copies");
}

LogicalResult MemDescSubsliceOp::verify() {
  MemDescType from = getSrc().getType(), to = getType();
  ArrayRef<int32_t> offsets = getOffsets();
  // Rule V11: a part is of the same allocation, layout and elements.
  if (to.getElementType() != from.getElementType() || to.getEncoding() != from.getEncoding() ||
      to.getAllocShape() != from.getAllocShape() || to.getShape().size() != from.getShape().size() ||
      offsets.size() != from.getShape().size())
    return emitOpError() << "takes " << to << " at " << offsets.size() << " coordinates out of " << from;
  // Rule V12: it lies in the memory object and begins at a multiple of its size.
  return verifyPart(*this, SmallVector<int64_t>(offsets.begin(), offsets.end()), to.getShape(), from.getShape());
}

LogicalResult MemDescTransOp::verify() {
  MemDescType from = getSrc().getType(), to = getType();
  ArrayRef<int32_t> order = getOrder();
  // Rule V13: each axis once, with its size.
  bool fits = isPermutation(order, from.getShape().size()) && to.getShape().size() == order.size() &&
              to.getElementType() == from.getElementType();
  for (size_t axis = 0; fits && axis < order.size(); ++axis)
    fits = to.getShape()[axis] == from.getShape()[size_t(order[axis])];
  if (!fits)
    return emitOpError() << "makes " << to << " of " << from;
  return success();
}

LogicalResult MemDescReshapeOp::verify() {
  MemDescType from = getSrc().getType(), to = getType();
  // Rule V14: the same elements.
  if (ShapedType::getNumElements(from.getShape()) != ShapedType::getNumElements(to.getShape()) ||
      from.getElementType() != to.getElementType())
    return emitOpError() << "makes " << ShapedType::getNumElements(to.getShape()) << " elements of '"
                         << to.getElementType() << "' of " << ShapedType::getNumElements(from.getShape()) << " of '"
                         << from.getElementType() << "': " << to << " of " << from;
  return success();
}

LogicalResult MemDescReinterpretOp::verify() {
  auto bytes = [](MemDescType type) {
    return ShapedType::getNumElements(type.getShape()) * int64_t(type.getElementType().getIntOrFloatBitWidth() / 8);
  };
  // Rule V15: no more bytes than there are.
  if (bytes(getType()) > bytes(getSrc().getType()))
    return emitOpError() << "reads " << bytes(getType()) << " bytes in a memory object of "
                         << bytes(getSrc().getType());
  return success();
}

LogicalResult ConvertLayoutOp::verify() {
  auto from = cast<RankedTensorType>(getSrc().getType()), to = cast<RankedTensorType>(getType());
  // Rule V16: the tile stays.
  if (from.getShape() != to.getShape() || from.getElementType() != to.getElementType())
    return emitOpError() << "makes " << to << " of " << from;
  return success();
}
