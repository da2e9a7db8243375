// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What stands around a lane function: sources of all lanes are gathered, the function is applied to 64 lanes, and the
// result is written where EXEC says. The function is a template argument, so that the loop is one the compiler
// vectorises. Its signature says how operands are read; a `bool` is one lane's bit of a mask in two scalar registers.
#pragma once
#include "simulator/instructions/InstructionTable.h"
#include "simulator/instructions/LaneModifiers.h"
#include "simulator/state/Fault.h"
#include <utility>

namespace heddle::simulator {

/// The result of an instruction with a second destination, a mask.
template <typename T>
struct WithMask {
  T value;
  bool mask;
};

/// As a lane function's last parameter: the lane's number, which no operand gives.
struct LaneIndex {
  uint32_t value;
};

/// As a parameter: the byte of a register that op_sel names, at bit 0.
struct SelectedByte {
  uint32_t value;
};
/// As a result: a byte that goes where op_sel says; the rest of the register stays.
struct PlacedByte {
  uint32_t value;
};

/// Result and parameters of a lane function.
template <typename Function>
struct LaneSignature;
template <typename R, typename... A>
struct LaneSignature<R (*)(A...)> {
  static constexpr unsigned arity = sizeof...(A);
};

template <typename T>
struct ResultOf {
  using Value = T;
  static constexpr unsigned destinations = 1;
};
template <typename T>
struct ResultOf<WithMask<T>> {
  using Value = T;
  static constexpr unsigned destinations = 2;
};

template <typename T>
constexpr DataType operandType() {
  if constexpr (std::is_same_v<T, bool>)
    return DataType::B64; // the mask
  else
    return dataTypeOf<T>();
}

/// The value of type T whose bits are in one or two rows.
template <typename T>
T laneValue(const uint32_t *low, const uint32_t *high, unsigned lane) {
  if constexpr (std::is_same_v<T, bool>)
    return low[lane] != 0;
  else if constexpr (sizeof(T) == 2)
    return std::bit_cast<T>(uint16_t(low[lane]));
  else if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(low[lane]);
  else
    return std::bit_cast<T>(uint64_t(high[lane]) << 32 | low[lane]);
}

template <typename T>
void setLaneValue(uint32_t *low, uint32_t *high, unsigned lane, T value) {
  if constexpr (std::is_same_v<T, bool>)
    low[lane] = value;
  else if constexpr (sizeof(T) == 2)
    low[lane] = std::bit_cast<uint16_t>(value);
  else if constexpr (sizeof(T) == 4)
    low[lane] = std::bit_cast<uint32_t>(value);
  else {
    low[lane] = uint32_t(std::bit_cast<uint64_t>(value));
    high[lane] = uint32_t(std::bit_cast<uint64_t>(value) >> 32);
  }
}

/// Where a lane function's last parameter comes from.
enum class Last : uint8_t {
  Operand,     ///< the text, like all others
  Destination, ///< the destination's old value
};

/// A source as the lane function reads it. `position` is the operand's in the text.
template <typename T, bool modified>
Source readSource(Wave &wave, const Instruction &instruction, unsigned position, unsigned number, Rows &storage) {
  Source source;
  if constexpr (std::is_same_v<T, bool>) {
    bool implicit = position >= instruction.operandCount;
    expandMask(implicit ? wave.vcc() : readUniform64(wave, instruction.operands[position]), storage.low);
    source.low = storage.low;
    return source;
  } else if constexpr (std::is_same_v<T, LaneIndex>) {
    source.low = laneNumbers;
    return source;
  }
  const Operand &operand = instruction.operands[position];
  source.low = readRow(wave, operand, 0, storage.low);
  if constexpr (sizeof(T) == 8)
    source.high = readRow(wave, operand, 1, storage.high);
  if constexpr (modified)
    applySourceModifiers(wave, instruction, position, number, dataTypeOf<T>(), source, storage);
  if constexpr (std::is_same_v<T, SelectedByte> && modified)
    selectByte(instruction.modifiers, source, storage);
  if constexpr (isFloat(dataTypeOf<T>()))
    if (hasUnusualMode(wave.mode))
      applySourceMode(wave.mode, dataTypeOf<T>(), source, storage);
  return source;
}

/// Writes what a lane function gave: a value, a mask, or both.
template <typename R, bool modified>
void writeResult(Wave &wave, const Instruction &instruction, Rows &result, const Row &mask) {
  using Value = typename ResultOf<R>::Value;
  if constexpr (std::is_same_v<Value, bool>) {
    writeCompared(wave, instruction, collectMask(result.low));
    return;
  }
  if constexpr (isFloat(dataTypeOf<Value>()))
    if (hasUnusualMode(wave.mode))
      applyResultMode(wave.mode, dataTypeOf<Value>(), result);
  uint64_t lanes = wave.exec();
  if constexpr (ResultOf<R>::destinations == 2)
    writeUniform64(wave, instruction.operands[1], collectMask(mask) & lanes);
  if constexpr (modified)
    lanes = applyResultModifiers(wave, instruction, dataTypeOf<Value>(), result);
  if constexpr (std::is_same_v<Value, PlacedByte>)
    placeByte(instruction.modifiers, wave.v[instruction.operands[0].index], result.low);
  else if (!modified && sizeof(Value) == 2 && instruction.row->implicit & keepsHighHalf)
    keepHighHalves(wave.v[instruction.operands[0].index], result.low);
  writeRow(wave.v[instruction.operands[0].index], result.low, lanes);
  if constexpr (sizeof(Value) == 8)
    writeRow(wave.v[instruction.operands[0].index + 1], result.high, lanes);
}

template <auto function, Last last, bool modified, typename R, typename... A, size_t... I>
void executeLanes(Wave &wave, const Instruction &instruction, R (*)(A...), std::index_sequence<I...>) {
  constexpr unsigned destinations = ResultOf<R>::destinations;
  constexpr bool floats = (isFloat(dataTypeOf<A>()) || ...) || isFloat(dataTypeOf<typename ResultOf<R>::Value>());
  constexpr bool wide = ((sizeof(A) != 4 && isFloat(dataTypeOf<A>())) || ...) || sizeof(R) != 4;
  Rows storage[sizeof...(A)], result;
  Row mask;
  auto position = [](unsigned index) {
    return last == Last::Destination && index == sizeof...(A) - 1 ? 0 : index + destinations;
  };
  Source sources[] = {readSource<A, modified>(wave, instruction, position(I), I, storage[I])...};
  HostRounding rounding(floats ? wave.mode : 0, wide);
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    R value = function(laneValue<A>(sources[I].low, sources[I].high, lane)...);
    if constexpr (destinations == 2) {
      setLaneValue(result.low, result.high, lane, value.value);
      mask[lane] = value.mask;
    } else {
      setLaneValue(result.low, result.high, lane, value);
    }
  }
  rounding.restore();
  writeResult<R, modified>(wave, instruction, result, mask);
}

template <auto function, Last last, bool modified>
void executeLaneFunction(Wave &wave, const Instruction &instruction) {
  constexpr auto pointer = +function;
  executeLanes<function, last, modified>(wave, instruction, pointer,
                                         std::make_index_sequence<LaneSignature<decltype(+function)>::arity>());
}

/// With clamp, an integer instruction computes something else: `saturated`.
template <auto function, auto saturated, Last last>
void executeSaturating(Wave &wave, const Instruction &instruction) {
  if (instruction.modifiers.clamp)
    executeLaneFunction<saturated, last, true>(wave, instruction);
  else
    executeLaneFunction<function, last, true>(wave, instruction);
}

template <typename R, typename... A>
constexpr OperandTypes typesOf(R (*)(A...)) {
  OperandTypes types = {};
  unsigned at = 0;
  types[at++] = operandType<typename ResultOf<R>::Value>();
  if (ResultOf<R>::destinations == 2)
    types[at++] = DataType::B64;
  ((types[at++] = operandType<A>()), ...);
  return types;
}

/// With FP16_OVFL in MODE, conversions to small floats saturate.
template <auto function, auto saturated, bool modified>
void executeWithOverflow(Wave &wave, const Instruction &instruction) {
  if (wave.mode & saturateSmallFloats)
    executeLaneFunction<saturated, Last::Operand, modified>(wave, instruction);
  else
    executeLaneFunction<function, Last::Operand, modified>(wave, instruction);
}

/// The row of an instruction that computes each lane of its destination from the same lane of its sources.
template <auto function, Last last = Last::Operand>
constexpr InstructionRow laneRow(std::string_view mnemonic, uint16_t implicit = 0) {
  constexpr auto pointer = +function;
  InstructionRow row{.mnemonic = mnemonic,
                     .execute = executeLaneFunction<function, last, false>,
                     .modified = executeLaneFunction<function, last, true>,
                     .types = typesOf(pointer),
                     .implicit = implicit};
  row.destinations = []<typename R, typename... A>(R (*)(A...)) { return ResultOf<R>::destinations; }(pointer);
  row.implicit |= []<typename R, typename... A>(R (*)(A...)) {
    return uint16_t((std::is_same_v<R, PlacedByte> ? placesByte : 0) |
                    ((std::is_same_v<A, SelectedByte> || ...) ? selectsByte : 0));
  }(pointer);
  return row;
}

/// The last parameter is the destination's old value: v_fmac and its like.
template <auto function>
constexpr InstructionRow accumulatingRow(std::string_view mnemonic, uint16_t implicit = 0) {
  return laneRow<function, Last::Destination>(mnemonic, implicit | readsDestination);
}

template <auto function, auto saturated, Last last = Last::Operand>
constexpr InstructionRow saturatingRow(std::string_view mnemonic, uint16_t implicit = 0) {
  InstructionRow row = laneRow<function, last>(mnemonic, implicit);
  row.modified = executeSaturating<function, saturated, last>;
  return row;
}

template <auto function, auto saturated>
constexpr InstructionRow overflowRow(std::string_view mnemonic, uint16_t implicit = 0) {
  InstructionRow row = laneRow<function>(mnemonic, implicit);
  row.execute = executeWithOverflow<function, saturated, false>;
  row.modified = executeWithOverflow<function, saturated, true>;
  return row;
}

} // namespace heddle::simulator
