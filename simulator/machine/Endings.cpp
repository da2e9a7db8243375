// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How kernels end before their time: faults, waiting for ever, and limits.
#include "simulator/machine/Machine.h"
#include "simulator/machine/Resident.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle::simulator {
namespace {

/// While all waves find what they wait for unchanged: a kernel that counts its polls gives up some time.
constexpr uint64_t mostIdleInstructions = 1 << 22;
constexpr uint64_t mostSkip = uint64_t(1) << 60; ///< ticks of the clock

std::string nameOf(const Wave &wave) {
  const uint32_t *id = wave.workgroup->id;
  return fmt::format("workgroup {},{},{} wave {}", id[0], id[1], id[2], wave.indexInGroup);
}

} // namespace

/// Of a fault while `running` ran, or of a request that was performed later, and whose wave the fault names.
KernelError Machine::errorOf(const KernelRun &run, const Wave &running, const Fault &fault) {
  const Wave &wave = fault.wave ? *fault.wave : running;
  const Instruction *instruction = fault.instruction ? fault.instruction : running.current;
  // The counter is after the instruction unless the fault is that there is none.
  bool isFetch =
      !fault.instruction &&
      (!instruction || (instruction->pc + instruction->sizeBytes != running.pc && instruction->pc != running.pc));
  uint64_t pc = isFetch ? wave.pc : instruction->pc;
  std::string after = fmt::format("  {}  {}{}", isFetch || instruction->text.empty() ? "-" : instruction->text,
                                  nameOf(wave), fault.lane < 0 ? "" : fmt::format(" lane {}", fault.lane));
  std::vector<ReportLine> notes = {{"", pc - run.codeBase, after}};
  notes.insert(notes.end(), fault.notes.begin(), fault.notes.end());
  return KernelError(fmt::format("kernel `{}`: {}", run.launch->kernel.name, fault.what()), notes);
}

// ---- When nothing goes on ----

KernelRun *Machine::runOf(const Wave &wave) const {
  for (KernelRun *run : running)
    for (auto &resident : run->residents)
      for (auto &each : resident->group.waves)
        if (each.get() == &wave)
          return run;
  return nullptr;
}

/// Ends the kernels whose requests were at fault when the port made them happen, whichever wave was running; one whose
/// waves are gone is over already. Whether there were any.
bool Machine::endAtFault() {
  bool any = false;
  for (const Fault &fault : port.takeFaults())
    if (KernelRun *run = runOf(*fault.wave)) {
      abandon(*run, errorOf(*run, *fault.wave, fault));
      any = true;
    }
  return any;
}

/// Lets happen what must happen some time: the frozen run, memory is changed by what is in flight, and time passes.
bool Machine::unblock() {
  // Before anything else, and again after each of the others: what arrives, or the time, may matter to it alone.
  if (options.schedule == Schedule::Frozen && !hasThawed)
    return hasThawed = thawed = true;
  hasThawed = false;
  if (port.performAll()) {
    endAtFault();
    std::erase_if(running, [](const KernelRun *run) { return run->ended; });
    return true;
  }
  bool readsClock = false, canRun = false;
  for (KernelRun *run : running)
    for (auto &resident : run->residents)
      for (auto &wave : resident->group.waves) {
        bool runs = wave->state == Wave::State::Running || wave->state == Wave::State::Sleeping;
        canRun |= runs;
        readsClock |= runs && wave->polls.readsClock;
        wave->polls.readsClock = false;
      }
  if (!canRun)
    return false;
  if (readsClock && port.skippedTicks < mostSkip) {
    uint64_t skipped = options.skip ? options.skip(nextSkip) : nextSkip;
    port.skippedTicks += skipped;
    nextSkip = std::clamp(2 * skipped, firstSkip, mostSkip);
    progressedAt = executed; // until a wave looks at the clock again
    return true;
  }
  return executed - progressedAt < mostIdleInstructions;
}

/// The kernel is over; what its waves have in flight is forgotten.
void Machine::abandon(KernelRun &run, KernelError error) {
  run.ended = true;
  run.error = std::move(error);
  countedFrom = executed;
  for (auto &resident : run.residents)
    for (auto &wave : resident->group.waves)
      port.abandon(*wave);
  run.residents.clear();
  run.idle.clear();
  run.device->launch = run.number;
  system.endKernel(*run.device);
  if (watcher)
    watcher->kernelEnds(*run.device);
}

std::vector<ReportLine> Machine::describeWaiting() const {
  constexpr size_t most = 8;
  std::vector<ReportLine> notes;
  size_t more = 0;
  for (const KernelRun *run : running)
    for (const auto &resident : run->residents) {
      const Workgroup &group = resident->group;
      for (const auto &wave : group.waves) {
        if (wave->state == Wave::State::Ended)
          continue;
        if (notes.size() == most) {
          ++more;
          continue;
        }
        std::string what = wave->current ? fmt::format("  {}  ", wave->current->text) : "";
        if (system.devices.size() > 1)
          what += fmt::format("device {} ", run->device->index);
        what += nameOf(*wave);
        if (wave->state == Wave::State::AtBarrier)
          what += fmt::format(" waits at a barrier with {} of {} waves{}", group.arrived, group.waves.size(),
                              group.ended ? fmt::format(", {} have ended", group.ended) : "");
        else if (wave->polls.repeated > 1) {
          const Allocation *allocation = system.home.owner(wave->polls.address);
          what += fmt::format(" reads 0x{:x} again and again{}", wave->polls.value,
                              allocation ? " from " + describePlace(*allocation, wave->polls.address) : "");
        }
        notes.push_back(wave->current ? ReportLine("", wave->current->pc - run->codeBase, what) : what);
      }
    }
  if (more)
    notes.push_back(fmt::format("and {} more waves", more));
  return notes;
}

KernelError Machine::endlessError(const KernelRun &run, const std::string &message, std::vector<ReportLine> notes,
                                  const std::vector<ReportLine> &extra) const {
  if (uint64_t left = run.launch->geometry.groupCount() - run.next)
    notes.push_back(fmt::format("{} workgroups have not started; a kernel that waits for them needs more than {} alive "
                                "at once, `--resident N`",
                                left, run.residentGroups));
  notes.insert(notes.end(), extra.begin(), extra.end());
  return KernelError(fmt::format("kernel `{}` {}", run.launch->kernel.name, message), notes);
}

void Machine::endAll(const std::string &message, const std::vector<ReportLine> &extra) {
  std::vector<ReportLine> notes = describeWaiting();
  for (KernelRun *run : running) {
    run->isEndless = true;
    abandon(*run, endlessError(*run, message, notes, extra));
  }
  running.clear();
}

} // namespace heddle::simulator
