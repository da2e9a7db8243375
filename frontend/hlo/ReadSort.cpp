// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sort and topk are read as a gather in the order of ranks, so that nothing after the parser knows them.
#include "frontend/hlo/ParseInstruction.h"
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

int InstructionParser::orderOf(int before, int after, Location location) {
  std::vector<int64_t> sizes = shapeOf(before).dimensions;
  int earlier = compare(iota(sizes, 2, location), CompareDirection::Less, iota(sizes, 1, location), location);
  int equalAndEarlier = apply(Opcode::And, {apply(Opcode::Not, {after}, location), earlier}, location);
  int first = apply(Opcode::Or, {before, equalAndEarlier}, location);
  int numbers = iota({sizes[1]}, 0, location);
  int ones = convert(compare(numbers, CompareDirection::Equal, numbers, location), DType::S32, location);
  int ranks = contract(convert(first, DType::S32, location), 2, ones, 0, location);
  int ofRank =
      compare(broadcast(ranks, {0, 1}, sizes, location), CompareDirection::Equal, iota(sizes, 2, location), location);
  return contract(convert(ofRank, DType::S32, location), 1, numbers, 0, location);
}

int InstructionParser::take(int value, int order, Location location) {
  std::vector<int64_t> sizes = shapeOf(order).dimensions;
  sizes.push_back(1);
  Instruction gather;
  gather.opcode = Opcode::Gather;
  gather.operands = {value, reshape(order, sizes, location)};
  gather.gather.collapsed = {1};
  gather.gather.operandBatch = {0};
  gather.gather.indicesBatch = {0};
  gather.gather.startIndexMap = {1};
  gather.gather.indexVectorDim = 2;
  gather.gather.sliceSizes = {1, 1};
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

namespace {

/// Every pair of elements is compared.
void checkSorted(const Shape &shape, int64_t dimension) {
  constexpr __int128 mostPairs = __int128(1) << 28;
  if (dimension < 0 || dimension >= shape.rank())
    throw inputError(fmt::format("dimension {} is out of range for rank {}", dimension, shape.rank()));
  int64_t size = shape.dimensions[size_t(dimension)];
  if (size == 0 || __int128(shape.elementCount()) * size > mostPairs)
    throw inputError(
        fmt::format("{} is sorted along {} elements; every pair is compared, and at most {} pairs are read",
                    formatShapePlain(shape), size, int64_t(mostPairs)));
}

} // namespace

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
  std::vector<int> rows, forward, backward;
  for (size_t i = 0; i < count; ++i) {
    if (!shapeOf(sort.operands[i]).sameDimensionsAs(shape))
      cursor.fail(location, fmt::format("'sort' takes arrays of the same dimensions, got {} and {}",
                                        formatShapePlain(shape), formatShapePlain(shapeOf(sort.operands[i]))));
    rows.push_back(toRows(sort.operands[i], dimension, location));
    std::vector<int64_t> sizes = shapeOf(rows.back()).dimensions;
    sizes.push_back(sizes[1]);
    int here = broadcast(rows.back(), {0, 1}, sizes, location), other = broadcast(rows.back(), {0, 2}, sizes, location);
    for (int value : {other, here})
      forward.push_back(value);
    for (int value : {here, other})
      backward.push_back(value);
  }
  int before = compareBy(region, forward, "sort", location), after = compareBy(region, backward, "sort", location);
  int order = orderOf(before, after, location);
  Instruction result;
  result.opcode = count == 1 ? Opcode::Copy : Opcode::Tuple;
  for (int row : rows)
    result.operands.push_back(fromRows(take(row, order, location), shape, dimension, location));
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
  int rows = toRows(top.operands[0], dimension, location);
  std::vector<int64_t> sizes = shapeOf(rows).dimensions;
  sizes.push_back(sizes[1]);
  int here = broadcast(rows, {0, 1}, sizes, location), other = broadcast(rows, {0, 2}, sizes, location);
  int hereNumber = iota(sizes, 1, location), otherNumber = iota(sizes, 2, location);
  auto comesBefore = [&](int left, int right, int leftNumber, int rightNumber) {
    if (comparator.empty())
      return compare(left, largest ? CompareDirection::Greater : CompareDirection::Less, right, location,
                     isFloating(shape.type));
    const Computation region = context.module.computation(comparator[0]);
    std::vector<int> arguments = {left, right};
    if (region.parameters.size() == 4) // XLA's optimiser has it compare as a sort with indices does
      arguments.insert(arguments.end(), {leftNumber, rightNumber});
    return compareBy(region, arguments, definition.text, location);
  };
  int before = comesBefore(other, here, otherNumber, hereNumber),
      after = comesBefore(here, other, hereNumber, otherNumber);
  int order = orderOf(before, after, location);
  Instruction first;
  first.opcode = Opcode::Slice;
  first.operands = {order};
  first.slice = {{0, 0}, {sizes[0], count}, {1, 1}};
  order = append(std::move(first), location);
  Instruction result;
  result.opcode = Opcode::Tuple;
  for (int value : {take(rows, order, location), order})
    result.operands.push_back(fromRows(value, shape, dimension, location));
  return finishAs(definition, top, std::move(result));
}

} // namespace heddle::hlo
