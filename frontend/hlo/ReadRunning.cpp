// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A reduce-window that is a running reduction is read as a loop of log2(n) steps, each of which combines every element
// with the one a power of two before it (Hillis and Steele, "Data parallel algorithms").
#include "frontend/hlo/Literal.h"
#include "frontend/hlo/Matrices.h"
#include "frontend/hlo/Running.h"
#include <algorithm>
#include <utility>

namespace heddle::hlo {

// All elements are taken, only those within the row count.
int InstructionParser::Running::shifted(InstructionParser &inner, int value, int numbers) {
  std::vector<int64_t> sizes = inner.shapeOf(value).dimensions;
  Instruction gather;
  gather.opcode = Opcode::Gather;
  gather.operands = {value, numbers};
  gather.gather.collapsed = gather.gather.startIndexMap = {dimension};
  gather.gather.indexVectorDim = 1;
  for (int64_t i = 0; i < int64_t(sizes.size()); ++i)
    if (i != dimension)
      gather.gather.offsets.push_back(i);
  gather.gather.sliceSizes = sizes;
  gather.gather.sliceSizes[size_t(dimension)] = 1;
  return inner.append(std::move(gather), at);
}

std::vector<int> InstructionParser::Running::combine(InstructionParser &inner, const std::vector<int> &left,
                                                     const std::vector<int> &right) {
  if (isWide)
    return {inner.apply(region.rootInstruction().opcode, {left[0], right[0]}, at)};
  std::vector<int> arguments = left;
  arguments.insert(arguments.end(), right.begin(), right.end());
  return inner.applyToArrays(region, arguments, at);
}

std::vector<int> InstructionParser::Running::select(InstructionParser &inner, int which, const std::vector<int> &values,
                                                    const std::vector<int> &others) {
  std::vector<int> chosen;
  for (size_t i = 0; i < values.size(); ++i)
    chosen.push_back(inner.apply(Opcode::Select, {which, values[i], others[i]}, at));
  return chosen;
}

std::vector<int> InstructionParser::Running::scan(const std::vector<int> &values) {
  std::vector<int64_t> sizes = parser.shapeOf(values[0]).dimensions, row = {sizes[size_t(dimension)]};
  auto step = [&](Matrices &m, int number, const std::vector<int> &state) {
    int distance = m.join(Opcode::ShiftLeft, m.index(1), number), here = m.parser.iota(row, 0, at);
    int from = m.join(isBackward ? Opcode::Add : Opcode::Subtract, here, m.spread(distance, row));
    int end = isBackward ? m.join(Opcode::Subtract, m.index(row[0]), distance) : distance;
    int isInside =
        m.compare(here, isBackward ? CompareDirection::Less : CompareDirection::GreaterOrEqual, m.spread(end, row));
    std::vector<int> others;
    for (int value : state)
      others.push_back(shifted(m.parser, value, from));
    std::vector<int> combined = isBackward ? combine(m.parser, state, others) : combine(m.parser, others, state);
    return select(m.parser, m.parser.broadcast(isInside, {dimension}, sizes, at), combined, state);
  };
  int64_t steps = 0;
  while (int64_t(1) << steps < row[0])
    ++steps;
  return Matrices{parser, at}.loop(values, steps, step);
}

// One more initial value is the same for what keeps one of its operands, and for 0 and 1.
bool InstructionParser::Running::isNeutral(int initial) const {
  auto kind = reductionKindOf(region);
  if (!kind)
    return false;
  if (*kind != ReductionKind::Add && *kind != ReductionKind::Multiply)
    return true;
  const Instruction &constant = parser.computation.instructions[size_t(initial)];
  std::string neutral;
  if (constant.opcode != Opcode::Constant || isComplex(constant.shape.type))
    return false;
  appendElement(constant.shape.type, *kind == ReductionKind::Add ? "0" : "1", neutral);
  return constant.literal == neutral;
}

std::vector<int> InstructionParser::Running::reduce(std::vector<int> values, std::vector<int> initial) {
  bool hasOnlyNeutral = std::ranges::all_of(initial, [&](int value) { return isNeutral(value); });
  DType type = parser.shapeOf(values[0]).type;
  if (isWide) {
    values = {parser.convert(values[0], DType::F32, at)};
    initial = {parser.convert(initial[0], DType::F32, at)};
  }
  std::vector<int64_t> sizes = parser.shapeOf(values[0]).dimensions, row = {sizes[size_t(dimension)]};
  auto everywhere = [&](const std::vector<int> &scalars, const std::vector<int64_t> &dimensions,
                        const std::vector<int64_t> &filled) {
    std::vector<int> made;
    for (int scalar : scalars)
      made.push_back(parser.broadcast(scalar, dimensions, filled, at));
    return made;
  };
  values = combine(parser, everywhere(initial, {}, sizes), scan(values));
  if (!hasOnlyNeutral) { // the initial values beyond the ends count too: one fewer with each element
    std::vector<int> beyond = Running{parser, at, region, 0, false, isWide}.scan(everywhere(initial, {}, row));
    Running ofRow{parser, at, region, 0, isBackward, isWide};
    int here = parser.iota(row, 0, at), one = parser.broadcast(parser.number(1, DType::S32, at), {}, row, at);
    int last = parser.broadcast(parser.number(row[0] - 2, DType::S32, at), {}, row, at);
    int numbers =
        parser.apply(Opcode::Subtract, isBackward ? std::vector<int>{here, one} : std::vector<int>{last, here}, at);
    for (int &value : beyond)
      value = ofRow.shifted(parser, value, numbers);
    beyond = everywhere(beyond, {dimension}, sizes);
    int isBeyond = parser.compare(here, isBackward ? CompareDirection::Greater : CompareDirection::LessOrEqual,
                                  isBackward ? parser.apply(Opcode::Subtract, {one, one}, at) : last, at);
    values = select(parser, parser.broadcast(isBeyond, {dimension}, sizes, at),
                    isBackward ? combine(parser, values, beyond) : combine(parser, beyond, values), values);
  }
  return isWide ? std::vector<int>{parser.convert(values[0], type, at)} : values;
}

} // namespace heddle::hlo
