// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fusions, calls and loops. In a loop every value is exact, as errors would grow with the trips.
#include "tests/program/ModuleGenerator.h"
#include <cmath>
#include <numeric>

namespace heddle::program::testing {

static std::string numbered(size_t count) {
  std::string list;
  for (size_t i = 0; i < count; ++i)
    list += fmt::format("{}${}", i ? ", " : "", i);
  return list;
}

void ModuleGenerator::writeBody(Scope &inner, int instructions) {
  Scope *outer = scope;
  scope = &inner;
  for (int tries = 0, written = 0; tries < 60 && written < instructions; ++tries)
    written += anything();
  scope = outer;
}

bool ModuleGenerator::fusionOrCall() {
  if (!scope->nests)
    return false;
  bool fuses = random.chance(60);
  std::vector<int> operands;
  for (int64_t i = random.between(1, 3); i > 0; --i)
    if (int value = pickAny(exact()); value >= 0)
      operands.push_back(value);
  if (operands.empty())
    return false;
  Scope inner;
  inner.exactOnly = exact();
  inner.collectives = !fuses && scope->collectives;
  inner.nests = false;
  inner.computation.name = fmt::format("{}.{}", fuses ? "fused" : "called", names++);
  Scope *outer = scope;
  for (int operand : operands) {
    Shape shape = shapeOf(operand);
    Facts facts = factsOf(operand);
    scope = &inner;
    emit(shape, "parameter", {}, facts);
    scope = outer;
  }
  writeBody(inner, int(random.between(1, 5)));
  // The results: the last values; of a loop's body only exact ones.
  std::vector<Shape> shapes;
  std::vector<Facts> facts;
  size_t wanted = random.chance(60) ? 1 : 2;
  for (auto id = inner.arrays.rbegin(); id != inner.arrays.rend() && shapes.size() < wanted; ++id) {
    inner.computation.results.push_back(*id);
    shapes.push_back(inner.computation.lines[size_t(*id)].shape);
    facts.push_back(inner.computation.lines[size_t(*id)].facts[0]);
  }
  inner.computation.isTuple = shapes.size() > 1;
  std::string code = fmt::format(fmt::runtime(fuses ? "fusion({}), kind=kLoop, calls={}" : "call({}), to_apply={}"),
                                 numbered(operands.size()), inner.computation.name);
  module.computations.push_back(std::move(inner.computation));
  if (shapes.size() == 1)
    emit(shapes[0], code, operands, facts[0]);
  else
    emitTuple(shapes, code, operands, facts);
  return true;
}

/// What a loop's body makes of the values it carries, but for the counter; in the body's scope.
void ModuleGenerator::stepState(const std::vector<int> &before, const std::vector<Shape> &shapes,
                                const std::vector<Facts> &facts) {
  for (size_t i = 1; i < before.size(); ++i) {
    int next = pick([&](int id) {
      return shapeOf(id).type == shapes[i].type && shapeOf(id).dimensions == shapes[i].dimensions && id != before[i];
    });
    if (next >= 0 && random.chance(60) && shapes[i].type != DType::Pred && shapes[i].rank() > 0)
      next = emit(shapes[i], random.chance(50) ? "add($0, $1)" : "maximum($0, $1)", {next, before[i]}, facts[i]);
    if (next < 0)
      next = before[i];
    scope->computation.results.push_back(next);
  }
}

/// Whether a loop goes on, by a value that it carries: each device decides by its own. In the condition's scope.
int ModuleGenerator::decideByValue(int first, const Shape &shape, const Facts &facts) {
  int start = valueOf(DType::S32, {}, true), other = randomScalar(shape.type);
  if (shape.rank() > 0) {
    std::string list = "$0", sizes;
    std::vector<int> operands = {first};
    for (int64_t i = 0; i < shape.rank(); ++i) {
      operands.push_back(start);
      list += fmt::format(", ${}", i + 1);
      sizes += i ? ",1" : "1";
    }
    Shape one = Shape::array(shape.type, Dimensions(shape.dimensions.size(), 1));
    if (shape.elementCount() > 0)
      first = emit(one, fmt::format("dynamic-slice({}), dynamic_slice_sizes={{{}}}", list, sizes), operands, facts);
    first = shape.elementCount() > 0 ? emit(Shape::scalar(one.type), "reshape($0)", {first}, facts) : other;
  }
  return emit(Shape::scalar(DType::Pred), "compare($0, $1), direction=LE", {first, other}, {});
}

bool ModuleGenerator::loop() {
  if (!scope->nests)
    return false;
  std::vector<int> state;
  for (int64_t i = random.between(1, 2); i > 0; --i)
    if (int value = pickAny(true); value >= 0)
      state.push_back(value);
  if (state.empty())
    return false;
  Scope inner;
  inner.exactOnly = true;
  inner.nests = random.chance(20);
  inner.collectives = scope->collectives && random.chance(60);
  bool sameTrips = inner.collectives || random.chance(50);
  std::string name = fmt::format("loop.{}", names++);
  int64_t trips = random.between(0, 4);
  int counter = sameTrips ? scalar(DType::S32, 0) : -1;
  if (!sameTrips) { // every device its own number
    int device = emit(Shape::scalar(DType::U32), random.chance(50) ? "partition-id()" : "replica-id()", {}, {});
    counter = emit(Shape::scalar(DType::S32), "convert($0)", {device}, {});
  }
  state.insert(state.begin(), counter);
  std::vector<Shape> shapes;
  std::vector<Facts> facts;
  for (int value : state) {
    shapes.push_back(Shape::array(shapeOf(value).type, shapeOf(value).dimensions));
    facts.push_back({INFINITY, 0, true});
  }
  Scope *outer = scope;
  scope = &inner;
  inner.computation.name = name + ".body";
  std::vector<int> before = emitTuple(shapes, "parameter", {}, facts);
  scope = outer;
  writeBody(inner, int(random.between(1, 5)));
  scope = &inner;
  int one = scalar(DType::S32, 1);
  inner.computation.results.push_back(emit(shapes[0], "add($0, $1)", {before[0], one}, {}));
  stepState(before, shapes, facts);
  scope = outer;
  Scope condition;
  condition.computation.name = name + ".condition";
  scope = &condition;
  std::vector<int> arrays = emitTuple(shapes, "parameter", {}, facts);
  int limit = scalar(DType::S32, double(trips));
  int goesOn = emit(Shape::scalar(DType::Pred), "compare($0, $1), direction=LT", {arrays[0], limit}, {});
  if (!inner.collectives && shapes[1].type != DType::Pred && random.chance(50)) {
    int small = decideByValue(arrays[1], shapes[1], facts[1]);
    goesOn = emit(Shape::scalar(DType::Pred), "and($0, $1)", {goesOn, small}, {});
  }
  condition.computation.results = {goesOn};
  condition.computation.isTuple = false;
  scope = outer;
  module.computations.push_back(std::move(inner.computation));
  module.computations.push_back(std::move(condition.computation));
  int tuple = int(scope->computation.lines.size());
  scope->computation.lines.push_back(
      {fmt::format("v{}", names++), Shape::tuple(shapes), "tuple(" + numbered(state.size()) + ")", state, facts});
  emitTuple(shapes, fmt::format("while($0), condition={0}.condition, body={0}.body", name), {tuple}, facts);
  return true;
}

bool ModuleGenerator::barrier() {
  std::vector<int> operands;
  std::vector<Shape> shapes;
  std::vector<Facts> facts;
  for (int i = 0; i < 2; ++i) {
    int value = pickAny();
    if (value < 0)
      return false;
    operands.push_back(value);
    shapes.push_back(shapeOf(value));
    facts.push_back(factsOf(value));
  }
  int tuple = int(scope->computation.lines.size());
  scope->computation.lines.push_back(
      {fmt::format("v{}", names++), Shape::tuple(shapes), "tuple($0, $1)", operands, facts});
  emitTuple(shapes, "opt-barrier($0)", {tuple}, facts);
  return true;
}

} // namespace heddle::program::testing
