// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Follows a node's operands with positions transformed on the way, until it reaches a buffer or a tile in registers.
#include "program/Expression.h"
#include "program/Conversion.h"
#include "program/Elementwise.h"
#include "program/NarrowTypes.h"
#include "program/Rows.h"
#include "program/Types.h"
#include "support/Error.h"
#include <cstring>
#include <fmt/format.h>
#include <functional>

using namespace mlir;
using namespace heddle::triton;
using heddle::hlo::DType;
using heddle::hlo::Opcode;
using heddle::tile::TileWriter;

namespace heddle::program {

bool isSplat(const Node &constant) {
  const std::string &bytes = constant.instruction.literal;
  size_t size = size_t(hlo::elementSizeBytes(constant.shape.type));
  for (size_t i = size; i < bytes.size(); i += size)
    if (std::memcmp(bytes.data(), bytes.data() + i, size) != 0)
      return false;
  return !bytes.empty();
}

static bool isTile(Value value) {
  return isa<RankedTensorType>(value.getType());
}

//===-- Positions ------------------------------------------------------------------------------------------------===//

PositionPtr Expression::at(Value linear, const std::vector<int64_t> &dimensions) {
  if (!indexType) { // every index below is one of an array of the graph
    int64_t largest = 0;
    for (const Node &node : graph.nodes) {
      largest = std::max(largest, node.shape.elementCount());
      for (const hlo::PaddedDimension &padding : node.instruction.padding) // may exceed both arrays
        largest = std::max({largest, padding.low, -(padding.low + 1), padding.interior});
    }
    bool small = largest < (int64_t(1) << 30);
    indexType = small ? w.b.getI32Type() : w.b.getI64Type();
  }
  auto position = std::make_shared<Position>();
  position->dimensions = dimensions;
  position->linear = w.truncate(linear, elementBits(indexType));
  return position;
}

Value Expression::index(int64_t value, Value like) {
  constexpr int64_t exact = int64_t(1) << 53; // a double has not all integers beyond
  if (elementBits(like.getType()) == 64 && (value > exact || value < -exact))
    return w.like(w.i64(value), like);
  return w.constant(getElementTypeOrSelf(like.getType()), double(value), like);
}

Value Expression::linearOf(Position &position) {
  if (position.linear)
    return position.linear;
  Value sum;
  int64_t stride = 1;
  for (size_t i = position.dimensions.size(); i-- > 0; stride *= position.dimensions[i]) {
    Value coordinate = (*position.coordinates)[i];
    Value term = stride == 1 ? coordinate : w.mul(coordinate, index(stride, coordinate));
    sum = sum ? w.add(sum, term) : term;
  }
  return position.linear = sum;
}

const std::vector<Value> &Expression::coordinatesOf(Position &position) {
  if (position.coordinates)
    return *position.coordinates;
  size_t rank = position.dimensions.size();
  std::vector<Value> coordinates(rank);
  // Of a row's elements those before its columns are scalars.
  std::optional<size_t> kept;
  if (currentRow && position.linear == currentRow->linear)
    kept = dimensionsBeforeRow(position.dimensions, currentRow->columns);
  if (kept) {
    split(currentRow->number, position.dimensions, 0, *kept, coordinates);
    split(currentRow->position, position.dimensions, *kept, rank, coordinates);
  } else {
    split(position.linear, position.dimensions, 0, rank, coordinates);
  }
  position.coordinates = std::move(coordinates);
  return *position.coordinates;
}

void Expression::split(Value linear, const std::vector<int64_t> &dimensions, size_t first, size_t last,
                       std::vector<Value> &coordinates) {
  Value rest = linear;
  for (size_t i = last; i-- > first + 1;) {
    Value size = index(dimensions[i], rest);
    coordinates[i] = w.modulo(rest, size);
    rest = w.divide(rest, size);
  }
  if (first < last)
    coordinates[first] = rest;
}

PositionPtr Expression::rowElements(const std::vector<int64_t> &dimensions) {
  auto position = std::make_shared<Position>();
  position->dimensions = dimensions;
  position->linear = currentRow->linear;
  return position;
}

PositionPtr Expression::rowNumber(const std::vector<int64_t> &dimensions) {
  if (dimensions.empty())
    return scalarPlace();
  auto position = std::make_shared<Position>();
  position->dimensions = dimensions;
  position->linear = currentRow->number;
  return position;
}

PositionPtr Expression::place(std::vector<int64_t> dimensions, std::vector<Value> coordinates) {
  if (dimensions.empty())
    return scalarPlace();
  auto position = std::make_shared<Position>();
  position->dimensions = std::move(dimensions);
  position->coordinates = std::move(coordinates);
  return position;
}

PositionPtr Expression::scalarPlace() {
  auto position = std::make_shared<Position>();
  position->linear = w.constant(indexType ? indexType : w.b.getI32Type(), 0);
  position->coordinates.emplace();
  return position;
}

//===-- Values ---------------------------------------------------------------------------------------------------===//

// Two positions that are the same values are the same; an array without dimensions has one position.
static bool isSame(const Position &a, const Position &b) {
  if (a.dimensions != b.dimensions)
    return false;
  if (a.dimensions.empty() || (a.linear && a.linear == b.linear))
    return true;
  return a.coordinates && b.coordinates && *a.coordinates == *b.coordinates;
}

Value Expression::evaluate(NodeId id, const PositionPtr &position, Value mask) {
  for (const Computed &before : memo[id])
    if (before.mask == mask && (before.position == position || isSame(*before.position, *position)))
      return before.value;
  Value value = compute(id, position, mask);
  memo[id].push_back({position, mask, value});
  return value;
}

bool Expression::reaches(NodeId id, const std::set<NodeId> &later, std::map<NodeId, bool> &reached) const {
  if (later.count(id) || buffers.count(id))
    return later.count(id) > 0;
  auto [entry, isNew] = reached.try_emplace(id, false);
  if (!isNew)
    return entry->second;
  bool found = std::any_of(graph[id].operands.begin(), graph[id].operands.end(),
                           [&](NodeId operand) { return reaches(operand, later, reached); });
  return reached[id] = found;
}

void Expression::preload(NodeId id, const PositionPtr &position, Value mask, const std::set<NodeId> &later) {
  std::map<NodeId, bool> reached;
  std::set<NodeId> seen;
  std::function<void(NodeId)> visit = [&](NodeId at) {
    const Node &node = graph[at];
    if (!seen.insert(at).second || !hlo::isElementwise(node.opcode()) || node.opcode() == Opcode::BitcastConvert)
      return;
    for (NodeId operand : node.operands) {
      if (graph[operand].shape.elementCount() != node.shape.elementCount())
        continue;
      if (!reaches(operand, later, reached))
        evaluate(operand, position, mask);
      else if (!later.count(operand))
        visit(operand);
    }
  };
  if (later.count(id) || reaches(id, later, reached))
    visit(id);
  else
    evaluate(id, position, mask);
}

Value Expression::compute(NodeId id, const PositionPtr &position, Value mask) {
  const Node &node = graph[id];
  if (auto found = known.find(id); found != known.end()) {
    const auto &[place, value] = found->second;
    // An array of one element has one position, and so has an array of a number for each row.
    bool isNumber = currentRow && !isTile(linearOf(*place)) && !isTile(linearOf(*position));
    if (node.shape.elementCount() != 1 && !isNumber && linearOf(*position) != linearOf(*place))
      throw internalError("what a kernel has at hand is read at another position");
    return value;
  }
  if (auto found = buffers.find(id); found != buffers.end()) {
    if (node.shape.isScalar())
      return fromMemory(w, w.load(found->second), node.shape.type);
    Value linear = linearOf(*position);
    // One element that all share is there for all or for none of them.
    bool isMasked = mask && isTile(mask);
    return fromMemory(w, w.load(w.offset(found->second, linear), isTile(linear) || !isMasked ? mask : Value()),
                      node.shape.type);
  }
  if (node.shape.elementCount() == 0) { // what reads it does so under a mask that is false, or in a loop of no steps
    Type registers = registerType(*w.b.getContext(), node.shape.type);
    Type integer = w.b.getIntegerType(registers.getIntOrFloatBitWidth());
    return w.bitcast(w.constant(integer, 0, linearOf(*position)), registers);
  }
  if (hlo::isElementwise(node.opcode()))
    return elementwiseAt(node, position, mask);
  switch (node.opcode()) {
  case Opcode::Constant:
    return constant(node, position);
  case Opcode::Iota:
    return iota(node, position);
  case Opcode::ReplicaId:
    return device.first;
  case Opcode::PartitionId:
    return device.second;
  case Opcode::DynamicSlice:
    return dynamicSlice(node, position, mask);
  case Opcode::DynamicUpdateSlice:
    return dynamicUpdate(node, position, mask);
  case Opcode::Gather:
    return gather(node, position, mask);
  case Opcode::Concatenate:
    return concatenate(node, position, mask);
  case Opcode::Pad:
    return pad(node, position, mask);
  case Opcode::Reduce:
    return reduce(node, position, mask);
  case Opcode::Dot:
    return dot(node, position, mask);
  case Opcode::Broadcast:
  case Opcode::Reshape:
  case Opcode::Bitcast:
  case Opcode::Transpose:
  case Opcode::Slice:
  case Opcode::Reverse: {
    PositionPtr moved = movedThrough(node, position);
    return evaluate(node.operands[0], moved, graph.operand(node, 0).shape.isScalar() ? Value() : mask);
  }
  default:
    throw internalError(fmt::format("`{}` is no part of an expression", opcodeName(node.opcode())));
  }
}

Value Expression::constant(const Node &node, const PositionPtr &position) {
  Value like = position->linear ? position->linear : position->coordinates->front();
  DType type = node.shape.type;
  ElementType element = *bufferType(type);
  Type registers = registerType(*w.b.getContext(), type);
  const char *at = node.instruction.literal.data();
  if (type == DType::Pred)
    return w.like(w.boolean(*at != 0), like);
  if (hlo::isFloating(type) && elementSizeBytes(element) > 1)
    return w.constant(registers, loadDouble(element, at), like);
  // Integers and 8-bit floats by their bits: a double does not hold them all.
  unsigned bits = unsigned(8 * elementSizeBytes(element));
  uint64_t pattern = 0;
  std::memcpy(&pattern, at, size_t(elementSizeBytes(element)));
  Type integer = w.b.getIntegerType(bits);
  TypedAttr attribute = IntegerAttr::get(integer, APInt(bits, pattern));
  if (auto tile = dyn_cast<RankedTensorType>(like.getType()))
    attribute = DenseElementsAttr::get(RankedTensorType::get(tile.getShape(), integer), Attribute(attribute));
  Value constant = arith::ConstantOp::create(w.b, attribute);
  return isCodedFloat(type) ? decodeFloat(w, constant, type) : w.bitcast(constant, registers);
}

Value Expression::iota(const Node &node, const PositionPtr &position) {
  Value coordinate = coordinatesOf(*position)[size_t(node.instruction.iotaDimension)];
  DType from = elementBits(coordinate.getType()) == 32 ? DType::S32 : DType::S64;
  return convertElement(w, coordinate, from, node.shape.type);
}

// Elements of another width: the low part of a wide one is the first of the narrow ones, along the last dimension.
Value Expression::bitcastOfWidth(const Node &node, const PositionPtr &position, Value mask) {
  const hlo::Shape &from = graph.operand(node, 0).shape;
  unsigned bits = unsigned(hlo::bitWidth(from.type)), wanted = unsigned(hlo::bitWidth(node.shape.type));
  unsigned widest = std::max({bits, wanted, 8u});
  Type integer = w.b.getIntegerType(widest);
  std::vector<Value> coordinates = coordinatesOf(*position);
  auto pattern = [&](const std::vector<Value> &at) {
    Value value = evaluate(node.operands[0], place(from.dimensions, at), from.isScalar() ? Value() : mask);
    Value whole = w.bitcast(toMemory(w, value, from.type), w.b.getIntegerType(std::max(bits, 8u)));
    return bits < 8 ? w.bitAnd(whole, w.constant(w.b.getIntegerType(8), (1 << bits) - 1, whole)) : whole;
  };
  Value result;
  if (bits > wanted) {
    Value part = w.mul(coordinates.back(), index(wanted, coordinates.back()));
    coordinates.pop_back();
    part = w.truncate(w.extend(part, 64), widest);
    result = w.truncate(w.shiftRight(pattern(coordinates), part), std::max(wanted, 8u));
  } else {
    Value like = linearOf(*position);
    coordinates.emplace_back();
    for (unsigned part = 0; part < wanted; part += bits) {
      coordinates.back() = index(part / bits, like);
      Value piece = w.extend(pattern(coordinates), widest);
      Value moved = part ? w.shiftLeft(piece, w.constant(integer, part, piece)) : piece;
      result = result ? w.bitOr(result, moved) : moved;
    }
  }
  DType to = node.shape.type;
  if (to == DType::Pred || isNarrow(to))
    return fromMemory(w, result, to);
  return w.bitcast(result, registerType(*w.b.getContext(), node.shape.type));
}

Value Expression::elementwiseAt(const Node &node, const PositionPtr &position, Value mask) {
  if (node.opcode() == Opcode::BitcastConvert &&
      hlo::bitWidth(node.shape.type) != hlo::bitWidth(graph.operand(node, 0).shape.type))
    return bitcastOfWidth(node, position, mask);
  SmallVector<Value> operands;
  SmallVector<DType> types;
  for (NodeId operand : node.operands) {
    bool isScalar = graph[operand].shape.isScalar() && !node.shape.isScalar(); // of select and clamp
    operands.push_back(isScalar ? evaluate(operand, scalarPlace(), {}) : evaluate(operand, position, mask));
    types.push_back(graph[operand].shape.type);
  }
  return elementwise(w, node.instruction, operands, types);
}

// Where the operand is read for an element of the result.
PositionPtr Expression::movedThrough(const Node &node, const PositionPtr &position) {
  const hlo::Shape &from = graph.operand(node, 0).shape;
  const hlo::Instruction &instruction = node.instruction;
  if (from.isScalar())
    return scalarPlace();
  size_t rank = from.dimensions.size();
  std::vector<Value> coordinates(rank);
  switch (node.opcode()) {
  case Opcode::Bitcast:
    if (!from.hasDefaultLayout() || !node.shape.hasDefaultLayout())
      break;
    [[fallthrough]];
  case Opcode::Reshape: {
    auto moved = std::make_shared<Position>();
    moved->dimensions = from.dimensions;
    moved->linear = linearOf(*position);
    return moved;
  }
  case Opcode::Broadcast:
    for (size_t i = 0; i < rank; ++i)
      coordinates[i] = coordinatesOf(*position)[size_t(instruction.dimensions[i])];
    return place(from.dimensions, coordinates);
  case Opcode::Transpose:
    for (size_t i = 0; i < rank; ++i)
      coordinates[size_t(instruction.dimensions[i])] = coordinatesOf(*position)[i];
    return place(from.dimensions, coordinates);
  case Opcode::Slice:
    for (size_t i = 0; i < rank; ++i) {
      Value here = coordinatesOf(*position)[i];
      coordinates[i] =
          w.add(w.mul(here, index(instruction.slice.strides[i], here)), index(instruction.slice.starts[i], here));
    }
    return place(from.dimensions, coordinates);
  case Opcode::Reverse:
    coordinates = coordinatesOf(*position);
    for (int64_t dimension : instruction.dimensions) {
      Value &here = coordinates[size_t(dimension)];
      here = w.sub(index(from.dimensions[size_t(dimension)] - 1, here), here);
    }
    return place(from.dimensions, coordinates);
  default:
    throw internalError("an operation that moves nothing");
  }
  // A bitcast between layouts: the same place in memory. Order of dimensions in memory, slowest first.
  auto ordered = [](const hlo::Shape &shape) {
    std::vector<int64_t> order = shape.minorToMajor();
    std::reverse(order.begin(), order.end());
    return order;
  };
  std::vector<int64_t> memory = ordered(node.shape), source = ordered(from), sizes, sourceSizes;
  std::vector<Value> physical;
  for (int64_t dimension : memory) {
    sizes.push_back(node.shape.dimensions[size_t(dimension)]);
    physical.push_back(coordinatesOf(*position)[size_t(dimension)]);
  }
  for (int64_t dimension : source)
    sourceSizes.push_back(from.dimensions[size_t(dimension)]);
  auto flat = std::make_shared<Position>();
  flat->dimensions = sourceSizes;
  flat->linear = linearOf(*place(sizes, physical));
  for (size_t i = 0; i < rank; ++i)
    coordinates[size_t(source[i])] = coordinatesOf(*flat)[i];
  return place(from.dimensions, coordinates);
}

//===-- Slices at run time ---------------------------------------------------------------------------------------===//

/// A start index, moved so that a window lies inside: from 0 to `most`.
static Value clampedStart(TileWriter &w, Value start, DType from, int64_t most, unsigned bits) {
  start = convertElement(w, start, from, DType::S64);
  if (hlo::isSignedInteger(from))
    start = w.binary<arith::MaxSIOp>(start, w.like(w.i64(0), start));
  start = w.binary<arith::MinUIOp>(start, w.like(w.i64(most), start)); // a u64 has values above those of s64
  return w.truncate(start, bits);
}

std::vector<Value> Expression::starts(const Node &node, size_t firstOperand, const std::vector<int64_t> &dimensions,
                                      const std::vector<int64_t> &sizes, Value like) {
  std::vector<Value> result;
  Type type = getElementTypeOrSelf(like.getType());
  for (size_t i = 0; i < dimensions.size(); ++i) {
    NodeId operand = node.operands[firstOperand + i];
    result.push_back(clampedStart(w, evaluate(operand, scalarPlace(), {}), graph[operand].shape.type,
                                  dimensions[i] - sizes[i], elementBits(type)));
  }
  return result;
}

Value Expression::gather(const Node &node, const PositionPtr &position, Value mask) {
  const hlo::Shape &from = graph.operand(node, 0).shape, &indices = graph.operand(node, 1).shape;
  const hlo::GatherDimensions &gather = node.instruction.gather;
  if (from.isScalar())
    return evaluate(node.operands[0], scalarPlace(), {});
  Value like = node.shape.isScalar() ? scalarPlace()->linear : coordinatesOf(*position)[0];
  // Where the vector of the window is, but for the component.
  std::vector<Value> vector, kept;
  for (size_t i = 0; i < node.shape.dimensions.size(); ++i)
    (std::ranges::find(gather.offsets, int64_t(i)) != gather.offsets.end() ? kept : vector)
        .push_back(coordinatesOf(*position)[i]);
  bool hasComponents = gather.indexVectorDim < indices.rank();
  if (hasComponents)
    vector.insert(vector.begin() + gather.indexVectorDim, index(0, like));
  std::vector<Value> coordinates(from.dimensions.size());
  size_t next = 0;
  for (size_t i = 0; i < coordinates.size(); ++i)
    coordinates[i] = gather.isLeftOut(int64_t(i)) ? index(0, like) : kept[next++];
  for (size_t i = 0; i < gather.operandBatch.size(); ++i)
    coordinates[size_t(gather.operandBatch[i])] = vector[size_t(gather.indicesBatch[i])];
  for (size_t component = 0; component < gather.startIndexMap.size(); ++component) {
    auto dimension = size_t(gather.startIndexMap[component]);
    if (hasComponents)
      vector[size_t(gather.indexVectorDim)] = index(int64_t(component), like);
    Value start = evaluate(node.operands[1], place(indices.dimensions, vector), indices.isScalar() ? Value() : mask);
    coordinates[dimension] =
        w.add(coordinates[dimension],
              clampedStart(w, start, indices.type, from.dimensions[dimension] - gather.sliceSizes[dimension],
                           elementBits(getElementTypeOrSelf(like.getType()))));
  }
  return evaluate(node.operands[0], place(from.dimensions, coordinates), mask);
}

Value Expression::dynamicSlice(const Node &node, const PositionPtr &position, Value mask) {
  const hlo::Shape &from = graph.operand(node, 0).shape;
  if (from.isScalar())
    return evaluate(node.operands[0], scalarPlace(), {});
  std::vector<Value> coordinates = coordinatesOf(*position);
  std::vector<Value> first = starts(node, 1, from.dimensions, node.shape.dimensions, coordinates[0]);
  for (size_t i = 0; i < coordinates.size(); ++i)
    coordinates[i] = w.add(coordinates[i], first[i]);
  return evaluate(node.operands[0], place(from.dimensions, coordinates), mask);
}

Value Expression::dynamicUpdate(const Node &node, const PositionPtr &position, Value mask) {
  const hlo::Shape &update = graph.operand(node, 1).shape;
  if (update.isScalar())
    return evaluate(node.operands[1], scalarPlace(), {});
  std::vector<Value> coordinates = coordinatesOf(*position);
  std::vector<Value> first = starts(node, 2, node.shape.dimensions, update.dimensions, coordinates[0]);
  Value inside;
  for (size_t i = 0; i < coordinates.size(); ++i) {
    coordinates[i] = w.sub(coordinates[i], first[i]);
    inside =
        both(inside, w.compare(arith::CmpIPredicate::ult, coordinates[i], index(update.dimensions[i], coordinates[i])));
  }
  Value updated = evaluate(node.operands[1], place(update.dimensions, coordinates), both(mask, inside));
  Value other = evaluate(node.operands[0], position, mask);
  return w.select(inside, updated, other);
}

Value Expression::updatedIndex(NodeId id, const PositionPtr &position) {
  const Node &node = graph[id];
  std::vector<Value> coordinates = coordinatesOf(*position);
  std::vector<Value> first = starts(node, 2, node.shape.dimensions, position->dimensions, coordinates[0]);
  for (size_t i = 0; i < coordinates.size(); ++i)
    coordinates[i] = w.add(coordinates[i], first[i]);
  return linearOf(*place(node.shape.dimensions, coordinates));
}

Value Expression::concatenate(const Node &node, const PositionPtr &position, Value mask) {
  size_t dimension = size_t(node.instruction.dimensions[0]);
  int64_t begin = 0;
  Value result;
  for (NodeId operand : node.operands) {
    const hlo::Shape &shape = graph[operand].shape;
    std::vector<Value> coordinates = coordinatesOf(*position);
    Value &here = coordinates[dimension];
    here = w.sub(here, index(begin, here));
    Value inside = w.compare(arith::CmpIPredicate::ult, here, index(shape.dimensions[dimension], here));
    begin += shape.dimensions[dimension];
    if (shape.elementCount() == 0)
      continue;
    Value part = evaluate(operand, place(shape.dimensions, coordinates), both(mask, inside));
    result = result ? w.select(inside, part, result) : part;
  }
  return result;
}

Value Expression::pad(const Node &node, const PositionPtr &position, Value mask) {
  const hlo::Shape &from = graph.operand(node, 0).shape;
  Value filler = evaluate(node.operands[1], scalarPlace(), {});
  if (from.elementCount() == 0 || from.isScalar())
    return from.isScalar() ? evaluate(node.operands[0], scalarPlace(), {}) : filler;
  std::vector<Value> coordinates = coordinatesOf(*position);
  Value inside;
  for (size_t i = 0; i < coordinates.size(); ++i) {
    const hlo::PaddedDimension &padding = node.instruction.padding[i];
    Value &here = coordinates[i];
    here = w.sub(here, index(padding.low, here));
    inside = both(inside, w.compare(arith::CmpIPredicate::sge, here, index(0, here)));
    if (padding.interior) {
      Value step = index(int64_t(uint64_t(padding.interior) + 1), here); // unsigned
      inside = both(inside, w.equal(w.modulo(here, step), index(0, here)));
      here = w.divide(here, step);
    }
    inside = both(inside, w.less(here, index(from.dimensions[i], here)));
  }
  Value value = evaluate(node.operands[0], place(from.dimensions, coordinates), both(mask, inside));
  return w.select(inside, value, filler);
}

} // namespace heddle::program
