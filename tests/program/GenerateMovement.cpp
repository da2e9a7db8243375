// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Movement, reductions and dot.
#include "tests/program/ModuleGenerator.h"
#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>
#include <numeric>

namespace heddle::program::testing {

static Dimensions shuffled(int64_t count, fuzz::Random &random) {
  Dimensions numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  for (size_t i = numbers.size(); i > 1; --i)
    std::swap(numbers[i - 1], numbers[size_t(random.below(int64_t(i)))]);
  return numbers;
}

/// Dimensions of the same number of elements.
static Dimensions refactored(int64_t elements, fuzz::Random &random) {
  Dimensions dimensions;
  while (dimensions.size() < 2 && random.chance(60)) {
    std::vector<int64_t> divisors;
    for (int64_t divisor = 1; divisor <= std::min<int64_t>(elements, 64); ++divisor)
      if (elements % divisor == 0)
        divisors.push_back(divisor);
    if (divisors.empty())
      break;
    dimensions.push_back(random.pick(divisors));
    elements /= dimensions.back();
  }
  if (elements != 1 || random.chance(30))
    dimensions.insert(dimensions.begin() + random.below(std::ssize(dimensions) + 1), elements);
  return dimensions;
}

bool ModuleGenerator::reshaping() {
  int value = pickAny();
  if (value < 0)
    return false;
  Shape shape = Shape::array(shapeOf(value).type, shapeOf(value).dimensions);
  Facts facts = factsOf(value);
  switch (random.below(4)) {
  case 0: { // broadcast into some of more dimensions, in any order
    Dimensions more = shape.dimensions, places;
    for (int64_t extra = random.between(0, 2); extra > 0 && more.size() < 3; --extra)
      more.push_back(random.between(1, 9));
    Dimensions order = shuffled(std::ssize(more), random), result(more.size());
    for (size_t i = 0; i < more.size(); ++i)
      result[size_t(order[i])] = more[i];
    places.assign(order.begin(), order.begin() + shape.rank());
    if (!std::is_sorted(places.begin(), places.end()))
      return false; // XLA wants them ascending
    return tryEmit(Shape::array(shape.type, result), fmt::format("broadcast($0), dimensions={}", listOf(places)),
                   {value}, facts);
  }
  case 1:
    return tryEmit(Shape::array(shape.type, refactored(shape.elementCount(), random)), "reshape($0)", {value}, facts);
  case 2: {
    Dimensions order = shuffled(shape.rank(), random), result;
    for (int64_t dimension : order)
      result.push_back(shape.dimensions[size_t(dimension)]);
    return tryEmit(Shape::array(shape.type, result), fmt::format("transpose($0), dimensions={}", listOf(order)),
                   {value}, facts);
  }
  default: {
    Dimensions some = shuffled(shape.rank(), random);
    some.resize(size_t(random.below(std::ssize(some) + 1)));
    return tryEmit(shape, fmt::format("reverse($0), dimensions={}", listOf(some)), {value}, facts);
  }
  }
}

bool ModuleGenerator::slicing() {
  int value = pick([&](int id) { return shapeOf(id).rank() > 0; });
  if (value < 0)
    return false;
  Shape shape = Shape::array(shapeOf(value).type, shapeOf(value).dimensions);
  Facts facts = factsOf(value);
  std::vector<std::string> parts;
  if (random.chance(50)) {
    for (int64_t &size : shape.dimensions) {
      int64_t start = random.between(0, std::min<int64_t>(size, 3)), limit = random.between(start, size);
      if (limit == start && random.chance(90))
        start = 0, limit = size;
      int64_t stride = random.chance(60) ? 1 : random.between(1, 3);
      parts.push_back(fmt::format("[{}:{}:{}]", start, limit, stride));
      size = (limit - start + stride - 1) / stride;
    }
    return tryEmit(shape, fmt::format("slice($0), slice={{{}}}", fmt::join(parts, ", ")), {value}, facts);
  }
  for (int64_t &size : shape.dimensions) {
    int64_t low = random.between(-1, 3), high = random.between(-1, 3), interior = random.chance(70) ? 0 : 2;
    int64_t padded = size + low + high + std::max<int64_t>(size - 1, 0) * interior;
    if (padded < 0)
      return false;
    parts.push_back(interior ? fmt::format("{}_{}_{}", low, high, interior) : fmt::format("{}_{}", low, high));
    size = padded;
  }
  int filler = valueOf(shape.type, {}, true);
  facts.magnitude = std::max(facts.magnitude, factsOf(filler).magnitude);
  facts.nan |= factsOf(filler).nan;
  return tryEmit(shape, fmt::format("pad($0, $1), padding={}", fmt::join(parts, "x")), {value, filler}, facts);
}

bool ModuleGenerator::dynamicSlicing() {
  int value = pickAny();
  if (value < 0)
    return false;
  Shape shape = Shape::array(shapeOf(value).type, shapeOf(value).dimensions);
  Facts facts = factsOf(value);
  bool updates = random.chance(50);
  Dimensions sizes;
  for (int64_t size : shape.dimensions)
    sizes.push_back(random.chance(3) ? 0 : random.chance(40) ? size : random.between(std::min<int64_t>(1, size), size));
  std::vector<int> operands = {value};
  if (updates) {
    int update = valueOf(shape.type, sizes, false);
    Facts other = factsOf(update);
    facts = {std::max(facts.magnitude, other.magnitude), std::max(facts.error, other.error), facts.nan || other.nan};
    operands.push_back(update);
  }
  for (int64_t size : shape.dimensions)
    operands.push_back(startIndex(size));
  Dimensions numbers(operands.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  std::string list = fmt::format("(${})", fmt::join(numbers, ", $"));
  if (updates)
    return tryEmit(shape, "dynamic-update-slice" + list, operands, facts);
  return tryEmit(Shape::array(shape.type, sizes),
                 fmt::format("dynamic-slice{}, dynamic_slice_sizes={}", list, listOf(sizes)), operands, facts);
}

bool ModuleGenerator::joining() {
  int first = pick([&](int id) { return shapeOf(id).rank() > 0; });
  if (first < 0)
    return false;
  Shape shape = Shape::array(shapeOf(first).type, shapeOf(first).dimensions);
  auto dimension = size_t(random.below(shape.rank()));
  Facts facts = factsOf(first);
  std::vector<int> operands = {first};
  std::string list = "$0";
  for (int64_t i = random.between(1, 3); i > 0; --i) {
    Dimensions dimensions = shapeOf(first).dimensions;
    if (random.chance(50))
      dimensions[dimension] = random.between(random.chance(90), 6);
    int part = valueOf(shape.type, dimensions, false);
    Facts other = factsOf(part);
    facts = {std::max(facts.magnitude, other.magnitude), std::max(facts.error, other.error), facts.nan || other.nan};
    shape.dimensions[dimension] += dimensions[dimension];
    list += fmt::format(", ${}", operands.size());
    operands.push_back(part);
  }
  return tryEmit(shape, fmt::format("concatenate({}), dimensions={{{}}}", list, dimension), operands, facts);
}

/// A copy in another layout, and what lies in its memory as another array.
bool ModuleGenerator::layouts() {
  int value = pick([&](int id) { return shapeOf(id).rank() > 0; });
  if (value < 0)
    return false;
  Shape from = Shape::array(shapeOf(value).type, shapeOf(value).dimensions);
  Shape to = Shape::array(from.type, refactored(from.elementCount(), random));
  from.writtenLayout = shuffled(from.rank(), random);
  if (random.chance(60))
    to.writtenLayout = shuffled(to.rank(), random);
  int copy = emit(from, "copy($0)", {value}, factsOf(value));
  return tryEmit(to, "bitcast($0)", {copy}, factsOf(value));
}

//===-- Contractions ---------------------------------------------------------------------------------------------===//

std::string ModuleGenerator::regionOf(const char *operation, DType type) {
  std::string name = fmt::format("{}_{}", operation, hlo::dtypeName(type)),
              shape = fmt::format("{}[]", hlo::dtypeName(type));
  std::string body = fmt::format("  ROOT r = {} {}(a, b)\n", shape, operation);
  if (std::string(operation) == "mixed")
    body = fmt::format("  half = {0} constant(0.5)\n  c = {0} multiply(a, half)\n  ROOT r = {0} add(c, b)\n", shape);
  regions[name] =
      fmt::format("{} {{\n  a = {} parameter(0)\n  b = {} parameter(1)\n{}}}\n\n", name, shape, shape, body);
  return name;
}

const char *ModuleGenerator::reductionFor(DType type) {
  std::vector<const char *> operations = {"add", "add", "add", "maximum", "minimum", "multiply"};
  if (!hlo::isFloating(type))
    operations = {"add", "maximum", "minimum", "multiply", "and", "or"};
  if (type == DType::Pred)
    operations = {"and", "or", "add", "multiply"};
  return random.pick(operations);
}

/// `roundsOnce`: both sides fold in one order and with the same roundings.
Facts ModuleGenerator::reducedFacts(const std::string &operation, DType type, Facts facts, int64_t count,
                                    bool roundsOnce) const {
  double n = double(std::max<int64_t>(count, 1));
  if (!hlo::isFloating(type) || operation == "maximum" || operation == "minimum")
    return facts;
  bool sum = operation == "add";
  double magnitude = sum ? n * facts.magnitude : std::pow(std::max(1.0, facts.magnitude), n);
  bool overflows = !(magnitude < largestOf(type));
  if (facts.error == 0 && roundsOnce)
    return {magnitude, 0, facts.nan || overflows};
  double lipschitz = sum ? 1 : std::pow(std::max(1.0, facts.magnitude + facts.error), n - 1);
  return {magnitude, n * lipschitz * facts.error + 2 * (n + 1) * roundoff(type) * magnitude + 0x1p-22, facts.nan};
}

bool ModuleGenerator::reduction() {
  int value = pick([&](int id) { return shapeOf(id).rank() > 0; });
  if (value < 0)
    return false;
  Shape shape = shapeOf(value);
  std::string operation = reductionFor(shape.type);
  bool floating = hlo::isFloating(shape.type), exactly = isExact(value);
  if (!floating && shape.type != DType::Pred && random.chance(10))
    operation = "xor";
  if (floating && exactly && random.chance(10))
    operation = "mixed";
  Dimensions reduced = {shape.rank() - 1};
  if (random.chance(50)) {
    reduced = shuffled(shape.rank(), random);
    reduced.resize(size_t(random.between(1, shape.rank())));
  }
  Dimensions kept;
  int64_t count = 1;
  for (int64_t i = 0; i < shape.rank(); ++i)
    if (std::find(reduced.begin(), reduced.end(), i) == reduced.end())
      kept.push_back(shape.dimensions[size_t(i)]);
    else
      count *= shape.dimensions[size_t(i)];
  int initial = floating && random.chance(40) && operation == "maximum"
                    ? emit(Shape::scalar(shape.type), "constant(-inf)", {}, {0, 0, false})
                    : randomScalar(shape.type);
  Facts facts = factsOf(value);
  facts.magnitude = std::max(facts.magnitude, factsOf(initial).magnitude);
  // A single operation on a narrow type is accumulated in f32 by the program, and rounded each time by the reference;
  // over the last dimensions it is taken in another order.
  Dimensions ascending = reduced;
  std::sort(ascending.begin(), ascending.end());
  bool isRow = ascending.front() == shape.rank() - int64_t(ascending.size()) && ascending.back() == shape.rank() - 1;
  bool sameRoundings = (hlo::bitWidth(shape.type) >= 32 && !isRow) || operation == "mixed";
  Facts result = operation == "mixed" ? Facts{2 * facts.magnitude + 3, 0, facts.nan}
                                      : reducedFacts(operation, shape.type, facts, count + 1, sameRoundings);
  if (count == 0 && operation == "maximum")
    result.nan = true, result.magnitude = INFINITY;
  if (std::isnan(result.magnitude) || std::isnan(result.error))
    return false;
  std::string region = regionOf(operation.c_str(), shape.type);
  return tryEmit(Shape::array(shape.type, kept),
                 fmt::format("reduce($0, $1), dimensions={}, to_apply={}", listOf(reduced), region), {value, initial},
                 result);
}

bool ModuleGenerator::argumentReduction() {
  int value = pick([&](int id) { return shapeOf(id).rank() > 0 && shapeOf(id).type == DType::F32 && isExact(id); });
  if (value < 0)
    return false;
  Shape shape = shapeOf(value);
  regions["largest_of"] = "largest_of {\n  v = f32[] parameter(0)\n  i = s32[] parameter(1)\n  w = f32[] parameter(2)\n"
                          "  j = s32[] parameter(3)\n  g = pred[] compare(v, w), direction=GE\n"
                          "  x = f32[] select(g, v, w)\n  y = s32[] select(g, i, j)\n"
                          "  ROOT t = (f32[], s32[]) tuple(x, y)\n}\n\n";
  int64_t dimension = random.below(shape.rank());
  int places =
      emit(Shape::array(DType::S32, shape.dimensions), fmt::format("iota(), iota_dimension={}", dimension), {}, {});
  int least = scalar(DType::F32, -100), none = scalar(DType::S32, -1);
  Dimensions kept = shape.dimensions;
  kept.erase(kept.begin() + dimension);
  Facts facts = factsOf(value);
  facts.magnitude = std::max(facts.magnitude, 100.0);
  isFit(DType::F32, facts);
  emitTuple({Shape::array(DType::F32, kept), Shape::array(DType::S32, kept)},
            fmt::format("reduce($0, $1, $2, $3), dimensions={{{}}}, to_apply=largest_of", dimension),
            {value, places, least, none}, {facts, {}});
  return true;
}

bool ModuleGenerator::dot() {
  int left = pick([&](int id) { return shapeOf(id).rank() > 0 && shapeOf(id).type != DType::Pred; });
  if (left < 0)
    return false;
  Shape lhs = shapeOf(left);
  int64_t rank = lhs.rank(), contracting = random.below(rank), length = lhs.dimensions[size_t(contracting)];
  bool batched = rank > 1 && random.chance(40);
  int64_t batch = batched ? (contracting + 1 + random.below(rank - 1)) % rank : -1;
  Dimensions result, other;
  if (batched) {
    other.push_back(lhs.dimensions[size_t(batch)]);
    result.push_back(other[0]);
  }
  for (int64_t i = 0; i < rank; ++i)
    if (i != contracting && i != batch)
      result.push_back(lhs.dimensions[size_t(i)]);
  int64_t rhsContracting = std::ssize(other);
  other.push_back(length);
  if (random.chance(75)) {
    int64_t columns = random.between(1, 9);
    bool before = random.chance(40);
    other.insert(other.begin() + (batched ? 1 : 0) + !before, columns);
    rhsContracting += before;
    result.push_back(columns);
  }
  int right = valueOf(lhs.type, other, exact());
  DType type = lhs.type;
  if (hlo::isFloating(type) ? hlo::bitWidth(type) == 16 : hlo::bitWidth(type) == 8)
    type = random.chance(50) ? type : hlo::isFloating(type) ? DType::F32 : DType::S32;
  Facts x = factsOf(left), y = factsOf(right), facts;
  double n = double(std::max<int64_t>(length, 1));
  facts.magnitude = n * x.magnitude * y.magnitude;
  facts.nan = x.nan || y.nan || !(facts.magnitude < largestOf(type));
  // A dot in tiles rounds once for each product and sum, the evaluator twice.
  bool isTiled = hlo::isFloating(type) && Shape::array(type, result).elementCount() * length >= 512;
  if (x.error + y.error > 0 || isTiled)
    facts.error = n * (x.error * (y.magnitude + y.error) + y.error * x.magnitude) +
                  2 * (n + 1) * roundoff(type) * facts.magnitude + 0x1p-22;
  if (isTiled && !std::isfinite(facts.error))
    return false;
  if (hlo::isFloating(type) && (std::isnan(facts.magnitude) || std::isnan(facts.error)))
    facts = {INFINITY, x.error + y.error, true};
  std::string code = "dot($0, $1)";
  if (batched)
    code += fmt::format(", lhs_batch_dims={{{}}}, rhs_batch_dims={{0}}", batch);
  code += fmt::format(", lhs_contracting_dims={{{}}}, rhs_contracting_dims={{{}}}", contracting, rhsContracting);
  return tryEmit(Shape::array(type, result), code, {left, right}, facts);
}

} // namespace heddle::program::testing
