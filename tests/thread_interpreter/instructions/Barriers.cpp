// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Barriers of the block. All threads of a warp must come to the same one; a thread that has exited is missed, so that a
// barrier after an early exit never completes and is reported.
#include "tests/thread_interpreter/Machine.h"
#include <algorithm>
#include <fmt/format.h>

using namespace heddle::threads;

enum class Combine { Nothing, And, Or, Popc };

static void complete(Block &block, Barrier &barrier) {
  const Program &program = block.program();
  Known known = block.machine.order ? std::make_shared<Knowledge>(std::move(barrier.known)) : nullptr;
  // Where all warps wait, their clocks are known, and what is known of single threads is older.
  if (std::ranges::all_of(barrier.lanes, [](uint32_t lanes) { return lanes != 0; }))
    barrier.threads = nullptr;
  ++block.machine.progress;
  for (auto &warp : block.warps) {
    uint32_t lanes = barrier.lanes[warp->index];
    if (!lanes)
      continue;
    for (size_t other = 0; other < barrier.clocks.size(); ++other)
      warp->knownWarps[other] = std::max(warp->knownWarps[other], barrier.clocks[other]);
    eachLane(lanes, [&](unsigned lane) { warp->knownThreads[lane] = barrier.threads; });
    warp->synchroniseShared(lanes);
    if (known)
      eachLane(lanes, [&](unsigned lane) { (*warp->deviceOrder)[lane].known = known; });
    warp->atBarrier &= ~lanes;
    eachLane(lanes, [&](unsigned lane) {
      const Op &op = program.ops[warp->pcs[lane]++];
      if (!op.outs)
        return;
      uint32_t count = barrier.trueCount;
      warp->reg(op.out[0])[lane] = Combine(op.second) == Combine::Popc  ? count
                                   : Combine(op.second) == Combine::And ? count == barrier.expected
                                                                        : count != 0;
    });
  }
  barrier = {};
}

static Barrier &open(Warp &warp, const Op &op, unsigned lane) {
  Block &block = warp.block;
  Barrier &barrier = block.barriers[warp.reg(op.in[0])[lane]];
  uint32_t expected = op.immediate ? warp.reg(op.in[1])[lane] : block.threads;
  if (!barrier.expected) {
    barrier.expected = expected;
    barrier.lanes.assign(block.warps.size(), 0);
    barrier.came.assign(block.warps.size(), 0);
    barrier.clocks.assign(block.warps.size(), 0);
  } else if (barrier.expected != expected) {
    warp.fail(op, lane,
              fmt::format("the barrier expects {} threads here and {} elsewhere", expected, barrier.expected));
  }
  return barrier;
}

/// in: barrier number, then the count if op.immediate is set, then the predicate of the reducing forms.
template <bool Waits>
static Flow arrive(Warp &warp, const Op &op) {
  uint32_t lanes = warp.active;
  for (uint32_t rest = warp.atWarpSync; rest; rest &= rest - 1)
    if (unsigned lane = std::countr_zero(rest); warp.pcs[lane] == warp.pc)
      lanes |= 1u << lane;
  warp.save();
  if (lanes != warp.live) {
    warp.atWarpSync |= lanes;
    return Flow::Switch;
  }
  warp.atWarpSync = 0;

  unsigned first = std::countr_zero(lanes);
  Barrier &barrier = open(warp, op, first);
  if (barrier.came[warp.index])
    warp.fail(op, first, "the warp arrives twice at a barrier that has not completed");
  barrier.came[warp.index] = lanes;
  barrier.arrived += std::popcount(lanes);
  if (barrier.arrived > barrier.expected)
    warp.fail(op, first, fmt::format("{} threads arrive at a barrier of {}", barrier.arrived, barrier.expected));
  warp.knownWarps[warp.index] = warp.clock++;
  for (size_t other = 0; other < barrier.clocks.size(); ++other)
    barrier.clocks[other] = std::max(barrier.clocks[other], warp.knownWarps[other]);
  eachLane(lanes, [&](unsigned lane) { joinInto(barrier.threads, warp.knownThreads[lane]); });
  if (DeviceOrder *order = warp.machine().order)
    order->arrive(warp, lanes, barrier.known);
  if (op.outs)
    eachLane(lanes, [&](unsigned lane) { barrier.trueCount += warp.reg(op.in[op.ins - 1])[lane] & 1; });
  if (Waits) {
    barrier.lanes[warp.index] = lanes;
    warp.atBarrier |= lanes;
  } else {
    eachLane(lanes, [&](unsigned lane) { ++warp.pcs[lane]; });
  }
  if (barrier.arrived == barrier.expected)
    complete(warp.block, barrier);
  return Flow::Switch;
}

std::span<const Entry> heddle::threads::barrierTable() {
  static const Entry rows[] = {
      forAll("barrier.wait", arrive<true>),
      forAll("barrier.arrive", arrive<false>),
  };
  return rows;
}
