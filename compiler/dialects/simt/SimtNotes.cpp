// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attributes of this dialect on operations of others: what a module says of its layouts, a function of its registers, a
// reshape of its threads.
#include "compiler/dialects/simt/Simt.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

// Rule S26: a module names the chip and a number of warps that a block can have.
static LogicalResult verifyModule(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == targetAttribute) {
    if (isa<ModuleOp>(op) && isa<StringAttr>(attribute.getValue()))
      return success();
    return op->emitOpError() << "has `" << targetAttribute << "` " << attribute.getValue()
                             << ": it is the name of a chip, of a module";
  }
  auto warps = dyn_cast<IntegerAttr>(attribute.getValue());
  if (isa<ModuleOp>(op) && warps && warps.getType().isSignlessInteger(64) && warps.getInt() >= 1 &&
      llvm::isPowerOf2_64(uint64_t(warps.getInt())))
    return success();
  return op->emitOpError() << "has `" << warpsAttribute << "` " << attribute.getValue()
                           << ": it is the warps of a block, an i64 that is a power of two, of a module";
}

// Rule S27: a number of blocks, of a function.
static LogicalResult verifyResidentBlocks(Operation *op, Attribute attribute) {
  auto blocks = dyn_cast<IntegerAttr>(attribute);
  if (!blocks || !blocks.getType().isSignlessInteger(64) || blocks.getInt() < 1)
    return op->emitOpError() << "has `" << residentBlocksAttribute << "` " << attribute
                             << ", which is no number of blocks: it is an i64 of 1 or more";
  if (!isa<triton::FuncOp>(op))
    return op->emitOpError() << "has `" << residentBlocksAttribute << "`, which is a function's";
  return success();
}

// Rule S28: powers of two, of a reshape; a span of as many contiguous elements or more, of a tile with one dimension.
static LogicalResult verifyArrangement(Operation *op, NamedAttribute attribute) {
  auto number = dyn_cast<IntegerAttr>(attribute.getValue());
  if (!isa<triton::ReshapeOp>(op) || !number)
    return op->emitOpError() << "has `" << attribute.getName().getValue() << "` " << attribute.getValue()
                             << ": it is an integer, of `tt.reshape`";
  int64_t count = number.getInt();
  if (count < 1 || !llvm::isPowerOf2_64(uint64_t(count)))
    return op->emitOpError() << "has `" << attribute.getName().getValue() << "` " << count
                             << ", which is no power of two";
  if (attribute.getName() != spanAttribute)
    return success();
  auto contiguous = op->getAttrOfType<IntegerAttr>(contiguousAttribute);
  if (!contiguous || count < contiguous.getInt())
    return op->emitOpError() << "has `simt.span` " << count << " and "
                             << (contiguous ? "`simt.contiguous` " + std::to_string(contiguous.getInt())
                                            : std::string("no `simt.contiguous`"))
                             << ": a span is of as many contiguous elements or more";
  auto tile = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!tile || tile.getRank() != 1)
    return op->emitOpError() << "has `simt.span` and " << (tile ? tile.getRank() : 0)
                             << " dimensions: a span is of a tile with one";
  return success();
}

// Rule S85: a partition has 1, 2, 4 ... or 16 warps, from a warp of the block on, and registers that hardware gives.
static LogicalResult verifyPartition(Operation *op, NamedAttribute attribute) {
  auto number = dyn_cast<IntegerAttr>(attribute.getValue());
  int64_t value = number ? number.getInt() : -1;
  bool isWarps = attribute.getName() == warpsAttribute, isFirst = attribute.getName() == firstWarpAttribute;
  bool fits = isWarps   ? value >= 1 && value <= 16 && llvm::isPowerOf2_64(uint64_t(value))
              : isFirst ? value >= 1 && value < 32
                        : value >= 1 && value <= 256;
  if (fits)
    return success();
  return op->emitOpError() << "has `" << attribute.getName().getValue() << "` " << attribute.getValue()
                           << (isWarps   ? ": a partition has 1, 2, 4, 8 or 16 warps"
                               : isFirst ? ": the first warp of a partition is 1 to 31"
                                         : ": a thread has 1 to 256 registers");
}

// Rule S87: a loop's, without a value.
static LogicalResult verifyDeferral(Operation *op, NamedAttribute attribute) {
  if (isa<scf::ForOp>(op) && isa<UnitAttr>(attribute.getValue()))
    return success();
  return op->emitOpError() << "has `" << attribute.getName().getValue() << "` " << attribute.getValue()
                           << ": it is of `scf.for`, without a value";
}

LogicalResult SimtDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (isa<triton::FuncOp>(op) && (name == warpsAttribute || name == firstWarpAttribute || name == registersAttribute))
    return verifyPartition(op, attribute);
  if (name == targetAttribute || name == warpsAttribute)
    return verifyModule(op, attribute);
  if (name == residentBlocksAttribute)
    return verifyResidentBlocks(op, attribute.getValue());
  if (name == contiguousAttribute || name == spanAttribute)
    return verifyArrangement(op, attribute);
  if (name == defersSecondAttribute || name == deferredAttribute)
    return verifyDeferral(op, attribute);
  return op->emitOpError() << "has no attribute `" << name << "`";
}
