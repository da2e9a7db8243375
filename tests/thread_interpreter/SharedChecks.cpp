// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A byte keeps its last write and two reads of different threads: the next writer races with at least one of them
// if it races with any reader, because the two are of different warps as soon as readers are.
#include "tests/thread_interpreter/SharedChecks.h"
#include "tests/thread_interpreter/Machine.h"
#include <algorithm>
#include <fmt/format.h>

using namespace heddle::threads;

SharedChecks::Access SharedChecks::now(const Warp &warp, unsigned lane, const Op &op) {
  Access access;
  access.clock = warp.clock;
  access.thread = warp.thread(lane);
  access.atomic = op.atomic;
  access.op = &op - warp.program().ops.data();
  return access;
}

bool SharedChecks::races(const Warp &warp, unsigned lane, const Op &op, Access before) {
  if (!before.clock || (before.atomic && op.atomic))
    return false;
  return before.inFlight || (before.thread != warp.thread(lane) && !warp.knows(lane, before.thread, before.clock));
}

void SharedChecks::report(Warp &warp, unsigned lane, const Op &op, uint32_t offset, Access before) {
  Machine &machine = warp.machine();
  const Op &other = warp.program().ops[before.op];
  auto say = [&](const char *what) {
    return fmt::format("{} at byte {} of shared memory in {}: `{}` by thread {}, then `{}` by thread {}", what, offset,
                       warp.block.name(), warp.program().describe(other), unsigned(before.thread),
                       warp.program().describe(op), warp.thread(lane));
  };
  if (before.inFlight)
    machine.find(FindingKind::CopyInFlight, &other, &op, [&] { return say("access to a copy in flight"); });
  else
    machine.find(FindingKind::SharedRace, &other, &op, [&] { return say("race"); });
}

void SharedChecks::use(Warp &warp, unsigned lane, const Op &op, uint32_t offset, uint32_t bytes) {
  Access access = now(warp, lane, op), checked;
  for (uint32_t byte = offset; byte < offset + bytes; ++byte) {
    Access before = writes[byte];
    if (!before.clock) {
      warp.machine().find(FindingKind::UnwrittenShared, &op, nullptr, [&] {
        return fmt::format("`{}` by {} reads byte {} of shared memory, which nobody wrote", warp.program().describe(op),
                           warp.name(lane), byte);
      });
    } else if (before != checked) {
      if (races(warp, lane, op, before))
        report(warp, lane, op, byte, before);
      checked = before;
    }
    auto replaceable = [&](Access old) {
      return !old.clock || old.thread == access.thread || warp.knows(lane, old.thread, old.clock);
    };
    Access &first = firstReads[byte], &last = lastReads[byte];
    if (replaceable(first))
      first = access;
    else if (uint32_t warpOfLast = last.thread / warpSize;
             replaceable(last) || warpOfLast == first.thread / warpSize || warpOfLast == warp.index)
      last = access;
  }
}

void SharedChecks::change(Warp &warp, unsigned lane, const Op &op, uint32_t offset, uint32_t bytes,
                          const uint8_t *values) {
  Access access = now(warp, lane, op);
  for (const HeldRead &held : heldReads)
    if (held.offset < offset + bytes && offset < held.offset + held.bytes)
      report(warp, lane, op, std::max(offset, held.offset), held.access);
  bool forgiving = values && !warp.machine().options.sameValueWritesRace;
  for (uint32_t i = 0; i < bytes; ++i) {
    uint32_t byte = offset + i;
    bool same = forgiving && !writes[byte].inFlight && warp.block.shared[byte] == values[i];
    if (!same && races(warp, lane, op, writes[byte]))
      report(warp, lane, op, byte, writes[byte]);
    for (Access before : {firstReads[byte], lastReads[byte]})
      if (races(warp, lane, op, before))
        report(warp, lane, op, byte, before);
    writes[byte] = access;
    firstReads[byte] = lastReads[byte] = {};
  }
}

/// Fails if the bytes are an mbarrier's.
static void refuseArrivalBarrier(const Warp &warp, unsigned lane, const Op &op, uint32_t offset, uint32_t bytes) {
  const auto &objects = warp.block.arrivalBarriers;
  auto after = objects.lower_bound(offset + bytes);
  if (after == objects.begin())
    return;
  const auto &[begin, object] = *std::prev(after);
  if (begin + ArrivalBarrier::sizeBytes > offset)
    warp.fail(
        op, lane,
        fmt::format("an ordinary access to bytes {} to {} of shared memory, of which {} to {} are an mbarrier that "
                    "thread {} initialised for {} arrivals",
                    offset, offset + bytes - 1, begin, begin + ArrivalBarrier::sizeBytes - 1, object.initialiser,
                    object.expected));
}

void SharedChecks::read(Warp &warp, unsigned lane, const Op &op, uint32_t offset, uint32_t bytes) {
  refuseArrivalBarrier(warp, lane, op, offset, bytes);
  use(warp, lane, op, offset, bytes);
}

void SharedChecks::write(Warp &warp, unsigned lane, const Op &op, uint32_t offset, uint32_t bytes,
                         const uint8_t *values) {
  refuseArrivalBarrier(warp, lane, op, offset, bytes);
  change(warp, lane, op, offset, bytes, values);
}

void SharedChecks::depart(Warp &warp, unsigned lane, const Op &op, uint32_t offset, uint32_t bytes) {
  write(warp, lane, op, offset, bytes, nullptr);
  for (uint32_t byte = offset; byte < offset + bytes; ++byte)
    writes[byte].inFlight = true;
}

void SharedChecks::holdRead(Warp &warp, unsigned lane, const Op &op, uint32_t offset, uint32_t bytes) {
  read(warp, lane, op, offset, bytes);
  heldReads.push_back({offset, bytes, now(warp, lane, op)});
  heldReads.back().access.inFlight = true;
}

void SharedChecks::releaseRead(Warp &warp, unsigned lane, const Op &op, uint32_t offset, uint32_t bytes) {
  read(warp, lane, op, offset, bytes);
  Access access = now(warp, lane, op);
  auto isHeld = [&](const HeldRead &held) {
    return held.offset == offset && held.bytes == bytes && held.access.thread == access.thread &&
           held.access.op == access.op;
  };
  heldReads.erase(std::ranges::find_if(heldReads, isHeld));
}

void SharedChecks::arrive(Warp &warp, unsigned lane, const Op &op, uint32_t offset, uint32_t bytes, uint32_t clock) {
  Access access = now(warp, lane, op);
  access.clock = clock;
  for (uint32_t byte = offset; byte < offset + bytes; ++byte)
    writes[byte] = access;
}
