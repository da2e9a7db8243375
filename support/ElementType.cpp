// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One table of types and one conversion for all narrow floating formats, driven by their exponent and mantissa widths.
#include "support/ElementType.h"
#include "support/Error.h"
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>

namespace heddle {
namespace {

enum class Kind { Float, Signed, Unsigned, Bool };

/// How a floating format spends its highest codes.
enum class Specials {
  Ieee,            ///< the highest exponent is infinity and NaN
  OneNan,          ///< `FN`: no infinity, all ones is NaN
  NegativeZeroNan, ///< `FNUZ`: no infinity, no negative zero; its code is NaN
};

struct TypeRow {
  ElementType type;
  const char *name;
  const char *numpy;
  int sizeBytes;
  Kind kind;
  int mantissaBits = 0; ///< narrow floating formats only
  int bias = 0;
  Specials specials = Specials::Ieee;
};

using enum ElementType;
constexpr std::array<TypeRow, 17> rows{{
    {F64, "f64", "<f8", 8, Kind::Float},
    {F32, "f32", "<f4", 4, Kind::Float},
    {F16, "f16", "<f2", 2, Kind::Float, 10, 15},
    {BF16, "bf16", "<u2", 2, Kind::Float, 7, 127},
    {F8E4M3FN, "f8E4M3FN", "|u1", 1, Kind::Float, 3, 7, Specials::OneNan},
    {F8E5M2, "f8E5M2", "|u1", 1, Kind::Float, 2, 15},
    {F8E4M3FNUZ, "f8E4M3FNUZ", "|u1", 1, Kind::Float, 3, 8, Specials::NegativeZeroNan},
    {F8E5M2FNUZ, "f8E5M2FNUZ", "|u1", 1, Kind::Float, 2, 16, Specials::NegativeZeroNan},
    {I64, "i64", "<i8", 8, Kind::Signed},
    {I32, "i32", "<i4", 4, Kind::Signed},
    {I16, "i16", "<i2", 2, Kind::Signed},
    {I8, "i8", "|i1", 1, Kind::Signed},
    {I1, "i1", "|b1", 1, Kind::Bool},
    {UI64, "ui64", "<u8", 8, Kind::Unsigned},
    {UI32, "ui32", "<u4", 4, Kind::Unsigned},
    {UI16, "ui16", "<u2", 2, Kind::Unsigned},
    {UI8, "ui8", "|u1", 1, Kind::Unsigned},
}};

const TypeRow &rowOf(ElementType type) {
  return rows[size_t(type)];
}

/// What NumPy and PyTorch call the type, where that is plainly another word for ours: `float32`, `bfloat16`, `uint8`.
std::string longName(const TypeRow &row) {
  std::string_view name = row.name, word;
  if (row.type == I1)
    return "bool";
  if (name.starts_with("bf"))
    word = "bfloat";
  else if (name.starts_with("ui"))
    word = "uint";
  else
    word = name[0] == 'f' ? "float" : "int";
  return std::string(word) + std::string(name.substr(name.find_first_of("0123456789")));
}

uint32_t signBit(const TypeRow &row) {
  return 1u << (row.sizeBytes * 8 - 1);
}

/// The code, without its sign, of the largest finite value.
uint32_t largestFinite(const TypeRow &row) {
  uint32_t ones = signBit(row) - 1;
  if (row.specials == Specials::NegativeZeroNan)
    return ones;
  if (row.specials == Specials::OneNan)
    return ones - 1;
  return ones - (1u << row.mantissaBits);
}

uint32_t nanCode(const TypeRow &row) {
  if (row.specials == Specials::NegativeZeroNan)
    return signBit(row);
  if (row.specials == Specials::OneNan)
    return signBit(row) - 1;
  return largestFinite(row) + 1 + (1u << (row.mantissaBits - 1));
}

double decodeNarrow(const TypeRow &row, uint32_t code) {
  uint32_t magnitude = code & (signBit(row) - 1);
  double sign = code & signBit(row) ? -1.0 : 1.0;
  if (row.specials == Specials::NegativeZeroNan && code == signBit(row))
    return std::numeric_limits<double>::quiet_NaN();
  if (magnitude > largestFinite(row)) {
    bool infinite = row.specials == Specials::Ieee && magnitude == largestFinite(row) + 1;
    return infinite ? sign * std::numeric_limits<double>::infinity()
                    : std::copysign(std::numeric_limits<double>::quiet_NaN(), sign);
  }
  int exponent = int(magnitude >> row.mantissaBits);
  int64_t mantissa = magnitude & ((1u << row.mantissaBits) - 1);
  if (exponent > 0)
    mantissa |= int64_t(1) << row.mantissaBits;
  return sign * std::ldexp(double(mantissa), std::max(exponent, 1) - row.bias - row.mantissaBits);
}

/// To nearest, ties to even, whatever the thread's rounding mode; `value` is at least zero.
double roundToEven(double value) {
  double below = std::floor(value), rest = value - below;
  bool up = rest > 0.5 || (rest == 0.5 && std::fmod(below, 2.0) != 0);
  return up ? below + 1 : below;
}

uint32_t encodeNarrow(const TypeRow &row, double value) {
  uint32_t sign = std::signbit(value) ? signBit(row) : 0;
  if (std::isnan(value))
    return row.specials == Specials::NegativeZeroNan ? nanCode(row) : sign | nanCode(row);
  uint32_t overflow = row.specials == Specials::Ieee ? largestFinite(row) + 1 : nanCode(row);
  double magnitude = std::fabs(value);
  uint32_t code = 0;
  if (std::isinf(value)) {
    code = overflow;
  } else if (magnitude > 0) {
    int exponent = std::max(std::ilogb(magnitude), 1 - row.bias);
    if (exponent + row.bias >= 1 << (row.sizeBytes * 8 - 1 - row.mantissaBits)) {
      code = overflow;
    } else {
      // A mantissa that rounds up to the next power of two carries into the exponent field by itself.
      auto mantissa = uint32_t(roundToEven(std::ldexp(magnitude, row.mantissaBits - exponent)));
      code = (uint32_t(exponent + row.bias - 1) << row.mantissaBits) + mantissa;
      if (code > largestFinite(row))
        code = overflow;
    }
  }
  if (row.specials == Specials::NegativeZeroNan && (code == 0 || code == nanCode(row)))
    return code;
  return sign | code;
}

uint64_t loadBits(const TypeRow &row, const void *source) {
  uint64_t bits = 0;
  std::memcpy(&bits, source, size_t(row.sizeBytes)); // little endian
  return bits;
}

void storeBits(const TypeRow &row, uint64_t bits, void *destination) {
  std::memcpy(destination, &bits, size_t(row.sizeBytes));
}

int64_t smallest(const TypeRow &row) {
  return row.kind == Kind::Signed ? std::numeric_limits<int64_t>::min() >> (64 - 8 * row.sizeBytes) : 0;
}

uint64_t largest(const TypeRow &row) {
  if (row.kind == Kind::Bool)
    return 1;
  uint64_t ones = ~uint64_t(0) >> (64 - 8 * row.sizeBytes);
  return row.kind == Kind::Signed ? ones >> 1 : ones;
}

/// Truncates toward zero and saturates at the bounds; NaN is 0.
uint64_t truncated(const TypeRow &row, double value) {
  if (std::isnan(value))
    return 0;
  if (value <= double(smallest(row)))
    return uint64_t(smallest(row));
  if (value >= double(largest(row)))
    return largest(row);
  return value < 0 ? uint64_t(int64_t(value)) : uint64_t(value);
}

Error doesNotFit(const TypeRow &row, std::string_view text, const std::string &low, const std::string &high) {
  return inputError(fmt::format("{} does not fit {}", text, row.name),
                    {fmt::format("{} holds values from {} to {}", row.name, low, high)});
}

Error notANumber(const TypeRow &row, std::string_view text) {
  const char *expected = row.kind == Kind::Bool    ? "0, 1, true or false"
                         : row.kind == Kind::Float ? "a number"
                                                   : "an integer";
  return inputError(fmt::format("`{}` is not a scalar of type {}: expected {}", text, row.name, expected));
}

uint64_t parseInteger(const TypeRow &row, std::string_view text) {
  std::string_view digits = text;
  bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+'))
    digits.remove_prefix(1);
  bool hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
  if (hexadecimal)
    digits.remove_prefix(2);
  uint64_t magnitude = 0;
  const char *end = digits.data() + digits.size();
  auto [stop, status] = std::from_chars(digits.data(), end, magnitude, hexadecimal ? 16 : 10);
  if (stop != end || status == std::errc::invalid_argument)
    throw notANumber(row, text);
  uint64_t ones = ~uint64_t(0) >> (64 - 8 * row.sizeBytes);
  bool patternFits = hexadecimal && !negative && row.kind == Kind::Signed && magnitude <= ones;
  uint64_t bound = negative ? uint64_t(0) - uint64_t(smallest(row)) : largest(row);
  if (status == std::errc::result_out_of_range || (magnitude > bound && !patternFits))
    throw doesNotFit(row, text, std::to_string(smallest(row)), std::to_string(largest(row)));
  return (negative ? uint64_t(0) - magnitude : magnitude) & ones;
}

template <typename T>
T parseDecimal(const TypeRow &row, std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('+'))
    digits.remove_prefix(1);
  T value = 0;
  const char *end = digits.data() + digits.size();
  auto [stop, status] = std::from_chars(digits.data(), end, value);
  if (stop != end || status == std::errc::invalid_argument)
    throw notANumber(row, text);
  if (status == std::errc::result_out_of_range) // too large, or too small to be other than zero
    value = T(std::strtod(std::string(digits).c_str(), nullptr));
  return value;
}

uint64_t parseFloat(const TypeRow &row, std::string_view text) {
  bool single = row.type == F32; // straight to f32, so that it is rounded once
  double value = single ? double(parseDecimal<float>(row, text)) : parseDecimal<double>(row, text);
  uint64_t bits = 0;
  storeDouble(row.type, value, &bits);
  bool wantsInfinity = text.find_first_of("iI") != std::string_view::npos;
  bool wantsNan = text.find_first_of("nN") != std::string_view::npos && !wantsInfinity;
  double stored = loadDouble(row.type, &bits);
  bool lost = (std::isnan(stored) && !wantsNan) || (std::isinf(stored) && !wantsInfinity);
  if (lost) {
    double high = row.type == F64   ? std::numeric_limits<double>::max()
                  : row.type == F32 ? double(std::numeric_limits<float>::max())
                                    : decodeNarrow(row, largestFinite(row));
    throw doesNotFit(row, text, fmt::format("{:g}", -high), fmt::format("{:g}", high));
  }
  return bits;
}

} // namespace

const std::vector<ElementType> &allElementTypes() {
  static const std::vector<ElementType> types = [] {
    std::vector<ElementType> list;
    for (const TypeRow &row : rows)
      list.push_back(row.type);
    return list;
  }();
  return types;
}

const char *elementTypeName(ElementType type) {
  return rowOf(type).name;
}

std::optional<ElementType> findElementType(std::string_view name) {
  if (name == "si1" || name == "ui1")
    return I1;
  if (name.starts_with("si"))
    name.remove_prefix(1);
  for (const TypeRow &row : rows)
    if (name == row.name)
      return row.type;
  return std::nullopt;
}

ElementType parseElementType(std::string_view name) {
  if (auto type = findElementType(name))
    return *type;
  std::string known;
  for (const TypeRow &row : rows)
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  std::vector<std::string> notes = {"the element types are " + known};
  for (const TypeRow &row : rows)
    if (name == longName(row))
      notes.insert(notes.begin(), fmt::format("`{}` is `{}` here", name, row.name));
  throw inputError(fmt::format("unknown element type `{}`", name), notes);
}

int64_t elementSizeBytes(ElementType type) {
  return rowOf(type).sizeBytes;
}
bool isFloat(ElementType type) {
  return rowOf(type).kind == Kind::Float;
}
bool isUnsigned(ElementType type) {
  return rowOf(type).kind == Kind::Unsigned || rowOf(type).kind == Kind::Bool;
}
const char *numpyDtype(ElementType type) {
  return rowOf(type).numpy;
}

double loadDouble(ElementType type, const void *source) {
  const TypeRow &row = rowOf(type);
  uint64_t bits = loadBits(row, source);
  if (type == F64) {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  if (type == F32) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  if (row.kind == Kind::Float)
    return decodeNarrow(row, uint32_t(bits));
  return row.kind == Kind::Signed ? double(loadInt(type, source)) : double(bits);
}

void storeDouble(ElementType type, double value, void *destination) {
  const TypeRow &row = rowOf(type);
  if (type == F64) {
    std::memcpy(destination, &value, sizeof value);
  } else if (type == F32) {
    auto single = float(value);
    std::memcpy(destination, &single, sizeof single);
  } else if (row.kind == Kind::Float) {
    storeBits(row, encodeNarrow(row, value), destination);
  } else {
    storeBits(row, row.kind == Kind::Bool ? uint64_t(value != 0) : truncated(row, value), destination);
  }
}

int64_t loadInt(ElementType type, const void *source) {
  const TypeRow &row = rowOf(type);
  if (row.kind == Kind::Float)
    return int64_t(truncated(rowOf(I64), loadDouble(type, source)));
  uint64_t bits = loadBits(row, source);
  if (row.kind != Kind::Signed)
    return int64_t(bits);
  int unused = 64 - 8 * row.sizeBytes;
  return int64_t(bits << unused) >> unused;
}

void storeInt(ElementType type, int64_t value, void *destination) {
  const TypeRow &row = rowOf(type);
  if (row.kind == Kind::Float)
    storeDouble(type, double(value), destination);
  else
    storeBits(row, row.kind == Kind::Bool ? uint64_t(value & 1) : uint64_t(value), destination);
}

uint64_t parseScalar(ElementType type, std::string_view text) {
  const TypeRow &row = rowOf(type);
  if (row.kind == Kind::Bool && (text == "true" || text == "false"))
    return text == "true";
  return row.kind == Kind::Float ? parseFloat(row, text) : parseInteger(row, text);
}

std::string formatElement(ElementType type, const void *source) {
  const TypeRow &row = rowOf(type);
  if (row.kind == Kind::Signed)
    return std::to_string(loadInt(type, source));
  if (row.kind != Kind::Float)
    return std::to_string(loadBits(row, source));
  double value = loadDouble(type, source);
  return type == F64 ? fmt::format("{}", value) : fmt::format("{}", float(value));
}

} // namespace heddle
