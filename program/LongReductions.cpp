// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Last dimensions are reduced in rows (Rows.h), others in parts that are columns.
#include "program/LongReductions.h"
#include "collectives/Plan.h"
#include "frontend/hlo/Literal.h"
#include "program/Rows.h"
#include <algorithm>
#include <limits>

namespace heddle::program {

using hlo::DType;
using hlo::Opcode;
using hlo::ReductionKind;

namespace {

/// Of a row, and of what is not in rows, the elements that are added up one after the other.
constexpr int64_t partOfRow = 4096, partOfColumn = 256, longColumn = 512;

std::string neutralOf(ReductionKind kind, DType type) {
  bool isFloat = hlo::isFloating(type), isSigned = hlo::isSignedInteger(type);
  int64_t bits = hlo::bitWidth(type);
  auto largest = [&] {
    return isFloat ? std::string("inf")
                   : std::to_string(std::numeric_limits<uint64_t>::max() >> (64 - bits + (isSigned ? 1 : 0)));
  };
  auto lowest = [&] {
    return isFloat    ? std::string("-inf")
           : isSigned ? std::to_string(std::numeric_limits<int64_t>::min() >> (64 - bits))
                      : std::string("0");
  };
  switch (kind) {
  case ReductionKind::Add:
    return isFloat ? "-0" : "0"; // keeps the sign of a zero
  case ReductionKind::Or:
    return "0";
  case ReductionKind::Multiply:
    return "1";
  case ReductionKind::Minimum:
    return largest();
  case ReductionKind::Maximum:
    return lowest();
  case ReductionKind::And:
    return type == DType::Pred ? "1"
           : isSigned          ? "-1"
                               : std::to_string(std::numeric_limits<uint64_t>::max() >> (64 - bits));
  }
  return "0";
}

class Splitter {
public:
  Splitter(const hlo::Instruction &reduction, ReductionKind kind, const hlo::Shape &result, NodeId first,
           const AddNode &add)
      : reduction(reduction), kind(kind), result(result), first(first), add(add) {}

  /// `value` of these sizes, reduced along `reduced`, ascending, to the result.
  NodeId reduce(NodeId value, std::vector<int64_t> sizes, std::vector<int64_t> reduced);

private:
  hlo::Shape shapeOf(const std::vector<int64_t> &sizes) const { return hlo::Shape::array(result.type, sizes); }
  NodeId neutral();
  /// Along these dimensions to the neutral element.
  NodeId partly(NodeId value, std::vector<int64_t> &sizes, const std::vector<int64_t> &along);
  /// Makes `part` elements of a dimension a dimension of their own, after it.
  NodeId cut(NodeId value, std::vector<int64_t> &sizes, int64_t dimension, int64_t part);

  const hlo::Instruction &reduction;
  ReductionKind kind;
  const hlo::Shape &result;
  NodeId first;
  const AddNode &add;
};

} // namespace

NodeId Splitter::neutral() {
  hlo::Instruction made = reduction;
  made.opcode = Opcode::Constant;
  made.literal.clear();
  hlo::appendElement(result.type, neutralOf(kind, result.type), made.literal);
  return add(made, hlo::Shape::scalar(result.type), {});
}

NodeId Splitter::partly(NodeId value, std::vector<int64_t> &sizes, const std::vector<int64_t> &along) {
  hlo::Instruction made = reduction;
  made.dimensions = along;
  std::vector<int64_t> kept;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (std::ranges::find(along, int64_t(i)) == along.end())
      kept.push_back(sizes[i]);
  sizes = kept;
  return add(made, shapeOf(sizes), {value, neutral()});
}

NodeId Splitter::cut(NodeId value, std::vector<int64_t> &sizes, int64_t dimension, int64_t part) {
  int64_t &size = sizes[size_t(dimension)], parts = (size + part - 1) / part;
  if (int64_t missing = parts * part - size) {
    hlo::Instruction pad = reduction;
    pad.opcode = Opcode::Pad;
    pad.padding.assign(sizes.size(), {});
    pad.padding[size_t(dimension)].high = missing;
    size += missing;
    value = add(pad, shapeOf(sizes), {value, neutral()});
  }
  size = parts;
  sizes.insert(sizes.begin() + dimension + 1, part);
  hlo::Instruction reshape = reduction;
  reshape.opcode = Opcode::Reshape;
  return add(reshape, shapeOf(sizes), {value});
}

NodeId Splitter::reduce(NodeId value, std::vector<int64_t> sizes, std::vector<int64_t> reduced) {
  for (;;) {
    int64_t rank = int64_t(sizes.size()), all = 1;
    for (int64_t dimension : reduced)
      all *= sizes[size_t(dimension)];
    size_t last = 0; // dimensions of a row
    while (last < reduced.size() && reduced[reduced.size() - 1 - last] == rank - 1 - int64_t(last))
      ++last;
    bool isRow = last == reduced.size();
    if (all <= (isRow ? largestRow : longColumn)) {
      hlo::Instruction made = reduction;
      made.dimensions = reduced;
      return add(made, result, {value, first});
    }
    int64_t dimension = reduced.back(), size = sizes[size_t(dimension)];
    if (isRow && size > largestRow) {
      value = cut(value, sizes, dimension, partOfRow);
      value = partly(value, sizes, {dimension + 1});
    } else if (last > 0) { // the last dimensions whose elements are at most one row
      std::vector<int64_t> along = {reduced.back()};
      int64_t columns = size;
      reduced.pop_back();
      while (along.size() < last && columns * sizes[size_t(reduced.back())] <= largestRow) {
        columns *= sizes[size_t(reduced.back())];
        along.insert(along.begin(), reduced.back());
        reduced.pop_back();
      }
      value = partly(value, sizes, along);
    } else if (size > longColumn) {
      value = cut(value, sizes, dimension, partOfColumn);
      value = partly(value, sizes, {dimension + 1});
    } else {
      value = partly(value, sizes, {dimension});
      reduced.pop_back();
    }
  }
}

NodeId addReduction(const hlo::Module &module, const hlo::Instruction &reduction, const hlo::Shape &result,
                    const hlo::Shape &from, const std::vector<NodeId> &operands, const AddNode &add) {
  auto kind = hlo::reductionKindOf(module.computation(reduction.calledComputation));
  DType type = result.type;
  // What is narrower is added up in f32, and rounded once.
  bool isNarrow = hlo::isFloating(type) && type != DType::F32 && type != DType::F64;
  bool has16Bits = type == DType::F16 || type == DType::BF16; // which have infinities
  bool isExact = has16Bits && (kind == ReductionKind::Minimum || kind == ReductionKind::Maximum);
  bool isPartOfByte = type != DType::Pred && hlo::bitWidth(type) < 8;
  if (!kind || operands.size() != 2 || from.elementCount() == 0 || (isNarrow && !isExact) || isPartOfByte)
    return add(reduction, result, operands);
  std::vector<int64_t> reduced = reduction.dimensions;
  std::ranges::sort(reduced);
  return Splitter(reduction, *kind, result, operands[1], add).reduce(operands[0], from.dimensions, reduced);
}

} // namespace heddle::program
