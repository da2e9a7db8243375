// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements through tests/reference/SoftFloat.h, and two formats that are small tables.
#include "tests/reference/hlo/Value.h"
#include "support/Error.h"
#include "tests/reference/SoftFloat.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>

namespace heddle::hlo::reference {
namespace {

using heddle::reference::FloatFormat;
using heddle::reference::SpecialCodes;

constexpr int64_t mostBytes = int64_t(1) << 30;
constexpr double f4Values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

FloatFormat formatOf(DType type) {
  namespace soft = heddle::reference;
  switch (type) {
  case DType::F64:
    return soft::formatF64;
  case DType::F32:
    return soft::formatF32;
  case DType::F16:
    return soft::formatF16;
  case DType::BF16:
    return soft::formatBF16;
  case DType::F8E4M3:
    return {4, 3, 7, SpecialCodes::Ieee};
  case DType::F8E4M3FN:
    return soft::formatE4M3FN;
  case DType::F8E4M3FNUZ:
    return soft::formatE4M3FNUZ;
  case DType::F8E4M3B11FNUZ:
    return {4, 3, 11, SpecialCodes::UnsignedZero};
  case DType::F8E5M2:
    return soft::formatE5M2;
  case DType::F8E5M2FNUZ:
    return soft::formatE5M2FNUZ;
  case DType::F8E3M4:
    return {3, 4, 3, SpecialCodes::Ieee};
  default:
    throw internalError(fmt::format("{} is no floating format", dtypeName(type)));
  }
}

/// No infinity, no NaN: what is too large becomes the largest, NaN becomes -0 as code 8.
uint8_t encodeF4(double value) {
  if (std::isnan(value))
    return 8;
  double magnitude = std::min(std::fabs(value), 8.0); // above, differences would be equal
  uint8_t best = 0;
  for (uint8_t code = 1; code < 8; ++code) {
    double closer = std::fabs(f4Values[best] - magnitude) - std::fabs(f4Values[code] - magnitude);
    if (closer > 0 || (closer == 0 && code % 2 == 0))
      best = code;
  }
  return best | (std::signbit(value) ? 8 : 0);
}

/// Powers of two alone: 2^(code - 127), code 255 is NaN. What has no power of two near is NaN too.
uint8_t encodeE8M0(double value) {
  if (!(value > 0) || std::isinf(value))
    return 255;
  int exponent = std::ilogb(value);
  double mantissa = std::ldexp(value, -exponent);
  exponent += mantissa >= 1.5; // XLA takes the upper one of two equally near
  return exponent > 127 ? 255 : uint8_t(std::max(exponent + 127, 0));
}

void storeBits(DType type, uint64_t bits, uint8_t *destination) {
  std::memcpy(destination, &bits, size_t(elementSizeBytes(type)));
}

} // namespace

uint64_t loadBits(DType type, const uint8_t *source) {
  uint64_t bits = 0;
  std::memcpy(&bits, source, size_t(elementSizeBytes(type)));
  return bits;
}

double loadFloat(DType type, const uint8_t *source) {
  if (type == DType::F4E2M1FN)
    return (*source & 8 ? -1.0 : 1.0) * f4Values[*source & 7];
  if (type == DType::F8E8M0FNU)
    return *source == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, *source - 127);
  return heddle::reference::decode(formatOf(type), loadBits(type, source));
}

void storeFloat(DType type, double value, uint8_t *destination) {
  if (type == DType::F4E2M1FN)
    *destination = encodeF4(value);
  else if (type == DType::F8E8M0FNU)
    *destination = encodeE8M0(value);
  else
    storeBits(type, heddle::reference::encode(formatOf(type), value), destination);
}

int64_t loadInteger(DType type, const uint8_t *source) {
  auto bits = int64_t(loadBits(type, source));
  if (!isSignedInteger(type))
    return bits;
  int unused = 64 - bitWidth(type);
  return int64_t(uint64_t(bits) << unused) >> unused;
}

void storeInteger(DType type, int64_t value, uint8_t *destination) {
  if (type == DType::Pred)
    value = value != 0;
  int unused = 64 - bitWidth(type);
  auto high = uint64_t(value) << unused;
  storeBits(type, isSignedInteger(type) ? uint64_t(int64_t(high) >> unused) : high >> unused, destination);
}

double loadNumber(DType type, const uint8_t *source) {
  if (isFloating(type))
    return loadFloat(type, source);
  return type == DType::U64 ? double(loadBits(type, source)) : double(loadInteger(type, source));
}

void storeNumber(DType type, double value, uint8_t *destination) {
  if (isFloating(type))
    return storeFloat(type, value, destination);
  if (type == DType::Pred)
    return storeInteger(type, value != 0, destination);
  // Toward zero, saturated; NaN is 0.
  int bits = bitWidth(type) - isSignedInteger(type);
  double limit = std::ldexp(1.0, bits);
  double low = isSignedInteger(type) ? -limit : 0;
  uint64_t largest = bits ? ~uint64_t(0) >> (64 - bits) : 0;
  if (std::isnan(value))
    storeInteger(type, 0, destination);
  else if (value >= limit)
    storeInteger(type, int64_t(largest), destination);
  else if (value <= low)
    storeInteger(type, isSignedInteger(type) ? -int64_t(largest) - 1 : 0, destination);
  else
    storeInteger(type, value < 0 ? int64_t(value) : int64_t(uint64_t(value)), destination);
}

Value zeros(const Shape &shape) {
  Value value;
  value.shape = shape;
  if (shape.sizeBytes() > mostBytes)
    throw inputError(
        fmt::format("the reference evaluates values of at most {} bytes, not {}", mostBytes, formatShape(shape)));
  if (shape.isArray())
    value.bytes.resize(size_t(shape.sizeBytes()));
  for (const Shape &element : shape.elements)
    value.elements.push_back(zeros(element));
  return value;
}

Value fromBytes(const Shape &shape, std::string_view bytes) {
  Value value = zeros(shape);
  if (bytes.size() != value.bytes.size())
    throw inputError(fmt::format("{} bytes for a value of shape {}", bytes.size(), formatShape(shape)));
  std::copy(bytes.begin(), bytes.end(), value.bytes.begin());
  return value;
}

Value fromNumbers(const Shape &shape, const std::vector<double> &numbers) {
  Value value = zeros(shape);
  if (int64_t(numbers.size()) != shape.elementCount())
    throw inputError(fmt::format("{} numbers for a value of shape {}", numbers.size(), formatShape(shape)));
  for (size_t i = 0; i < numbers.size(); ++i)
    storeNumber(shape.type, numbers[i], value.at(int64_t(i)));
  return value;
}

std::vector<double> numbersOf(const Value &value) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < value.shape.elementCount(); ++i)
    numbers.push_back(loadNumber(value.shape.type, value.at(i)));
  return numbers;
}

Value tupleOf(std::vector<Value> elements) {
  Value value;
  value.shape = Shape::tuple({});
  for (const Value &element : elements)
    value.shape.elements.push_back(element.shape);
  value.elements = std::move(elements);
  return value;
}

} // namespace heddle::hlo::reference
