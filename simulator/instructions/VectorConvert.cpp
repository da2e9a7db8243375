// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversions without a scale. 8-bit floats are FNUZ on gfx942 and OCP on gfx950. Sources: AMD Instinct MI300 (CDNA3)
// and CDNA4 Instruction Set Architecture, VOP1, VOP3.
#include "simulator/instructions/Families.h"
#include "simulator/instructions/VectorFrame.h"
#include "simulator/numbers/Conversions.h"

namespace heddle::simulator {
namespace {

using half = _Float16;

template <typename To, typename From>
constexpr auto convert = [](From a) { return To(a); };
template <typename To, typename From>
constexpr auto toWhole = [](From a) { return toInteger<To>(a); };
template <unsigned byte>
constexpr auto byteToFloat = [](uint32_t a) { return float(a >> (8 * byte) & 0xFF); };
template <typename To, typename From>
constexpr auto saturatedPair =
    [](From a, From b) { return uint32_t(uint16_t(saturated<To>(b))) << 16 | uint16_t(saturated<To>(a)); };
template <typename To, typename From> // [-1, 1] or [0, 1] onto the integers
constexpr auto normalized =
    [](From a) { return toInteger<To>(nearestEven(double(float(a)) * double(std::numeric_limits<To>::max()))); };
template <typename To, typename From>
constexpr auto normalizedPair = [](From a, From b) {
  return uint32_t(uint16_t(normalized<To, From>(b))) << 16 | uint16_t(normalized<To, From>(a));
};
constexpr auto insertByte = [](float a, uint32_t byte, uint32_t rest) {
  unsigned shift = 8 * (byte & 3);
  return (rest & ~(0xFFu << shift)) | uint32_t(saturated<uint8_t>(toInteger<int32_t>(a))) << shift;
};

void addNumbers(InstructionTable &table) {
  table.add(laneRow<convert<half, float>>("v_cvt_f16_f32"));
  table.add(laneRow<[](int16_t a) { return half(float(a)); }>("v_cvt_f16_i16"));
  table.add(laneRow<[](uint16_t a) { return half(float(a)); }>("v_cvt_f16_u16"));
  table.add(laneRow<convert<float, half>>("v_cvt_f32_f16"));
  table.add(laneRow<convert<float, double>>("v_cvt_f32_f64"));
  table.add(laneRow<convert<float, int32_t>>("v_cvt_f32_i32"));
  table.add(laneRow<convert<float, uint32_t>>("v_cvt_f32_u32"));
  table.add(laneRow<convert<double, float>>("v_cvt_f64_f32"));
  table.add(laneRow<convert<double, int32_t>>("v_cvt_f64_i32"));
  table.add(laneRow<convert<double, uint32_t>>("v_cvt_f64_u32"));
  table.add(laneRow<toWhole<int16_t, half>>("v_cvt_i16_f16"));
  table.add(laneRow<toWhole<uint16_t, half>>("v_cvt_u16_f16"));
  table.add(laneRow<toWhole<int32_t, float>>("v_cvt_i32_f32"));
  table.add(laneRow<toWhole<uint32_t, float>>("v_cvt_u32_f32"));
  table.add(laneRow<toWhole<int32_t, double>>("v_cvt_i32_f64"));
  table.add(laneRow<toWhole<uint32_t, double>>("v_cvt_u32_f64"));
  table.add(laneRow<[](float a) { return toInteger<int32_t>(floorOf(a)); }>("v_cvt_flr_i32_f32"));
  table.add(laneRow<[](float a) { return toInteger<int32_t>(floorOf(double(a) + 0.5)); }>("v_cvt_rpi_i32_f32"));
  table.add(laneRow<byteToFloat<0>>("v_cvt_f32_ubyte0"));
  table.add(laneRow<byteToFloat<1>>("v_cvt_f32_ubyte1"));
  table.add(laneRow<byteToFloat<2>>("v_cvt_f32_ubyte2"));
  table.add(laneRow<byteToFloat<3>>("v_cvt_f32_ubyte3"));
  table.add(laneRow<[](uint32_t a) { return float(int32_t(a << 28) >> 28) / 16; }>("v_cvt_off_f32_i4"));
}

void addPacking(InstructionTable &table) {
  table.add(laneRow<normalized<int16_t, half>>("v_cvt_norm_i16_f16"));
  table.add(laneRow<normalized<uint16_t, half>>("v_cvt_norm_u16_f16"));
  table.add(laneRow<normalizedPair<int16_t, half>>("v_cvt_pknorm_i16_f16"));
  table.add(laneRow<normalizedPair<uint16_t, half>>("v_cvt_pknorm_u16_f16"));
  table.add(laneRow<normalizedPair<int16_t, float>>("v_cvt_pknorm_i16_f32"));
  table.add(laneRow<normalizedPair<uint16_t, float>>("v_cvt_pknorm_u16_f32"));
  table.add(laneRow<saturatedPair<int16_t, int32_t>>("v_cvt_pk_i16_i32"));
  table.add(laneRow<saturatedPair<uint16_t, uint32_t>>("v_cvt_pk_u16_u32"));
  table.add(laneRow<insertByte>("v_cvt_pk_u8_f32"));
  table.add(accumulatingRow<insertByte>("v_cvt_pkaccum_u8_f32"));
  table.add(laneRow<[](uint32_t a) {
    return uint32_t(saturated<uint8_t>(int16_t(a)) | saturated<uint8_t>(int16_t(a >> 16)) << 8);
  }>("v_sat_pk_u8_i16"));
  table.add(laneRow<[](float a, float b) {
    auto cut = [](float value) { return encodeFloat(f16, value, Overflow::Special, Rounding::TowardZero); };
    return cut(b) << 16 | cut(a);
  }>("v_cvt_pkrtz_f16_f32"));
}

void addSmallFloats(InstructionTable &table) {
  auto only950 = [&table](InstructionRow row) {
    row.chips = ChipSet::Gfx950;
    table.add(row);
  };
  only950(laneRow<[](uint16_t a) { return fromBf16(a); }>("v_cvt_f32_bf16"));
  only950(laneRow<[](float a, float b) { return uint32_t(toBf16(b)) << 16 | toBf16(a); }>("v_cvt_pk_bf16_f32"));
  only950(
      laneRow<[](float a, float b) { return uint32_t(bitsOf(half(b))) << 16 | bitsOf(half(a)); }>("v_cvt_pk_f16_f32"));
  only950(laneRow<[](float a, uint32_t random) { return uint16_t(encodeFloatStochastic(f16, a, random)); }>(
      "v_cvt_sr_f16_f32", keepsHighHalf));
  only950(laneRow<[](float a, uint32_t random) { return uint16_t(encodeFloatStochastic(bf16, a, random)); }>(
      "v_cvt_sr_bf16_f32", keepsHighHalf));
  only950(laneRow<[](int32_t a, int32_t b, uint32_t shift) {
    return uint16_t(uint8_t(saturated<int8_t>(a >> (shift & 31))) | uint8_t(saturated<int8_t>(b >> (shift & 31))) << 8);
  }>("v_ashr_pk_i8_i32", keepsHighHalf));
  only950(laneRow<[](int32_t a, int32_t b, uint32_t shift) {
    return uint16_t(saturated<uint8_t>(a >> (shift & 31)) | saturated<uint8_t>(b >> (shift & 31)) << 8);
  }>("v_ashr_pk_u8_i32", keepsHighHalf));
}

template <FloatFormat format, Overflow overflow>
constexpr auto pack8 = [](float a, float b) {
  return uint16_t(encodeNearest(format, a, overflow) | encodeNearest(format, b, overflow) << 8);
};
template <FloatFormat format, Overflow overflow>
constexpr auto stochastic8 =
    [](float a, uint32_t random) { return PlacedByte{encodeFloatStochastic(format, a, random, overflow)}; };
template <FloatFormat format>
constexpr auto unpack8 = [](uint32_t code) { return decodeTable(format)[code & 0xFF]; };
template <FloatFormat format>
constexpr auto unpackPair8 = [](uint16_t codes) {
  const auto &values = decodeTable(format);
  return uint64_t(bitsOf(values[codes >> 8])) << 32 | bitsOf(values[codes & 0xFF]);
};

/// The instructions of one 8-bit format, whose name in them is `fp8` or `bf8`.
template <FloatFormat format>
void addFormat8(InstructionTable &table, ChipSet chip, std::array<const char *, 4> names) {
  auto add = [&](InstructionRow row) {
    row.chips = chip;
    table.add(row);
  };
  add(overflowRow<pack8<format, Overflow::Special>, pack8<format, Overflow::Saturate>>(names[0], keepsHighHalf));
  add(overflowRow<stochastic8<format, Overflow::Special>, stochastic8<format, Overflow::Saturate>>(names[1]));
  add(laneRow<unpack8<format>>(names[2]));
  add(laneRow<unpackPair8<format>>(names[3]));
}

} // namespace

void addVectorConvert(InstructionTable &table) {
  addNumbers(table);
  addPacking(table);
  addSmallFloats(table);
  std::array fp8Names{"v_cvt_pk_fp8_f32", "v_cvt_sr_fp8_f32", "v_cvt_f32_fp8", "v_cvt_pk_f32_fp8"};
  std::array bf8Names{"v_cvt_pk_bf8_f32", "v_cvt_sr_bf8_f32", "v_cvt_f32_bf8", "v_cvt_pk_f32_bf8"};
  addFormat8<fp8Fnuz>(table, ChipSet::Gfx942, fp8Names);
  addFormat8<bf8Fnuz>(table, ChipSet::Gfx942, bf8Names);
  addFormat8<fp8Ocp>(table, ChipSet::Gfx950, fp8Names);
  addFormat8<bf8Ocp>(table, ChipSet::Gfx950, bf8Names);
}

} // namespace heddle::simulator
