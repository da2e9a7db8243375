// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One operand of a decoded instruction: where its bits are, how they are read, and which modifiers stand on it.
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

namespace heddle::simulator {

/// How an instruction reads an operand's bits: decides what a literal means and which bit `-` and `|...|` touch.
enum class DataType : uint8_t { B16, I16, F16, BF16, B32, I32, F32, B64, I64, F64, B96, B128, B256, B512, B1024, None };

/// 32-bit registers that a value of the type takes.
constexpr unsigned wordsOf(DataType type) {
  switch (type) {
  case DataType::B64:
  case DataType::I64:
  case DataType::F64:
    return 2;
  case DataType::B96:
    return 3;
  case DataType::B128:
    return 4;
  case DataType::B256:
    return 8;
  case DataType::B512:
    return 16;
  case DataType::B1024:
    return 32;
  default:
    return 1;
  }
}

/// The DataType of a C++ type, so that a lane function's signature says everything about its operands.
template <typename T>
constexpr DataType dataTypeOf() {
  if constexpr (std::is_same_v<T, _Float16>)
    return DataType::F16;
  else if constexpr (std::is_same_v<T, __bf16>)
    return DataType::BF16;
  else if constexpr (std::is_same_v<T, float>)
    return DataType::F32;
  else if constexpr (std::is_same_v<T, double>)
    return DataType::F64;
  else if constexpr (std::is_same_v<T, int16_t>)
    return DataType::I16;
  else if constexpr (std::is_same_v<T, uint16_t>)
    return DataType::B16;
  else if constexpr (std::is_same_v<T, int32_t>)
    return DataType::I32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return DataType::I64;
  else if constexpr (sizeof(T) == 8)
    return DataType::B64;
  else
    return DataType::B32;
}

/// The rows of accumulation registers come after those of vector registers; nothing can address across the border.
inline constexpr unsigned firstAccumulationRow = 256;

/// Places of named scalars among the 128 scalar registers, as the machine encodes them.
enum ScalarRegister : uint16_t {
  vccRegister = 106,
  trapRegister = 108, ///< ttmp0
  m0Register = 124,
  execRegister = 126,
  vcczRegister = 251,  ///< not stored: computed when read
  execzRegister = 252, ///< not stored
  sccRegister = 253,   ///< stored as Wave::scc
};

struct Operand {
  enum class Kind : uint8_t {
    None,
    Vector,   ///< rows of Wave::v, from `index`; accumulation registers from firstAccumulationRow
    Scalar,   ///< Wave::s, from `index`, a ScalarRegister or a number
    Constant, ///< `constant`, already in the bits of `type`
    Off,      ///< `off`: no register
  };
  Kind kind = Kind::None;
  DataType type = DataType::None;
  uint8_t words = 1;                                         ///< 32-bit registers named by the text: 2 for v[2:3]
  bool negate = false, absolute = false, signExtend = false; ///< -x, |x|, sext(x)
  uint16_t index = 0;
  uint64_t constant = 0;

  bool isVector() const { return kind == Kind::Vector; }
};

} // namespace heddle::simulator
