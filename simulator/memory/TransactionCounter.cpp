// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counts the distinct lines of each request as it is issued.
#include "simulator/memory/TransactionCounter.h"
#include "simulator/memory/LineSet.h"
#include "simulator/state/Apertures.h"
#include <bit>

namespace heddle::simulator {
namespace {

void add(Transactions::Count &count, uint64_t lines) {
  count.instructions += lines > 0;
  count.lines += lines;
}

} // namespace

void TransactionCounter::countGlobal(const MemoryRequest &request) {
  bool touchesLds = false, touchesScratch = false;
  for (uint64_t rest = request.space == Space::Flat ? request.lanes : 0; rest; rest &= rest - 1)
    if (uint64_t address = request.address[std::countr_zero(rest)]; isOnChip(address))
      (address - sharedAperture < apertureSizeBytes ? touchesLds : touchesScratch) = true;
  counts.lds += touchesLds;
  counts.scratch += touchesScratch;
  add(request.kind == RequestKind::Atomic  ? counts.atomics
      : request.kind == RequestKind::Store ? counts.writes
                                           : counts.reads,
      LineSet(request).size());
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
