// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a linear layout is: its bases, its sizes, the function. Every operation works on words (LayoutMatrix.h).
#include "compiler/layout/LinearLayout.h"
#include "compiler/layout/BitSpan.h"
#include "compiler/layout/LayoutMatrix.h"
#include <fmt/ranges.h>
#include <mutex>

namespace heddle::layout {

Dim tileDim(int axis) {
  if (axis < 0 || axis >= maxTileRank)
    throw internalError(fmt::format("layout: axis {} of a tile of at most {} axes", axis, maxTileRank));
  return Dim(int(Dim::Dim0) + axis);
}

const char *dimName(Dim dim) {
  static const char *const names[] = {"register", "lane",  "warp",  "block", "offset", "dim0",  "dim1",  "dim2",
                                      "dim3",     "dim4",  "dim5",  "dim6",  "dim7",   "dim8",  "dim9",  "dim10",
                                      "dim11",    "dim12", "dim13", "dim14", "dim15",  "dim16", "dim17", "dim18",
                                      "dim19",    "dim20", "dim21", "dim22", "dim23"};
  return names[int(dim)];
}

struct LinearLayout::State {
  Flat flat;
  /// What inputs() gives, made when it is first asked for: most layouts are steps on the way to others.
  mutable std::vector<Input> ins;
  mutable std::once_flag insMade;
};

LinearLayout::LinearLayout() {
  static const std::shared_ptr<const State> unit = std::make_shared<State>();
  state = unit;
}

LinearLayout::LinearLayout(Flat flat) {
  flat.check();
  auto made = std::make_shared<State>();
  made->flat = std::move(flat);
  state = std::move(made);
}

const std::vector<LinearLayout::Input> &LinearLayout::inputs() const {
  std::call_once(state->insMade, [this] {
    auto word = flat().words.begin();
    for (auto [dim, bits] : flat().ins) {
      state->ins.push_back({dim, std::vector<std::vector<int64_t>>(bits)});
      for (std::vector<int64_t> &basis : state->ins.back().bases)
        basis = flat().split(*word++);
    }
  });
  return state->ins;
}

static uint64_t joinFields(const std::vector<int64_t> &basis, const std::vector<LinearLayout::Output> &outs) {
  if (basis.size() != outs.size())
    throw internalError(fmt::format("layout: a basis of {} numbers for {} outputs", basis.size(), outs.size()));
  uint64_t word = 0;
  for (size_t k = outs.size(); k-- > 0;) {
    if (basis[k] < 0 || basis[k] >= outs[k].size)
      throw internalError(
          fmt::format("layout: a basis of {} in '{}' of size {}", basis[k], dimName(outs[k].dim), outs[k].size));
    word = word << bitsOf(outs[k].size, dimName(outs[k].dim)) | uint64_t(basis[k]);
  }
  return word;
}

static std::vector<uint64_t> joinBases(const std::vector<LinearLayout::Input> &inputs,
                                       const std::vector<LinearLayout::Output> &outs) {
  std::vector<uint64_t> words;
  for (const LinearLayout::Input &input : inputs)
    for (const std::vector<int64_t> &basis : input.bases)
      words.push_back(joinFields(basis, outs));
  return words;
}

static std::vector<std::pair<Dim, int>> inputBitsOf(const std::vector<LinearLayout::Input> &inputs) {
  std::vector<std::pair<Dim, int>> bits;
  for (const LinearLayout::Input &input : inputs)
    bits.emplace_back(input.dim, int(input.bases.size()));
  return bits;
}

LinearLayout::LinearLayout(std::vector<Input> inputs, std::vector<Output> outputs)
    : LinearLayout(Flat{inputBitsOf(inputs), outputs, joinBases(inputs, outputs)}) {}

LinearLayout LinearLayout::identity1D(int64_t size, Dim in, Dim out) {
  return strided1D(size, 1, in, out);
}

LinearLayout LinearLayout::strided1D(int64_t size, int64_t stride, Dim in, Dim out) {
  int bits = bitsOf(size, dimName(in)), low = bitsOf(stride, "a stride");
  Flat flat{{{in, bits}}, {{out, size == 1 ? 1 : size * stride}}, {}};
  for (int bit = 0; bit < bits; ++bit)
    flat.words.push_back(uint64_t(1) << (low + bit));
  return LinearLayout(std::move(flat));
}

LinearLayout LinearLayout::zeros1D(int64_t size, Dim in, Dim out, int64_t outSize) {
  int bits = bitsOf(size, dimName(in));
  return LinearLayout(Flat{{{in, bits}}, {{out, outSize}}, std::vector<uint64_t>(bits)});
}

const LinearLayout::Flat &LinearLayout::flat() const {
  return state->flat;
}
const std::vector<LinearLayout::Output> &LinearLayout::outputs() const {
  return flat().outs;
}
bool LinearLayout::hasInput(Dim dim) const {
  return flat().indexOfInput(dim) >= 0;
}
bool LinearLayout::hasOutput(Dim dim) const {
  return flat().indexOfOutput(dim) >= 0;
}
int LinearLayout::inputBits(Dim dim) const {
  return flat().inBits(dim);
}
int64_t LinearLayout::inputSize(Dim dim) const {
  return int64_t(1) << flat().inBits(dim);
}
int64_t LinearLayout::outputSize(Dim dim) const {
  return int64_t(1) << flat().outBits(dim);
}
int LinearLayout::totalInputBits() const {
  return int(flat().words.size());
}
int LinearLayout::totalOutputBits() const {
  return flat().shift(int(flat().outs.size()));
}

int64_t LinearLayout::basis(Dim in, int bit, Dim out) const {
  int input = flat().input(in);
  if (bit < 0 || bit >= flat().ins[input].second)
    throw internalError(
        fmt::format("layout: bit {} of '{}', which has {}", bit, dimName(in), flat().ins[input].second));
  return flat().field(flat().words[flat().start(input) + bit], flat().output(out));
}

int64_t LinearLayout::applyFlat(const Coordinates &place) const {
  uint64_t sum = 0;
  for (auto [dim, value] : place) {
    if (value < 0 || value >= inputSize(dim))
      throw internalError(fmt::format("layout: '{}' is {}, its size {}", dimName(dim), value, inputSize(dim)));
    if (value == 0)
      continue;
    const uint64_t *words = flat().words.data() + flat().start(flat().input(dim));
    for (uint64_t rest = uint64_t(value); rest != 0; rest &= rest - 1)
      sum ^= words[std::countr_zero(rest)];
  }
  return int64_t(sum);
}

std::vector<int64_t> LinearLayout::apply(const Coordinates &place) const {
  return flat().split(uint64_t(applyFlat(place)));
}

static int rankOf(const std::vector<uint64_t> &words) {
  BitSpan span;
  for (uint64_t word : words)
    span.insert(word);
  return span.rank();
}

bool LinearLayout::isSurjective() const {
  return rankOf(flat().words) == totalOutputBits();
}
bool LinearLayout::isInjective() const {
  return rankOf(flat().words) == totalInputBits();
}

uint64_t LinearLayout::freeBits(Dim in) const {
  int index = flat().input(in), start = flat().start(index);
  BitSpan span;
  for (int w = 0; w < start; ++w)
    span.insert(flat().words[w]);
  uint64_t mask = 0;
  for (int bit = 0; bit < flat().ins[index].second; ++bit)
    if (!span.insert(flat().words[start + bit]))
      mask |= uint64_t(1) << bit;
  return mask;
}

int64_t LinearLayout::consecutive() const {
  const Flat &all = flat();
  if (all.ins.empty() || all.outs.empty())
    return 1;
  int run = 0;
  while (run < all.ins[0].second && all.words[run] == uint64_t(1) << run && run < all.outBits(0))
    ++run;
  uint64_t others = 0;
  for (size_t w = run; w < all.words.size(); ++w)
    others |= all.words[w] & lowMask(all.outBits(0));
  return int64_t(1) << std::min(run, others == 0 ? run : std::countr_zero(others));
}

bool LinearLayout::operator==(const LinearLayout &other) const {
  return state == other.state || flat() == other.flat();
}

std::string LinearLayout::toString() const {
  std::string text;
  for (const Input &input : inputs()) {
    if (input.bases.empty())
      text += fmt::format("{} has size 1", dimName(input.dim));
    for (size_t bit = 0; bit < input.bases.size(); ++bit)
      text += fmt::format("{}{}={} -> ({})", bit == 0 ? "" : "; ", dimName(input.dim), uint64_t(1) << bit,
                          fmt::join(input.bases[bit], ", "));
    text += '\n';
  }
  text += "outputs:";
  for (const Output &out : outputs())
    text += fmt::format(" {} ({})", dimName(out.dim), out.size);
  return text + '\n';
}

uint64_t LinearLayout::hash() const {
  uint64_t sum = 0xcbf29ce484222325;
  auto add = [&](uint64_t value) {
    sum = (sum ^ value) * 0x9e3779b97f4a7c15;
    sum ^= sum >> 32;
  };
  add(flat().ins.size());
  for (auto [dim, bits] : flat().ins)
    add(uint64_t(dim) << 8 | uint64_t(bits));
  for (const Output &out : flat().outs) {
    add(uint64_t(out.dim));
    add(uint64_t(out.size));
  }
  for (uint64_t word : flat().words)
    add(word);
  return sum;
}

} // namespace heddle::layout
