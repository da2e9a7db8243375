// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What stands around the function of a scalar instruction: sources from scalar registers and constants, the result into
// a scalar register. A function whose last parameter is `Wave &` also sees SCC, EXEC and the program counter.
#pragma once
#include "simulator/instructions/InstructionTable.h"
#include <utility>

namespace heddle::simulator {

template <typename Function>
struct ScalarSignature;
template <typename R, typename... A>
struct ScalarSignature<R (*)(A...)> {
  using Result = R;
  static constexpr bool hasResult = !std::is_void_v<R>;
  static constexpr unsigned sources = (unsigned(!std::is_same_v<A, Wave &>) + ... + 0);
  template <typename T>
  static constexpr DataType typeOf() {
    if constexpr (std::is_void_v<T> || std::is_reference_v<T>)
      return DataType::None;
    else
      return dataTypeOf<T>();
  }
  static constexpr OperandTypes types() {
    OperandTypes types = allOf(DataType::B32);
    unsigned at = 0;
    if (hasResult)
      types[at++] = typeOf<R>();
    ((std::is_same_v<A, Wave &> ? void() : void(types[at++] = typeOf<A>())), ...);
    return types;
  }
};

template <typename T>
T readScalar(const Wave &wave, const Operand &operand) {
  if constexpr (sizeof(T) == 8)
    return std::bit_cast<T>(readUniform64(wave, operand));
  else
    return std::bit_cast<T>(readUniform32(wave, operand));
}

template <typename T>
void writeScalar(Wave &wave, const Operand &operand, T value) {
  if constexpr (sizeof(T) == 8)
    writeUniform64(wave, operand, std::bit_cast<uint64_t>(value));
  else
    writeUniform32(wave, operand, std::bit_cast<uint32_t>(value));
}

/// Parameter `T` of the function: the operand at that place, or the wave.
template <typename T>
decltype(auto) scalarArgument(Wave &wave, const Instruction &instruction, size_t position) {
  if constexpr (std::is_same_v<T, Wave &>)
    return (wave);
  else
    return readScalar<T>(wave, instruction.operands[position]);
}

template <auto function, typename R, typename... A, size_t... I>
void executeScalarOperands(Wave &wave, const Instruction &instruction, R (*)(A...), std::index_sequence<I...>) {
  if constexpr (std::is_void_v<R>)
    function(scalarArgument<A>(wave, instruction, I)...);
  else
    writeScalar<R>(wave, instruction.operands[0], function(scalarArgument<A>(wave, instruction, I + 1)...));
}

template <typename R, typename... A>
constexpr size_t arityOf(R (*)(A...)) {
  return sizeof...(A);
}

template <auto function>
void executeScalar(Wave &wave, const Instruction &instruction) {
  constexpr auto pointer = +function;
  executeScalarOperands<function>(wave, instruction, pointer, std::make_index_sequence<arityOf(pointer)>());
}

/// The row of a scalar instruction. One without a result (a comparison) has only sources in its text.
template <auto function>
constexpr InstructionRow scalarRow(std::string_view mnemonic, uint16_t implicit = 0) {
  using Signature = ScalarSignature<decltype(+function)>;
  return {.mnemonic = mnemonic,
          .execute = executeScalar<function>,
          .types = Signature::types(),
          .destinations = Signature::hasResult,
          .implicit = implicit};
}

/// Sets SCC to whether the value is not 0, and returns it.
template <typename T>
T withScc(Wave &wave, T value) {
  wave.scc = value != 0;
  return value;
}

} // namespace heddle::simulator
