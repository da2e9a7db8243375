// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text of encodings of shared memory, `#ttg.swizzled_shared<{vec = 8, ...}>`, and their rules.
#include "compiler/dialects/ttg/EncodingText.h"

using namespace mlir;
using namespace heddle::triton;
using namespace heddle::triton::gpu;

/// What swizzled and rotating layouts share.
template <typename Swizzle>
static Attribute parseSwizzle(AsmParser &parser) {
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  EncodingFields fields(parser);
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
  EncodingFields fields(parser);
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
  EncodingFields fields(parser);
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
