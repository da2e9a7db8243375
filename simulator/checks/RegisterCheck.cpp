// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keeps the loads in flight of each wave, and compares every instruction's registers with them.
#include "simulator/checks/RegisterCheck.h"
#include "simulator/checks/Checks.h"
#include "simulator/instructions/RelativeRegisters.h"
#include "simulator/memory/MemoryPort.h"
#include <algorithm>
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

/// How many operations the wait may leave: those behind `load` in its queue.
std::string waitFor(const Wave &wave, const MemoryRequest &load) {
  const PendingRequests &pending = *wave.pending;
  if (load.isScalar())
    return "lgkmcnt(0)";
  if (!isInOrder(load.queues))
    return "vmcnt(0) lgkmcnt(0)";
  bool isVector = load.queues == MemoryRequest::Vector;
  const PendingRequests::Queue &queue = isVector ? pending.vector : pending.local;
  unsigned behind = 0;
  // What may return out of order makes every count above 0 useless.
  bool counts = isVector || pending.scalar.empty();
  bool isBehind = false;
  for (const PendingRequest *other : queue) {
    behind += isBehind;
    counts &= isInOrder(other->request.queues);
    isBehind |= &other->request == &load;
  }
  return fmt::format("{}({})", isVector ? "vmcnt" : "lgkmcnt", counts ? behind : 0);
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

void RegisterCheck::checkUse(Wave &wave, const Instruction &executed, const Instruction &reported,
                             const RegisterUse &use) {
  const WaveState &state = stateOf(wave);
  bool found = false;
  for (bool writes : {false, true}) // what it reads too early it need not be told to write too early
    for (const RegisterSpan &span : use) {
      if (found || span.isWritten != writes || !state.destinations.has(span))
        continue;
      // What a request writes is looked at when it is issued; the half that a load leaves alone is not read.
      bool isMemoryResult = use.landsLater && span.isWritten;
      bool isKeptHalf = use.landsLater && !span.isWritten && executed.row->implicit & readsDestination &&
                        executed.operands[0].isVector() && span.first == executed.operands[0].index;
      if (!isMemoryResult && !isKeptHalf)
        found |= checkSpan(wave, reported, span, lanesOf(use, wave, executed));
    }
}

bool RegisterCheck::checkSpan(Wave &wave, const Instruction &instruction, const RegisterSpan &span, uint64_t lanes) {
  for (const MemoryRequest *load : stateOf(wave).loads) {
    int index = sharedRegister(*load, span);
    uint64_t shared = span.isVector ? load->lanes & lanes : allLanes;
    if (index < 0 || !shared)
      continue;
    report(wave, *load, instruction, span.isWritten ? Conflict::Write : Conflict::Read,
           {unsigned(index), span.isVector ? std::countr_zero(shared) : -1});
    return true;
  }
  return false;
}

void RegisterCheck::issued(Wave &wave, MemoryRequest &request) {
  if (!request.hasResult())
    return;
  WaveState &state = stateOf(wave);
  RegisterSpan span = destinationOf(request);
  if (state.destinations.has(span))
    for (const MemoryRequest *load : state.loads) {
      int index = sharedRegister(*load, span);
      uint64_t shared = span.isVector ? load->lanes & request.lanes : allLanes;
      bool keepsOrder = load->queues == request.queues && isInOrder(request.queues);
      if (index >= 0 && shared && !keepsOrder)
        report(wave, *load, *request.instruction, Conflict::SecondLoad,
               {unsigned(index), span.isVector ? std::countr_zero(shared) : -1, latencyOf(request).least});
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
                           const Place &place) {
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
    finding.needs = fmt::format("s_waitcnt {} before {}", waitFor(wave, load), nouns[unsigned(conflict)]);
    return finding;
  });
}

} // namespace heddle::simulator
