// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Linear layouts as matrices over F2: one word for each bit of the inputs, in which the outputs lie side by side, the
// first in the low bits. Every operation works on these words.
#include "compiler/layout/LinearLayout.h"
#include "compiler/layout/BitSpan.h"
#include "support/Error.h"
#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mutex>
#include <numeric>

namespace heddle::layout {

static int bitsOf(int64_t size, const char *what) {
  if (size <= 0 || !std::has_single_bit(uint64_t(size)))
    throw internalError(fmt::format("layout: {} is {}, not a power of two", what, size));
  return std::countr_zero(uint64_t(size));
}

static uint64_t lowMask(int bits) {
  return (uint64_t(1) << bits) - 1;
}

Dim tileDim(int axis) {
  if (axis < 0 || axis >= maxTileRank)
    throw internalError(fmt::format("layout: axis {} of a tile of at most {} axes", axis, maxTileRank));
  return Dim(int(Dim::Dim0) + axis);
}

const char *dimName(Dim dim) {
  static const char *const names[] = {"register", "lane", "warp", "block", "offset", "dim0", "dim1",  "dim2", "dim3",
                                      "dim4",     "dim5", "dim6", "dim7",  "dim8",   "dim9", "dim10", "dim11"};
  return names[int(dim)];
}

struct LinearLayout::Flat {
  std::vector<std::pair<Dim, int>> ins; ///< with bits
  std::vector<Output> outs;
  std::vector<uint64_t> words; ///< for each bit of each input in order

  bool operator==(const Flat &) const = default;

  int indexOfInput(Dim dim) const {
    for (size_t i = 0; i < ins.size(); ++i)
      if (ins[i].first == dim)
        return int(i);
    return -1;
  }
  int indexOfOutput(Dim dim) const {
    for (size_t i = 0; i < outs.size(); ++i)
      if (outs[i].dim == dim)
        return int(i);
    return -1;
  }
  int input(Dim dim) const {
    int index = indexOfInput(dim);
    if (index < 0)
      throw internalError(fmt::format("layout: no input '{}'", dimName(dim)));
    return index;
  }
  int output(Dim dim) const {
    int index = indexOfOutput(dim);
    if (index < 0)
      throw internalError(fmt::format("layout: no output '{}'", dimName(dim)));
    return index;
  }
  int inBits(Dim dim) const { return indexOfInput(dim) < 0 ? 0 : ins[indexOfInput(dim)].second; }
  int outBits(int index) const { return std::countr_zero(uint64_t(outs[index].size)); }
  int outBits(Dim dim) const { return indexOfOutput(dim) < 0 ? 0 : outBits(indexOfOutput(dim)); }
  /// Where the bits of the index-th input begin among the words.
  int start(int index) const {
    int sum = 0;
    for (int i = 0; i < index; ++i)
      sum += ins[i].second;
    return sum;
  }
  /// Where the index-th output begins within a word.
  int shift(int index) const {
    int sum = 0;
    for (int i = 0; i < index; ++i)
      sum += outBits(i);
    return sum;
  }
  /// The outputs of a word.
  std::vector<int64_t> split(uint64_t word) const {
    std::vector<int64_t> values;
    values.reserve(outs.size());
    for (size_t k = 0; k < outs.size(); word >>= outBits(int(k)), ++k)
      values.push_back(int64_t(word & lowMask(outBits(int(k)))));
    return values;
  }
  int64_t field(uint64_t word, int index) const { return int64_t(word >> shift(index) & lowMask(outBits(index))); }

  /// The words in the fields of another layout with the same outputs in the same order, of at least these sizes.
  std::vector<uint64_t> wordsIn(const Flat &wider) const;

  void check() const {
    size_t bits = 0;
    for (size_t i = 0; i < ins.size(); ++i) {
      bits += ins[i].second;
      if (indexOfInput(ins[i].first) != int(i))
        throw internalError(fmt::format("layout: input '{}' twice", dimName(ins[i].first)));
    }
    for (size_t i = 0; i < outs.size(); ++i) {
      bitsOf(outs[i].size, dimName(outs[i].dim));
      if (indexOfOutput(outs[i].dim) != int(i))
        throw internalError(fmt::format("layout: output '{}' twice", dimName(outs[i].dim)));
    }
    if (bits != words.size() || bits > 63 || shift(int(outs.size())) > 63)
      throw internalError(fmt::format("layout: {} input bits with {} bases, {} output bits", bits, words.size(),
                                      shift(int(outs.size()))));
  }
};

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

namespace {
/// A word with its fields moved to other places; fields that no move names are dropped.
struct Placement {
  struct Move {
    int from, bits, to;
  };
  std::vector<Move> moves;

  uint64_t operator()(uint64_t word) const {
    uint64_t moved = 0;
    for (const Move &move : moves)
      moved |= (word >> move.from & lowMask(move.bits)) << move.to;
    return moved;
  }
};
} // namespace

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

LinearLayout LinearLayout::compose(const LinearLayout &outer) const {
  const Flat &inner = flat(), &then = outer.flat();
  for (auto [dim, bits] : then.ins)
    if (inner.indexOfOutput(dim) < 0 && bits > 0)
      throw internalError(fmt::format("layout: compose: nothing gives '{}'", dimName(dim)));
  // Where each output bit of the inner layout stands among the words of the outer.
  std::vector<uint64_t> wordOfBit;
  for (size_t k = 0; k < inner.outs.size(); ++k) {
    int bits = inner.outBits(int(k)), index = then.indexOfInput(inner.outs[k].dim);
    if (bits > then.inBits(inner.outs[k].dim))
      throw internalError(fmt::format("layout: compose: '{}' has {} bits before {}", dimName(inner.outs[k].dim), bits,
                                      then.inBits(inner.outs[k].dim)));
    for (int bit = 0; bit < bits; ++bit)
      wordOfBit.push_back(then.words[then.start(index) + bit]);
  }
  Flat composed{inner.ins, then.outs, {}};
  for (uint64_t word : inner.words) {
    uint64_t sum = 0;
    for (; word != 0; word &= word - 1)
      sum ^= wordOfBit[std::countr_zero(word)];
    composed.words.push_back(sum);
  }
  return LinearLayout(std::move(composed));
}

LinearLayout LinearLayout::pseudoinvert() const {
  BitSpan span;
  for (size_t i = 0; i < flat().words.size(); ++i)
    span.insert(flat().words[i], uint64_t(1) << i);
  Flat inverse;
  for (size_t k = 0; k < flat().outs.size(); ++k)
    inverse.ins.emplace_back(flat().outs[k].dim, flat().outBits(int(k)));
  for (auto [dim, bits] : flat().ins)
    inverse.outs.push_back({dim, int64_t(1) << bits});
  for (int bit = 0; bit < totalOutputBits(); ++bit) {
    std::optional<uint64_t> place = span.combination(uint64_t(1) << bit);
    if (!place)
      throw internalError("layout: pseudoinvert of a layout that is not surjective:\n" + toString());
    inverse.words.push_back(*place);
  }
  return LinearLayout(std::move(inverse));
}

std::vector<uint64_t> LinearLayout::Flat::wordsIn(const Flat &wider) const {
  Placement widen;
  for (size_t k = 0; k < outs.size(); ++k) {
    if (outBits(int(k)) > wider.outBits(int(k)))
      throw internalError(fmt::format("layout: invertAndCompose: '{}' has {} bits, the other layout {}",
                                      dimName(outs[k].dim), outBits(int(k)), wider.outBits(int(k))));
    widen.moves.push_back({shift(int(k)), outBits(int(k)), wider.shift(int(k))});
  }
  std::vector<uint64_t> widened;
  for (uint64_t word : words)
    widened.push_back(widen(word));
  return widened;
}

LinearLayout LinearLayout::invertAndCompose(const LinearLayout &other) const {
  std::vector<Dim> order;
  for (const Output &out : flat().outs)
    order.push_back(out.dim);
  LinearLayout aligned = other.transposeOutputs(order);
  const Flat &here = flat(), &there = aligned.flat();
  std::vector<uint64_t> wanted = here.wordsIn(there);

  uint64_t kept = 0;                           // words of the other layout whose dimension maps to itself
  std::vector<int> partner(wanted.size(), -1); // for each word here of such a dimension, its word there
  for (size_t i = 0; i < here.ins.size(); ++i) {
    auto [dim, bits] = here.ins[i];
    int j = there.indexOfInput(dim), start = here.start(int(i));
    if (j < 0 || there.ins[j].second != bits ||
        !std::equal(wanted.begin() + start, wanted.begin() + start + bits, there.words.begin() + there.start(j)))
      continue;
    std::iota(partner.begin() + start, partner.begin() + start + bits, there.start(j));
    kept |= lowMask(bits) << there.start(j);
  }
  // What maps to itself serves the rest only where nothing else does, so that its image stays its own.
  BitSpan span;
  for (bool last : {false, true})
    for (size_t w = 0; w < there.words.size(); ++w)
      if (bool(kept >> w & 1) == last)
        span.insert(there.words[w], uint64_t(1) << w);

  Flat conversion{here.ins, {}, {}};
  for (auto [dim, bits] : there.ins)
    conversion.outs.push_back({dim, int64_t(1) << bits});
  for (size_t w = 0; w < wanted.size(); ++w) {
    auto place = partner[w] >= 0 ? std::optional(uint64_t(1) << partner[w]) : span.combination(wanted[w]);
    if (!place)
      throw internalError("layout: invertAndCompose: the other layout does not reach what this one does:\n" +
                          toString() + other.toString());
    conversion.words.push_back(*place);
  }
  return LinearLayout(std::move(conversion));
}

namespace {
/// The outputs of a product: in each, one factor has the low bits and the other the high ones.
struct FactorFields {
  struct Field {
    int wholeShift, wholeBits, partShift, partBits; ///< part: the known factor
  };
  std::vector<Field> fields;
  bool partIsLow;

  /// The known factor's word at its place in the whole.
  uint64_t spread(uint64_t word) const {
    uint64_t whole = 0;
    for (const Field &f : fields)
      whole |= (word >> f.partShift & lowMask(f.partBits))
               << (f.wholeShift + (partIsLow ? 0 : f.wholeBits - f.partBits));
    return whole;
  }
  /// The word of the other factor; nothing when the whole's word reaches into the known factor's bits.
  std::optional<uint64_t> rest(uint64_t whole) const {
    uint64_t word = 0;
    int shift = 0;
    for (const Field &f : fields) {
      uint64_t value = whole >> f.wholeShift & lowMask(f.wholeBits);
      int restBits = f.wholeBits - f.partBits;
      if ((partIsLow ? value & lowMask(f.partBits) : value >> restBits) != 0)
        return std::nullopt;
      word |= (partIsLow ? value >> f.partBits : value) << shift;
      shift += restBits;
    }
    return word;
  }
};
} // namespace

/// Whether the indices, in this order, are of dimensions that exist and are in order.
static bool ascending(const std::vector<int> &indices) {
  return std::is_sorted(indices.begin(), indices.end()) && (indices.empty() || indices.front() >= 0);
}

std::optional<LinearLayout> LinearLayout::divide(const LinearLayout &factor, bool factorIsLeft) const {
  const Flat &whole = flat(), &part = factor.flat();
  std::vector<int> ins, outs;
  for (auto [dim, bits] : part.ins)
    ins.push_back(bits <= whole.inBits(dim) ? whole.indexOfInput(dim) : -1);
  for (size_t k = 0; k < part.outs.size(); ++k)
    outs.push_back(part.outBits(int(k)) <= whole.outBits(part.outs[k].dim) ? whole.indexOfOutput(part.outs[k].dim)
                                                                           : -1);
  if (!ascending(ins) || !ascending(outs))
    return std::nullopt;

  Flat quotient;
  FactorFields split{{}, factorIsLeft};
  for (size_t k = 0; k < whole.outs.size(); ++k) {
    int index = part.indexOfOutput(whole.outs[k].dim), bits = index < 0 ? 0 : part.outBits(index);
    split.fields.push_back({whole.shift(int(k)), whole.outBits(int(k)), index < 0 ? 0 : part.shift(index), bits});
    quotient.outs.push_back({whole.outs[k].dim, whole.outs[k].size >> bits});
  }
  for (size_t i = 0; i < whole.ins.size(); ++i) {
    auto [dim, bits] = whole.ins[i];
    int partBits = part.inBits(dim), restBits = bits - partBits;
    auto words = whole.words.begin() + whole.start(int(i));
    auto partWords = words + (factorIsLeft ? 0 : restBits), restWords = words + (factorIsLeft ? partBits : 0);
    for (int bit = 0; bit < partBits; ++bit)
      if (partWords[bit] != split.spread(part.words[part.start(part.indexOfInput(dim)) + bit]))
        return std::nullopt;
    quotient.ins.emplace_back(dim, restBits);
    for (int bit = 0; bit < restBits; ++bit) {
      std::optional<uint64_t> word = split.rest(restWords[bit]);
      if (!word)
        return std::nullopt;
      quotient.words.push_back(*word);
    }
  }
  return LinearLayout(std::move(quotient));
}

bool LinearLayout::isIdentityOver(const std::vector<Dim> &dims) const {
  const Flat &all = flat();
  uint64_t fields = 0; // the bits of these outputs
  for (Dim dim : dims) {
    if (all.inBits(dim) != all.outBits(dim))
      return false;
    if (int index = all.indexOfOutput(dim); index >= 0)
      fields |= lowMask(all.outBits(index)) << all.shift(index);
  }
  size_t w = 0;
  for (auto [dim, bits] : all.ins) {
    bool inside = bits > 0 && std::find(dims.begin(), dims.end(), dim) != dims.end();
    for (int bit = 0; bit < bits; ++bit, ++w)
      if (inside ? all.words[w] != uint64_t(1) << (all.shift(all.indexOfOutput(dim)) + bit)
                 : (all.words[w] & fields) != 0)
        return false;
  }
  return true;
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
