// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sources: AMD Instinct MI300 (CDNA3) and CDNA4 Instruction Set Architecture: SOPP, VOP3P-MAI; LLVM's
// lib/Target/AMDGPU/SISchedule.td.
#include "simulator/timing/TimedInstruction.h"
#include <algorithm>
#include <charconv>

namespace heddle::simulator {
namespace {

constexpr unsigned passCycles = 4;

bool isMatrix(std::string_view mnemonic) {
  return mnemonic.starts_with("v_mfma_") || mnemonic.starts_with("v_smfmac_");
}

/// Operations of the part of the vector unit that is narrower than its lanes.
bool isTranscendental(std::string_view mnemonic) {
  for (std::string_view name : {"exp", "log", "rcp", "rsq", "sqrt", "sin", "cos", "rcp_iflag"})
    for (std::string_view type : {"_f16", "_f32", "_f64", "_legacy_f32"})
      if (mnemonic.starts_with("v_") && mnemonic.substr(2).starts_with(name) &&
          mnemonic.substr(2 + name.size()) == type)
        return true;
  return false;
}

InstructionKind kindOf(const Instruction &instruction) {
  std::string_view mnemonic = instruction.mnemonic;
  if (isMatrix(mnemonic))
    return InstructionKind::Matrix;
  if (mnemonic.starts_with("v_"))
    return InstructionKind::Vector;
  if (mnemonic.starts_with("ds_"))
    return InstructionKind::Lds;
  if (!mnemonic.starts_with("s_"))
    return InstructionKind::Memory;
  if (isScalarMemory(mnemonic) || mnemonic.starts_with("s_mem"))
    return InstructionKind::ScalarMemory;
  if (mnemonic == "s_waitcnt")
    return InstructionKind::Wait;
  if (mnemonic == "s_barrier")
    return InstructionKind::Barrier;
  for (std::string_view prefix : {"s_branch", "s_cbranch", "s_setpc", "s_swappc", "s_call"})
    if (mnemonic.starts_with(prefix))
      return InstructionKind::Branch;
  for (std::string_view prefix : {"s_nop", "s_sleep", "s_setprio", "s_endpgm", "s_icache_inv", "s_ttracedata"})
    if (mnemonic.starts_with(prefix))
      return InstructionKind::Other;
  return InstructionKind::Scalar;
}

void addMatrix(const Instruction &instruction, TimedInstruction &timed) {
  timed.operations = matrixOperations(instruction.mnemonic);
  const Operand &destination = instruction.operands[0];
  const Operand &added = instruction.operands[instruction.mnemonic.starts_with("v_smfmac_") ? 0 : 3];
  if (destination.isVector() && added.isVector() && added.index == destination.index) {
    timed.accumulator = destination.index;
    timed.accumulatorWords = destination.words;
  }
}

} // namespace

const char *nameOf(InstructionKind kind) {
  constexpr const char *names[kindCount] = {"matrix", "vector", "scalar", "scalar memory", "LDS",
                                            "memory", "branch", "wait",   "barrier",       "other"};
  return names[unsigned(kind)];
}

/// `32x32x8` with `_2b` for two blocks.
uint64_t matrixOperations(std::string_view mnemonic) {
  if (!isMatrix(mnemonic))
    return 0;
  uint64_t operations = 2;
  size_t place = mnemonic.find('x');
  while (place != std::string_view::npos && place > 0 && !std::isdigit(uint8_t(mnemonic[place - 1])))
    place = mnemonic.find('x', place + 1);
  if (place == std::string_view::npos)
    return 0;
  place = mnemonic.rfind('_', place) + 1;
  auto number = [&] {
    unsigned value = 1;
    auto [end, error] = std::from_chars(mnemonic.data() + place, mnemonic.data() + mnemonic.size(), value);
    place = size_t(end - mnemonic.data());
    return value;
  };
  for (unsigned extent = 0; extent < 3; ++extent, ++place)
    operations *= number();
  unsigned blocks = number();
  return place < mnemonic.size() && mnemonic[place] == 'b' ? operations * blocks : operations;
}

/// The model gives f8f6f4 the passes that it has for operands of 4 and 6 bits.
unsigned matrixPasses(const Instruction &instruction, unsigned llvmPasses) {
  constexpr unsigned lastByteFormat = 1; // 0: fp8, 1: bf8, 2 and 3: 6 bits, 4: 4 bits
  bool hasBytes = instruction.mnemonic.ends_with("_f8f6f4") &&
                  (instruction.modifiers.cbsz <= lastByteFormat || instruction.modifiers.blgp <= lastByteFormat);
  return hasBytes ? 2 * llvmPasses : llvmPasses;
}

TimedInstruction timedInstructionOf(const Instruction &instruction, const TimingModel &model,
                                    const std::optional<Disassembler::Scheduling> &given) {
  TimedInstruction timed;
  timed.instruction = instruction;
  timed.kind = kindOf(instruction);
  timed.use = registerUseOf(instruction);
  Disassembler::Scheduling scheduling = given.value_or(Disassembler::Scheduling());
  unsigned busy = scheduling.busyPasses, latency = scheduling.latencyPasses;
  if (timed.kind == InstructionKind::Matrix) {
    unsigned passes = matrixPasses(instruction, busy);
    latency += passes - busy;
    busy = passes;
    timed.blocksVector = !scheduling.isOnMatrixUnit;
    addMatrix(instruction, timed);
  } else if (timed.kind == InstructionKind::Vector && isTranscendental(instruction.mnemonic))
    busy = unsigned(model.transcendentalPasses); // LLVM has only their latency
  timed.busyCycles = passCycles * busy;
  timed.latencyCycles = std::max(passCycles * latency, timed.busyCycles);
  if (timed.kind == InstructionKind::Wait)
    timed.waits = WaitCounts::of(instruction.immediate);
  else if (instruction.mnemonic == "s_nop")
    timed.idleCycles = passCycles * (instruction.immediate & 15u);
  else if (instruction.mnemonic == "s_sleep")
    timed.idleCycles = 64 * (instruction.immediate & 127u);
  else if (instruction.mnemonic == "s_setprio")
    timed.priority = instruction.immediate & 3;
  return timed;
}

} // namespace heddle::simulator
