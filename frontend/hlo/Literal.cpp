// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Text and bytes of single elements. Wide floating types go through support/ElementType.h; the 4- and 8-bit floating
// formats are small enough to be searched code by code.
#include "frontend/hlo/Literal.h"
#include "support/ElementType.h"
#include "support/Error.h"
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>

namespace heddle::hlo {
namespace {

constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

using enum DType;
constexpr auto smallFloats = std::to_array<SmallFloat>({
    {F8E4M3, 4, 3, 7, 0x78, 0x7c},
    {F8E4M3FN, 4, 3, 7, -1, 0x7f},
    {F8E4M3FNUZ, 4, 3, 8, -1, 0x80, true, true},
    {F8E4M3B11FNUZ, 4, 3, 11, -1, 0x80, true, true},
    {F8E5M2, 5, 2, 15, 0x7c, 0x7e},
    {F8E5M2FNUZ, 5, 2, 16, -1, 0x80, true, true},
    {F8E3M4, 3, 4, 3, 0x70, 0x78},
    {F8E8M0FNU, 8, 0, 127, -1, 0xff, false},
    {F4E2M1FN, 2, 1, 1, -1, -1},
});

} // namespace

const SmallFloat *findSmallFloat(DType type) {
  for (const SmallFloat &format : smallFloats)
    if (format.type == type)
      return &format;
  return nullptr;
}

namespace {

double decode(const SmallFloat &format, int code) {
  int signBit = format.hasSign ? 1 << (format.exponentBits + format.mantissaBits) : 0;
  int magnitude = code & ~signBit;
  double sign = code & signBit ? -1.0 : 1.0;
  if (format.nanIsNegativeZero ? code == format.nan : format.nan >= 0 && magnitude >= format.nan)
    return std::copysign(notANumber, sign);
  if (format.infinity >= 0 && magnitude >= format.infinity)
    return magnitude == format.infinity ? sign * std::numeric_limits<double>::infinity() : notANumber;
  int exponent = magnitude >> format.mantissaBits, mantissa = magnitude & ((1 << format.mantissaBits) - 1);
  bool subnormal = exponent == 0 && format.hasSign;
  if (!subnormal)
    mantissa += 1 << format.mantissaBits;
  return sign * std::ldexp(mantissa, (subnormal ? 1 : exponent) - format.bias - format.mantissaBits);
}

/// The code of a NaN, or of the nearest value, the even one of two equally near; -1 when the format has no NaN, no
/// infinity, or the value lies beyond the largest one by more than half a step.
int encode(const SmallFloat &format, double value) {
  int signBit = format.hasSign ? 1 << (format.exponentBits + format.mantissaBits) : 0;
  bool negative = std::signbit(value);
  if (std::isnan(value))
    return format.nan < 0 || format.nanIsNegativeZero || !negative ? format.nan : format.nan | signBit;
  if (negative && !format.hasSign)
    return -1;
  double magnitude = std::fabs(value);
  if (std::isinf(value))
    return format.infinity < 0 ? -1 : format.infinity | (negative ? signBit : 0);
  int best = -1;
  double bestDistance = 0, largest = 0, beforeLargest = 0;
  for (int code = 0; code < (format.hasSign ? signBit : 256); ++code) {
    double candidate = decode(format, code);
    if (!std::isfinite(candidate))
      continue;
    beforeLargest = std::exchange(largest, candidate);
    double distance = std::fabs(candidate - magnitude);
    if (best < 0 || distance < bestDistance || (distance == bestDistance && code % 2 == 0))
      best = code, bestDistance = distance;
  }
  // `best` is the largest code here. Half a step beyond it goes to the even one of it and what would come next.
  double beyond = magnitude - largest, half = (largest - beforeLargest) / 2;
  if (beyond > half || (beyond == half && best % 2 != 0))
    return -1;
  return negative && !(best == 0 && format.nanIsNegativeZero) ? best | signBit : best;
}

} // namespace

double largestOf(const SmallFloat &format) {
  double largest = 0;
  for (int code = 0; code < (format.hasSign ? 1 << (format.exponentBits + format.mantissaBits) : 256); ++code)
    if (double value = decode(format, code); std::isfinite(value))
      largest = std::max(largest, value);
  return largest;
}

int nearestCode(const SmallFloat &format, double value) {
  int code = encode(format, value);
  return code >= 0 ? code : encode(format, std::copysign(largestOf(format), value));
}

namespace {

/// Our element type of the same bits, for the floating types that have one.
std::optional<ElementType> storageOf(DType type) {
  switch (type) {
  case F16:
    return ElementType::F16;
  case BF16:
    return ElementType::BF16;
  case F32:
    return ElementType::F32;
  case F64:
    return ElementType::F64;
  default:
    return std::nullopt;
  }
}

Error doesNotFit(DType type, std::string_view text) {
  return inputError(fmt::format("{} does not fit {}", text, dtypeName(type)));
}

double parseDouble(DType type, std::string_view text) {
  double value = 0;
  auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (stop != text.data() + text.size() || (status != std::errc() && status != std::errc::result_out_of_range))
    throw inputError(fmt::format("'{}' is not a number of type {}", text.substr(0, 60), dtypeName(type)));
  if (status == std::errc::result_out_of_range)
    throw doesNotFit(type, text.substr(0, 60));
  return value;
}

/// The integer of `text` in 65 bits.
__int128 parseInteger(DType type, std::string_view text) {
  bool negative = text.starts_with('-');
  std::string_view digits = text.substr(negative);
  uint64_t magnitude = 0;
  auto [stop, status] = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude);
  if (stop != digits.data() + digits.size() || status == std::errc::invalid_argument)
    throw inputError(fmt::format("'{}' is not a number of type {}", text.substr(0, 60), dtypeName(type)));
  if (status != std::errc())
    throw doesNotFit(type, text.substr(0, 60));
  return negative ? -__int128(magnitude) : __int128(magnitude);
}

void appendInteger(DType type, std::string_view text, std::string &bytes) {
  if (type == Pred && (text == "true" || text == "false"))
    text = text == "true" ? "1" : "0";
  __int128 value = parseInteger(type, text);
  int bits = type == Pred ? 1 : bitWidth(type);
  __int128 low = isSignedInteger(type) ? -(__int128(1) << (bits - 1)) : 0;
  if (value < low || value >= low + (__int128(1) << bits))
    throw doesNotFit(type, text);
  auto element = int64_t(value);
  bytes.append(reinterpret_cast<const char *>(&element), size_t(elementSizeBytes(type))); // little endian
}

std::string formatInteger(DType type, const void *source) {
  uint64_t bits = 0;
  std::memcpy(&bits, source, size_t(elementSizeBytes(type)));
  int unused = 64 - 8 * int(elementSizeBytes(type));
  return isSignedInteger(type) ? std::to_string(int64_t(bits << unused) >> unused) : std::to_string(bits);
}

std::string formatComplex(DType type, const char *source) {
  DType part = type == C64 ? F32 : F64;
  return fmt::format("({}, {})", formatElement(part, source), formatElement(part, source + elementSizeBytes(part)));
}

void formatNested(const Shape &shape, size_t dimension, const char *&next, std::string &text) {
  if (dimension == shape.dimensions.size()) {
    text += formatElement(shape.type, next);
    next += elementSizeBytes(shape.type);
    return;
  }
  text += "{";
  for (int64_t i = 0; i < shape.dimensions[dimension]; ++i) {
    text += i ? ", " : "";
    formatNested(shape, dimension + 1, next, text);
  }
  text += "}";
}

} // namespace

void appendElement(DType type, std::string_view text, std::string &bytes) {
  if (const SmallFloat *format = findSmallFloat(type)) {
    int code = encode(*format, parseDouble(type, text));
    if (code < 0)
      throw doesNotFit(type, text);
    bytes += char(code);
  } else if (auto storage = storageOf(type)) {
    uint64_t bits = parseScalar(*storage, text);
    bytes.append(reinterpret_cast<const char *>(&bits), size_t(elementSizeBytes(type))); // little endian
  } else {
    appendInteger(type, text, bytes);
  }
}

std::string formatElement(DType type, const void *source) {
  auto code = *static_cast<const unsigned char *>(source);
  if (isComplex(type))
    return formatComplex(type, static_cast<const char *>(source));
  if (const SmallFloat *format = findSmallFloat(type))
    return fmt::format("{}", decode(*format, code));
  if (type == Pred)
    return code ? "true" : "false";
  if (auto storage = storageOf(type))
    return heddle::formatElement(*storage, source);
  return formatInteger(type, source);
}

std::string formatLiteral(const Shape &shape, std::string_view bytes) {
  const char *next = bytes.data();
  std::string text;
  formatNested(shape, 0, next, text);
  return text;
}

} // namespace heddle::hlo
