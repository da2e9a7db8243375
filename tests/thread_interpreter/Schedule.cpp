// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Warps take turns of some hundred steps. Inside a warp the lanes with the smallest program counter run, which brings
// diverged lanes together again, because the code lies in an order in which loops are contiguous; now and then the
// others have a turn, so that a lane may wait for another one of its warp.
#include "tests/thread_interpreter/Schedule.h"
#include <algorithm>
#include <fmt/format.h>

using namespace heddle::threads;

static constexpr uint32_t fairnessPeriod = 32; ///< slices

/// Chooses the lanes that run next; returns the counter at which others must join them. False when all lanes wait.
static bool chooseLanes(Warp &warp, bool last, uint32_t &limit) {
  uint32_t ready = warp.live & ~(warp.atWarpSync | warp.atBarrier);
  if (!ready)
    return false;
  uint32_t chosen = warp.pcs[std::countr_zero(ready)];
  eachLane(ready,
           [&](unsigned lane) { chosen = last ? std::max(chosen, warp.pcs[lane]) : std::min(chosen, warp.pcs[lane]); });
  warp.pc = chosen;
  warp.active = 0;
  limit = ~0u;
  eachLane(ready, [&](unsigned lane) {
    if (warp.pcs[lane] == chosen)
      warp.active |= 1u << lane;
    else if (warp.pcs[lane] > chosen)
      limit = std::min(limit, warp.pcs[lane]);
  });
  return true;
}

/// One turn. False when no lane can run.
static bool runSlice(Warp &warp) {
  Machine &machine = warp.machine();
  const Op *ops = machine.program.ops.data();
  uint64_t threadInstructions = 0;
  unsigned steps = 0, quantum = machine.options.quantum;
  bool last = ++warp.slices % fairnessPeriod == 0, yield = false;
  while (steps < quantum && !yield) {
    uint32_t limit;
    if (!chooseLanes(warp, last, limit))
      break;
    unsigned lanes = std::popcount(warp.active);
    for (;;) {
      const Op &op = ops[warp.pc];
      Flow flow = op.run(warp, op);
      ++steps;
      threadInstructions += lanes;
      if (flow == Flow::Switch)
        break;
      yield = flow == Flow::Yield;
      warp.pc += flow != Flow::Jumped;
      if (yield || steps >= quantum || warp.pc >= limit) {
        warp.save();
        break;
      }
    }
  }
  machine.report.warpSteps += steps;
  machine.report.threadInstructions += threadInstructions;
  return steps > 0;
}

static std::unique_ptr<Block> beginBlock(Machine &machine, Rank &rank) {
  const Dim3 &grid = rank.launch->grid;
  uint64_t number = rank.nextBlock++;
  ++rank.runningBlocks;
  return std::make_unique<Block>(
      machine, rank,
      Dim3{uint32_t(number % grid.x), uint32_t(number / grid.x % grid.y), uint32_t(number / grid.x / grid.y)});
}

/// Where the threads that live stand, one place of the program a line.
static std::string describeThreads(Machine &machine, const std::vector<std::unique_ptr<Block>> &blocks) {
  std::string text;
  unsigned lines = 0;
  for (const auto &block : blocks) {
    std::map<uint32_t, std::pair<uint32_t, std::string>> places;
    uint32_t exited = block->threads;
    for (const auto &warp : block->warps)
      eachLane(warp->live, [&](unsigned lane) {
        --exited;
        auto &[count, first] = places[warp->pcs[lane]];
        if (!count++)
          first = warp->name(lane);
      });
    for (const auto &[pc, place] : places)
      if (++lines <= 16)
        text += fmt::format("; {} threads, as {}, at `{}`", place.first, place.second,
                            machine.program.describe(machine.program.ops[pc]));
    if (exited && !places.empty() && lines <= 16)
      text += fmt::format("; {} of {} threads of {} have exited", exited, block->threads, block->name());
  }
  return text;
}

static void runBlocks(Machine &machine, std::vector<std::unique_ptr<Block>> &blocks) {
  for (;;) {
    // One block of each rank after the other, so that equal blocks of all ranks are resident together.
    for (bool more = true; more;) {
      more = false;
      for (Rank &rank : machine.ranks)
        if (rank.nextBlock < rank.launch->grid.count() && rank.runningBlocks < machine.options.residentBlocks) {
          blocks.push_back(beginBlock(machine, rank));
          more = true;
        }
    }
    if (blocks.empty())
      return;
    bool progress = false;
    for (const auto &block : blocks)
      for (const auto &warp : block->warps)
        progress |= runSlice(*warp);
    size_t before = blocks.size();
    std::erase_if(blocks, [](const auto &block) {
      bool done = block->isDone();
      block->rank.runningBlocks -= done;
      return done;
    });
    if (!progress && blocks.size() == before) {
      std::string message = "threads wait for others that never come" + describeThreads(machine, blocks);
      machine.report.findings.push_back({FindingKind::BarrierFault, message});
      throw Fatal{message};
    }
    if (machine.report.warpSteps > machine.options.mostSteps)
      throw Fatal{fmt::format("no progress after {} steps", machine.report.warpSteps) +
                  describeThreads(machine, blocks)};
  }
}

void heddle::threads::runAll(Machine &machine) {
  std::vector<std::unique_ptr<Block>> blocks;
  try {
    runBlocks(machine, blocks);
  } catch (const Fatal &fatal) {
    machine.report.error = fatal.message;
  }
}
