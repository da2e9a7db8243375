// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What stands around a lane function: sources of all lanes are gathered, the function is applied to 64 lanes, and the
// result is written where EXEC says. The function is a template argument, so that the loop is one the compiler
// vectorises.
#pragma once
#include "simulator/instructions/InstructionTable.h"
#include "simulator/state/Fault.h"
#include <utility>

namespace heddle::simulator {

/// Result and parameters of a lane function.
template <typename Function>
struct LaneSignature;
template <typename R, typename... A>
struct LaneSignature<R (*)(A...)> {
  using Result = R;
  static constexpr unsigned arity = sizeof...(A);
  static constexpr OperandTypes types() {
    OperandTypes types = {};
    unsigned at = 0;
    ((types[at++] = dataTypeOf<R>()), ..., (types[at++] = dataTypeOf<A>()));
    return types;
  }
};

/// The value of type T whose bits are in one or two rows.
template <typename T>
T laneValue(const uint32_t *low, const uint32_t *high, unsigned lane) {
  if constexpr (sizeof(T) == 2)
    return std::bit_cast<T>(uint16_t(low[lane]));
  else if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(low[lane]);
  else
    return std::bit_cast<T>(uint64_t(high[lane]) << 32 | low[lane]);
}

template <typename T>
void setLaneValue(uint32_t *low, uint32_t *high, unsigned lane, T value) {
  if constexpr (sizeof(T) == 2)
    low[lane] = std::bit_cast<uint16_t>(value);
  else if constexpr (sizeof(T) == 4)
    low[lane] = std::bit_cast<uint32_t>(value);
  else {
    low[lane] = uint32_t(std::bit_cast<uint64_t>(value));
    high[lane] = uint32_t(std::bit_cast<uint64_t>(value) >> 32);
  }
}

struct alignas(64) Rows {
  Row low, high;
};

/// A source as the lane function reads it.
struct Source {
  const uint32_t *low = nullptr, *high = nullptr;
};

/// Applies `-`, `|...|` and whatever else a modified instruction says of source number `position`; may use `storage`.
void applySourceModifiers(Wave &wave, const Instruction &instruction, unsigned position, DataType type, Source &source,
                          Rows &storage);

/// Applies clamp and the output modifier to a result in place.
void applyResultModifiers(const Instruction &instruction, DataType type, Rows &result);

template <typename T, bool modified>
Source readSource(Wave &wave, const Instruction &instruction, unsigned position, Rows &storage) {
  const Operand &operand = instruction.operands[position];
  Source source;
  source.low = readRow(wave, operand, 0, storage.low);
  if constexpr (sizeof(T) == 8)
    source.high = readRow(wave, operand, 1, storage.high);
  if constexpr (modified)
    applySourceModifiers(wave, instruction, position, dataTypeOf<T>(), source, storage);
  return source;
}

template <auto function, bool modified, typename R, typename... A, size_t... I>
void executeLanes(Wave &wave, const Instruction &instruction, R (*)(A...), std::index_sequence<I...>) {
  Rows storage[sizeof...(A) ? sizeof...(A) : 1], result;
  Source sources[] = {readSource<A, modified>(wave, instruction, I + 1, storage[I])...};
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    setLaneValue<R>(result.low, result.high, lane, function(laneValue<A>(sources[I].low, sources[I].high, lane)...));
  if constexpr (modified)
    applyResultModifiers(instruction, dataTypeOf<R>(), result);
  writeRow(wave, instruction.operands[0], 0, result.low);
  if constexpr (sizeof(R) == 8)
    writeRow(wave, instruction.operands[0], 1, result.high);
}

template <auto function, bool modified>
void executeLaneFunction(Wave &wave, const Instruction &instruction) {
  constexpr auto pointer = +function;
  executeLanes<function, modified>(wave, instruction, pointer,
                                   std::make_index_sequence<LaneSignature<decltype(+function)>::arity>());
}

/// The row of an instruction that computes each lane of its one destination from the same lane of its sources.
template <auto function>
constexpr InstructionRow laneRow(std::string_view mnemonic, uint16_t implicit = 0) {
  return {.mnemonic = mnemonic,
          .execute = executeLaneFunction<function, false>,
          .modified = executeLaneFunction<function, true>,
          .types = LaneSignature<decltype(+function)>::types(),
          .implicit = implicit};
}

} // namespace heddle::simulator
