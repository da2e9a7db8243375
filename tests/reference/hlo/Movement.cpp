// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations that move elements: for each index of the result, the index of the operand it comes from.
#include "support/Error.h"
#include "tests/reference/hlo/Operations.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace heddle::hlo::reference {

void forEachIndex(const std::vector<int64_t> &dimensions, const std::function<void(const Index &)> &action) {
  Index index(dimensions.size(), 0);
  for (int64_t size : dimensions)
    if (size == 0)
      return;
  while (true) {
    action(index);
    size_t dimension = dimensions.size();
    while (dimension > 0 && ++index[dimension - 1] == dimensions[dimension - 1])
      index[--dimension] = 0;
    if (dimension == 0)
      return;
  }
}

int64_t linearIndex(const std::vector<int64_t> &dimensions, const Index &index) {
  int64_t linear = 0;
  for (size_t i = 0; i < dimensions.size(); ++i)
    linear = linear * dimensions[i] + index[i];
  return linear;
}

void copyElement(const Value &from, int64_t fromIndex, Value &to, int64_t toIndex) {
  std::memcpy(to.at(toIndex), from.at(fromIndex), size_t(elementSizeBytes(from.shape.type)));
}

namespace {

/// Copies, for each index of the result, the element of `from` at `source(index)`.
Value gathered(const Shape &shape, const Value &from, const std::function<Index(const Index &)> &source) {
  Value result = zeros(shape);
  int64_t next = 0;
  forEachIndex(shape.dimensions, [&](const Index &index) {
    copyElement(from, linearIndex(from.shape.dimensions, source(index)), result, next++);
  });
  return result;
}

/// The logical positions of an array's elements in the order in which its layout stores them.
std::vector<int64_t> physicalOrder(const Shape &shape) {
  std::vector<int64_t> minorToMajor = shape.minorToMajor(), sizes;
  for (auto dimension = minorToMajor.rbegin(); dimension != minorToMajor.rend(); ++dimension)
    sizes.push_back(shape.dimensions[size_t(*dimension)]);
  std::vector<int64_t> order;
  forEachIndex(sizes, [&](const Index &physical) {
    Index logical(physical.size());
    for (size_t i = 0; i < physical.size(); ++i)
      logical[size_t(minorToMajor[physical.size() - 1 - i])] = physical[i];
    order.push_back(linearIndex(shape.dimensions, logical));
  });
  return order;
}

/// The same bytes in memory, seen with another shape.
Value bitcast(const Shape &shape, const Value &from) {
  Value result = zeros(shape);
  std::vector<uint8_t> memory;
  for (int64_t position : physicalOrder(from.shape))
    memory.insert(memory.end(), from.at(position), from.at(position) + elementSizeBytes(from.shape.type));
  const uint8_t *next = memory.data();
  for (int64_t position : physicalOrder(shape)) {
    std::memcpy(result.at(position), next, size_t(elementSizeBytes(shape.type)));
    next += elementSizeBytes(shape.type);
  }
  return result;
}

/// Start indices from operand `first` on, moved so that the window lies inside.
Index clampedStarts(const Operands &operands, size_t first, const Shape &whole, const std::vector<int64_t> &window) {
  Index starts;
  for (size_t i = 0; i < window.size(); ++i) {
    const Value &value = *operands[first + i];
    int64_t start = loadInteger(value.shape.type, value.at(0)), most = whole.dimensions[i] - window[i];
    bool huge = !isSignedInteger(value.shape.type) && start < 0; // a u64 beyond 2^63
    starts.push_back(huge ? most : std::clamp<int64_t>(start, 0, most));
  }
  return starts;
}

Index plus(Index index, const Index &offset) {
  for (size_t i = 0; i < index.size(); ++i)
    index[i] += offset[i];
  return index;
}

Value gather(const Instruction &instruction, const Operands &operands) {
  const GatherDimensions &gather = instruction.gather;
  const Value &from = *operands[0], &indices = *operands[1];
  return gathered(instruction.shape, from, [&](const Index &index) {
    Index window, source;
    size_t next = 0;
    for (size_t i = 0; i < index.size(); ++i)
      if (std::ranges::find(gather.offsets, int64_t(i)) == gather.offsets.end())
        window.push_back(index[i]);
    for (int64_t i = 0; i < from.shape.rank(); ++i)
      source.push_back(gather.isLeftOut(i) ? 0 : index[size_t(gather.offsets[next++])]);
    bool hasComponents = gather.indexVectorDim < indices.shape.rank();
    if (hasComponents)
      window.insert(window.begin() + gather.indexVectorDim, 0);
    for (size_t i = 0; i < gather.operandBatch.size(); ++i)
      source[size_t(gather.operandBatch[i])] = window[size_t(gather.indicesBatch[i])];
    for (size_t component = 0; component < gather.startIndexMap.size(); ++component) {
      if (hasComponents)
        window[size_t(gather.indexVectorDim)] = int64_t(component);
      auto dimension = size_t(gather.startIndexMap[component]);
      Value start = zeros(Shape::scalar(indices.shape.type));
      copyElement(indices, linearIndex(indices.shape.dimensions, window), start, 0);
      source[dimension] += clampedStarts({&start}, 0, Shape::array(from.shape.type, {from.shape.dimensions[dimension]}),
                                         {gather.sliceSizes[dimension]})[0];
    }
    return source;
  });
}

Value dynamicUpdateSlice(const Operands &operands) {
  Value result = *operands[0];
  const Value &update = *operands[1];
  Index starts = clampedStarts(operands, 2, result.shape, update.shape.dimensions);
  int64_t next = 0;
  forEachIndex(update.shape.dimensions, [&](const Index &index) {
    copyElement(update, next++, result, linearIndex(result.shape.dimensions, plus(index, starts)));
  });
  return result;
}

Value concatenate(const Instruction &instruction, const Operands &operands) {
  Value result = zeros(instruction.shape);
  auto along = size_t(instruction.dimensions[0]);
  int64_t offset = 0;
  for (const Value *operand : operands) {
    int64_t next = 0;
    forEachIndex(operand->shape.dimensions, [&](Index index) {
      index[along] += offset;
      copyElement(*operand, next++, result, linearIndex(result.shape.dimensions, index));
    });
    offset += operand->shape.dimensions[along];
  }
  return result;
}

Value pad(const Instruction &instruction, const Operands &operands) {
  Value result = zeros(instruction.shape);
  for (int64_t i = 0; i < result.shape.elementCount(); ++i)
    copyElement(*operands[1], 0, result, i);
  int64_t next = 0;
  forEachIndex(operands[0]->shape.dimensions, [&](Index index) {
    int64_t source = next++;
    for (size_t i = 0; i < index.size(); ++i) {
      index[i] = index[i] * (instruction.padding[i].interior + 1) + instruction.padding[i].low;
      if (index[i] < 0 || index[i] >= result.shape.dimensions[i])
        return; // cut off by negative padding
    }
    copyElement(*operands[0], source, result, linearIndex(result.shape.dimensions, index));
  });
  return result;
}

} // namespace

Value evaluateMovement(const Instruction &instruction, const Operands &operands) {
  const Value &from = *operands[0];
  const std::vector<int64_t> &sizes = from.shape.dimensions, &dimensions = instruction.dimensions;
  switch (instruction.opcode) {
  case Opcode::Reshape:
    return fromBytes(instruction.shape, {reinterpret_cast<const char *>(from.bytes.data()), from.bytes.size()});
  case Opcode::Bitcast:
    return bitcast(instruction.shape, from);
  case Opcode::Broadcast:
    return gathered(instruction.shape, from, [&](const Index &index) {
      Index source;
      for (int64_t dimension : dimensions)
        source.push_back(index[size_t(dimension)]);
      return source;
    });
  case Opcode::Transpose:
    return gathered(instruction.shape, from, [&](const Index &index) {
      Index source(index.size());
      for (size_t i = 0; i < index.size(); ++i)
        source[size_t(dimensions[i])] = index[i];
      return source;
    });
  case Opcode::Slice:
    return gathered(instruction.shape, from, [&](Index index) {
      for (size_t i = 0; i < index.size(); ++i)
        index[i] = instruction.slice.starts[i] + index[i] * instruction.slice.strides[i];
      return index;
    });
  case Opcode::Reverse:
    return gathered(instruction.shape, from, [&](Index index) {
      for (int64_t dimension : dimensions)
        index[size_t(dimension)] = sizes[size_t(dimension)] - 1 - index[size_t(dimension)];
      return index;
    });
  case Opcode::DynamicSlice: {
    Index starts = clampedStarts(operands, 1, from.shape, instruction.dynamicSliceSizes);
    return gathered(instruction.shape, from, [&](const Index &index) { return plus(index, starts); });
  }
  case Opcode::DynamicUpdateSlice:
    return dynamicUpdateSlice(operands);
  case Opcode::Concatenate:
    return concatenate(instruction, operands);
  case Opcode::Pad:
    return pad(instruction, operands);
  case Opcode::Gather:
    return gather(instruction, operands);
  default:
    throw internalError(fmt::format("the reference lacks '{}'", opcodeName(instruction.opcode)));
  }
}

} // namespace heddle::hlo::reference
