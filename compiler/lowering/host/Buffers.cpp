// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Private memory of a program instance: scratch, the tile buffers in it, and lanes spilled there to be read one by one.
#include "compiler/lowering/host/HostEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle::host;

//===-- Scratch --------------------------------------------------------------------------------------------------===//

Value HostEmitter::scratch(int64_t bytes) {
  int64_t offset = llvm::alignTo(scratchUsed, 64);
  scratchUsed = offset + bytes;
  kernel.scratchBytes = std::max<uint64_t>(kernel.scratchBytes, scratchUsed);
  offset = std::min<int64_t>(offset, maxScratchBytes); // beyond it the kernel will be refused
  OpBuilder::InsertionGuard guard(b);                  // at the entry, where it dominates every use
  b.setInsertionPointAfterValue(scratchBase);
  return LLVM::GEPOp::create(b, loc, scratchBase.getType(), b.getI8Type(), scratchBase,
                             ArrayRef<LLVM::GEPArg>{int32_t(offset)});
}

TileBuffer HostEmitter::allocate(RankedTensorType type, Type stored) {
  TileBuffer buffer;
  buffer.logical = type.getElementType();
  buffer.stored = stored ? stored : storedType(buffer.logical);
  buffer.shape = llvm::to_vector(type.getShape());
  buffer.pointer = scratch(type.getNumElements() * sizeOf(buffer.stored));
  return buffer;
}

Value HostEmitter::gep(Value pointer, Type stored, Value index) {
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant)) && constant.isZero())
    return pointer;
  return LLVM::GEPOp::create(b, loc, pointer.getType(), stored, pointer, ValueRange{index});
}

Value HostEmitter::toPointer(Value address) {
  return LLVM::IntToPtrOp::create(b, loc, like(LLVM::LLVMPointerType::get(b.getContext()), address), address);
}

Value HostEmitter::loadFrom(Value pointer, Type type, bool isVolatile) {
  return LLVM::LoadOp::create(b, loc, type, pointer, sizeOf(getElementTypeOrSelf(type)), isVolatile);
}

void HostEmitter::storeTo(Value pointer, Value value) {
  LLVM::StoreOp::create(b, loc, value, pointer, sizeOf(getElementTypeOrSelf(value.getType())));
}

//===-- Tile buffers ---------------------------------------------------------------------------------------------===//

Value HostEmitter::fromStored(Value value, const TileBuffer &buffer) {
  Type stored = getElementTypeOrSelf(value.getType());
  if (buffer.logical.isInteger(1))
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, constantLike(stored, 0, value));
  if (isNarrowFloat(buffer.logical) && stored.isF32())
    return narrow(value, buffer.logical);
  return value;
}

Value HostEmitter::toStored(Value value, const TileBuffer &buffer) {
  if (buffer.logical.isInteger(1))
    return arith::ExtUIOp::create(b, loc, like(buffer.stored, value), value);
  if (isNarrowFloat(buffer.logical) && (buffer.stored.isF32() || buffer.stored.isF64()))
    value = widen(value, buffer.logical);
  if (buffer.stored.isF64() && getElementTypeOrSelf(value.getType()).isF32()) // operand of a dot into f64
    return arith::ExtFOp::create(b, loc, like(buffer.stored, value), value);
  if (buffer.stored.isInteger(32) && getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth() < 32)
    return arith::ExtSIOp::create(b, loc, like(buffer.stored, value), value); // operand of an integer dot
  return value;
}

LaneValue HostEmitter::readBuffer(const TileBuffer &buffer, const TileIndex &index) {
  Index linear = linearIndex(buffer.shape, index);
  return readBufferAt(buffer, {linear.base, linear.lanes, {}, {}});
}

LaneValue HostEmitter::readBufferAt(const TileBuffer &buffer, const LaneValue &linear) {
  if (linear.vector && width > 1) {
    Type pointers = VectorType::get({width}, buffer.pointer.getType());
    Value addresses = LLVM::GEPOp::create(b, loc, pointers, buffer.stored, buffer.pointer, ValueRange{linear.vector});
    Value all = constantLike(b.getI1Type(), -1, addresses);
    Value other = zero(like(buffer.stored, addresses));
    return LaneValue::general(fromStored(gatherLanes(addresses, all, other), buffer));
  }
  Value base = linear.vector ? linear.vector : linear.scalar;
  Value pointer = gep(buffer.pointer, buffer.stored, base);
  if (linear.lanes.empty())
    return LaneValue::uniform(fromStored(loadFrom(pointer, buffer.stored), buffer));
  auto vectorOf = [&](int64_t lanes) { return VectorType::get({lanes}, buffer.stored); };
  if (isStepPattern(linear.lanes, width, 1))
    return LaneValue::general(fromStored(loadFrom(pointer, vectorOf(width)), buffer));
  if (int64_t count = *llvm::max_element(linear.lanes) + 1; count <= 4 * width)
    return LaneValue::general(fromStored(loadAndShuffle(pointer, buffer.stored, linear.lanes, count), buffer));
  Value addresses = LLVM::GEPOp::create(b, loc, VectorType::get({width}, buffer.pointer.getType()), buffer.stored,
                                        pointer, ValueRange{patternVector(b.getI64Type(), linear.lanes)});
  Value all = constantLike(b.getI1Type(), -1, addresses), other = zero(vectorOf(width));
  return LaneValue::general(fromStored(gatherLanes(addresses, all, other), buffer));
}

// Two vectors, which overlap unless `count` is a power of two, hold the first `count` elements and nothing beyond them.
Value HostEmitter::loadAndShuffle(Value pointer, Type stored, const LanePattern &lanes, int64_t count) {
  int64_t size = llvm::bit_floor(uint64_t(count)), start = count - size;
  Type type = VectorType::get({size}, stored);
  Value low = loadFrom(pointer, type), high = start == 0 ? low : loadFrom(gep(pointer, stored, i64(start)), type);
  SmallVector<int64_t> picks;
  for (int64_t lane : lanes)
    picks.push_back(lane < size ? lane : size + lane - start);
  return vector::ShuffleOp::create(b, loc, low, high, picks);
}

void HostEmitter::writeBuffer(const TileBuffer &buffer, const TileIndex &index, const LaneValue &value) {
  Index linear = linearIndex(buffer.shape, index);
  Value pointer = gep(buffer.pointer, buffer.stored, linear.base);
  Value lanes = toStored(width == 1 && value.scalar ? value.scalar : toLanes(value), buffer);
  if (width == 1 || isStepPattern(linear.lanes, width, 1))
    return storeTo(pointer, lanes);
  for (int lane = 0; lane < width; ++lane)
    storeTo(gep(pointer, buffer.stored, i64(linear.lanes.empty() ? 0 : linear.lanes[lane])),
            vector::ExtractOp::create(b, loc, lanes, lane));
}

//===-- Spilled lanes --------------------------------------------------------------------------------------------===//

Value HostEmitter::spill(Value lanes) {
  Type element = getElementTypeOrSelf(lanes.getType());
  if (element.isInteger(1)) {
    lanes = arith::ExtUIOp::create(b, loc, like(b.getI8Type(), lanes), lanes);
    element = b.getI8Type();
  }
  int64_t size = isa<LLVM::LLVMPointerType>(element) ? 8 : sizeOf(element);
  auto vector = dyn_cast<VectorType>(lanes.getType());
  Value memory = scratch(size * (vector ? vector.getNumElements() : 1));
  LLVM::StoreOp::create(b, loc, lanes, memory, /*alignment=*/size);
  return memory;
}

Value HostEmitter::spilledLane(Value memory, Type scalar, Value lane) {
  Type stored = scalar.isInteger(1) ? Type(b.getI8Type()) : scalar;
  Value value = LLVM::LoadOp::create(b, loc, stored, gep(memory, stored, lane));
  return scalar.isInteger(1)
             ? Value(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, constantLike(stored, 0, value)))
             : value;
}
