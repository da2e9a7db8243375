// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The `tt` dialect: registration, the text of its types and functions, folds and memory effects. Verifier rules are in
// TritonVerify.cpp.
#include "compiler/dialects/triton/Triton.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::triton;

#include "compiler/dialects/triton/TritonDialect.cpp.inc"
#include "compiler/dialects/triton/TritonEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/dialects/triton/TritonAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "compiler/dialects/triton/TritonTypes.cpp.inc"

//===-- Text of single operations --------------------------------------------------------------------------------===//

// The source, then `allow_reorder` and `efficient_layout`; older text has `allow_reorder = true` in the attribute
// dictionary.
static ParseResult parseReshapeSource(OpAsmParser &parser, OpAsmParser::UnresolvedOperand &source,
                                      Attribute &allowReorder, Attribute &efficientLayout) {
  if (parser.parseOperand(source))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("allow_reorder")))
    allowReorder = parser.getBuilder().getUnitAttr();
  if (succeeded(parser.parseOptionalKeyword("efficient_layout")))
    efficientLayout = parser.getBuilder().getUnitAttr();
  return success();
}

static void printReshapeSource(OpAsmPrinter &printer, Operation *, Value source, Attribute allowReorder,
                               Attribute efficientLayout) {
  printer << source;
  if (isFlagSet(allowReorder))
    printer << " allow_reorder";
  if (isFlagSet(efficientLayout))
    printer << " efficient_layout";
}

// Lists in brackets that must have one length, since the operation stores only the sum of their lengths.
using OperandList = SmallVectorImpl<OpAsmParser::UnresolvedOperand>;
static ParseResult parseListsOfOneLength(OpAsmParser &parser, ArrayRef<std::pair<StringRef, OperandList *>> lists) {
  for (auto [index, list] : llvm::enumerate(lists)) {
    SMLoc location = parser.getCurrentLocation();
    if ((index && parser.parseComma()) || parser.parseOperandList(*list.second, AsmParser::Delimiter::Square))
      return failure();
    if (list.second->size() != lists.front().second->size())
      return parser.emitError(location) << "the list of " << list.first << " has " << list.second->size()
                                        << " values, that of " << lists.front().first << " has "
                                        << lists.front().second->size();
  }
  return success();
}

static ParseResult parseBlockPointerLists(OpAsmParser &parser, OperandList &shape, OperandList &strides,
                                          OperandList &offsets) {
  return parseListsOfOneLength(parser, {{"sizes", &shape}, {"strides", &strides}, {"offsets", &offsets}});
}

static void printBlockPointerLists(OpAsmPrinter &printer, Operation *, OperandRange shape, OperandRange strides,
                                   OperandRange offsets) {
  printer << "[" << shape << "], [" << strides << "], [" << offsets << "]";
}

static ParseResult parseDescriptorLists(OpAsmParser &parser, OperandList &shape, OperandList &strides) {
  return parseListsOfOneLength(parser, {{"sizes", &shape}, {"strides", &strides}});
}

static void printDescriptorLists(OpAsmPrinter &printer, Operation *, OperandRange shape, OperandRange strides) {
  printer << "[" << shape << "], [" << strides << "]";
}

#define GET_OP_CLASSES
#include "compiler/dialects/triton/TritonOps.cpp.inc"

void TritonDialect::initialize() {
  registerTypes();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/dialects/triton/TritonAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/dialects/triton/TritonOps.cpp.inc"
      >();
}

Operation *TritonDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location location) {
  return arith::ConstantOp::materialize(builder, value, type, location);
}

void TritonDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/dialects/triton/TritonTypes.cpp.inc"
      >();
}

//===-- Types ----------------------------------------------------------------------------------------------------===//

Type heddle::triton::maskTypeOf(Type pointer) {
  Type bit = IntegerType::get(pointer.getContext(), 1);
  if (auto tensor = dyn_cast<RankedTensorType>(pointer))
    return tensor.clone(bit);
  if (isBlockPointer(pointer))
    return cast<RankedTensorType>(cast<PointerType>(pointer).getPointeeType()).clone(bit);
  return bit;
}

Type heddle::triton::valueTypeOf(Type pointer) {
  if (auto tensor = dyn_cast<RankedTensorType>(pointer)) {
    if (auto element = dyn_cast<PointerType>(tensor.getElementType()))
      return tensor.clone(element.getPointeeType());
    return pointer;
  }
  if (auto scalar = dyn_cast<PointerType>(pointer))
    return scalar.getPointeeType();
  return pointer;
}

bool heddle::triton::isBlockPointer(Type type) {
  auto pointer = dyn_cast<PointerType>(type);
  return pointer && isa<RankedTensorType>(pointer.getPointeeType());
}

Type heddle::triton::basePointerOf(Type blockPointer) {
  auto pointer = cast<PointerType>(blockPointer);
  return PointerType::get(cast<RankedTensorType>(pointer.getPointeeType()).getElementType(), pointer.getAddressSpace());
}

bool heddle::triton::isFlagSet(Attribute flag) {
  auto value = dyn_cast_if_present<BoolAttr>(flag);
  return flag && (!value || value.getValue());
}

Type heddle::triton::elementTypeOf(Type type) {
  return getElementTypeOrSelf(type);
}

unsigned heddle::triton::elementBits(Type type) {
  Type element = elementTypeOf(type);
  if (isa<PointerType>(element))
    return 64;
  return element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
}

static constexpr std::pair<StringRef, int> spaceNames[] = {
    {"descriptor", descriptorSpace}, {"global", globalSpace}, {"constant", constantSpace}};

// "constant", as Triton 3.9 has it, or a number, as older text has it.
static ParseResult parseAddressSpace(AsmParser &parser, int &space) {
  std::string name;
  SMLoc location = parser.getCurrentLocation();
  if (failed(parser.parseOptionalString(&name)))
    return parser.parseInteger(space);
  const auto *known = llvm::find_if(spaceNames, [&](const auto &each) { return each.first == name; });
  if (known == std::end(spaceNames))
    return parser.emitError(location) << "\"" << name
                                      << "\" is no address space: \"global\", \"constant\", \"descriptor\" or a number";
  space = known->second;
  return success();
}

// !tt.ptr<T> or !tt.ptr<T, space>; address space 1, "global", is the default.
Type PointerType::parse(AsmParser &parser) {
  Type pointee;
  int space = globalSpace;
  if (parser.parseLess() || parser.parseType(pointee))
    return {};
  if (succeeded(parser.parseOptionalComma()) && parseAddressSpace(parser, space))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<PointerType>(parser.getContext(), pointee, space);
}

void PointerType::print(AsmPrinter &printer) const {
  int space = getAddressSpace();
  printer << "<" << getPointeeType();
  const auto *known = llvm::find_if(spaceNames, [&](const auto &each) { return each.second == space; });
  if (known == std::end(spaceNames))
    printer << ", " << space;
  else if (space != globalSpace)
    printer << ", \"" << known->first << "\"";
  printer << ">";
}

// !tt.tensordesc<tensor<64x64xf16>>, or since Triton 3.8 !tt.tensordesc<64x64xf16>. The first form is printed.
Type TensorDescType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  if (parser.parseLess())
    return {};
  SMLoc location = parser.getCurrentLocation();
  Attribute encoding;
  RankedTensorType block;
  OptionalParseResult full = parser.parseOptionalType(block);
  if (full.has_value()) {
    if (failed(*full))
      return {};
  } else {
    if (parser.parseDimensionList(shape, /*allowDynamic=*/false) || parser.parseType(element))
      return {};
    if (!RankedTensorType::isValidElementType(element)) {
      parser.emitError(location, "element type ") << element << " cannot be in a tensor descriptor";
      return {};
    }
    if (succeeded(parser.parseOptionalComma()) && parser.parseAttribute(encoding))
      return {};
    block = RankedTensorType::getChecked([&] { return parser.emitError(location); }, shape, element, encoding);
  }
  if (!block || parser.parseGreater())
    return {};
  return parser.getChecked<TensorDescType>(location, parser.getContext(), block);
}

void TensorDescType::print(AsmPrinter &printer) const {
  printer << "<" << getBlockType() << ">";
}

//===-- Functions ------------------------------------------------------------------------------------------------===//

FuncOp heddle::triton::findKernel(ModuleOp module, int &count) {
  FuncOp kernel;
  count = 0;
  for (FuncOp function : module.getOps<FuncOp>())
    if (function.isPublic() && !function.isExternal()) {
      kernel = function;
      ++count;
    }
  return count == 1 ? kernel : FuncOp();
}

void FuncOp::build(OpBuilder &builder, OperationState &state, StringRef name, FunctionType type,
                   ArrayRef<NamedAttribute> attributes) {
  state.addAttribute(SymbolTable::getSymbolAttrName(), builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  state.attributes.append(attributes.begin(), attributes.end());
  state.addRegion();
}

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &result) {
  auto type = [](Builder &builder, ArrayRef<Type> inputs, ArrayRef<Type> results, function_interface_impl::VariadicFlag,
                 std::string &) { return builder.getFunctionType(inputs, results); };
  return function_interface_impl::parseFunctionOp(parser, result, /*allowVariadic=*/false,
                                                  getFunctionTypeAttrName(result.name), type,
                                                  getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void FuncOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
                                           getArgAttrsAttrName(), getResAttrsAttrName());
}

//===-- Memory effects -------------------------------------------------------------------------------------------===//

void LoadOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getPtrMutable());
  if (isVolatileAccess()) // neither merged nor moved
    effects.emplace_back(MemoryEffects::Write::get());
}

template <typename Op>
static void addUnlessPure(Op op, SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (op.getPure())
    return;
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}

void ExternElementwiseOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  addUnlessPure(*this, effects);
}
Speculation::Speculatability ExternElementwiseOp::getSpeculatability() {
  return getPure() ? Speculation::Speculatable : Speculation::NotSpeculatable;
}
void ElementwiseInlineAsmOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  addUnlessPure(*this, effects);
}
Speculation::Speculatability ElementwiseInlineAsmOp::getSpeculatability() {
  return getPure() ? Speculation::Speculatable : Speculation::NotSpeculatable;
}

//===-- Folds ----------------------------------------------------------------------------------------------------===//

// A constant tile with one value stays a constant under every operation that only moves elements.
static OpFoldResult foldSplatConstant(Attribute source, Type resultType) {
  if (auto splat = dyn_cast_if_present<SplatElementsAttr>(source))
    return splat.resizeSplat(cast<ShapedType>(resultType));
  return {};
}

OpFoldResult SplatOp::fold(FoldAdaptor adaptor) {
  Attribute source = adaptor.getSrc();
  if (!source || !isa<IntegerAttr, FloatAttr>(source))
    return {};
  return DenseElementsAttr::get(cast<ShapedType>(getType()), source);
}

OpFoldResult ExpandDimsOp::fold(FoldAdaptor adaptor) {
  return foldSplatConstant(adaptor.getSrc(), getType());
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getSrc().getType() == getType())
    return getSrc();
  return foldSplatConstant(adaptor.getSrc(), getType());
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  bool isMarked = !(*this)->getDiscardableAttrs().empty(); // it says something about its result
  if (getSrc().getType() == getType() && !getAllowReorder() && !isMarked)
    return getSrc();
  return foldSplatConstant(adaptor.getSrc(), getType());
}

OpFoldResult TransOp::fold(FoldAdaptor adaptor) {
  ArrayRef<int32_t> order = getOrder();
  if (llvm::equal(order, llvm::seq<int32_t>(0, order.size())))
    return getSrc();
  return foldSplatConstant(adaptor.getSrc(), getType());
}

OpFoldResult AddPtrOp::fold(FoldAdaptor adaptor) {
  return matchPattern(adaptor.getOffset(), m_Zero()) ? getPtr() : Value();
}
