// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// v_cvt_scalef32_*: conversions between f32, f16, bf16 and the MX formats with a scale, of which only the exponent
// counts. To an MX format a value is divided by the scale, from one multiplied. Source: AMD CDNA4 Instruction Set
// Architecture, "Scaled conversions".
#include "simulator/instructions/Families.h"
#include "simulator/instructions/VectorFrame.h"
#include "simulator/numbers/Conversions.h"
#include <string>

namespace heddle::simulator {
namespace {

/// A wide format by what a pair of its values is: two f32 in two registers, or two 16-bit floats in one.
struct Single {
  using Pair = uint64_t;
  static constexpr const char *name = "f32";
  static constexpr unsigned registersPer32 = 32;
  static double decode(uint64_t pair, unsigned index) { return std::bit_cast<float>(uint32_t(pair >> (32 * index))); }
  static uint64_t encode(double value) { return bitsOf(float(value)); }
};
struct Half {
  using Pair = uint32_t;
  static constexpr const char *name = "f16";
  static constexpr unsigned registersPer32 = 16;
  static double decode(uint64_t pair, unsigned index) { return float(fromBits<_Float16>(pair >> (16 * index))); }
  static uint64_t encode(double value) { return bitsOf(halfFromDouble(value)); }
};
struct Brain {
  using Pair = uint32_t;
  static constexpr const char *name = "bf16";
  static constexpr unsigned registersPer32 = 16;
  static double decode(uint64_t pair, unsigned index) { return fromBf16(uint16_t(pair >> (16 * index))); }
  static uint64_t encode(double value) { return encodeFloat(bf16, value); }
};
template <typename Wide>
constexpr unsigned widthOf = Wide::registersPer32;

template <FloatFormat format, Overflow overflow>
uint32_t scaledCode(double value, float scale) {
  return encodeFloat(format, value * inverseScaleFactor(scale), overflow);
}
template <FloatFormat format, Overflow overflow>
uint32_t scaledCode(double value, float scale, uint32_t random) {
  return encodeFloatStochastic(format, value * inverseScaleFactor(scale), random, overflow);
}

/// Two codes side by side, at their place in the destination: half a register of 8-bit ones, a byte of 4-bit ones.
template <FloatFormat format>
auto placed(uint32_t low, uint32_t high) {
  if constexpr (format.bits == 8)
    return uint16_t(high << 8 | low);
  else
    return PlacedByte{high << 4 | low};
}

template <FloatFormat format, Overflow overflow>
constexpr auto packSingles = [](float a, float b, float scale) {
  return placed<format>(scaledCode<format, overflow>(a, scale), scaledCode<format, overflow>(b, scale));
};
template <FloatFormat format, Overflow overflow, typename Wide>
constexpr auto packHalves = [](uint32_t pair, float scale) {
  return placed<format>(scaledCode<format, overflow>(Wide::decode(pair, 0), scale),
                        scaledCode<format, overflow>(Wide::decode(pair, 1), scale));
};
template <FloatFormat format, Overflow overflow>
constexpr auto stochasticSingle =
    [](float a, uint32_t random, float scale) { return PlacedByte{scaledCode<format, overflow>(a, scale, random)}; };
template <FloatFormat format, Overflow overflow, typename Wide>
constexpr auto stochasticHalf = [](uint16_t a, uint32_t random, float scale) {
  return PlacedByte{scaledCode<format, overflow>(Wide::decode(a, 0), scale, random)};
};
template <FloatFormat format, typename Wide>
constexpr auto stochasticPair = [](typename Wide::Pair pair, uint32_t random, float scale) {
  uint32_t low = scaledCode<format, Overflow::Saturate>(Wide::decode(pair, 0), scale, random);
  return placed<format>(low, scaledCode<format, Overflow::Saturate>(Wide::decode(pair, 1), scale, nextRandom(random)));
};

template <FloatFormat format, typename Wide>
constexpr auto unpackPair = [](auto source, float scale) {
  uint32_t codes = uint32_t(source), width = format.bits;
  double factor = scaleFactor(scale);
  const auto &values = decodeTable(format);
  uint64_t low = Wide::encode(values[codes & ((1u << width) - 1)] * factor);
  uint64_t high = Wide::encode(values[codes >> width & ((1u << width) - 1)] * factor);
  return typename Wide::Pair(high << (sizeof(typename Wide::Pair) * 4) | low);
};
template <FloatFormat format, typename Wide>
constexpr auto unpackHalf8 = [](uint16_t codes, float scale) { return unpackPair<format, Wide>(codes, scale); };
template <FloatFormat format, typename Wide>
constexpr auto unpackByte4 =
    [](SelectedByte codes, float scale) { return unpackPair<format, Wide>(codes.value, scale); };
template <FloatFormat format>
constexpr auto unpackSingle =
    [](SelectedByte code, float scale) { return float(decodeTable(format)[code.value & 0xFF] * scaleFactor(scale)); };
template <FloatFormat format>
constexpr auto unpackOneHalf = [](SelectedByte code, float scale) {
  return halfFromDouble(decodeTable(format)[code.value & 0xFF] * scaleFactor(scale));
};

//===-- 32 values at once ----------------------------------------------------------------------------------------===//

float scaleOf(Wave &wave, const Operand &operand, unsigned lane) {
  if (operand.isVector())
    return std::bit_cast<float>(wave.v[operand.index][lane]);
  return std::bit_cast<float>(readUniform32(wave, operand));
}

/// Six registers of 32 codes of 6 bits.
struct Codes6 {
  uint32_t words[6] = {};
  void set(unsigned index, uint32_t code) {
    unsigned bit = 6 * index;
    words[bit / 32] |= code << (bit % 32);
    if (bit % 32 > 26)
      words[bit / 32 + 1] |= code >> (32 - bit % 32);
  }
  uint32_t get(unsigned index) const {
    unsigned bit = 6 * index;
    uint64_t pair = words[bit / 32] | (bit / 32 < 5 ? uint64_t(words[bit / 32 + 1]) << 32 : 0);
    return uint32_t(pair >> (bit % 32)) & 0x3F;
  }
};

/// Value `index` of 32 in registers from `row`.
template <typename Wide>
double wideValue(const Wave &wave, unsigned row, unsigned index, unsigned lane) {
  if constexpr (widthOf<Wide> == 32)
    return Wide::decode(wave.v[row + index][lane], 0);
  else
    return Wide::decode(wave.v[row + index / 2][lane], index % 2);
}

void writeCodes(Wave &wave, const Operand &destination, const Codes6 (&codes)[waveLanes]) {
  Row row;
  for (unsigned word = 0; word < 6; ++word) {
    for (unsigned lane = 0; lane < waveLanes; ++lane)
      row[lane] = codes[lane].words[word];
    writeRow(wave, destination, word, row);
  }
}

/// v_cvt_scalef32_pk32_fp6_f16 and, with a seed, v_cvt_scalef32_sr_pk32_fp6_f16; likewise for other types.
template <FloatFormat format, typename Wide, bool stochastic>
void executePack32(Wave &wave, const Instruction &instruction) {
  const Operand *operands = instruction.operands;
  Codes6 codes[waveLanes];
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    float scale = scaleOf(wave, operands[stochastic ? 3 : 2], lane);
    uint32_t random = stochastic ? bitsOf(scaleOf(wave, operands[2], lane)) : 0;
    for (unsigned index = 0; index < 32; ++index, random = nextRandom(random)) {
      double value = wideValue<Wide>(wave, operands[1].index, index, lane);
      codes[lane].set(index, stochastic ? scaledCode<format, Overflow::Saturate>(value, scale, random)
                                        : scaledCode<format, Overflow::Saturate>(value, scale));
    }
  }
  writeCodes(wave, operands[0], codes);
}

/// Two sources of 16 f32, whose values alternate in the result.
template <FloatFormat format>
void executePackTwice16(Wave &wave, const Instruction &instruction) {
  const Operand *operands = instruction.operands;
  Codes6 codes[waveLanes];
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    for (unsigned index = 0; index < 32; ++index) {
      float value = std::bit_cast<float>(wave.v[operands[1 + index % 2].index + index / 2][lane]);
      codes[lane].set(index, scaledCode<format, Overflow::Saturate>(value, scaleOf(wave, operands[3], lane)));
    }
  writeCodes(wave, operands[0], codes);
}

template <FloatFormat format, typename Wide>
void executeUnpack32(Wave &wave, const Instruction &instruction) {
  const Operand *operands = instruction.operands;
  Row results[32];
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    Codes6 codes;
    for (unsigned word = 0; word < 6; ++word)
      codes.words[word] = wave.v[operands[1].index + word][lane];
    double factor = scaleFactor(scaleOf(wave, operands[2], lane));
    for (unsigned index = 0; index < 32; ++index) {
      auto bits = uint32_t(Wide::encode(decodeTable(format)[codes.get(index)] * factor));
      if (widthOf<Wide> == 32)
        results[index][lane] = bits;
      else
        results[index / 2][lane] = index % 2 ? results[index / 2][lane] | bits << 16 : bits;
    }
  }
  for (unsigned word = 0; word < widthOf<Wide>; ++word)
    writeRow(wave, operands[0], word, results[word]);
}

//===-- Rows -----------------------------------------------------------------------------------------------------===//

/// Rows of gfx950 under names that are put together.
class Adder {
public:
  explicit Adder(InstructionTable &table) : table(table) {}
  void operator()(const std::string &name, InstructionRow row) {
    row.mnemonic = table.keep("v_cvt_scalef32_" + name);
    row.chips = ChipSet::Gfx950;
    table.add(row);
  }
  void operator()(const std::string &name, Execute execute) {
    (*this)(name, {.mnemonic = "", .execute = execute, .modified = execute, .types = allOf(DataType::B32)});
  }

private:
  InstructionTable &table;
};

template <FloatFormat format, typename Wide>
void addHalves8(Adder &add, const std::string &name) {
  constexpr auto special = Overflow::Special, saturate = Overflow::Saturate;
  const std::string wide = Wide::name;
  add("pk_" + name + "_" + wide,
      overflowRow<packHalves<format, special, Wide>, packHalves<format, saturate, Wide>>("", keepsHighHalf));
  add("sr_" + name + "_" + wide,
      overflowRow<stochasticHalf<format, special, Wide>, stochasticHalf<format, saturate, Wide>>(""));
  add("pk_" + wide + "_" + name, laneRow<unpackHalf8<format, Wide>>(""));
}

template <FloatFormat format>
void addFormat8(Adder &add, const std::string &name) {
  constexpr auto special = Overflow::Special, saturate = Overflow::Saturate;
  add("pk_" + name + "_f32",
      overflowRow<packSingles<format, special>, packSingles<format, saturate>>("", keepsHighHalf));
  add("sr_" + name + "_f32", overflowRow<stochasticSingle<format, special>, stochasticSingle<format, saturate>>(""));
  add("pk_f32_" + name, laneRow<unpackHalf8<format, Single>>(""));
  add("f32_" + name, laneRow<unpackSingle<format>>(""));
  add("f16_" + name, laneRow<unpackOneHalf<format>>("", keepsHighHalf));
  addHalves8<format, Half>(add, name);
  addHalves8<format, Brain>(add, name);
}

template <FloatFormat format, typename Wide>
void addPack32(Adder &add, const std::string &name) {
  const std::string wide = Wide::name;
  if (widthOf<Wide> == 16)
    add("pk32_" + name + "_" + wide, executePack32<format, Wide, false>);
  add("sr_pk32_" + name + "_" + wide, executePack32<format, Wide, true>);
  add("pk32_" + wide + "_" + name, executeUnpack32<format, Wide>);
}

template <FloatFormat format>
void addFormat6(Adder &add, const std::string &name) {
  add("2xpk16_" + name + "_f32", executePackTwice16<format>);
  addPack32<format, Single>(add, name);
  addPack32<format, Half>(add, name);
  addPack32<format, Brain>(add, name);
}

template <typename Wide>
void addPairs4(Adder &add) {
  const std::string wide = Wide::name;
  if constexpr (widthOf<Wide> == 16)
    add("pk_fp4_" + wide, laneRow<packHalves<fp4, Overflow::Saturate, Wide>>(""));
  add("sr_pk_fp4_" + wide, laneRow<stochasticPair<fp4, Wide>>(""));
  add("pk_" + wide + "_fp4", laneRow<unpackByte4<fp4, Wide>>(""));
}

} // namespace

void addVectorScaledConvert(InstructionTable &table) {
  Adder add(table);
  addFormat8<fp8Ocp>(add, "fp8");
  addFormat8<bf8Ocp>(add, "bf8");
  addFormat6<fp6>(add, "fp6");
  addFormat6<bf6>(add, "bf6");
  add("pk_fp4_f32", laneRow<packSingles<fp4, Overflow::Saturate>>(""));
  addPairs4<Single>(add);
  addPairs4<Half>(add);
  addPairs4<Brain>(add);
}

} // namespace heddle::simulator
