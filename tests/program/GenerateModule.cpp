// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lines, values and the choice of the next instruction.
#include "tests/program/ModuleGenerator.h"
#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>

namespace heddle::program::testing {

double roundoff(DType type) {
  switch (type) {
  case DType::F64:
    return 0x1p-53;
  case DType::F32:
    return 0x1p-24;
  case DType::F16:
    return 0x1p-11;
  default:
    return 0x1p-8;
  }
}

double largestOf(DType type) {
  return type == DType::F64 ? 1e308 : type == DType::F16 ? 65504 : 3e38;
}

std::string listOf(const Dimensions &numbers) {
  return fmt::format("{{{}}}", fmt::join(numbers, ","));
}

ModuleGenerator::ModuleGenerator(uint64_t seed) : random(seed) {
  module.seed = seed;
  static constexpr std::pair<int, int> devices[] = {{1, 1}, {2, 1}, {1, 2}, {2, 1}, {2, 2}, {2, 2}, {1, 4},
                                                    {4, 1}, {3, 1}, {1, 3}, {2, 2}, {4, 1}, {1, 4}};
  auto [replicas, partitions] =
      random.chance(4) ? std::pair(random.chance(50) ? 2 : 4, 0) : devices[size_t(random.below(std::ssize(devices)))];
  module.replicas = replicas;
  module.partitions = partitions ? partitions : 8 / replicas;
}

RandomModule ModuleGenerator::run() {
  Scope entry;
  entry.isEntry = true;
  entry.computation.name = "main";
  scope = &entry;
  for (int64_t i = random.between(1, 3); i > 0; --i)
    newValue(randomType(), randomDimensions());
  int64_t wanted = random.between(2, 12); // with their operands 3 to 20 and more
  for (int64_t tries = 0, written = 0; tries < 200 && written < wanted; ++tries)
    written += anything();
  // The last value, some that nothing reads, and now and then one that is read.
  std::vector<bool> isRead(entry.computation.lines.size());
  for (const Line &line : entry.computation.lines)
    for (int operand : line.operands)
      isRead[size_t(operand)] = true;
  std::vector<int> &results = entry.computation.results;
  for (auto id = entry.arrays.rbegin(); id != entry.arrays.rend(); ++id)
    if (results.size() < 5 && (!isRead[size_t(*id)] || random.chance(7)))
      results.push_back(*id);
  entry.computation.isTuple = results.size() > 1 || random.chance(20);
  module.computations.push_back(std::move(entry.computation));
  for (const auto &[name, text] : regions)
    module.regions += text;
  return std::move(module);
}

RandomModule randomModule(uint64_t seed) {
  return ModuleGenerator(seed).run();
}

//===-- Lines ----------------------------------------------------------------------------------------------------===//

int ModuleGenerator::emit(const Shape &shape, const std::string &code, const std::vector<int> &operands,
                          const Facts &facts) {
  int id = int(scope->computation.lines.size());
  scope->computation.lines.push_back({fmt::format("v{}", names++), shape, code, operands, {facts}});
  scope->arrays.push_back(id);
  return id;
}

std::vector<int> ModuleGenerator::emitTuple(const std::vector<Shape> &shapes, const std::string &code,
                                            const std::vector<int> &operands, const std::vector<Facts> &facts) {
  int id = int(scope->computation.lines.size());
  scope->computation.lines.push_back({fmt::format("v{}", names++), Shape::tuple(shapes), code, operands, facts});
  std::vector<int> elements;
  takeApart(id, shapes, facts, elements);
  return elements;
}

void ModuleGenerator::takeApart(int tuple, const std::vector<Shape> &shapes, const std::vector<Facts> &facts,
                                std::vector<int> &elements) {
  for (size_t i = 0; i < shapes.size(); ++i)
    elements.push_back(emit(shapes[i], fmt::format("get-tuple-element($0), index={}", i), {tuple}, facts[i]));
}

bool ModuleGenerator::isFit(DType type, Facts &facts) const {
  if (!hlo::isFloating(type)) {
    facts = {INFINITY, 0, false};
    return true;
  }
  if (facts.error > 0)
    return !exact() && facts.magnitude < largestOf(type) / 16 && facts.error <= 0.5 * std::max(1.0, facts.magnitude);
  if (!(facts.magnitude < largestOf(type)))
    facts = {INFINITY, 0, true};
  return true;
}

bool ModuleGenerator::tryEmit(const Shape &shape, const std::string &code, const std::vector<int> &operands,
                              Facts facts) {
  if (shape.elementCount() > 20000 || !isFit(shape.type, facts))
    return false;
  emit(shape, code, operands, facts);
  return true;
}

//===-- Values ---------------------------------------------------------------------------------------------------===//

DType ModuleGenerator::randomFloat() {
  static const std::vector<DType> types = {DType::F32, DType::F32, DType::F32, DType::F32, DType::F32, DType::F32,
                                           DType::F32, DType::F32, DType::F64, DType::F16, DType::BF16};
  return random.pick(types);
}

DType ModuleGenerator::randomType() {
  static const std::vector<DType> types = {DType::S32, DType::S32, DType::S32, DType::S8,
                                           DType::U32, DType::U8,  DType::S64, DType::Pred};
  return random.chance(75) ? randomFloat() : random.pick(types);
}

Dimensions ModuleGenerator::randomDimensions() {
  Dimensions dimensions(size_t(random.pick(std::vector<int>{0, 1, 1, 1, 2, 2, 2, 2, 3, 3})));
  if (random.chance(3)) // several program instances, several tiles of a collective
    return {random.between(50, 130), random.between(50, 130)};
  static const std::vector<int64_t> friendly = {2, 4, 8, 12, 16};
  for (int64_t &size : dimensions)
    size = random.chance(2) ? 0 : random.chance(50) ? random.pick(friendly) : random.between(1, 17);
  return dimensions;
}

int ModuleGenerator::pickFloat(bool exact) {
  return pick([&](int id) { return hlo::isFloating(shapeOf(id).type) && (!exact || isExact(id)); });
}

int ModuleGenerator::pickAny(bool exact) {
  return pick([&](int id) { return !exact || isExact(id); });
}

int ModuleGenerator::scalar(DType type, double value) {
  std::string text = type == DType::Pred ? (value != 0 ? "true" : "false") : fmt::format("{}", value);
  return emit(Shape::scalar(type), fmt::format("constant({})", text), {}, {std::abs(value), 0, false});
}

int ModuleGenerator::randomScalar(DType type) {
  if (type == DType::Pred)
    return scalar(type, double(random.below(2)));
  if (!hlo::isFloating(type))
    return scalar(type, double(random.between(hlo::isSignedInteger(type) ? -3 : 0, 9)));
  static const std::vector<double> numbers = {0.5, -1.25, 2, 0, 1, -0.75, 3, 0.125};
  return scalar(type, random.pick(numbers));
}

int ModuleGenerator::newValue(DType type, const Dimensions &dimensions) {
  Shape shape = Shape::array(type, dimensions);
  int64_t last = dimensions.empty() ? 0 : dimensions.back();
  bool small = shape.elementCount() > 0 && shape.elementCount() <= 24;
  for (;;)
    switch (random.below(6)) {
    case 0:
    case 1:
      if (scope->isEntry)
        return emit(shape, "parameter", {}, {hlo::isFloating(type) ? 4.0 : INFINITY, 0, false});
      break;
    case 2:
      if (type != DType::Pred && !dimensions.empty() && last < 100)
        return emit(shape, fmt::format("iota(), iota_dimension={}", random.below(shape.rank())), {}, {1e4, 0, false});
      break;
    case 3:
    case 4: {
      int value = pick([&](int id) {
        return shapeOf(id).type == type && (dimensions.empty() ? false : shapeOf(id).isScalar()) && isExact(id);
      });
      if (dimensions.empty())
        return randomScalar(type);
      if (value < 0 || random.chance(30))
        value = randomScalar(type);
      return emit(shape, "broadcast($0), dimensions={}", {value}, factsOf(value));
    }
    default:
      if (!small || dimensions.size() != 1 || type == DType::Pred)
        break;
      std::vector<double> numbers;
      for (int64_t i = 0; i < dimensions[0]; ++i)
        numbers.push_back(hlo::isFloating(type) ? double(random.between(-64, 64)) / 32 : double(random.below(50)));
      return emit(shape, fmt::format("constant({{{}}})", fmt::join(numbers, ", ")), {}, {50, 0, false});
    }
}

int ModuleGenerator::valueOf(DType type, const Dimensions &dimensions, bool exact) {
  int value = pick([&](int id) {
    return shapeOf(id).type == type && shapeOf(id).dimensions == dimensions && (!exact || isExact(id));
  });
  if (value >= 0 && random.chance(80))
    return value;
  if (value < 0 && dimensions.size() > 1) { // another array of as many elements
    Shape wanted = Shape::array(type, dimensions);
    int other = pick([&](int id) {
      return shapeOf(id).type == type && shapeOf(id).elementCount() == wanted.elementCount() && (!exact || isExact(id));
    });
    if (other >= 0 && random.chance(60))
      return emit(wanted, "reshape($0)", {other}, factsOf(other));
  }
  // Rows: an array whose dimensions are some of the wanted ones.
  int row = pick([&](int id) {
    const Shape &shape = shapeOf(id);
    return shape.type == type && shape.rank() == 1 && dimensions.size() == 2 && (!exact || isExact(id)) &&
           (shape.dimensions[0] == dimensions[0] || shape.dimensions[0] == dimensions[1]);
  });
  if (row >= 0 && random.chance(60))
    return emit(Shape::array(type, dimensions),
                fmt::format("broadcast($0), dimensions={{{}}}", shapeOf(row).dimensions[0] == dimensions[1] ? 1 : 0),
                {row}, factsOf(row));
  return newValue(type, dimensions);
}

int ModuleGenerator::startIndex(int64_t size) {
  int value = pick([&](int id) { return shapeOf(id).isScalar() && hlo::isInteger(shapeOf(id).type); });
  if (value >= 0 && random.chance(40))
    return value;
  if (random.chance(50))
    return emit(Shape::scalar(DType::U32), random.chance(50) ? "partition-id()" : "replica-id()", {}, {});
  return scalar(random.chance(70) ? DType::S32 : DType::S64, double(random.between(-3, size + 2)));
}

int ModuleGenerator::clamped(int value, double limit) {
  Shape shape = shapeOf(value);
  Facts facts = factsOf(value);
  int low = scalar(shape.type, -limit), high = scalar(shape.type, limit);
  facts.magnitude = limit;
  return emit(shape, "clamp($0, $1, $2)", {low, value, high}, facts);
}

//===-- Choices --------------------------------------------------------------------------------------------------===//

bool ModuleGenerator::anything() {
  using Write = bool (ModuleGenerator::*)();
  static const std::vector<std::pair<int, Write>> table = {{8, &ModuleGenerator::unaryExact},
                                                           {8, &ModuleGenerator::transcendental},
                                                           {16, &ModuleGenerator::binary},
                                                           {4, &ModuleGenerator::comparison},
                                                           {5, &ModuleGenerator::selection},
                                                           {7, &ModuleGenerator::clampOrConvert},
                                                           {2, &ModuleGenerator::bitcastConvert},
                                                           {8, &ModuleGenerator::reshaping},
                                                           {6, &ModuleGenerator::slicing},
                                                           {6, &ModuleGenerator::dynamicSlicing},
                                                           {6, &ModuleGenerator::joining},
                                                           {3, &ModuleGenerator::layouts},
                                                           {8, &ModuleGenerator::reduction},
                                                           {2, &ModuleGenerator::argumentReduction},
                                                           {5, &ModuleGenerator::dot},
                                                           {5, &ModuleGenerator::fusionOrCall},
                                                           {4, &ModuleGenerator::loop},
                                                           {1, &ModuleGenerator::barrier},
                                                           {26, &ModuleGenerator::collective},
                                                           {5, &ModuleGenerator::normalization}};
  int total = 0;
  for (const auto &[weight, write] : table)
    total += weight;
  int64_t choice = random.below(total);
  for (const auto &[weight, write] : table)
    if ((choice -= weight) < 0)
      return (this->*write)();
  return false;
}

bool ModuleGenerator::collective() {
  if (!scope->collectives)
    return false;
  switch (random.below(10)) {
  case 0:
  case 1:
  case 2:
  case 3:
    return reducingCollective();
  case 4:
  case 5:
    return gathering();
  case 6:
    return exchange();
  case 7:
    return tupleExchange();
  case 8:
    return permute();
  default:
    return collectiveBroadcast();
  }
}

} // namespace heddle::program::testing
