// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether two writes of LDS that nothing orders brought the same, where one of them is a load to LDS: asked when both
// have landed, since what a load brings is not known before.
#include "simulator/checks/Checks.h"
#include "simulator/state/Workgroup.h"
#include <algorithm>

namespace heddle::simulator {

/// Keeps what the shadow could not decide for this operation, by the earlier operation.
void LdsCheck::compareLater(Wave &wave, const MemoryRequest &request, const LdsOperation &operation) {
  GroupState &group = *wave.checks->lds.group;
  size_t firstNew = group.comparisons.size();
  for (LdsDoubt &doubt : group.shadow.takeDoubts()) {
    LdsConflict &conflict = doubt.conflict;
    if (group.doubts == mostDoubts) {
      conflict.isUnknown = true;
      reportRace(wave, request, operation, conflict);
      continue;
    }
    auto place = std::find_if(
        group.comparisons.begin() + ptrdiff_t(firstNew), group.comparisons.end(), [&](const Comparison &each) {
          return each.cells[0].conflict.stream == conflict.stream && each.cells[0].conflict.time == conflict.time;
        });
    ++group.doubts;
    if (place != group.comparisons.end()) {
      place->cells.push_back(doubt);
      continue;
    }
    Site later = siteOf(wave, request, conflict, false), earlier = siteOf(wave, request, conflict, true);
    bool isLoad = operation.access == LdsAccess::Load;
    group.comparisons.push_back({isLoad ? loadStream(operation.wave) : operation.wave,
                                 operation.time,
                                 earlier,
                                 later,
                                 likelihoodOf(wave, operation, conflict),
                                 {doubt}});
    auto [text, isNew] = group.described.try_emplace({earlier.instruction, later.instruction});
    if (isNew)
      text->second = describeRace(wave, earlier, later, operation, conflict);
  }
  settle(group, false);
}

void LdsCheck::landed(Wave &wave, MemoryRequest &request) {
  if (request.kind != RequestKind::LoadToLds)
    return;
  WaveState &state = wave.checks->lds;
  auto flight = std::find_if(state.flights.begin(), state.flights.end(),
                             [&](const WaveState::Flight &each) { return each.serial == request.serial; });
  if (flight == state.flights.end())
    return;
  state.group->landings.add(loadStream(wave.indexInGroup), flight->time, request);
  state.flights.erase(flight);
  settle(*state.group, false);
}

/// What is not known now never will be: it is a race.
void LdsCheck::groupEnds(Workgroup &group) {
  settle(*group.waves[0]->checks->lds.group, true);
}

void LdsCheck::settle(GroupState &group, bool isEnd) {
  std::erase_if(group.comparisons, [&](const Comparison &comparison) {
    bool isSettled = settle(group, comparison, isEnd);
    group.doubts -= isSettled ? comparison.cells.size() : 0;
    return isSettled;
  });
}

bool LdsCheck::settle(const GroupState &group, const Comparison &comparison, bool isEnd) {
  const LdsDoubt &first = comparison.cells[0];
  const LdsLanding *earlier = group.landings.find(first.conflict.stream, first.conflict.time),
                   *later = group.landings.find(comparison.laterStream, comparison.laterTime);
  bool isKnown = (earlier || first.knowsEarlier) && (later || first.knowsLater);
  if (!isKnown && !isEnd)
    return false;
  const LdsConflict *same = nullptr, *different = nullptr;
  for (const LdsDoubt &doubt : comparison.cells) {
    const LdsConflict &conflict = doubt.conflict;
    auto value = [&](const LdsLanding *landing, uint32_t stored, int lane) {
      return landing ? landing->valueAt(conflict.address, conflict.bytes, unsigned(lane)) : stored;
    };
    bool isSame = isKnown && value(earlier, doubt.earlierValue, conflict.earlierLane) ==
                                 value(later, doubt.laterValue, conflict.lane);
    (isSame ? same : different) = &conflict;
  }
  for (const LdsConflict *found : {same, different}) {
    Check check = found == same ? Check::LdsSameValue : Check::LdsRace;
    if (!found || !checks.has(check))
      continue;
    LdsConflict conflict = *found;
    conflict.sameValue = found == same;
    conflict.isUnknown = !isKnown;
    Likelihood likelihood = found == same ? Likelihood::of(check) : comparison.likelihood;
    findings.report(check, comparison.earlier, comparison.later, likelihood, [&] {
      const Finding &text = group.described.at({comparison.earlier.instruction, comparison.later.instruction});
      return withNotes(text, conflict);
    });
  }
  return true;
}

} // namespace heddle::simulator
