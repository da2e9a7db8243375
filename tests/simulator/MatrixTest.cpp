// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every matrix instruction, with small integers exactly and with fractions against sums in a wider format. Where
// elements lie comes from elsewhere than the simulator's formula: from the compiler's linear layouts for single blocks,
// from the manual's pictures for several.
#include "compiler/layout/Encodings.h"
#include "simulator/decode/TestAssembler.h"
#include "simulator/instructions/InstructionTable.h"
#include "simulator/numbers/Conversions.h"
#include "simulator/state/Fault.h"
#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

namespace heddle::simulator {
namespace {

using layout::Dim;
using layout::LinearLayout;

struct Case {
  std::string name;
  unsigned m = 0, n = 0, k = 0, blocks = 1;
  std::string types; ///< `f16`, `fp8_bf8`, ...
  bool sparse = false, isDouble = false, isInteger = false, formats = false;
};

Case parseName(const std::string &name) { // v_mfma_f32_32x32x4_2b_f16
  Case test;
  test.name = name;
  test.sparse = name.starts_with("v_smfmac");
  size_t at = name.find_first_of("0123456789", name.find("x") - 2);
  char rest[64] = {};
  int read = sscanf(name.c_str() + at, "%ux%ux%u_%ub_%60s", &test.m, &test.n, &test.k, &test.blocks, rest);
  if (read < 5) {
    test.blocks = 1;
    sscanf(name.c_str() + at, "%ux%ux%u_%60s", &test.m, &test.n, &test.k, rest);
  }
  test.types = rest;
  test.isDouble = test.types == "f64";
  test.isInteger = test.types == "i8";
  test.formats = test.types == "f8f6f4";
  return test;
}

/// How an element is stored.
struct Format {
  unsigned bits;
  std::function<uint64_t(double)> encode;
  std::function<double(uint64_t)> decode;
};

Format formatOf(const std::string &type, bool ocp) {
  auto small = [](FloatFormat format) {
    return Format{unsigned(format.bits), [format](double value) { return uint64_t(encodeFloat(format, value)); },
                  [format](uint64_t code) { return double(decodeFloat(format, uint32_t(code))); }};
  };
  if (type == "f64")
    return {64, [](double value) { return std::bit_cast<uint64_t>(value); },
            [](uint64_t code) { return std::bit_cast<double>(code); }};
  if (type == "f32" || type == "xf32")
    return {32, [](double value) { return uint64_t(std::bit_cast<uint32_t>(float(value))); },
            [](uint64_t code) { return double(std::bit_cast<float>(uint32_t(code))); }};
  if (type == "i8" || type == "i32")
    return {type == "i8" ? 8u : 32u, [](double value) { return uint64_t(int64_t(value)); },
            [](uint64_t code) { return double(int8_t(code)); }};
  if (type == "f16" || type == "bf16")
    return small(type == "f16" ? f16 : bf16);
  if (type == "fp6" || type == "bf6")
    return small(type == "fp6" ? fp6 : bf6);
  if (type == "fp4")
    return small(fp4);
  return small(type == "fp8" ? (ocp ? fp8Ocp : fp8Fnuz) : (ocp ? bf8Ocp : bf8Fnuz));
}

enum class Values { SmallIntegers, Fractions };

void store(Wave &wave, unsigned row, unsigned lane, unsigned item, const Format &format, double value) {
  uint64_t code = format.encode(value);
  unsigned bit = item * format.bits;
  for (unsigned done = 0; done < format.bits; ++done, ++bit) {
    uint32_t &word = wave.v[row + bit / 32][lane];
    word = (word & ~(1u << bit % 32)) | uint32_t(code >> done & 1) << bit % 32;
  }
}

struct Place {
  unsigned outer, k, block;
};

/// Row of A, or column of B, and k of what a lane holds.
Place computeOperandPlace(const Case &test, bool isB, unsigned k, unsigned bits, unsigned lane, unsigned item) {
  unsigned outer = test.m;
  if (test.blocks > 1 && test.isDouble) // one element a lane: row, then block, then k
    return {lane % 4, lane / 16, lane / 4 % 4};
  if (test.blocks > 1) // a lane has all of k
    return {lane % outer, item, lane / outer};
  unsigned perLane = k * outer / waveLanes;
  bool isSplit = (test.formats && bits == 8) || (isB && test.sparse);
  unsigned run = isSplit ? std::min(perLane, 128 / bits) : perLane;
  layout::Shape shape = isB ? layout::Shape{k, outer} : layout::Shape{outer, k};
  LinearLayout places = layout::mfmaOperand(shape, {1, 1}, isB, run, outer, outer, {1, 1});
  std::vector<int64_t> at = places.apply({{Dim::Register, item}, {Dim::Lane, lane}, {Dim::Warp, 0}});
  return {unsigned(at[isB ? 1 : 0]), unsigned(at[isB ? 0 : 1]), 0};
}

/// The same, each computed once for all runs: layouts are slow.
Place operandPlace(const Case &test, bool isB, unsigned k, unsigned bits, unsigned lane, unsigned item) {
  static std::map<std::tuple<std::string, bool, unsigned, bool>, std::vector<Place>> known;
  std::vector<Place> &places = known[{test.name, isB, k, bits == 8}];
  unsigned items = k * test.m * test.blocks / waveLanes;
  if (places.empty())
    for (unsigned i = 0; i < waveLanes * items; ++i)
      places.push_back(computeOperandPlace(test, isB, k, bits, i / items, i % items));
  return places[lane * items + item];
}

struct ResultAt {
  unsigned row, column, block;
};

ResultAt computeResultPlace(const Case &test, unsigned lane, unsigned item) {
  if (test.blocks > 1 && test.isDouble)
    return {lane / 4 % 4, lane % 4, lane / 16};
  if (test.blocks == 2)
    return {8 * (item / 4 % 4) + 4 * (lane / 32) + item % 4, lane % 32, item / 16};
  if (test.blocks == 4)
    return {4 * (lane / 16) + item % 4, lane % 16, item / 4};
  if (test.blocks == 16)
    return {item, lane % 4, lane / 4};
  LinearLayout places =
      layout::mfmaAccumulator({test.m, test.n}, {1, 1}, test.m, test.n, false, test.isDouble ? 64 : 32);
  std::vector<int64_t> at = places.apply({{Dim::Register, item}, {Dim::Lane, lane}, {Dim::Warp, 0}});
  return {unsigned(at[0]), unsigned(at[1]), 0};
}

ResultAt resultPlace(const Case &test, unsigned lane, unsigned item) {
  static std::map<std::string, std::vector<ResultAt>> known;
  std::vector<ResultAt> &places = known[test.name];
  unsigned items = test.m * test.n * test.blocks / waveLanes;
  if (places.empty())
    for (unsigned i = 0; i < waveLanes * items; ++i)
      places.push_back(computeResultPlace(test, i / items, i % items));
  return places[lane * items + item];
}

constexpr unsigned rowA = 0, rowB = 16, rowIndex = 40, rowScaleA = 41, rowScaleB = 42, rowD = 64;

class MatrixRun {
public:
  MatrixRun(Case test, std::string typeA, std::string typeB, std::string chip, Values values)
      : test(std::move(test)), typeA(std::move(typeA)), typeB(std::move(typeB)), chip(std::move(chip)), values(values),
        random(unsigned(std::hash<std::string>()(this->test.name + this->typeA + this->typeB) & 0xFFFF)) {}

  void run(const std::string &modifiers = "", bool scaled = false) {
    wave = makeTestWave();
    wave->setExec(0x5); // has no say
    a.assign(test.blocks * test.m * test.k, 0), b.assign(test.blocks * test.n * test.k, 0);
    fillOperands();
    fillResult();
    if (scaled)
      fillScales();
    executeText(*wave, text(modifiers, scaled), chip);
    check(scaled);
  }

private:
  /// One that the format has.
  double number(const Format &format) {
    if (values == Values::SmallIntegers)
      return int(random() % 5) - 2;
    double fraction = double(int(random() % 20001) - 10000) / 10000;
    double value = test.isInteger ? std::round(fraction * 127) : std::ldexp(fraction, int(random() % 5) - 1);
    return format.decode(format.encode(value));
  }
  unsigned words(unsigned bits, unsigned k) const { return k * test.m * test.blocks / waveLanes * bits / 32; }

  void fillOperands() {
    Format formatA = formatOf(typeA, chip == "gfx950"), formatB = formatOf(typeB, chip == "gfx950");
    unsigned storedK = test.sparse ? test.k / 2 : test.k;
    wordsA = words(formatA.bits, storedK), wordsB = words(formatB.bits, test.k);
    for (unsigned lane = 0; lane < waveLanes; ++lane) {
      for (unsigned item = 0; item < storedK * test.m * test.blocks / waveLanes; ++item) {
        Place place = operandPlace(test, false, storedK, formatA.bits, lane, item);
        unsigned k = test.sparse ? sparseK(lane, item) : place.k;
        double value = number(formatA);
        a[(place.block * test.m + place.outer) * test.k + k] = value;
        store(*wave, rowA, lane, item, formatA, value);
      }
      for (unsigned item = 0; item < test.k * test.n * test.blocks / waveLanes; ++item) {
        Place place = operandPlace(test, true, test.k, formatB.bits, lane, item);
        double value = number(formatB);
        b[(place.block * test.n + place.outer) * test.k + place.k] = value;
        store(*wave, rowB, lane, item, formatB, value);
      }
    }
  }

  /// Two of four: the pair of positions is drawn for the first, and written into the index register.
  unsigned sparseK(unsigned lane, unsigned item) {
    unsigned items = test.k / 2 * test.m / waveLanes;
    if (item % 2 == 0) {
      first = random() % 3;
      second = first + 1 + random() % (3 - first);
      if (item == 0)
        wave->v[rowIndex][lane] = 0;
      wave->v[rowIndex][lane] |= (first | second << 2) << (2 * item);
    }
    return lane / test.m * items * 2 + item / 2 * 4 + (item % 2 ? second : first);
  }

  unsigned resultItems() const { return test.m * test.n * test.blocks / waveLanes; }
  double resultValue(unsigned lane, unsigned item) const {
    if (test.isDouble)
      return std::bit_cast<double>(uint64_t(wave->v[rowD + 2 * item + 1][lane]) << 32 | wave->v[rowD + 2 * item][lane]);
    uint32_t bits = wave->v[rowD + item][lane];
    return test.isInteger ? double(int32_t(bits)) : double(std::bit_cast<float>(bits));
  }

  void fillResult() {
    Format format = formatOf(test.isDouble ? "f64" : test.isInteger ? "i32" : "f32", false);
    c.assign(test.blocks * test.m * test.n, 0);
    for (unsigned lane = 0; lane < waveLanes; ++lane)
      for (unsigned item = 0; item < resultItems(); ++item) {
        ResultAt at = resultPlace(test, lane, item);
        double value = number(format);
        c[(at.block * test.m + at.row) * test.n + at.column] = value;
        store(*wave, rowD, lane, item, format, value);
      }
  }

  void fillScales() { // 2^-2 ... 2^2 in byte 1 of A's and byte 2 of B's register
    for (unsigned lane = 0; lane < waveLanes; ++lane) {
      wave->v[rowScaleA][lane] = (125 + random() % 5) << 8 | 0x55;
      wave->v[rowScaleB][lane] = (125 + random() % 5) << 16 | 0x55;
    }
  }
  double scale(unsigned row, unsigned outer, unsigned k, unsigned shift) const {
    return std::ldexp(1.0, int(wave->v[row][outer + test.m * (k / 32)] >> shift & 0xFF) - 127);
  }

  std::string text(const std::string &modifiers, bool scaled) const {
    auto range = [](unsigned first, unsigned count) {
      return count == 1 ? fmt::format("v{}", first) : fmt::format("v[{}:{}]", first, first + count - 1);
    };
    unsigned wordsD = resultItems() * (test.isDouble ? 2 : 1);
    std::string last = test.sparse ? fmt::format("v{}", rowIndex) : range(rowD, wordsD);
    std::string line = fmt::format("{} {}, {}, {}, {}", test.name, range(rowD, wordsD), range(rowA, wordsA),
                                   range(rowB, wordsB), last);
    if (scaled)
      line += fmt::format(", v{}, v{} op_sel:[1,0,0] op_sel_hi:[0,1,0]", rowScaleA, rowScaleB);
    return line + modifiers;
  }

  /// How far a sum of k products and C may be from the exact one: each of k fused steps rounds a partial sum, of which
  /// none is larger than the sum of all magnitudes. Inputs of xf32 lose all but ten bits of mantissa.
  double bound(double magnitudes) const {
    if (values == Values::SmallIntegers || test.isInteger)
      return 0;
    double step = std::ldexp(1.0, test.isDouble ? -53 : -24),
           ofInputs = test.types == "xf32" ? std::ldexp(2.1, -11) : 0;
    return magnitudes * (ofInputs + step * (test.k + 1));
  }

  void check(bool scaled) {
    for (unsigned lane = 0; lane < waveLanes; ++lane)
      for (unsigned item = 0; item < resultItems(); ++item) {
        ResultAt at = resultPlace(test, lane, item);
        long double expected = c[(at.block * test.m + at.row) * test.n + at.column], magnitudes = std::fabs(expected);
        for (unsigned k = 0; k < test.k; ++k) {
          long double product = (long double)(a[(at.block * test.m + at.row) * test.k + k]) *
                                b[(at.block * test.n + at.column) * test.k + k];
          if (scaled)
            product *= scale(rowScaleA, at.row, k, 8) * scale(rowScaleB, at.column, k, 16);
          expected += product;
          magnitudes += std::fabs(product);
        }
        ASSERT_NEAR(resultValue(lane, item), double(expected), bound(double(magnitudes)))
            << chip << " " << test.name << " " << typeA << " " << typeB << ", lane " << lane << ", item " << item;
      }
  }

  Case test;
  std::string typeA, typeB, chip;
  Values values;
  std::mt19937 random;
  std::unique_ptr<Wave> wave;
  std::vector<double> a, b, c;
  unsigned wordsA = 0, wordsB = 0, first = 0, second = 0;
};

std::vector<std::string> matrixNames(ChipSet chip, bool formats) {
  std::vector<std::string> names;
  for (const auto &[name, row] : instructionsOf(chip))
    if ((name.starts_with("v_mfma") || name.starts_with("v_smfmac")) && name.ends_with("f8f6f4") == formats)
      names.emplace_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

void checkAll(const char *chip, ChipSet set, size_t expected) {
  std::vector<std::string> names = matrixNames(set, false);
  EXPECT_EQ(names.size(), expected);
  for (const std::string &name : names) {
    Case test = parseName(name);
    size_t pair = test.types.find('_');
    std::string typeA = test.types.substr(0, pair);
    std::string typeB = pair == std::string::npos ? typeA : test.types.substr(pair + 1);
    for (Values values : {Values::SmallIntegers, Values::Fractions})
      MatrixRun(test, typeA, typeB, chip, values).run();
  }
}

TEST(Matrix, Gfx942) {
  checkAll("gfx942", ChipSet::Gfx942, 46);
}
TEST(Matrix, Gfx950) {
  checkAll("gfx950", ChipSet::Gfx950, 64);
}

TEST(Matrix, FormatsAndBlockScales) {
  const char *types[] = {"fp8", "bf8", "fp6", "bf6", "fp4"};
  std::vector<std::string> names = matrixNames(ChipSet::Gfx950, true);
  EXPECT_EQ(names.size(), 4u);
  for (const std::string &name : names)
    for (unsigned formatA = 0; formatA < 5; ++formatA)
      for (unsigned formatB = 0; formatB < 5; ++formatB)
        for (Values values : {Values::SmallIntegers, Values::Fractions})
          MatrixRun(parseName(name), types[formatA], types[formatB], "gfx950", values)
              .run(fmt::format(" cbsz:{} blgp:{}", formatA, formatB), name.starts_with("v_mfma_scale"));
}

TEST(Matrix, Broadcasts) { // 4x4x1: block b multiplies column and row of its own, or of one block
  auto wave = makeTestWave();
  auto number = [](float value) { return std::bit_cast<uint32_t>(value); };
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    wave->v[0][lane] = number(float(lane)), wave->v[1][lane] = number(float(lane % 16)), wave->v[2][lane] = number(1);
  executeText(*wave, R"(v_mfma_f32_4x4x1_16b_f32 v[4:7], v0, v2, 0 cbsz:4 abid:3
                        v_mfma_f32_4x4x1_16b_f32 v[8:11], v2, v0, 0 blgp:2
                        v_mfma_f32_4x4x1_16b_f32 v[12:15], v2, v0, 0 blgp:3
                        v_mfma_f32_4x4x1_16b_f32 v[16:19], v2, v0, 0 blgp:5
                        v_mfma_f32_4x4x1_16b_f32 v[20:23], v2, v0, 2.0)");
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    EXPECT_EQ(wave->v[5][lane], number(13)) << "row 1 of block 3";
    EXPECT_EQ(wave->v[8][lane], number(float(lane % 32 + 32)));
    EXPECT_EQ(wave->v[12][lane], number(float((lane + 16) % 64)));
    EXPECT_EQ(wave->v[16][lane], number(float(lane % 16 + 16)));
    EXPECT_EQ(wave->v[20][lane], number(float(lane) + 2));
  }
}

TEST(Matrix, BroadcastsOfBlocksThatThereAreNot) {
  auto wave = makeTestWave();
  EXPECT_THROW(executeText(*wave, "v_mfma_f32_16x16x1_4b_f32 v[0:15], v16, v17, 0 cbsz:3"), Fault);
  EXPECT_THROW(executeText(*wave, "v_mfma_f32_16x16x1_4b_f32 v[0:15], v16, v17, 0 cbsz:1 abid:2"), Fault);
  EXPECT_NO_THROW(executeText(*wave, "v_mfma_f32_16x16x1_4b_f32 v[0:15], v16, v17, 0 cbsz:2 abid:3"));
}

TEST(Matrix, SparseIndexSets) { // abid picks eight of the 32 bits
  auto wave = makeTestWave();
  auto pair = [](unsigned low, unsigned high) {
    return uint32_t(encodeFloat(f16, low) | encodeFloat(f16, high) << 16);
  };
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    wave->v[0][lane] = pair(1, 0), wave->v[1][lane] = 0; // one element of each lane's run of eight
    for (unsigned word = 0; word < 4; ++word)
      wave->v[2 + word][lane] = pair(10 * word, 10 * word + 1);
    wave->v[6][lane] = 0xE4E40200; // set 1: position 2
  }
  executeText(*wave, "v_smfmac_f32_16x16x32_f16 v[8:11], v[0:1], v[2:5], v6 abid:1");
  EXPECT_EQ(wave->v[8][0], std::bit_cast<uint32_t>(40.0f)) << "four lanes' runs, each with its third element, 10";
}

/// Two lanes have half a row each, as a 32x32 product leaves them, and A's ones let both get the sum of the row: so
/// production kernels add up what a softmax divides by.
TEST(Matrix, SparseRowSums) {
  auto wave = makeTestWave();
  auto value = [](unsigned lane, unsigned item) { return lane % 5 + item / 8 % 3 + lane / 32; };
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    for (unsigned item = 0; item < 32; ++item)
      wave->v[4 + item / 4][lane] |= uint32_t(encodeFloat(fp8Ocp, value(lane, item))) << item % 4 * 8;
    for (unsigned word = 0; word < 4; ++word)
      wave->v[word][lane] = lane % 4 < 2 && (word < 2) == !(lane & 4) ? 0x38383838 : 0; // 1.0
    wave->v[12][lane] = lane % 4 == 1 ? 0xEEEEEEEE : 0x44444444; // the second two of four, or the first
    wave->v[16][lane] = wave->v[17][lane] = wave->v[18][lane] = wave->v[19][lane] = 0;
  }
  executeText(*wave, "v_smfmac_f32_16x16x128_fp8_fp8 v[16:19], v[0:3], v[4:11], v12", "gfx950");
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    unsigned sum = 0;
    for (unsigned item = 0; item < 32; ++item)
      sum += value(lane % 32, item) + value(lane % 32 + 32, item);
    EXPECT_EQ(std::bit_cast<float>(wave->v[16][lane]) + std::bit_cast<float>(wave->v[17][lane]), float(sum)) << lane;
  }
}

TEST(Matrix, NegationOfDoubles) {
  auto wave = makeTestWave();
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    for (unsigned row : {1, 3, 5})
      wave->v[row][lane] = 0x3FF00000; // 1
  executeText(*wave, "v_mfma_f64_4x4x4_4b_f64 v[6:7], v[0:1], v[2:3], v[4:5] neg:[1,0,1]");
  EXPECT_EQ(wave->v[7][9], 0xC0140000u); // -5
}

} // namespace
} // namespace heddle::simulator
