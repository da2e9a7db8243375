// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Branches, waits, barriers and the end of a wave. Source: AMD Instinct MI300 (CDNA3) Instruction Set Architecture,
// SOPP.
#include "simulator/instructions/Families.h"
#include "simulator/instructions/InstructionTable.h"
#include "simulator/instructions/WaitCounts.h"
#include "simulator/memory/MemoryPort.h"
#include "simulator/state/Fault.h"
#include "simulator/state/Workgroup.h"

namespace heddle::simulator {
namespace {

void doNothing(Wave &, const Instruction &) {}

void jump(Wave &wave, const Instruction &instruction) {
  wave.pc += uint64_t(int64_t(int16_t(instruction.immediate)) * 4); // in dwords from the next instruction
}
template <auto condition>
void jumpIf(Wave &wave, const Instruction &instruction) {
  if (condition(wave))
    jump(wave, instruction);
}

void end(Wave &wave, const Instruction &) {
  wave.memory->endWave(wave);
  wave.state = Wave::State::Ended;
}

void waitForCounts(Wave &wave, const Instruction &instruction) {
  WaitCounts counts = WaitCounts::of(instruction.immediate);
  wave.memory->wait(wave, counts.vector, counts.local);
}

void waitAtBarrier(Wave &wave, const Instruction &) {
  wave.state = Wave::State::AtBarrier;
  ++wave.workgroup->arrived;
}

void sleep(Wave &wave, const Instruction &) {
  wave.state = Wave::State::Sleeping;
}

// Relative addressing of vector registers: the index is in bits 7:0 of M0, and bits 15:12 say for which operands it
// counts.
void indexOn(Wave &wave, const Instruction &instruction) {
  uint32_t index = readUniform32(wave, instruction.operands[0]) & 255, operands = instruction.immediate >> 8 & 15;
  wave.s[m0Register] = (wave.s[m0Register] & ~0xf0ffu) | index | operands << 12;
  wave.mode |= indexedMode;
}
void indexOff(Wave &wave, const Instruction &) {
  wave.mode &= ~indexedMode;
}
void setIndex(Wave &wave, const Instruction &instruction) {
  wave.s[m0Register] = (wave.s[m0Register] & ~0xffu) | (readUniform32(wave, instruction.operands[0]) & 255);
}
void setIndexedOperands(Wave &wave, const Instruction &instruction) {
  wave.s[m0Register] = (wave.s[m0Register] & ~0xf000u) | uint32_t(instruction.immediate & 15) << 12;
}

void setSkip(Wave &wave, const Instruction &instruction) {
  uint32_t bits = readUniform32(wave, instruction.operands[0]), index = readUniform32(wave, instruction.operands[1]);
  wave.mode = bits >> (index & 31) & 1 ? wave.mode | skipMode : wave.mode & ~skipMode;
}

void trap(Wave &, const Instruction &instruction) {
  unsigned number = instruction.immediate & 255;
  if (number == 3) // a debugger's trap does nothing without one
    return;
  throw Fault("the kernel traps (s_trap " + std::to_string(number) + ")");
}

} // namespace

void addControl(InstructionTable &table) {
  auto add = [&](std::string_view mnemonic, Execute execute, uint16_t implicit = 0) {
    table.add({.mnemonic = mnemonic,
               .execute = execute,
               .types = allOf(DataType::B32),
               .destinations = 0,
               .implicit = uint16_t(implicit | acceptsAnything)});
  };
  add("s_endpgm", end);
  add("s_branch", jump);
  add("s_cbranch_scc0", jumpIf<[](Wave &w) { return !w.scc; }>, readsScc);
  add("s_cbranch_scc1", jumpIf<[](Wave &w) { return w.scc; }>, readsScc);
  add("s_cbranch_vccz", jumpIf<[](Wave &w) { return w.vcc() == 0; }>, readsVcc);
  add("s_cbranch_vccnz", jumpIf<[](Wave &w) { return w.vcc() != 0; }>, readsVcc);
  add("s_cbranch_execz", jumpIf<[](Wave &w) { return w.exec() == 0; }>, readsExec);
  add("s_cbranch_execnz", jumpIf<[](Wave &w) { return w.exec() != 0; }>, readsExec);
  add("s_waitcnt", waitForCounts);
  add("s_barrier", waitAtBarrier);
  add("s_sleep", sleep);
  add("s_trap", trap);
  add("s_set_gpr_idx_on", indexOn, readsM0 | writesM0);
  add("s_set_gpr_idx_off", indexOff);
  add("s_set_gpr_idx_idx", setIndex, readsM0 | writesM0);
  add("s_set_gpr_idx_mode", setIndexedOperands, readsM0 | writesM0);
  add("s_setvskip", setSkip);
  add("v_nop", doNothing, ignoresExec);
  // What steers the clock, the arbiter or the instruction cache changes no result.
  for (std::string_view name : {"s_nop", "s_setprio", "s_icache_inv", "s_incperflevel", "s_decperflevel", "s_wakeup"})
    add(name, doNothing);
  add("s_ttracedata", doNothing, readsM0);
}

} // namespace heddle::simulator
