// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations that move elements and compute nothing.
#include "frontend/hlo/InferShape.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::hlo {
namespace {

Error disagree(const ShapeQuery &query, const Shape &from, const Shape &to, const char *rule) {
  return inputError(
      fmt::format("'{}' from {} to {}: {}", query.opcode(), formatShapePlain(from), formatShapePlain(to), rule));
}

void checkLength(const ShapeQuery &query, const char *what, size_t length, const Shape &shape) {
  if (int64_t(length) != shape.rank())
    throw inputError(fmt::format("'{}' has {} {} for the {} dimensions of {}", query.opcode(), length, what,
                                 shape.rank(), formatShapePlain(shape)));
}

Shape inferBroadcast(const ShapeQuery &query) {
  const Shape &from = query.arrayOperand(0), &to = query.needDeclaredArray();
  const std::vector<int64_t> &dimensions = query.instruction.dimensions;
  checkLength(query, "dimensions", dimensions.size(), from);
  query.checkUniqueDimensions(dimensions, to);
  for (size_t i = 0; i < dimensions.size(); ++i)
    if (to.dimensions[size_t(dimensions[i])] != from.dimensions[i])
      throw disagree(query, from, to, "the sizes of the dimensions that it keeps differ");
  return Shape::array(from.type, to.dimensions);
}

Shape inferReshape(const ShapeQuery &query) {
  const Shape &from = query.arrayOperand(0), &to = query.needDeclaredArray();
  if (from.elementCount() != to.elementCount())
    throw disagree(query, from, to, "the numbers of elements differ");
  return Shape::array(from.type, to.dimensions);
}

Shape inferBitcast(const ShapeQuery &query) {
  const Shape &from = query.arrayOperand(0), &to = query.needDeclaredArray();
  int fromBits = bitWidth(from.type), toBits = bitWidth(to.type);
  bool packed = fromBits < 8 || toBits < 8; // one byte each in our buffers, so the bytes say nothing about the bits
  if (from.sizeBytes() != to.sizeBytes() || (packed && fromBits != toBits))
    throw disagree(query, from, to, "the numbers of bits differ");
  return to;
}

Shape inferTranspose(const ShapeQuery &query) {
  const Shape &from = query.arrayOperand(0);
  const std::vector<int64_t> &permutation = query.instruction.dimensions;
  checkLength(query, "dimensions", permutation.size(), from);
  query.checkUniqueDimensions(permutation, from);
  Shape result = Shape::array(from.type, {});
  for (int64_t dimension : permutation)
    result.dimensions.push_back(from.dimensions[size_t(dimension)]);
  return result;
}

Shape inferSlice(const ShapeQuery &query) {
  const Shape &from = query.arrayOperand(0);
  const SliceBounds &bounds = query.instruction.slice;
  checkLength(query, "bounds", bounds.starts.size(), from);
  Shape result = Shape::array(from.type, {});
  for (size_t i = 0; i < bounds.starts.size(); ++i) {
    int64_t start = bounds.starts[i], limit = bounds.limits[i], stride = bounds.strides[i];
    if (start < 0 || limit < start || limit > from.dimensions[i] || stride < 1)
      throw inputError(fmt::format("slice [{}:{}:{}] does not fit dimension {} of size {}", start, limit, stride, i,
                                   from.dimensions[i]));
    result.dimensions.push_back((limit - start) / stride + ((limit - start) % stride != 0));
  }
  return result;
}

/// The start indices from operand `first` on: one integer scalar for each dimension.
void checkStartIndices(const ShapeQuery &query, size_t first, const Shape &shape) {
  checkLength(query, "start indices", query.operandCount() - first, shape);
  for (size_t i = first; i < query.operandCount(); ++i)
    if (!query.arrayOperand(i).isScalar() || !isInteger(query.operand(i).type))
      throw inputError(fmt::format("'{}' takes integer scalars as start indices, operand {} is {}", query.opcode(), i,
                                   formatShapePlain(query.operand(i))));
}

void checkWindow(const ShapeQuery &query, const Shape &shape, const std::vector<int64_t> &sizes) {
  checkLength(query, "sizes", sizes.size(), shape);
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] < 0 || sizes[i] > shape.dimensions[i])
      throw inputError(fmt::format("'{}': size {} does not fit dimension {} of size {}", query.opcode(), sizes[i], i,
                                   shape.dimensions[i]));
}

void needOperands(const ShapeQuery &query, size_t least) {
  if (query.operandCount() < least)
    throw inputError(
        fmt::format("'{}' takes {} or more operands, got {}", query.opcode(), least, query.operandCount()));
}

Shape inferDynamicSlice(const ShapeQuery &query) {
  needOperands(query, 1);
  const Shape &from = query.arrayOperand(0);
  checkStartIndices(query, 1, from);
  checkWindow(query, from, query.instruction.dynamicSliceSizes);
  return Shape::array(from.type, query.instruction.dynamicSliceSizes);
}

Shape inferDynamicUpdateSlice(const ShapeQuery &query) {
  needOperands(query, 2);
  const Shape &into = query.arrayOperand(0), &update = query.arrayOperand(1);
  checkStartIndices(query, 2, into);
  if (update.type != into.type)
    throw inputError(
        fmt::format("'{}' of {} into {}", query.opcode(), formatShapePlain(update), formatShapePlain(into)));
  checkWindow(query, into, update.dimensions);
  return into;
}

Shape inferConcatenate(const ShapeQuery &query) {
  needOperands(query, 1);
  Shape result = Shape::array(query.arrayOperand(0).type, query.operand(0).dimensions);
  const std::vector<int64_t> &dimensions = query.instruction.dimensions;
  if (dimensions.size() != 1)
    throw inputError(fmt::format("'{}' expects exactly one dimension, got {}", query.opcode(), dimensions.size()));
  query.checkDimension(dimensions[0], result);
  auto along = size_t(dimensions[0]);
  for (size_t i = 1; i < query.operandCount(); ++i) {
    Shape other = query.arrayOperand(i);
    int64_t size = other.rank() > dimensions[0] ? other.dimensions[along] : 0;
    if (other.rank() == result.rank())
      other.dimensions[along] = result.dimensions[along];
    if (!other.sameAs(result))
      throw inputError(fmt::format("'{}' along dimension {} of {} and {}: type and other dimensions must agree",
                                   query.opcode(), along, formatShapePlain(query.operand(0)),
                                   formatShapePlain(query.operand(i))));
    if (__builtin_add_overflow(result.dimensions[along], size, &result.dimensions[along]))
      throw inputError(fmt::format("the result of '{}' is too large", query.opcode()));
  }
  return result;
}

Shape inferPad(const ShapeQuery &query) {
  const Shape &from = query.arrayOperand(0), &value = query.arrayOperand(1);
  if (!value.isScalar() || value.type != from.type)
    throw inputError(
        fmt::format("'pad' of {} takes a scalar of its type, got {}", formatShapePlain(from), formatShapePlain(value)));
  checkLength(query, "padded dimensions", query.instruction.padding.size(), from);
  Shape result = Shape::array(from.type, {});
  for (size_t i = 0; i < from.dimensions.size(); ++i) {
    const PaddedDimension &padding = query.instruction.padding[i];
    __int128 gaps = std::max<int64_t>(from.dimensions[i] - 1, 0);
    __int128 size = __int128(from.dimensions[i]) + padding.low + padding.high + gaps * padding.interior;
    if (padding.interior < 0 || size < 0 || size > (int64_t(1) << 60))
      throw inputError(fmt::format("padding {}_{}_{} does not fit dimension {} of size {}", padding.low, padding.high,
                                   padding.interior, i, from.dimensions[i]));
    result.dimensions.push_back(int64_t(size));
  }
  return result;
}

/// Numbers of dimensions of `shape`, each once and ascending where `ascending` is true.
void checkNumbers(const ShapeQuery &query, const char *what, const std::vector<int64_t> &numbers, int64_t rank,
                  bool ascending) {
  std::vector<int64_t> sorted = numbers;
  std::sort(sorted.begin(), sorted.end());
  bool fits = (!ascending || sorted == numbers) && std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() &&
              (sorted.empty() || (sorted.front() >= 0 && sorted.back() < rank));
  if (!fits)
    throw inputError(fmt::format("'{}': {} {{{}}} are not distinct{} dimensions of rank {}", query.opcode(), what,
                                 fmt::join(numbers, ","), ascending ? ", ascending" : "", rank));
}

Shape inferGather(const ShapeQuery &query) {
  const Shape &from = query.arrayOperand(0), &indices = query.arrayOperand(1);
  const GatherDimensions &gather = query.instruction.gather;
  if (!isInteger(indices.type))
    throw inputError(fmt::format("'gather' takes integers as start indices, got {}", formatShapePlain(indices)));
  if (gather.indexVectorDim < 0 || gather.indexVectorDim > indices.rank())
    throw inputError(fmt::format("'gather': index_vector_dim={} with start indices {}", gather.indexVectorDim,
                                 formatShapePlain(indices)));
  checkWindow(query, from, gather.sliceSizes);
  checkNumbers(query, "collapsed_slice_dims", gather.collapsed, from.rank(), true);
  checkNumbers(query, "operand_batching_dims", gather.operandBatch, from.rank(), true);
  checkNumbers(query, "start_indices_batching_dims", gather.indicesBatch, indices.rank(), false);
  checkNumbers(query, "start_index_map", gather.startIndexMap, from.rank(), false);
  bool isVector = gather.indexVectorDim < indices.rank();
  int64_t components = isVector ? indices.dimensions[size_t(gather.indexVectorDim)] : 1;
  if (int64_t(gather.startIndexMap.size()) != components)
    throw inputError(fmt::format("'gather': start_index_map has {} dimensions, and the start indices {} components",
                                 gather.startIndexMap.size(), components));
  if (gather.operandBatch.size() != gather.indicesBatch.size())
    throw inputError(fmt::format("'gather' has {} operand_batching_dims and {} start_indices_batching_dims",
                                 gather.operandBatch.size(), gather.indicesBatch.size()));
  for (size_t i = 0; i < gather.operandBatch.size(); ++i)
    if (gather.indicesBatch[i] == gather.indexVectorDim ||
        from.dimensions[size_t(gather.operandBatch[i])] != indices.dimensions[size_t(gather.indicesBatch[i])])
      throw inputError(fmt::format("'gather': batching dimension {} of {} does not fit {} of {}",
                                   gather.operandBatch[i], formatShapePlain(from), gather.indicesBatch[i],
                                   formatShapePlain(indices)));
  std::vector<int64_t> windows, kept;
  for (int64_t i = 0; i < indices.rank(); ++i)
    if (i != gather.indexVectorDim)
      windows.push_back(indices.dimensions[size_t(i)]);
  for (int64_t i = 0; i < from.rank(); ++i) {
    int64_t size = gather.sliceSizes[size_t(i)];
    if (!gather.isLeftOut(i))
      kept.push_back(size);
    else if (size > 1)
      throw inputError(
          fmt::format("'gather': dimension {} is left out of the result, and slice_sizes has {} there", i, size),
          {"it is 1 there"});
  }
  auto rank = int64_t(windows.size() + kept.size());
  checkNumbers(query, "offset_dims", gather.offsets, rank, true);
  if (gather.offsets.size() != kept.size())
    throw inputError(fmt::format("'gather' has {} offset_dims, and its windows have {} dimensions",
                                 gather.offsets.size(), kept.size()));
  Shape result = Shape::array(from.type, {});
  size_t nextWindow = 0, nextKept = 0;
  for (int64_t i = 0; i < rank; ++i)
    result.dimensions.push_back(std::ranges::find(gather.offsets, i) != gather.offsets.end() ? kept[nextKept++]
                                                                                             : windows[nextWindow++]);
  return result;
}

} // namespace

Shape inferMovement(const ShapeQuery &query) {
  switch (query.instruction.opcode) {
  case Opcode::Broadcast:
    return inferBroadcast(query);
  case Opcode::Reshape:
    return inferReshape(query);
  case Opcode::Bitcast:
    return inferBitcast(query);
  case Opcode::Transpose:
    return inferTranspose(query);
  case Opcode::Slice:
    return inferSlice(query);
  case Opcode::DynamicSlice:
    return inferDynamicSlice(query);
  case Opcode::DynamicUpdateSlice:
    return inferDynamicUpdateSlice(query);
  case Opcode::Concatenate:
    return inferConcatenate(query);
  case Opcode::Pad:
    return inferPad(query);
  case Opcode::Gather:
    return inferGather(query);
  default: // reverse
    query.checkUniqueDimensions(query.instruction.dimensions, query.arrayOperand(0));
    return query.operand(0);
  }
}

} // namespace heddle::hlo
