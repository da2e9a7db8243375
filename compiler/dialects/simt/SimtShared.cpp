// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rings of tiles in shared memory: their type as text, and the rules of the operations on them.
#include "compiler/dialects/simt/Simt.h"
#include "compiler/layout/Encodings.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using layout::Dim;
using layout::LinearLayout;

//===-- The type -------------------------------------------------------------------------------------------------===//

int64_t SharedType::getTileElements() const {
  int64_t elements = 1;
  for (int64_t size : getShape())
    elements *= size;
  return elements;
}

int64_t SharedType::getTileBytes() const {
  return getTileElements() * int64_t(std::max(8u, getElementType().getIntOrFloatBitWidth())) / 8;
}

void SharedType::print(AsmPrinter &printer) const {
  printer << "<" << getStages() << " * ";
  for (int64_t size : getShape())
    printer << size << "x";
  printer << getElementType() << ", offset = [";
  const LinearLayout &layout = getLayout();
  for (int bit = 0; bit < layout.inputBits(Dim::Offset); ++bit) {
    printer << (bit ? ", [" : "[");
    llvm::interleaveComma(layout.outputs(), printer,
                          [&](const LinearLayout::Output &out) { printer << layout.basis(Dim::Offset, bit, out.dim); });
    printer << "]";
  }
  printer << "]>";
}

Type SharedType::parse(AsmParser &parser) {
  int64_t stages = 0;
  SmallVector<int64_t> shape;
  Type element;
  LinearLayout::Input offsets{Dim::Offset, {}};
  auto parseBasis = [&]() -> ParseResult {
    std::vector<int64_t> &basis = offsets.bases.emplace_back();
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                          [&] { return parser.parseInteger(basis.emplace_back()); });
  };
  llvm::SMLoc place = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseInteger(stages) || parser.parseStar() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false) || parser.parseType(element) || parser.parseComma() ||
      parser.parseKeyword("offset") || parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseBasis) || parser.parseGreater())
    return {};
  if (shape.size() > size_t(layout::maxTileRank)) {
    parser.emitError(place) << "a tile has at most " << layout::maxTileRank << " dimensions, not " << shape.size();
    return {};
  }
  std::vector<LinearLayout::Output> outputs;
  for (auto [axis, size] : llvm::enumerate(shape)) {
    if (!llvm::isPowerOf2_64(uint64_t(size))) {
      parser.emitError(place) << "dimension " << axis << " has size " << size << ", which is no power of two";
      return {};
    }
    outputs.push_back({layout::tileDim(int(axis)), size});
  }
  for (const std::vector<int64_t> &basis : offsets.bases) {
    bool fits = basis.size() == shape.size();
    for (size_t i = 0; fits && i < basis.size(); ++i)
      fits = basis[i] >= 0 && basis[i] < shape[i];
    if (!fits) {
      parser.emitError(place) << "a basis of offset does not fit the shape";
      return {};
    }
  }
  return parser.getChecked<SharedType>(place, parser.getContext(), stages, ArrayRef<int64_t>(shape), element,
                                       LinearLayout({std::move(offsets)}, std::move(outputs)));
}

LogicalResult SharedType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t stages, ArrayRef<int64_t> shape,
                                 Type elementType, LinearLayout layout) {
  // Rule S3: a ring has a stage, and elements of bytes or more (i1 takes a byte).
  if (stages < 1)
    return emitError() << "a ring has one stage or more, not " << stages;
  if (!elementType.isIntOrFloat() || (elementType.getIntOrFloatBitWidth() < 8 && !elementType.isInteger(1)))
    return emitError() << "a ring holds elements of whole bytes, not " << elementType;
  // Rule S4: each offset has one element, and each element one offset.
  bool sameShape = layout.outputs().size() == shape.size();
  for (size_t axis = 0; sameShape && axis < shape.size(); ++axis)
    sameShape = layout.outputs()[axis] == LinearLayout::Output{layout::tileDim(int(axis)), shape[axis]};
  if (!sameShape || !layout.isInvertible())
    return emitError() << "the offsets of a ring are the elements of its tile, one to one";
  return success();
}

//===-- Rules ----------------------------------------------------------------------------------------------------===//

// Rule S5: what goes between registers and a stage has a layout, and the shape and the elements of the ring.
static LogicalResult verifySameTile(Operation *op, RankedTensorType tile, Type element, SharedType ring) {
  if (!hasLayout(tile))
    return op->emitOpError() << "takes tiles with layouts, not " << tile;
  if (tile.getShape() != ring.getShape() || element != ring.getElementType())
    return op->emitOpError() << "moves " << tile << " to or from " << ring;
  return success();
}

LogicalResult StoreSharedOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  return verifySameTile(*this, tile, tile.getElementType(), getRing().getType());
}

LogicalResult LoadSharedOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  return verifySameTile(*this, tile, tile.getElementType(), getRing().getType());
}

LogicalResult AsyncCopyOp::verify() {
  auto tile = cast<RankedTensorType>(getPointers().getType());
  SharedType ring = getRing().getType();
  Type element = cast<triton::PointerType>(tile.getElementType()).getPointeeType();
  if (failed(verifySameTile(*this, tile, element, ring)))
    return failure();
  // Rule S6: the mask has the layout of the pointers.
  if (getMask()) {
    auto mask = cast<RankedTensorType>(getMask().getType());
    if (mask.getShape() != tile.getShape() || mask.getEncoding() != tile.getEncoding())
      return emitOpError() << "has a mask " << mask << " for pointers " << tile;
  }
  // Rule S7: a thread copies 4, 8 or 16 bytes at once.
  int64_t bits = int64_t(getElements()) * element.getIntOrFloatBitWidth();
  if (bits != 32 && bits != 64 && bits != 128)
    return emitOpError() << "copies 4, 8 or 16 bytes at once, not " << getElements() << " elements of " << element;
  // Rule S8: which are neighbours, in registers as in the stage.
  LinearLayout offsets = layoutOf(tile).invertAndCompose(ring.getLayout());
  for (Dim in : {Dim::Register, Dim::Lane, Dim::Warp})
    for (int bit = 0; bit < offsets.inputBits(in); ++bit) {
      int64_t offset = offsets.basis(in, bit, Dim::Offset);
      bool within = in == Dim::Register && int64_t(1) << bit < int64_t(getElements());
      if (within ? offset != int64_t(1) << bit : offset % int64_t(getElements()) != 0)
        return emitOpError() << "copies " << getElements() << " elements at once, which are no neighbours in the ring";
    }
  return success();
}

LogicalResult AsyncWaitOp::verify() {
  // Rule S9: a number of groups.
  if (int64_t(getPending()) < 0)
    return emitOpError() << "leaves " << int64_t(getPending()) << " groups pending";
  return success();
}

LogicalResult DotSharedOp::verify() {
  SharedType a = getA().getType(), b = getB().getType();
  auto tile = cast<RankedTensorType>(getC().getType());
  // Rule S10: shapes as of a product, in f32 with a layout, and elements of one size.
  auto bits = [](SharedType ring) { return ring.getElementType().getIntOrFloatBitWidth(); };
  if (a.getShape().size() != 2 || b.getShape().size() != 2 || tile.getRank() != 2 || !hasLayout(tile) ||
      !tile.getElementType().isF32() || bits(a) != bits(b))
    return emitOpError() << "multiplies matrices of elements of one size into f32 with a layout, not " << a << " and "
                         << b;
  int64_t m = a.getShape()[getATurned() ? 1 : 0], k = a.getShape()[getATurned() ? 0 : 1];
  int64_t n = b.getShape()[getBTurned() ? 0 : 1], kOfB = b.getShape()[getBTurned() ? 1 : 0];
  if (k != kOfB || tile.getDimSize(0) != m || tile.getDimSize(1) != n)
    return emitOpError() << "multiplies " << m << "x" << k << " by " << kOfB << "x" << n << " into " << tile;
  // Rule S11: operands lie as groups of warps read them.
  for (SharedType operand : {a, b})
    if (!operandLayout(operand))
      return emitOpError() << "reads swizzled rows of 32, 64 or 128 bytes, not " << operand;
  return success();
}

LogicalResult DotWaitOp::verify() {
  int64_t pending = int64_t(getPending());
  if (pending < 0)
    return emitOpError() << "leaves " << pending << " products pending";
  // Rule S12: what may be pending goes to those that leave it so.
  for (Operation *user : getD().getUsers())
    if (pending && !isa<DotSharedOp, DotWaitOp>(user) && !user->hasTrait<mlir::OpTrait::IsTerminator>())
      return emitOpError() << "leaves a product pending, which " << user->getName() << " uses";
  return success();
}

std::optional<OperandLayout> simt::operandLayout(SharedType ring) {
  if (ring.getShape().size() != 2 || !ring.getElementType().isIntOrFloat())
    return std::nullopt;
  layout::Shape shape(ring.getShape().begin(), ring.getShape().end());
  int bits = int(ring.getElementType().getIntOrFloatBitWidth());
  for (bool columnMajor : {false, true})
    for (int64_t swizzle : {32, 64, 128}) {
      int64_t columns = shape[columnMajor ? 0 : 1], rows = shape[columnMajor ? 1 : 0];
      if (rows >= 8 && columns * bits >= swizzle * 8 &&
          ring.getLayout() == layout::nvmmaShared(shape, swizzle, bits, columnMajor))
        return OperandLayout{columnMajor, swizzle, rows * swizzle};
    }
  return std::nullopt;
}
