// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Registers the dialect; the text of layouts, which are long and therefore have aliases.
#include "compiler/dialects/simt/Simt.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using layout::Dim;
using layout::LinearLayout;

namespace heddle::layout {
static llvm::hash_code hash_value(const LinearLayout &layout) {
  return llvm::hash_code(layout.hash());
}
} // namespace heddle::layout

#include "compiler/dialects/simt/SimtDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/dialects/simt/SimtAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "compiler/dialects/simt/SimtTypes.cpp.inc"
#define GET_OP_CLASSES
#include "compiler/dialects/simt/SimtOps.cpp.inc"

namespace {
/// Layouts are long: the text names them, `#linear`, `#linear1`, ..., and says them once.
struct SimtAliases : public OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;
  AliasResult getAlias(Attribute attribute, raw_ostream &stream) const override {
    if (!isa<LinearAttr>(attribute))
      return AliasResult::NoAlias;
    stream << "linear";
    return AliasResult::FinalAlias;
  }
};
} // namespace

void SimtDialect::initialize() {
  addInterfaces<SimtAliases>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/dialects/simt/SimtAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/dialects/simt/SimtTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/dialects/simt/SimtOps.cpp.inc"
      >();
}

//===-- Layouts as text ------------------------------------------------------------------------------------------===//

static constexpr Dim places[] = {Dim::Register, Dim::Lane, Dim::Warp};

void LinearAttr::print(AsmPrinter &printer) const {
  const LinearLayout &layout = getLayout();
  printer << "<";
  for (Dim place : places) {
    printer << layout::dimName(place) << " = [";
    for (int bit = 0; bit < layout.inputBits(place); ++bit) {
      printer << (bit ? ", [" : "[");
      llvm::interleaveComma(layout.outputs(), printer,
                            [&](const LinearLayout::Output &out) { printer << layout.basis(place, bit, out.dim); });
      printer << "]";
    }
    printer << "], ";
  }
  printer << "shape = [";
  llvm::interleaveComma(layout.outputs(), printer, [&](const LinearLayout::Output &out) { printer << out.size; });
  printer << "]>";
}

static ParseResult parseNumbers(AsmParser &parser, std::vector<int64_t> &numbers) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        [&] { return parser.parseInteger(numbers.emplace_back()); });
}

Attribute LinearAttr::parse(AsmParser &parser, Type) {
  std::vector<LinearLayout::Input> inputs;
  if (parser.parseLess())
    return {};
  for (Dim place : places) {
    LinearLayout::Input input{place, {}};
    if (parser.parseKeyword(layout::dimName(place)) || parser.parseEqual() ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                       [&] { return parseNumbers(parser, input.bases.emplace_back()); }) ||
        parser.parseComma())
      return {};
    inputs.push_back(std::move(input));
  }
  llvm::SMLoc place = parser.getCurrentLocation();
  std::vector<int64_t> shape;
  if (parser.parseKeyword("shape") || parser.parseEqual() || parseNumbers(parser, shape) || parser.parseGreater())
    return {};
  if (shape.size() > size_t(layout::maxTileRank)) {
    parser.emitError(place) << "a tile has at most " << layout::maxTileRank << " dimensions, not " << shape.size();
    return {};
  }
  for (const LinearLayout::Input &input : inputs)
    for (const std::vector<int64_t> &basis : input.bases) {
      bool fits = basis.size() == shape.size();
      for (size_t i = 0; fits && i < basis.size(); ++i)
        fits = basis[i] >= 0 && basis[i] < shape[i];
      if (!fits) {
        parser.emitError(place) << "a basis of " << layout::dimName(input.dim) << " does not fit the shape";
        return {};
      }
    }
  std::vector<LinearLayout::Output> outputs;
  for (auto [axis, size] : llvm::enumerate(shape)) {
    if (!llvm::isPowerOf2_64(uint64_t(size))) {
      parser.emitError(place) << "dimension " << axis << " has size " << size << ", which is no power of two";
      return {};
    }
    outputs.push_back({layout::tileDim(int(axis)), size});
  }
  return get(parser.getContext(), LinearLayout(std::move(inputs), std::move(outputs)));
}

// Rule S41: the layout is of the tile's shape, and some thread has each element.
LogicalResult LinearAttr::verifyEncoding(ArrayRef<int64_t> shape, Type element,
                                         llvm::function_ref<InFlightDiagnostic()> emitError) const {
  const LinearLayout &layout = getLayout();
  SmallVector<int64_t> own;
  for (const LinearLayout::Output &out : layout.outputs())
    own.push_back(out.size);
  auto text = [](ArrayRef<int64_t> sizes) {
    std::string joined;
    for (int64_t size : sizes)
      joined += (joined.empty() ? "" : "x") + std::to_string(size);
    return joined;
  };
  if (ArrayRef<int64_t>(own) != shape)
    return emitError() << "a tile of " << text(shape) << " elements has a layout of " << text(own);
  if (!layout.isSurjective())
    return emitError() << "a tile of " << text(shape) << " elements has a layout that leaves some of them to no thread";
  return success();
}

//===-- Types ----------------------------------------------------------------------------------------------------===//

bool simt::hasLayout(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile && isa_and_nonnull<LinearAttr>(tile.getEncoding());
}

const LinearLayout &simt::layoutOf(Type type) {
  return cast<LinearAttr>(cast<RankedTensorType>(type).getEncoding()).getLayout();
}

RankedTensorType simt::withLayout(RankedTensorType tile, const LinearLayout &layout) {
  return RankedTensorType::get(tile.getShape(), tile.getElementType(), LinearAttr::get(tile.getContext(), layout));
}

int64_t simt::registersOf(Type type) {
  if (isa<SharedType>(type))
    return 2; // where the allocation begins, and elements from there
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? cast<LinearAttr>(tile.getEncoding()).getLayout().inputSize(Dim::Register) : 1;
}

//===-- Partitions -----------------------------------------------------------------------------------------------===//

int simt::warpsOf(Operation *function, int otherwise) {
  auto warps = function->getAttrOfType<IntegerAttr>(warpsAttribute);
  return warps ? int(warps.getInt()) : otherwise;
}

bool simt::isPartition(Operation *function) {
  return function->hasAttr(firstWarpAttribute);
}

//===-- Rules ----------------------------------------------------------------------------------------------------===//

LogicalResult ConvertLayoutOp::verify() {
  auto from = cast<RankedTensorType>(getSrc().getType()), to = cast<RankedTensorType>(getType());
  // Rule S1: the tile stays.
  if (from.getShape() != to.getShape() || from.getElementType() != to.getElementType())
    return emitOpError() << "turns a tile of " << from << " into one of " << to;
  // Rule S2: both have a layout.
  if (!hasLayout(from) || !hasLayout(to))
    return emitOpError() << "is between tiles with layouts, not " << from << " and " << to;
  return success();
}
