// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text of encodings, `#ttg.blocked<{sizePerThread = [1, 8], ...}>`, and their rules.
#include "compiler/dialects/ttg/TritonGpu.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace heddle::triton;
using namespace heddle::triton::gpu;

namespace {

using Numbers = SmallVector<int64_t>;
using List = ArrayRef<int64_t>;

/// The dictionary of an encoding, key by key. The first error is reported; what comes after it is harmless.
class Fields {
public:
  explicit Fields(AsmParser &parser) : parser(parser), at(parser.getCurrentLocation()) {
    failed = bool(parser.parseAttribute(dictionary));
  }

  Attribute attribute(StringRef key) {
    seen.insert(key);
    Attribute found = failed ? Attribute() : dictionary.get(key);
    if (!found && !failed)
      fail("expected `" + key + "`");
    return found;
  }
  bool has(StringRef key) const { return !failed && dictionary.contains(key); }

  int64_t number(StringRef key, std::optional<int64_t> otherwise = {}) {
    seen.insert(key);
    if (otherwise && !has(key))
      return *otherwise;
    auto value = dyn_cast_or_null<IntegerAttr>(attribute(key));
    if (!value || value.getType().isInteger(1))
      return fail("`" + key + "` is no number"), 1;
    return value.getInt();
  }
  bool flag(StringRef key) {
    auto value = dyn_cast_or_null<BoolAttr>(attribute(key));
    if (!value)
      return fail("`" + key + "` is not true or false"), false;
    return value.getValue();
  }
  Numbers list(StringRef key) {
    Numbers result;
    toNumbers(key, attribute(key), result);
    return result;
  }
  /// One after the other; `rank` is how many numbers each has, and set by the first of all.
  Numbers bases(StringRef key, int64_t &rank) {
    Numbers result;
    auto all = dyn_cast_or_null<ArrayAttr>(attribute(key));
    if (!all)
      return fail("`" + key + "` is no list"), result;
    for (Attribute each : all) {
      size_t before = result.size();
      toNumbers(key, each, result);
      auto count = int64_t(result.size() - before);
      rank = rank ? rank : count;
      if (count != rank)
        fail("`" + key + "` has bases of " + llvm::Twine(rank) + " and of " + llvm::Twine(count) + " axes");
    }
    return result;
  }
  /// One CTA in a cluster, as Triton prints it or leaves it out.
  void oneBlock(StringRef key) {
    seen.insert(key);
    auto all = has(key) ? dyn_cast<ArrayAttr>(dictionary.get(key)) : ArrayAttr();
    if (has(key) && (!all || !all.empty()))
      fail("`" + key + "` is of clusters of blocks, which AMD's chips have not");
  }
  /// Whether all went well; refuses keys that nobody asked for.
  bool done() {
    for (NamedAttribute named : failed ? ArrayRef<NamedAttribute>() : dictionary.getValue())
      if (!seen.contains(named.getName()))
        fail("unknown `" + named.getName().getValue() + "`");
    return !failed;
  }

private:
  void fail(const llvm::Twine &why) {
    if (!std::exchange(failed, true))
      parser.emitError(at) << why;
  }
  void toNumbers(StringRef key, Attribute attribute, Numbers &result) {
    auto all = dyn_cast_or_null<ArrayAttr>(attribute);
    if (!all)
      return fail("`" + key + "` is no list of numbers");
    for (Attribute each : all) {
      auto value = dyn_cast<IntegerAttr>(each);
      if (!value)
        return fail("`" + key + "` has an element that is no number");
      result.push_back(value.getInt());
    }
  }

  AsmParser &parser;
  SMLoc at;
  DictionaryAttr dictionary;
  llvm::DenseSet<StringRef> seen;
  bool failed;
};

using EmitError = function_ref<InFlightDiagnostic()>;

bool isOrder(ArrayRef<int64_t> order) {
  Numbers sorted(order);
  llvm::sort(sorted);
  for (auto [i, axis] : llvm::enumerate(sorted))
    if (axis != int64_t(i))
      return false;
  return true;
}

std::string textOf(ArrayRef<int64_t> numbers) {
  std::string text = "[";
  for (int64_t number : numbers)
    text += (text.size() > 1 ? ", " : "") + std::to_string(number);
  return text + "]";
}

LogicalResult verifyPowers(EmitError emitError, StringRef what, ArrayRef<int64_t> numbers) {
  // Rule G1: sizes are powers of two, and no larger than a tile may be.
  for (int64_t number : numbers)
    if (number < 1 || !llvm::isPowerOf2_64(uint64_t(number)) || number > maxTileElements)
      return emitError() << "`" << what << "` has " << number << ", which is no power of two from 1 to "
                         << maxTileElements;
  return success();
}

LogicalResult verifyOrder(EmitError emitError, ArrayRef<int64_t> order, size_t rank) {
  // Rule G2: an order names each axis once.
  if (order.size() == rank && isOrder(order))
    return success();
  return emitError() << "`order` is " << textOf(order) << " for " << rank << " axes";
}

void printNumbers(AsmPrinter &printer, ArrayRef<int64_t> numbers) {
  printer << "[";
  llvm::interleaveComma(numbers, printer);
  printer << "]";
}

void printBases(AsmPrinter &printer, ArrayRef<int64_t> numbers, int64_t rank) {
  printer << "[";
  for (int64_t first = 0; rank && first < int64_t(numbers.size()); first += rank) {
    printer << (first ? ", " : "");
    printNumbers(printer, numbers.slice(size_t(first), size_t(rank)));
  }
  printer << "]";
}

} // namespace

//===-- Tiles ----------------------------------------------------------------------------------------------------===//

Attribute BlockedAttr::parse(AsmParser &parser, Type) {
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  Fields fields(parser);
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
  Fields fields(parser);
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
  bool isLayout = isa<BlockedAttr, SliceAttr, DotOperandAttr, AmdMfmaAttr, LinearAttr, gluon::AutoEncodingAttr,
                      gluon::CoalescedEncodingAttr>(parent);
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
  Fields fields(parser);
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
  if (!isa<BlockedAttr, AmdMfmaAttr>(parent))
    return emitError() << "an operand for results in " << parent;
  // Rule G6: matrix instructions need kWidth, other products have none.
  if (isa<AmdMfmaAttr>(parent) != (kWidth != 0))
    return emitError() << "kWidth is " << kWidth << " for results in " << parent
                       << (kWidth ? "" : ": say how many elements along K a lane holds");
  return kWidth ? verifyPowers(emitError, "kWidth", {kWidth}) : success();
}

Attribute AmdMfmaAttr::parse(AsmParser &parser, Type) {
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  Fields fields(parser);
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
                                  ArrayRef<int64_t> shape, bool, ArrayRef<int64_t> tiles, int64_t bits) {
  // Rule G7: CDNA 3 (version 3) or CDNA 4 (version 4).
  if (version != 3 && version != 4)
    return emitError() << "version " << version << " of matrix instructions is neither 3 (gfx942) nor 4 (gfx950)";
  // Rule G8: M x N x K of an instruction.
  bool known = shape.size() == 3 && ((shape[0] == shape[1] && (shape[0] == 16 || shape[0] == 32)) ||
                                     (shape[0] == 64 && shape[1] == 4) || (shape[0] == 4 && shape[1] == 64));
  if (!known)
    return emitError() << "`instrShape` is " << textOf(shape)
                       << ": M and N are 16 and 16, 32 and 32, 64 and 4 or 4 and 64, then comes K";
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
  if (parser.parseLess())
    return {};
  Fields fields(parser);
  int64_t rank = 0;
  Numbers registers = fields.bases("register", rank), lane = fields.bases("lane", rank),
          warp = fields.bases("warp", rank);
  (void)fields.attribute("block");
  fields.oneBlock("block");
  if (!fields.done() || parser.parseGreater())
    return {};
  return parser.getChecked<LinearAttr>(at, parser.getContext(), List(registers), List(lane), List(warp), rank);
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

static bool areBases(ArrayRef<int64_t> numbers) {
  return llvm::all_of(numbers, [](int64_t number) {
    return number == 0 || (number > 0 && llvm::isPowerOf2_64(uint64_t(number)) && number < maxTileElements);
  });
}

LogicalResult LinearAttr::verify(EmitError emitError, ArrayRef<int64_t> registers, ArrayRef<int64_t> lane,
                                 ArrayRef<int64_t> warp, int64_t rank) {
  // Rule G10: each bit moves along one axis at most, by a power of two, and no two by the same.
  llvm::DenseSet<std::pair<int64_t, int64_t>> moves;
  for (ArrayRef<int64_t> bases : {registers, lane, warp}) {
    if (!areBases(bases))
      return emitError() << "a basis has a number that is neither 0 nor a power of two";
    for (size_t first = 0; rank && first < bases.size(); first += size_t(rank)) {
      int64_t axes = 0;
      for (int64_t axis = 0; axis < rank; ++axis) {
        int64_t step = bases[first + size_t(axis)];
        axes += step != 0;
        if (step && !moves.insert({axis, step}).second)
          return emitError() << "two bits move along axis " << axis << " by " << step;
      }
      if (axes > 1)
        return emitError() << "a bit moves along " << axes << " axes";
    }
  }
  return success();
}

//===-- Shared memory --------------------------------------------------------------------------------------------===//

/// What swizzled and rotating layouts share.
template <typename Swizzle>
static Attribute parseSwizzle(AsmParser &parser) {
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  Fields fields(parser);
  int64_t vec = fields.number("vec"), perPhase = fields.number("perPhase"), maxPhase = fields.number("maxPhase");
  Numbers order = fields.list("order");
  fields.oneBlock("CGALayout");
  if (!fields.done() || parser.parseGreater())
    return {};
  return parser.getChecked<Swizzle>(at, parser.getContext(), vec, perPhase, maxPhase, List(order));
}

template <typename Swizzle>
static void printSwizzle(AsmPrinter &printer, Swizzle swizzle) {
  printer << "<{vec = " << swizzle.getVec() << ", perPhase = " << swizzle.getPerPhase()
          << ", maxPhase = " << swizzle.getMaxPhase() << ", order = ";
  printNumbers(printer, swizzle.getOrder());
  printer << "}>";
}

static LogicalResult verifySwizzle(EmitError emitError, int64_t vec, int64_t perPhase, int64_t maxPhase, List order) {
  for (auto [what, number] :
       {std::pair<StringRef, int64_t>{"vec", vec}, {"perPhase", perPhase}, {"maxPhase", maxPhase}})
    if (failed(verifyPowers(emitError, what, {number})))
      return failure();
  return verifyOrder(emitError, order, order.size());
}

Attribute SwizzledSharedAttr::parse(AsmParser &parser, Type) {
  return parseSwizzle<SwizzledSharedAttr>(parser);
}

void SwizzledSharedAttr::print(AsmPrinter &printer) const {
  printSwizzle(printer, *this);
}

LogicalResult SwizzledSharedAttr::verify(EmitError emitError, int64_t vec, int64_t perPhase, int64_t maxPhase,
                                         ArrayRef<int64_t> order) {
  return verifySwizzle(emitError, vec, perPhase, maxPhase, order);
}

Attribute RotatingSharedAttr::parse(AsmParser &parser, Type) {
  return parseSwizzle<RotatingSharedAttr>(parser);
}

void RotatingSharedAttr::print(AsmPrinter &printer) const {
  printSwizzle(printer, *this);
}

LogicalResult RotatingSharedAttr::verify(EmitError emitError, int64_t vec, int64_t perPhase, int64_t maxPhase,
                                         ArrayRef<int64_t> order) {
  return verifySwizzle(emitError, vec, perPhase, maxPhase, order);
}

// `<[512:+16] {order = [1, 0], shape = [64, 64]}>`, or `{offset = [[0, 1], ...], block = []}` in the place of order
// and shape.
Attribute PaddedSharedAttr::parse(AsmParser &parser, Type) {
  SMLoc at = parser.getCurrentLocation();
  Numbers intervals, paddings;
  auto parseOne = [&]() -> ParseResult {
    return failure(parser.parseInteger(intervals.emplace_back()) || parser.parseColon() || parser.parsePlus() ||
                   parser.parseInteger(paddings.emplace_back()));
  };
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return {};
  Fields fields(parser);
  Numbers order, shape, offset;
  if (fields.has("offset")) {
    int64_t rank = 0;
    offset = fields.bases("offset", rank);
    fields.oneBlock("block");
    shape.assign(size_t(rank), 1);
    for (auto [i, step] : llvm::enumerate(offset))
      if (step > 0)
        shape[i % size_t(rank)] = std::max(shape[i % size_t(rank)], int64_t(llvm::bit_floor(uint64_t(step))) * 2);
  } else {
    order = fields.list("order");
    shape = fields.list("shape");
  }
  fields.oneBlock("CGALayout");
  if (!fields.done() || parser.parseGreater())
    return {};
  return parser.getChecked<PaddedSharedAttr>(at, parser.getContext(), List(intervals), List(paddings), List(order),
                                             List(shape), List(offset));
}

void PaddedSharedAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  for (auto [i, interval, padding] : llvm::enumerate(getIntervals(), getPaddings()))
    printer << (i ? ", " : "") << interval << ":+" << padding;
  printer << "] {";
  if (getOffset().empty()) {
    printer << "order = ";
    printNumbers(printer, getOrder());
    printer << ", shape = ";
    printNumbers(printer, getShape());
  } else {
    printer << "offset = ";
    printBases(printer, getOffset(), int64_t(getShape().size()));
    printer << ", block = []";
  }
  printer << "}>";
}

LogicalResult PaddedSharedAttr::verify(EmitError emitError, ArrayRef<int64_t> intervals, ArrayRef<int64_t> paddings,
                                       ArrayRef<int64_t> order, ArrayRef<int64_t> shape, ArrayRef<int64_t> offset) {
  if (failed(verifyPowers(emitError, "interval", intervals)) || failed(verifyPowers(emitError, "shape", shape)))
    return failure();
  // Rule G11: elements of padding after each interval.
  for (auto [interval, padding] : llvm::zip(intervals, paddings))
    if (padding < 1 || padding > maxTileElements)
      return emitError() << padding << " elements of padding after " << interval;
  return offset.empty() ? verifyOrder(emitError, order, shape.size()) : success();
}

Attribute SharedLinearAttr::parse(AsmParser &parser, Type) {
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  Fields fields(parser);
  int64_t rank = 0, alignment = 16;
  Numbers offset = fields.bases("offset", rank);
  fields.oneBlock("block");
  if (!fields.done())
    return {};
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("alignment") || parser.parseEqual() || parser.parseInteger(alignment)))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<SharedLinearAttr>(at, parser.getContext(), List(offset), rank, alignment);
}

void SharedLinearAttr::print(AsmPrinter &printer) const {
  printer << "<{offset = ";
  printBases(printer, getOffset(), getRank());
  printer << "}, alignment = " << getAlignment() << ">";
}

LogicalResult SharedLinearAttr::verify(EmitError emitError, ArrayRef<int64_t>, int64_t, int64_t alignment) {
  return verifyPowers(emitError, "alignment", {alignment});
}
