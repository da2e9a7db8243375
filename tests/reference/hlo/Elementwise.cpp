// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Element-wise operations: floating ones in double with one rounding, integer ones modulo 2^width.
#include "support/Error.h"
#include "tests/reference/hlo/Operations.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>

namespace heddle::hlo::reference {
namespace {

using enum Opcode;

double sign(double x) {
  return std::isnan(x) || x == 0 ? x : std::copysign(1.0, x);
}

double computeFloatUnary(Opcode opcode, double x) {
  switch (opcode) {
  case Abs:
    return std::fabs(x);
  case Negate:
    return -x;
  case Sign:
    return sign(x);
  case Floor:
    return std::floor(x);
  case Ceil:
    return std::ceil(x);
  case RoundNearestAfz:
    return std::round(x);
  case RoundNearestEven:
    return std::nearbyint(x);
  case Exponential:
    return std::exp(x);
  case ExponentialMinusOne:
    return std::expm1(x);
  case Log:
    return std::log(x);
  case LogPlusOne:
    return std::log1p(x);
  case Logistic:
    return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); // exp(-x) may overflow before
  case Tanh:
    return std::tanh(x);
  case Sine:
    return std::sin(x);
  case Cosine:
    return std::cos(x);
  case Tan:
    return std::tan(x);
  case Sqrt:
    return std::sqrt(x);
  case Rsqrt:
    return 1 / std::sqrt(x);
  case Cbrt:
    return std::cbrt(x);
  case Erf:
    return std::erf(x);
  default:
    throw internalError(fmt::format("the reference lacks '{}' of floating types", opcodeName(opcode)));
  }
}

int64_t computeIntegerUnary(Opcode opcode, DType type, int64_t x) {
  uint64_t bits = uint64_t(x) & (~uint64_t(0) >> (64 - bitWidth(type)));
  switch (opcode) {
  case Abs:
    return x < 0 && isSignedInteger(type) ? int64_t(uint64_t(0) - uint64_t(x)) : x;
  case Negate:
    return int64_t(uint64_t(0) - uint64_t(x));
  case Sign:
    return x == 0 ? 0 : isSignedInteger(type) && x < 0 ? -1 : 1;
  case Not:
    return type == DType::Pred ? x == 0 : ~x;
  case PopulationCount:
    return std::popcount(bits);
  case CountLeadingZeros:
    return std::countl_zero(bits) - (64 - bitWidth(type));
  default:
    throw internalError(fmt::format("the reference lacks '{}' of integers", opcodeName(opcode)));
  }
}

/// NaN wins; -0 is below +0.
double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

double computeFloatBinary(Opcode opcode, double a, double b) {
  switch (opcode) {
  case Add:
    return a + b;
  case Subtract:
    return a - b;
  case Multiply:
    return a * b;
  case Divide:
    return a / b;
  case Remainder:
    return std::fmod(a, b);
  case Maximum:
    return maximum(a, b);
  case Minimum:
    return -maximum(-a, -b);
  case Power:
    return std::pow(a, b);
  case Atan2:
    return std::atan2(a, b);
  default:
    throw internalError(fmt::format("the reference lacks '{}' of floating types", opcodeName(opcode)));
  }
}

int64_t divide(DType type, int64_t a, int64_t b, bool remainder) {
  if (b == 0)
    return remainder ? a : -1;
  if (!isSignedInteger(type))
    return int64_t(remainder ? uint64_t(a) % uint64_t(b) : uint64_t(a) / uint64_t(b));
  if (b == -1)
    return remainder ? 0 : int64_t(uint64_t(0) - uint64_t(a));
  return remainder ? a % b : a / b;
}

/// Modular; a negative exponent leaves 1, -1 or 0.
int64_t power(DType type, int64_t base, int64_t exponent) {
  if (isSignedInteger(type) && exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, factor = uint64_t(base);
  for (auto rest = uint64_t(exponent); rest; rest >>= 1, factor *= factor)
    if (rest & 1)
      result *= factor;
  return int64_t(result);
}

int64_t shift(Opcode opcode, DType type, int64_t value, uint64_t amount) {
  int width = bitWidth(type);
  bool beyond = amount >= uint64_t(width);
  uint64_t bits = uint64_t(value) & (~uint64_t(0) >> (64 - width));
  if (opcode == ShiftLeft)
    return beyond ? 0 : int64_t(bits << amount);
  if (opcode == ShiftRightLogical)
    return beyond ? 0 : int64_t(bits >> amount);
  auto extended = int64_t(bits << (64 - width)) >> (64 - width);
  return extended >> (beyond ? 63 : amount);
}

int64_t computeIntegerBinary(Opcode opcode, DType type, int64_t a, int64_t b) {
  bool less = isSignedInteger(type) ? a < b : uint64_t(a) < uint64_t(b);
  bool logical = type == DType::Pred;
  switch (opcode) {
  case Add:
    return logical ? a | b : int64_t(uint64_t(a) + uint64_t(b));
  case Subtract:
    return int64_t(uint64_t(a) - uint64_t(b));
  case Multiply:
    return int64_t(uint64_t(a) * uint64_t(b));
  case Divide:
    return divide(type, a, b, false);
  case Remainder:
    return divide(type, a, b, true);
  case Maximum:
    return less ? b : a;
  case Minimum:
    return less ? a : b;
  case Power:
    return power(type, a, b);
  case And:
    return a & b;
  case Or:
    return a | b;
  case Xor:
    return a ^ b;
  default:
    return shift(opcode, type, a, uint64_t(b));
  }
}

/// A key whose unsigned order is -NaN, -infinity, ..., -0, +0, ..., infinity, NaN.
uint64_t totalOrderKey(DType type, uint64_t bits) {
  uint64_t signBit = uint64_t(1) << (bitWidth(type) - 1);
  return bits & signBit ? ~bits & (signBit * 2 - 1) : bits | signBit;
}

bool compare(const Instruction &instruction, DType type, const uint8_t *left, const uint8_t *right) {
  auto decide = [&](auto a, auto b) {
    switch (instruction.direction) {
    case CompareDirection::Equal:
      return a == b;
    case CompareDirection::NotEqual:
      return a != b;
    case CompareDirection::Less:
      return a < b;
    case CompareDirection::LessOrEqual:
      return a <= b;
    case CompareDirection::Greater:
      return a > b;
    case CompareDirection::GreaterOrEqual:
      break;
    }
    return a >= b;
  };
  if (isFloating(type) && instruction.totalOrder)
    return decide(totalOrderKey(type, loadBits(type, left)), totalOrderKey(type, loadBits(type, right)));
  if (isFloating(type))
    return decide(loadFloat(type, left), loadFloat(type, right));
  if (isSignedInteger(type))
    return decide(loadInteger(type, left), loadInteger(type, right));
  return decide(loadBits(type, left), loadBits(type, right));
}

void computeUnary(Opcode opcode, DType type, const uint8_t *source, uint8_t *result) {
  if (opcode == Copy)
    std::memcpy(result, source, size_t(elementSizeBytes(type)));
  else if (opcode == IsFinite)
    *result = std::isfinite(loadFloat(type, source));
  else if (isFloating(type))
    storeFloat(type, computeFloatUnary(opcode, loadFloat(type, source)), result);
  else
    storeInteger(type, computeIntegerUnary(opcode, type, loadInteger(type, source)), result);
}

void convert(DType from, DType to, const uint8_t *source, uint8_t *result) {
  bool sourceIsInteger = !isFloating(from) && !isComplex(from), resultIsInteger = !isFloating(to) && !isComplex(to);
  if (from == to) {
    std::memcpy(result, source, size_t(elementSizeBytes(from)));
  } else if (sourceIsInteger && resultIsInteger) {
    storeInteger(to, loadInteger(from, source), result);
  } else if (sourceIsInteger && to == DType::F32) {
    // Straight to f32: through double, large 64-bit integers would be rounded twice.
    float value = from == DType::U64 ? float(loadBits(from, source)) : float(loadInteger(from, source));
    storeFloat(to, value, result);
  } else {
    storeNumber(to, loadNumber(from, source), result);
  }
}

/// -0 and NaN pass as min and max pass them.
void clamp(DType type, const uint8_t *low, const uint8_t *value, const uint8_t *high, uint8_t *result) {
  uint8_t raised[8];
  computeBinary(Maximum, type, value, low, raised);
  computeBinary(Minimum, type, raised, high, result);
}

} // namespace

void computeBinary(Opcode opcode, DType type, const uint8_t *left, const uint8_t *right, uint8_t *result) {
  if (isFloating(type))
    storeFloat(type, computeFloatBinary(opcode, loadFloat(type, left), loadFloat(type, right)), result);
  else
    storeInteger(type, computeIntegerBinary(opcode, type, loadInteger(type, left), loadInteger(type, right)), result);
}

/// Elements of less than 8 bits have a byte each.
static void bitcast(const Value &from, Value &to) {
  int fromBits = bitWidth(from.shape.type), toBits = bitWidth(to.shape.type);
  if (fromBits % 8 == 0 && toBits % 8 == 0) {
    to.bytes = from.bytes;
    return;
  }
  auto bit = [&](int64_t number) {
    return loadBits(from.shape.type, from.at(number / fromBits)) >> (number % fromBits) & 1;
  };
  for (int64_t i = 0; i < to.shape.elementCount(); ++i) {
    uint64_t bits = 0;
    for (int b = 0; b < toBits; ++b)
      bits |= bit(i * toBits + b) << b;
    if (isInteger(to.shape.type))
      storeInteger(to.shape.type, int64_t(bits), to.at(i));
    else
      std::memcpy(to.at(i), &bits, size_t(elementSizeBytes(to.shape.type)));
  }
}

Value evaluateElementwise(const Instruction &instruction, const Operands &operands) {
  Value result = zeros(instruction.shape);
  if (instruction.opcode == Copy && !instruction.shape.isArray())
    return *operands[0];
  if (instruction.opcode == BitcastConvert) { // little endian: the low part of a wide element is the first narrow one
    bitcast(*operands[0], result);
    return result;
  }
  DType from = operands[0]->shape.type;
  auto part = size_t(elementSizeBytes(isComplex(from) ? result.shape.type : from)); // of complex numbers, bytes
  for (int64_t i = 0; i < instruction.shape.elementCount(); ++i) {
    auto operand = [&](size_t number) {
      return operands[number]->at(operands[number]->shape.isScalar() ? 0 : i); // scalars of select and clamp
    };
    if (opcodeClass(instruction.opcode) == OpcodeClass::Unary)
      computeUnary(instruction.opcode, from, operand(0), result.at(i));
    else if (instruction.opcode == Compare)
      *result.at(i) = compare(instruction, from, operand(0), operand(1));
    else if (instruction.opcode == Select)
      copyElement(*operands[*operand(0) ? 1 : 2], i, result, i);
    else if (instruction.opcode == Clamp)
      clamp(result.shape.type, operand(0), operand(1), operand(2), result.at(i));
    else if (instruction.opcode == Real || instruction.opcode == Imag)
      std::memcpy(result.at(i), operand(0) + (instruction.opcode == Imag ? part : 0), part);
    else if (instruction.opcode == Opcode::Complex)
      std::memcpy(result.at(i), operand(0), part), std::memcpy(result.at(i) + part, operand(1), part);
    else if (instruction.opcode == Convert)
      convert(from, result.shape.type, operand(0), result.at(i));
    else
      computeBinary(instruction.opcode, from, operand(0), operand(1), result.at(i));
  }
  return result;
}

} // namespace heddle::hlo::reference
