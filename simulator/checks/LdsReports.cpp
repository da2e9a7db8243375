// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What LdsCheck says about what it found.
#include "simulator/checks/Checks.h"
#include "simulator/memory/MemoryPort.h"
#include "simulator/state/Workgroup.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::simulator {
namespace {

const char *verbOf(LdsAccess access) {
  switch (access) {
  case LdsAccess::Read:
    return "read";
  case LdsAccess::Write:
    return "write";
  case LdsAccess::Atomic:
    return "atomic";
  case LdsAccess::Load:
    return "load";
  }
  __builtin_unreachable();
}

/// As an action.
const char *nounOf(LdsAccess access) {
  return access == LdsAccess::Load ? "load to LDS" : access == LdsAccess::Atomic ? "atomic operation" : verbOf(access);
}

const char *doneBy(LdsAccess access) {
  return access == LdsAccess::Read     ? "read"
         : access == LdsAccess::Atomic ? "changed by an atomic operation"
         : access == LdsAccess::Load   ? "overwritten by a load to LDS"
                                       : "overwritten";
}

/// The wait after which an operation is over that had `later` ones of its counter after it.
std::string waitFor(LdsAccess access, uint32_t later, bool scalarsPending) {
  if (access == LdsAccess::Load)
    return fmt::format("s_waitcnt vmcnt({})", later);
  return fmt::format("s_waitcnt lgkmcnt({})", scalarsPending ? 0 : later);
}

} // namespace

/// Of an operation that conflicts with an earlier one, or of that one.
Site LdsCheck::siteOf(Wave &wave, const MemoryRequest &request, const LdsConflict &conflict, bool isEarlier) const {
  Site site = Site::of(wave, *request.instruction, conflict.lane);
  if (!isEarlier)
    return site;
  const Wave &other = *wave.workgroup->waves[conflict.stream % mostGroupWaves];
  const WaveState &state = other.checks->lds;
  const LdsHistory::Entry *entry = (conflict.access == LdsAccess::Load ? state.loads : state.local).at(conflict.time);
  site.instruction = entry ? entry->instruction : nullptr;
  site.wave = other.indexInGroup;
  site.lane = conflict.earlierLane;
  return site;
}

void LdsCheck::reportRace(Wave &wave, const MemoryRequest &request, const LdsOperation &operation,
                          const LdsConflict &conflict) {
  Check check = conflict.sameValue ? Check::LdsSameValue : Check::LdsRace;
  if (!checks.has(check))
    return;
  Site later = siteOf(wave, request, conflict, false), earlier = siteOf(wave, request, conflict, true);
  findings.report(check, earlier, later, likelihoodOf(wave, operation, conflict),
                  [&] { return withNotes(describeRace(wave, earlier, later, operation, conflict), conflict); });
}

static Latency latencyOf(LdsAccess access) {
  return access == LdsAccess::Load ? vectorLatency : ldsLatency;
}

Likelihood LdsCheck::likelihoodOf(const Wave &wave, const LdsOperation &operation, const LdsConflict &conflict) {
  if (conflict.sameValue)
    return Likelihood::of(Check::LdsSameValue);
  const WaveChecks &mine = *wave.checks, &other = *wave.workgroup->waves[conflict.stream % mostGroupWaves]->checks;
  bool isLoad = conflict.access == LdsAccess::Load, loads = operation.access == LdsAccess::Load;
  const LdsHistory::Entry *entry = (isLoad ? other.lds.loads : other.lds.local).at(conflict.time);
  if (!entry)
    return Likelihood::of(Likelihood::Rule::NoBarrier, Severity::Medium);
  uint32_t delay = loads ? vectorLatency.least : 0;
  if (&mine == &other)
    return Likelihood::after(latencyOf(conflict.access), between(entry->when, mine.clock.now), delay);
  if (conflict.time > other.lds.timeAtBarrier || !other.lds.barrier)
    return Likelihood::withoutBarrier(apartSinceBarrier(other.clock, entry->when, mine.clock));
  WaveTime apart = acrossBarrier(other.clock, entry->when, mine.clock);
  return isLoad || loads ? Likelihood::after(latencyOf(conflict.access), apart, delay) : Likelihood::inOneQueue(apart);
}

Finding LdsCheck::withNotes(Finding finding, const LdsConflict &conflict) const {
  if (conflict.sameValue)
    finding.lines.push_back("  note   both write the same value: every order has the same result");
  if (conflict.isUnknown)
    finding.lines.push_back("  note   too many writes are not ordered to compare what they bring; it may be the same");
  return finding;
}

Finding LdsCheck::describeRace(Wave &wave, const Site &earlier, const Site &later, const LdsOperation &operation,
                               const LdsConflict &conflict) const {
  Finding finding;
  Wave &other = *wave.workgroup->waves[earlier.wave];
  const WaveState &state = other.checks->lds;
  bool isLoad = conflict.access == LdsAccess::Load, isOwn = &other == &wave;
  finding.title =
      fmt::format("missing {}: LDS is {} before {} {} of the same bytes is known to be over", isOwn ? "wait" : "order",
                  doneBy(operation.access), isOwn ? "the wave's own" : "another wave's", nounOf(conflict.access));
  std::string place = fmt::format("LDS 0x{:x}..0x{:x}", conflict.address, conflict.address + conflict.bytes - 1);
  finding.lines = {findings.line(verbOf(conflict.access), earlier, place),
                   findings.line(verbOf(operation.access), later, place)};
  uint32_t issued = isLoad ? state.vectorIssued : state.localIssued;
  const LdsHistory::Entry *entry = (isLoad ? state.loads : state.local).at(conflict.time);
  uint32_t sequence = entry ? entry->sequence : issued;
  uint32_t atBarrier = isLoad ? state.vectorAtBarrier : state.localAtBarrier;
  if (isOwn) {
    // A flat operation itself counts in both.
    bool sameCounter = isLoad && later.instruction->mnemonic.starts_with("flat_");
    finding.needs = waitFor(conflict.access, issued - sequence - sameCounter, !wave.pending->scalar.empty()) +
                    " before the " + nounOf(operation.access);
  } else if (conflict.time <= state.timeAtBarrier && state.barrier)
    finding.needs = ReportLine(fmt::format("{} in wave {} before the {} at ",
                                           waitFor(conflict.access, atBarrier - sequence, state.scalarsAtBarrier),
                                           earlier.wave, state.barrier->mnemonic),
                               findings.pcInFile(state.barrier->pc), "");
  else
    finding.needs = fmt::format("a barrier between the two, and before it {} in wave {}",
                                waitFor(conflict.access, 0, false), earlier.wave);
  bool loads = isLoad || operation.access == LdsAccess::Load;
  if (!isOwn && !loads && !conflict.sameValue && operation.uniform && conflict.earlierUniform)
    finding.lines.push_back("  note   instructions do not tell an atomic load or store of a flag in LDS from a plain "
                            "one; if these are such, this is no race");
  return finding;
}

/// Ended waves hold no barrier. Suspicious is one that has met the others before and ended in the middle, and one that
/// never met them while those that wait now stand at different barriers of the code: a wave that leaves at once while
/// all others meet at the same barriers is the usual `if (wave >= n) return`.
void LdsCheck::reportExit(Workgroup &group) {
  const Wave *ended = nullptr, *waits = nullptr, *elsewhere = nullptr;
  std::vector<uint32_t> endedWaves, waitingWaves;
  for (auto &wave : group.waves) {
    if (wave->state == Wave::State::Ended) {
      endedWaves.push_back(wave->indexInGroup);
      if (!ended || wave->checks->lds.barriersMet > ended->checks->lds.barriersMet)
        ended = wave.get();
      continue;
    }
    waitingWaves.push_back(wave->indexInGroup);
    if (!waits)
      waits = wave.get();
    else if (wave->current != waits->current)
      elsewhere = wave.get();
  }
  if (!ended || !waits || (!ended->checks->lds.barriersMet && !elsewhere))
    return;
  Site first = Site::of(*waits, *waits->current), second = Site::of(elsewhere ? *elsewhere : *ended, *ended->current);
  if (elsewhere)
    second.instruction = elsewhere->current;
  findings.report(Check::BarrierExit, first, second, [&] {
    Finding finding;
    finding.title = "a barrier opens only because waves have ended";
    finding.lines.push_back(findings.line("end", Site::of(*ended, *ended->current), ""));
    finding.lines.push_back(findings.line("wait", first, ""));
    if (elsewhere)
      finding.lines.push_back(findings.line("wait", second, ""));
    finding.lines.push_back(fmt::format(
        "  note   waves {} have ended, after {} barriers at most; waves {} wait after {}", fmt::join(endedWaves, ", "),
        ended->checks->lds.barriersMet, fmt::join(waitingWaves, ", "), waits->checks->lds.barriersMet));
    finding.needs = "every wave to meet each barrier, or to end before the first";
    return finding;
  });
}

} // namespace heddle::simulator
