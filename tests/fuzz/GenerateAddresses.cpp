// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Addresses as data - pointers that become integers, travel through memory and come back - and what only observes:
// prints, and assertions that hold.
#include "tests/fuzz/Generator.h"
#include "tests/reference/Tile.h"
#include <cmath>

using namespace mlir;
using namespace heddle;
using namespace heddle::fuzz;

//===-- Addresses ------------------------------------------------------------------------------------------------===//

// Stores the pointers to a buffer of this program's own and reads them back, as integers or as pointers, perhaps in
// another order. The buffer differs between runs and is no output.
Value Generator::throughMemory(Value pointers, const Shape &shape) {
  Type i64 = builder.getI64Type();
  int64_t count = reference::elementCount(pointers.getType());
  bool storesIntegers = random.chance(50);
  bool loadsIntegers = random.chance(50);
  Type pointer = getElementTypeOrSelf(pointers.getType());
  Type element = storesIntegers ? i64 : pointer;
  std::vector<uint8_t> bytes(size_t(count * programCount) * 8);
  addArgument(triton::PointerType::get(element), reference::Argument::buffer(std::move(bytes)), "addresses, no output");
  Buffer buffer{entryBlock->getArguments().back(), element, count * programCount, Facts{}};
  Value stored = pointers;
  if (storesIntegers)
    stored = triton::PtrToIntOp::create(builder, location, tileType(shape, i64), pointers);
  Value index = ownIndex(shape);
  triton::StoreOp::create(builder, location, pointersAt(buffer, index), stored, Value());
  if (!shape.empty() && random.chance(50))
    index = create("arith.xori", {index, constantInteger(index.getType(), random.below(count))}, index.getType());
  if (storesIntegers != loadsIntegers) {
    Type other = loadsIntegers ? i64 : pointer;
    buffer.pointer = triton::BitcastOp::create(builder, location, triton::PointerType::get(other), buffer.pointer);
    element = other;
  }
  Value loaded = triton::LoadOp::create(builder, location, tileType(shape, element), pointersAt(buffer, index), Value(),
                                        Value(), ArrayRef<int32_t>{}, triton::PaddingOptionAttr());
  if (!loadsIntegers)
    return loaded;
  return triton::IntToPtrOp::create(builder, location, pointers.getType(), loaded);
}

void Generator::addAddressLoad() {
  Shape shape = random.chance(15) ? Shape() : commonShape();
  Type i64 = builder.getI64Type(), element = random.chance(50) ? randomIntegerType() : randomFloatType();
  Buffer buffer = inputOf(element);
  bool isOwn = random.chance(50) && reference::elementCount(tileType(shape, element)) * programCount <= buffer.size;
  Value index = isOwn ? ownIndex(shape) : boundedIndex(operand(shape, builder.getI32Type()), buffer.size);
  Value pointers;
  if (random.chance(40)) { // the address computed by hand
    Value base = triton::PtrToIntOp::create(builder, location, i64, buffer.pointer);
    Type wide = tileType(shape, i64);
    Value offset = create("arith.extsi", index, wide);
    offset = create("arith.muli", {offset, constantInteger(wide, reference::elementBytes(element))}, wide);
    Value address = create("arith.addi", {splat(base, shape), offset}, wide);
    pointers =
        triton::IntToPtrOp::create(builder, location, tileType(shape, triton::PointerType::get(element)), address);
  } else {
    pointers = pointersAt(buffer, index);
  }
  if (random.chance(75))
    pointers = throughMemory(pointers, shape);
  Type type = tileType(shape, element);
  Value mask, other;
  Facts facts = buffer.facts;
  if (!shape.empty() && random.chance(40)) {
    mask = randomMask(shape);
    other = isa<FloatType>(element) ? constantFloat(type, 1) : constantInteger(type, 1);
    facts.low = std::min(facts.low, 1.0);
    facts.high = std::max(facts.high, 1.0);
  }
  keep(triton::LoadOp::create(builder, location, type, pointers, mask, other, ArrayRef<int32_t>{},
                              triton::PaddingOptionAttr()),
       facts);
}

void Generator::addAddressStore() {
  auto entry =
      choose([&](const Entry &entry) { return elementOf(entry).isIntOrFloat() && !elementOf(entry).isInteger(1); });
  if (!entry)
    return;
  Shape shape = shapeOf(*entry);
  int64_t count = reference::elementCount(entry->type());
  Buffer buffer = addOutput(elementOf(*entry), count * programCount, entry->facts);
  Value pointers = throughMemory(pointersAt(buffer, ownIndex(shape)), shape);
  Value mask = !shape.empty() && random.chance(25) ? randomMask(shape) : Value();
  triton::StoreOp::create(builder, location, pointers, entry->value, mask);
}

//===-- Observing ------------------------------------------------------------------------------------------------===//

void Generator::addPrint() {
  SmallVector<Value> values;
  SmallVector<int32_t> isSigned;
  for (int64_t left = random.below(3); left > 0; --left) {
    auto entry = choose([&](const Entry &entry) { return reference::elementCount(entry.type()) <= 64; });
    if (!entry)
      continue;
    values.push_back(entry->value);
    isSigned.push_back(random.chance(50));
  }
  triton::PrintOp::create(builder, location, " value: ", /*hex=*/random.chance(30), values, isSigned);
}

// What is known of a value, said by the program itself.
void Generator::addAssert() {
  auto entry = choose([&](const Entry &entry) {
    Type element = elementOf(entry);
    bool isInteger = element.isInteger() && !element.isInteger(1);
    return isInteger || ((element.isF32() || element.isF64() || element.isF16()) && entry.facts.finite());
  });
  if (!entry)
    return;
  bool isUpper = random.chance(50);
  double bound = isUpper ? entry->facts.high : entry->facts.low;
  Value holds;
  if (elementOf(*entry).isInteger()) {
    bool isKnown = std::fabs(bound) < 100 || std::fabs(bound) == 128; // and not merely what every bit pattern fulfils
    Value value = entry->value;
    if (!isKnown) {
      value = create("arith.ori", {value, constantInteger(entry->type(), 1)}, entry->type());
      Value zero = constantInteger(entry->type(), 0);
      holds = arith::CmpIOp::create(builder, location, arith::CmpIPredicate::ne, value, zero);
    } else {
      Value limit = constantInteger(entry->type(), int64_t(bound));
      auto predicate = isUpper ? arith::CmpIPredicate::sle : arith::CmpIPredicate::sge;
      holds = arith::CmpIOp::create(builder, location, predicate, value, limit);
    }
  } else {
    double slack = entry->facts.error + std::fabs(bound) / 50 + 0.01; // more than the rounding of the limit
    Value limit = constantFloat(entry->type(), isUpper ? bound + slack : bound - slack);
    auto predicate = isUpper ? arith::CmpFPredicate::OLE : arith::CmpFPredicate::OGE;
    holds = arith::CmpFOp::create(builder, location, predicate, entry->value, limit);
  }
  triton::AssertOp::create(builder, location, holds, "known");
}
