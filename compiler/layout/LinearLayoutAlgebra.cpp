// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Composition of linear layouts, and equations between them: inverses, conversions, quotients.
#include "compiler/layout/BitSpan.h"
#include "compiler/layout/LayoutMatrix.h"
#include <algorithm>
#include <numeric>

namespace heddle::layout {

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

} // namespace heddle::layout
