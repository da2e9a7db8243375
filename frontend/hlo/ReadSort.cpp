// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sort and topk are read as a gather in the order of the elements, so that nothing after the parser knows them. Short
// rows are ordered by ranks, which are counted; long ones by a network of comparisons (ReadNetwork.cpp).
#include "frontend/hlo/SortOrder.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace heddle::hlo {

int InstructionParser::broadcast(int value, const std::vector<int64_t> &dimensions, const std::vector<int64_t> &sizes,
                                 Location location) {
  Instruction instruction;
  instruction.opcode = Opcode::Broadcast;
  instruction.operands = {value};
  instruction.dimensions = dimensions;
  Shape shape = Shape::array(shapeOf(value).type, sizes);
  return append(std::move(instruction), location, &shape);
}

int InstructionParser::take(int value, int order, Location location) {
  std::vector<int64_t> sizes = shapeOf(order).dimensions;
  int64_t last = shapeOf(value).rank() - 1;
  Instruction gather;
  gather.opcode = Opcode::Gather;
  gather.gather.collapsed = {last};
  gather.gather.startIndexMap = {last};
  for (int64_t i = 0; i < last; ++i) {
    gather.gather.operandBatch.push_back(i);
    gather.gather.indicesBatch.push_back(i);
  }
  gather.gather.indexVectorDim = int64_t(sizes.size());
  gather.gather.sliceSizes.assign(size_t(last) + 1, 1);
  sizes.push_back(1);
  gather.operands = {value, reshape(order, sizes, location)};
  return append(std::move(gather), location);
}

// The dimension becomes the last, the others one.
int InstructionParser::toRows(int value, int64_t dimension, Location location) {
  Shape shape = shapeOf(value);
  Instruction transpose;
  transpose.opcode = Opcode::Transpose;
  transpose.operands = {value};
  for (int64_t i = 0; i < shape.rank(); ++i)
    if (i != dimension)
      transpose.dimensions.push_back(i);
  transpose.dimensions.push_back(dimension);
  int64_t size = shape.dimensions[size_t(dimension)];
  return reshape(append(std::move(transpose), location), {size ? shape.elementCount() / size : 0, size}, location);
}

int InstructionParser::fromRows(int value, const Shape &shape, int64_t dimension, Location location) {
  Instruction transpose;
  transpose.opcode = Opcode::Transpose;
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    transpose.dimensions.push_back(i == dimension ? shape.rank() - 1 : i - (i > dimension));
    if (i != dimension)
      sizes.push_back(shape.dimensions[size_t(i)]);
  }
  sizes.push_back(shapeOf(value).dimensions[1]);
  transpose.operands = {reshape(value, sizes, location)};
  return append(std::move(transpose), location);
}

//===-- Orders ---------------------------------------------------------------------------------------------------===//

// Of values [batch, n, n] whether j comes before i, and after it; the rank is the number of those before.
int InstructionParser::SortOrder::byRanks() {
  std::vector<int> here, other;
  for (int key : keys) {
    std::vector<int64_t> sizes = parser.shapeOf(key).dimensions;
    sizes.push_back(sizes[1]);
    here.push_back(parser.broadcast(key, {0, 1}, sizes, at));
    other.push_back(parser.broadcast(key, {0, 2}, sizes, at));
  }
  int before = comesBefore(parser, other, here), after = comesBefore(parser, here, other);
  std::vector<int64_t> sizes = parser.shapeOf(before).dimensions;
  int earlier = parser.compare(parser.iota(sizes, 2, at), CompareDirection::Less, parser.iota(sizes, 1, at), at);
  int equalAndEarlier = parser.apply(Opcode::And, {parser.apply(Opcode::Not, {after}, at), earlier}, at);
  int first = parser.apply(Opcode::Or, {before, equalAndEarlier}, at);
  int numbers = parser.iota({sizes[1]}, 0, at);
  int ones = parser.convert(parser.compare(numbers, CompareDirection::Equal, numbers, at), DType::S32, at);
  int ranks = parser.contract(parser.convert(first, DType::S32, at), 2, ones, 0, at);
  int ofRank = parser.compare(parser.broadcast(ranks, {0, 1}, sizes, at), CompareDirection::Equal,
                              parser.iota(sizes, 2, at), at);
  return parser.contract(parser.convert(ofRank, DType::S32, at), 1, numbers, 0, at);
}

int InstructionParser::SortOrder::first(int64_t count) {
  std::vector<int64_t> sizes = parser.shapeOf(keys[0]).dimensions;
  bool isShort = sizes[1] <= mostOfRanks || __int128(sizes[0]) * sizes[1] * sizes[1] <= mostPairs;
  int order = isShort ? byRanks() : byNetwork(count);
  if (count == parser.shapeOf(order).dimensions[1])
    return order;
  Instruction slice;
  slice.opcode = Opcode::Slice;
  slice.operands = {order};
  slice.slice = {{0, 0}, {sizes[0], count}, {1, 1}};
  return parser.append(std::move(slice), at);
}

namespace {

/// The numbers of elements are s32.
void checkSorted(const Shape &shape, int64_t dimension) {
  if (dimension < 0 || dimension >= shape.rank())
    throw inputError(fmt::format("dimension {} is out of range for rank {}", dimension, shape.rank()));
  int64_t size = shape.dimensions[size_t(dimension)];
  if (size > INT32_MAX)
    throw inputError(fmt::format("{} is sorted along {} elements, and at most {} are read", formatShapePlain(shape),
                                 size, INT32_MAX));
}

/// Which operands of a sort its computation reads; all where it reads none.
std::vector<bool> areKeys(const Computation &region, size_t count) {
  auto isRead = [&](size_t number) {
    return number < region.parameters.size() &&
           (!region.parameter(number).users.empty() || region.root == region.parameters[number]);
  };
  std::vector<bool> keys;
  for (size_t i = 0; i < count; ++i)
    keys.push_back(isRead(2 * i) || isRead(2 * i + 1));
  return std::ranges::find(keys, true) == keys.end() ? std::vector<bool>(count, true) : keys;
}

} // namespace

//===-- The operations -------------------------------------------------------------------------------------------===//

int InstructionParser::compareBy(const Computation &region, const std::vector<int> &arguments, std::string_view opcode,
                                 Location location) {
  const Shape &made = region.rootInstruction().shape;
  if (region.parameters.size() != arguments.size() || !made.sameAs(Shape::scalar(DType::Pred)))
    cursor.fail(location,
                fmt::format("computation '{}' makes {} of {} scalars, and '{}' needs pred[] of {}", region.name,
                            formatShapePlain(made), region.parameters.size(), opcode, arguments.size()));
  return applyToArrays(region, arguments, location)[0];
}

InstructionParser::Binding InstructionParser::finishSort(Definition &definition, const Instruction &sort) {
  Location location = definition.location;
  size_t count = sort.operands.size();
  if (count == 0 || sort.dimensions.size() != 1 || sort.calledComputation < 0 || !shapeOf(sort.operands[0]).isArray())
    cursor.fail(location,
                fmt::format("'sort' takes arrays, one of dimensions and to_apply, got {} operands and {} dimensions",
                            count, sort.dimensions.size()));
  int64_t dimension = sort.dimensions[0];
  Shape shape = shapeOf(sort.operands[0]);
  located(location, [&] { checkSorted(shape, dimension); });
  const Computation region = context.module.computation(sort.calledComputation);
  std::vector<bool> isKey = areKeys(region, count);
  std::vector<int> rows, keys;
  for (size_t i = 0; i < count; ++i) {
    if (!shapeOf(sort.operands[i]).sameDimensionsAs(shape))
      cursor.fail(location, fmt::format("'sort' takes arrays of the same dimensions, got {} and {}",
                                        formatShapePlain(shape), formatShapePlain(shapeOf(sort.operands[i]))));
    rows.push_back(toRows(sort.operands[i], dimension, location));
    if (isKey[i])
      keys.push_back(rows[i]);
  }
  auto comesBefore = [&](InstructionParser &parser, const std::vector<int> &left, const std::vector<int> &right) {
    std::vector<int> arguments;
    for (size_t i = 0, key = 0; i < count; ++i) {
      if (isKey[i]) {
        arguments.insert(arguments.end(), {left[key], right[key]});
        ++key;
        continue;
      }
      int zero = parser.number(0, shapeOf(rows[i]).type, location);
      arguments.insert(arguments.end(), 2, parser.broadcast(zero, {}, parser.shapeOf(left[0]).dimensions, location));
    }
    return parser.compareBy(region, arguments, "sort", location);
  };
  int64_t size = shape.dimensions[size_t(dimension)];
  bool isEmpty = shape.elementCount() == 0;
  int order = isEmpty ? -1 : SortOrder{*this, location, keys, comesBefore}.first(size);
  Instruction result;
  result.opcode = count == 1 ? Opcode::Copy : Opcode::Tuple;
  for (size_t i = 0; i < count; ++i)
    result.operands.push_back(isEmpty ? sort.operands[i]
                                      : fromRows(take(rows[i], order, location), shape, dimension, location));
  return finishAs(definition, sort, std::move(result));
}

InstructionParser::Binding InstructionParser::finishTop(Definition &definition, const Instruction &top) {
  Location location = definition.location;
  int64_t count = context.attributes.count;
  bool largest = context.attributes.largest;
  std::vector<int> comparator = context.attributes.branches; // of a custom-call
  Shape shape = top.operands.size() == 1 ? shapeOf(top.operands[0]) : Shape::tuple({});
  if (!shape.isArray() || shape.rank() < 1 || count < 0 || count > shape.dimensions.back())
    cursor.fail(location, fmt::format("'topk' takes an array and k from 0 to its last dimension, got {} and k={}",
                                      formatShapePlain(shape), count));
  int64_t dimension = shape.rank() - 1;
  located(location, [&] { checkSorted(shape, dimension); });
  Instruction result;
  result.opcode = Opcode::Tuple;
  if (shape.elementCount() == 0) {
    shape.dimensions.back() = count;
    result.operands = {reshape(top.operands[0], shape.dimensions, location),
                       iota(shape.dimensions, dimension, location)};
    return finishAs(definition, top, std::move(result));
  }
  int rows = toRows(top.operands[0], dimension, location);
  std::vector<int> keys = {rows};
  if (!comparator.empty() && context.module.computation(comparator[0]).parameters.size() == 4)
    keys.push_back(iota(shapeOf(rows).dimensions, 1, location)); // XLA's optimiser has it compare as a sort does
  auto comesBefore = [&](InstructionParser &parser, const std::vector<int> &left, const std::vector<int> &right) {
    if (comparator.empty())
      return parser.compare(left[0], largest ? CompareDirection::Greater : CompareDirection::Less, right[0], location,
                            isFloating(shape.type));
    std::vector<int> arguments;
    for (size_t i = 0; i < left.size(); ++i)
      arguments.insert(arguments.end(), {left[i], right[i]});
    const Computation region = context.module.computation(comparator[0]);
    return parser.compareBy(region, arguments, definition.text, location);
  };
  int order = SortOrder{*this, location, keys, comesBefore}.first(count);
  for (int value : {take(rows, order, location), order})
    result.operands.push_back(fromRows(value, shape, dimension, location));
  return finishAs(definition, top, std::move(result));
}

} // namespace heddle::hlo
