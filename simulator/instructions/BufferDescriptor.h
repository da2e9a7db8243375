// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The four scalar registers that say where a buffer lies. Source: AMD Instinct MI300 (CDNA3) Instruction Set
// Architecture, "Buffer Resource Descriptor".
#pragma once
#include <cstdint>

namespace heddle::simulator {

struct BufferDescriptor {
  explicit BufferDescriptor(const uint32_t *words)
      : base(words[0] | uint64_t(words[1] & 0xffff) << 32), stride(words[1] >> 16 & 0x3fff), records(words[2]),
        swizzles(words[1] >> 31), addsLane(words[3] >> 23 & 1), type(words[3] >> 30) {}
  uint64_t base;
  uint32_t stride, records; ///< records: bytes, or with a stride and an index elements
  bool swizzles, addsLane;
  unsigned type;
};

} // namespace heddle::simulator
