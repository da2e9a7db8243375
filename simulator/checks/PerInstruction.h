// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a check works out once for each instruction of a program. Found by address first: this is asked before every
// instruction of every wave.
#pragma once
#include "simulator/state/Instruction.h"
#include <unordered_map>

namespace heddle::simulator {

template <typename Value, Value (*make)(const Instruction &)>
class PerInstruction {
public:
  const Value &of(const Instruction &instruction) {
    Recent &place = recent[(instruction.pc >> 2) % std::size(recent)];
    if (place.instruction != &instruction) {
      auto [found, isNew] = values.try_emplace(&instruction);
      if (isNew)
        found->second = make(instruction);
      place = {&instruction, &found->second};
    }
    return *place.value;
  }

private:
  struct Recent {
    const Instruction *instruction = nullptr;
    const Value *value = nullptr;
  };
  Recent recent[1024];
  std::unordered_map<const Instruction *, Value> values;
};

} // namespace heddle::simulator
