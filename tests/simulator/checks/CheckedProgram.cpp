// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Executes line by line, so that a test sees after which of them a check reported.
#include "CheckedProgram.h"
#include "simulator/instructions/RelativeRegisters.h"

namespace heddle::simulator {

CheckSet only(Check check) {
  CheckSet set;
  set.add(check);
  return set;
}

CheckedProgram::CheckedProgram(CheckSet set, Policy policy, const std::string &chip)
    : device(system.addDevice({})), checks(system, set),
      port(system, {.policy = policy, .direct = false, .watcher = &checks}),
      memory(&system.home.allocate(4096, "memory")), chip(chip) {
  group.waves.push_back(makeTestWave());
  wave = group.waves.back().get();
  wave->unit = device.units[0].get();
  wave->memory = &port;
  wave->pending = &pending;
  wave->workgroup = &group;
  group.lds.resize(1024);
  wave->scratchBytes = 16;
  wave->scratch.resize(wave->scratchBytes * waveLanes);
  for (uint32_t lane = 0; lane < waveLanes; ++lane) {
    uint64_t address = memory->base + 4 * lane;
    wave->v[0][lane] = uint32_t(address), wave->v[1][lane] = uint32_t(address >> 32), wave->v[2][lane] = 4 * lane;
  }
  wave->setScalar64(0, memory->base);
}

void CheckedProgram::begin() {
  hasBegun = true;
  checks.kernelBegins(device);
  wave->givenScalars = 0xFFFFFFFF;
  checks.groupBegins(group);
  if (PoisonRegisters *registers = wave->checks->poison.registers.get())
    registers->rows[1] = registers->rows[2] = PoisonRow();
}

CheckedProgram &CheckedProgram::repeat(const std::string &text, unsigned times) {
  if (!hasBegun)
    begin();
  // What is in flight keeps a pointer to its instruction.
  programs.push_back(std::make_unique<std::vector<Instruction>>(decodeText(chip, text)));
  for (Instruction &instruction : *programs.back()) {
    instruction.pc = end;
    end += instruction.sizeBytes;
  }
  for (unsigned i = 0; i < times; ++i)
    for (const Instruction &instruction : *programs.back())
      execute(instruction);
  return *this;
}

void CheckedProgram::execute(const Instruction &instruction) {
  wave->current = &instruction;
  wave->pc = instruction.pc + instruction.sizeBytes;
  checks.beforeInstruction(*wave, instruction);
  if (wave->mode & indexedMode) {
    Instruction moved = withRelativeRegisters(*wave, instruction);
    moved.execute(*wave, moved);
  } else
    instruction.execute(*wave, instruction);
  checks.afterInstruction(*wave, instruction);
}

std::string CheckedProgram::report() const {
  std::string text;
  for (const Finding &finding : checks.findings.list())
    text += finding.text();
  return text;
}

std::string CheckedProgram::summary() const {
  std::string text;
  for (const Finding &finding : checks.findings.list())
    text += (text.empty() ? "" : "\n") + finding.title + (finding.needs ? ": " + finding.needs->text() : "");
  return text;
}

} // namespace heddle::simulator
