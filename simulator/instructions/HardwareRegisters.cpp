// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The few registers that kernels read: MODE, the wave's place, and those that are constant here.
#include "simulator/instructions/HardwareRegisters.h"
#include "simulator/state/Fault.h"
#include "simulator/state/Workgroup.h"

namespace heddle::simulator {
namespace {

constexpr unsigned modeRegister = 1, statusRegister = 2, trapStatusRegister = 3, identityRegister = 4,
                   gprAllocRegister = 5, ldsAllocRegister = 6, xccRegister = 20;

} // namespace

uint32_t readHardwareRegister(const Wave &wave, unsigned id) {
  switch (id) {
  case modeRegister:
    return wave.mode;
  case statusRegister:
    return uint32_t(wave.scc) | uint32_t(wave.exec() == 0) << 9 | uint32_t(wave.vcc() == 0) << 10;
  case trapStatusRegister:
    return 0;
  case identityRegister: // wave, SIMD and workgroup slots: each wave another
    return wave.indexInGroup & 15;
  case gprAllocRegister:
    return 0;
  case ldsAllocRegister: // size in units of 512 bytes, from bit 12
    return wave.workgroup ? uint32_t((wave.workgroup->lds.size() + 511) / 512) << 12 : 0;
  case xccRegister:
    return 0;
  default:
    throw Fault("reads hardware register " + std::to_string(id) + ", which the simulator does not have");
  }
}

void writeHardwareRegister(Wave &wave, unsigned id, uint32_t value) {
  if (id == trapStatusRegister)
    return;
  if (id != modeRegister)
    throw Fault("writes hardware register " + std::to_string(id) + ", which the simulator does not have");
  wave.mode = value;
}

SkipEffect skipEffectOf(const Instruction &instruction) {
  constexpr unsigned skipBit = std::countr_zero(skipMode);
  const Operand &first = instruction.operands[0], &second = instruction.operands[1];
  auto isConstant = [](const Operand &operand) { return operand.kind == Operand::Kind::Constant; };
  if (instruction.mnemonic == "s_setvskip") {
    bool isKnown = isConstant(first) && isConstant(second);
    return isKnown && !(first.constant >> (second.constant & 31) & 1) ? SkipEffect::Clears : SkipEffect::MaySet;
  }
  if (!instruction.mnemonic.starts_with("s_setreg_"))
    return SkipEffect::None;
  unsigned id = instruction.immediate & 63, begin = instruction.immediate >> 6 & 31,
           end = begin + (instruction.immediate >> 11 & 31) + 1;
  if (id != modeRegister || skipBit < begin || skipBit >= end)
    return SkipEffect::None;
  return isConstant(second) && !(second.constant >> (skipBit - begin) & 1) ? SkipEffect::Clears : SkipEffect::MaySet;
}

} // namespace heddle::simulator
