// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tensor map that the interpreter's bulk tensor copies take: 128 bytes, as the hardware's, which no code may look
// into.
#pragma once
#include <cstdint>

namespace heddle::threads {

enum class TensorElement : uint8_t { F16, BF16, F32, F64, Byte, I16, I32, I64 };

/// Axes are counted from the innermost one.
struct alignas(64) TensorMap {
  static constexpr unsigned mostAxes = 5;
  uint64_t address = 0;                ///< a multiple of 16
  uint64_t strideBytes[mostAxes] = {}; ///< the first is the size of an element
  uint32_t sizes[mostAxes] = {};       ///< elements
  uint16_t box[mostAxes] = {};         ///< elements
  uint8_t rank = 0;                    ///< axes
  TensorElement element = TensorElement::Byte;
  uint8_t swizzle = 0; ///< bytes: 0, 32, 64 or 128

  uint32_t rowBytes() const { return uint32_t(box[0] * strideBytes[0]); } ///< of the box; a multiple of 16
  uint32_t boxBytes() const {
    uint32_t bytes = rowBytes();
    for (unsigned axis = 1; axis < rank; ++axis)
      bytes *= box[axis];
    return bytes;
  }
};
static_assert(sizeof(TensorMap) == 128);

} // namespace heddle::threads
