// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Atomics, block pointers and descriptors.
#include "tests/fuzz/Generator.h"
#include "tests/reference/Tile.h"
#include <cmath>

using namespace mlir;
using namespace heddle;
using namespace heddle::fuzz;

static triton::MemSemantic randomSemantic(Random &random) {
  return triton::MemSemantic(random.between(1, 4));
}
static triton::MemScope randomScope(Random &random) {
  return triton::MemScope(random.between(1, 3));
}

static bool isAtomicInteger(Type type) {
  return type.isInteger(32) || type.isInteger(64);
}

// All programs update the same cells; the old values depend on the order and are not used.
void Generator::addSharedAtomic() {
  if (depth > 0) // the bound of a floating-point sum counts one update per program
    return;
  constexpr int64_t cells = 16;
  if (random.chance(30)) {
    Shape shape = commonShape();
    static const std::vector<int> widths = {32, 64};
    Type element = random.pick(widths) == 32 ? Type(builder.getF32Type()) : Type(builder.getF64Type());
    Entry value = smallIntegers(shape, element);
    double total = value.facts.magnitude() * double(reference::elementCount(value.type()) * programCount) + 8;
    Buffer buffer = addOutput(element, cells, {-total, total, 0, true, false, true}, true);
    Entry where = operand(shape, builder.getI32Type());
    Value pointers = pointersAt(buffer, boundedIndex(where, cells));
    Value mask =
        random.chance(50) ? randomMask(shape) : Value(constantInteger(tileType(shape, builder.getI1Type()), 1));
    auto semantic = randomSemantic(random);
    auto scope = randomScope(random);
    triton::AtomicRMWOp::create(builder, location, value.type(), triton::RMWOp::FAdd, pointers, value.value, mask,
                                semantic, scope);
    return;
  }
  static const std::vector<triton::RMWOp> kinds = {triton::RMWOp::And,  triton::RMWOp::Or,  triton::RMWOp::Xor,
                                                   triton::RMWOp::Add,  triton::RMWOp::Max, triton::RMWOp::Min,
                                                   triton::RMWOp::UMax, triton::RMWOp::UMin};
  auto value = chooseTile(isAtomicInteger);
  if (!value)
    value = loadTile(commonShape(), builder.getI32Type());
  Shape shape = shapeOf(*value);
  Buffer buffer = addOutput(elementOf(*value), cells, anything(value->type()), true);
  Entry where = operand(shape, builder.getI32Type());
  Value pointers = pointersAt(buffer, boundedIndex(where, cells));
  Value mask = random.chance(50) ? randomMask(shape) : Value(constantInteger(tileType(shape, builder.getI1Type()), 1));
  auto kind = random.pick(kinds);
  auto semantic = randomSemantic(random);
  auto scope = randomScope(random);
  triton::AtomicRMWOp::create(builder, location, value->type(), kind, pointers, value->value, mask, semantic, scope);
}

// Each program has cells of its own: the old values are determined and join the pool.
void Generator::addOwnAtomic() {
  bool isFloat = random.chance(30);
  auto value = isFloat ? choose([&](const Entry &e) {
    return (elementOf(e).isF32() || elementOf(e).isF64() || elementOf(e).isF16()) && e.facts.exact() &&
           e.facts.finite();
  })
                       : choose([&](const Entry &e) { return isAtomicInteger(elementOf(e)); });
  if (!value || depth > 0)
    return;
  Shape shape = shapeOf(*value);
  Facts sum = value->facts;
  sum.low -= 8;
  sum.high += 8;
  Facts after = isFloat ? *rounded(value->type(), sum) : anything(value->type());
  Buffer buffer = addOutput(elementOf(*value), reference::elementCount(value->type()) * programCount, after, true);
  static const std::vector<triton::RMWOp> kinds = {triton::RMWOp::And,  triton::RMWOp::Or,   triton::RMWOp::Xor,
                                                   triton::RMWOp::Add,  triton::RMWOp::Max,  triton::RMWOp::Min,
                                                   triton::RMWOp::UMax, triton::RMWOp::UMin, triton::RMWOp::Exchange};
  auto kind = isFloat ? triton::RMWOp::FAdd : random.pick(kinds);
  Value pointers = pointersAt(buffer, ownIndex(shape));
  Value mask = randomMask(shape);
  auto semantic = randomSemantic(random);
  auto scope = randomScope(random);
  Value old = triton::AtomicRMWOp::create(builder, location, value->type(), kind, pointers, value->value, mask,
                                          semantic, scope);
  Value zero = isFloat ? constantFloat(value->type(), 0) : constantInteger(value->type(), 0);
  keep(create("arith.select", {mask, old, zero}, value->type()), Facts{-8, 8});
}

void Generator::addCompareAndSwap() {
  auto value = choose([&](const Entry &e) { return isAtomicInteger(elementOf(e)); });
  if (!value || depth > 0)
    return;
  Shape shape = shapeOf(*value);
  Buffer buffer = addOutput(elementOf(*value), reference::elementCount(value->type()) * programCount,
                            anything(value->type()), true);
  Entry expected = operand(shape, elementOf(*value));
  Value compare =
      expected.facts.magnitude() <= 8 ? expected.value : constantInteger(value->type(), random.between(-8, 8));
  Value pointers = pointersAt(buffer, ownIndex(shape));
  auto semantic = randomSemantic(random);
  auto scope = randomScope(random);
  Value old =
      triton::AtomicCASOp::create(builder, location, value->type(), pointers, compare, value->value, semantic, scope);
  keep(old, Facts{-8, 8});
}

// Each program stores to cells of its own, then reads them or asks whether they hold what it stored; often in another
// order of the elements, so that threads see what other threads stored.
void Generator::addAtomicAccess() {
  using triton::MemSemantic;
  auto value = choose([&](const Entry &e) { return isAtomicInteger(elementOf(e)); });
  if (!value || depth > 0)
    return;
  Shape shape = shapeOf(*value);
  Type i1 = tileType(shape, builder.getI1Type()), type = value->type();
  int64_t count = reference::elementCount(type);
  Buffer buffer = addOutput(elementOf(*value), count * programCount, anything(type), true);
  Value index = ownIndex(shape), mask = randomMask(shape), pointers = pointersAt(buffer, index);
  auto stores = random.chance(50) ? MemSemantic::Relaxed : MemSemantic::Release;
  auto loads = random.chance(50) ? MemSemantic::Relaxed : MemSemantic::Acquire;
  auto scope = randomScope(random);
  triton::AtomicStoreOp::create(builder, location, pointers, value->value, mask, stores, scope);
  if (random.chance(40)) { // the first look is the last
    Value now = constantInteger(builder.getI64Type(), 0);
    Value came = triton::AtomicPollOp::create(builder, location, i1, pointers, value->value, now, loads, scope);
    keep(create("arith.select", {mask, came, constantInteger(i1, 0)}, i1), anything(i1));
    return;
  }
  if (!shape.empty() && random.chance(50))
    index = create("arith.xori", {index, constantInteger(index.getType(), random.below(count))}, index.getType());
  mask = randomMask(shape);
  Value read = triton::AtomicLoadOp::create(builder, location, type, pointersAt(buffer, index), mask, loads, scope);
  keep(create("arith.select", {mask, read, constantInteger(type, 0)}, type), anything(type));
}

//===-- Blocks ---------------------------------------------------------------------------------------------------===//

// A block that may stick out of its tensor on every side: the tensor is [rows, columns] inside an input of 4096.
void Generator::addBlockPointer() {
  static const std::vector<int64_t> sizes = {4, 8, 16};
  int64_t height = random.pick(sizes);
  int64_t width = random.pick(sizes);
  Type element = random.chance(50) ? randomIntegerType() : randomFloatType();
  Buffer buffer = inputOf(element);
  int64_t rows = random.between(1, 20), columns = random.between(1, 20);
  Type i64 = builder.getI64Type(), i32 = builder.getI32Type();
  auto block = cast<RankedTensorType>(tileType({height, width}, element));
  Value offset = constantInteger(i32, random.between(-4, 4));
  Value moved = create("arith.addi", {programIndex, offset}, i32);
  SmallVector<Value> shape{constantInteger(i64, rows), constantInteger(i64, columns)};
  SmallVector<Value> strides{constantInteger(i64, columns), constantInteger(i64, 1)};
  Value at = triton::MakeTensorPtrOp::create(builder, location, triton::PointerType::get(block), buffer.pointer, shape,
                                             strides, ValueRange{moved, offset}, ArrayRef<int32_t>{1, 0});
  if (random.chance(50))
    at = triton::AdvanceOp::create(builder, location, at.getType(), at, ValueRange{offset, offset});
  Value loaded = triton::LoadOp::create(builder, location, block, at, Value(), Value(), ArrayRef<int32_t>{0, 1},
                                        triton::PaddingOptionAttr::get(&context, triton::PaddingOption::Zero));
  Facts facts = buffer.facts;
  facts.low = std::min(facts.low, 0.0);
  facts.high = std::max(facts.high, 0.0);
  keep(loaded, facts);
}
