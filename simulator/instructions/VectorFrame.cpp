// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/instructions/VectorFrame.h"

namespace heddle::simulator {
namespace {

uint32_t signBit(DataType type) {
  return type == DataType::F16 || type == DataType::BF16 ? 0x8000u : 0x80000000u;
}

} // namespace

void applySourceModifiers(Wave &, const Instruction &instruction, unsigned position, DataType type, Source &source,
                          Rows &storage) {
  const Modifiers &modifiers = instruction.modifiers;
  if (modifiers.sdwa.present || modifiers.dpp.control != Dpp::Control::None || modifiers.opSel)
    throw Fault("this simulator has no DPP, SDWA or op_sel yet");
  const Operand &operand = instruction.operands[position];
  if (!operand.negate && !operand.absolute)
    return;
  // The sign is in the last word.
  const uint32_t *&signs = wordsOf(type) == 2 ? source.high : source.low;
  Row &changed = wordsOf(type) == 2 ? storage.high : storage.low;
  uint32_t sign = signBit(type), cleared = operand.absolute ? sign : 0, flipped = operand.negate ? sign : 0;
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    changed[lane] = (signs[lane] & ~cleared) ^ flipped;
  signs = changed;
}

void applyResultModifiers(const Instruction &instruction, DataType type, Rows &result) {
  if (type != DataType::F32 || !(instruction.modifiers.clamp || instruction.modifiers.outputModifier))
    return;
  static constexpr float factors[] = {1, 2, 4, 0.5f};
  float factor = factors[instruction.modifiers.outputModifier];
  for (uint32_t &bits : result.low) {
    float value = std::bit_cast<float>(bits) * factor;
    if (instruction.modifiers.clamp) // NaN becomes 0, as DX10_CLAMP says
      value = value > 0 ? (value < 1 ? value : 1) : 0;
    bits = std::bit_cast<uint32_t>(value);
  }
}

} // namespace heddle::simulator
