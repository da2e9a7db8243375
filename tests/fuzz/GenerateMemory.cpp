// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Buffers, addresses, loads, stores, atomics. Programs of a grid may run in any order and at the same time: each stores
// to elements of its own, and what they share is only updated by operations whose order does not matter.
#include "tests/fuzz/Generator.h"
#include "tests/reference/Tile.h"
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace heddle;
using namespace heddle::fuzz;

static std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static constexpr int64_t inputSize = 4096; // enough for 1024 elements in each of four programs

size_t Generator::addArgument(Type type, reference::Argument argument, const std::string &note) {
  entryBlock->addArgument(type, location);
  program.arguments.push_back(std::move(argument));
  program.argumentNotes.push_back(note);
  return program.arguments.size() - 1;
}

//===-- Filling buffers ------------------------------------------------------------------------------------------===//

static uint64_t anyFloat(Random &random, const reference::FloatFormat &format) {
  uint64_t bits = reference::truncateBits(random.bits(), unsigned(format.width()));
  switch (random.below(12)) {
  case 0:
    return bits & format.signBit(); // a zero; NaN in the formats without -0
  case 1:
    return reference::encode(format, random.chance(50) ? INFINITY : -INFINITY);
  case 2:
    return format.quietNan();
  case 3:
    return bits & (format.signBit() | ((uint64_t(1) << format.mantissaBits) - 1)); // denormal
  case 4:
    return format.largestFinite() | (bits & format.signBit());
  case 5:
  case 6:
    return reference::isNan(format, bits) ? format.quietNan() : bits;
  default: // near the numbers that programs work with
    return reference::encode(format, std::ldexp(double(random.between(-4096, 4096)), -9));
  }
}

static uint64_t randomElement(Random &random, Type element, int fill, int smallLow, int smallHigh) {
  if (isa<FloatType>(element)) {
    const reference::FloatFormat &format = reference::formatOf(element);
    if (fill == 0)
      return reference::encode(format, double(random.between(smallLow, smallHigh)));
    if (fill == 1)
      return reference::encode(format, double(random.between(-255, 255)) / 64);
    return anyFloat(random, format);
  }
  unsigned width = element.getIntOrFloatBitWidth();
  int64_t value = fill == 0   ? random.between(smallLow, smallHigh)
                  : fill == 1 ? random.between(-100, 100)
                              : int64_t(random.bits());
  return reference::truncateBits(uint64_t(value), width);
}

Generator::Buffer Generator::addInput(Type element, int64_t size, Fill fill) {
  unsigned bytes = reference::elementBytes(element);
  std::vector<uint8_t> data(size_t(size) * bytes);
  for (int64_t i = 0; i < size; ++i) {
    uint64_t bits = randomElement(random, element, int(fill), -8, 8);
    std::memcpy(data.data() + i * bytes, &bits, bytes);
  }
  static const char *names[] = {"small integers", "fractions", "any bits"};
  addArgument(triton::PointerType::get(element), reference::Argument::buffer(std::move(data)),
              textOf(element) + "[" + std::to_string(size) + "], " + names[int(fill)]);
  Facts facts = anything(element);
  if (fill == Fill::Small)
    facts = Facts{-8, 8};
  else if (fill == Fill::Fractions)
    facts = isa<FloatType>(element) ? Facts{-4, 4, 0, false} : Facts{-100, 100};
  return {entryBlock->getArguments().back(), element, size, facts};
}

Generator::Buffer Generator::inputOf(Type element) {
  std::vector<Buffer> known;
  for (const Buffer &buffer : inputs)
    if (buffer.element == element)
      known.push_back(buffer);
  if (!known.empty() && random.chance(65))
    return random.pick(known);
  int64_t kind = random.below(3);
  inputs.push_back(addInput(element, inputSize, Fill(kind)));
  return inputs.back();
}

Generator::Buffer Generator::addOutput(Type element, int64_t size, const Facts &facts, bool fillSmall) {
  unsigned bytes = reference::elementBytes(element);
  std::vector<uint8_t> data(size_t(size) * bytes, 0xcd);
  for (int64_t i = 0; fillSmall && i < size; ++i) {
    uint64_t bits = randomElement(random, element, 0, -8, 8);
    std::memcpy(data.data() + i * bytes, &bits, bytes);
  }
  size_t index = addArgument(triton::PointerType::get(element), reference::Argument::buffer(std::move(data)),
                             textOf(element) + "[" + std::to_string(size) + "], output");
  bool isFloat = isa<FloatType>(element);
  program.outputs.push_back({index, textOf(element), isFloat ? facts.error : 0, isFloat && facts.looseZero});
  return {entryBlock->getArguments().back(), element, size, facts};
}

Generator::Buffer Generator::addLock() {
  Type i32 = builder.getI32Type();
  size_t index =
      addArgument(triton::PointerType::get(i32), reference::Argument::buffer(std::vector<uint8_t>(4)), "lock");
  program.outputs.push_back({index, "i32", 0, false});
  return {entryBlock->getArguments().back(), i32, 1, Facts{0, 1}};
}

//===-- Addresses ------------------------------------------------------------------------------------------------===//

Value Generator::linearIndex(const Shape &shape) {
  Type i32 = builder.getI32Type();
  int64_t count = 1;
  for (int64_t dimension : shape)
    count *= dimension;
  auto range = [&](int64_t size) {
    return triton::MakeRangeOp::create(builder, location, tileType({size}, i32), 0, uint32_t(size));
  };
  if (shape.size() == 1)
    return range(count);
  if (random.chance(30))
    return triton::ReshapeOp::create(builder, location, tileType(shape, i32), range(count));
  // The usual way: a range per dimension, expanded, scaled and broadcast.
  Value sum;
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d]) {
    Value along = range(shape[d]);
    Shape expanded{shape[d]};
    for (size_t e = 0; e < shape.size(); ++e) {
      if (e == d)
        continue;
      expanded.insert(expanded.begin() + int64_t(e), 1);
      along = triton::ExpandDimsOp::create(builder, location, tileType(expanded, i32), along, uint32_t(e));
    }
    if (stride > 1)
      along = create("arith.muli", {along, constantInteger(along.getType(), stride)}, along.getType());
    along = triton::BroadcastOp::create(builder, location, tileType(shape, i32), along);
    sum = sum ? create("arith.addi", {sum, along}, sum.getType()) : along;
  }
  return sum;
}

Value Generator::ownIndex(const Shape &shape) {
  Type i32 = builder.getI32Type();
  int64_t count = 1;
  for (int64_t dimension : shape)
    count *= dimension;
  if (shape.empty())
    return programIndex;
  Value share = create("arith.muli", {programIndex, constantInteger(i32, count)}, i32);
  Value index = linearIndex(shape);
  return create("arith.addi", {splat(share, shape), index}, index.getType());
}

Value Generator::pointersAt(const Buffer &buffer, Value index) {
  auto tensor = dyn_cast<RankedTensorType>(index.getType());
  Value base = tensor ? splat(buffer.pointer, Shape(tensor.getShape())) : buffer.pointer;
  if (random.chance(20) && getElementTypeOrSelf(index.getType()).isInteger(32)) {
    Type wide = tensor ? Type(tensor.clone(builder.getI64Type())) : Type(builder.getI64Type());
    index = create("arith.extsi", index, wide);
  }
  return triton::AddPtrOp::create(builder, location, base.getType(), base, index);
}

Value Generator::randomMask(const Shape &shape) {
  if (shape.empty() || random.chance(40))
    return operand(shape, builder.getI1Type()).value;
  // The first `limit` elements, with the limit known only at run time.
  Value limit = scalarI32().value;
  Value index = linearIndex(shape);
  Value bounded = create("arith.andi", {limit, constantInteger(limit.getType(), 255)}, limit.getType());
  return arith::CmpIOp::create(builder, location, arith::CmpIPredicate::slt, index, splat(bounded, shape));
}

//===-- Loads and stores -----------------------------------------------------------------------------------------===//

Entry Generator::loadTile(const Shape &shape, Type element, std::optional<Fill> fill) {
  if (element.isInteger(1)) { // bools come from bytes, as the front end stores them
    Entry bytes = loadTile(shape, builder.getI8Type(), Fill::Small);
    Value zero = constantInteger(bytes.type(), 0);
    return keep(arith::CmpIOp::create(builder, location, arith::CmpIPredicate::ne, bytes.value, zero), Facts{-1, 0});
  }
  Buffer buffer = fill ? addInput(element, inputSize, *fill) : inputOf(element);
  Type type = tileType(shape, element);
  Value index;
  auto scattered = choose([&](const Entry &entry) { return entry.type() == tileType(shape, builder.getI32Type()); });
  if (scattered && random.chance(25))
    index = boundedIndex(*scattered, buffer.size);
  else
    index = random.chance(50) && reference::elementCount(type) * programCount <= buffer.size ? ownIndex(shape)
                                                                                             : linearIndex(shape);
  Value pointers = pointersAt(buffer, index), mask, other;
  Facts facts = buffer.facts;
  int64_t form = random.below(4); // plain, plain, mask and other, mask and select
  if (form >= 2) {
    mask = randomMask(shape);
    other = isa<FloatType>(element) ? constantFloat(type, 1) : constantInteger(type, 1);
    facts.low = std::min(facts.low, 1.0);
    facts.high = std::max(facts.high, 1.0);
  }
  auto cache = random.chance(20) ? triton::CacheModifier::CacheGlobal : triton::CacheModifier::None;
  auto evict = random.chance(20) ? triton::EvictionPolicy::Last : triton::EvictionPolicy::Normal;
  bool isVolatile = random.chance(5);
  Value loaded = triton::LoadOp::create(builder, location, type, pointers, mask, form == 2 ? other : Value(),
                                        ArrayRef<int32_t>{}, triton::PaddingOptionAttr(), cache, evict, isVolatile);
  if (form == 3) // without `other` the inactive elements are undefined until the select
    loaded = create("arith.select", {mask, loaded, other}, type);
  return keep(loaded, facts);
}

Entry Generator::loadScalar(Type element) {
  if (element.isInteger(1)) {
    Entry value = scalarI32();
    Value zero = constantInteger(value.type(), random.between(-2, 2));
    return keep(arith::CmpIOp::create(builder, location, arith::CmpIPredicate::sgt, value.value, zero), Facts{-1, 0});
  }
  Buffer buffer = inputOf(element);
  Value index = constantInteger(builder.getI32Type(), random.below(buffer.size - 16));
  if (random.chance(50))
    index = create("arith.addi", {index, programIndex}, index.getType());
  Value pointer = pointersAt(buffer, index);
  return keep(triton::LoadOp::create(builder, location, element, pointer, Value(), Value(), ArrayRef<int32_t>{},
                                     triton::PaddingOptionAttr()),
              buffer.facts);
}

void Generator::store(const Entry &entry) {
  Type element = elementOf(entry);
  if (!element.isIntOrFloat())
    return;
  Shape shape = shapeOf(entry);
  Value value = entry.value;
  if (element.isInteger(1)) {
    element = builder.getI8Type();
    value = create("arith.extui", value, tileType(shape, element));
  }
  int64_t count = reference::elementCount(entry.type());
  Buffer buffer = addOutput(element, count * programCount, entry.facts);
  Value index = ownIndex(shape), mask;
  if (!shape.empty() && random.chance(20)) // another order of the same elements: flips low bits of the index
    index = create("arith.xori", {index, constantInteger(index.getType(), random.below(count))}, index.getType());
  if (!shape.empty() && random.chance(25))
    mask = randomMask(shape);
  Value pointers = pointersAt(buffer, index);
  triton::StoreOp::create(builder, location, pointers, value, mask);
}

void Generator::addLoad() {
  Shape shape = commonShape();
  Type element = randomElementType();
  loadTile(shape, element);
}

void Generator::addScalarLoad() {
  Type element = random.chance(60) ? randomIntegerType() : randomFloatType();
  loadScalar(element);
}

void Generator::addStore() {
  if (auto entry = choose([&](const Entry &entry) { return elementOf(entry).isIntOrFloat(); }))
    store(*entry);
}
