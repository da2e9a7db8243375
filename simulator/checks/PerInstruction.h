// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a check works out once for each instruction of a program. Found by address first: this is asked before every
// instruction of every wave.
#pragma once
#include "simulator/state/Instruction.h"
#include <memory>
#include <unordered_map>

namespace heddle::simulator {

template <typename Value, Value (*make)(const Instruction &)>
class PerInstruction {
public:
  const Value &of(const Instruction &instruction) {
    Recent &place = recent[(instruction.pc >> 2) % recentCount];
    if (place.instruction != &instruction) {
      auto [found, isNew] = values.try_emplace(&instruction);
      if (isNew)
        found->second = make(instruction);
      place = {&instruction, &found->second};
    }
    return *place.value;
  }

  /// That of the instruction after this one is soon asked for.
  void prefetchNext(const Instruction &instruction) const {
    __builtin_prefetch(recent[((instruction.pc + instruction.sizeBytes) >> 2) % recentCount].value);
  }

private:
  struct Recent {
    const Instruction *instruction = nullptr;
    const Value *value = nullptr;
  };
  /// Enough for most kernels' code, 64 KiB, to have a place for each instruction.
  static constexpr unsigned recentCount = 1 << 14;
  std::unique_ptr<Recent[]> recent = std::make_unique<Recent[]>(recentCount);
  std::unordered_map<const Instruction *, Value> values;
};

} // namespace heddle::simulator
