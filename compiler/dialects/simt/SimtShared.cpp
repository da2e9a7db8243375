// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rings of tiles in shared memory: their type as text, and the rules of the operations on them.
#include "compiler/dialects/simt/Simt.h"
#include "compiler/dialects/triton/TritonVerify.h"
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
  return getLayout().inputSize(Dim::Offset);
}

int64_t SharedType::getParts() const {
  return getLayout().inputSize(Dim::Register);
}

int64_t SharedType::getElementBytes() const {
  if (isa<triton::PointerType>(getElementType()))
    return 8;
  return int64_t(std::max(8u, getElementType().getIntOrFloatBitWidth())) / 8;
}

int64_t SharedType::getTileBytes() const {
  return getTileElements() * getElementBytes();
}

int64_t SharedType::padded(int64_t offset) const {
  int64_t result = offset;
  for (auto [interval, padding] : llvm::zip(getIntervals(), getPaddings()))
    result += offset / interval * padding;
  return result;
}

int64_t SharedType::getBytes() const {
  return (padded(getStages() * getTileElements() - 1) + 1) * getElementBytes();
}

LinearLayout SharedType::placeOf() const {
  return getLayout().pseudoinvert();
}

LinearLayout SharedType::offsetsOf(const LinearLayout &registers) const {
  return LinearLayout(registers.inputs(), getLayout().outputs()).invertAndCompose(getLayout());
}

/// The shape of the tile that the layout is of.
static SmallVector<int64_t> layoutShape(const LinearLayout &layout) {
  SmallVector<int64_t> shape;
  for (const LinearLayout::Output &out : layout.outputs())
    shape.push_back(out.size);
  return shape;
}

void SharedType::print(AsmPrinter &printer) const {
  printer << "<" << getStages() << " * ";
  for (int64_t size : getShape())
    printer << size << "x";
  printer << getElementType() << ", offset = [";
  const LinearLayout &layout = getLayout();
  auto printBases = [&](Dim in) {
    for (int bit = 0; bit < layout.inputBits(in); ++bit) {
      printer << (bit ? ", [" : "[");
      llvm::interleaveComma(layout.outputs(), printer,
                            [&](const LinearLayout::Output &out) { printer << layout.basis(in, bit, out.dim); });
      printer << "]";
    }
    printer << "]";
  };
  printBases(Dim::Offset);
  if (getParts() > 1) {
    printer << ", part = [";
    printBases(Dim::Register);
  }
  if (SmallVector<int64_t> whole = layoutShape(layout); ArrayRef<int64_t>(whole) != getShape()) {
    printer << ", of = [";
    llvm::interleaveComma(whole, printer);
    printer << "]";
  }
  if (isPadded()) {
    printer << ", pad = [";
    llvm::interleaveComma(llvm::zip(getIntervals(), getPaddings()), printer,
                          [&](auto pair) { printer << std::get<0>(pair) << ":" << std::get<1>(pair); });
    printer << "]";
  }
  printer << ">";
}

Type SharedType::parse(AsmParser &parser) {
  int64_t stages = 0;
  SmallVector<int64_t> shape;
  Type element;
  LinearLayout::Input offsets{Dim::Offset, {}}, parts{Dim::Register, {}};
  auto parseBases = [&](LinearLayout::Input &input) {
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
      std::vector<int64_t> &basis = input.bases.emplace_back();
      return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                            [&] { return parser.parseInteger(basis.emplace_back()); });
    });
  };
  llvm::SMLoc place = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseInteger(stages) || parser.parseStar() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false) || parser.parseType(element) || parser.parseComma() ||
      parser.parseKeyword("offset") || parser.parseEqual() || parseBases(offsets))
    return {};
  SmallVector<int64_t> whole = shape, intervals, paddings;
  while (succeeded(parser.parseOptionalComma())) {
    StringRef word;
    llvm::SMLoc at = parser.getCurrentLocation();
    if (parser.parseKeyword(&word) || parser.parseEqual())
      return {};
    auto parseSize = [&]() -> ParseResult { return parser.parseInteger(whole.emplace_back()); };
    auto parsePad = [&]() -> ParseResult {
      return failure(parser.parseInteger(intervals.emplace_back()) || parser.parseColon() ||
                     parser.parseInteger(paddings.emplace_back()));
    };
    if (word == "of")
      whole.clear();
    else if (word != "pad" && word != "part")
      return parser.emitError(at) << "`" << word << "` is neither `of`, `pad` nor `part`", Type();
    if (word == "part" ? parseBases(parts)
        : word == "of" ? parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseSize)
                       : parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parsePad))
      return {};
  }
  if (parser.parseGreater())
    return {};
  if (shape.size() > size_t(layout::maxTileRank)) {
    parser.emitError(place) << "a tile has at most " << layout::maxTileRank << " dimensions, not " << shape.size();
    return {};
  }
  std::vector<LinearLayout::Output> outputs;
  for (auto [axis, size] : llvm::enumerate(whole)) {
    if (!llvm::isPowerOf2_64(uint64_t(size))) {
      parser.emitError(place) << "dimension " << axis << " has size " << size << ", which is no power of two";
      return {};
    }
    outputs.push_back({layout::tileDim(int(axis)), size});
  }
  for (const LinearLayout::Input *input : {&offsets, &parts})
    for (const std::vector<int64_t> &basis : input->bases) {
      bool fits = basis.size() == whole.size();
      for (size_t i = 0; fits && i < basis.size(); ++i)
        fits = basis[i] >= 0 && basis[i] < whole[i];
      if (!fits) {
        parser.emitError(place) << "a basis of " << (input == &parts ? "part" : "offset") << " does not fit the shape";
        return {};
      }
    }
  std::vector<LinearLayout::Input> inputs = {std::move(offsets)};
  if (!parts.bases.empty())
    inputs.push_back(std::move(parts));
  return parser.getChecked<SharedType>(place, parser.getContext(), stages, ArrayRef<int64_t>(shape), element,
                                       LinearLayout(std::move(inputs), std::move(outputs)),
                                       ArrayRef<int64_t>(intervals), ArrayRef<int64_t>(paddings));
}

LogicalResult SharedType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t stages, ArrayRef<int64_t> shape,
                                 Type elementType, LinearLayout layout, ArrayRef<int64_t> intervals,
                                 ArrayRef<int64_t> paddings) {
  // Rule S3: a ring has a stage, and elements of bytes or more (i1 takes a byte).
  if (stages < 1)
    return emitError() << "a ring has one stage or more, not " << stages;
  bool isWhole = isa<triton::PointerType>(elementType) ||
                 (elementType.isIntOrFloat() && (elementType.getIntOrFloatBitWidth() >= 8 || elementType.isInteger(1)));
  if (!isWhole)
    return emitError() << "a ring holds elements of whole bytes, not " << elementType;
  // Rule S4: each offset has one element, and each element one offset; a view has a part of the elements.
  bool fits = layout.outputs().size() == shape.size();
  for (size_t axis = 0; fits && axis < shape.size(); ++axis) {
    const LinearLayout::Output &out = layout.outputs()[axis];
    fits = out.dim == layout::tileDim(int(axis)) && shape[axis] > 0 && out.size % shape[axis] == 0;
  }
  if (!fits || !layout.isInvertible())
    return emitError() << "the offsets of a ring are the elements of its tile, one to one";
  // Rule S42: memory for parts has one tile, all of it, without padding.
  if (layout.inputSize(Dim::Register) > 1 && (stages > 1 || !intervals.empty()))
    return emitError() << "memory for " << layout.inputSize(Dim::Register) << " parts of a tile, one after the other, "
                       << "has one stage and no padding, not " << stages << " stages and " << intervals.size()
                       << " paddings";
  // Rule S13: padding of some elements after each power of two of them.
  for (auto [interval, padding] : llvm::zip_equal(intervals, paddings))
    if (interval < 1 || !llvm::isPowerOf2_64(uint64_t(interval)) || padding < 1)
      return emitError() << "padding of " << padding << " elements after each " << interval
                         << ": the first is 1 or more, the second a power of two";
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

// Rule S43: one part of those that there are is moved at a time.
static LogicalResult verifyPartNumber(Operation *op, SharedType ring, int64_t part) {
  if (part >= 0 && part < ring.getParts())
    return success();
  return op->emitOpError() << "moves part " << part << " of a tile that has " << ring.getParts();
}

// Rule S14: what has several tiles is accessed by stage, or through `simt.index`.
static LogicalResult verifyStage(Operation *op, SharedType ring, Value stage) {
  if (stage || ring.getStages() == 1)
    return success();
  return op->emitOpError() << "accesses " << ring.getStages() << " tiles at once: say which, by a stage";
}

LogicalResult StoreSharedOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  SharedType ring = getRing().getType();
  if (failed(verifyStage(*this, ring, getStage())) || failed(verifyPartNumber(*this, ring, int64_t(getPart()))))
    return failure();
  return verifySameTile(*this, tile, tile.getElementType(), ring);
}

LogicalResult LoadSharedOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  SharedType ring = getRing().getType();
  if (failed(verifyStage(*this, ring, getStage())) || failed(verifyPartNumber(*this, ring, int64_t(getPart()))) ||
      failed(verifySameTile(*this, tile, tile.getElementType(), ring)))
    return failure();
  // Rule S44: the rest is of the result's type, of a tile in parts.
  if (getRest() && (getRest().getType() != tile || ring.getParts() == 1))
    return emitOpError() << "reads one of " << ring.getParts() << " parts of " << tile << ", and has a rest of "
                         << getRest().getType();
  if (ring.getParts() == 1)
    return success();
  // Rule S45: registers alone say to which part an element belongs.
  if (!ring.offsetsOf(layoutOf(tile)).sublayoutIsZero({Dim::Lane, Dim::Warp}, {Dim::Register}))
    return emitOpError() << "reads a part of " << tile << " whose threads have elements of several parts";
  return success();
}

static int64_t findAxis(ArrayRef<int64_t> from, ArrayRef<int64_t> to) { // that is half as long in `from`
  for (auto [axis, size] : llvm::enumerate(from))
    if (2 * size == to[axis])
      return int64_t(axis);
  return -1;
}

std::pair<int64_t, int64_t> LoadRepackedOp::getAxes() {
  ArrayRef<int64_t> memory = getRing().getType().getShape(), tile = cast<RankedTensorType>(getType()).getShape();
  return {findAxis(memory, tile), findAxis(tile, memory)};
}

// Rule S74: one tile of bytes is read; the result has twice as many along one axis, and half as many along another.
LogicalResult LoadRepackedOp::verify() {
  SharedType ring = getRing().getType();
  auto tile = cast<RankedTensorType>(getType());
  bool fits = ring.getStages() == 1 && ring.getParts() == 1 && hasLayout(tile) && tile.getElementType().isInteger(8) &&
              ring.getElementType().isInteger(8) && tile.getRank() == int64_t(ring.getShape().size());
  if (fits) {
    auto [packed, wanted] = getAxes();
    SmallVector<int64_t> shape(ring.getShape());
    fits = packed >= 0 && wanted >= 0;
    if (fits) {
      shape[size_t(packed)] *= 2;
      shape[size_t(wanted)] /= 2;
      fits = ArrayRef(shape) == tile.getShape();
    }
  }
  if (fits)
    return success();
  return emitOpError() << "makes " << tile << " of " << ring << ": the result has bytes as the memory object, twice as "
                       << "many along one axis and half as many along another";
}

static bool arePaddedAlike(SharedType a, SharedType b) {
  return a.getIntervals() == b.getIntervals() && a.getPaddings() == b.getPaddings();
}

int64_t simt::leastAlignment(int64_t bytes) {
  return std::clamp(int64_t(llvm::PowerOf2Ceil(uint64_t(bytes))), scratchAlignment, memoryAlignment);
}

LogicalResult AllocOp::verify() {
  // Rule S40: a place where memory objects may begin.
  int64_t alignment = getScratch() ? scratchAlignment : leastAlignment(getRing().getType().getBytes());
  if (std::optional<uint64_t> start = getStart(); start && (int64_t(*start) < 0 || int64_t(*start) % alignment))
    return emitOpError() << "begins at byte " << int64_t(*start) << ": it must be a multiple of " << alignment;
  return success();
}

// Rule S46: only whole tiles have views and are accessed but by `simt.store_shared` and `simt.load_shared`.
static LogicalResult verifyWhole(Operation *op, SharedType memory) {
  if (memory.getParts() == 1)
    return success();
  return op->emitOpError() << "takes memory for " << memory.getParts() << " parts of a tile, one after the other";
}

LogicalResult IndexOp::verify() {
  SharedType ring = getRing().getType(), tile = getTile().getType();
  if (failed(verifyWhole(*this, ring)))
    return failure();
  // Rule S15: a tile of the ring.
  if (tile.getStages() != 1 || tile.getShape() != ring.getShape() || tile.getElementType() != ring.getElementType() ||
      !(tile.getLayout() == ring.getLayout()) || !arePaddedAlike(tile, ring))
    return emitOpError() << "takes " << tile << " out of " << ring;
  return success();
}

LogicalResult SubsliceOp::verify() {
  SharedType from = getSource().getType(), to = getPart().getType();
  ArrayRef<int64_t> offsets = getOffsets();
  if (failed(verifyWhole(*this, from)))
    return failure();
  // Rule S16: a part of one tile, at a multiple of its size, in the same layout.
  if (from.getStages() != 1 || to.getStages() != 1 || to.getElementType() != from.getElementType() ||
      !(to.getLayout() == from.getLayout()) || !arePaddedAlike(from, to) || offsets.size() != from.getShape().size())
    return emitOpError() << "takes " << to << " out of " << from;
  return triton::verifyPart(*this, offsets, to.getShape(), from.getShape());
}

int64_t SubsliceOp::elementOffset() {
  layout::Coordinates at;
  for (auto [axis, coordinate] : llvm::enumerate(getOffsets()))
    at.push_back({layout::tileDim(int(axis)), coordinate});
  return getSource().getType().placeOf().applyFlat(at);
}

LogicalResult ViewOp::verify() {
  SharedType from = getSource().getType(), to = getResult().getType();
  if (failed(verifyWhole(*this, from)) || failed(verifyWhole(*this, to)))
    return failure();
  // Rule S17: no bytes beyond those of the source.
  if (to.getBytes() > from.getBytes())
    return emitOpError() << "reads " << to.getBytes() << " bytes in a memory object of " << from.getBytes();
  // Rule S18: where elements change their size, offsets must be bytes alike on both sides.
  bool isPart = ShapedType::getNumElements(from.getShape()) != from.getTileElements();
  if (from.getElementBytes() != to.getElementBytes() && (from.isPadded() || to.isPadded() || isPart))
    return emitOpError() << "reads elements of " << to.getElementBytes() << " bytes in a padded memory object, or a "
                         << "part of one, of elements of " << from.getElementBytes();
  if (from.getElementBytes() == to.getElementBytes() && !arePaddedAlike(from, to))
    return emitOpError() << "reads " << to << " in " << from << ", which is padded in another way";
  return success();
}

namespace {
/// A copy to a stage of a memory object.
struct CopyShape {
  RankedTensorType tile; ///< of addresses
  Type element;
  SharedType ring;
  Value stage, mask;
  int64_t elements;
};
} // namespace

static LogicalResult verifyCopy(Operation *op, const CopyShape &copy) {
  if (failed(verifyWhole(op, copy.ring)) || failed(verifyStage(op, copy.ring, copy.stage)) ||
      failed(verifySameTile(op, copy.tile, copy.element, copy.ring)))
    return failure();
  // Rule S6: the mask has the layout of the addresses.
  if (copy.mask) {
    auto mask = cast<RankedTensorType>(copy.mask.getType());
    if (mask.getShape() != copy.tile.getShape() || mask.getEncoding() != copy.tile.getEncoding())
      return op->emitOpError() << "has a mask " << mask << " for addresses " << copy.tile;
  }
  // Rule S7: a thread copies 4, 8 or 16 bytes at once.
  int64_t bits = copy.elements * triton::elementBits(copy.element);
  if (bits != 32 && bits != 64 && bits != 128)
    return op->emitOpError() << "copies 4, 8 or 16 bytes at once, not " << copy.elements << " elements of "
                             << copy.element;
  // Rule S8: which are contiguous, in registers as in the stage.
  LinearLayout offsets = copy.ring.offsetsOf(layoutOf(copy.tile));
  for (Dim in : {Dim::Register, Dim::Lane, Dim::Warp})
    for (int bit = 0; bit < offsets.inputBits(in); ++bit) {
      int64_t offset = offsets.basis(in, bit, Dim::Offset);
      bool within = in == Dim::Register && int64_t(1) << bit < copy.elements;
      if (within ? offset != int64_t(1) << bit : offset % copy.elements != 0)
        return op->emitOpError() << "copies " << copy.elements
                                 << " elements at once, which are not contiguous in the ring";
    }
  return success();
}

LogicalResult AsyncCopyOp::verify() {
  auto tile = cast<RankedTensorType>(getPointers().getType());
  Type element = cast<triton::PointerType>(tile.getElementType()).getPointeeType();
  return verifyCopy(*this, {tile, element, getRing().getType(), getStage(), getMask(), int64_t(getElements())});
}

LogicalResult AsyncBufferCopyOp::verify() {
  return verifyCopy(*this, {cast<RankedTensorType>(getOffsets().getType()),
                            cast<triton::PointerType>(getPointer().getType()).getPointeeType(), getRing().getType(),
                            getStage(), getMask(), int64_t(getElements())});
}

LogicalResult BarrierOp::verify() {
  // Rule S56: of one kind.
  if (getWarp() && getShared())
    return emitOpError() << "is both of each warp and for shared memory alone: one of each warp is for that already";
  if (getCopies() && !getWarp())
    return emitOpError() << "has `copies` without `warp`: other barriers are for copies already";
  if (getBare() && (getWarp() || getShared()))
    return emitOpError() << "is `bare`, which orders nothing, and of another kind as well";
  return success();
}

LogicalResult AsyncWaitOp::verify() {
  // Rule S9: a number of groups.
  if (int64_t(getPending()) < 0)
    return emitOpError() << "leaves " << int64_t(getPending()) << " groups pending";
  // Rule S57: a number of instructions.
  if (std::optional<uint64_t> count = getInstructions(); count && int64_t(*count) < 0)
    return emitOpError() << "leaves " << int64_t(*count) << " instructions in flight";
  return success();
}

bool simt::liesAsLeftOperand(RankedTensorType left, RankedTensorType sum) {
  using layout::Dim;
  if (!hasLayout(left) || !hasLayout(sum))
    return false;
  const layout::LinearLayout &layout = layoutOf(sum);
  layout::Shape warps = {1, 1};
  for (int bit = 0; bit < layout.inputBits(Dim::Warp); ++bit)
    warps[layout.basis(Dim::Warp, bit, Dim::Dim0) ? 0 : 1] *= 2;
  layout::Shape shape(left.getShape().begin(), left.getShape().end());
  return warps[0] % 4 == 0 && layoutOf(left) == layout::wgmmaOperand(shape, warps, 32 / left.getElementTypeBitWidth());
}

LogicalResult DotSharedOp::verify() {
  bool isInRegisters = hasAInRegisters();
  auto b = getB().getType();
  auto a = cast<ShapedType>(isInRegisters
                                ? Type(getA().getType())
                                : Type(RankedTensorType::get(cast<SharedType>(getA().getType()).getShape(),
                                                             cast<SharedType>(getA().getType()).getElementType())));
  auto tile = cast<RankedTensorType>(getC().getType());
  // Rule S10: shapes as of a product, in f32 or of bytes in i32, with a layout, and elements of one size.
  if (a.getRank() != 2 || b.getShape().size() != 2 || tile.getRank() != 2 || !hasLayout(tile) ||
      !a.getElementType().isIntOrFloat() || a.getElementTypeBitWidth() != b.getElementType().getIntOrFloatBitWidth() ||
      !(tile.getElementType().isF32() ||
        (tile.getElementType().isInteger(32) && a.getElementType().isInteger(8) && b.getElementType().isInteger(8))))
    return emitOpError()
           << "multiplies matrices of elements of one size into f32, or of i8 into i32, with a layout, not "
           << getA().getType() << " and " << b << " into " << tile;
  int64_t m = a.getShape()[getATransposed() ? 1 : 0], k = a.getShape()[getATransposed() ? 0 : 1];
  int64_t n = b.getShape()[getBTransposed() ? 0 : 1], kOfB = b.getShape()[getBTransposed() ? 1 : 0];
  if (k != kOfB || tile.getDimSize(0) != m || tile.getDimSize(1) != n)
    return emitOpError() << "multiplies " << m << "x" << k << " by " << kOfB << "x" << n << " into " << tile;
  // Rule S11: operands lie as groups of warps read them.
  for (Value operand : {Value(getA()), Value(getB())})
    if (auto ring = dyn_cast<SharedType>(operand.getType()); ring && !operandLayout(ring))
      return emitOpError() << "reads rows swizzled over 32, 64 or 128 bytes, or of 16 bytes, not " << ring;
  // Rule S75: a number tells which tile of a ring, and a tile in registers has none, nor is it transposed.
  if (bool(getAStage()) == isInRegisters || (isInRegisters && getATransposed()))
    return emitOpError() << (isInRegisters ? "has its left operand in registers, with a number or transposed"
                                           : "has no number for its left operand, which is in shared memory");
  // Rule S76: a left operand in registers lies where the instruction reads it.
  auto left = dyn_cast<RankedTensorType>(getA().getType());
  if (left && !liesAsLeftOperand(left, tile))
    return emitOpError() << "has a left operand in registers whose layout is not that of the instruction: " << left;
  return success();
}

/// Whether others begin after the product that `wait` is for, at least as many as may be pending.
static bool isBehindPending(DotWaitOp wait) {
  Value value = wait.getStarted();
  while (auto stage = value.getDefiningOp<StageOp>())
    value = stage.getBody().front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
  auto started = value.getDefiningOp<DotSharedOp>();
  Operation *begin = started ? wait->getBlock()->findAncestorOpInBlock(*started) : nullptr;
  if (!begin)
    return false;
  bool isBegun = false;
  int64_t others = 0;
  for (Operation *op = begin; op != wait; op = op->getNextNode())
    op->walk([&](DotSharedOp other) {
      others += isBegun;
      isBegun |= other == started;
    });
  return others >= int64_t(wait.getPending());
}

LogicalResult DotWaitOp::verify() {
  int64_t pending = int64_t(getPending());
  if (pending < 0)
    return emitOpError() << "leaves " << pending << " matmuls pending";
  // Rule S12: what may be pending goes to those that leave it so.
  if (isBehindPending(*this))
    return success();
  for (Operation *user : getD().getUsers())
    if (pending && !isa<DotSharedOp, DotWaitOp>(user) && !user->hasTrait<mlir::OpTrait::IsTerminator>())
      return emitOpError() << "leaves a product pending, which " << user->getName() << " uses";
  return success();
}

std::optional<OperandLayout> simt::operandLayout(SharedType ring) {
  if (ring.getShape().size() != 2 || !ring.getElementType().isIntOrFloat() || ring.getParts() > 1)
    return std::nullopt;
  SmallVector<int64_t> whole = layoutShape(ring.getLayout()); // a part lies as the tile does of which it is one
  layout::Shape shape(whole.begin(), whole.end());
  int bits = int(ring.getElementType().getIntOrFloatBitWidth());
  for (bool columnMajor : {false, true})
    for (int64_t swizzle : {0, 32, 64, 128}) {
      int64_t rowBytes = std::max<int64_t>(16, swizzle), columns = shape[columnMajor ? 0 : 1],
              rows = shape[columnMajor ? 1 : 0];
      if (rows >= 8 && columns * bits >= rowBytes * 8 &&
          ring.getLayout() == layout::nvmmaShared(shape, swizzle, bits, columnMajor))
        return OperandLayout{columnMajor, swizzle, rows * rowBytes};
    }
  return std::nullopt;
}
