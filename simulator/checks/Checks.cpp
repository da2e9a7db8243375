// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes the checks that a set names, and keeps what they know of each wave for as long as it lives.
#include "simulator/checks/Checks.h"
#include "simulator/memory/MemoryPort.h"
#include "simulator/state/Workgroup.h"

namespace heddle::simulator {

Checks::Checks(MemorySystem &system, CheckSet checks) : checks(checks) {
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

std::vector<ReportLine> Checks::notes() const {
  return slack ? slack->notes() : std::vector<ReportLine>();
}

void Checks::addWaves(Workgroup &group) {
  for (auto &wave : group.waves) {
    if (spare.empty())
      spare.push_back(std::make_unique<WaveChecks>());
    else
      *spare.back() = WaveChecks();
    wave->checks = (waves[wave.get()] = std::move(spare.back())).get();
    spare.pop_back();
  }
}

void Checks::groupBegins(Workgroup &group) {
  addWaves(group);
  each([&](auto &check) { check.groupBegins(group); });
}

void Checks::groupEnds(Workgroup &group) {
  each([&](auto &check) { check.groupEnds(group); });
  dropWaves(group);
}

void Checks::dropWaves(Workgroup &group) {
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

QuickPlan quickPlanOf(const Instruction &instruction) {
  PoisonPlan poison = poisonPlanOf(instruction);
  QuickPlan plan;
  plan.issueCycles = issueCyclesOf(instruction);
  plan.maySkip = poison.kind == PoisonPlan::Kind::Nothing || poison.staysClean;
  plan.namesScc = poison.namesScc;
  RegisterSet all;
  auto add = [&](unsigned word, uint64_t bits) { all.words[word] |= bits; };
  registerUseOf(instruction).all.forWords(add);
  poison.registers.forWords(add);
  for (unsigned word = 0; word < RegisterSet::wordCount; ++word) {
    if (!all.words[word])
      continue;
    if (plan.count == QuickPlan::mostWords) {
      plan.maySkip = false;
      continue;
    }
    plan.bits[plan.count] = all.words[word];
    plan.words[plan.count++] = uint8_t(word);
  }
  return plan;
}

/// The checks that are not asked here look at requests, not at instructions.
bool Checks::hasNothingToDo(const Wave &wave, const QuickPlan &plan) const {
  if (!plan.maySkip || !registers || !poison || wave.mode & indexedMode)
    return false;
  const RegisterSet &loads = wave.checks->registers.destinations;
  const PoisonRegisters &poisoned = *wave.checks->poison.registers;
  uint64_t any = plan.namesScc && poisoned.scc;
  for (unsigned i = 0; i < plan.count; ++i) {
    unsigned word = plan.words[i];
    any |= plan.bits[i] & (loads.words[word] | poisoned.maybe.words[word]);
  }
  return !any;
}

void Checks::beforeInstruction(Wave &wave, const Instruction &instruction) {
  WaveClock &clock = wave.checks->clock;
  clock.now.cycles += clock.issue;
  ++clock.now.instructions;
  const QuickPlan &plan = quickPlans.of(instruction);
  quickPlans.prefetchNext(instruction);
  clock.issue = plan.issueCycles;
  if (hasNothingToDo(wave, plan))
    return;
  each([&](auto &check) { check.beforeInstruction(wave, instruction); });
}
void Checks::afterInstruction(Wave &wave, const Instruction &instruction) {
  if (poison) // the only one that looks at it
    poison->afterInstruction(wave, instruction);
}
void Checks::issued(Wave &wave, MemoryRequest &request) {
  request.issueIndex = wave.checks->clock.now.instructions;
  request.issueCycle = wave.checks->clock.now.cycles;
  each([&](auto &check) { check.issued(wave, request); });
}
void Checks::performed(Wave &wave, MemoryRequest &request) {
  each([&](auto &check) { check.performed(wave, request); });
}
void Checks::landed(Wave &wave, MemoryRequest &request) {
  each([&](auto &check) { check.landed(wave, request); });
}
/// A wait takes until the request has taken its time.
void Checks::completed(Wave &wave, MemoryRequest &request) {
  uint32_t &now = wave.checks->clock.now.cycles, over = request.issueCycle + latencyOf(request).least;
  if (int32_t(over - now) > 0)
    now = over;
  each([&](auto &check) { check.completed(wave, request); });
}
void Checks::barrierOpens(Workgroup &group, bool someEnded) {
  uint32_t latest = group.waves[0]->checks->clock.now.cycles;
  for (auto &wave : group.waves)
    if (uint32_t cycles = wave->checks->clock.now.cycles; int32_t(cycles - latest) > 0)
      latest = cycles;
  for (auto &wave : group.waves) {
    WaveClock &clock = wave->checks->clock;
    clock.now.cycles = latest;
    clock.atBarrier = clock.now;
  }
  each([&](auto &check) { check.barrierOpens(group, someEnded); });
}
void Checks::kernelBegins(Device &device) {
  each([&](auto &check) { check.kernelBegins(device); });
}
void Checks::kernelEnds(Device &device) {
  each([&](auto &check) { check.kernelEnds(device); });
}

// ---- Workgroups that run apart ----

std::unique_ptr<Watcher> Checks::makeApart(MemorySystem &view) {
  auto apart = std::make_unique<Checks>(view, checks);
  apart->findings.nameAs(findings);
  apart->order.reset();
  apart->recorder.emplace(apart->findings);
  if (apart->poison)
    apart->poison->isApart = true;
  return apart;
}

void Checks::repeat(Workgroup &group, const RecordedGroup &recorded) {
  const auto &record = static_cast<const GroupRecord &>(recorded);
  addWaves(group);
  if (order)
    order->groupBegins(group);
  for (auto &wave : group.waves)
    wave->state = Wave::State::Running;
  MemoryRequest request;
  for (const GroupRecord::Entry &entry : record.entries)
    repeatEntry(group, record, entry, request);
  dropWaves(group);
}

/// `request` is room for one.
void Checks::repeatEntry(Workgroup &group, const GroupRecord &record, const GroupRecord::Entry &entry,
                         MemoryRequest &request) {
  Wave &wave = *group.waves[entry.wave];
  switch (entry.event) {
  case GroupRecord::Event::Issued:
    record.readRequest(entry.value, request);
    return repeatRequest(wave, request);
  case GroupRecord::Event::Completed:
    request.kind = entry.kind, request.scope = entry.scope, request.serial = entry.value;
    return order ? order->completed(wave, request) : void();
  case GroupRecord::Event::WaveEnds:
    wave.state = Wave::State::Ended;
    return order ? order->waveEnds(wave) : void();
  case GroupRecord::Event::BarrierOpens:
    for (auto &each : group.waves)
      each->checks->clock.now = each->checks->clock.atBarrier = record.times[entry.times + each->indexInGroup];
    return order ? order->barrierOpens(group, entry.value) : void();
  case GroupRecord::Event::Reported:
    const GroupRecord::Report &report = record.reports[entry.value];
    Site first, second;
    first.instruction = report.first, second.instruction = report.second;
    findings.report(report.check, first, second, report.likelihood, [&] {
      Finding finding = record.findings[report.index];
      finding.count = 1;
      return finding;
    });
  }
}

/// Under Policy::Earliest, all that a request does to memory happens at its issue.
void Checks::repeatRequest(Wave &wave, MemoryRequest &request) {
  wave.checks->clock.now = {request.issueIndex, request.issueCycle};
  if (order)
    order->issued(wave, request);
  wave.memory->repeat(wave, request);
  if (order)
    order->performed(wave, request);
  if (poison)
    poison->repeated(wave, request);
}

} // namespace heddle::simulator
