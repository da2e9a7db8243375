// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// scatter is read as comparisons of each element with where each update goes, or as a loop over the windows where these
// would be many, so that nothing after the parser knows it.
#include "frontend/hlo/Matrices.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <utility>

namespace heddle::hlo {

namespace {

std::vector<int64_t> numbersBelow(int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

} // namespace

int InstructionParser::countTrue(int value, Location location) {
  int64_t last = shapeOf(value).rank() - 1;
  std::vector<int64_t> ones(size_t(shapeOf(value).dimensions.back()), 1);
  int numbers = convert(value, DType::S64, location);
  return contract(numbers, last, constant(ones, location), 0, location);
}

InstructionParser::ScatteredWindows InstructionParser::placesOf(const Instruction &scatter,
                                                                const std::vector<int64_t> &sizes, Location location) {
  const GatherDimensions &where = scatter.gather;
  Shape into = shapeOf(scatter.operands[0]), indices = shapeOf(scatter.operands[1]);
  ScatteredWindows windows;
  windows.starts.assign(into.dimensions.size(), -1);
  std::vector<int64_t> kept;
  bool hasComponents = where.indexVectorDim < indices.rank();
  for (int64_t i = 0; i < indices.rank(); ++i)
    if (i != where.indexVectorDim)
      kept.push_back(i);
  int64_t components = hasComponents ? indices.dimensions[size_t(where.indexVectorDim)] : 1;
  for (int64_t dimension : kept)
    windows.count *= indices.dimensions[size_t(dimension)];
  for (size_t k = 0; k < where.indicesBatch.size(); ++k) { // the number of the batch
    std::vector<int64_t> numbers;
    for (int64_t number = 0; number < windows.count; ++number) {
      int64_t rest = number;
      for (size_t i = kept.size(); i-- > 0; rest /= indices.dimensions[size_t(kept[i])])
        if (kept[i] == where.indicesBatch[k])
          numbers.push_back(rest % indices.dimensions[size_t(kept[i])]);
    }
    windows.starts[size_t(where.operandBatch[k])] = constant(numbers, location);
  }
  Instruction transpose;
  transpose.opcode = Opcode::Transpose;
  transpose.operands = {scatter.operands[1]};
  transpose.dimensions = kept;
  if (hasComponents)
    transpose.dimensions.push_back(where.indexVectorDim);
  int vectors = reshape(append(std::move(transpose), location), {windows.count, components}, location);
  auto everywhere = [&](int64_t value) {
    return broadcast(number(value, DType::S64, location), {}, {windows.count}, location);
  };
  for (int64_t component = 0; component < components; ++component) {
    auto dimension = size_t(where.startIndexMap[size_t(component)]);
    Instruction slice;
    slice.opcode = Opcode::Slice;
    slice.operands = {vectors};
    slice.slice = {{0, component}, {windows.count, component + 1}, {1, 1}};
    int start = reshape(convert(append(std::move(slice), location), DType::S64, location), {windows.count}, location);
    int fits = apply(Opcode::And,
                     {compare(start, CompareDirection::GreaterOrEqual, everywhere(0), location),
                      compare(start, CompareDirection::LessOrEqual,
                              everywhere(into.dimensions[dimension] - sizes[dimension]), location)},
                     location);
    windows.inside = windows.inside < 0 ? fits : apply(Opcode::And, {windows.inside, fits}, location);
    windows.starts[dimension] = start;
  }
  return windows;
}

int InstructionParser::targetsOf(const ScatteredWindows &windows, const Shape &into,
                                 const std::vector<int64_t> &windowSizes, Location location) {
  std::vector<int64_t> strides(into.dimensions.size(), 1), offsets;
  for (size_t i = strides.size(); i-- > 1;)
    strides[i - 1] = strides[i] * into.dimensions[i];
  int64_t elements = 1;
  for (int64_t size : windowSizes)
    elements *= size;
  for (int64_t number = 0; number < elements; ++number) { // where the elements of a window are
    int64_t rest = number, offset = 0;
    for (size_t i = windowSizes.size(); i-- > 0; rest /= windowSizes[i])
      offset += rest % windowSizes[i] * strides[i];
    offsets.push_back(offset);
  }
  std::vector<int64_t> sizes = {windows.count, elements};
  int target = broadcast(constant(offsets, location), {1}, sizes, location);
  for (size_t i = 0; i < strides.size(); ++i)
    if (int start = windows.starts[i]; start >= 0) {
      int stride = broadcast(number(strides[i], DType::S64, location), {}, {windows.count}, location);
      int part = apply(Opcode::Multiply, {start, stride}, location);
      target = apply(Opcode::Add, {target, broadcast(part, {0}, sizes, location)}, location);
    }
  if (windows.inside < 0)
    return target;
  int nowhere = broadcast(number(-1, DType::S64, location), {}, sizes, location);
  return apply(Opcode::Select, {broadcast(windows.inside, {0}, sizes, location), target, nowhere}, location);
}

int InstructionParser::scatterInLoop(const Instruction &scatter, const ScatteredWindows &windows,
                                     const std::vector<int64_t> &windowSizes, int updates, Location location) {
  const Computation region = context.module.computation(scatter.calledComputation);
  std::vector<int64_t> sizes = windowSizes, rows = {windows.count};
  rows.insert(rows.end(), sizes.begin(), sizes.end());
  int inside =
      windows.inside >= 0 ? windows.inside : broadcast(number(1, DType::Pred, location), {}, {windows.count}, location);
  std::vector<int> state = {scatter.operands[0], reshape(updates, rows, location), inside};
  for (int start : windows.starts)
    if (start >= 0)
      state.push_back(start);
  auto step = [&](Matrices &m, int number, const std::vector<int> &values) {
    InstructionParser &parser = m.parser;
    auto cut = [&](int from, const std::vector<int> &starts, const std::vector<int64_t> &of) {
      Instruction slice;
      slice.opcode = Opcode::DynamicSlice;
      slice.operands = {from};
      slice.operands.insert(slice.operands.end(), starts.begin(), starts.end());
      slice.dynamicSliceSizes = of;
      return parser.append(std::move(slice), location);
    };
    auto scalar = [&](int from) { return parser.reshape(cut(from, {number}, {1}), {}, location); };
    int zero = m.index(0), zero64 = parser.number(0, DType::S64, location);
    std::vector<int> first(rows.size(), zero), starts;
    first[0] = number;
    std::vector<int64_t> row = rows;
    row[0] = 1;
    int update = parser.reshape(cut(values[1], first, row), sizes, location);
    size_t next = 3;
    for (int start : windows.starts)
      starts.push_back(start >= 0 ? scalar(values[next++]) : zero64);
    int before = cut(values[0], starts, sizes);
    int after = parser.applyToArrays(region, {before, update}, location)[0];
    int isInside = parser.broadcast(scalar(values[2]), {}, sizes, location);
    Instruction store;
    store.opcode = Opcode::DynamicUpdateSlice;
    store.operands = {values[0], m.choose(isInside, after, before)};
    store.operands.insert(store.operands.end(), starts.begin(), starts.end());
    std::vector<int> results = values;
    results[0] = parser.append(std::move(store), location);
    return results;
  };
  return Matrices{*this, location}.loop(state, windows.count, step)[0];
}

std::vector<int64_t> InstructionParser::windowsOf(const Instruction &scatter, Location location) {
  const GatherDimensions &where = scatter.gather;
  if (scatter.operands.size() != 3 || scatter.calledComputation < 0 || !shapeOf(scatter.operands[0]).isArray() ||
      !shapeOf(scatter.operands[1]).isArray() || !isInteger(shapeOf(scatter.operands[1]).type) ||
      !shapeOf(scatter.operands[2]).isArray())
    cursor.fail(location, fmt::format("'scatter' takes an array, indices, updates and to_apply, got {} operands",
                                      scatter.operands.size()));
  Shape into = shapeOf(scatter.operands[0]), updates = shapeOf(scatter.operands[2]);
  std::vector<int64_t> sizes(into.dimensions.size(), 1);
  size_t next = 0;
  for (int64_t i = 0; i < into.rank(); ++i)
    if (!where.isLeftOut(i) && next < where.offsets.size() && where.offsets[next] >= 0 &&
        where.offsets[next] < updates.rank())
      sizes[size_t(i)] = updates.dimensions[size_t(where.offsets[next++])];
  // The gather of the same windows has the same rules, and gives what the updates are.
  Instruction check;
  check.opcode = Opcode::Gather;
  check.operands = {scatter.operands[0], scatter.operands[1]};
  check.gather = where;
  check.gather.sliceSizes = sizes;
  Shape declared = Shape::array(into.type, updates.dimensions);
  append(std::move(check), location, &declared);
  computation.instructions.pop_back();
  return sizes;
}

int InstructionParser::updatesOf(const Instruction &scatter, Location location) {
  Shape updates = shapeOf(scatter.operands[2]);
  const std::vector<int64_t> &offsets = scatter.gather.offsets;
  Instruction transpose;
  transpose.opcode = Opcode::Transpose;
  transpose.operands = {scatter.operands[2]};
  for (int64_t i = 0; i < updates.rank(); ++i)
    if (std::ranges::find(offsets, i) == offsets.end())
      transpose.dimensions.push_back(i);
  transpose.dimensions.insert(transpose.dimensions.end(), offsets.begin(), offsets.end());
  return reshape(append(std::move(transpose), location), {updates.elementCount()}, location);
}

int InstructionParser::onlyLast(int hits, int targets, int numbers, Location location) {
  std::vector<int64_t> pairs = shapeOf(hits).dimensions, square = {pairs[1], pairs[1]};
  int later = apply(Opcode::And,
                    {compare(broadcast(targets, {0}, square, location), CompareDirection::Equal,
                             broadcast(targets, {1}, square, location), location),
                     compare(broadcast(numbers, {0}, square, location), CompareDirection::Less,
                             broadcast(numbers, {1}, square, location), location)},
                    location);
  int none = constant(std::vector<int64_t>(size_t(pairs[1]), 0), location);
  int isLast = compare(countTrue(later, location), CompareDirection::Equal, none, location);
  return apply(Opcode::And, {hits, broadcast(isLast, {1}, pairs, location)}, location);
}

int InstructionParser::takeHit(int hits, int numbers, int values, Location location) {
  int64_t elements = shapeOf(hits).dimensions[0];
  int number = contract(convert(hits, DType::S64, location), 1, numbers, 0, location);
  Instruction gather;
  gather.opcode = Opcode::Gather;
  gather.operands = {values, reshape(number, {elements, 1}, location)};
  gather.gather.collapsed = {0};
  gather.gather.startIndexMap = {0};
  gather.gather.indexVectorDim = 1;
  gather.gather.sliceSizes = {1};
  return append(std::move(gather), location);
}

int InstructionParser::accumulateHits(const Instruction &scatter, int hits, int values, int before, Location location) {
  bool multiplies = reductionKindOf(context.module.computation(scatter.calledComputation)) == ReductionKind::Multiply;
  std::vector<int64_t> pairs = shapeOf(hits).dimensions;
  Instruction reduce;
  int initial = number(multiplies, shapeOf(before).type, location);
  int chosen =
      apply(Opcode::Select, {hits, broadcast(values, {1}, pairs, location), broadcast(initial, {}, pairs, location)},
            location);
  reduce.opcode = Opcode::Reduce;
  reduce.operands = {chosen, initial};
  reduce.dimensions = {1};
  reduce.calledComputation = scatter.calledComputation;
  return apply(multiplies ? Opcode::Multiply : Opcode::Add, {before, append(std::move(reduce), location)}, location);
}

int InstructionParser::foldHits(const Instruction &scatter, int hits, int values, int before, Location location) {
  const Computation region = context.module.computation(scatter.calledComputation);
  int64_t elements = shapeOf(hits).dimensions[0], count = shapeOf(hits).dimensions[1];
  DType type = shapeOf(before).type;
  Shape value = Shape::scalar(type), hit = Shape::scalar(DType::Pred);
  // What is there comes first. Of a step's two values one may be none.
  auto step = [&](InstructionParser &parser, const std::vector<int> &values) {
    int both = parser.applyToArrays(region, {values[0], values[2]}, location)[0];
    int first = parser.apply(Opcode::Select, {values[3], both, values[0]}, location);
    return std::vector<int>{parser.apply(Opcode::Select, {values[1], first, values[2]}, location),
                            parser.apply(Opcode::Or, {values[1], values[3]}, location)};
  };
  auto joined = [&](int first, int others) {
    Instruction concatenate;
    concatenate.opcode = Opcode::Concatenate;
    concatenate.dimensions = {1};
    concatenate.operands = {first, others};
    return append(std::move(concatenate), location);
  };
  int none = number(0, DType::Pred, location), present = number(1, DType::Pred, location);
  Instruction reduce;
  reduce.opcode = Opcode::Reduce;
  reduce.operands = {
      joined(reshape(before, {elements, 1}, location), broadcast(values, {1}, {elements, count}, location)),
      joined(broadcast(present, {}, {elements, 1}, location), hits), number(0, type, location), none};
  reduce.dimensions = {1};
  reduce.calledComputation = addComputation(region.name, {value, hit, value, hit}, step, location);
  return element(append(std::move(reduce), location), 0, location);
}

InstructionParser::Binding InstructionParser::finishScatter(Definition &definition, const Instruction &scatter) {
  constexpr __int128 mostPairs = __int128(1) << 28, fewPairs = 1 << 22;
  constexpr __int128 pairsOfTrip = 1 << 14; // compared in the time of a loop's trip
  Location location = definition.location;
  std::vector<int64_t> windowSizes = windowsOf(scatter, location);
  Shape into = shapeOf(scatter.operands[0]), shape = shapeOf(scatter.operands[2]);
  const Computation region = context.module.computation(scatter.calledComputation);
  checkCombines(region, into.type, into.type, "scatter", location);
  int64_t elements = into.elementCount(), count = shape.elementCount();
  if (elements == 0 || count == 0)
    return finishCopy(definition, scatter, scatter.operands[0]);
  const Instruction &root = region.rootInstruction();
  bool replaces = root.opcode == Opcode::Parameter && root.parameterNumber == 1;
  int updates = updatesOf(scatter, location);
  ScatteredWindows windows = placesOf(scatter, windowSizes, location);
  __int128 pairs = __int128(count) * (replaces ? std::max(elements, count) : elements);
  if (!into.isScalar() && (pairs > mostPairs || (pairs > fewPairs && pairs > pairsOfTrip * windows.count)))
    return finishCopy(definition, scatter, scatterInLoop(scatter, windows, windowSizes, updates, location));
  int targets = reshape(targetsOf(windows, into, windowSizes, location), {count}, location);
  return finishCopy(definition, scatter, scatterByPairs(scatter, targets, updates, replaces, location));
}

int InstructionParser::scatterByPairs(const Instruction &scatter, int targets, int updates, bool replaces,
                                      Location location) {
  Shape into = shapeOf(scatter.operands[0]);
  auto kind = reductionKindOf(context.module.computation(scatter.calledComputation));
  bool accumulates = kind == ReductionKind::Add || kind == ReductionKind::Multiply;
  int64_t elements = into.elementCount(), count = shapeOf(updates).elementCount();
  int before = reshape(scatter.operands[0], {elements}, location);
  std::vector<int64_t> pairs = {elements, count};
  int hits = compare(broadcast(constant(numbersBelow(elements), location), {0}, pairs, location),
                     CompareDirection::Equal, broadcast(targets, {1}, pairs, location), location);
  int after = -1;
  if (replaces) { // the last update of an element counts
    int updateNumbers = constant(numbersBelow(count), location);
    hits = onlyLast(hits, targets, updateNumbers, location);
    after = takeHit(hits, updateNumbers, updates, location);
  } else if (!accumulates) {
    after = foldHits(scatter, hits, updates, before, location);
  } else {
    after = accumulateHits(scatter, hits, updates, before, location);
  }
  int none = constant(std::vector<int64_t>(size_t(elements), 0), location);
  int isHit = compare(countTrue(hits, location), CompareDirection::Greater, none, location);
  return reshape(apply(Opcode::Select, {isHit, after, before}, location), into.dimensions, location);
}

} // namespace heddle::hlo
