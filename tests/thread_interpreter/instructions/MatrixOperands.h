// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The formats of matrix instructions' operands: bytes of an element, and the value of its bits; and their sums.
#pragma once
#include "tests/thread_interpreter/instructions/Elementwise.h"

namespace heddle::threads {

struct Half {
  static constexpr unsigned bytes = 2;
  static double value(uint32_t bits) { return halfToFloat(bits); }
};
struct Bfloat {
  static constexpr unsigned bytes = 2;
  static double value(uint32_t bits) { return bfloatToFloat(bits); }
};
struct Tf32 {
  static constexpr unsigned bytes = 4;
  static double value(uint32_t bits) { return std::bit_cast<float>(bits & 0xffffe000); } // the hardware drops the rest
};
template <const reference::FloatFormat &Format>
struct Fp8 {
  static constexpr unsigned bytes = 1;
  static double value(uint32_t bits) {
    static const std::vector<double> values = [] {
      std::vector<double> table(256);
      for (unsigned i = 0; i < table.size(); ++i)
        table[i] = reference::decode(Format, i);
      return table;
    }();
    return values[bits];
  }
};
using E4M3 = Fp8<reference::formatE4M3FN>;
using E5M2 = Fp8<reference::formatE5M2>;
struct S8 {
  static constexpr unsigned bytes = 1;
  static double value(uint32_t bits) { return int8_t(bits); }
};
struct U8 {
  static constexpr unsigned bytes = 1;
  static double value(uint32_t bits) { return uint8_t(bits); }
};

struct FloatSum {
  static double get(uint64_t bits) { return std::bit_cast<float>(uint32_t(bits)); }
  static uint64_t put(double value) { return F32::put(float(value)); }
};
// Sums of at most 32 products of bytes and one 32-bit number are exact in double.
struct IntegerSum {
  static double get(uint64_t bits) { return int32_t(bits); }
  static uint64_t put(double value) { return uint32_t(int64_t(value)); }
};

} // namespace heddle::threads
