// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Source: LLVM's AMDGPUOperandSyntax, "inline constants" and "conversion of literals".
#include "simulator/decode/TextNumbers.h"
#include <charconv>

namespace heddle::simulator {
namespace {

uint64_t encodeFloat(double value, DataType type) {
  switch (type) {
  case DataType::F16:
  case DataType::B16:
  case DataType::I16:
    return std::bit_cast<uint16_t>(_Float16(value));
  case DataType::BF16: // the numbers that can stand here have at most seven bits of mantissa, but for 1/(2 pi)
    return value == 0.15915494 ? 0x3e22 : std::bit_cast<uint32_t>(float(value)) >> 16;
  case DataType::F64:
  case DataType::B64:
  case DataType::I64:
    return std::bit_cast<uint64_t>(value);
  default:
    return std::bit_cast<uint32_t>(float(value));
  }
}

/// A literal has 32 bits in the code. For a double they are the upper ones.
uint64_t widenLiteral(uint64_t value, DataType type) {
  if (value >> 32)
    return value;
  if (type == DataType::F64)
    return value << 32;
  return type == DataType::I64 ? uint64_t(int64_t(int32_t(value))) : value;
}

} // namespace

bool parseInteger(std::string_view text, int64_t &value) {
  bool negative = text.starts_with("-");
  text.remove_prefix(negative);
  int base = 10;
  if (text.starts_with("0x")) {
    base = 16;
    text.remove_prefix(2);
  }
  uint64_t magnitude;
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), magnitude, base);
  if (status != std::errc() || end != text.data() + text.size())
    return false;
  value = int64_t(negative ? -magnitude : magnitude);
  return true;
}

bool parseConstant(std::string_view text, DataType type, uint64_t &bits) {
  for (std::string_view call : {"lit(", "lit64("})
    if (text.starts_with(call) && text.ends_with(")"))
      text = text.substr(call.size(), text.size() - call.size() - 1);
  int64_t integer;
  if (parseInteger(text, integer)) {
    bool isHex = text.find('x') != std::string_view::npos;
    bits = isHex ? widenLiteral(uint64_t(integer), type) : uint64_t(integer);
    if (wordsOf(type) == 1)
      bits &= type == DataType::F16 || type == DataType::BF16 || type == DataType::B16 || type == DataType::I16
                  ? 0xffff
                  : 0xffffffff;
    return true;
  }
  double number;
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || end != text.data() + text.size())
    return false;
  bits = encodeFloat(number, type);
  return true;
}

} // namespace heddle::simulator
