// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What stands around a function that a packed instruction applies to the two halves of its operands: two 16-bit values
// in a register, or two f32 in two.
#pragma once
#include "simulator/instructions/VectorFrame.h"

namespace heddle::simulator {

/// The low and the high part of a source of all lanes, in the lowest bits.
using Parts = Rows;

/// Source `number`, whose parts are chosen by op_sel and op_sel_hi and negated by neg_lo and neg_hi. 16-bit parts lie
/// in one register, f32 ones in two.
void readParts(const Wave &wave, const Instruction &instruction, unsigned position, unsigned number, DataType type,
               Parts &parts);
/// Applies clamp and writes both parts.
void writeParts(Wave &wave, const Instruction &instruction, DataType type, Parts &parts);

template <auto function, Last last, typename T, typename... A, size_t... I>
void executeParts(Wave &wave, const Instruction &instruction, T (*)(A...), std::index_sequence<I...>) {
  Parts sources[sizeof...(A)], result;
  constexpr bool wide = sizeof(T) == 2 && isFloat(dataTypeOf<T>());
  bool fromDestination = last == Last::Destination;
  (readParts(wave, instruction, fromDestination && I == sizeof...(A) - 1 ? 0 : I + 1, I, dataTypeOf<A>(), sources[I]),
   ...);
  HostRounding rounding(isFloat(dataTypeOf<T>()) ? wave.mode : 0, wide);
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    setLaneValue<T>(result.low, nullptr, lane, function(laneValue<A>(sources[I].low, nullptr, lane)...));
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    setLaneValue<T>(result.high, nullptr, lane, function(laneValue<A>(sources[I].high, nullptr, lane)...));
  rounding.restore();
  writeParts(wave, instruction, dataTypeOf<T>(), result);
}

/// `saturated` is computed instead of `function` under clamp; floating functions give both alike.
template <auto function, auto saturated, Last last>
void executePacked(Wave &wave, const Instruction &instruction) {
  constexpr auto pointer = +function;
  constexpr auto indices = std::make_index_sequence<LaneSignature<decltype(+function)>::arity>();
  if (instruction.modifiers.clamp)
    executeParts<saturated, last>(wave, instruction, pointer, indices);
  else
    executeParts<function, last>(wave, instruction, pointer, indices);
}

/// How the text's constants are read: an integer fills the register with its sign, a float stands in the low part.
template <typename T>
constexpr DataType packedType() {
  return isFloat(dataTypeOf<T>()) ? dataTypeOf<T>() : DataType::B32;
}

template <auto function, auto saturated = function, Last last = Last::Operand>
constexpr InstructionRow packedRow(std::string_view mnemonic, ChipSet chips = ChipSet::Both) {
  return []<typename T, typename... A>(std::string_view mnemonic, ChipSet chips, T (*)(A...)) {
    return InstructionRow{.mnemonic = mnemonic,
                          .execute = executePacked<function, saturated, last>,
                          .modified = executePacked<function, saturated, last>,
                          .types = OperandTypes{packedType<T>(), packedType<A>()...},
                          .implicit = uint16_t(last == Last::Destination ? readsDestination : 0),
                          .chips = chips};
  }(mnemonic, chips, +function);
}

} // namespace heddle::simulator
