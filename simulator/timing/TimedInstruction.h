// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the estimate of time knows of an instruction before it executes: its kind, for how long it occupies its unit,
// when its result is there.
#pragma once
#include "chips/TimingModel.h"
#include "simulator/checks/RegisterUse.h"
#include "simulator/decode/Disassembler.h"
#include "simulator/instructions/WaitCounts.h"
#include "simulator/state/Instruction.h"

namespace heddle::simulator {

/// Of the kinds up to Branch a SIMD issues one instruction each in a turn, but Matrix and Vector share theirs. The
/// others take no unit.
enum class InstructionKind : uint8_t {
  Matrix,
  Vector,
  Scalar,
  ScalarMemory,
  Lds,
  Memory,
  Branch,
  Wait,
  Barrier,
  Other
};
inline constexpr unsigned kindCount = 10;
const char *nameOf(InstructionKind kind); ///< `matrix`, `vector`, `scalar`, ...

struct TimedInstruction {
  Instruction instruction; ///< a copy, which outlives the loaded code
  InstructionKind kind = InstructionKind::Other;
  unsigned busyCycles = 4;    ///< of its unit
  unsigned latencyCycles = 4; ///< until what depends on it may issue
  bool blocksVector = false;  ///< a matrix instruction that occupies the vector unit too
  uint64_t operations = 0;    ///< of a matrix instruction: multiplications and additions
  /// Of a matrix instruction that adds to its own destination: those registers.
  uint16_t accumulator = 0;
  uint8_t accumulatorWords = 0;
  WaitCounts waits;        ///< of Wait
  unsigned idleCycles = 0; ///< for which the wave issues nothing afterwards: s_nop, s_sleep
  int priority = -1;       ///< of s_setprio
  RegisterUse use;
};

/// `scheduling` is what LLVM says, if anything.
TimedInstruction timedInstructionOf(const Instruction &instruction, const TimingModel &model,
                                    const std::optional<Disassembler::Scheduling> &scheduling);

/// Passes of a matrix instruction: LLVM's, but where the ISA document says otherwise.
unsigned matrixPasses(const Instruction &instruction, unsigned llvmPasses);

/// Multiplications and additions of `v_mfma_f32_32x32x8_f16`; 0 for what is no matrix instruction.
uint64_t matrixOperations(std::string_view mnemonic);

} // namespace heddle::simulator
