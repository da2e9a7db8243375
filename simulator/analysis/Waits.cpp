// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Joins what is in flight over the blocks, describes each wait, and walks on to the first need.
#include "simulator/analysis/Waits.h"
#include "simulator/analysis/Outstanding.h"
#include "simulator/analysis/VectorSkip.h"
#include "simulator/instructions/WaitCounts.h"
#include <algorithm>
#include <map>
#include <set>

namespace heddle::simulator {
namespace {

class Analysis {
public:
  explicit Analysis(const MachineCode &code)
      : code(code), maySkip(findVectorSkips(code)), entries(code.blocks.size()), isReached(code.blocks.size()) {
    for (const Instruction &instruction : code.instructions)
      operations.push_back(operationOf(instruction));
  }

  std::vector<Wait> run() {
    findOutstanding();
    std::vector<Wait> waits;
    for (size_t block = 0; block < code.blocks.size(); ++block) {
      Outstanding state = entries[block];
      for (uint32_t i = code.blocks[block].first; i < code.blocks[block].end; ++i) {
        if (code.instructions[i].mnemonic == "s_waitcnt")
          if (Wait wait = describe(i, state); !wait.counters.empty())
            waits.push_back(std::move(wait));
        step(i, state);
      }
    }
    for (const Wait &wait : waits)
      for (const CounterWait &counter : wait.counters)
        (counter.isVector ? vectorWaits : localWaits)[wait.instruction] = &counter;
    ExactCounts exact(code, operations, maySkip);
    for (Wait &wait : waits)
      for (CounterWait &counter : wait.counters) {
        findNeed(wait.instruction, counter);
        counter.exact =
            exact.find({wait.instruction, counter.isVector, counter.count, &stateBefore(wait.instruction, counter)});
      }
    return waits;
  }

private:
  void step(uint32_t index, Outstanding &state) const {
    if (operations[index].kind != Operation::Kind::None)
      state.issue(index, operations[index], operations[index].isVector && maySkip[index]);
    if (code.instructions[index].mnemonic == "s_waitcnt")
      state.wait(code.instructions[index].immediate);
  }

  const CounterState &stateBefore(uint32_t wait, const CounterWait &counter) const {
    const Outstanding &state = before.at(wait);
    return counter.isVector ? state.vector : state.local;
  }

  /// What may be in flight where each block begins. Blocks are looked at by address, so that most come after all from
  /// which they are entered.
  void findOutstanding() {
    if (code.blocks.empty())
      return;
    std::set<uint32_t> open = {code.entry};
    isReached[code.entry] = true;
    while (!open.empty()) {
      uint32_t block = open.extract(open.begin()).value();
      Outstanding state = entries[block];
      for (uint32_t i = code.blocks[block].first; i < code.blocks[block].end; ++i)
        step(i, state);
      for (uint32_t next : code.blocks[block].next)
        if (bool grows = entries[next].join(state); grows || !isReached[next]) {
          isReached[next] = true;
          open.insert(next);
        }
    }
  }

  Wait describe(uint32_t index, const Outstanding &state) {
    WaitCounts counts = WaitCounts::of(code.instructions[index].immediate);
    Wait wait{index, {}};
    if (counts.waitsVector())
      wait.counters.push_back({true, counts.vector, state.vector.from(counts.vector), {}, {}, {}});
    if (counts.waitsLocal())
      wait.counters.push_back({false, counts.local, state.local.from(counts.local), {}, {}, {}});
    if (!wait.counters.empty())
      before.emplace(index, state);
    return wait;
  }

  /// The count that the use of `needed` asks for.
  unsigned countFor(uint32_t wait, const CounterWait &counter, const std::vector<uint32_t> &needed) const {
    unsigned least = WaitCounts::anyVector;
    for (uint32_t index : needed)
      least = std::min(least, stateBefore(wait, counter).countFor(counter.count, index));
    return least;
  }

  /// Whether the counter's operations are all over after a later wait, so that what follows could rely on that one.
  bool isCovered(uint32_t later, const CounterWait &counter) const {
    const auto &all = counter.isVector ? vectorWaits : localWaits;
    auto found = all.find(later);
    return found != all.end() && !found->second->waitsFor.empty() &&
           (found->second->count == 0 || stateBefore(later, counter).unordered().empty());
  }

  /// Walks all paths from the wait up to the first instruction that needs something.
  void findNeed(uint32_t wait, CounterWait &counter) {
    std::vector<bool> isVisited(code.instructions.size());
    std::vector<uint32_t> open;
    auto follow = [&](uint32_t index) {
      const CodeBlock &block = code.blocks[code.blockOf(index)];
      if (index + 1 < block.end)
        open.push_back(index + 1);
      else
        for (uint32_t next : block.next)
          open.push_back(code.blocks[next].first);
    };
    if (counter.waitsFor.empty())
      return;
    follow(wait);
    while (!open.empty()) {
      uint32_t index = open.back();
      open.pop_back();
      if (isVisited[index])
        continue;
      isVisited[index] = true;
      std::vector<uint32_t> needed;
      for (uint32_t operation : counter.waitsFor)
        if (needs(operations[index], operations[operation]))
          needed.push_back(operation);
      if (!needed.empty()) {
        unsigned count = countFor(wait, counter, needed);
        if (!counter.enough || count < *counter.enough) {
          counter.enough = count;
          counter.user = index;
        }
      }
      bool mayBeSkipped = operations[index].isVector && maySkip[index];
      if (mayBeSkipped || (needed.empty() && !isCovered(index, counter)))
        follow(index);
    }
  }

  const MachineCode &code;
  std::vector<Operation> operations;
  std::vector<bool> maySkip;        ///< by instruction
  std::vector<Outstanding> entries; ///< by block
  std::vector<bool> isReached;
  std::map<uint32_t, Outstanding> before; ///< by wait
  std::map<uint32_t, const CounterWait *> vectorWaits, localWaits;
};

} // namespace

bool Wait::waitsForNothing() const {
  return std::all_of(counters.begin(), counters.end(), [](const auto &c) { return c.waitsForNothing(); });
}

bool Wait::waitsTooLong() const {
  return std::any_of(counters.begin(), counters.end(), [](const auto &c) { return c.waitsTooLong(); });
}

CountClass Wait::tooLongClass() const {
  CountClass first = CountClass::NotKnown;
  for (const CounterWait &counter : counters)
    if (counter.waitsTooLong())
      first = std::min(first, counter.exact.kind);
  return first;
}

std::vector<Wait> analyseWaits(const MachineCode &code) {
  return Analysis(code).run();
}

} // namespace heddle::simulator
