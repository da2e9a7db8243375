// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keeps the loads in flight of each wave, and compares every instruction's registers with them.
#include "simulator/checks/RegisterCheck.h"
#include "simulator/checks/Checks.h"
#include "simulator/instructions/RelativeRegisters.h"
#include "simulator/memory/MemoryPort.h"
#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace heddle::simulator {
namespace {

using WaveState = RegisterCheck::WaveState;

WaveState &stateOf(Wave &wave) {
  return wave.checks->registers;
}

RegisterSpan destinationOf(const MemoryRequest &load) {
  return {!load.isScalar(), true, load.destination, load.words};
}

/// The first register of the span into which the load goes, or -1.
int sharedRegister(const MemoryRequest &load, const RegisterSpan &span) {
  if (load.isScalar() == span.isVector)
    return -1;
  unsigned first = std::max<unsigned>(load.destination, span.first);
  return first < std::min<unsigned>(load.destination + load.words, span.first + span.words) ? int(first) : -1;
}

bool isInOrder(uint8_t queues) {
  return queues == MemoryRequest::Vector || queues == MemoryRequest::Lds;
}

/// Counts of a wait; -1 for a counter that it does not have.
struct WaitCounts {
  int vector = -1, local = -1;
};

/// How many operations the wait may leave: those after `load` in its queue.
WaitCounts countsFor(const Wave &wave, const MemoryRequest &load) {
  const PendingRequests &pending = *wave.pending;
  if (load.isScalar())
    return {-1, 0};
  if (!isInOrder(load.queues))
    return {0, 0};
  bool isVector = load.queues == MemoryRequest::Vector;
  const PendingRequests::Queue &queue = isVector ? pending.vector : pending.local;
  int later = 0;
  // What may return out of order makes every count above 0 useless.
  bool counts = isVector || pending.scalar.empty();
  bool isLater = false;
  for (const PendingRequest *other : queue) {
    later += isLater;
    counts &= isInOrder(other->request.queues);
    isLater |= &other->request == &load;
  }
  int left = counts ? later : 0;
  return isVector ? WaitCounts{left, -1} : WaitCounts{-1, left};
}

int smaller(int first, int second) {
  return first < 0 ? second : second < 0 ? first : std::min(first, second);
}

/// The wait after which all of the loads are over.
std::string waitFor(const Wave &wave, const std::vector<const MemoryRequest *> &loads) {
  WaitCounts all;
  for (const MemoryRequest *load : loads) {
    WaitCounts one = countsFor(wave, *load);
    all = {smaller(all.vector, one.vector), smaller(all.local, one.local)};
  }
  std::string text = "s_waitcnt";
  if (all.vector >= 0)
    text += fmt::format(" vmcnt({})", all.vector);
  if (all.local >= 0)
    text += fmt::format(" lgkmcnt({})", all.local);
  return text;
}

} // namespace

void RegisterCheck::beforeInstruction(Wave &wave, const Instruction &instruction) {
  if (stateOf(wave).loads.empty())
    return;
  if (wave.mode & indexedMode) [[unlikely]] {
    Instruction moved = withRelativeRegisters(wave, instruction);
    return checkUse(wave, moved, instruction, registerUseOf(moved));
  }
  const RegisterUse &use = uses.of(instruction);
  if (touchesLoads(stateOf(wave), use.all))
    checkUse(wave, instruction, instruction, use);
}

bool RegisterCheck::touchesLoads(WaveState &state, const RegisterMask &registers) {
  if (!registers.meets(state.destinations))
    return false;
  if (!state.areOld)
    return true;
  state.areOld = false;
  state.destinations = {};
  for (const MemoryRequest *load : state.loads)
    state.destinations.add(destinationOf(*load));
  return registers.meets(state.destinations);
}

std::optional<RegisterCheck::Place> RegisterCheck::sharedPlace(const MemoryRequest &load, const RegisterSpan &span,
                                                               uint64_t lanes) {
  int index = sharedRegister(load, span);
  uint64_t shared = span.isVector ? load.lanes & lanes : allLanes;
  if (index < 0 || !shared)
    return std::nullopt;
  return Place{unsigned(index), span.isVector ? std::countr_zero(shared) : -1};
}

void RegisterCheck::checkUse(Wave &wave, const Instruction &executed, const Instruction &reported,
                             const RegisterUse &use) {
  const WaveState &state = stateOf(wave);
  uint64_t lanes = lanesOf(use, wave, executed);
  // What a request writes is looked at when it is issued; the half that a load leaves alone is not read.
  auto isUsed = [&](const RegisterSpan &span) {
    bool isMemoryResult = use.landsLater && span.isWritten;
    bool isKeptHalf = use.landsLater && !span.isWritten && executed.row->implicit & readsDestination &&
                      executed.operands[0].isVector() && span.first == executed.operands[0].index;
    return state.destinations.has(span) && !isMemoryResult && !isKeptHalf;
  };
  auto allLoads = [&] {
    Loads loads;
    for (const RegisterSpan &span : use)
      for (const MemoryRequest *load : state.loads)
        if (isUsed(span) && sharedPlace(*load, span, lanes))
          loads.push_back(load);
    return loads;
  };
  for (bool writes : {false, true}) // what it reads too early it need not be told to write too early
    for (const RegisterSpan &span : use) {
      if (span.isWritten != writes || !isUsed(span))
        continue;
      for (const MemoryRequest *load : state.loads)
        if (std::optional<Place> place = sharedPlace(*load, span, lanes))
          return report(wave, *load, reported, writes ? Conflict::Write : Conflict::Read, *place, allLoads);
    }
}

void RegisterCheck::issued(Wave &wave, MemoryRequest &request) {
  if (!request.hasResult())
    return;
  WaveState &state = stateOf(wave);
  RegisterSpan span = destinationOf(request);
  if (state.destinations.has(span))
    for (const MemoryRequest *load : state.loads) {
      std::optional<Place> place = sharedPlace(*load, span, request.lanes);
      if (!place || (load->queues == request.queues && isInOrder(request.queues)))
        continue;
      place->delay = latencyOf(request).least;
      report(wave, *load, *request.instruction, Conflict::SecondLoad, *place, [&] { return Loads{load}; });
    }
  state.loads.push_back(&request);
  state.destinations.add(span);
}

void RegisterCheck::completed(Wave &wave, MemoryRequest &request) {
  WaveState &state = stateOf(wave);
  auto place = std::find(state.loads.begin(), state.loads.end(), &request);
  if (place == state.loads.end())
    return;
  state.loads.erase(place);
  state.areOld = true;
}

void RegisterCheck::report(Wave &wave, const MemoryRequest &load, const Instruction &instruction, Conflict conflict,
                           const Place &place, const std::function<Loads()> &needed) {
  Site first = Site::of(wave, *load.instruction, place.lane), second = Site::of(wave, instruction, place.lane);
  WaveTime apart = between({load.issueIndex, load.issueCycle}, wave.checks->clock.now);
  Likelihood likelihood = Likelihood::after(latencyOf(load), apart, place.delay);
  findings.report(Check::RegisterWait, first, second, likelihood, [&] {
    static constexpr const char *titles[] = {
        "missing wait: the register is read before the load into it is over",
        "missing wait: the register is written before the load into it is over",
        "missing wait: two loads into the same register may land in any order",
    };
    static constexpr const char *verbs[] = {"read", "write", "load"};
    static constexpr const char *nouns[] = {"the read", "the write", "the second load"};
    Finding finding;
    finding.title = titles[unsigned(conflict)];
    finding.lines = {findings.line(load.kind == RequestKind::Atomic ? "atomic" : "load", first,
                                   registerName(!load.isScalar(), place.index)),
                     findings.line(verbs[unsigned(conflict)], second, "")};
    finding.needs = fmt::format("{} before {}", waitFor(wave, needed()), nouns[unsigned(conflict)]);
    return finding;
  });
}

} // namespace heddle::simulator
