// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations that move elements, and histogram.
#include "tests/fuzz/Generator.h"
#include "tests/reference/Tile.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::fuzz;

static bool anyElement(Type type) {
  return type.isIntOrFloat();
}
static constexpr int64_t mostElements = 1024;

void Generator::addReshape() {
  auto a = chooseTile(anyElement, /*allowTerminal=*/true);
  if (!a)
    return;
  int64_t count = reference::elementCount(a->type());
  Shape shape = commonShape();
  if (reference::elementCount(tileType(shape, elementOf(*a))) != count) {
    shape = Shape(size_t(random.between(1, 4)), 1);
    for (int64_t rest = count; rest > 1; rest /= 2)
      shape[size_t(random.below(int64_t(shape.size())))] *= 2;
  }
  keep(triton::ReshapeOp::create(builder, location, tileType(shape, elementOf(*a)), a->value), a->facts);
}

void Generator::addTranspose() {
  auto a = choose([](const Entry &e) { return shapeOf(e).size() >= 2; });
  if (!a)
    return;
  Shape source = shapeOf(*a), shape;
  SmallVector<int32_t> order;
  for (size_t d = 0; d < source.size(); ++d)
    order.insert(order.begin() + random.below(int64_t(d) + 1), int32_t(d));
  for (int32_t d : order)
    shape.push_back(source[size_t(d)]);
  keep(triton::TransOp::create(builder, location, tileType(shape, elementOf(*a)), a->value, order), a->facts);
}

void Generator::addExpandBroadcast() {
  auto a = choose([](const Entry &e) {
    return isa<RankedTensorType>(e.type()) && shapeOf(e).size() < 4 &&
           reference::elementCount(e.type()) <= mostElements / 4;
  });
  if (!a)
    return;
  Shape shape = shapeOf(*a);
  size_t axis = size_t(random.below(int64_t(shape.size()) + 1));
  shape.insert(shape.begin() + int64_t(axis), 1);
  Value expanded =
      triton::ExpandDimsOp::create(builder, location, tileType(shape, elementOf(*a)), a->value, uint32_t(axis));
  keep(expanded, a->facts);
  for (int64_t &dimension : shape)
    if (dimension == 1 && random.chance(80))
      dimension = int64_t(1) << random.below(3);
  if (reference::elementCount(tileType(shape, elementOf(*a))) <= mostElements)
    keep(triton::BroadcastOp::create(builder, location, tileType(shape, elementOf(*a)), expanded), a->facts);
}

void Generator::addJoinSplit() {
  auto a = choose([](const Entry &e) {
    return isa<RankedTensorType>(e.type()) && shapeOf(e).size() < 4 &&
           reference::elementCount(e.type()) <= mostElements / 2;
  });
  if (!a)
    return;
  Shape shape = shapeOf(*a);
  if (shape.size() >= 2 && shape.back() == 2 && random.chance(70)) {
    shape.pop_back();
    Type half = tileType(shape, elementOf(*a));
    auto split = triton::SplitOp::create(builder, location, half, half, a->value);
    keep(split.getOutLHS(), a->facts);
    keep(split.getOutRHS(), a->facts);
    return;
  }
  auto b = choose([&](const Entry &e) { return e.type() == a->type(); });
  shape.push_back(2);
  keep(triton::JoinOp::create(builder, location, tileType(shape, elementOf(*a)), a->value, b->value),
       join(a->facts, b->facts));
}

void Generator::addGather() {
  auto a = chooseTile(anyElement, /*allowTerminal=*/true);
  if (!a)
    return;
  Shape source = shapeOf(*a), shape = source;
  int64_t axis = random.below(int64_t(shape.size()));
  if (random.chance(40))
    shape[size_t(axis)] = int64_t(1) << random.below(4);
  if (reference::elementCount(tileType(shape, elementOf(*a))) > mostElements)
    return;
  Entry indices = operand(shape, builder.getI32Type());
  Value bounded = boundedIndex(indices, source[size_t(axis)]);
  keep(triton::GatherOp::create(builder, location, tileType(shape, elementOf(*a)), a->value, bounded, uint32_t(axis)),
       a->facts);
}

void Generator::addHistogram() {
  auto a = choose([](const Entry &e) { return shapeOf(e).size() == 1 && elementOf(e).isInteger(32); });
  if (!a) {
    Type i32 = builder.getI32Type();
    a = operand({64}, i32);
  }
  int64_t bins = int64_t(1) << random.between(1, 6);
  Value source = boundedIndex(*a, bins);
  Value mask = random.chance(50) ? randomMask(shapeOf(*a)) : Value();
  Value counts = triton::HistogramOp::create(builder, location, tileType({bins}, builder.getI32Type()), source, mask);
  keep(counts, Facts{0, double(reference::elementCount(a->type()))});
}

// The order of the elements of a cat is open, so only a sum over all of them is used.
void Generator::addCat() {
  auto a = choose(
      [](const Entry &e) { return shapeOf(e).size() == 1 && elementOf(e).isInteger() && !elementOf(e).isInteger(1); });
  if (!a)
    return;
  Entry b = operandLike(*a);
  Type element = elementOf(*a);
  Value both = triton::CatOp::create(builder, location, tileType({2 * shapeOf(*a)[0]}, element), a->value, b.value);
  auto sum = triton::ReduceOp::create(builder, location, TypeRange(element), both, 0u);
  Block &block = sum.getCombineOp().emplaceBlock();
  block.addArguments({element, element}, {location, location});
  inBlock(&block, [&] {
    Value added = create("arith.addi", {block.getArgument(0), block.getArgument(1)}, element);
    triton::ReduceReturnOp::create(builder, location, added);
  });
  keep(sum.getResult()[0], anything(element));
}
