// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The `ttng` dialect and the rules of its operations.
#include "compiler/dialects/triton/TritonVerify.h"
#include "compiler/dialects/ttg/TritonGpu.h"

using namespace mlir;
using namespace heddle::triton;
using namespace heddle::triton::gpu;
using namespace heddle::triton::nvgpu;

#include "compiler/dialects/ttg/NvidiaGpuDialect.cpp.inc"

void NvidiaGpuDialect::initialize() {
  addOperations<ArriveBarrierOp, AsyncCopyMbarrierArriveOp, AsyncTMACopyGlobalToLocalOp, AsyncTMACopyLocalToGlobalOp,
                AsyncTMAReduceOp, BarrierExpectOp, FenceAsyncSharedOp, InitBarrierOp, InvalBarrierOp, TMAStoreWaitOp,
                WaitBarrierOp, WarpGroupDotOp, WarpGroupDotWaitOp>();
}

//===-- Matmuls --------------------------------------------------------------------------------------------------===//

LogicalResult WarpGroupDotOp::verify() {
  auto shapeAndElement = [](Type type) {
    if (auto memory = dyn_cast<MemDescType>(type))
      return std::pair(SmallVector<int64_t>(memory.getShape()), memory.getElementType());
    auto tile = cast<RankedTensorType>(type);
    return std::pair(SmallVector<int64_t>(tile.getShape()), tile.getElementType());
  };
  auto [a, aElement] = shapeAndElement(getA().getType());
  auto [b, bElement] = shapeAndElement(getB().getType());
  auto d = cast<RankedTensorType>(getD().getType());
  // Rule N4: M x K by K x N into M x N, elements of one size.
  if (a.size() != 2 || b.size() != 2 || d.getRank() != 2 || a[1] != b[0] || d.getShape() != ArrayRef({a[0], b[1]}) ||
      elementBits(aElement) == 0 || elementBits(aElement) != elementBits(bElement))
    return emitOpError() << "multiplies " << getA().getType() << " by " << getB().getType() << " into " << d;
  // Rule N15: groups of four warps have the rows of an instruction.
  auto mma = dyn_cast_or_null<NvidiaMmaAttr>(d.getEncoding());
  if (!mma || mma.getVersionMajor() != 3 || mma.getWarpsPerCTA().front() % 4 != 0)
    return emitOpError() << "has a result in " << d.getEncoding()
                         << ": it is `nvidia_mma` of version 3, with 4 warps or a multiple along M";
  return success();
}

// Rule N5: a wait leaves a number of matmuls or copies in flight.
static LogicalResult verifyPending(Operation *op, uint32_t number, const char *things) {
  if (int32_t(number) >= 0)
    return success();
  return op->emitOpError() << "leaves " << int32_t(number) << " " << things << " in flight: give 0 or more";
}

LogicalResult WarpGroupDotWaitOp::verify() {
  return verifyPending(*this, getPendings(), "matmuls of warp groups");
}

LogicalResult TMAStoreWaitOp::verify() {
  return verifyPending(*this, getPendings(), "bulk copies");
}

//===-- Barrier objects ------------------------------------------------------------------------------------------===//

// Rule N6: a barrier object is one i64 of a mutable memory object.
static LogicalResult verifyBarrier(Operation *op, MemDescType object) {
  if (object.getElementType().isInteger(64) && ShapedType::getNumElements(object.getShape()) == 1 &&
      object.getMutableMemory())
    return success();
  return op->emitOpError() << "takes " << object
                           << " as a barrier object, which is `!ttg.memdesc<1xi64, ..., mutable>`";
}

static LogicalResult verifyCount(Operation *op, uint32_t count, uint32_t most) {
  // Rule N7: a phase has 1 to 2^20 - 1 arrivals or bytes of copies.
  if (count >= 1 && count <= most)
    return success();
  return op->emitOpError() << "counts " << int32_t(count) << ": a barrier object counts 1 to " << most;
}

static constexpr uint32_t mostArrivals = (1 << 20) - 1;

LogicalResult InitBarrierOp::verify() {
  return failed(verifyBarrier(*this, getAlloc().getType())) ? failure() : verifyCount(*this, getCount(), mostArrivals);
}

LogicalResult InvalBarrierOp::verify() {
  return verifyBarrier(*this, getAlloc().getType());
}

LogicalResult BarrierExpectOp::verify() {
  return failed(verifyBarrier(*this, getAlloc().getType())) ? failure() : verifyCount(*this, getSize(), mostArrivals);
}

LogicalResult WaitBarrierOp::verify() {
  return verifyBarrier(*this, getAlloc().getType());
}

LogicalResult ArriveBarrierOp::verify() {
  return failed(verifyBarrier(*this, getAlloc().getType())) ? failure() : verifyCount(*this, getCount(), mostArrivals);
}

LogicalResult AsyncCopyMbarrierArriveOp::verify() {
  return verifyBarrier(*this, getBarrier().getType());
}

//===-- Bulk copies ----------------------------------------------------------------------------------------------===//

static LogicalResult verifyBulk(Operation *op, TensorDescType descriptor, size_t coordinates, MemDescType memory) {
  RankedTensorType block = descriptor.getBlockType();
  Type element = block.getElementType();
  bool isSame = element.isInteger() ? memory.getElementType().isInteger(element.getIntOrFloatBitWidth())
                                    : memory.getElementType() == element;
  // Rule N8: a bulk copy is between a block and a memory object of its shape and elements, at a coordinate an axis.
  if (coordinates != size_t(block.getRank()))
    return op->emitOpError() << "has " << coordinates << " coordinates for a block of " << block.getRank() << " axes";
  ArrayRef<int64_t> shape = memory.getShape(), blockShape = block.getShape();
  while (blockShape.size() > shape.size() && blockShape.front() == 1)
    blockShape = blockShape.drop_front();
  if (!isSame || shape != blockShape)
    return op->emitOpError() << "copies between a block of " << shapeText(block.getShape()) << " elements of "
                             << element << " and a memory object of " << shapeText(shape) << " elements of "
                             << memory.getElementType();
  // Rule N9: its layout is what bulk copies write, and the descriptor's.
  auto layout = dyn_cast<NvmmaSharedAttr>(memory.getEncoding());
  if (!layout || layout.getElementBitWidth() != memory.getElementType().getIntOrFloatBitWidth())
    return op->emitOpError() << "copies to or from " << memory
                             << ": bulk copies take `#ttg.nvmma_shared` with the `elementBitWidth` of the elements";
  auto described = dyn_cast_or_null<NvmmaSharedAttr>(block.getEncoding());
  if (described && (described.getSwizzlingByteWidth() != layout.getSwizzlingByteWidth() ||
                    described.getTransposed() != layout.getTransposed()))
    return op->emitOpError() << "copies a block in " << described << " to or from a memory object in " << layout;
  return success();
}

LogicalResult AsyncTMACopyGlobalToLocalOp::verify() {
  // Rule N10: there is one block in a cluster.
  if (getMulticast())
    return emitOpError("copies to several blocks of a cluster, which are not compiled: leave `multicast` out");
  // Rule N11: what is written is mutable.
  if (!getResult().getType().getMutableMemory())
    return emitOpError("writes to an immutable memory object");
  if (failed(verifyBarrier(*this, getBarrier().getType())))
    return failure();
  return verifyBulk(*this, getDesc().getType(), getCoord().size(), getResult().getType());
}

LogicalResult AsyncTMACopyLocalToGlobalOp::verify() {
  return verifyBulk(*this, getDesc().getType(), getCoord().size(), getSrc().getType());
}

LogicalResult AsyncTMAReduceOp::verify() {
  bool isOrder = getKind() == DescriptorReduceKind::Min || getKind() == DescriptorReduceKind::Max;
  if (isOrder && getDesc().getType().getBlockType().getElementType().isUnsignedInteger())
    return emitOpError() << "has kind '" << stringifyDescriptorReduceKind(getKind())
                         << "' of unsigned elements: bulk copies compare signed ones here";
  return verifyBulk(*this, getDesc().getType(), getCoord().size(), getSrc().getType());
}
