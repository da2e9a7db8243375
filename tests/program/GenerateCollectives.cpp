// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives in every notation of groups, variadic and asynchronous, and the code around them that kernels take in.
#include "tests/program/ModuleGenerator.h"
#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>
#include <numeric>

namespace heddle::program::testing {

/// The numbers below `count` in random order, cut into groups of these sizes.
static std::string randomList(int64_t count, const Dimensions &sizes, fuzz::Random &random) {
  Dimensions ids(static_cast<size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  if (random.chance(70))
    for (size_t i = ids.size(); i > 1; --i)
      std::swap(ids[i - 1], ids[size_t(random.below(int64_t(i)))]);
  std::vector<std::string> groups;
  auto next = ids.begin();
  for (int64_t size : sizes) {
    groups.push_back(listOf(Dimensions(next, next + size)));
    next += size;
  }
  return fmt::format("{{{}}}", fmt::join(groups, ","));
}

ModuleGenerator::Groups ModuleGenerator::randomGroups(bool hasGlobalIds, bool unequal) {
  int64_t all = module.replicas * module.partitions, mode = random.below(hasGlobalIds ? 3 : 2);
  // Cross-replica; by channel: cross-partition, or both; flattened.
  int64_t count = mode == 0 ? module.replicas : hasGlobalIds ? (mode == 1 ? module.replicas : all) : module.partitions;
  int64_t devicesEach = hasGlobalIds && mode == 1 ? module.partitions : 1;
  std::string attributes = mode == 0 ? "" : fmt::format(", channel_id={}", ++channels);
  bool flattened = hasGlobalIds && mode == 2;
  if (flattened)
    attributes += ", use_global_device_ids=true";
  Dimensions divisors;
  for (int64_t size = 1; size <= count; ++size)
    if (count % size == 0)
      divisors.push_back(size);
  int64_t size = random.chance(60) ? count : random.pick(divisors);
  std::string groups;
  switch (random.below(5)) {
  case 0:
    if (!flattened)
      return {attributes + (random.chance(50) ? ", replica_groups={}" : ""), count * devicesEach};
    [[fallthrough]];
  case 1: {
    int64_t rows = random.pick(divisors), columns = count / rows;
    groups = rows * columns == rows || random.chance(50)
                 ? fmt::format("[{},{}]<=[{}]", count / size, size, count)
                 : fmt::format("[{},{}]<=[{},{}]T(1,0)", count / size, size, rows, columns);
    break;
  }
  case 2: {
    int64_t other = count / size;
    groups = fmt::format("mesh['x'={},'y'={}] {{'{}'}}", random.chance(50) ? size : other, 0, 'x');
    bool first = random.chance(50);
    groups = fmt::format("mesh['x'={},'y'={}] {{'{}'}}", first ? size : other, first ? other : size, first ? 'x' : 'y');
    break;
  }
  default: {
    Dimensions sizes(size_t(count / size), size);
    if (unequal && random.chance(40)) {
      sizes.clear();
      for (int64_t left = count; left > 0; left -= sizes.back())
        sizes.push_back(random.between(1, left));
      size = *std::max_element(sizes.begin(), sizes.end());
    }
    groups = randomList(count, sizes, random);
  }
  }
  return {attributes + ", replica_groups=" + groups, size * devicesEach};
}

static std::string operandList(size_t count) {
  std::string list = "$0";
  for (size_t i = 1; i < count; ++i)
    list += fmt::format(", ${}", i);
  return list;
}

/// Plain, as a start and a done, or as a generic start of a wrapped computation.
std::vector<int> ModuleGenerator::emitCollective(const std::string &opcode, const std::vector<Shape> &results,
                                                 const std::vector<int> &operands, const std::string &attributes,
                                                 const std::vector<Facts> &facts) {
  bool isTuple = results.size() > 1;
  std::string code = fmt::format("{}({}){}", opcode, operandList(operands.size()), attributes);
  auto written = [&](const Shape &shape, const std::string &text, const std::vector<int> &from) {
    scope->computation.lines.push_back({fmt::format("v{}", names++), shape, text, from, facts});
    return int(scope->computation.lines.size()) - 1;
  };
  std::vector<Shape> inputs;
  for (int operand : operands)
    inputs.push_back(shapeOf(operand));
  Shape result = isTuple ? Shape::tuple(results) : results[0];
  int whole = -1;
  int64_t form = random.below(10);
  bool dedicated = opcode == "all-reduce" || opcode == "all-gather" || opcode == "collective-permute";
  if (form < 6) {
    whole = written(result, code, operands);
  } else if (form < 9) {
    Shape input = dedicated && !(inputs.size() > 1) ? inputs[0] : Shape::tuple(inputs);
    Shape declared = opcode == "all-reduce" ? result : Shape::tuple({input, result});
    int start =
        written(declared, fmt::format("{}-start({}){}", opcode, operandList(operands.size()), attributes), operands);
    whole = written(result, opcode + "-done($0)", {start});
  } else {
    RandomComputation wrapped;
    wrapped.name = fmt::format("wrapped.{}", names++);
    std::vector<int> parameters(operands.size());
    std::iota(parameters.begin(), parameters.end(), 0);
    for (const Shape &input : inputs)
      wrapped.lines.push_back({fmt::format("v{}", names++), input, "parameter", {}, {}});
    wrapped.lines.push_back({fmt::format("v{}", names++), result, code, parameters, facts});
    wrapped.results = {int(operands.size())};
    wrapped.isTuple = false;
    Shape declared = Shape::tuple({Shape::tuple(inputs), result, Shape::scalar(DType::U32)});
    int start = written(declared, fmt::format("async-start({}), calls={}", operandList(operands.size()), wrapped.name),
                        operands);
    module.computations.push_back(std::move(wrapped));
    if (random.chance(40))
      start = written(declared, "async-update($0)", {start});
    whole = written(result, "async-done($0)", {start});
  }
  if (!isTuple) {
    scope->arrays.push_back(whole);
    return {whole};
  }
  std::vector<int> elements;
  takeApart(whole, results, facts, elements);
  return elements;
}

bool ModuleGenerator::reducingCollective() {
  bool scatters = random.chance(35);
  Groups groups = randomGroups(true, !scatters);
  int first = pick([&](int id) { return !scatters || shapeOf(id).rank() > 0; });
  if (first < 0)
    return false;
  DType type = shapeOf(first).type;
  std::vector<int> operands = {first};
  while (operands.size() < 3 && random.chance(15)) {
    int more = pick([&](int id) { return shapeOf(id).type == type && (!scatters || shapeOf(id).rank() > 0); });
    operands.push_back(more);
  }
  std::string operation = reductionFor(type);
  int64_t dimension = scatters ? random.below(shapeOf(first).rank()) : 0;
  std::vector<Shape> results;
  std::vector<Facts> facts;
  for (int &operand : operands) {
    if (scatters && shapeOf(operand).rank() <= dimension)
      return false;
    Shape shape = Shape::array(type, shapeOf(operand).dimensions);
    if (scatters) {
      int64_t &size = shape.dimensions[size_t(dimension)];
      if (size % groups.size != 0) { // padded to fit
        int filler = scalar(type, 0);
        std::string padding;
        for (int64_t i = 0; i < shape.rank(); ++i)
          padding += fmt::format("{}0_{}", i ? "x" : "", i == dimension ? groups.size - size % groups.size : 0);
        size += groups.size - size % groups.size;
        Facts padded = factsOf(operand);
        operand = emit(shape, "pad($0, $1), padding=" + padding, {operand, filler}, padded);
      }
      size /= groups.size;
    }
    Facts result = reducedFacts(operation, type, factsOf(operand), groups.size, true);
    if (std::isnan(result.error) || std::isnan(result.magnitude) || !isFit(type, result))
      return false;
    facts.push_back(result);
    results.push_back(shape);
  }
  std::string attributes = groups.attributes + (scatters ? fmt::format(", dimensions={{{}}}", dimension) : "") +
                           ", to_apply=" + regionOf(operation.c_str(), type);
  emitCollective(scatters ? "reduce-scatter" : "all-reduce", results, operands, attributes, facts);
  return true;
}

bool ModuleGenerator::gathering() {
  Groups groups = randomGroups(true, false);
  int first = pick([&](int id) { return shapeOf(id).rank() > 0 && shapeOf(id).elementCount() * groups.size <= 20000; });
  if (first < 0)
    return false;
  std::vector<int> operands = {first};
  int64_t dimension = random.below(shapeOf(first).rank());
  if (random.chance(15))
    if (int more = pick([&](int id) {
          return shapeOf(id).rank() > dimension && shapeOf(id).elementCount() * groups.size <= 20000;
        });
        more >= 0)
      operands.push_back(more);
  std::vector<Shape> results;
  std::vector<Facts> facts;
  for (int operand : operands) {
    results.push_back(Shape::array(shapeOf(operand).type, shapeOf(operand).dimensions));
    results.back().dimensions[size_t(dimension)] *= groups.size;
    facts.push_back(factsOf(operand));
  }
  emitCollective("all-gather", results, operands, fmt::format("{}, dimensions={{{}}}", groups.attributes, dimension),
                 facts);
  return true;
}

bool ModuleGenerator::exchange() {
  Groups groups = randomGroups(false, false);
  int value = pick([&](int id) {
    return std::any_of(shapeOf(id).dimensions.begin(), shapeOf(id).dimensions.end(),
                       [&](int64_t size) { return size % groups.size == 0; });
  });
  if (value < 0)
    return false;
  Shape shape = Shape::array(shapeOf(value).type, shapeOf(value).dimensions);
  Dimensions fitting;
  for (int64_t i = 0; i < shape.rank(); ++i)
    if (shape.dimensions[size_t(i)] % groups.size == 0)
      fitting.push_back(i);
  emitCollective("all-to-all", {shape}, {value},
                 fmt::format("{}, dimensions={{{}}}", groups.attributes, random.pick(fitting)), {factsOf(value)});
  return true;
}

bool ModuleGenerator::tupleExchange() {
  Groups groups = randomGroups(false, false);
  int first = pickAny();
  if (first < 0 || groups.size < 2 || groups.size > 4)
    return false;
  Shape shape = Shape::array(shapeOf(first).type, shapeOf(first).dimensions);
  std::vector<int> operands = {first};
  Facts facts = factsOf(first);
  while (int64_t(operands.size()) < groups.size) {
    operands.push_back(valueOf(shape.type, shape.dimensions, exact()));
    Facts more = factsOf(operands.back());
    facts = {std::max(facts.magnitude, more.magnitude), std::max(facts.error, more.error), facts.nan || more.nan};
  }
  emitCollective("all-to-all", std::vector<Shape>(operands.size(), shape), operands, groups.attributes,
                 std::vector<Facts>(operands.size(), facts));
  return true;
}

bool ModuleGenerator::permute() {
  bool partitions = random.chance(50);
  int64_t count = partitions ? module.partitions : module.replicas;
  int value = pickAny();
  if (value < 0)
    return false;
  Dimensions targets(static_cast<size_t>(count));
  std::iota(targets.begin(), targets.end(), 0);
  for (size_t i = targets.size(); i > 1; --i)
    std::swap(targets[i - 1], targets[size_t(random.below(int64_t(i)))]);
  std::vector<std::string> pairs;
  for (int64_t source = 0; source < count; ++source)
    if (random.chance(75))
      pairs.push_back(fmt::format("{{{},{}}}", source, targets[size_t(source)]));
  std::vector<int> operands = {value};
  if (random.chance(15))
    operands.push_back(pickAny());
  std::vector<Shape> results;
  std::vector<Facts> facts;
  for (int operand : operands) {
    results.push_back(Shape::array(shapeOf(operand).type, shapeOf(operand).dimensions));
    facts.push_back(factsOf(operand));
  }
  std::string channel = partitions ? fmt::format(", channel_id={}", ++channels) : "";
  emitCollective("collective-permute", results, operands,
                 fmt::format("{}, source_target_pairs={{{}}}", channel, fmt::join(pairs, ",")), facts);
  return true;
}

bool ModuleGenerator::collectiveBroadcast() {
  Groups groups = randomGroups(false, true);
  int value = pickAny();
  if (value < 0)
    return false;
  emitCollective("collective-broadcast", {Shape::array(shapeOf(value).type, shapeOf(value).dimensions)}, {value},
                 groups.attributes, {factsOf(value)});
  return true;
}

/// What a transformer layer does: element-wise code, all-reduce, residual, a row reduction and what is made of it.
bool ModuleGenerator::normalization() {
  if (!scope->collectives)
    return false;
  int value = pick([&](int id) {
    return hlo::isFloating(shapeOf(id).type) && shapeOf(id).rank() == 2 && factsOf(id).magnitude < 100;
  });
  if (value < 0)
    return false;
  Shape shape = Shape::array(shapeOf(value).type, shapeOf(value).dimensions);
  Groups groups = randomGroups(true, true);
  Facts facts = reducedFacts("add", shape.type, factsOf(value), groups.size, true);
  if (!isFit(shape.type, facts))
    return false;
  int sum = emitCollective("all-reduce", {shape}, {value},
                           groups.attributes + ", to_apply=" + regionOf("add", shape.type), {facts})[0];
  int residual = valueOf(shape.type, shape.dimensions, exact());
  facts = {facts.magnitude + factsOf(residual).magnitude, facts.error + factsOf(residual).error,
           facts.nan || factsOf(residual).nan};
  if (facts.error > 0)
    facts.error += 2 * roundoff(shape.type) * facts.magnitude + 0x1p-23;
  if (!isFit(shape.type, facts))
    return false;
  int added = emit(shape, random.chance(50) ? "add($0, $1)" : "subtract($0, $1)", {sum, residual}, facts);
  int bottom = random.chance(50) ? emit(Shape::scalar(shape.type), "constant(-inf)", {}, {}) : scalar(shape.type, -50);
  Facts row = {std::max(50.0, facts.magnitude), facts.error, facts.nan || shape.dimensions[1] == 0};
  int largest =
      emit(Shape::array(shape.type, {shape.dimensions[0]}),
           "reduce($0, $1), dimensions={1}, to_apply=" + regionOf("maximum", shape.type), {added, bottom}, row);
  int wide = emit(shape, "broadcast($0), dimensions={0}", {largest}, row);
  facts.magnitude += row.magnitude;
  facts.error = facts.error > 0 ? 2 * facts.error + 2 * roundoff(shape.type) * facts.magnitude + 0x1p-23 : 0;
  facts.nan |= row.nan;
  return tryEmit(shape, "subtract($0, $1)", {added, wide}, facts);
}

} // namespace heddle::program::testing
