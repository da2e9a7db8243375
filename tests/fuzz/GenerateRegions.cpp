// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions, scans and map_elementwise with random regions that are associative (and commutative for a reduction).
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tests/fuzz/Generator.h"
#include "tests/reference/Tile.h"
#include <cmath>

using namespace mlir;
using namespace heddle;
using namespace heddle::fuzz;

// An associative and commutative function for `count` such elements, with the facts of what it accumulates.
std::optional<Generator::Combine> Generator::randomCombine(const Entry &entry, int64_t count) {
  Type element = elementOf(entry);
  const Facts &x = entry.facts;
  auto simple = [this, element](std::string op) {
    return [this, element, op](Value a, Value b) { return create(op, {a, b}, element); };
  };
  if (element.isInteger()) {
    static const std::vector<std::string> ops = {"arith.addi",  "arith.addi", "arith.muli",  "arith.andi",
                                                 "arith.ori",   "arith.xori", "arith.minsi", "arith.maxsi",
                                                 "arith.minui", "arith.maxui"};
    static const std::vector<std::string> bitOps = {"arith.andi", "arith.ori", "arith.xori"};
    std::string op = element.isInteger(1) ? random.pick(bitOps) : random.pick(ops);
    Facts facts = anything(element);
    if (op == "arith.addi" && !element.isInteger(1))
      facts = integers(element, std::min(x.low, x.low * double(count)), std::max(x.high, x.high * double(count)));
    if (op == "arith.minsi" || op == "arith.maxsi")
      facts = x;
    if (op == "arith.addi" && random.chance(20)) { // a sum modulo 256: two operations in the region
      if (element.getIntOrFloatBitWidth() < 16)
        return Combine{anything(element), simple("arith.addi")};
      return Combine{anything(element), [this, element](Value a, Value b) {
                       Value sum = create("arith.addi", {a, b}, element);
                       return create("arith.andi", {sum, constantInteger(element, 255)}, element);
                     }};
    }
    return Combine{facts, simple(op)};
  }
  if (x.terminal())
    return std::nullopt;
  int64_t kind = random.below(6);
  if (kind < 3) { // minimum, maximum: also by comparison and select
    Facts facts = x;
    facts.looseZero = true;
    static const std::vector<std::string> ops = {"arith.maxnumf", "arith.minnumf", "arith.maximumf", "arith.minimumf"};
    if (kind < 2 || !x.exact() || x.special) {
      std::string op = random.pick(ops);
      return Combine{facts, simple(op)};
    }
    return Combine{facts, [this, element](Value a, Value b) {
                     Value greater = arith::CmpFOp::create(builder, location, arith::CmpFPredicate::OGT, a, b);
                     return create("arith.select", {greater, a, b}, element);
                   }};
  }
  if (x.special) // the order decides where an infinity or NaN appears
    return std::nullopt;
  double n = double(count);
  if (kind == 5 && x.magnitude() <= 2 && n <= 16 && (x.integral || x.exact())) { // a product
    double bound = std::pow(std::max(x.magnitude(), 1.0), n);
    bool exact = x.integral && x.exact() && bound <= std::ldexp(1.0, precisionOf(element));
    Facts facts{-bound,     bound, exact ? 0 : 2 * n * bound * std::ldexp(1.0, 1 - precisionOf(element)),
                x.integral, false, true};
    if (bound <= largestOf(element) / 4)
      return Combine{facts, simple("arith.mulf")};
  }
  bool exact = sumsExactly(element, x, n);
  // Each of n additions may be off by half a unit of the largest partial sum, in either executor.
  double bound = n * x.magnitude();
  Facts facts{-bound,     bound, exact ? 0 : n * x.error + n * bound * std::ldexp(1.0, 1 - precisionOf(element)),
              x.integral, false, true};
  if (bound + facts.error > largestOf(element) / 4)
    return std::nullopt;
  return Combine{facts, simple("arith.addf")};
}

static bool combinable(const Entry &entry) {
  Type element = getElementTypeOrSelf(entry.type());
  return isa<RankedTensorType>(entry.type()) &&
         (element.isInteger() || (isa<FloatType>(element) && element.getIntOrFloatBitWidth() > 8)) &&
         !entry.facts.terminal();
}

// Block arguments are all left values, then all right values.
static Block &addCombineBlock(Region &region, ArrayRef<Type> elements, Location location) {
  Block &block = region.emplaceBlock();
  for (int side = 0; side < 2; ++side)
    for (Type element : elements)
      block.addArgument(element, location);
  return block;
}

// One or two operands that are combined independently of each other.
void Generator::addReduce() {
  auto a = choose(combinable);
  if (!a)
    return;
  Shape shape = shapeOf(*a);
  int64_t axis = random.below(int64_t(shape.size())), count = shape[size_t(axis)];
  shape.erase(shape.begin() + axis);
  std::vector<Entry> sources{*a};
  if (random.chance(25))
    if (auto b = choose([&](const Entry &e) { return combinable(e) && shapeOf(e) == shapeOf(*a); }))
      sources.push_back(*b);
  std::vector<Combine> combines;
  SmallVector<Type> elements, results;
  SmallVector<Value> values;
  for (const Entry &source : sources) {
    auto combine = randomCombine(source, count);
    if (!combine)
      return;
    combines.push_back(*combine);
    elements.push_back(elementOf(source));
    results.push_back(tileType(shape, elementOf(source)));
    values.push_back(source.value);
  }
  auto reduce = triton::ReduceOp::create(builder, location, results, values, uint32_t(axis));
  Block &block = addCombineBlock(reduce.getCombineOp(), elements, location);
  inBlock(&block, [&] {
    SmallVector<Value> combined;
    for (size_t k = 0; k < combines.size(); ++k)
      combined.push_back(combines[k].build(block.getArgument(k), block.getArgument(k + combines.size())));
    triton::ReduceReturnOp::create(builder, location, combined);
  });
  for (size_t k = 0; k < combines.size(); ++k) {
    // A reduction over one element combines nothing.
    Facts facts = count == 1 ? sources[k].facts : combines[k].facts;
    keep(reduce.getResult()[k], facts);
  }
}

// The largest or smallest element and where it is; of equal ones the first.
void Generator::addArgReduce() {
  auto a = choose([](const Entry &e) {
    return combinable(e) && e.facts.exact() && e.facts.finite() && !elementOf(e).isInteger(1);
  });
  if (!a)
    return;
  Shape shape = shapeOf(*a);
  int64_t axis = random.below(int64_t(shape.size()));
  Type element = elementOf(*a), i32 = builder.getI32Type();
  Value positions = linearIndex(shape);
  int64_t total = reference::elementCount(a->type());
  shape.erase(shape.begin() + axis);
  bool largest = random.chance(50);
  SmallVector<Type> results{tileType(shape, element), tileType(shape, i32)};
  auto reduce = triton::ReduceOp::create(builder, location, results, ValueRange{a->value, positions}, uint32_t(axis));
  Block &block = addCombineBlock(reduce.getCombineOp(), {element, i32}, location);
  inBlock(&block, [&] {
    Value x = block.getArgument(0), xi = block.getArgument(1), y = block.getArgument(2), yi = block.getArgument(3);
    Value better, equal;
    if (element.isInteger()) {
      better = arith::CmpIOp::create(builder, location, largest ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::slt,
                                     x, y);
      equal = arith::CmpIOp::create(builder, location, arith::CmpIPredicate::eq, x, y);
    } else {
      better = arith::CmpFOp::create(builder, location, largest ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT,
                                     x, y);
      equal = arith::CmpFOp::create(builder, location, arith::CmpFPredicate::OEQ, x, y);
    }
    Value first = arith::CmpIOp::create(builder, location, arith::CmpIPredicate::slt, xi, yi);
    Value tie = create("arith.andi", {equal, first}, builder.getI1Type());
    Value left = create("arith.ori", {better, tie}, builder.getI1Type());
    Value value = create("arith.select", {left, x, y}, element);
    Value position = create("arith.select", {left, xi, yi}, i32);
    triton::ReduceReturnOp::create(builder, location, ValueRange{value, position});
  });
  keep(reduce.getResult()[0], a->facts);
  keep(reduce.getResult()[1], Facts{0, double(total - 1)});
}

void Generator::addScan() {
  auto a = choose(combinable);
  if (!a)
    return;
  Shape shape = shapeOf(*a);
  int64_t axis = random.below(int64_t(shape.size()));
  auto combine = randomCombine(*a, shape[size_t(axis)]);
  if (!combine)
    return;
  bool reverse = random.chance(40);
  auto scan = triton::ScanOp::create(builder, location, TypeRange(a->type()), a->value, uint32_t(axis), reverse);
  Block &block = addCombineBlock(scan.getCombineOp(), {elementOf(*a)}, location);
  inBlock(&block, [&] {
    Value combined = combine->build(block.getArgument(0), block.getArgument(1));
    triton::ScanReturnOp::create(builder, location, combined);
  });
  keep(scan.getResult()[0], join(a->facts, combine->facts)); // the first element stays as it is
}

// x[i] = a[i] * x[i-1] + b[i]: two operands, associative but not commutative.
void Generator::addRecurrenceScan() {
  auto a = chooseTile([](Type type) { return type.isInteger() && !type.isInteger(1); });
  if (!a)
    return;
  Entry b = operandLike(*a);
  Type element = elementOf(*a);
  int64_t axis = random.below(int64_t(shapeOf(*a).size()));
  auto scan = triton::ScanOp::create(builder, location, TypeRange{a->type(), a->type()}, ValueRange{a->value, b.value},
                                     uint32_t(axis), false);
  Block &block = addCombineBlock(scan.getCombineOp(), {element, element}, location);
  inBlock(&block, [&] {
    Value a1 = block.getArgument(0), b1 = block.getArgument(1), a2 = block.getArgument(2), b2 = block.getArgument(3);
    Value factor = create("arith.muli", {a1, a2}, element);
    Value scaled = create("arith.muli", {b1, a2}, element);
    Value sum = create("arith.addi", {scaled, b2}, element);
    triton::ScanReturnOp::create(builder, location, ValueRange{factor, sum});
  });
  keep(scan.getResult()[0], anything(element));
  keep(scan.getResult()[1], anything(element));
}

// Per pair of contiguous elements or per element, with a branch inside.
void Generator::addMapElementwise() {
  auto a = chooseTile([](Type type) { return type.isInteger() && !type.isInteger(1); });
  if (!a)
    return;
  Entry b = operandLike(*a);
  Type element = elementOf(*a);
  uint32_t pack = reference::elementCount(a->type()) > 1 && random.chance(50) ? 2 : 1;
  auto map =
      triton::MapElementwiseOp::create(builder, location, TypeRange(a->type()), ValueRange{a->value, b.value}, pack);
  Block &block = map.getScalarOp().emplaceBlock();
  for (uint32_t i = 0; i < 2 * pack; ++i)
    block.addArgument(element, location);
  inBlock(&block, [&] {
    SmallVector<Value> results;
    for (uint32_t p = 0; p < pack; ++p) {
      Value x = block.getArgument(p), y = block.getArgument(pack + (pack - 1 - p)); // crosses the pair
      Value less = arith::CmpIOp::create(builder, location, arith::CmpIPredicate::slt, x, y);
      auto branch = scf::IfOp::create(builder, location, TypeRange(element), less, true);
      inBlock(branch.thenBlock(),
              [&] { scf::YieldOp::create(builder, location, create("arith.subi", {y, x}, element)); });
      inBlock(branch.elseBlock(),
              [&] { scf::YieldOp::create(builder, location, create("arith.xori", {x, y}, element)); });
      results.push_back(branch.getResult(0));
    }
    triton::MapElementwiseReturnOp::create(builder, location, results);
  });
  keep(map.getResult()[0], anything(element));
}
