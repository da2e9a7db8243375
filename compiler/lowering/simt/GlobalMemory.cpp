// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Global memory. Contiguous registers that are contiguous in memory travel in one access of up to 16 bytes. A mask is
// an operand of the access, which needs no branch.
#include "compiler/lowering/simt/MaskedAccess.h"
#include "compiler/lowering/simt/ThreadCode.h"
#include "compiler/lowering/simt/Vectors.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

namespace {
class GlobalMemory : public ThreadCode {
public:
  using ThreadCode::ThreadCode;
  void lower(GlobalLoadOp op);
  void lower(GlobalStoreOp op);

private:
  /// What an access moves of as many contiguous elements.
  Value toCarrier(ArrayRef<Value> values, Type element);
  /// The first registers of accesses of `width` registers each, in the order in which they are made: where a thread has
  /// more masks than predicates, those with the same mask together, so that the assembler need not compute it again.
  SmallVector<size_t> accessOrder(size_t registers, size_t width, ArrayRef<Value> masks);
  Values loadRegisters(GlobalLoadOp op, bool atomically, Value owner); ///< in this thread, if `owner` is null or set
  /// What one access of `op` reads; `other` where the mask, which may be null, forbids it.
  Value loadCarrier(GlobalLoadOp op, bool relaxed, Value pointer, Value mask, Value other);
};
} // namespace

/// What an access moves: an element, or words.
static Type carrierOf(OpBuilder &b, int64_t elementBits, int64_t width) {
  int64_t bits = elementBits * width;
  return width > 1 && bits > 32 ? Type(VectorType::get(bits / 32, b.getI32Type()))
                                : Type(b.getIntegerType(unsigned(bits)));
}

Value GlobalMemory::toCarrier(ArrayRef<Value> values, Type element) {
  if (values.size() == 1)
    return toMemory(values.front(), element);
  Type stored = memoryType(element);
  Value whole = LLVM::PoisonOp::create(b, VectorType::get(int64_t(values.size()), stored));
  for (auto [i, value] : llvm::enumerate(values))
    whole = LLVM::InsertElementOp::create(b, whole, toMemory(value, element), i32(int64_t(i)));
  return LLVM::BitcastOp::create(b, carrierOf(b, stored.getIntOrFloatBitWidth(), int64_t(values.size())), whole);
}

SmallVector<size_t> GlobalMemory::accessOrder(size_t registers, size_t width, ArrayRef<Value> masks) {
  constexpr size_t predicates = 6; // of seven in SASS, one is for loops and owners
  llvm::MapVector<Value, SmallVector<size_t>> byMask;
  SmallVector<size_t> order;
  for (size_t first = 0; first < registers; first += width) {
    order.push_back(first);
    byMask[masks.empty() ? Value() : masks[first]].push_back(first);
  }
  if (!target.predicatesAccesses() || byMask.size() <= predicates)
    return order;
  order.clear();
  for (const auto &accesses : llvm::make_second_range(byMask))
    llvm::append_range(order, accesses);
  return order;
}

// LLVM has no masked load that is volatile or atomic.
Value GlobalMemory::loadCarrier(GlobalLoadOp op, bool relaxed, Value pointer, Value mask, Value other) {
  Type type = other.getType();
  bool isOrdered = op.getIsVolatile() || relaxed;
  if (mask && !isOrdered)
    return maskedLoad(b, pointer, mask, other);
  if (Value loaded = mask ? target.orderedLoadIf(b, mask, pointer, other, op.getIsVolatile()) : Value())
    return loaded;
  auto load = [&]() -> Values {
    auto vector = dyn_cast<VectorType>(type);
    unsigned bits = vector ? unsigned(vector.getNumElements()) * 32 : type.getIntOrFloatBitWidth();
    auto loaded = LLVM::LoadOp::create(b, type, pointer, bits / 8, op.getIsVolatile(), /*isNonTemporal=*/false,
                                       /*isInvariant=*/op.getIsInvariant());
    if (relaxed) {
      loaded.setOrdering(LLVM::AtomicOrdering::monotonic);
      loaded.setSyncscope(target.deviceScope());
    }
    return {loaded};
  };
  return when(mask, type, load, other).front();
}

ThreadCode::Values GlobalMemory::loadRegisters(GlobalLoadOp op, bool atomically, Value owner) {
  Type element = elementTypeOf(op.getType()), stored = memoryType(element);
  auto width = size_t(op.getElements());
  bool relaxed = atomically && width == 1 && !op.getIsVolatile(); // what others write by atomics at the same time
  const Values &pointers = of(op.getPointer());
  Values masks = op.getMask() ? of(op.getMask()) : Values(), others = op.getOther() ? of(op.getOther()) : Values();
  bool isTile = isa<RankedTensorType>(op.getType());
  auto isConstant = [](Value value) { return matchPattern(value, m_Constant()); };
  auto copyOf = [&](size_t first) {
    return isTile ? size_t(firstCopy(layoutOf(op.getType()), int64_t(first))) : first;
  };
  // What several elements are the same of, as a weight of contiguous elements of its channel, is read once.
  auto placeOf = [&](size_t first) {
    return std::tuple(pointers[first], masks.empty() ? Value() : masks[first],
                      others.empty() ? Value() : others[first]);
  };
  DenseMap<std::tuple<Value, Value, Value>, size_t> firstAt;
  bool isOnce = width == 1 && !relaxed && !op.getIsVolatile();
  for (size_t first = 0; isOnce && first < pointers.size(); ++first)
    if (copyOf(first) == first)
      firstAt.try_emplace(placeOf(first), first);
  auto sourceOf = [&](size_t first) { return isOnce ? firstAt.at(placeOf(copyOf(first))) : copyOf(first); };
  Values results(pointers.size());
  for (size_t first : accessOrder(pointers.size(), width, masks)) {
    if (sourceOf(first) != first)
      continue;
    Value mask = masks.empty() || matchPattern(masks[first], m_One()) ? Value() : masks[first];
    Value bit = both(owner, mask);
    ArrayRef<Value> own = mask && !others.empty() ? ArrayRef(others).slice(first, width) : ArrayRef<Value>();
    bool areConstants = !own.empty() && llvm::all_of(own, isConstant);
    Type carrier = carrierOf(b, stored.getIntOrFloatBitWidth(), int64_t(width));
    Value other = areConstants ? toCarrier(own, element) : Value(LLVM::ZeroOp::create(b, carrier));
    Value loaded = loadCarrier(op, relaxed, pointers[first], bit, other);
    Values pieces = {loaded};
    if (width > 1)
      pieces = apart(b, LLVM::BitcastOp::create(b, VectorType::get(int64_t(width), stored), loaded));
    for (auto [i, piece] : llvm::enumerate(pieces)) {
      Value value = fromMemory(piece, element);
      if (!own.empty() && !areConstants && !isZero(own[i]))
        value = arith::SelectOp::create(b, mask, value, own[i]);
      results[first + i] = value;
    }
  }
  for (size_t first = 0; first < pointers.size(); first += width)
    if (size_t source = sourceOf(first); source != first)
      std::copy_n(results.begin() + long(source), width, results.begin() + long(first));
  return results;
}

// What only owners store is loaded by them alone: other threads would read what an owner may have stored by then.
void GlobalMemory::lower(GlobalLoadOp op) {
  bool agree = facts.agreeing.contains(op), isByOwner = facts.byOwner.contains(op);
  if (agree && !isByOwner && isMissingExchange(op.getPointer().getType()))
    return;
  Value owner = isByOwner                      ? isOwner(LinearLayout())
                : facts.forStores.contains(op) ? isOwner(layoutOf(op.getType()))
                                               : Value();
  made[op.getResult()] = isByOwner && !target.predicatesAccesses()
                             ? inOwner(op.getType(), [&] { return loadRegisters(op, agree, Value()); })
                             : loadRegisters(op, agree, owner);
}

void GlobalMemory::lower(GlobalStoreOp op) {
  Type element = elementTypeOf(op.getValue().getType());
  auto width = size_t(op.getElements());
  const Values &pointers = of(op.getPointer()), &values = of(op.getValue());
  Values masks = op.getMask() ? of(op.getMask()) : Values();
  bool isTile = isa<RankedTensorType>(op.getPointer().getType());
  LinearLayout layout = isTile ? layoutOf(op.getPointer().getType()) : LinearLayout();
  Value owner = isOwner(layout);
  for (size_t first : accessOrder(pointers.size(), width, masks)) {
    if (isTile && size_t(firstCopy(layout, int64_t(first))) != first)
      continue;
    Value mask = masks.empty() || matchPattern(masks[first], m_One()) ? Value() : masks[first];
    Value bit = both(owner, mask);
    auto store = [&] {
      Value whole = toCarrier(ArrayRef(values).slice(first, width), element);
      int64_t bytes = memoryType(element).getIntOrFloatBitWidth() * int64_t(width) / 8;
      LLVM::StoreOp::create(b, whole, pointers[first], unsigned(bytes));
    };
    if (!bit)
      store();
    else if (!continueBranch(bit, store))
      maskedStore(b, toCarrier(ArrayRef(values).slice(first, width), element), pointers[first], bit);
  }
}

void simt::addGlobalMemory(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<GlobalMemory, GlobalLoadOp, GlobalStoreOp>(patterns, state);
}
