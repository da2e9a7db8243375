// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cp.async: the data land as late as allowed, when the thread waits for them or when the first thread has waited for
// the phase of an mbarrier in which it arrived for them; until then no thread may touch the target.
#include "tests/thread_interpreter/Machine.h"
#include <cstring>

using namespace heddle::threads;

/// in: shared target, global source, and perhaps how many bytes to read, the rest being zero. op.elementSize bytes.
static Flow begin(Warp &warp, const Op &op) {
  uint32_t bytes = op.elementSize;
  eachLane(warp.active, [&](unsigned lane) {
    uint32_t sourceBytes = op.ins > 2 ? warp.reg(op.in[2])[lane] : bytes;
    if (sourceBytes > bytes)
      warp.fail(op, lane, "the source has more bytes than the copy");
    uint64_t source = warp.reg(op.in[1])[lane];
    if (sourceBytes)
      note(warp, op, lane, locate(warp, op, lane, source, sourceBytes, Global, bytes), sourceBytes, Access::Read);
    Place target = locate(warp, op, lane, warp.reg(op.in[0])[lane], bytes, Shared, bytes);
    warp.block.checks.depart(warp, lane, op, target.offset, bytes);
    warp.copies[lane].push_back({source, target.offset, bytes, sourceBytes, &op, warp.copiesBegun[lane]++});
  });
  return Flow::Next;
}

static void commit(Warp &warp, unsigned lane) {
  warp.copyGroups[lane].push_back(std::move(warp.copies[lane]));
  warp.copies[lane].clear();
}

static void land(Warp &warp, unsigned lane, const AsyncCopy &copy) {
  uint8_t *target = warp.block.shared.data() + copy.shared;
  std::memset(target, 0, copy.bytes);
  if (copy.sourceBytes)
    std::memcpy(target, reinterpret_cast<const uint8_t *>(copy.source), copy.sourceBytes);
  uint32_t clock = copy.releasedClock ? copy.releasedClock : warp.clock;
  warp.block.checks.arrive(warp, lane, *copy.op, copy.shared, copy.bytes, clock);
}

static void wait(Warp &warp, unsigned lane, uint64_t mostPending) {
  auto &groups = warp.copyGroups[lane];
  for (; groups.size() > mostPending; groups.pop_front())
    for (const AsyncCopy &copy : groups.front())
      land(warp, lane, copy);
}

/// Applies `body` to the copies in flight of each group of the lane, and to those that are in none.
template <class Body>
static void eachList(Warp &warp, unsigned lane, Body &&body) {
  for (std::vector<AsyncCopy> &group : warp.copyGroups[lane])
    body(group);
  body(warp.copies[lane]);
}

uint64_t heddle::threads::releaseCopies(Warp &warp, unsigned lane) {
  eachList(warp, lane, [&](std::vector<AsyncCopy> &list) {
    for (AsyncCopy &copy : list)
      if (!copy.releasedClock)
        copy.releasedClock = warp.clock;
  });
  return warp.copiesBegun[lane];
}

// Groups stay, empty, because waits count them.
void heddle::threads::landCopies(Warp &warp, unsigned lane, uint64_t end) {
  eachList(warp, lane, [&](std::vector<AsyncCopy> &list) {
    auto isOver = [&](const AsyncCopy &copy) { return copy.number < end; };
    for (const AsyncCopy &copy : list)
      if (isOver(copy))
        land(warp, lane, copy);
    std::erase_if(list, isOver);
  });
}

static Flow commitGroup(Warp &warp, const Op &) {
  eachLane(warp.active, [&](unsigned lane) { commit(warp, lane); });
  return Flow::Next;
}
static Flow waitGroup(Warp &warp, const Op &op) {
  eachLane(warp.active, [&](unsigned lane) { wait(warp, lane, warp.reg(op.in[0])[lane]); });
  return Flow::Next;
}
static Flow waitAll(Warp &warp, const Op &) {
  eachLane(warp.active, [&](unsigned lane) {
    commit(warp, lane);
    wait(warp, lane, 0);
  });
  return Flow::Next;
}

std::span<const Entry> heddle::threads::asyncCopyTable() {
  static const Entry rows[] = {
      forAll("llvm.nvvm.cp.async.ca.shared.global.4", begin),
      forAll("llvm.nvvm.cp.async.ca.shared.global.4.s", begin),
      forAll("llvm.nvvm.cp.async.ca.shared.global.8", begin),
      forAll("llvm.nvvm.cp.async.ca.shared.global.8.s", begin),
      forAll("llvm.nvvm.cp.async.ca.shared.global.16", begin),
      forAll("llvm.nvvm.cp.async.ca.shared.global.16.s", begin),
      forAll("llvm.nvvm.cp.async.cg.shared.global.16", begin),
      forAll("llvm.nvvm.cp.async.cg.shared.global.16.s", begin),
      forAll("llvm.nvvm.cp.async.commit.group", commitGroup),
      forAll("llvm.nvvm.cp.async.wait.group", waitGroup),
      forAll("llvm.nvvm.cp.async.wait.all", waitAll),
  };
  return rows;
}
