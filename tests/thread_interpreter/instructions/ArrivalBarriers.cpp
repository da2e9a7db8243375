// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mbarriers in shared memory. An arrival releases what its lane did and knows, no other lane's accesses; a wait blocks
// until its phase is complete and acquires what the arrivals of all complete phases released. Source: PTX ISA,
// "Parallel synchronization and communication instructions: mbarrier".
#include "tests/thread_interpreter/Machine.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <utility>

using namespace heddle::threads;

static constexpr uint64_t mostArrivals = (1 << 20) - 1;

unsigned ArrivalBarrier::waitingThreads() const {
  unsigned count = 0;
  for (uint32_t lanes : waiting)
    count += std::popcount(lanes);
  return count;
}

std::string ArrivalBarrier::describe(uint32_t offset) const {
  std::string text = fmt::format("the mbarrier at byte {} of shared memory, whose phase {} has {} of {} arrivals",
                                 offset, phase, arrived, expected);
  return hasTransfers() ? text + fmt::format(" and copies of {} of {} bytes", loadBytes(), expectedBytes) : text;
}

int64_t ArrivalBarrier::loadBytes() const {
  int64_t bytes = 0;
  for (const BulkLoad &load : loads)
    bytes += load.map->boxBytes();
  return bytes;
}

static Place locateObject(Warp &warp, const Op &op, unsigned lane, uint64_t address, unsigned space) {
  constexpr uint32_t size = ArrivalBarrier::sizeBytes;
  return locate(warp, op, lane, address, size, space, size);
}
static Place locateObject(Warp &warp, const Op &op, unsigned lane) {
  return locateObject(warp, op, lane, warp.reg(op.in[0])[lane], op.space);
}

/// The object at the lane's address, for an operation other than its init.
static ArrivalBarrier &find(Warp &warp, const Op &op, unsigned lane, uint32_t offset) {
  auto &objects = warp.block.arrivalBarriers;
  auto found = objects.find(offset);
  if (found == objects.end())
    warp.fail(op, lane,
              fmt::format("no mbarrier is initialised at byte {} of shared memory, and {} elsewhere; initialise it "
                          "before a barrier of the block and use it after",
                          offset, objects.size()));
  return found->second;
}

//===-- Order ----------------------------------------------------------------------------------------------------===//

static void release(Warp &warp, unsigned lane, ArrivalBarrier &object) {
  Clocks &released = object.released;
  auto learn = [&](size_t thread, uint32_t clock) { released[thread] = std::max(released[thread], clock); };
  for (size_t other = 0; other < warp.knownWarps.size(); ++other)
    for (unsigned theirs = 0; theirs < warpSize; ++theirs)
      learn(other * warpSize + theirs, other == warp.index ? warp.knownLanes[lane][theirs] : warp.knownWarps[other]);
  if (const KnownThreads &threads = warp.knownThreads[lane])
    for (size_t thread = 0; thread < threads->size(); ++thread)
      if (thread / warpSize != warp.index)
        learn(thread, (*threads)[thread]);
  object.arrivals.push_back({warp.thread(lane), warp.clock});
  learn(warp.thread(lane), warp.clock++);
  if (DeviceOrder *order = warp.machine().order)
    order->arrive(warp, 1u << lane, object.deviceReleased);
}

/// What is not ordered after the end of the previous phase may count there.
static void checkPhase(Warp &warp, const Op &op, unsigned lane, const ArrivalBarrier &object, uint32_t offset) {
  for (const ArrivalBarrier::Arrival &other : object.previous)
    if (other.thread != warp.thread(lane) && !warp.knows(lane, other.thread, other.clock)) {
      warp.machine().find(FindingKind::BarrierFault, &op, nullptr, [&] {
        return fmt::format("`{}` by {} at {}: nothing orders it after the arrival of thread {} in phase {}, so that it "
                           "may count in either phase",
                           warp.program().describe(op), warp.name(lane), object.describe(offset), other.thread,
                           object.phase - 1);
      });
      return;
    }
}

static void acquire(Warp &warp, uint32_t lanes, const ArrivalBarrier &object) {
  if (!object.known)
    return;
  KnownThreads before, after; // of the previous lane: most lanes know the same
  eachLane(lanes, [&](unsigned lane) {
    KnownThreads &known = warp.knownThreads[lane];
    if (after && known == before) {
      known = after;
    } else {
      before = known;
      joinInto(known, object.known);
      after = known;
    }
    for (unsigned other = 0; other < warpSize; ++other) {
      uint32_t &clock = warp.knownLanes[lane][other];
      clock = std::max(clock, (*object.known)[warp.index * warpSize + other]);
    }
    if (warp.deviceOrder)
      joinInto((*warp.deviceOrder)[lane].known, object.deviceKnown);
  });
}

/// As late as allowed: when the first thread has waited for the phase. A wait that is missing is found by that, also
/// where other objects order the threads.
static void land(ArrivalBarrier &object) {
  for (const ArrivalBarrier::Landing &landing : object.unseen)
    landCopies(*landing.warp, landing.lane, landing.copies);
  object.unseen.clear();
}

// Who has waited knows the copies of the phase by the clocks of their lanes. So it knows earlier accesses of these
// lanes too, which the copies do not release: a race with those is not found.
static void landLoads(ArrivalBarrier &object) {
  for (const BulkLoad &load : object.loads) {
    landLoad(load);
    uint32_t &clock = object.released[load.warp->thread(load.lane)];
    clock = std::max(clock, load.clock);
    // Who has waited may write what the copy read.
    const Warp &warp = *load.warp;
    uint32_t thread = warp.thread(load.lane), slot = warp.block.slot;
    if (warp.deviceOrder && !object.deviceReleased.has(slot, thread, load.deviceClock))
      object.deviceReleased.learn(slot, thread, 1, 1, load.deviceClock);
  }
  object.loads.clear();
}

/// An arrival that counts itself in first does not hold the phase until then: where no other arrival comes after it,
/// the phase may end without its copies.
static void checkCountedCopies(const ArrivalBarrier &object) {
  for (const ArrivalBarrier::Landing &landing : object.landings)
    if (landing.clock && object.released[landing.warp->thread(landing.lane)] < landing.clock) {
      landing.warp->machine().find(FindingKind::BarrierFault, &object, landing.warp, [&] {
        return fmt::format(
            "the copies of {} count in phase {} of an mbarrier (cp.async.mbarrier.arrive without noinc), "
            "and nothing orders this before the phase's last arrival, so that the phase may end without "
            "them",
            landing.warp->name(landing.lane), object.phase);
      });
      return;
    }
}

/// The phase ends, and those who wait go on.
static void complete(Block &block, ArrivalBarrier &object) {
  checkCountedCopies(object);
  std::ranges::move(object.landings, std::back_inserter(object.unseen));
  object.landings.clear();
  landLoads(object);
  object.arrived = 0, object.expectedBytes = 0;
  if (object.waitingThreads())
    land(object);
  ++object.phase;
  ++block.machine.progress;
  object.previous = std::exchange(object.arrivals, {});
  object.came.assign(block.warps.size(), 0);
  object.copied.assign(block.warps.size(), 0);
  object.known = std::make_shared<Clocks>(object.released);
  if (block.machine.order)
    object.deviceKnown = std::make_shared<Knowledge>(object.deviceReleased);
  for (auto &warp : block.warps) {
    uint32_t lanes = std::exchange(object.waiting[warp->index], 0);
    acquire(*warp, lanes, object);
    warp->atBarrier &= ~lanes;
    eachLane(lanes, [&](unsigned lane) {
      const Op &op = block.program().ops[warp->pcs[lane]++];
      warp->reg(op.out[0])[lane] = 1;
    });
  }
}

bool heddle::threads::completeDuePhases(Block &block) {
  bool any = false;
  for (auto &[offset, object] : block.arrivalBarriers)
    if (object.hasTransfers() && object.waitingThreads() && object.isDue()) {
      complete(block, object);
      any = true;
    }
  return any;
}

ArrivalBarrier &heddle::threads::objectOfLoad(Warp &warp, const Op &op, unsigned lane, uint64_t address) {
  Place place = locateObject(warp, op, lane, address, Shared);
  ArrivalBarrier &object = find(warp, op, lane, place.offset);
  warp.block.checks.use(warp, lane, op, place.offset, ArrivalBarrier::sizeBytes);
  checkPhase(warp, op, lane, object, place.offset);
  return object;
}

//===-- Operations -----------------------------------------------------------------------------------------------===//

/// in: the object, the count of arrivals of each phase.
static Flow initialise(Warp &warp, const Op &op) {
  eachLane(warp.active, [&](unsigned lane) {
    Place place = locateObject(warp, op, lane);
    Block &block = warp.block;
    uint64_t count = warp.reg(op.in[1])[lane];
    if (count < 1 || count > mostArrivals)
      warp.fail(op, lane, fmt::format("an mbarrier of {} arrivals; it has 1 to {}", count, mostArrivals));
    if (auto old = block.arrivalBarriers.find(place.offset); old != block.arrivalBarriers.end())
      warp.fail(op, lane,
                fmt::format("init for {} arrivals, but thread {} initialised {}; invalidate it first", count,
                            old->second.initialiser, old->second.describe(place.offset)));
    block.checks.change(warp, lane, op, place.offset, ArrivalBarrier::sizeBytes);
    std::memset(place.bytes, 0xff, ArrivalBarrier::sizeBytes); // the object's bits are opaque
    ArrivalBarrier &object = block.arrivalBarriers[place.offset];
    object.initialiser = warp.thread(lane);
    object.expected = count;
    for (auto *lanes : {&object.came, &object.copied, &object.waiting})
      lanes->assign(block.warps.size(), 0);
    object.released.assign(block.warps.size() * warpSize, 0);
  });
  return Flow::Next;
}

static Flow invalidate(Warp &warp, const Op &op) {
  eachLane(warp.active, [&](unsigned lane) {
    Place place = locateObject(warp, op, lane);
    ArrivalBarrier &object = find(warp, op, lane, place.offset);
    unsigned waiting = object.waitingThreads();
    if (waiting || !object.landings.empty() || !object.loads.empty())
      warp.fail(op, lane,
                fmt::format("{} threads wait, and {} arrivals have copies in flight, at {}", waiting,
                            object.landings.size(), object.describe(place.offset)));
    land(object);
    warp.block.checks.change(warp, lane, op, place.offset, ArrivalBarrier::sizeBytes);
    warp.block.arrivalBarriers.erase(place.offset);
  });
  return Flow::Next;
}

/// `count` arrivals of one thread, which may have made some before.
static void addArrivals(Warp &warp, const Op &op, unsigned lane, ArrivalBarrier &object, uint32_t offset,
                        uint64_t count) {
  if (count < 1 || count > object.expected - object.arrived)
    warp.fail(op, lane,
              fmt::format("{} arrivals at {}: 1 to {} are left", count, object.describe(offset),
                          object.expected - object.arrived));
  checkPhase(warp, op, lane, object, offset);
  release(warp, lane, object);
  object.arrived += count;
  if (op.outs)
    warp.reg(op.out[0])[lane] = object.phase;
}

/// Phases that wait for bulk copies end in completeDuePhases().
static bool completeAtOnce(Block &block, ArrivalBarrier &object) {
  bool ends = object.isDue() && !object.hasTransfers();
  if (ends)
    complete(block, object);
  return ends;
}

/// After an operation that ended a phase: lanes of this warp may have been among those who waited.
static Flow goOn(Warp &warp, bool completed) {
  if (!completed)
    return Flow::Next;
  warp.save();
  eachLane(warp.active, [&](unsigned lane) { ++warp.pcs[lane]; });
  return Flow::Switch;
}

/// in: the object. With `Copies` the phase is not complete before the lane's earlier copies are, which therefore have
/// landed for who has waited for it. A thread may arrive once a phase in each way, and is ordered after the phase
/// before it: PTX does not ask for this, but such an arrival counts for that of another thread.
template <bool Copies>
static Flow arrive(Warp &warp, const Op &op) {
  bool completed = false;
  eachLane(warp.active, [&](unsigned lane) {
    Place place = locateObject(warp, op, lane);
    ArrivalBarrier &object = find(warp, op, lane, place.offset);
    warp.block.checks.use(warp, lane, op, place.offset, ArrivalBarrier::sizeBytes);
    uint32_t &came = (Copies ? object.copied : object.came)[warp.index];
    if (came >> lane & 1)
      warp.fail(op, lane, "the thread arrives a second time at " + object.describe(place.offset));
    came |= 1u << lane;
    if (Copies)
      object.landings.push_back({&warp, lane, releaseCopies(warp, lane)});
    addArrivals(warp, op, lane, object, place.offset, 1);
    completed |= completeAtOnce(warp.block, object);
  });
  return goOn(warp, completed);
}

/// in: the object. The arrival is counted in, and made when the lane's earlier copies have landed: the phase is not
/// complete before that, and the number of other arrivals stays as it is.
static Flow countCopies(Warp &warp, const Op &op) {
  eachLane(warp.active, [&](unsigned lane) {
    Place place = locateObject(warp, op, lane);
    ArrivalBarrier &object = find(warp, op, lane, place.offset);
    warp.block.checks.use(warp, lane, op, place.offset, ArrivalBarrier::sizeBytes);
    checkPhase(warp, op, lane, object, place.offset);
    object.landings.push_back({&warp, lane, releaseCopies(warp, lane), warp.clock});
  });
  return Flow::Next;
}

/// in: the object, how often each thread arrives.
static Flow arriveOften(Warp &warp, const Op &op) {
  bool completed = false;
  eachLane(warp.active, [&](unsigned lane) {
    Place place = locateObject(warp, op, lane);
    ArrivalBarrier &object = find(warp, op, lane, place.offset);
    warp.block.checks.use(warp, lane, op, place.offset, ArrivalBarrier::sizeBytes);
    addArrivals(warp, op, lane, object, place.offset, warp.reg(op.in[1])[lane]);
    completed |= completeAtOnce(warp.block, object);
  });
  return goOn(warp, completed);
}

/// in: the object, bytes that copies bring in this phase. With `Arrives` an arrival too.
template <bool Arrives>
static Flow expectBytes(Warp &warp, const Op &op) {
  constexpr int64_t mostBytes = (1 << 20) - 1;
  bool completed = false;
  eachLane(warp.active, [&](unsigned lane) {
    Place place = locateObject(warp, op, lane);
    ArrivalBarrier &object = find(warp, op, lane, place.offset);
    warp.block.checks.use(warp, lane, op, place.offset, ArrivalBarrier::sizeBytes);
    auto bytes = int64_t(warp.reg(op.in[1])[lane]);
    if (object.expectedBytes + bytes > mostBytes)
      warp.fail(op, lane,
                fmt::format("{} more bytes at {}; {} is the most", bytes, object.describe(place.offset), mostBytes));
    if (!Arrives && object.arrived == object.expected)
      warp.fail(op, lane,
                fmt::format("{} more bytes at {}: no arrival is left that holds the phase", bytes,
                            object.describe(place.offset)));
    object.expectedBytes += bytes;
    if (!Arrives)
      return;
    addArrivals(warp, op, lane, object, place.offset, 1);
    completed |= completeAtOnce(warp.block, object);
  });
  return goOn(warp, completed);
}

/// in: the object, the parity of the phase.
static Flow waitParity(Warp &warp, const Op &op) {
  uint32_t blocked = 0;
  for (uint32_t rest = warp.active; rest;) {
    unsigned first = std::countr_zero(rest);
    uint32_t offset = locateObject(warp, op, first).offset, ready = 0;
    ArrivalBarrier &object = find(warp, op, first, offset);
    eachLane(rest, [&](unsigned lane) {
      if (warp.reg(op.in[0])[lane] != warp.reg(op.in[0])[first])
        return;
      rest &= ~(1u << lane);
      warp.block.checks.use(warp, lane, op, offset, ArrivalBarrier::sizeBytes);
      uint64_t parity = warp.reg(op.in[1])[lane];
      if (parity > 1)
        warp.fail(op, lane, fmt::format("the parity is {}, and that of a phase is 0 or 1", parity));
      if ((object.phase & 1) != parity) {
        ready |= 1u << lane;
        warp.reg(op.out[0])[lane] = 1;
      } else {
        blocked |= 1u << lane;
        object.waiting[warp.index] |= 1u << lane;
      }
    });
    if (ready)
      land(object);
    acquire(warp, ready, object);
  }
  if (!blocked)
    return Flow::Next;
  warp.save();
  warp.atBarrier |= blocked;
  eachLane(warp.active & ~blocked, [&](unsigned lane) { ++warp.pcs[lane]; });
  return Flow::Switch;
}

std::span<const Entry> heddle::threads::arrivalBarrierTable() {
  static const Entry rows[] = {
      forAll("llvm.nvvm.mbarrier.init.shared", initialise),
      forAll("llvm.nvvm.mbarrier.inval.shared", invalidate),
      forAll("llvm.nvvm.mbarrier.arrive.shared", arrive<false>),
      forAll("llvm.nvvm.mbarrier.arrive.scope.cta.space.cta", arriveOften),
      forAll("llvm.nvvm.mbarrier.expect.tx.scope.cta.space.cta", expectBytes<false>),
      forAll("llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta", expectBytes<true>),
      forAll("llvm.nvvm.cp.async.mbarrier.arrive.noinc.shared", arrive<true>),
      forAll("llvm.nvvm.cp.async.mbarrier.arrive.shared", countCopies),
      forAll("llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta", waitParity),
  };
  return rows;
}
