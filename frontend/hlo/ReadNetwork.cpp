// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Long rows are ordered by a bitonic network (Batcher, "Sorting networks and their applications"): a loop of
// log2(n) (log2(n) + 1) / 2 steps, each of which compares every element with one other. What it moves is the numbers of
// the elements, which also decide where the keys are equal; to move the keys too takes longer.
#include "frontend/hlo/Matrices.h"
#include "frontend/hlo/SortOrder.h"
#include <algorithm>
#include <bit>
#include <utility>

namespace heddle::hlo {

namespace {

/// Of each step what an element's number and its partner's differ by, as an exclusive or. The first step of a merge
/// compares the first with the last, and so on, so that in all steps the element that comes first goes to the lower
/// number: a partner beyond the end of the row would come last, and needs no element.
std::vector<int64_t> masksOf(int64_t size) {
  std::vector<int64_t> masks;
  for (int64_t merged = 2; merged < 2 * size; merged *= 2) {
    masks.push_back(merged - 1);
    for (int64_t distance = merged / 4; distance > 0; distance /= 2)
      masks.push_back(distance);
  }
  return masks;
}

} // namespace

int InstructionParser::SortOrder::step(InstructionParser &inner, const std::vector<int> &state, int mask,
                                       bool hasPadding) {
  std::vector<int64_t> sizes = inner.shapeOf(state[0]).dimensions;
  auto join = [&](Opcode opcode, int left, int right) { return inner.apply(opcode, {left, right}, at); };
  auto everywhere = [&](int scalar) { return inner.broadcast(scalar, {}, sizes, at); };
  int here = inner.iota(sizes, 2, at), other = join(Opcode::Xor, here, everywhere(mask));
  if (!std::has_single_bit(uint64_t(sizes[2]))) { // without a partner an element stays where it is
    int end = everywhere(inner.number(sizes[2], DType::S32, at));
    other = inner.apply(Opcode::Select, {inner.compare(other, CompareDirection::Less, end, at), other, here}, at);
  }
  int partner = inner.take(state[0], other, at);
  int earlier = join(Opcode::Minimum, state[0], partner), later = join(Opcode::Maximum, state[0], partner);
  std::vector<int> left, right;
  for (size_t i = 1; i < state.size(); ++i) {
    left.push_back(inner.take(state[i], later, at));
    right.push_back(inner.take(state[i], earlier, at));
  }
  int swaps = comesBefore(inner, left, right);
  if (hasPadding) {
    int end = everywhere(inner.number(inner.shapeOf(state[1]).dimensions[1], DType::S32, at));
    swaps = join(Opcode::And, swaps, inner.compare(later, CompareDirection::Less, end, at));
  }
  int isLower = inner.compare(here, CompareDirection::Less, other, at);
  return inner.apply(Opcode::Select, {join(Opcode::Xor, swaps, isLower), earlier, later}, at);
}

int InstructionParser::SortOrder::sorted(int order, bool hasPadding) {
  std::vector<int64_t> masks = masksOf(parser.shapeOf(order).dimensions[2]);
  std::vector<int> start = {order};
  start.insert(start.end(), keys.begin(), keys.end());
  auto advance = [&](Matrices &m, int number, std::vector<int> state) {
    Instruction slice;
    slice.opcode = Opcode::DynamicSlice;
    slice.operands = {m.parser.constant(masks, at), number};
    slice.dynamicSliceSizes = {1};
    int mask = m.parser.convert(m.parser.append(std::move(slice), at), DType::S32, at);
    state[0] = step(m.parser, state, m.parser.reshape(mask, {}, at), hasPadding);
    return state;
  };
  return Matrices{parser, at}.loop(start, int64_t(masks.size()), advance)[0];
}

// Of few elements each part of a row gives its first ones, and so on with what they give.
int InstructionParser::SortOrder::byNetwork(int64_t count) {
  std::vector<int64_t> sizes = parser.shapeOf(keys[0]).dimensions;
  int64_t batch = sizes[0], all = sizes[1], left = all,
          part = std::max<int64_t>(16, int64_t(std::bit_ceil(4 * uint64_t(count))));
  int order = parser.iota({batch, 1, all}, 2, at);
  bool hasPadding = false;
  while (left > 8 * part) {
    int64_t parts = (left + part - 1) / part;
    Instruction pad, slice;
    pad.opcode = Opcode::Pad;
    pad.operands = {parser.reshape(order, {batch, left}, at), parser.number(all, DType::S32, at)};
    pad.padding = {{}, {0, parts * part - left, 0}};
    hasPadding |= parts * part > left;
    slice.opcode = Opcode::Slice;
    slice.operands = {sorted(parser.reshape(parser.append(std::move(pad), at), {batch, parts, part}, at), hasPadding)};
    slice.slice = {{0, 0, 0}, {batch, parts, count}, {1, 1, 1}};
    left = parts * count;
    order = parser.reshape(parser.append(std::move(slice), at), {batch, 1, left}, at);
  }
  return parser.reshape(sorted(order, hasPadding), {batch, left}, at);
}

} // namespace heddle::hlo
