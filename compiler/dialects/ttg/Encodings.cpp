// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text of encodings of tiles, `#ttg.blocked<{sizePerThread = [1, 8], ...}>`, and their rules.
#include "compiler/dialects/ttg/EncodingText.h"

using namespace mlir;
using namespace heddle::triton;
using namespace heddle::triton::gpu;

Attribute BlockedAttr::parse(AsmParser &parser, Type) {
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  EncodingFields fields(parser);
  Numbers sizes = fields.list("sizePerThread"), lanes = fields.list("threadsPerWarp"),
          warps = fields.list("warpsPerCTA"), order = fields.list("order");
  fields.oneBlock("CGALayout");
  if (!fields.done() || parser.parseGreater())
    return {};
  return parser.getChecked<BlockedAttr>(at, parser.getContext(), List(sizes), List(lanes), List(warps), List(order));
}

void BlockedAttr::print(AsmPrinter &printer) const {
  printer << "<{sizePerThread = ";
  printNumbers(printer, getSizePerThread());
  printer << ", threadsPerWarp = ";
  printNumbers(printer, getThreadsPerWarp());
  printer << ", warpsPerCTA = ";
  printNumbers(printer, getWarpsPerCTA());
  printer << ", order = ";
  printNumbers(printer, getOrder());
  printer << "}>";
}

LogicalResult BlockedAttr::verify(EmitError emitError, ArrayRef<int64_t> sizes, ArrayRef<int64_t> lanes,
                                  ArrayRef<int64_t> warps, ArrayRef<int64_t> order) {
  if (failed(verifyPowers(emitError, "sizePerThread", sizes)) ||
      failed(verifyPowers(emitError, "threadsPerWarp", lanes)) || failed(verifyPowers(emitError, "warpsPerCTA", warps)))
    return failure();
  // Rule G3: all lists have a number for each axis.
  if (lanes.size() != sizes.size() || warps.size() != sizes.size())
    return emitError() << "`sizePerThread` is of " << sizes.size() << " axes, `threadsPerWarp` of " << lanes.size()
                       << ", `warpsPerCTA` of " << warps.size();
  return verifyOrder(emitError, order, sizes.size());
}

Attribute SliceAttr::parse(AsmParser &parser, Type) {
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  EncodingFields fields(parser);
  int64_t dim = fields.number("dim");
  Attribute parent = fields.attribute("parent");
  if (!fields.done() || parser.parseGreater())
    return {};
  return parser.getChecked<SliceAttr>(at, parser.getContext(), dim, parent);
}

void SliceAttr::print(AsmPrinter &printer) const {
  printer << "<{dim = " << getDim() << ", parent = " << getParent() << "}>";
}

LogicalResult SliceAttr::verify(EmitError emitError, int64_t dim, Attribute parent) {
  // Rule G4: a slice is of a layout of tiles that has the axis.
  std::optional<int64_t> rank = rankOf(parent);
  bool isLayout = isa<BlockedAttr, SliceAttr, DotOperandAttr, AmdMfmaAttr, NvidiaMmaAttr, LinearAttr,
                      gluon::AutoEncodingAttr, gluon::CoalescedEncodingAttr>(parent);
  if (!isLayout)
    return emitError() << "a slice of " << parent << ", which is no layout of tiles";
  if (dim < 0 || (rank && dim >= *rank))
    return emitError() << "slice dim " << dim << " of a layout of " << rank.value_or(0) << " axes";
  return success();
}

Attribute DotOperandAttr::parse(AsmParser &parser, Type) {
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  EncodingFields fields(parser);
  int64_t number = fields.number("opIdx"), kWidth = fields.number("kWidth", 0);
  Attribute parent = fields.attribute("parent");
  if (!fields.done() || parser.parseGreater())
    return {};
  return parser.getChecked<DotOperandAttr>(at, parser.getContext(), number, parent, kWidth);
}

void DotOperandAttr::print(AsmPrinter &printer) const {
  printer << "<{opIdx = " << getOpIdx() << ", parent = " << getParent();
  if (getKWidth())
    printer << ", kWidth = " << getKWidth();
  printer << "}>";
}

LogicalResult DotOperandAttr::verify(EmitError emitError, int64_t opIdx, Attribute parent, int64_t kWidth) {
  // Rule G5: operand 0 or 1 of a product whose results are in `parent`.
  if (opIdx != 0 && opIdx != 1)
    return emitError() << "opIdx is " << opIdx << ", not 0 or 1";
  if (!isa<BlockedAttr, AmdMfmaAttr, NvidiaMmaAttr>(parent))
    return emitError() << "an operand for results in " << parent;
  // Rule G6: matrix instructions need kWidth, other products have none.
  if (isa<AmdMfmaAttr, NvidiaMmaAttr>(parent) != (kWidth != 0))
    return emitError() << "kWidth is " << kWidth << " for results in " << parent
                       << (kWidth ? "" : ": say how many elements along K a lane holds");
  return kWidth ? verifyPowers(emitError, "kWidth", {kWidth}) : success();
}

Attribute AmdMfmaAttr::parse(AsmParser &parser, Type) {
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  EncodingFields fields(parser);
  int64_t version = fields.number("version"), bits = fields.number("elementBitWidth", 32);
  Numbers warps = fields.list("warpsPerCTA"), shape = fields.list("instrShape");
  bool transposed = fields.flag("isTransposed");
  Numbers tiles = fields.has("tilesPerWarp") ? fields.list("tilesPerWarp") : Numbers(warps.size(), 1);
  fields.oneBlock("CGALayout");
  if (!fields.done() || parser.parseGreater())
    return {};
  return parser.getChecked<AmdMfmaAttr>(at, parser.getContext(), version, List(warps), List(shape), transposed,
                                        List(tiles), bits);
}

void AmdMfmaAttr::print(AsmPrinter &printer) const {
  printer << "<{version = " << getVersion() << ", warpsPerCTA = ";
  printNumbers(printer, getWarpsPerCTA());
  printer << ", instrShape = ";
  printNumbers(printer, getInstrShape());
  printer << ", isTransposed = " << (getIsTransposed() ? "true" : "false");
  if (llvm::any_of(getTilesPerWarp(), [](int64_t tiles) { return tiles != 1; })) {
    printer << ", tilesPerWarp = ";
    printNumbers(printer, getTilesPerWarp());
  }
  if (getElementBitWidth() != 32)
    printer << ", elementBitWidth = " << getElementBitWidth();
  printer << "}>";
}

LogicalResult AmdMfmaAttr::verify(EmitError emitError, int64_t version, ArrayRef<int64_t> warps,
                                  ArrayRef<int64_t> shape, bool transposed, ArrayRef<int64_t> tiles, int64_t bits) {
  // Rule G7: CDNA 1 to 4. A layout of an older chip may hold tiles; a matmul is by an instruction of the target (K6).
  if (version < 1 || version > 4)
    return emitError() << "version " << version << " of matrix instructions is none of 1 to 4; gfx942 has 3, gfx950 4";
  // Rule G8: M x N x K of an instruction.
  bool known = shape.size() == 3 && ((shape[0] == shape[1] && (shape[0] == 16 || shape[0] == 32)) ||
                                     (shape[0] == 64 && shape[1] == 4) || (shape[0] == 4 && shape[1] == 64));
  if (!known)
    return emitError() << "`instrShape` is " << textOf(shape)
                       << ": M and N are 16 and 16, 32 and 32, 64 and 4 or 4 and 64, then comes K";
  if (shape[0] != shape[1] && transposed != (shape[0] > shape[1]))
    return emitError() << "`isTransposed` is " << (transposed ? "true" : "false") << " for `instrShape` "
                       << textOf(shape) << ": results of 64 x 4 are transposed, of 4 x 64 not";
  if (failed(verifyPowers(emitError, "instrShape", shape)) || failed(verifyPowers(emitError, "warpsPerCTA", warps)) ||
      failed(verifyPowers(emitError, "tilesPerWarp", tiles)))
    return failure();
  // Rule G9: matrices, or batches of them, of f32 / i32 or f64 results.
  if ((warps.size() != 2 && warps.size() != 3) || tiles.size() != warps.size())
    return emitError() << "`warpsPerCTA` is of " << warps.size() << " axes, `tilesPerWarp` of " << tiles.size()
                       << ": a product has 2, or 3 with batches";
  if (bits != 32 && bits != 64)
    return emitError() << "`elementBitWidth` is " << bits << ", not 32 or 64";
  return success();
}

Attribute LinearAttr::parse(AsmParser &parser, Type) {
  SMLoc at = parser.getCurrentLocation();
  std::optional<LinearBases> read = parseLinearBases(parser);
  if (!read)
    return {};
  return parser.getChecked<LinearAttr>(at, parser.getContext(), List(read->registers), List(read->lane),
                                       List(read->warp), read->rank);
}

void LinearAttr::print(AsmPrinter &printer) const {
  printer << "<{register = ";
  printBases(printer, getRegisterBases(), getRank());
  printer << ", lane = ";
  printBases(printer, getLane(), getRank());
  printer << ", warp = ";
  printBases(printer, getWarp(), getRank());
  printer << ", block = []}>";
}

static bool isBasis(int64_t number) {
  return number == 0 || (number > 0 && llvm::isPowerOf2_64(uint64_t(number)) && number < maxTileElements);
}

LogicalResult LinearAttr::verify(EmitError emitError, ArrayRef<int64_t> registers, ArrayRef<int64_t> lane,
                                 ArrayRef<int64_t> warp, int64_t rank) {
  // Rule G10: each bit moves along one axis at most, by a power of two, and no two by the same.
  llvm::DenseSet<std::pair<int64_t, int64_t>> moves;
  for (ArrayRef<int64_t> bases : {registers, lane, warp}) {
    constexpr size_t mostBits = llvm::ConstantLog2<maxTileElements>();
    if (rank && bases.size() / size_t(rank) > mostBits)
      return emitError() << "a number of registers, lanes or warps has " << bases.size() / size_t(rank)
                         << " bits: it has at most " << mostBits;
    if (const int64_t *wrong = llvm::find_if_not(bases, isBasis); wrong != bases.end())
      return emitError() << "the number " << *wrong << " of a basis is neither 0 nor a power of two below "
                         << maxTileElements;
    for (size_t first = 0; rank && first < bases.size(); first += size_t(rank)) {
      int64_t axes = 0;
      for (int64_t axis = 0; axis < rank; ++axis) {
        int64_t step = bases[first + size_t(axis)];
        axes += step != 0;
        if (step && !moves.insert({axis, step}).second)
          return emitError() << "two bits of registers, lanes and warps move along axis " << axis << " by " << step
                             << ": each moves by another power of two, or by 0 where threads have the same elements";
      }
      if (axes > 1)
        return emitError() << "a bit moves along " << axes << " axes";
    }
  }
  return success();
}
