// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scratch without bank conflicts. An offset is vector | bank | segment, minor to major. Two lanes of one transaction
// collide iff the difference of their elements has no bank part but a segment part; so the segment's vectors are chosen
// outside of what the lanes of either side span.
#include "compiler/layout/Swizzle.h"
#include "compiler/layout/BitSpan.h"
#include "support/Error.h"
#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace heddle::layout {

using Vectors = std::vector<uint64_t>; ///< elements of the tile, by flat index

static int log2Of(int64_t size) {
  return std::bit_width(uint64_t(size)) - 1;
}

/// The bases of one input that are independent of each other.
static Vectors basesOf(const LinearLayout &flat, Dim in) {
  Vectors bases;
  BitSpan span;
  for (int bit = 0; bit < flat.inputBits(in); ++bit)
    if (uint64_t word = uint64_t(flat.basis(in, bit, Dim::Dim0)); span.insert(word))
      bases.push_back(word);
  return bases;
}

/// A basis of what both span; of `second` where its vectors lie in the first. Both are independent.
static Vectors intersection(const Vectors &first, const Vectors &second) {
  BitSpan span;
  for (size_t i = 0; i < first.size(); ++i)
    span.insert(first[i], uint64_t(1) << i);
  Vectors common;
  for (uint64_t vector : second) {
    std::optional<uint64_t> name = span.combination(vector);
    if (!name) {
      span.insert(vector);
      continue;
    }
    uint64_t sum = 0;
    for (; *name != 0; *name &= *name - 1)
      sum ^= first[std::countr_zero(*name)];
    common.push_back(sum);
  }
  return common;
}

/// Those of the vectors, in this order, that are independent of the span and of each other; the span takes them in.
static Vectors independentOf(BitSpan &span, const Vectors &vectors, size_t atMost = 64) {
  Vectors chosen;
  for (uint64_t vector : vectors)
    if (chosen.size() < atMost && span.insert(vector))
      chosen.push_back(vector);
  return chosen;
}

static BitSpan spanOf(std::initializer_list<const Vectors *> lists) {
  BitSpan span;
  for (const Vectors *list : lists)
    for (uint64_t vector : *list)
      span.insert(vector);
  return span;
}

static void append(Vectors &to, const Vectors &more) {
  to.insert(to.end(), more.begin(), more.end());
}

namespace {
/// What one register layout gives the search.
struct Side {
  explicit Side(const LinearLayout &layout)
      : flat(layout.flattenOutputs(Dim::Dim0)), registers(basesOf(flat, Dim::Register)),
        warps(basesOf(flat, Dim::Warp)) {}

  /// What the lanes of one transaction span.
  Vectors lanes(int transactionLaneBits) const {
    Vectors bases;
    for (int bit = 0; bit < std::min(transactionLaneBits, flat.inputBits(Dim::Lane)); ++bit)
      bases.push_back(uint64_t(flat.basis(Dim::Lane, bit, Dim::Dim0)));
    BitSpan none;
    return independentOf(none, bases);
  }

  LinearLayout flat;
  Vectors registers, warps;
};

struct Search {
  const Side &from, &to;
  int elementBits, banks;
  int tileBits = from.flat.totalOutputBits();
  Vectors common = intersection(from.registers, to.registers);

  Vectors unitVectors() const {
    Vectors units;
    for (int bit = 0; bit < tileBits; ++bit)
      units.push_back(uint64_t(1) << bit);
    return units;
  }

  /// To fill a word of a bank when the common registers do not: what is in registers on one side and in warps on the
  /// other, then what warps have, so that no lanes of one transaction share a word; then registers. The word must be
  /// full: lanes that differ within it do not collide, but they could if the bank part filled it.
  Vectors fillers() const {
    Vectors wide = intersection(from.registers, to.warps), other = intersection(to.registers, from.warps);
    auto smallest = [](const Vectors &vectors) { return *std::min_element(vectors.begin(), vectors.end()); };
    if (other.size() > wide.size() ||
        (!wide.empty() && other.size() == wide.size() && smallest(other) < smallest(wide)))
      wide = other;
    append(wide, intersection(from.warps, to.warps));
    for (size_t i = 0; i < std::max(from.warps.size(), to.warps.size()); ++i)
      for (const Side *side : {&from, &to})
        if (i < side->warps.size())
          wide.push_back(side->warps[i]);
    append(wide, from.registers);
    append(wide, to.registers);
    return wide;
  }

  /// Vectors outside of what either side's lanes span, together with the vector part: what both sides keep in registers
  /// first, which can become repetitions; then others that no lane moves along; then sums of a lane vector of one side
  /// and one of the other. Nothing where there are too few.
  std::optional<Vectors> segment(const Vectors &vector, const Vectors &fromLanes, const Vectors &toLanes,
                                 size_t size) const {
    BitSpan all = spanOf({&vector, &fromLanes, &toLanes});
    Vectors candidates = common;
    append(candidates, unitVectors());
    Vectors chosen = independentOf(all, candidates, size);

    Vectors fromBank = vector, toBank = vector;
    BitSpan fromSpan = spanOf({&vector}), toSpan = fromSpan;
    append(fromBank, independentOf(fromSpan, fromLanes));
    append(toBank, independentOf(toSpan, toLanes));
    Vectors shared = intersection(fromBank, toBank);
    auto own = [&](Vectors lanes) {
      BitSpan span = spanOf({&shared});
      std::sort(lanes.begin(), lanes.end());
      return independentOf(span, lanes);
    };
    Vectors onlyFrom = own(fromLanes), onlyTo = own(toLanes);
    for (size_t i = 0; i < std::min(onlyFrom.size(), onlyTo.size()) && chosen.size() < size; ++i)
      chosen.push_back(onlyFrom[i] ^ onlyTo[i]);
    return chosen.size() == size ? std::optional(chosen) : std::nullopt;
  }

  /// Elements of the vector part, from the first on, that a thread of the side has.
  static int64_t runIn(const Side &side, const Vectors &vector) {
    BitSpan registers = spanOf({&side.registers});
    auto end = std::find_if(vector.begin(), vector.end(), [&](uint64_t v) { return !registers.contains(v); });
    return int64_t(1) << (end - vector.begin());
  }

  /// The vector part that both sides keep in registers, filled up to a word.
  Vectors commonRun() const {
    BitSpan taken;
    Vectors vector = independentOf(taken, common, mostVectors());
    size_t wordVectors = size_t(std::max(0, log2Of(32) - log2Of(elementBits)));
    if (vector.size() < wordVectors)
      append(vector, independentOf(taken, fillers(), wordVectors - vector.size()));
    return vector;
  }

  size_t mostVectors() const { return size_t(log2Of(128 / elementBits)); }

  /// What a side takes, in instructions on registers: an access is one and as many more as memory is busy with its
  /// words, and one takes a word apart or puts it together whose elements are not in adjacent registers.
  int64_t costOf(const Side &side, const Vectors &vector, int64_t run) const {
    constexpr int64_t perWordAccessed = 2;
    int64_t registers = int64_t(1) << side.registers.size();
    int64_t perWord = std::min<int64_t>(run, std::max(1, 32 / elementBits));
    int64_t words = std::max<int64_t>(1, run * elementBits / 32);
    auto wordVectors = vector.begin() + log2Of(perWord);
    bool neighbours = std::equal(vector.begin(), wordVectors, side.registers.begin());
    return registers / run * (1 + perWordAccessed * words) + (neighbours ? 0 : registers / perWord);
  }

  /// Both sides access what `common` has, or one side as much as it can at once, and the other less: whichever takes
  /// the least.
  ScratchLayout choose() const {
    std::optional<Candidate> best = scratchOf(commonRun(), /*mostRepetitions=*/int64_t(1) << tileBits);
    if (!best)
      throw internalError("layout: no segment without conflicts:\n" + from.flat.toString() + to.flat.toString());
    int64_t repetitions = best->scratch.repetitions(); // each takes two barriers
    for (const Side *side : {&to, &from})
      for (size_t count = 1; count <= std::min(mostVectors(), side->registers.size()); ++count) {
        if (elementBits << count < 32)
          continue;
        auto first = side->registers.begin();
        std::optional<Candidate> other = scratchOf({first, first + ptrdiff_t(count)}, repetitions);
        if (other && other->cost < best->cost)
          best = std::move(other);
      }
    return best->scratch;
  }

  struct Candidate {
    ScratchLayout scratch;
    int64_t cost = 0;
  };

  /// With this vector part; nothing where lanes would meet in a bank.
  std::optional<Candidate> scratchOf(const Vectors &vector, int64_t mostRepetitions) const {
    ScratchLayout scratch;
    scratch.writeElements = runIn(from, vector);
    scratch.readElements = runIn(to, vector);
    int rowBits = banks * 32, vectorBits = elementBits << vector.size();
    auto lanesOf = [&](const Side &side, int64_t run) {
      return side.lanes(log2Of(rowBits / std::max<int64_t>(32, elementBits * run)));
    };
    Vectors fromLanes = lanesOf(from, scratch.writeElements), toLanes = lanesOf(to, scratch.readElements);
    int rest = tileBits - int(vector.size());
    size_t farSize = size_t(rest - std::min(log2Of(rowBits / vectorBits), rest));
    std::optional<Vectors> far = segment(vector, fromLanes, toLanes, farSize);
    if (!far)
      return std::nullopt;

    // The bank part is free; with the lanes of `from` its addresses are plain.
    BitSpan used = spanOf({&vector, &*far});
    Vectors near = vector, bank = fromLanes;
    append(bank, toLanes);
    append(bank, unitVectors());
    append(near, independentOf(used, bank));

    BitSpan inRegisters = spanOf({&common});
    Vectors pieces, whole = near;
    append(whole, *far);
    for (uint64_t each : *far)
      (inRegisters.contains(each) && int64_t(2) << pieces.size() <= mostRepetitions ? pieces : near).push_back(each);
    scratch.layout = layoutOf(near, pieces);
    if (!registersDecidePieces(scratch.layout))
      scratch.layout = layoutOf(whole, {});
    return Candidate{scratch, costOf(from, vector, scratch.writeElements) + costOf(to, vector, scratch.readElements)};
  }

  LinearLayout layoutOf(const Vectors &offsets, const Vectors &pieces) const {
    std::vector<LinearLayout::Input> inputs = {{Dim::Offset, {}}, {Dim::Register, {}}};
    for (uint64_t vector : offsets)
      inputs[0].bases.push_back({int64_t(vector)});
    for (uint64_t vector : pieces)
      inputs[1].bases.push_back({int64_t(vector)});
    return LinearLayout(std::move(inputs), {{Dim::Dim0, int64_t(1) << tileBits}});
  }

  bool registersDecidePieces(const LinearLayout &layout) const {
    LinearLayout inverse = layout.pseudoinvert();
    for (const Side *side : {&from, &to}) {
      std::vector<Dim> others;
      for (const LinearLayout::Input &input : side->flat.inputs())
        if (input.dim != Dim::Register)
          others.push_back(input.dim);
      if (!side->flat.compose(inverse).sublayoutIsZero(others, {Dim::Register}))
        return false;
    }
    return true;
  }
};
} // namespace

ScratchLayout chooseScratch(const LinearLayout &from, const LinearLayout &to, int elementBits, int banks) {
  if (elementBits < 8 || elementBits > 64 || !std::has_single_bit(unsigned(elementBits)) || banks <= 0 ||
      !std::has_single_bit(unsigned(banks)))
    throw internalError(fmt::format("layout: scratch for elements of {} bits in {} banks", elementBits, banks));
  std::vector<Dim> order;
  for (const LinearLayout::Output &output : from.outputs())
    order.push_back(output.dim);
  LinearLayout aligned = to.transposeOutputs(order);
  if (aligned.outputs() != from.outputs() || !from.isSurjective() || !to.isSurjective())
    throw internalError("layout: scratch between layouts of different tiles:\n" + from.toString() + to.toString());
  Side fromSide(from), toSide(aligned);
  return Search{fromSide, toSide, elementBits, banks}.choose();
}

int64_t countConflicts(const LinearLayout &access, int elementBits, int64_t vectorElements, int banks) {
  LinearLayout offsets = access.sublayout({Dim::Register, Dim::Lane, Dim::Warp}, {Dim::Offset});
  if (offsets.transposeInputs({Dim::Register, Dim::Lane, Dim::Warp}).consecutive() < vectorElements)
    throw internalError(fmt::format("layout: {} consecutive elements in:\n{}", vectorElements, access.toString()));
  int64_t laneBits = elementBits * vectorElements;
  std::vector<int64_t> ofLane;
  for (int64_t lane = 0; lane < offsets.inputSize(Dim::Lane); ++lane)
    ofLane.push_back(offsets.applyFlat({{Dim::Lane, lane}}));
  size_t group = std::min<size_t>(ofLane.size(), size_t(banks * 32 / std::max<int64_t>(32, laneBits)));
  int64_t worst = 0;
  std::vector<int64_t> words, load;
  for (int64_t warp = 0; warp < offsets.inputSize(Dim::Warp); ++warp)
    for (int64_t reg = 0; reg < offsets.inputSize(Dim::Register); reg += vectorElements) {
      int64_t start = offsets.applyFlat({{Dim::Register, reg}, {Dim::Warp, warp}});
      for (size_t first = 0; first < ofLane.size(); first += group) {
        words.clear();
        for (size_t lane = first; lane < first + group; ++lane)
          for (int64_t bit = elementBits * (start ^ ofLane[lane]), end = bit + laneBits; bit < end; bit += 32)
            words.push_back(bit / 32);
        std::sort(words.begin(), words.end());
        words.erase(std::unique(words.begin(), words.end()), words.end());
        load.assign(size_t(banks), 0);
        for (int64_t word : words)
          worst = std::max(worst, load[size_t(word % banks)]++);
      }
    }
  return worst;
}

} // namespace heddle::layout
