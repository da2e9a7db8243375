// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/analysis/Waits.h"
#include "simulator/analysis/Outstanding.h"
#include <algorithm>
#include <map>
#include <set>

namespace heddle::simulator {
namespace {

constexpr unsigned noVectorWait = 63, noLocalWait = 15;

struct WaitCounts {
  unsigned vector = noVectorWait, local = noLocalWait;
};

/// vmcnt in bits 3:0 and 15:14, lgkmcnt in bits 11:8; a field of ones is no wait.
WaitCounts countsOf(const Instruction &instruction) {
  unsigned bits = instruction.immediate;
  return {(bits & 15) | (bits >> 14 & 3) << 4, bits >> 8 & 15};
}

class Analysis {
public:
  explicit Analysis(const MachineCode &code) : code(code), entries(code.blocks.size()), isReached(code.blocks.size()) {
    for (const Instruction &instruction : code.instructions)
      operations.push_back(operationOf(instruction));
  }

  std::vector<Wait> run() {
    findOutstanding();
    std::vector<Wait> waits;
    for (size_t block = 0; block < code.blocks.size(); ++block) {
      Outstanding state = entries[block];
      for (uint32_t i = code.blocks[block].first; i < code.blocks[block].end; ++i) {
        if (state.maySkip && !isScalar(code.instructions[i]))
          skippable.insert(i);
        if (code.instructions[i].mnemonic == "s_waitcnt")
          if (Wait wait = describe(i, state); !wait.counters.empty())
            waits.push_back(std::move(wait));
        step(i, state);
      }
    }
    for (const Wait &wait : waits)
      for (const CounterWait &counter : wait.counters)
        (counter.isVector ? vectorWaits : localWaits)[wait.instruction] = &counter;
    for (Wait &wait : waits)
      for (CounterWait &counter : wait.counters)
        findNeed(wait.instruction, counter);
    return waits;
  }

private:
  void step(uint32_t index, Outstanding &state) const {
    if (operations[index].kind != Operation::Kind::None)
      state.issue(index, operations[index]);
    state.note(skipEffectOf(code.instructions[index]));
    if (code.instructions[index].mnemonic == "s_waitcnt") {
      WaitCounts counts = countsOf(code.instructions[index]);
      state.waitVector(counts.vector);
      state.waitLocal(counts.local);
    }
  }

  /// What may be under way where each block begins.
  void findOutstanding() {
    if (code.blocks.empty())
      return;
    std::vector<uint32_t> open = {code.entry};
    isReached[code.entry] = true;
    while (!open.empty()) {
      uint32_t block = open.back();
      open.pop_back();
      Outstanding state = entries[block];
      for (uint32_t i = code.blocks[block].first; i < code.blocks[block].end; ++i)
        step(i, state);
      for (uint32_t next : code.blocks[block].next)
        if (bool grows = entries[next].join(state); grows || !isReached[next]) {
          isReached[next] = true;
          open.push_back(next);
        }
    }
  }

  Wait describe(uint32_t index, const Outstanding &state) {
    WaitCounts counts = countsOf(code.instructions[index]);
    Wait wait{index, {}};
    if (counts.vector < noVectorWait)
      wait.counters.push_back({true, counts.vector, state.vector.from(counts.vector), {}, {}});
    if (counts.local < noLocalWait) {
      CounterWait local{false, counts.local, state.local.from(counts.local), {}, {}};
      if (counts.local == 0)
        std::copy(state.scalar.begin(), state.scalar.end(), std::back_inserter(local.waitsFor));
      std::sort(local.waitsFor.begin(), local.waitsFor.end());
      wait.counters.push_back(std::move(local));
    }
    if (!wait.counters.empty())
      before.emplace(index, state);
    return wait;
  }

  /// The count that the use of `needed` asks for.
  unsigned countFor(uint32_t wait, const CounterWait &counter, const std::vector<uint32_t> &needed) const {
    const Outstanding &state = before.at(wait);
    const Outstanding::Queue &queue = counter.isVector ? state.vector : state.local;
    bool isInOrder = counter.isVector || state.scalar.empty();
    for (uint32_t index : queue.from(0)) // one that is in both queues may return early in either
      isInOrder &= operations[index].kind != Operation::Kind::Flat;
    if (!isInOrder)
      return 0;
    unsigned least = noVectorWait;
    for (uint32_t index : needed)
      least = std::min(least, queue.youngestFrom(counter.count, index));
    return least;
  }

  /// Whether the counter's operations are all over behind a later wait, so that what follows it could rely on that one.
  bool isCovered(uint32_t later, const CounterWait &counter) const {
    const auto &all = counter.isVector ? vectorWaits : localWaits;
    auto found = all.find(later);
    return found != all.end() && !found->second->waitsFor.empty() &&
           (counter.isVector || found->second->count == 0 || before.at(later).scalar.empty());
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
        if (needs(code.instructions[index], operations[index], operations[operation]))
          needed.push_back(operation);
      if (!needed.empty()) {
        unsigned count = countFor(wait, counter, needed);
        if (!counter.enough || count < *counter.enough) {
          counter.enough = count;
          counter.user = index;
        }
      }
      bool mayBeSkipped = skippable.contains(index);
      if (mayBeSkipped || (needed.empty() && !isCovered(index, counter)))
        follow(index);
    }
  }

  const MachineCode &code;
  std::vector<Operation> operations;
  std::vector<Outstanding> entries; ///< by block
  std::vector<bool> isReached;
  std::map<uint32_t, Outstanding> before; ///< by wait
  std::set<uint32_t> skippable;           ///< instructions that VSKIP may skip
  std::map<uint32_t, const CounterWait *> vectorWaits, localWaits;
};

} // namespace

bool Wait::waitsForNothing() const {
  return std::all_of(counters.begin(), counters.end(), [](const auto &c) { return c.waitsForNothing(); });
}

bool Wait::waitsTooLong() const {
  return std::any_of(counters.begin(), counters.end(), [](const auto &c) { return c.waitsTooLong(); });
}

std::vector<Wait> analyseWaits(const MachineCode &code) {
  return Analysis(code).run();
}

} // namespace heddle::simulator
