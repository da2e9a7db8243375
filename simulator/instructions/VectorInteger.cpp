// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integer arithmetic of one value a lane. With clamp, sums and products saturate. Sources: AMD Instinct MI300 (CDNA3)
// and CDNA4 Instruction Set Architecture, VOP2, VOP3.
#include "simulator/instructions/Families.h"
#include "simulator/instructions/VectorFrame.h"
#include <algorithm>
#include <limits>

namespace heddle::simulator {
namespace {

/// `exact`, which is wider than T, at the nearest value of T.
template <typename T>
T saturate(int64_t exact) {
  constexpr int64_t least = std::numeric_limits<T>::min(), greatest = std::numeric_limits<T>::max();
  return T(exact < least ? least : exact > greatest ? greatest : exact);
}

// Sums and products wrap: they are computed on unsigned numbers, for which C++ defines that.
template <typename T>
constexpr auto add = [](T a, T b) { return T(uint32_t(a) + uint32_t(b)); };
template <typename T>
constexpr auto addSaturated = [](T a, T b) { return saturate<T>(int64_t(a) + int64_t(b)); };
template <typename T>
constexpr auto subtract = [](T a, T b) { return T(uint32_t(a) - uint32_t(b)); };
template <typename T>
constexpr auto subtractSaturated = [](T a, T b) { return saturate<T>(int64_t(a) - int64_t(b)); };
template <typename T>
constexpr auto subtractReversed = [](T a, T b) { return T(uint32_t(b) - uint32_t(a)); };
template <typename T>
constexpr auto subtractReversedSaturated = [](T a, T b) { return saturate<T>(int64_t(b) - int64_t(a)); };
template <typename T>
constexpr auto minimum = [](T a, T b) { return std::min(a, b); };
template <typename T>
constexpr auto maximum = [](T a, T b) { return std::max(a, b); };
template <typename T>
constexpr auto minimum3 = [](T a, T b, T c) { return std::min(std::min(a, b), c); };
template <typename T>
constexpr auto maximum3 = [](T a, T b, T c) { return std::max(std::max(a, b), c); };
template <typename T>
constexpr auto median3 = [](T a, T b, T c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); };
template <typename T>
constexpr auto multiplyAdd16 = [](T a, T b, T c) { return T(uint32_t(a) * uint32_t(b) + uint32_t(c)); };
template <typename T>
constexpr auto multiplyAdd16Saturated = [](T a, T b, T c) { return saturate<T>(int64_t(a) * b + c); };

int32_t low24(int32_t value) {
  return int32_t(uint32_t(value) << 8) >> 8;
}
uint32_t low24(uint32_t value) {
  return value & 0xFFFFFF;
}

void addSums(InstructionTable &table) {
  table.add(saturatingRow<add<uint32_t>, addSaturated<uint32_t>>("v_add_u32"));
  table.add(saturatingRow<add<int32_t>, addSaturated<int32_t>>("v_add_i32"));
  table.add(saturatingRow<add<uint16_t>, addSaturated<uint16_t>>("v_add_u16"));
  table.add(saturatingRow<add<int16_t>, addSaturated<int16_t>>("v_add_i16", keepsHighHalf));
  table.add(saturatingRow<subtract<uint32_t>, subtractSaturated<uint32_t>>("v_sub_u32"));
  table.add(saturatingRow<subtract<int32_t>, subtractSaturated<int32_t>>("v_sub_i32"));
  table.add(saturatingRow<subtract<uint16_t>, subtractSaturated<uint16_t>>("v_sub_u16"));
  table.add(saturatingRow<subtract<int16_t>, subtractSaturated<int16_t>>("v_sub_i16", keepsHighHalf));
  table.add(saturatingRow<subtractReversed<uint32_t>, subtractReversedSaturated<uint32_t>>("v_subrev_u32"));
  table.add(saturatingRow<subtractReversed<uint16_t>, subtractReversedSaturated<uint16_t>>("v_subrev_u16"));
  table.add(laneRow<[](uint32_t a, uint32_t b, uint32_t c) { return a + b + c; }>("v_add3_u32"));
  table.add(laneRow<[](uint32_t a, uint32_t b, uint32_t c) { return (a + b) << (c & 31); }>("v_add_lshl_u32"));
  table.add(laneRow<[](uint32_t a, uint32_t b, uint32_t c) { return (a << (b & 31)) + c; }>("v_lshl_add_u32"));
  // Amounts beyond 4 count as 0.
  table.add(laneRow<[](uint64_t a, uint32_t b, uint64_t c) { return (b <= 4 ? a << b : a) + c; }>("v_lshl_add_u64"));
  table.add(laneRow<[](uint32_t a, uint32_t b, uint32_t c) { return (a ^ b) + c; }>("v_xad_u32"));
}

constexpr auto carryOut = [](uint64_t exact) { return WithMask<uint32_t>{uint32_t(exact), (exact >> 32) != 0}; };

void addCarries(InstructionTable &table) {
  table.add(laneRow<[](uint32_t a, uint32_t b) { return carryOut(uint64_t(a) + b); }>("v_add_co_u32"));
  table.add(laneRow<[](uint32_t a, uint32_t b) { return carryOut(uint64_t(a) - b); }>("v_sub_co_u32"));
  table.add(laneRow<[](uint32_t a, uint32_t b) { return carryOut(uint64_t(b) - a); }>("v_subrev_co_u32"));
  table.add(laneRow<[](uint32_t a, uint32_t b, bool c) { return carryOut(uint64_t(a) + b + c); }>("v_addc_co_u32"));
  table.add(laneRow<[](uint32_t a, uint32_t b, bool c) { return carryOut(uint64_t(a) - b - c); }>("v_subb_co_u32"));
  table.add(laneRow<[](uint32_t a, uint32_t b, bool c) { return carryOut(uint64_t(b) - a - c); }>("v_subbrev_co_u32"));
}

void addProducts(InstructionTable &table) {
  table.add(laneRow<[](uint32_t a, uint32_t b) { return a * b; }>("v_mul_lo_u32"));
  table.add(laneRow<[](uint32_t a, uint32_t b) { return uint32_t(uint64_t(a) * b >> 32); }>("v_mul_hi_u32"));
  table.add(laneRow<[](int32_t a, int32_t b) { return int32_t(int64_t(a) * b >> 32); }>("v_mul_hi_i32"));
  table.add(laneRow<[](uint16_t a, uint16_t b) { return uint16_t(uint32_t(a) * b); }>("v_mul_lo_u16"));
  table.add(laneRow<[](int32_t a, int32_t b) { return int32_t(int64_t(low24(a)) * low24(b)); }>("v_mul_i32_i24"));
  table.add(laneRow<[](uint32_t a, uint32_t b) { return low24(a) * low24(b); }>("v_mul_u32_u24"));
  table.add(
      laneRow<[](int32_t a, int32_t b) { return int32_t(int64_t(low24(a)) * low24(b) >> 32); }>("v_mul_hi_i32_i24"));
  table.add(laneRow<[](uint32_t a, uint32_t b) { return uint32_t(uint64_t(low24(a)) * low24(b) >> 32); }>(
      "v_mul_hi_u32_u24"));
  table.add(saturatingRow<[](int32_t a, int32_t b, int32_t c) { return int32_t(int64_t(low24(a)) * low24(b) + c); },
                          [](int32_t a, int32_t b, int32_t c) {
                            return saturate<int32_t>(int64_t(low24(a)) * low24(b) + c);
                          }>("v_mad_i32_i24"));
  table.add(saturatingRow<[](uint32_t a, uint32_t b, uint32_t c) { return low24(a) * low24(b) + c; },
                          [](uint32_t a, uint32_t b, uint32_t c) {
                            return saturate<uint32_t>(int64_t(low24(a)) * low24(b) + c);
                          }>("v_mad_u32_u24"));
  table.add(saturatingRow<multiplyAdd16<uint16_t>, multiplyAdd16Saturated<uint16_t>>("v_mad_u16", keepsHighHalf));
  table.add(saturatingRow<multiplyAdd16<int16_t>, multiplyAdd16Saturated<int16_t>>("v_mad_i16", keepsHighHalf));
  table.add(saturatingRow<multiplyAdd16<uint16_t>, multiplyAdd16Saturated<uint16_t>>("v_mad_legacy_u16"));
  table.add(saturatingRow<multiplyAdd16<int16_t>, multiplyAdd16Saturated<int16_t>>("v_mad_legacy_i16"));
  table.add(saturatingRow<[](uint16_t a, uint16_t b, uint32_t c) { return uint32_t(a) * b + c; },
                          [](uint16_t a, uint16_t b, uint32_t c) { return saturate<uint32_t>(int64_t(a) * b + c); }>(
      "v_mad_u32_u16"));
  table.add(saturatingRow<[](int16_t a, int16_t b, int32_t c) { return int32_t(int64_t(a) * b + c); },
                          [](int16_t a, int16_t b, int32_t c) { return saturate<int32_t>(int64_t(a) * b + c); }>(
      "v_mad_i32_i16"));
  table.add(laneRow<[](uint32_t a, uint32_t b, uint64_t c) {
    uint64_t sum = uint64_t(a) * b + c;
    return WithMask<uint64_t>{sum, sum < c};
  }>("v_mad_u64_u32"));
  table.add(laneRow<[](int32_t a, int32_t b, int64_t c) {
    int64_t sum;
    bool overflow = __builtin_add_overflow(int64_t(a) * b, c, &sum);
    return WithMask<int64_t>{sum, overflow};
  }>("v_mad_i64_i32"));
}

template <typename T>
void addExtremesOf(InstructionTable &table, const char *minimumName, const char *maximumName) {
  table.add(laneRow<minimum<T>>(minimumName));
  table.add(laneRow<maximum<T>>(maximumName));
}
template <typename T>
void addExtremes3Of(InstructionTable &table, const char *minimumName, const char *maximumName, const char *medianName) {
  uint16_t implicit = sizeof(T) == 2 ? keepsHighHalf : 0;
  table.add(laneRow<minimum3<T>>(minimumName, implicit));
  table.add(laneRow<maximum3<T>>(maximumName, implicit));
  table.add(laneRow<median3<T>>(medianName, implicit));
}

void addExtremes(InstructionTable &table) {
  addExtremesOf<uint16_t>(table, "v_min_u16", "v_max_u16");
  addExtremesOf<int16_t>(table, "v_min_i16", "v_max_i16");
  addExtremesOf<uint32_t>(table, "v_min_u32", "v_max_u32");
  addExtremesOf<int32_t>(table, "v_min_i32", "v_max_i32");
  addExtremes3Of<uint16_t>(table, "v_min3_u16", "v_max3_u16", "v_med3_u16");
  addExtremes3Of<int16_t>(table, "v_min3_i16", "v_max3_i16", "v_med3_i16");
  addExtremes3Of<uint32_t>(table, "v_min3_u32", "v_max3_u32", "v_med3_u32");
  addExtremes3Of<int32_t>(table, "v_min3_i32", "v_max3_i32", "v_med3_i32");
}

} // namespace

void addVectorInteger(InstructionTable &table) {
  addSums(table);
  addCarries(table);
  addProducts(table);
  addExtremes(table);
}

} // namespace heddle::simulator
