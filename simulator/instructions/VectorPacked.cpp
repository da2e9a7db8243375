// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packed arithmetic, mixed-precision fused steps and dot products of a few elements. Sources: AMD Instinct MI300
// (CDNA3) and CDNA4 Instruction Set Architecture, VOP3P.
#include "simulator/instructions/Families.h"
#include "simulator/instructions/PackedFrame.h"
#include "simulator/numbers/Conversions.h"
#include <algorithm>

namespace heddle::simulator {
namespace {

using half = _Float16;

template <typename T>
constexpr auto add = [](T a, T b) { return T(a + b); };
template <typename T>
constexpr auto addSaturated = [](T a, T b) { return saturated<T>(int32_t(a) + int32_t(b)); };
template <typename T>
constexpr auto subtract = [](T a, T b) { return T(a - b); };
template <typename T>
constexpr auto subtractSaturated = [](T a, T b) { return saturated<T>(int32_t(a) - int32_t(b)); };
template <typename T>
constexpr auto multiply = [](T a, T b) { return T(a * b); };
template <typename T>
constexpr auto multiplyAdd = [](T a, T b, T c) { return T(uint32_t(a) * uint32_t(b) + uint32_t(c)); };
template <typename T>
constexpr auto multiplyAddSaturated = [](T a, T b, T c) { return saturated<T>(int64_t(a) * b + c); };
template <typename T>
constexpr auto fused = [](T a, T b, T c) { return fusedMultiplyAdd<T>(a, b, c); };
template <typename T>
constexpr auto least = [](T a, T b) { return std::min(a, b); };
template <typename T>
constexpr auto greatest = [](T a, T b) { return std::max(a, b); };

void addFloats(InstructionTable &table) {
  table.add(packedRow<add<half>>("v_pk_add_f16"));
  table.add(packedRow<multiply<half>>("v_pk_mul_f16"));
  table.add(packedRow<fused<half>>("v_pk_fma_f16"));
  table.add(packedRow<fused<half>, fused<half>, Last::Destination>("v_pk_fmac_f16"));
  table.add(packedRow<[](half a, half b) { return minimumNumber(a, b); }>("v_pk_min_f16"));
  table.add(packedRow<[](half a, half b) { return maximumNumber(a, b); }>("v_pk_max_f16"));
  constexpr auto minimum3 = [](half a, half b, half c) { return extreme<half, false>(extreme<half, false>(a, b), c); };
  constexpr auto maximum3 = [](half a, half b, half c) { return extreme<half, true>(extreme<half, true>(a, b), c); };
  table.add(packedRow<minimum3>("v_pk_minimum3_f16", ChipSet::Gfx950));
  table.add(packedRow<maximum3>("v_pk_maximum3_f16", ChipSet::Gfx950));
  table.add(packedRow<add<float>>("v_pk_add_f32"));
  table.add(packedRow<multiply<float>>("v_pk_mul_f32"));
  table.add(packedRow<fused<float>>("v_pk_fma_f32"));
}

void addIntegers(InstructionTable &table) {
  table.add(packedRow<add<uint16_t>, addSaturated<uint16_t>>("v_pk_add_u16"));
  table.add(packedRow<add<int16_t>, addSaturated<int16_t>>("v_pk_add_i16"));
  table.add(packedRow<subtract<uint16_t>, subtractSaturated<uint16_t>>("v_pk_sub_u16"));
  table.add(packedRow<subtract<int16_t>, subtractSaturated<int16_t>>("v_pk_sub_i16"));
  table.add(packedRow<[](uint16_t a, uint16_t b) { return uint16_t(uint32_t(a) * b); }>("v_pk_mul_lo_u16"));
  table.add(packedRow<multiplyAdd<uint16_t>, multiplyAddSaturated<uint16_t>>("v_pk_mad_u16"));
  table.add(packedRow<multiplyAdd<int16_t>, multiplyAddSaturated<int16_t>>("v_pk_mad_i16"));
  table.add(packedRow<least<uint16_t>>("v_pk_min_u16"));
  table.add(packedRow<least<int16_t>>("v_pk_min_i16"));
  table.add(packedRow<greatest<uint16_t>>("v_pk_max_u16"));
  table.add(packedRow<greatest<int16_t>>("v_pk_max_i16"));
  table.add(packedRow<[](uint16_t n, uint16_t a) { return uint16_t(a << (n & 15)); }>("v_pk_lshlrev_b16"));
  table.add(packedRow<[](uint16_t n, uint16_t a) { return uint16_t(a >> (n & 15)); }>("v_pk_lshrrev_b16"));
  table.add(packedRow<[](uint16_t n, int16_t a) { return int16_t(a >> (n & 15)); }>("v_pk_ashrrev_i16"));
}

/// The low word from the first source, the high one from the second, each chosen by op_sel.
void executePackedMove(Wave &wave, const Instruction &instruction) {
  Rows storage;
  Row words[2];
  for (unsigned part = 0; part < 2; ++part) {
    bool higher = instruction.modifiers.opSel >> part & 1;
    std::memcpy(words[part], readRow(wave, instruction.operands[part + 1], higher, storage.low), sizeof(Row));
  }
  writeRow(wave, instruction.operands[0], 0, words[0]);
  writeRow(wave, instruction.operands[0], 1, words[1]);
}

//===-- Mixed precision ------------------------------------------------------------------------------------------===//

/// Bits of an f16 operand's inline constant, which was read as one of f32: integers keep their bits.
uint32_t inlineHalf(uint32_t bits) {
  bool isInteger = bits + 16 <= 80; // -16 .. 64
  return isInteger ? bits & 0xFFFF : bitsOf(half(std::bit_cast<float>(bits)));
}

/// An f32, or the half that op_sel names where op_sel_hi says so. Without an op_sel_hi in the text it is 0.
void readMixed(const Wave &wave, const Instruction &instruction, unsigned number, float (&values)[waveLanes]) {
  const Modifiers &modifiers = instruction.modifiers;
  const Operand &operand = instruction.operands[number + 1];
  Row storage;
  const uint32_t *row = readRow(wave, operand, 0, storage);
  bool isHalf = modifiers.hasOpSelHi && modifiers.opSelHi >> number & 1;
  unsigned shift = modifiers.opSel >> number & 1 ? 16 : 0;
  if (isHalf && operand.kind == Operand::Kind::Constant) {
    uint32_t bits = inlineHalf(uint32_t(operand.constant));
    for (uint32_t &lane : storage)
      lane = bits;
  }
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    auto narrow = fromBits<half>(row[lane] >> shift);
    auto wide = std::bit_cast<float>(row[lane]);
    if (hasUnusualMode(wave.mode)) {
      narrow = wave.mode & 0x40 ? narrow : flushDenormal(narrow);
      wide = wave.mode & 0x10 ? wide : flushDenormal(wide);
    }
    float value = isHalf ? float(narrow) : wide;
    value = operand.absolute ? absolute(value) : value;
    values[lane] = operand.negate ? negated(value) : value;
  }
}

enum class Mixed { Single, LowHalf, HighHalf };

template <Mixed kind>
void executeMixed(Wave &wave, const Instruction &instruction) {
  float sources[3][waveLanes];
  for (unsigned number = 0; number < 3; ++number)
    readMixed(wave, instruction, number, sources[number]);
  Rows result;
  HostRounding rounding(wave.mode, kind != Mixed::Single);
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    float a = sources[0][lane], b = sources[1][lane], c = sources[2][lane];
    if constexpr (kind == Mixed::Single)
      result.low[lane] = bitsOf(fusedMultiplyAdd(a, b, c));
    else
      result.low[lane] = bitsOf(half(fusedMultiplyAdd(a, b, c)));
  }
  rounding.restore();
  constexpr DataType type = kind == Mixed::Single ? DataType::F32 : DataType::F16;
  if (hasUnusualMode(wave.mode))
    applyResultMode(wave.mode, type, result);
  applyOutputModifiers(wave.mode, instruction.modifiers, type, result);
  uint32_t *destination = wave.v[instruction.operands[0].index];
  if (kind == Mixed::LowHalf)
    keepHighHalves(destination, result.low);
  if (kind == Mixed::HighHalf)
    for (unsigned lane = 0; lane < waveLanes; ++lane)
      result.low[lane] = result.low[lane] << 16 | (destination[lane] & 0xFFFF);
  writeRow(wave, instruction.operands[0], 0, result.low);
}

void addMixed(InstructionTable &table) {
  auto add = [&table](const char *name, Execute execute, uint16_t implicit) {
    table.add({.mnemonic = name,
               .execute = execute,
               .modified = execute,
               .types = allOf(DataType::F32),
               .implicit = implicit});
  };
  add("v_fma_mix_f32", executeMixed<Mixed::Single>, 0);
  add("v_fma_mixlo_f16", executeMixed<Mixed::LowHalf>, readsDestination);
  add("v_fma_mixhi_f16", executeMixed<Mixed::HighHalf>, readsDestination);
  table.add({.mnemonic = "v_pk_mov_b32",
             .execute = executePackedMove,
             .modified = executePackedMove,
             .types = allOf(DataType::B32)});
}

//===-- Dot products ---------------------------------------------------------------------------------------------===//

double decodeHalf(uint32_t code) {
  return float(fromBits<half>(code));
}
double decodeBrain(uint32_t code) {
  return fromBf16(uint16_t(code));
}

/// In one rounding: the products are exact, and their sum nearly is.
template <double (*decode)(uint32_t)>
float dotPair(uint32_t aLow, uint32_t aHigh, uint32_t bLow, uint32_t bHigh, float c) {
  return float(decode(aLow) * decode(bLow) + decode(aHigh) * decode(bHigh) + double(c));
}

template <double (*decode)(uint32_t)>
void executeDotPair(Wave &wave, const Instruction &instruction) {
  Parts a, b;
  readParts(wave, instruction, 1, 0, DataType::B16, a);
  readParts(wave, instruction, 2, 1, DataType::B16, b);
  Rows storage, result;
  const uint32_t *c = readRow(wave, instruction.operands[3], 0, storage.low);
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    result.low[lane] =
        bitsOf(dotPair<decode>(a.low[lane], a.high[lane], b.low[lane], b.high[lane], std::bit_cast<float>(c[lane])));
  applyOutputModifiers(wave.mode, instruction.modifiers, DataType::F32, result);
  writeRow(wave, instruction.operands[0], 0, result.low);
}

template <double (*decode)(uint32_t)>
constexpr auto accumulatePair =
    [](uint32_t a, uint32_t b, float c) { return dotPair<decode>(a & 0xFFFF, a >> 16, b & 0xFFFF, b >> 16, c); };

/// Element `index` of `bits` bits.
template <unsigned bits>
int64_t element(uint32_t packed, unsigned index, bool isSigned) {
  uint32_t left = packed << (32 - bits - bits * index);
  return isSigned ? int64_t(int32_t(left) >> (32 - bits)) : int64_t(left >> (32 - bits));
}
template <typename T, unsigned bits>
int64_t integerDot(uint32_t a, uint32_t b, T c) {
  int64_t sum = c;
  for (unsigned index = 0; index < 32 / bits; ++index)
    sum += element<bits>(a, index, std::is_signed_v<T>) * element<bits>(b, index, std::is_signed_v<T>);
  return sum;
}
template <typename T, unsigned bits>
constexpr auto dot = [](uint32_t a, uint32_t b, T c) { return T(integerDot<T, bits>(a, b, c)); };
template <typename T, unsigned bits>
constexpr auto dotSaturated = [](uint32_t a, uint32_t b, T c) { return saturated<T>(integerDot<T, bits>(a, b, c)); };

template <typename T, unsigned bits>
void addIntegerDot(InstructionTable &table, const char *name) {
  table.add(saturatingRow<dot<T, bits>, dotSaturated<T, bits>>(name));
}
template <unsigned bits>
void addAccumulatingDot(InstructionTable &table, const char *name) {
  InstructionRow row =
      saturatingRow<dot<int32_t, bits>, dotSaturated<int32_t, bits>, Last::Destination>(name, readsDestination);
  table.add(row);
}

void addDots(InstructionTable &table) {
  addIntegerDot<int32_t, 16>(table, "v_dot2_i32_i16");
  addIntegerDot<uint32_t, 16>(table, "v_dot2_u32_u16");
  addIntegerDot<int32_t, 8>(table, "v_dot4_i32_i8");
  addIntegerDot<uint32_t, 8>(table, "v_dot4_u32_u8");
  addIntegerDot<int32_t, 4>(table, "v_dot8_i32_i4");
  addIntegerDot<uint32_t, 4>(table, "v_dot8_u32_u4");
  addAccumulatingDot<16>(table, "v_dot2c_i32_i16");
  addAccumulatingDot<8>(table, "v_dot4c_i32_i8");
  addAccumulatingDot<4>(table, "v_dot8c_i32_i4");
  table.add(accumulatingRow<accumulatePair<decodeHalf>>("v_dot2c_f32_f16"));
  InstructionRow brain = accumulatingRow<accumulatePair<decodeBrain>>("v_dot2c_f32_bf16");
  brain.chips = ChipSet::Gfx950;
  table.add(brain);
  OperandTypes types{DataType::F32, DataType::B32, DataType::B32, DataType::F32};
  Execute dotHalf = executeDotPair<decodeHalf>, dotBrain = executeDotPair<decodeBrain>;
  table.add({.mnemonic = "v_dot2_f32_f16", .execute = dotHalf, .modified = dotHalf, .types = types});
  table.add({.mnemonic = "v_dot2_f32_bf16",
             .execute = dotBrain,
             .modified = dotBrain,
             .types = types,
             .chips = ChipSet::Gfx950});
}

} // namespace

void addVectorPacked(InstructionTable &table) {
  addFloats(table);
  addIntegers(table);
  addMixed(table);
  addDots(table);
}

} // namespace heddle::simulator
