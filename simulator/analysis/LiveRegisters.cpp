// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Backward data flow over the blocks until nothing grows, then one walk through each block for the counts.
#include "simulator/analysis/LiveRegisters.h"
#include "simulator/checks/RegisterUse.h"
#include <bit>
#include <set>

namespace heddle::simulator {
namespace {

void remove(RegisterSet &live, const RegisterSpan &span) {
  unsigned limit = span.isVector ? 512 : 128;
  for (unsigned index = span.first; index < unsigned(span.first + span.words) && index < limit; ++index)
    live.set(span.isVector, index, false);
}

/// What is live before the instruction, from what is live after it.
void stepBack(RegisterSet &live, const RegisterUse &use) {
  for (const RegisterSpan &span : use)
    if (span.isWritten)
      remove(live, span);
  for (const RegisterSpan &span : use)
    if (!span.isWritten)
      live.add(span);
}

LiveCount countOf(const RegisterSet &live) {
  LiveCount count;
  for (unsigned word = 0; word < RegisterSet::sccWord; ++word)
    (word < RegisterSet::firstScalarWord ? count.vector : count.scalar) += uint32_t(std::popcount(live.words[word]));
  return count;
}

/// True when it grows.
bool join(RegisterSet &live, const RegisterSet &other) {
  bool grows = false;
  for (unsigned word = 0; word < RegisterSet::sccWord; ++word) {
    grows |= (other.words[word] & ~live.words[word]) != 0;
    live.words[word] |= other.words[word];
  }
  return grows;
}

} // namespace

std::vector<LiveCount> countLiveRegisters(const MachineCode &code) {
  std::vector<RegisterUse> uses;
  for (const Instruction &instruction : code.instructions)
    uses.push_back(registerUseOf(instruction));
  std::vector<std::vector<uint32_t>> before(code.blocks.size()); // blocks that lead to each
  std::set<uint32_t> open;
  for (uint32_t block = 0; block < code.blocks.size(); ++block) {
    open.insert(block);
    for (uint32_t next : code.blocks[block].next)
      before[next].push_back(block);
  }
  std::vector<RegisterSet> ends(code.blocks.size()); // live after each block
  while (!open.empty()) {
    uint32_t block = *open.rbegin();
    open.erase(block);
    RegisterSet live = ends[block];
    for (uint32_t i = code.blocks[block].end; i-- > code.blocks[block].first;)
      stepBack(live, uses[i]);
    for (uint32_t other : before[block])
      if (join(ends[other], live))
        open.insert(other);
  }
  std::vector<LiveCount> counts(code.instructions.size());
  for (uint32_t block = 0; block < code.blocks.size(); ++block) {
    RegisterSet live = ends[block];
    for (uint32_t i = code.blocks[block].end; i-- > code.blocks[block].first;) {
      stepBack(live, uses[i]);
      counts[i] = countOf(live);
    }
  }
  return counts;
}

} // namespace heddle::simulator
