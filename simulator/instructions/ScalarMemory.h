// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What scalar loads, stores and atomic operations share: addresses, ranges of descriptors, and what glc means.
#pragma once
#include "simulator/instructions/BufferDescriptor.h"
#include "simulator/memory/MemoryPort.h"

namespace heddle::simulator {

inline void landScalars(Wave &wave, MemoryRequest &request) {
  std::memcpy(wave.s + request.destination, request.scalarData, request.words * 4);
}

/// `s2`, `0x10` or `s2 offset:0x10`, in bytes.
inline uint64_t scalarOffset(const Wave &wave, const Instruction &instruction) {
  uint64_t offset = uint64_t(int64_t(instruction.modifiers.offset));
  const Operand &operand = instruction.operands[2];
  if (operand.kind == Operand::Kind::Constant)
    return offset + uint64_t(int64_t(int32_t(operand.constant))); // 21 bits, signed
  return offset + readUniform32(wave, operand);
}

/// The two low bits of an address are dropped.
inline uint64_t scalarAddress(const Wave &wave, const Instruction &instruction) {
  return (readUniform64(wave, instruction.operands[1]) + scalarOffset(wave, instruction)) & ~uint64_t(3);
}

/// With glc ("globally coherent") an access bypasses the scalar cache and is done where the device agrees. The manuals
/// name no wider scope of scalar accesses.
inline Scope scalarScope(const Instruction &instruction) {
  return instruction.modifiers.sc0 ? Scope::Agent : Scope::Wave;
}

/// The base is a buffer descriptor: words beyond its records read 0 and are not written.
struct ScalarRange {
  ScalarRange(const Wave &wave, const Instruction &instruction)
      : offset(scalarOffset(wave, instruction) & ~uint64_t(3)) {
    BufferDescriptor descriptor(wave.s + instruction.operands[1].index);
    base = descriptor.base;
    size = uint64_t(descriptor.stride ? descriptor.stride : 1) * descriptor.records;
  }
  /// A bit for each of `count` words that exists.
  uint64_t words(unsigned count) const {
    uint64_t bits = 0;
    for (unsigned word = 0; word < count; ++word)
      bits |= uint64_t(offset + 4 * word + 4 <= size) << word;
    return bits;
  }
  uint64_t base = 0, size = 0, offset = 0;
};

} // namespace heddle::simulator
