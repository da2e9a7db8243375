// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/checks/Checks.h"
#include "simulator/state/Workgroup.h"

namespace heddle::simulator {

Checks::Checks(MemorySystem &system, CheckSet checks) {
  findings.severalDevices = system.devices.size() > 1;
  if (checks.has(Check::RegisterWait))
    registers.emplace(findings);
  if (checks.has(Check::LdsRace) || checks.has(Check::BarrierExit) || checks.has(Check::LdsSameValue))
    lds.emplace(findings, checks);
  if (checks.has(Check::GlobalRace) || checks.has(Check::GlobalSameValue) || checks.has(Check::NarrowScope))
    order.emplace(findings, checks, system);
  if (checks.has(Check::Uninitialised))
    poison.emplace(findings, system);
  if (checks.has(Check::LostUpdate) || checks.has(Check::Bounds) || checks.has(Check::Misaligned) ||
      checks.has(Check::MisalignedSlow))
    access.emplace(findings, checks, system.home);
  slack.emplace(findings, system.home);
  if (!slack->any())
    slack.reset();
}

std::vector<std::string> Checks::notes() const {
  return slack ? slack->notes() : std::vector<std::string>();
}

void Checks::groupBegins(Workgroup &group) {
  for (auto &wave : group.waves) {
    if (spare.empty())
      spare.push_back(std::make_unique<WaveChecks>());
    else
      *spare.back() = WaveChecks();
    wave->checks = (waves[wave.get()] = std::move(spare.back())).get();
    spare.pop_back();
  }
  each([&](auto &check) { check.groupBegins(group); });
}

void Checks::groupEnds(Workgroup &group) {
  each([&](auto &check) { check.groupEnds(group); });
  for (auto &wave : group.waves) {
    auto found = waves.find(wave.get());
    spare.push_back(std::move(found->second));
    waves.erase(found);
    wave->checks = nullptr;
  }
}

void Checks::waveEnds(Wave &wave) {
  each([&](auto &check) { check.waveEnds(wave); });
}
void Checks::beforeInstruction(Wave &wave, const Instruction &instruction) {
  each([&](auto &check) { check.beforeInstruction(wave, instruction); });
}
void Checks::afterInstruction(Wave &wave, const Instruction &instruction) {
  each([&](auto &check) { check.afterInstruction(wave, instruction); });
}
void Checks::issued(Wave &wave, MemoryRequest &request) {
  each([&](auto &check) { check.issued(wave, request); });
}
void Checks::performed(Wave &wave, MemoryRequest &request) {
  each([&](auto &check) { check.performed(wave, request); });
}
void Checks::landed(Wave &wave, MemoryRequest &request) {
  each([&](auto &check) { check.landed(wave, request); });
}
void Checks::completed(Wave &wave, MemoryRequest &request) {
  each([&](auto &check) { check.completed(wave, request); });
}
void Checks::barrierOpens(Workgroup &group, bool someEnded) {
  each([&](auto &check) { check.barrierOpens(group, someEnded); });
}
void Checks::kernelBegins(Device &device) {
  each([&](auto &check) { check.kernelBegins(device); });
}
void Checks::kernelEnds(Device &device) {
  each([&](auto &check) { check.kernelEnds(device); });
}

} // namespace heddle::simulator
