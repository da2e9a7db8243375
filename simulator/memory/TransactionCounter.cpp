// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/memory/TransactionCounter.h"
#include "simulator/memory/MemoryPort.h"
#include "simulator/state/Apertures.h"
#include <algorithm>
#include <bit>

namespace heddle::simulator {
namespace {

/// Lines of `lineBytes` between the first and the last byte of accesses.
class LineSet {
public:
  void add(uint64_t address, uint64_t size) {
    for (uint64_t line = address / lineBytes; line <= (address + size - 1) / lineBytes; ++line)
      if (count == 0 || lines[count - 1] != line)
        lines[count++] = line;
  }
  unsigned size() {
    std::sort(lines, lines + count);
    return unsigned(std::unique(lines, lines + count) - lines);
  }

private:
  uint64_t lines[2 * waveLanes * mostWordsPerLane];
  unsigned count = 0;
};

void add(Transactions::Count &count, uint64_t lines) {
  count.instructions += lines > 0;
  count.lines += lines;
}

} // namespace

/// Lanes that are masked by a descriptor's range, or lead to LDS or scratch, touch nothing.
void TransactionCounter::countGlobal(const MemoryRequest &request) {
  LineSet lines;
  forGlobalWords(request, [&](uint64_t address, unsigned bytes) { lines.add(address, bytes); });
  bool touchesLds = false, touchesScratch = false;
  for (uint64_t rest = request.space == Space::Flat ? request.lanes : 0; rest; rest &= rest - 1)
    if (uint64_t address = request.address[std::countr_zero(rest)]; isOnChip(address))
      (address - sharedAperture < apertureSizeBytes ? touchesLds : touchesScratch) = true;
  counts.lds += touchesLds;
  counts.scratch += touchesScratch;
  add(request.kind == RequestKind::Atomic  ? counts.atomics
      : request.kind == RequestKind::Store ? counts.writes
                                           : counts.reads,
      lines.size());
}

void TransactionCounter::issued(Wave &, MemoryRequest &request) {
  if (request.isScalar()) {
    if (request.space != Space::Global || !request.lanes)
      return;
    uint64_t first = request.address[0] + 4 * uint64_t(std::countr_zero(request.lanes)),
             last = request.address[0] + 4 * uint64_t(63 - std::countl_zero(request.lanes));
    if (request.writesMemory())
      return countGlobal(request);
    add(counts.scalarReads, last / Transactions::scalarLineBytes - first / Transactions::scalarLineBytes + 1);
  } else if (request.space == Space::Lds)
    ++counts.lds;
  else if (request.space == Space::Scratch)
    ++counts.scratch;
  else if (request.space != Space::None)
    countGlobal(request);
}

void TransactionCounter::performed(Wave &wave, MemoryRequest &) {
  counts.l2 = wave.memory->system.l2Counts;
}

} // namespace heddle::simulator
