// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Derives the registers from operands, mnemonic and row.
#include "simulator/checks/RegisterUse.h"

namespace heddle::simulator {
namespace {

bool isAtomic(const Instruction &instruction) {
  return instruction.mnemonic.find("_atomic_") != std::string::npos;
}

bool issuesRequest(std::string_view mnemonic) {
  for (std::string_view prefix : {"global_", "flat_", "scratch_", "buffer_", "ds_", "s_mem"})
    if (mnemonic.starts_with(prefix))
      return true;
  return isScalarMemory(mnemonic);
}

class Collector {
public:
  explicit Collector(RegisterUse &use) : use(use) {}

  void add(bool isVector, bool isWritten, unsigned first, unsigned words) {
    use.spans[use.count++] = {isVector, isWritten, uint16_t(first), uint8_t(words)};
  }
  void addOperand(const Operand &operand, bool isWritten) {
    if (operand.isVector())
      add(true, isWritten, operand.index, operand.words);
    else if (operand.kind == Operand::Kind::Scalar)
      addScalar(operand, isWritten);
  }
  void addImplicit(uint16_t implicit) {
    auto addIf = [&](uint16_t flag, bool isWritten, unsigned first, unsigned words) {
      if (implicit & flag)
        add(false, isWritten, first, words);
    };
    addIf(readsVcc, false, vccRegister, 2);
    addIf(writesVcc, true, vccRegister, 2);
    addIf(readsScc, false, sccRegister, 1);
    addIf(writesScc, true, sccRegister, 1);
    addIf(readsExec, false, execRegister, 2);
    addIf(writesExec, true, execRegister, 2);
    addIf(readsM0, false, m0Register, 1);
    addIf(writesM0, true, m0Register, 1);
  }

private:
  void addScalar(const Operand &operand, bool isWritten) {
    if (operand.index == vcczRegister)
      add(false, false, vccRegister, 2);
    else if (operand.index == execzRegister)
      add(false, false, execRegister, 2);
    else
      add(false, isWritten, operand.index, operand.words);
  }

  RegisterUse &use;
};

} // namespace

unsigned destinationsOf(const Instruction &instruction) {
  if (instruction.modifiers.lds)
    return 0;
  if (isAtomic(instruction))
    return instruction.modifiers.sc0;
  return instruction.row->destinations;
}

RegisterUse registerUseOf(const Instruction &instruction) {
  RegisterUse use;
  if (!instruction.row)
    return use;
  std::string_view mnemonic = instruction.mnemonic;
  uint16_t implicit = instruction.row->implicit;
  unsigned destinations = destinationsOf(instruction);
  // Data and result of a buffer or scalar atomic are the same registers.
  bool readsFirst = implicit & readsDestination ||
                    (isAtomic(instruction) && (mnemonic.starts_with("buffer_") || isScalar(instruction)));
  Collector collector(use);
  for (unsigned i = 0; i < instruction.operandCount; ++i) {
    const Operand &operand = instruction.operands[i];
    if (i < destinations)
      collector.addOperand(operand, true);
    if (i >= destinations || readsFirst)
      collector.addOperand(operand, false);
  }
  use.landsLater = issuesRequest(mnemonic);
  bool isVector = mnemonic.starts_with("v_") || (use.landsLater && !mnemonic.starts_with("s_"));
  if (isVector && !(implicit & ignoresExec))
    implicit |= readsExec;
  if (instruction.modifiers.lds)
    implicit |= readsM0;
  collector.addImplicit(implicit);
  RegisterSet all;
  for (const RegisterSpan &span : use)
    all.add(span);
  use.all = RegisterMask(all);
  if (mnemonic == "v_readfirstlane_b32")
    use.lanes = RegisterUse::Lanes::First;
  else if (mnemonic == "v_readlane_b32" || mnemonic == "v_writelane_b32")
    use.lanes = RegisterUse::Lanes::Selected;
  else if (implicit & ignoresExec || mnemonic.starts_with("v_permlane"))
    use.lanes = RegisterUse::Lanes::All;
  return use;
}

uint64_t lanesOf(const RegisterUse &use, const Wave &wave, const Instruction &instruction) {
  switch (use.lanes) {
  case RegisterUse::Lanes::Active:
    return wave.exec();
  case RegisterUse::Lanes::All:
    return allLanes;
  case RegisterUse::Lanes::First:
    return wave.exec() ? wave.exec() & -wave.exec() : 1;
  case RegisterUse::Lanes::Selected:
    return uint64_t(1) << readUniform32(wave, instruction.operands[2]) % waveLanes;
  }
  return allLanes;
}

std::string registerName(bool isVector, unsigned index) {
  if (isVector)
    return index < firstAccumulationRow ? "v" + std::to_string(index)
                                        : "a" + std::to_string(index - firstAccumulationRow);
  switch (index) {
  case vccRegister:
    return "vcc_lo";
  case vccRegister + 1:
    return "vcc_hi";
  case m0Register:
    return "m0";
  case execRegister:
    return "exec_lo";
  case execRegister + 1:
    return "exec_hi";
  case sccRegister:
    return "scc";
  default:
    return index >= trapRegister && index < m0Register ? "ttmp" + std::to_string(index - trapRegister)
                                                       : "s" + std::to_string(index);
  }
}

} // namespace heddle::simulator
