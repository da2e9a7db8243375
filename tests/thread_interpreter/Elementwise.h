// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Handlers of element-wise operations, made from functions of scalars; and the scalars' formats.
#pragma once
#include "tests/reference/SoftFloat.h"
#include "tests/thread_interpreter/Machine.h"
#include <cmath>

namespace heddle::threads {

inline float halfToFloat(uint64_t bits) {
  uint32_t sign = (bits & 0x8000) << 16, magnitude = bits & 0x7fff;
  if (magnitude >= 0x7c00)
    return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  // The exponent field is 112 too small; the product is exact, also for subnormal numbers.
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude << 13) * 0x1p112f));
}

inline uint64_t floatToHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  if (bits > 0x7f800000)
    return 0x7fff;
  if (bits >= 0x477ff000) // 65520 and above
    return sign | 0x7c00;
  if (bits < 0x38800000) // subnormal: the addition rounds to multiples of 2^-24
    return sign | (std::bit_cast<uint32_t>(std::bit_cast<float>(bits) + 0.5f) - 0x3f000000);
  bits += 0xfff + (bits >> 13 & 1);
  return sign | (bits - 0x38000000) >> 13;
}

inline float bfloatToFloat(uint64_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}
inline uint64_t floatToBfloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return 0x7fff;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/// A format: `Exact` is a type in which one operation, rounded again, is the format's own operation.
struct F16 {
  using Exact = float;
  static constexpr const reference::FloatFormat &format = reference::formatF16;
  static float get(uint64_t bits) { return halfToFloat(bits); }
  static uint64_t put(float value) { return floatToHalf(value); }
  static uint64_t round(double value) { return reference::encode(format, value); }
};
struct BF16 {
  using Exact = float;
  static constexpr const reference::FloatFormat &format = reference::formatBF16;
  static float get(uint64_t bits) { return bfloatToFloat(bits); }
  static uint64_t put(float value) { return floatToBfloat(value); }
  static uint64_t round(double value) { return reference::encode(format, value); }
};
struct F32 {
  using Exact = float;
  static float get(uint64_t bits) { return std::bit_cast<float>(uint32_t(bits)); }
  static uint64_t put(float value) { return std::bit_cast<uint32_t>(value); }
  static uint64_t round(double value) { return put(float(value)); }
};
struct F64 {
  using Exact = double;
  static double get(uint64_t bits) { return std::bit_cast<double>(bits); }
  static uint64_t put(double value) { return std::bit_cast<uint64_t>(value); }
  static uint64_t round(double value) { return put(value); }
};

inline int64_t toSigned(const Op &op, uint64_t value) {
  unsigned shift = 64 - op.width;
  return int64_t(value << shift) >> shift;
}

/// Handlers of functions from operands' bits to the result's bits: f(op, a, ...).
template <auto Function>
Flow unary(Warp &warp, const Op &op) {
  const uint64_t *a = warp.reg(op.in[0]);
  uint64_t *__restrict result = warp.reg(op.out[0]);
  eachLane(warp.active, [&](unsigned lane) { result[lane] = Function(op, a[lane]); });
  return Flow::Next;
}
template <auto Function>
Flow binary(Warp &warp, const Op &op) {
  const uint64_t *a = warp.reg(op.in[0]), *b = warp.reg(op.in[1]);
  uint64_t *__restrict result = warp.reg(op.out[0]);
  eachLane(warp.active, [&](unsigned lane) { result[lane] = Function(op, a[lane], b[lane]); });
  return Flow::Next;
}
template <auto Function>
Flow ternary(Warp &warp, const Op &op) {
  const uint64_t *a = warp.reg(op.in[0]), *b = warp.reg(op.in[1]), *c = warp.reg(op.in[2]);
  uint64_t *__restrict result = warp.reg(op.out[0]);
  eachLane(warp.active, [&](unsigned lane) { result[lane] = Function(op, a[lane], b[lane], c[lane]); });
  return Flow::Next;
}

/// Rows from a generic lambda on Format::Exact values.
template <auto Function>
Entry floatUnary(std::string_view name) {
  constexpr auto lift = []<class T>(T) {
    return &unary<[](const Op &, uint64_t a) { return T::put(Function(T::get(a))); }>;
  };
  return {name, {nullptr, lift(F16{}), lift(BF16{}), lift(F32{}), lift(F64{})}};
}
template <auto Function>
Entry floatBinary(std::string_view name) {
  constexpr auto lift = []<class T>(T) {
    return &binary<[](const Op &, uint64_t a, uint64_t b) { return T::put(Function(T::get(a), T::get(b))); }>;
  };
  return {name, {nullptr, lift(F16{}), lift(BF16{}), lift(F32{}), lift(F64{})}};
}
template <auto Function>
Entry floatCompare(std::string_view name) {
  constexpr auto lift = []<class T>(T) {
    return &binary<[](const Op &, uint64_t a, uint64_t b) { return uint64_t(Function(T::get(a), T::get(b))); }>;
  };
  return {name, {nullptr, lift(F16{}), lift(BF16{}), lift(F32{}), lift(F64{})}};
}
/// A function of doubles, rounded once.
template <auto Function>
Entry roundedUnary(std::string_view name) {
  constexpr auto lift = []<class T>(T) {
    return &unary<[](const Op &, uint64_t a) { return T::round(Function(double(T::get(a)))); }>;
  };
  return {name, {nullptr, lift(F16{}), lift(BF16{}), lift(F32{}), lift(F64{})}};
}

} // namespace heddle::threads
