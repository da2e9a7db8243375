// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads and stores through pointers. What is known of the addresses of a piece decides the instruction: one scalar, one
// contiguous (masked) vector, a check at run time between the two ways, or a gather or scatter.
#include "compiler/lowering/host/HostEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle::host;
using namespace heddle::triton;

//===-- Lanes one by one -----------------------------------------------------------------------------------------===//

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
  source.walk([&](StoreOp store) { found |= store.cacheModifier() == CacheModifier::Streaming; });
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
  LaneValue result = loadThrough(access, stored, other, load.isVolatileAccess());
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
                 store.cacheModifier() == CacheModifier::Streaming);
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
