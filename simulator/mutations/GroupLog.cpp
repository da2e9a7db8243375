// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keeps the requests of each wave with its steps, and looks for pairs that a wait or a barrier separates.
#include "simulator/mutations/GroupLog.h"
#include "simulator/memory/MemoryPort.h"
#include <algorithm>

namespace heddle::simulator {
namespace {

/// Pairs of accesses that are looked at for one barrier; a kernel with more is not worth the time.
constexpr size_t mostPairs = 1 << 22;

bool isAt(const Instruction &instruction, uint64_t pc) {
  return instruction.pc == pc;
}

std::vector<ByteRange> sorted(std::vector<ByteRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const ByteRange &a, const ByteRange &b) { return a.begin < b.begin; });
  size_t kept = 0;
  for (const ByteRange &range : ranges)
    if (kept > 0 && range.begin <= ranges[kept - 1].end)
      ranges[kept - 1].end = std::max(ranges[kept - 1].end, range.end);
    else
      ranges[kept++] = range;
  ranges.resize(kept);
  return ranges;
}

bool meet(const std::vector<ByteRange> &a, const std::vector<ByteRange> &b) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size(); a[i].end < b[j].end ? ++i : ++j)
    if (a[i].begin < b[j].end && b[j].begin < a[i].end)
      return true;
  return false;
}

bool meetInLds(const LoggedRequest &a, const LoggedRequest &b) {
  return (a.writesLds() || b.writesLds()) && meet(a.lds, b.lds);
}
bool meetInGlobal(const LoggedRequest &a, const LoggedRequest &b) {
  return (a.writesGlobal() || b.writesGlobal()) && meet(a.global, b.global);
}

template <typename Action>
void forLanes(uint64_t lanes, Action action) {
  for (; lanes; lanes &= lanes - 1)
    action(unsigned(std::countr_zero(lanes)));
}

} // namespace

// ---- Recording ----

bool GroupLog::take(size_t units) {
  if (isComplete && units <= left) {
    left -= units;
    taken += units;
    return true;
  }
  isComplete = false;
  for (LoggedWave &wave : waves)
    wave = {};
  left += taken;
  taken = 0;
  return false;
}

void GroupLog::step(const Wave &wave, const Instruction &instruction) {
  if (!take(1))
    return;
  LoggedWave &log = waves[wave.indexInGroup];
  if (instruction.mnemonic == "s_barrier")
    log.barriers.push_back(uint32_t(log.steps.size()));
  log.steps.push_back(&instruction);
}

void GroupLog::request(const Wave &wave, const MemoryRequest &request) {
  constexpr size_t unitsOfRequest = 1 + sizeof(LoggedRequest) / 16;
  isComplete &= request.space != Space::Flat; // which may be LDS or global memory, lane by lane
  if (!take(unitsOfRequest + size_t(std::popcount(request.lanes)) * request.pieces))
    return;
  LoggedWave &log = waves[wave.indexInGroup];
  LoggedRequest made;
  made.instruction = request.instruction;
  made.kind = request.kind;
  made.space = request.space;
  made.scope = request.scope;
  made.queues = request.queues;
  made.bytes = request.isScalar() ? request.bytes : request.space == Space::Scratch ? 0 : request.bytes;
  made.step = uint32_t(log.steps.size() - 1);
  made.hasResult = request.land && request.kind != RequestKind::LoadToLds && request.kind != RequestKind::Store;
  made.result = {!request.isScalar(), true, request.destination, request.words};
  std::vector<ByteRange> &ranges = request.space == Space::Lds ? made.lds : made.global;
  if (request.isScalar() && request.space == Space::Global)
    ranges.push_back({request.address[0], request.address[0] + 4u * request.words});
  else if (request.bytes && request.space != Space::Scratch)
    forLanes(request.lanes, [&](unsigned lane) {
      for (unsigned piece = 0; piece < request.pieces; ++piece) {
        uint64_t at = request.address[lane] + request.pieceOffset[piece];
        ranges.push_back({at, at + request.bytes});
      }
    });
  if (request.kind == RequestKind::LoadToLds)
    forLanes(request.lanes, [&](unsigned lane) {
      uint64_t at = uint64_t(request.ldsBase) + lane * request.ldsStride;
      made.lds.push_back({at, at + 4u * request.words});
    });
  made.lds = sorted(std::move(made.lds));
  made.global = sorted(std::move(made.global));
  log.requests.push_back(std::move(made));
}

// ---- When things were over ----

/// As the counters say, which knows nothing of when they really were.
GroupLog::Steps GroupLog::completions(const LoggedWave &wave, uint64_t pc, WaitCounts weaker) const {
  Steps completed(wave.requests.size(), uint32_t(wave.steps.size()));
  struct Queue {
    std::vector<uint32_t> requests;
    size_t first = 0;
  } vector, local, scalar;
  auto shrink = [&](Queue &queue, size_t most, uint32_t step) {
    while (queue.requests.size() - queue.first > most)
      completed[queue.requests[queue.first++]] = step;
  };
  size_t next = 0;
  for (uint32_t step = 0; step < wave.steps.size(); ++step) {
    const Instruction &instruction = *wave.steps[step];
    if (instruction.mnemonic == "s_waitcnt") {
      WaitCounts counts = isAt(instruction, pc) ? weaker : WaitCounts::of(instruction.immediate);
      if (counts.waitsVector())
        shrink(vector, counts.vector, step);
      if (counts.waitsLocal())
        shrink(local, counts.local, step);
      if (counts.local == 0)
        shrink(scalar, 0, step);
    }
    for (; next < wave.requests.size() && wave.requests[next].step == step; ++next) {
      uint8_t queues = wave.requests[next].queues;
      Queue &queue = queues & MemoryRequest::Vector ? vector : queues & MemoryRequest::Lds ? local : scalar;
      shrink(queue, (&queue == &vector ? vectorCapacity : localCapacity) - 1, step);
      queue.requests.push_back(uint32_t(next));
    }
  }
  return completed;
}

/// How many barriers a wave has met before a step.
uint32_t GroupLog::intervalOf(const LoggedWave &wave, uint32_t step) {
  return uint32_t(std::lower_bound(wave.barriers.begin(), wave.barriers.end(), step) - wave.barriers.begin());
}

void GroupLog::prepare() {
  if (isPrepared)
    return;
  isPrepared = true;
  for (size_t number = 0; number < waves.size(); ++number) {
    const LoggedWave &wave = waves[number];
    over.push_back(completions(wave, ~uint64_t(0), {}));
    for (size_t i = 0; i < wave.requests.size(); ++i) {
      uint32_t from = intervalOf(wave, wave.requests[i].step), to = intervalOf(wave, over[number][i]);
      intervals.resize(std::max<size_t>(intervals.size(), from + 1));
      intervals[from].push_back({number, &wave.requests[i], from, to});
    }
  }
}

const RegisterUse &GroupLog::useOf(const Instruction &instruction) {
  auto [place, isNew] = uses.try_emplace(&instruction);
  if (isNew)
    place->second = registerUseOf(instruction);
  return place->second;
}

std::span<const LoggedRequest> LoggedWave::between(uint32_t from, uint32_t to) const {
  auto isBehind = [](uint32_t step, const LoggedRequest &request) { return step < request.step; };
  auto begin = std::upper_bound(requests.begin(), requests.end(), from, isBehind);
  return {begin, std::upper_bound(begin, requests.end(), to, isBehind)};
}

// ---- Waits ----

Order GroupLog::withWait(uint64_t pc, WaitCounts weaker) {
  if (!isComplete)
    return Order::Needed;
  prepare();
  Order order = Order::Idle;
  for (size_t number = 0; number < waves.size(); ++number) {
    const LoggedWave &wave = waves[number];
    Steps later = completions(wave, pc, weaker);
    for (size_t i = 0; i < later.size(); ++i) {
      if (later[i] == over[number][i])
        continue;
      order = Order::Free;
      if (!isFree(number, wave.requests[i], over[number][i], later[i]))
        return Order::Needed;
    }
  }
  return order;
}

/// Whether the request may be in flight until step `to`, where it was over at `from`.
bool GroupLog::isFree(size_t number, const LoggedRequest &request, uint32_t from, uint32_t to) {
  const LoggedWave &wave = waves[number];
  if (request.hasResult && usesResult(wave, request, from, to))
    return false;
  if (request.queues == MemoryRequest::Lds)
    return request.isEmpty() || isFreeInLds(number, request, from, to);
  return request.isEmpty() || isFreeInMemory(wave, request, from, to);
}

/// Of global memory little is known: the wave may compute meanwhile, and load and store what no flag hands over. Plain
/// accesses need no earlier one to be over, which is kept in order where it is of the same line, nor a store or a
/// write-back that others learn of.
bool GroupLog::isFreeInMemory(const LoggedWave &wave, const LoggedRequest &request, uint32_t from, uint32_t to) const {
  bool endsHere = to == wave.steps.size() && request.kind == RequestKind::LoadToLds;
  if (endsHere || intervalOf(wave, from) != intervalOf(wave, to))
    return false;
  bool mayBePassed = request.isPlain() || request.kind == RequestKind::WriteBack ||
                     request.kind == RequestKind::Store ||
                     (request.kind == RequestKind::LoadToLds && request.scope == Scope::Wave);
  for (const LoggedRequest &other : wave.between(from, to - 1))
    if (!mayBePassed || !other.isPlain())
      return false;
  for (uint32_t step = from + 1; step < to; ++step)
    if (wave.steps[step]->mnemonic.starts_with("s_dcache"))
      return false;
  return true;
}

bool GroupLog::usesResult(const LoggedWave &wave, const LoggedRequest &request, uint32_t from, uint32_t to) {
  unsigned first = request.result.first, last = first + request.result.words;
  for (uint32_t step = from + 1; step <= to && step < wave.steps.size(); ++step)
    for (const RegisterSpan &span : useOf(*wave.steps[step]))
      if (span.isVector == request.result.isVector && span.first < last && first < unsigned(span.first + span.words))
        return true;
  return false;
}

/// The LDS operations of one wave are done in the order of issue; a load to LDS, and other waves, see only what is
/// over. What tells others by a flag that an operation is over needs it to be.
bool GroupLog::isFreeInLds(size_t number, const LoggedRequest &request, uint32_t from, uint32_t to) {
  const LoggedWave &wave = waves[number];
  for (const LoggedRequest &other : wave.between(from, to)) {
    if (other.tells() || (other.kind == RequestKind::LoadToLds && meetInLds(request, other)))
      return false;
  }
  // What its wave never waits for is never known to be over.
  uint32_t first = intervalOf(wave, from), end = uint32_t(intervals.size()) - 1,
           last = to == wave.steps.size() ? end : std::min(intervalOf(wave, to), end);
  for (uint32_t interval = first; interval <= last; ++interval)
    for (const Access &access : intervals[interval]) {
      if (access.request->space == Space::Lds && access.request->kind == RequestKind::Atomic)
        return false;
      if (interval > first && access.wave != number && meetInLds(request, *access.request))
        return false;
    }
  return true;
}

// ---- Barriers ----

/// Whether all waves wait at the same barriers, up to their ends.
bool GroupLog::areAllAlike() const {
  const LoggedWave &first = waves.front();
  return std::all_of(waves.begin(), waves.end(), [&](const LoggedWave &wave) {
    return std::equal(wave.barriers.begin(), wave.barriers.end(), first.barriers.begin(), first.barriers.end(),
                      [&](uint32_t a, uint32_t b) { return wave.steps[a] == first.steps[b]; });
  });
}

/// Whether the order of two accesses is lost where the intervals that have the same number in `merged` are one.
bool GroupLog::losesOrder(const Access &a, const Access &b, const Steps &merged) const {
  const LoggedRequest &first = *a.request, &second = *b.request;
  if (a.to < b.from && merged[a.to] == merged[b.from] && meetInLds(first, second))
    return true;
  if (a.from == b.from || merged[a.from] != merged[b.from] || !first.isGlobal() || !second.isGlobal())
    return false;
  return first.synchronises() || second.synchronises() || meetInGlobal(first, second);
}

Order GroupLog::withoutBarrier(uint64_t pc) {
  if (!isComplete || !areAllAlike())
    return Order::Needed;
  prepare();
  const LoggedWave &any = waves.front();
  Steps merged = {0};
  bool isThere = false;
  for (uint32_t step : any.barriers) {
    bool isGone = isAt(*any.steps[step], pc);
    isThere |= isGone;
    merged.push_back(merged.back() + !isGone);
  }
  if (!isThere)
    return Order::Idle;
  size_t pairs = 0;
  for (const std::vector<Access> &earlier : intervals)
    for (const Access &a : earlier)
      for (uint32_t from = a.from + 1; from < intervals.size() && merged[from] <= merged[a.to]; ++from)
        for (const Access &b : intervals[from]) {
          if (++pairs > mostPairs)
            return Order::Needed;
          if (a.wave != b.wave && losesOrder(a, b, merged))
            return Order::Needed;
        }
  return Order::Free;
}

} // namespace heddle::simulator
