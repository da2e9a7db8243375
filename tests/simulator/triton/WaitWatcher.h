// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests: what the waits of a run have waited for, held against what the analysis says that they may.
#pragma once
#include "simulator/analysis/Waits.h"
#include "simulator/memory/Watcher.h"
#include <map>
#include <set>

namespace heddle::simulator {

/// Gives its sets of operations by the addresses of waits, and of the instructions that issued them.
class WaitWatcher final : public Watcher {
public:
  void beforeInstruction(Wave &, const Instruction &instruction) override {
    wait = instruction.mnemonic == "s_waitcnt" ? instruction.pc : 0;
  }
  /// What a wave that has ended leaves is completed between instructions of others.
  void afterInstruction(Wave &, const Instruction &) override { wait = 0; }
  void completed(Wave &, MemoryRequest &request) override {
    bool isCounted = request.kind != RequestKind::Invalidate; // the analysis says why
    if (wait && isCounted)
      seen[wait].insert(request.instruction->pc);
  }
  std::map<uint64_t, std::set<uint64_t>> seen;

private:
  uint64_t wait = 0; ///< that is being executed
};

/// What the analysis says of the kernel, likewise.
inline std::map<uint64_t, std::set<uint64_t>> possibleWaits(const AmdCodeObject &object, const AmdKernel &kernel) {
  std::map<uint64_t, std::set<uint64_t>> possible;
  for (const AmdSegment &segment : object.segments) {
    if (!segment.executable)
      continue;
    std::span bytes(reinterpret_cast<const uint8_t *>(segment.bytes.data()), segment.bytes.size());
    MachineCode code = readMachineCode(object.chip, bytes, segment.address, kernel.entry);
    for (const Wait &wait : analyseWaits(code))
      for (const CounterWait &counter : wait.counters)
        for (uint32_t index : counter.waitsFor)
          possible[code.instructions[wait.instruction].pc].insert(code.instructions[index].pc);
  }
  return possible;
}

} // namespace heddle::simulator
