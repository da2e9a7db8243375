// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loaded code: an instruction for each address, decoded when it is first reached.
#pragma once
#include "simulator/state/Fault.h"
#include "simulator/state/Instruction.h"
#include <memory>
#include <span>
#include <vector>

namespace heddle::simulator {

class Program {
public:
  /// `code` lies at address `base` and outlives the program.
  Program(std::span<const uint8_t> code, uint64_t base) : code(code), base(base), slots(code.size() / 4) {}
  virtual ~Program() = default;

  /// Throws Fault for an address that has no code.
  const Instruction &at(uint64_t pc) {
    uint64_t slot = (pc - base) >> 2;
    if (slot < slots.size() && slots[slot] && !(pc & 3))
      return *slots[slot];
    return decodeAt(pc);
  }

  /// The code at `pc` is soon asked for: that of a kernel, and what is known of it, is more than the processor's
  /// nearest caches hold.
  void prefetch(uint64_t pc) const {
    uint64_t slot = (pc - base) >> 2;
    const Instruction *next = slot < slots.size() ? slots[slot].get() : nullptr;
    if (next)
      for (size_t at = 0; at < sizeof(Instruction); at += 64)
        __builtin_prefetch(reinterpret_cast<const char *>(next) + at);
  }

  /// While several threads read it: what was not reached before faults.
  void setFrozen(bool value) { isFrozen = value; }

  /// Calls `visit` with each instruction that was reached, by address.
  template <typename Visit>
  void forEachReached(Visit visit) const {
    for (const auto &slot : slots)
      if (slot)
        visit(*slot);
  }

protected:
  virtual Instruction decode(std::span<const uint8_t> bytes, uint64_t pc) = 0;

private:
  const Instruction &decodeAt(uint64_t pc) {
    uint64_t slot = (pc - base) >> 2;
    if (slot >= slots.size() || pc & 3)
      throw Fault("the program counter points to no code");
    if (isFrozen)
      throw Fault("comes to an instruction that is not decoded yet");
    slots[slot] = std::make_unique<Instruction>(decode(code.subspan(pc - base), pc));
    return *slots[slot];
  }

  std::span<const uint8_t> code;
  uint64_t base;
  bool isFrozen = false;
  std::vector<std::unique_ptr<Instruction>> slots;
};

} // namespace heddle::simulator
