// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bulk copies of tensors, and partitions of the block's warps: their types as text, and their rules. Limits are those
// of PTX ISA 8.6, "Tensor Map".
#include "compiler/dialects/simt/Simt.h"
#include "compiler/dialects/triton/TritonVerify.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

//===-- Tensor maps ----------------------------------------------------------------------------------------------===//

Type TensorMapType::parse(AsmParser &parser) {
  SMLoc at = parser.getCurrentLocation();
  SmallVector<int64_t> shape;
  Type element;
  int64_t swizzle = 0;
  if (parser.parseLess() || parser.parseDimensionList(shape, /*allowDynamic=*/false) || parser.parseType(element) ||
      parser.parseComma() || parser.parseKeyword("swizzle") || parser.parseEqual() || parser.parseInteger(swizzle) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<TensorMapType>(at, parser.getContext(), ArrayRef<int64_t>(shape), element, swizzle);
}

void TensorMapType::print(AsmPrinter &printer) const {
  printer << "<";
  for (int64_t size : getShape())
    printer << size << "x";
  printer << getElementType() << ", swizzle = " << getSwizzle() << ">";
}

LogicalResult TensorMapType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape, Type element,
                                    int64_t swizzle) {
  // Rule S79: a block has 1 to 5 axes of powers of two, elements of 8 to 64 bits, and rows of 16 bytes or what is
  // swizzled.
  if (shape.empty() || shape.size() > 5 || !llvm::is_contained({0, 32, 64, 128}, swizzle) || !element.isIntOrFloat() ||
      !llvm::is_contained({8, 16, 32, 64}, element.getIntOrFloatBitWidth()) ||
      llvm::any_of(shape, [](int64_t size) { return size < 1 || !llvm::isPowerOf2_64(uint64_t(size)); }))
    return emitError()
           << "bulk copies move blocks of 1 to 5 axes of elements of 8, 16, 32 or 64 bits, swizzled over 0, "
              "32, 64 or 128 bytes, not "
           << triton::shapeText(shape) << " of " << element << " over " << swizzle;
  int64_t bytes = shape.back() * element.getIntOrFloatBitWidth() / 8, least = std::max<int64_t>(16, swizzle);
  if (bytes < least)
    return emitError() << "rows of " << bytes << " bytes: a bulk copy has rows of " << least << " or more";
  return success();
}

LogicalResult TensorMapOp::verify() {
  size_t rank = getMap().getType().getShape().size();
  // Rule S80: a size and a stride for each axis.
  if (getSizes().size() != rank || getStrides().size() != rank)
    return emitOpError() << "has " << getSizes().size() << " sizes and " << getStrides().size()
                         << " strides for a block of " << rank << " axes";
  return success();
}

static LogicalResult verifyCopy(Operation *op, TensorMapType map, size_t coordinates, SharedType memory) {
  ArrayRef<int64_t> block = map.getShape(), tile = memory.getShape();
  while (block.size() > tile.size() && block.front() == 1)
    block = block.drop_front();
  // Rule S81: between a block and a tile of its shape and elements, at a coordinate for each axis.
  if (coordinates != map.getShape().size() || block != tile || memory.getStages() != 1 ||
      map.getElementType() != memory.getElementType() || memory.isPadded() || memory.getParts() > 1)
    return op->emitOpError() << "copies between " << map << " at " << coordinates << " coordinates and " << memory;
  // Rule S86: what a box writes lies densely: of a part of a tile the rows, or columns of what is swizzled.
  bool isCut = false;
  int64_t rows = 1;
  for (auto [axis, out] : llvm::enumerate(memory.getLayout().outputs())) {
    bool isLast = axis + 1 == tile.size();
    isCut |= tile[axis] != out.size && rows > 1 && !(isLast && map.getSwizzle());
    rows *= tile[axis];
  }
  if (isCut)
    return op->emitOpError() << "copies a part of a tile whose rows do not follow each other in shared memory: "
                             << memory;
  return success();
}

LogicalResult BulkLoadOp::verify() {
  return verifyCopy(*this, getMap().getType(), getPlace().size(), getMemory().getType());
}

LogicalResult BulkStoreOp::verify() {
  return verifyCopy(*this, getMap().getType(), getPlace().size(), getMemory().getType());
}

LogicalResult BulkWaitOp::verify() {
  // Rule S82: a number of stores.
  if (int64_t(getPending()) < 0)
    return emitOpError() << "leaves " << int64_t(getPending()) << " stores in flight";
  return success();
}

//===-- Partitions -----------------------------------------------------------------------------------------------===//

LogicalResult StartPartitionsOp::verify() {
  auto kernel = (*this)->getParentOfType<triton::FuncOp>();
  auto module = (*this)->getParentOfType<ModuleOp>();
  for (Attribute each : getPartitions()) {
    StringRef name = cast<FlatSymbolRefAttr>(each).getValue();
    auto function = module ? module.lookupSymbol<triton::FuncOp>(name) : triton::FuncOp();
    // Rule S83: a partition is a function of the module with the kernel's arguments, warps and a first warp.
    if (!function || !isPartition(function) || function.getFunctionType() != kernel.getFunctionType())
      return emitOpError() << "starts '" << name << "', which is no `tt.func` with `" << firstWarpAttribute
                           << "` and the arguments of '" << kernel.getName() << "'";
  }
  // Rule S84: the join is in the same block.
  for (Operation *next = (*this)->getNextNode(); next; next = next->getNextNode())
    if (isa<JoinPartitionsOp>(next))
      return success();
  return emitOpError() << "is not followed by '" << JoinPartitionsOp::getOperationName() << "' in its block";
}
