// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products, parts and other names of linear layouts: operations that move words and fields, and solve nothing.
#include "compiler/layout/LayoutMatrix.h"
#include <algorithm>

namespace heddle::layout {

/// One order that has both of these as subsequences; what is free goes by the first.
static std::vector<Dim> mergeOrders(const std::vector<Dim> &first, const std::vector<Dim> &second) {
  if (first == second)
    return first;
  std::vector<Dim> merged;
  auto a = first.begin();
  auto b = second.begin();
  auto contradiction = [](Dim dim) {
    return internalError(fmt::format("layout: the orders of two layouts contradict each other at '{}'", dimName(dim)));
  };
  while (a != first.end()) {
    auto inSecond = std::find(second.begin(), second.end(), *a);
    if (inSecond < b)
      throw contradiction(*a);
    while (inSecond != second.end() && b != inSecond) {
      if (std::find(a, first.end(), *b) != first.end())
        throw contradiction(*b);
      merged.push_back(*b++);
    }
    merged.push_back(*a++);
    if (inSecond != second.end())
      b = inSecond + 1;
  }
  merged.insert(merged.end(), b, second.end());
  return merged;
}

LinearLayout LinearLayout::operator*(const LinearLayout &other) const {
  if (flat().ins.empty() && flat().outs.empty())
    return other;
  const Flat &left = flat(), &right = other.flat();
  auto dimsOf = [](const auto &list, auto dimOf) {
    std::vector<Dim> dims;
    for (const auto &each : list)
      dims.push_back(dimOf(each));
    return dims;
  };
  auto inDim = [](const std::pair<Dim, int> &in) { return in.first; };
  auto outDim = [](const Output &out) { return out.dim; };
  Flat product;
  Placement moveLeft, moveRight;
  int shift = 0;
  for (Dim dim : mergeOrders(dimsOf(left.outs, outDim), dimsOf(right.outs, outDim))) {
    int low = left.outBits(dim), high = right.outBits(dim);
    if (int index = left.indexOfOutput(dim); index >= 0)
      moveLeft.moves.push_back({left.shift(index), low, shift});
    if (int index = right.indexOfOutput(dim); index >= 0)
      moveRight.moves.push_back({right.shift(index), high, shift + low});
    shift += low + high;
    product.outs.push_back({dim, int64_t(1) << (low + high)});
  }
  for (Dim dim : mergeOrders(dimsOf(left.ins, inDim), dimsOf(right.ins, inDim))) {
    int low = left.inBits(dim), high = right.inBits(dim);
    product.ins.emplace_back(dim, low + high);
    for (int bit = 0; bit < low; ++bit)
      product.words.push_back(moveLeft(left.words[left.start(left.input(dim)) + bit]));
    for (int bit = 0; bit < high; ++bit)
      product.words.push_back(moveRight(right.words[right.start(right.input(dim)) + bit]));
  }
  return LinearLayout(std::move(product));
}

LinearLayout LinearLayout::sublayout(const std::vector<Dim> &inputs, const std::vector<Dim> &outputs) const {
  for (Dim dim : inputs)
    flat().input(dim);
  for (Dim dim : outputs)
    flat().output(dim);
  Flat part;
  Placement move;
  int shift = 0;
  for (size_t k = 0; k < flat().outs.size(); ++k)
    if (const Output &out = flat().outs[k]; std::find(outputs.begin(), outputs.end(), out.dim) != outputs.end()) {
      move.moves.push_back({flat().shift(int(k)), flat().outBits(int(k)), shift});
      shift += flat().outBits(int(k));
      part.outs.push_back(out);
    }
  for (size_t i = 0; i < flat().ins.size(); ++i)
    if (auto [dim, bits] = flat().ins[i]; std::find(inputs.begin(), inputs.end(), dim) != inputs.end()) {
      part.ins.emplace_back(dim, bits);
      for (int bit = 0; bit < bits; ++bit)
        part.words.push_back(move(flat().words[flat().start(int(i)) + bit]));
    }
  return LinearLayout(std::move(part));
}

bool LinearLayout::sublayoutIsZero(const std::vector<Dim> &inputs, const std::vector<Dim> &outputs) const {
  uint64_t mask = 0;
  for (Dim dim : outputs) {
    int index = flat().output(dim);
    mask |= lowMask(flat().outBits(index)) << flat().shift(index);
  }
  for (Dim dim : inputs) {
    int index = flat().input(dim);
    for (int bit = 0; bit < flat().ins[index].second; ++bit)
      if (flat().words[flat().start(index) + bit] & mask)
        return false;
  }
  return true;
}

static void checkOrder(size_t given, size_t there) {
  if (given != there)
    throw internalError(fmt::format("layout: an order of {} dimensions for {}", given, there));
}

LinearLayout LinearLayout::transposeInputs(const std::vector<Dim> &order) const {
  checkOrder(order.size(), flat().ins.size());
  Flat moved{{}, flat().outs, {}};
  for (Dim dim : order) {
    int index = flat().input(dim), start = flat().start(index), bits = flat().ins[index].second;
    moved.ins.emplace_back(dim, bits);
    moved.words.insert(moved.words.end(), flat().words.begin() + start, flat().words.begin() + start + bits);
  }
  return LinearLayout(std::move(moved));
}

LinearLayout LinearLayout::transposeOutputs(const std::vector<Dim> &order) const {
  checkOrder(order.size(), flat().outs.size());
  if (std::equal(order.begin(), order.end(), flat().outs.begin(),
                 [](Dim dim, const Output &out) { return dim == out.dim; }))
    return *this;
  Flat moved{flat().ins, {}, {}};
  Placement move;
  int shift = 0;
  for (Dim dim : order) {
    int index = flat().output(dim);
    move.moves.push_back({flat().shift(index), flat().outBits(index), shift});
    shift += flat().outBits(index);
    moved.outs.push_back(flat().outs[index]);
  }
  for (uint64_t word : flat().words)
    moved.words.push_back(move(word));
  return LinearLayout(std::move(moved));
}

LinearLayout LinearLayout::reshapeInputs(const std::vector<std::pair<Dim, int64_t>> &sizes) const {
  Flat shaped{{}, flat().outs, flat().words};
  for (auto [dim, size] : sizes)
    shaped.ins.emplace_back(dim, bitsOf(size, dimName(dim)));
  return LinearLayout(std::move(shaped));
}

LinearLayout LinearLayout::reshapeOutputs(const std::vector<Output> &sizes) const {
  int bits = 0;
  for (const Output &out : sizes)
    bits += bitsOf(out.size, dimName(out.dim));
  if (bits != totalOutputBits())
    throw internalError(fmt::format("layout: outputs of {} bits in a shape of {}", totalOutputBits(), bits));
  return LinearLayout(Flat{flat().ins, sizes, flat().words});
}

LinearLayout LinearLayout::renameInput(Dim from, Dim to) const {
  Flat renamed = flat();
  renamed.ins[renamed.input(from)].first = to;
  return LinearLayout(std::move(renamed));
}

LinearLayout LinearLayout::renameOutput(Dim from, Dim to) const {
  Flat renamed = flat();
  renamed.outs[renamed.output(from)].dim = to;
  return LinearLayout(std::move(renamed));
}

LinearLayout LinearLayout::removeInputBits(Dim in, uint64_t bits) const {
  if (bits == 0 && hasInput(in))
    return *this;
  Flat rest = flat();
  int index = rest.input(in), start = rest.start(index);
  if (bits >> rest.ins[index].second)
    throw internalError(
        fmt::format("layout: bits {:#x} of '{}', which has {}", bits, dimName(in), rest.ins[index].second));
  for (; bits != 0; bits &= ~std::bit_floor(bits)) {
    rest.words.erase(rest.words.begin() + start + std::bit_width(bits) - 1);
    --rest.ins[index].second;
  }
  return LinearLayout(std::move(rest));
}

LinearLayout LinearLayout::removeZeroBases(Dim in) const {
  int index = flat().input(in);
  uint64_t zero = 0;
  for (int bit = 0; bit < flat().ins[index].second; ++bit)
    if (flat().words[flat().start(index) + bit] == 0)
      zero |= uint64_t(1) << bit;
  return removeInputBits(in, zero);
}

} // namespace heddle::layout
