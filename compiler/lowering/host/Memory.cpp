// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory: tile buffers in scratch, loads, stores and atomics through pointers. What is known of the addresses of a
// piece decides the instruction: one scalar, one contiguous (masked) vector, a check at run time between the two ways,
// or a gather or scatter.
#include "compiler/lowering/host/HostEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle::host;
using namespace heddle::triton;

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
    return arith::ExtUIOp::create(b, loc, like(b.getI8Type(), value), value);
  if (isNarrowFloat(buffer.logical) && buffer.stored.isF32())
    return widen(value, buffer.logical);
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

//===-- Lanes one by one -----------------------------------------------------------------------------------------===//

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

void HostEmitter::forActiveLanes(Value mask, function_ref<void(Value)> body) {
  auto *vector = dyn_cast<VectorType>(mask.getType()) ? mask.getDefiningOp() : nullptr;
  if (!isa<VectorType>(mask.getType())) {
    auto branch = scf::IfOp::create(b, loc, mask, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenBlock()->getTerminator());
    return body(i64(0));
  }
  DenseElementsAttr constant;
  bool all =
      vector && matchPattern(vector, m_Constant(&constant)) && constant.isSplat() && constant.getSplatValue<bool>();
  Value memory = all ? Value() : spill(mask);
  int64_t lanes = cast<VectorType>(mask.getType()).getDimSize(0);
  forLoop(0, lanes, 1, {}, [&](Value lane, ValueRange) -> Values {
    if (all) {
      body(lane);
      return {};
    }
    auto branch = scf::IfOp::create(b, loc, spilledLane(memory, b.getI1Type(), lane), /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenBlock()->getTerminator());
    body(lane);
    return {};
  });
}

// Elements of 32 and 64 bits have gather instructions; LLVM would unroll any other into a branch per lane, so those
// take a small loop.
static bool hasGather(Type element) {
  return element.getIntOrFloatBitWidth() >= 32;
}

// LLVM's masked loads cannot be volatile: such lanes are loaded one by one too.
Value HostEmitter::gatherLanes(Value addresses, Value mask, Value other, bool isVolatile) {
  auto type = cast<VectorType>(other.getType());
  Type element = type.getElementType();
  if (hasGather(element) && !isVolatile)
    return LLVM::masked_gather::create(b, loc, type, addresses, mask, ValueRange{other},
                                       b.getI32IntegerAttr(sizeOf(element)));
  Value from = spill(addresses), result = spill(other);
  forActiveLanes(mask, [&](Value lane) {
    Value pointer = spilledLane(from, getElementTypeOrSelf(addresses.getType()), lane);
    storeTo(gep(result, element, lane), loadFrom(pointer, element, isVolatile));
  });
  return loadFrom(result, type);
}

void HostEmitter::scatterLanes(Value addresses, Value mask, Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  if (hasGather(element)) {
    LLVM::masked_scatter::create(
        b, loc, TypeRange{}, ValueRange{value, addresses, mask},
        ArrayRef<NamedAttribute>{b.getNamedAttr("alignment", b.getI32IntegerAttr(sizeOf(element)))});
    return;
  }
  Value to = spill(addresses), values = spill(value);
  forActiveLanes(mask, [&](Value lane) {
    storeTo(spilledLane(to, getElementTypeOrSelf(addresses.getType()), lane), spilledLane(values, element, lane));
  });
}

Value HostEmitter::allTrue(Value mask) {
  return vector::ReductionOp::create(b, loc, vector::CombiningKind::AND, mask);
}

Value HostEmitter::anyTrue(Value mask) {
  return vector::ReductionOp::create(b, loc, vector::CombiningKind::OR, mask);
}

//===-- Stores past the caches ------------------------------------------------------------------------------------===//

// A vector of a store that streams goes past the caches, which spares fetching the line first, when it is a whole
// number of the processor's vectors and aligned; what is not, LLVM would cut into words. Such stores are not ordered
// with later ones: releases to other devices and the end of the kernel have a fence before them, and tile atomics are
// locked instructions, which wait for them too.
void HostEmitter::storeWhole(Value pointer, Value value, bool streams) {
  int64_t bytes = width * sizeOf(getElementTypeOrSelf(value.getType()));
  if (!streams || bytes < 16 || bytes > 64)
    return storeTo(pointer, value);
  Value address = LLVM::PtrToIntOp::create(b, loc, b.getI64Type(), pointer);
  Value rest = arith::AndIOp::create(b, loc, address, i64(bytes - 1));
  Value isAligned = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, rest, i64(0));
  auto branch = scf::IfOp::create(b, loc, isAligned, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenBlock()->getTerminator());
  LLVM::StoreOp::create(b, loc, value, pointer, bytes, /*isVolatile=*/false, /*isNonTemporal=*/true);
  b.setInsertionPoint(branch.elseBlock()->getTerminator());
  storeTo(pointer, value);
}

void HostEmitter::fenceStreams() {
  bool found = false;
  source.walk([&](StoreOp store) { found |= store.getCache() == CacheModifier::Streaming; });
  if (found)
    LLVM::CallIntrinsicOp::create(b, loc, b.getStringAttr("llvm.x86.sse.sfence"), ValueRange{});
}

//===-- Contiguous lanes under a mask -----------------------------------------------------------------------------===//

// Mostly every lane is active, and the vector is loaded whole: processors fetch ahead of plain loads better than of
// masked ones (1.4 times the bandwidth from memory on Zen 5). Without any active lane nothing is touched: a masked
// access that reaches an unmapped page is correct, but takes a microsecond.
Value HostEmitter::loadMasked(Value pointer, Value mask, Value otherwise, bool isVolatile) {
  Type type = otherwise.getType();
  auto whole = scf::IfOp::create(b, loc, TypeRange{type}, allTrue(mask), true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(whole.thenBlock());
  scf::YieldOp::create(b, loc, ValueRange{loadFrom(pointer, type, isVolatile)});
  b.setInsertionPointToEnd(whole.elseBlock());
  auto some = scf::IfOp::create(b, loc, TypeRange{type}, anyTrue(mask), true);
  scf::YieldOp::create(b, loc, some.getResults());
  b.setInsertionPointToEnd(some.thenBlock());
  Type element = getElementTypeOrSelf(type);
  auto alignment = b.getI32IntegerAttr(sizeOf(element));
  Value part;
  if (isVolatile)
    part = gatherLanes(LLVM::GEPOp::create(b, loc, like(pointer.getType(), mask), element, pointer,
                                           ValueRange{toLanes({i64(0), stepPattern(1), {}, {}})}),
                       mask, otherwise, /*isVolatile=*/true);
  else
    part = LLVM::MaskedLoadOp::create(b, loc, type, pointer, mask, otherwise, alignment);
  scf::YieldOp::create(b, loc, ValueRange{part});
  b.setInsertionPointToEnd(some.elseBlock());
  scf::YieldOp::create(b, loc, ValueRange{otherwise});
  return whole.getResult(0);
}

void HostEmitter::storeMasked(Value pointer, Value mask, Value value, bool streams) {
  auto whole = scf::IfOp::create(b, loc, allTrue(mask), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(whole.thenBlock()->getTerminator());
  storeWhole(pointer, value, streams);
  b.setInsertionPoint(whole.elseBlock()->getTerminator());
  auto some = scf::IfOp::create(b, loc, anyTrue(mask), /*withElseRegion=*/false);
  b.setInsertionPoint(some.thenBlock()->getTerminator());
  LLVM::MaskedStoreOp::create(b, loc, value, pointer, mask, sizeOf(getElementTypeOrSelf(value.getType())));
}

LanePattern HostEmitter::stepPattern(int64_t step) const {
  LanePattern steps;
  for (int lane = 0; lane < width; ++lane)
    steps.push_back(lane * step);
  return steps;
}

// Whether the addresses, of which `first` is the first, are those of consecutive elements: an i1.
Value HostEmitter::areContiguous(Value addresses, Value first, Type stored) {
  Value steps = patternVector(b.getI64Type(), stepPattern(sizeOf(stored)));
  Value expected = arith::AddIOp::create(b, loc, splat(first), steps);
  return allTrue(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, addresses, expected));
}

//===-- Loads ----------------------------------------------------------------------------------------------------===//

HostEmitter::Access HostEmitter::accessAt(Operation *op, Value pointer, Value mask, const TileIndex &index) {
  Access access{evaluate(pointer, index), std::nullopt, {}};
  if (mask) {
    LaneValue value = evaluate(mask, index);
    APInt constant;
    bool always = value.isUniform() && matchPattern(value.scalar, m_ConstantInt(&constant)) && !constant.isZero();
    if (!always)
      access.mask = value;
  }
  if (options.checkAccesses) {
    if (auto tile = dyn_cast<RankedTensorType>(pointer.getType())) {
      Index linear = linearIndex(tile.getShape(), index);
      access.element = {linear.base, linear.lanes, {}, {}};
    } else {
      access.element = LaneValue::uniform(i64(0));
    }
    Type pointee = cast<PointerType>(elementTypeOf(pointer.getType())).getPointeeType();
    checkAccess(op, access, sizeOf(storedType(pointee)));
  }
  return access;
}

LaneValue HostEmitter::emitLoad(LoadOp load, const TileIndex &index) {
  Access access = accessAt(load, load.getPtr(), load.getMask(), index);
  Type element = elementTypeOf(load.getType()), stored = storedType(element);
  LaneValue other =
      load.getOther() ? evaluate(load.getOther(), index) : LaneValue::uniform(zero(registerType(element)));
  TileBuffer form{{}, stored, element, {}};
  if (element.isInteger(1)) { // memory holds bytes
    if (other.isUniform())
      other = LaneValue::uniform(toStored(other.scalar, form));
    else
      other = LaneValue::general(toStored(toLanes(other), form));
  }
  LaneValue result = loadThrough(access, stored, other, load.getIsVolatile());
  if (!element.isInteger(1))
    return result;
  return result.isUniform() ? LaneValue::uniform(fromStored(result.scalar, form))
                            : LaneValue::general(fromStored(toLanes(result), form));
}

LaneValue HostEmitter::loadThrough(const Access &access, Type stored, const LaneValue &other, bool isVolatile) {
  const LaneValue &address = access.address;
  auto guarded = [&](Value condition, Type type, auto then, Value otherwise) -> Value {
    auto branch = scf::IfOp::create(b, loc, TypeRange{type}, condition, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(branch.thenBlock());
    scf::YieldOp::create(b, loc, ValueRange{then()});
    b.setInsertionPointToEnd(branch.elseBlock());
    scf::YieldOp::create(b, loc, ValueRange{otherwise});
    return branch.getResult(0);
  };
  if (address.isUniform()) {
    auto one = [&] { return loadFrom(toPointer(address.scalar), stored, isVolatile); };
    if (!access.mask)
      return LaneValue::uniform(one());
    if (access.mask->isUniform() && other.isUniform())
      return LaneValue::uniform(guarded(access.mask->scalar, stored, one, other.scalar));
    Value mask = toLanes(*access.mask);
    Value value = guarded(anyTrue(mask), stored, one, zero(stored));
    return LaneValue::general(arith::SelectOp::create(b, loc, mask, splat(value), toLanes(other)));
  }

  auto type = VectorType::get({width}, stored);
  auto contiguous = [&](Value first) -> Value {
    if (!access.mask)
      return loadFrom(toPointer(first), type, isVolatile);
    Value mask = toLanes(*access.mask), otherwise = toLanes(other);
    return loadMasked(toPointer(first), mask, otherwise, isVolatile);
  };
  if (address.isAffine() && isStepPattern(address.lanes, width, sizeOf(stored))) {
    if (access.mask && access.mask->isUniform()) {
      Value otherwise = toLanes(other);
      return LaneValue::general(guarded(
          access.mask->scalar, type, [&] { return loadFrom(toPointer(address.scalar), type, isVolatile); }, otherwise));
    }
    return LaneValue::general(contiguous(address.scalar));
  }

  Value addresses = toLanes(address),
        mask = access.mask ? toLanes(*access.mask) : constantLike(b.getI1Type(), -1, addresses);
  Value otherLanes = toLanes(other);
  if (address.isAffine())
    return LaneValue::general(gatherLanes(toPointer(addresses), mask, otherLanes, isVolatile));
  // Unknown lanes are often contiguous after all (a row index modulo the row count): ask.
  Value first = vector::ExtractOp::create(b, loc, addresses, 0), dense = areContiguous(addresses, first, stored);
  auto branch = scf::IfOp::create(b, loc, TypeRange{type}, dense, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(branch.thenBlock());
  Value fast = access.mask ? loadMasked(toPointer(first), mask, otherLanes, isVolatile)
                           : loadFrom(toPointer(first), type, isVolatile);
  scf::YieldOp::create(b, loc, ValueRange{fast});
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, loc, ValueRange{gatherLanes(toPointer(addresses), mask, otherLanes, isVolatile)});
  return LaneValue::general(branch.getResult(0));
}

//===-- Stores ---------------------------------------------------------------------------------------------------===//

void HostEmitter::emitStore(StoreOp store) {
  Type element = elementTypeOf(store.getValue().getType());
  TileBuffer form{{}, storedType(element), element, {}};
  auto one = [&](TileIndex index) {
    LaneValue value = evaluate(store.getValue(), index); // first, so that a fused load is the first to be checked
    Access access = accessAt(store, store.getPtr(), store.getMask(), index);
    bool scalarValue = value.isUniform() && access.address.isUniform() && (!access.mask || access.mask->isUniform());
    storeThrough(access, toStored(scalarValue ? value.scalar : toLanes(value), form),
                 store.getCache() == CacheModifier::Streaming);
  };
  auto tile = dyn_cast<RankedTensorType>(store.getPtr().getType());
  if (!tile) {
    PieceScope scope(*this, 1);
    return one({});
  }
  int primary = plan.preferredDim(store.getValue(), store.getPtr());
  iterate(tile.getShape(), chooseLanes(tile.getShape(), primary, maxLanes()), one);
}

void HostEmitter::storeThrough(const Access &access, Value value, bool streams) {
  const LaneValue &address = access.address;
  Type stored = getElementTypeOrSelf(value.getType());
  auto guarded = [&](Value condition, auto then) {
    auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenBlock()->getTerminator());
    then();
  };
  bool maskUniform = !access.mask || access.mask->isUniform();
  if (!isa<VectorType>(value.getType())) {
    auto one = [&] { storeTo(toPointer(address.scalar), value); };
    return access.mask ? guarded(access.mask->scalar, one) : one();
  }
  if (address.isAffine() && isStepPattern(address.lanes, width, sizeOf(stored))) {
    Value pointer = toPointer(address.scalar);
    auto whole = [&] { storeWhole(pointer, value, streams); };
    if (!access.mask)
      return whole();
    if (maskUniform)
      return guarded(access.mask->scalar, whole);
    storeMasked(pointer, toLanes(*access.mask), value, streams);
    return;
  }
  Value addresses = toLanes(address),
        mask = access.mask ? toLanes(*access.mask) : constantLike(b.getI1Type(), -1, addresses);
  if (address.scalar)
    return scatterLanes(toPointer(addresses), mask, value);
  Value first = vector::ExtractOp::create(b, loc, addresses, 0), dense = areContiguous(addresses, first, stored);
  auto branch = scf::IfOp::create(b, loc, dense, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenBlock()->getTerminator());
  storeMasked(toPointer(first), mask, value);
  b.setInsertionPoint(branch.elseBlock()->getTerminator());
  scatterLanes(toPointer(addresses), mask, value);
}

//===-- Atomics --------------------------------------------------------------------------------------------------===//

static LLVM::AtomicOrdering orderingOf(MemSemantic semantic) {
  switch (semantic) {
  case MemSemantic::Relaxed:
    return LLVM::AtomicOrdering::monotonic;
  case MemSemantic::Acquire:
    return LLVM::AtomicOrdering::acquire;
  case MemSemantic::Release:
    return LLVM::AtomicOrdering::release;
  case MemSemantic::AcquireRelease:
    return LLVM::AtomicOrdering::acq_rel;
  }
  llvm_unreachable("unknown memory semantic");
}

static LLVM::AtomicBinOp binOpOf(RMWOp kind) {
  switch (kind) {
  case RMWOp::And:
    return LLVM::AtomicBinOp::_and;
  case RMWOp::Or:
    return LLVM::AtomicBinOp::_or;
  case RMWOp::Xor:
    return LLVM::AtomicBinOp::_xor;
  case RMWOp::Add:
    return LLVM::AtomicBinOp::add;
  case RMWOp::FAdd:
    return LLVM::AtomicBinOp::fadd;
  case RMWOp::Max:
    return LLVM::AtomicBinOp::max;
  case RMWOp::Min:
    return LLVM::AtomicBinOp::min;
  case RMWOp::UMax:
    return LLVM::AtomicBinOp::umax;
  case RMWOp::UMin:
    return LLVM::AtomicBinOp::umin;
  case RMWOp::Exchange:
    return LLVM::AtomicBinOp::xchg;
  }
  llvm_unreachable("unknown atomic operation");
}

// One element. Every scope is at least as wide as the process here, so scopes need no names.
Value HostEmitter::atomicStep(Operation *op, Value address, Value value, Value compare) {
  Value pointer = toPointer(address);
  Type element = elementTypeOf(op->getResult(0).getType()), type = value.getType();
  if (auto cas = dyn_cast<AtomicCASOp>(op)) {
    Type bits = b.getIntegerType(type.getIntOrFloatBitWidth());
    auto asBits = [&](Value x) { return x.getType() == bits ? x : Value(arith::BitcastOp::create(b, loc, bits, x)); };
    LLVM::AtomicOrdering success = orderingOf(cas.getSem());
    LLVM::AtomicOrdering failure = cas.getSem() == MemSemantic::Relaxed || cas.getSem() == MemSemantic::Release
                                       ? LLVM::AtomicOrdering::monotonic
                                       : LLVM::AtomicOrdering::acquire;
    Value pair = LLVM::AtomicCmpXchgOp::create(b, loc, pointer, asBits(compare), asBits(value), success, failure);
    Value old = LLVM::ExtractValueOp::create(b, loc, pair, ArrayRef<int64_t>{0});
    return old.getType() == type ? old : Value(arith::BitcastOp::create(b, loc, type, old));
  }
  auto rmw = cast<AtomicRMWOp>(op);
  if (rmw.getAtomicRmwOp() == RMWOp::FAdd && isNarrowFloat(element))
    return atomicNarrowAdd(rmw, pointer, value);
  return LLVM::AtomicRMWOp::create(b, loc, binOpOf(rmw.getAtomicRmwOp()), pointer, value, orderingOf(rmw.getSem()));
}

// No processor adds f16 or bf16 in memory: compare and exchange until nobody came between.
Value HostEmitter::atomicNarrowAdd(AtomicRMWOp op, Value pointer, Value value) {
  Type element = elementTypeOf(op.getResult().getType()), type = value.getType();
  Value term = widen(value, element);
  Value first = LLVM::LoadOp::create(b, loc, type, pointer, sizeOf(type), false, false, false, false,
                                     LLVM::AtomicOrdering::monotonic);
  auto loop = scf::WhileOp::create(
      b, loc, TypeRange{type}, ValueRange{first},
      [&](OpBuilder &, Location, ValueRange seen) {
        Value sum = narrow(arith::AddFOp::create(b, loc, widen(seen[0], element), term), element);
        Value pair = LLVM::AtomicCmpXchgOp::create(b, loc, pointer, seen[0], sum, orderingOf(op.getSem()),
                                                   LLVM::AtomicOrdering::monotonic);
        Value old = LLVM::ExtractValueOp::create(b, loc, pair, ArrayRef<int64_t>{0});
        Value changed = LLVM::ExtractValueOp::create(b, loc, pair, ArrayRef<int64_t>{1});
        Value failed = arith::XOrIOp::create(b, loc, changed, constantLike(b.getI1Type(), -1, changed));
        scf::ConditionOp::create(b, loc, failed, ValueRange{old});
      },
      [&](OpBuilder &, Location, ValueRange old) { scf::YieldOp::create(b, loc, old); });
  b.setInsertionPointAfter(loop);
  return loop.getResult(0);
}

// Elements one after the other; a tile's old values go to its buffer when somebody reads them.
void HostEmitter::emitAtomic(Operation *op) {
  auto cas = dyn_cast<AtomicCASOp>(op);
  auto rmw = dyn_cast<AtomicRMWOp>(op);
  Value pointer = op->getOperand(0), value = cas ? cas.getVal() : rmw.getVal();
  Value compare = cas ? cas.getCmp() : Value(), mask = cas ? Value() : rmw.getMask();
  Value result = op->getResult(0);
  Type type = registerType(elementTypeOf(result.getType()));
  auto tile = dyn_cast<RankedTensorType>(result.getType());
  if (!tile) {
    PieceScope scope(*this, 1);
    Access access = accessAt(op, pointer, mask, {});
    auto step = [&] {
      return atomicStep(op, access.address.scalar, scalar(value), compare ? scalar(compare) : Value());
    };
    if (!access.mask) {
      scalars[result] = step();
      return;
    }
    auto branch = scf::IfOp::create(b, loc, TypeRange{type}, access.mask->scalar, true);
    Value none = zero(type);
    none.getDefiningOp()->moveBefore(branch);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(branch.thenBlock());
    scf::YieldOp::create(b, loc, ValueRange{step()});
    b.setInsertionPointToEnd(branch.elseBlock());
    scf::YieldOp::create(b, loc, ValueRange{none});
    scalars[result] = branch.getResult(0);
    return;
  }
  TileBuffer *olds = nullptr;
  if (!result.use_empty())
    olds = allocateFor(ValueRange{result})[0];
  LaneMap lanes = chooseLanes(tile.getShape(), plan.preferredDim(value, pointer), maxLanes());
  iterate(tile.getShape(), lanes, [&](TileIndex index) {
    Access access = accessAt(op, pointer, mask, index);
    Value addresses = toLanes(access.address), values = toLanes(evaluate(value, index));
    Value compares = compare ? toLanes(evaluate(compare, index)) : Value();
    Value active = access.mask ? toLanes(*access.mask) : constantLike(b.getI1Type(), -1, addresses);
    bool vector = isa<VectorType>(values.getType());
    Value addressMemory = vector ? spill(addresses) : Value(), valueMemory = vector ? spill(values) : Value();
    Value compareMemory = vector && compares ? spill(compares) : Value(),
          oldMemory = olds ? spill(zero(values.getType())) : Value();
    forActiveLanes(active, [&](Value lane) {
      auto at = [&](Value memory, Value whole) {
        return vector ? spilledLane(memory, getElementTypeOrSelf(whole.getType()), lane) : whole;
      };
      Value old = atomicStep(op, at(addressMemory, addresses), at(valueMemory, values),
                             compares ? at(compareMemory, compares) : Value());
      if (olds)
        storeTo(gep(oldMemory, type, lane), old);
    });
    if (olds)
      writeBuffer(*olds, index, LaneValue::general(loadFrom(oldMemory, values.getType())));
  });
}

// Relaxed loads until the expected bits are there, then the acquire fence. A wait without end is left through the stop
// check; one with a limit in nanoseconds counts the system's clock, which the host target does not read.
void HostEmitter::emitPoll(AtomicPollOp op) {
  PieceScope scope(*this, 1);
  Access access = accessAt(op, op.getPtr(), {}, {});
  Value pointer = toPointer(access.address.scalar), expected = scalar(op.getExpected());
  Type type = expected.getType();
  auto loop = scf::WhileOp::create(
      b, loc, TypeRange{}, ValueRange{},
      [&](OpBuilder &, Location, ValueRange) {
        Value seen = LLVM::LoadOp::create(b, loc, type, pointer, sizeOf(type), false, false, false, false,
                                          LLVM::AtomicOrdering::monotonic);
        Value different = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, seen, expected);
        scf::ConditionOp::create(b, loc, different, ValueRange{});
      },
      [&](OpBuilder &, Location, ValueRange) {
        emitStopCheck(op, /*spin=*/true);
        scf::YieldOp::create(b, loc);
      });
  b.setInsertionPointAfter(loop);
  if (op.getSem() != MemSemantic::Relaxed)
    LLVM::FenceOp::create(b, loc, LLVM::AtomicOrdering::acquire, StringRef());
  scalars[op.getResult()] = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
}
