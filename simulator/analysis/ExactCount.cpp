// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Begins with the counter's capacity, and lowers the count to that of the first operation that something needs.
#include "simulator/analysis/ExactCount.h"
#include "simulator/instructions/WaitCounts.h"
#include <algorithm>

namespace heddle::simulator {
namespace {

constexpr CountClassInfo classes[countClassCount] = {
    {"nothing-in-flight", "nothing is in flight that the wait would wait for"},
    {"larger", "a larger count does: there is an exact one"},
    {"unneeded", "no wait is needed: another one comes before all that needs something"},
    {"newest", "none: something needs the newest operation that the wait waits for"},
    {"paths", "none: something needs the newest operation, which on another path is an older one"},
    {"unordered", "none: something needs an operation that may return at any time"},
    {"not-known", "not known: the code goes where the analysis cannot follow"},
};

unsigned capacityOf(const CounterSite &site) {
  return site.isVector ? WaitCounts::anyVector : WaitCounts::anyLocal;
}

unsigned countOf(const CounterSite &site, uint16_t immediate) {
  WaitCounts counts = WaitCounts::of(immediate);
  return site.isVector ? counts.vector : counts.local;
}

} // namespace

const CountClassInfo &infoOf(CountClass kind) {
  return classes[unsigned(kind)];
}

bool ExactCounts::Rest::join(const Rest &other) {
  Rest joined{std::min(issued, other.issued), std::max(limit, other.limit), loose || other.loose};
  bool grows = !(joined == *this);
  *this = joined;
  return grows;
}

ExactCounts::ExactCounts(const MachineCode &code, std::span<const Operation> operations,
                         const std::vector<bool> &maySkip)
    : code(code), operations(operations), maySkip(maySkip), entries(code.blocks.size()), isReached(code.blocks.size()) {
  isKnown = code.isComplete && std::none_of(operations.begin(), operations.end(),
                                            [](const Operation &operation) { return operation.isTransfer; });
}

void ExactCounts::prepare(const CounterSite &site) {
  loaded = RegisterSet();
  loadsLds = isLds = false;
  for (uint32_t index : site.before->from(site.count)) {
    const Operation &operation = operations[index];
    for (const RegisterSpan &span : operation.use)
      if (span.isWritten)
        loaded.add(span);
    loadsLds |= operation.writesLds;
    isLds |= operation.kind == Operation::Kind::Lds;
  }
}

void ExactCounts::step(const CounterSite &site, unsigned count, uint32_t index, Rest &rest) const {
  const Operation &operation = operations[index];
  bool isCounted = site.isVector ? operation.countsInVector() : operation.countsInLocal();
  if (isCounted && operation.isOrdered() && !maySkip[index])
    rest.issued = std::min(rest.issued + 1, capacityOf(site));
  if (code.instructions[index].mnemonic != "s_waitcnt")
    return;
  unsigned now = index == site.wait ? count : countOf(site, code.instructions[index].immediate);
  if (now == capacityOf(site))
    return;
  rest.limit = std::min(rest.limit, now > rest.issued ? now - rest.issued : 0);
  rest.loose &= now > 0;
}

std::optional<ExactCounts::Need> ExactCounts::needOf(const CounterSite &site, uint32_t index, const Rest &rest) const {
  const Operation &operation = operations[index];
  bool mayNeed = operation.isBarrier || operation.isOrderPoint || operation.isTransfer || operation.isUnknown ||
                 operation.isEnd || (operation.writesLds && isLds) ||
                 (loadsLds && operation.kind != Operation::Kind::None) || operation.use.all.meets(loaded);
  if (!mayNeed)
    return std::nullopt;
  if (rest.loose)
    for (uint32_t earlier : site.before->unordered())
      if (needs(operation, operations[earlier]))
        return Need{0, true, index, earlier};
  const auto &byAge = site.before->ordered();
  for (unsigned age = site.count; age < std::min<size_t>(rest.limit, byAge.size()); ++age)
    for (uint32_t earlier : byAge[age])
      if (needs(operation, operations[earlier]))
        return Need{age, false, index, earlier};
  return std::nullopt;
}

std::optional<ExactCounts::Need> ExactCounts::findNeed(const CounterSite &site, unsigned count) {
  std::optional<Need> worst;
  std::fill(isReached.begin(), isReached.end(), false);
  std::vector<uint32_t> open;
  auto follow = [&](uint32_t block, uint32_t from, Rest rest) {
    for (uint32_t i = from; i < code.blocks[block].end; ++i) {
      if (rest.isOver(site))
        return;
      if (std::optional<Need> need = needOf(site, i, rest);
          need &&
          (!worst || need->isLoose > worst->isLoose || (need->isLoose == worst->isLoose && need->age < worst->age)))
        worst = need;
      step(site, count, i, rest);
    }
    for (uint32_t next : rest.isOver(site) ? std::vector<uint32_t>() : code.blocks[block].next) {
      bool grows = isReached[next] ? entries[next].join(rest) : true;
      if (!isReached[next])
        entries[next] = rest;
      isReached[next] = true;
      if (grows)
        open.push_back(next);
    }
  };
  Rest rest{0, count, count > 0 && site.count == 0 && !site.before->unordered().empty()};
  follow(code.blockOf(site.wait), site.wait + 1, rest);
  while (!open.empty()) {
    uint32_t block = open.back();
    open.pop_back();
    follow(block, code.blocks[block].first, entries[block]);
  }
  return worst;
}

ExactCount ExactCounts::find(const CounterSite &site) {
  if (!isKnown)
    return {};
  if (site.before->from(site.count).empty())
    return {CountClass::NothingInFlight, 0, {}};
  prepare(site);
  std::optional<Need> last;
  unsigned count = capacityOf(site);
  while (std::optional<Need> need = findNeed(site, count)) {
    last = need;
    count = need->isLoose ? 0 : need->age;
    if (count <= site.count)
      break;
  }
  if (!last)
    return {CountClass::Unneeded, 0, {}};
  if (count > site.count)
    return {CountClass::Larger, count, last->user};
  if (last->isLoose)
    return {CountClass::Unordered, count, last->user};
  const auto &byAge = site.before->ordered();
  bool isOlder = std::any_of(byAge.begin() + count + 1, byAge.end(), [&](const auto &each) {
    return std::binary_search(each.begin(), each.end(), last->operation);
  });
  return {isOlder ? CountClass::Paths : CountClass::Newest, count, last->user};
}

} // namespace heddle::simulator
