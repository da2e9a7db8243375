// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The verifier rules of the `tt` dialect for types (T), functions (F), hints (H), elementwise operations (E) and
// printing (P). Shapes, regions and products are in TritonVerifyTiles.cpp, memory in TritonVerifyMemory.cpp. A rule's
// number is the name of its negative test.
#include "compiler/dialects/triton/TritonVerify.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace heddle::triton;

//===-- Shared ---------------------------------------------------------------------------------------------------===//

std::string heddle::triton::shapeText(ArrayRef<int64_t> shape) {
  return shape.empty() ? "scalar"
                       : llvm::join(llvm::map_range(shape, [](int64_t d) { return std::to_string(d); }), "x");
}

std::string heddle::triton::shapeText(Type type) {
  return shapeText(shapeOf(type));
}

Type heddle::triton::signless(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return integer ? IntegerType::get(type.getContext(), integer.getWidth()) : type;
}

LogicalResult heddle::triton::verifyWithin(Operation *op, ArrayRef<int64_t> offsets, ArrayRef<int64_t> part,
                                           ArrayRef<int64_t> whole) {
  for (auto [axis, offset] : llvm::enumerate(offsets))
    if (offset < 0 || offset + part[axis] > whole[axis])
      return op->emitOpError() << "takes elements " << offset << " to " << offset + part[axis] - 1 << " of axis "
                               << axis << ", which has " << whole[axis];
  return success();
}

LogicalResult heddle::triton::verifyPart(Operation *op, ArrayRef<int64_t> offsets, ArrayRef<int64_t> part,
                                         ArrayRef<int64_t> whole) {
  for (auto [axis, offset] : llvm::enumerate(offsets))
    if (offset % part[axis])
      return op->emitOpError() << "takes " << part[axis] << " elements from " << offset << " on of axis " << axis
                               << ": it must be a multiple of " << part[axis];
  return verifyWithin(op, offsets, part, whole);
}

bool heddle::triton::isPermutation(ArrayRef<int32_t> order, size_t rank) {
  SmallVector<int32_t> sorted(order);
  llvm::sort(sorted);
  return sorted.size() == rank && llvm::equal(sorted, llvm::seq<int32_t>(0, rank));
}

bool heddle::triton::isMaskFor(Type mask, Type pointer) {
  Type expected = maskTypeOf(pointer);
  return haveSameShape(mask, expected) && elementTypeOf(mask) == elementTypeOf(expected);
}

bool heddle::triton::isValueFor(Type value, Type pointer) {
  Type expected = valueTypeOf(pointer);
  return haveSameShape(value, expected) && elementTypeOf(value) == elementTypeOf(expected);
}

//===-- Types ----------------------------------------------------------------------------------------------------===//

/// As many as a layout can have (layout::maxTileRank).
static constexpr int64_t maxTileDimensions = 24;

// Why `type` cannot be a tile; empty when it can.
static std::string tileProblem(RankedTensorType type) {
  // Rule T7: a tile has at most 24 dimensions.
  if (type.getRank() > maxTileDimensions)
    return "has " + std::to_string(type.getRank()) + " dimensions, but a tile has at most " +
           std::to_string(maxTileDimensions);
  int64_t elements = 1;
  for (int64_t size : type.getShape()) {
    // Rule T1: every dimension of a tile is a power of two.
    if (ShapedType::isDynamic(size))
      return "has a dynamic dimension, but the dimensions of a tile are powers of two";
    if (!llvm::isPowerOf2_64(size))
      return "has a dimension of " + std::to_string(size) + ", but the dimensions of a tile are powers of two";
    // Rule T2: a tile has at most 2^20 elements.
    if (size > maxTileElements || (elements *= size) > maxTileElements)
      return "has more than " + std::to_string(maxTileElements) + " elements, the most that a tile can have";
  }
  // Rule T3: the pointers in a tile point to scalars.
  if (isBlockPointer(type.getElementType()))
    return "has block pointers as elements, but the pointers in a tile point to scalars";
  return {};
}

static LogicalResult verifyTiles(Operation *op, TypeRange types, StringRef what) {
  for (auto [index, type] : llvm::enumerate(types))
    if (auto tensor = dyn_cast<RankedTensorType>(type)) {
      std::string problem = tileProblem(tensor);
      if (!problem.empty())
        return op->emitOpError() << what << " " << index << " of type " << type << " " << problem;
    }
  return success();
}

LogicalResult heddle::triton::OpTrait::verifyTileShapes(Operation *op) {
  return success(succeeded(verifyTiles(op, op->getOperandTypes(), "operand")) &&
                 succeeded(verifyTiles(op, op->getResultTypes(), "result")));
}

static bool isScalarOfMemory(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.isSignless() && llvm::is_contained({1u, 4u, 8u, 16u, 32u, 64u}, integer.getWidth());
  return isa<PointerType, Float16Type, BFloat16Type, Float32Type, Float64Type, Float8E4M3FNType, Float8E4M3FNUZType,
             Float8E5M2Type, Float8E5M2FNUZType>(type);
}

LogicalResult PointerType::verify(function_ref<InFlightDiagnostic()> emitError, Type pointee, int space) {
  // Rule T4: a pointer points to a scalar or to a block that could be a tile.
  auto block = dyn_cast<RankedTensorType>(pointee);
  if (!isScalarOfMemory(block ? block.getElementType() : pointee))
    return emitError() << "a pointer cannot point to " << pointee
                       << ", only to a scalar of the language or a block of them";
  if (block) {
    std::string problem = tileProblem(block);
    if (!problem.empty())
      return emitError() << "pointee " << pointee << " " << problem;
  }
  // Rule T5: an address space is not negative.
  if (space < 0)
    return emitError() << "address space " << space << " of a pointer is negative";
  return success();
}

LogicalResult TensorDescType::verify(function_ref<InFlightDiagnostic()> emitError, RankedTensorType block) {
  // Rule T6: a descriptor's block has 1 to 5 dimensions, could be a tile, and holds integers or floats.
  if (block.getRank() < 1 || block.getRank() > 5)
    return emitError() << "block of a tensor descriptor has " << block.getRank() << " dimensions, not 1 to 5";
  std::string problem = tileProblem(block);
  if (!problem.empty())
    return emitError() << "block " << block << " of a tensor descriptor " << problem;
  Type element = block.getElementType();
  if (isa<PointerType>(element) || !isScalarOfMemory(signless(element)))
    return emitError() << "block of a tensor descriptor cannot hold elements of type " << element;
  return success();
}

//===-- Hints ----------------------------------------------------------------------------------------------------===//

static bool isAxisHint(StringRef name) {
  return name == "tt.divisibility" || name == "tt.contiguity" || name == "tt.constancy";
}

// Values of a hint, or failure when it is neither an integer nor a list of 32-bit integers.
static FailureOr<SmallVector<int64_t>> hintValues(Attribute hint) {
  if (auto integer = dyn_cast<IntegerAttr>(hint))
    if (integer.getType().isInteger(32) || integer.getType().isInteger(64))
      return SmallVector<int64_t>{integer.getInt()};
  if (auto list = dyn_cast<DenseIntElementsAttr>(hint))
    if (list.getElementType().isInteger(32))
      return llvm::map_to_vector(list.getValues<int32_t>(), [](int32_t value) -> int64_t { return value; });
  return failure();
}

// Rule H1: an axis hint is a positive integer or a list of them.
static LogicalResult verifyAxisHint(Operation *op, NamedAttribute hint) {
  FailureOr<SmallVector<int64_t>> values = hintValues(hint.getValue());
  if (failed(values))
    return op->emitOpError() << "hint '" << hint.getName().strref() << "' is " << hint.getValue()
                             << ", neither an i32 nor a list of i32";
  for (int64_t value : *values)
    if (value < 1)
      return op->emitOpError() << "hint '" << hint.getName().strref() << "' is " << value << ", but hints are positive";
  return success();
}

LogicalResult TritonDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (isAxisHint(name)) {
    if (failed(verifyAxisHint(op, attribute)))
      return failure();
    // Rule H2: a list on an operation has one value per dimension of the first result, one for a scalar.
    auto list = dyn_cast<DenseElementsAttr>(attribute.getValue());
    if (list && op->getNumResults()) {
      int64_t wanted = std::max<int64_t>(1, shapeOf(op->getResult(0).getType()).size());
      if (list.getNumElements() != wanted)
        return op->emitOpError() << "hint '" << name << "' has " << list.getNumElements()
                                 << " values for a result of type " << op->getResult(0).getType() << ", which needs "
                                 << wanted;
    }
  }
  // Rule H3: counts on loops are integers and not negative.
  if (name == "tt.num_stages" || name == "tt.loop_unroll_factor") {
    auto count = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!count || !count.getType().isInteger(32) || count.getInt() < 0)
      return op->emitOpError() << "hint '" << name << "' is " << attribute.getValue() << ", not an i32 of at least 0";
  }
  return success();
}

LogicalResult TritonDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned, NamedAttribute attribute) {
  return isAxisHint(attribute.getName()) ? verifyAxisHint(op, attribute) : success();
}

//===-- Functions ------------------------------------------------------------------------------------------------===//

LogicalResult FuncOp::verify() {
  // Only a function that says `public` is a kernel; without a word it may be a fragment under test.
  if (getSymVisibility() != "public")
    return success();
  // Rule F1: a kernel returns nothing.
  if (!getResultTypes().empty())
    return emitOpError() << "'" << getSymName() << "' is a kernel and returns " << getResultTypes().size()
                         << " values; a kernel returns none";
  // Rule F2: a kernel takes numbers, pointers and descriptors.
  for (auto [index, type] : llvm::enumerate(getArgumentTypes()))
    if (!isScalarOfMemory(type) && !isa<TensorDescType>(type))
      return emitOpError() << "argument " << index << " of kernel '" << getSymName() << "' has type " << type
                           << ", but a launch passes numbers, pointers and descriptors only";
  return success();
}

// Rules T1 to T3 hold for the tiles of other dialects too. Operations of this dialect have checked theirs.
LogicalResult FuncOp::verifyRegions() {
  for (Block &block : getBody())
    if (failed(verifyTiles(*this, block.getArgumentTypes(), "block argument")))
      return failure();
  WalkResult result = getBody().walk([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (failed(verifyTiles(op, block.getArgumentTypes(), "block argument")))
          return WalkResult::interrupt();
    if (isa_and_nonnull<TritonDialect>(op->getDialect()))
      return WalkResult::advance();
    return failed(verifyTiles(op, op->getResultTypes(), "result")) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

// Compares what is given with what `callee` declares; `what` is "argument" or "result".
static LogicalResult compareTypes(Operation *op, FuncOp callee, TypeRange given, TypeRange declared, StringRef what) {
  if (given.size() != declared.size())
    return op->emitOpError() << "has " << given.size() << " " << what << "s, but '" << callee.getSymName() << "' has "
                             << declared.size();
  for (auto [index, pair] : llvm::enumerate(llvm::zip(given, declared)))
    if (std::get<0>(pair) != std::get<1>(pair))
      return op->emitOpError() << what << " " << index << " has type " << std::get<0>(pair) << ", but '"
                               << callee.getSymName() << "' declares " << std::get<1>(pair);
  return success();
}

// Rule F3: a return gives the function's results, in number and type.
LogicalResult ReturnOp::verify() {
  auto function = cast<FuncOp>((*this)->getParentOp());
  return compareTypes(*this, function, getSrcs().getTypes(), function.getResultTypes(), "result");
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // Rule F4: the callee is a function of the module.
  auto callee = symbols.lookupNearestSymbolFrom<FuncOp>(*this, getCalleeAttr());
  if (!callee)
    return emitOpError() << "calls '" << getCallee() << "', but there is no such function";
  // Rule F5: arguments and results agree with the callee.
  if (failed(compareTypes(*this, callee, getOperands().getTypes(), callee.getArgumentTypes(), "argument")))
    return failure();
  return compareTypes(*this, callee, getResultTypes(), callee.getResultTypes(), "result");
}

//===-- Elementwise ----------------------------------------------------------------------------------------------===//

// Rule E1: all operands and results are scalars, or all are tiles of one shape.
LogicalResult heddle::triton::OpTrait::verifySameTileShape(Operation *op) {
  Type first;
  std::string firstName;
  auto check = [&](TypeRange types, StringRef what) -> LogicalResult {
    for (auto [index, type] : llvm::enumerate(types)) {
      if (!first) {
        first = type;
        firstName = (what + " " + Twine(index)).str();
      } else if (!haveSameShape(first, type)) {
        return op->emitOpError() << what << " " << index << " of type " << type << " and " << firstName << " of type "
                                 << first << " differ in shape (" << shapeText(type) << " and " << shapeText(first)
                                 << ")";
      }
    }
    return success();
  };
  return success(succeeded(check(op->getOperandTypes(), "operand")) &&
                 succeeded(check(op->getResultTypes(), "result")));
}

// Rule E2: addresses are those of scalars; a block pointer is only for loads, stores and advance.
static LogicalResult rejectBlockPointer(Operation *op, Type type) {
  if (!isBlockPointer(type))
    return success();
  return op->emitOpError() << "cannot work on the block pointer " << type;
}

LogicalResult AddPtrOp::verify() {
  // Rule E3: the result of addptr has the pointer's type.
  if (getType() != getPtr().getType())
    return emitOpError() << "result type " << getType() << " is not the pointer's type " << getPtr().getType();
  return rejectBlockPointer(*this, getType());
}

LogicalResult IntToPtrOp::verify() {
  return rejectBlockPointer(*this, getType());
}
LogicalResult PtrToIntOp::verify() {
  return rejectBlockPointer(*this, getSrc().getType());
}

LogicalResult BitcastOp::verify() {
  Type from = elementTypeOf(getSrc().getType()), to = elementTypeOf(getType());
  if (failed(rejectBlockPointer(*this, from)) || failed(rejectBlockPointer(*this, to)))
    return failure();
  auto fromPointer = dyn_cast<PointerType>(from), toPointer = dyn_cast<PointerType>(to);
  // Rule E4: a pointer becomes only another pointer, and only a pointer becomes one.
  if (!fromPointer != !toPointer)
    return emitOpError() << "cannot turn " << from << " into " << to << ": a pointer can only become another pointer";
  // Rule E5: the address space stays.
  if (fromPointer && fromPointer.getAddressSpace() != toPointer.getAddressSpace())
    return emitOpError() << "cannot move a pointer from address space " << fromPointer.getAddressSpace() << " to "
                         << toPointer.getAddressSpace();
  // Rule E6: the width stays.
  if (elementBits(from) != elementBits(to))
    return emitOpError() << "cannot turn " << from << " into " << to << ": they have " << elementBits(from) << " and "
                         << elementBits(to) << " bits";
  return success();
}

LogicalResult FpToFpOp::verify() {
  Type from = elementTypeOf(getSrc().getType()), to = elementTypeOf(getType());
  // Rule E7: a conversion to fewer bits says how it rounds.
  if (elementBits(to) < elementBits(from) && !getRounding())
    return emitOpError() << "from " << from << " to " << to << " loses bits and needs a 'rounding'";
  // Rule E8: a conversion to more bits does not round.
  if (elementBits(to) > elementBits(from) && getRounding())
    return emitOpError() << "from " << from << " to " << to << " loses no bits, so it takes no 'rounding'";
  return success();
}

// Rule E9: an external function has a name.
LogicalResult ExternElementwiseOp::verify() {
  return getSymbol().empty() ? emitOpError("has an empty 'symbol'") : success();
}

LogicalResult ElementwiseInlineAsmOp::verify() {
  // Rule E10: the elements of a tile are a whole number of packs.
  int32_t pack = getPackedElement();
  if (pack < 1)
    return emitOpError() << "'packed_element' is " << pack << ", but at least one element is passed at a time";
  SmallVector<Type> types(getOperandTypes());
  llvm::append_range(types, getResultTypes());
  auto tile = types.empty() ? RankedTensorType() : dyn_cast<RankedTensorType>(types.front());
  if (tile && tile.getNumElements() % pack)
    return emitOpError() << "the " << tile.getNumElements() << " elements of " << tile << " are not a multiple of "
                         << "'packed_element' = " << pack;
  return success();
}

// Rule E11: the fast quotient is one of f32.
LogicalResult ApproxDivFOp::verify() {
  Type element = elementTypeOf(getType());
  return element.isF32() ? success() : emitOpError() << "divides f32, not " << element;
}

//===-- Debugging ------------------------------------------------------------------------------------------------===//

// Rule P1: print says of each value whether it is signed.
LogicalResult PrintOp::verify() {
  if (getIsSigned().size() != getArgs().size())
    return emitOpError() << "prints " << getArgs().size() << " values, but 'isSigned' has " << getIsSigned().size();
  return success();
}
