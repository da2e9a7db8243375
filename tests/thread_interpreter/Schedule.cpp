// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Warps take turns of some hundred steps. Inside a warp the lanes with the smallest program counter run, which brings
// diverged lanes together again, because the code lies in an order in which loops are contiguous; now and then the
// others have a turn, so that a lane may wait for another one of its warp.
//
// Ranks are idle when all their threads poll or wait for each other. When all ranks are, time passes: the clock of the
// device jumps, by more and more, so that a deadline far away ends a wait soon.
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

struct Slice {
  unsigned steps = 0;
  bool polls = false; ///< ended by reading what others may write
};

/// At most `quantum` steps; none when no lane can run.
static Slice runSlice(Warp &warp, unsigned quantum) {
  Machine &machine = warp.machine();
  const Op *ops = warp.program().ops.data();
  uint64_t threadInstructions = 0;
  Slice slice;
  bool last = ++warp.slices % fairnessPeriod == 0;
  while (slice.steps < quantum && !slice.polls) {
    uint32_t limit;
    if (!chooseLanes(warp, last, limit))
      break;
    unsigned lanes = std::popcount(warp.active);
    for (;;) {
      const Op &op = ops[warp.pc];
      Flow flow = op.run(warp, op);
      ++slice.steps;
      threadInstructions += lanes;
      if (flow == Flow::Switch)
        break;
      slice.polls = flow == Flow::Yield;
      warp.pc += flow != Flow::Jumped;
      if (slice.polls || slice.steps >= quantum || warp.pc >= limit) {
        warp.save();
        break;
      }
    }
  }
  machine.report.warpSteps += slice.steps;
  machine.report.threadInstructions += threadInstructions;
  return slice;
}

//===-- Blocks ---------------------------------------------------------------------------------------------------===//

static uint32_t takeSlot(Machine &machine, Rank &rank, uint64_t number) {
  if (!machine.order)
    return 0;
  auto isFree = [&](uint32_t slot) {
    return std::none_of(rank.blocks.begin(), rank.blocks.end(), [&](const auto &block) { return block->slot == slot; });
  };
  while (rank.slots.size() < rank.residentBlocks && rank.slots.size() < rank.launch.grid.count())
    rank.slots.push_back(machine.order->takeSlot(rank.index, DeviceOrder::AgentKind::Block));
  uint32_t wanted = rank.slots[number % rank.slots.size()];
  return isFree(wanted) ? wanted : *std::find_if(rank.slots.begin(), rank.slots.end(), isFree);
}

static void beginBlock(Machine &machine, Rank &rank) {
  const Dim3 &grid = rank.launch.grid;
  uint64_t number = rank.nextBlock++;
  uint32_t slot = takeSlot(machine, rank, number);
  Dim3 index{uint32_t(number % grid.x), uint32_t(number / grid.x % grid.y), uint32_t(number / grid.x / grid.y)};
  rank.blocks.push_back(std::make_unique<Block>(machine, rank, index, slot));
  if (machine.order)
    machine.order->nameSlot(slot, rank.blocks.back()->name());
}

// One block of each rank after the other, so that equal blocks of all ranks are resident together.
static void beginBlocks(Machine &machine) {
  for (bool more = true; more;) {
    more = false;
    for (const auto &rank : machine.ranks)
      if (rank->error.empty() && rank->nextBlock < rank->launch.grid.count() &&
          rank->blocks.size() < rank->residentBlocks) {
        beginBlock(machine, *rank);
        more = true;
      }
  }
}

static size_t endBlocks(Machine &machine, Rank &rank, bool all) {
  return std::erase_if(rank.blocks, [&](const auto &block) {
    bool ends = all || block->isDone();
    if (ends && !all)
      endBulkCopies(*block);
    if (ends && machine.order)
      machine.order->end(*block, rank.end);
    return ends;
  });
}

//===-- Messages -------------------------------------------------------------------------------------------------===//

static std::string describePoll(const Machine &machine, const Warp &warp) {
  if (!warp.polledAddress)
    return "";
  return fmt::format(", which last saw {} at {}", warp.polledValue, machine.describePlace(warp.polledAddress));
}

/// Where the threads that live stand, one place of the program a line.
static std::string describeThreads(const Machine &machine, const Rank &rank) {
  std::string text;
  unsigned lines = 0;
  for (const auto &block : rank.blocks) {
    std::map<uint32_t, std::pair<uint32_t, std::string>> places;
    uint32_t exited = block->threads;
    for (const auto &warp : block->warps)
      eachLane(warp->live, [&](unsigned lane) {
        --exited;
        auto &[count, first] = places[warp->pcs[lane]];
        if (!count++)
          first = warp->name(lane) + describePoll(machine, *warp);
      });
    for (const auto &[pc, place] : places)
      if (++lines <= 16)
        text += fmt::format("; {} threads, as {}, at `{}`", place.first, place.second,
                            rank.program->describe(rank.program->ops[pc]));
    for (const auto &[offset, object] : block->arrivalBarriers)
      if (unsigned waiting = object.waitingThreads(); waiting && ++lines <= 16)
        text += fmt::format("; {} threads of {} wait at {}", waiting, block->name(), object.describe(offset));
    if (exited && !places.empty() && lines <= 16)
      text += fmt::format("; {} of {} threads of {} have exited", exited, block->threads, block->name());
  }
  return text;
}

//===-- Ranks ----------------------------------------------------------------------------------------------------===//

static void fail(Machine &machine, Rank &rank, std::string message) {
  rank.error = std::move(message);
  if (machine.report.error.empty())
    machine.report.error = rank.error;
  endBlocks(machine, rank, true);
}

static uint64_t randomBelow(Machine &machine, uint64_t limit) { // splitmix64
  uint64_t value = machine.randomState += 0x9e3779b97f4a7c15;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return (value ^ value >> 31) % limit;
}

template <class T>
static void shuffle(Machine &machine, std::vector<T> &list) {
  for (size_t i = list.size(); i > 1; --i)
    std::swap(list[i - 1], list[randomBelow(machine, i)]);
}

static constexpr uint64_t firstSkip = 16'000'000; ///< nanoseconds
static constexpr unsigned stepsOfPoll = 64;       ///< at most, from one read of a loop that waits to the next

/// Every warp of the rank has a slice.
static void runRank(Machine &machine, Rank &rank) {
  std::vector<Warp *> warps;
  for (const auto &block : rank.blocks)
    for (const auto &warp : block->warps)
      warps.push_back(warp.get());
  bool isRandom = machine.options.policy == Policy::Random;
  if (isRandom)
    shuffle(machine, warps);
  uint64_t progress = machine.progress;
  bool stepped = false, works = false;
  try {
    for (Warp *warp : warps) {
      unsigned quantum = machine.options.quantum;
      Slice slice = runSlice(*warp, isRandom ? 1 + unsigned(randomBelow(machine, quantum)) : quantum);
      stepped |= slice.steps > 0;
      warp->stepsSincePoll = slice.polls ? 0 : warp->stepsSincePoll + slice.steps;
      works |= slice.steps > 0 && warp->stepsSincePoll > stepsOfPoll && warp->live;
    }
  } catch (const Fatal &fatal) {
    return fail(machine, rank, fatal.message);
  }
  bool completed = false;
  for (const auto &block : rank.blocks)
    completed |= completeDuePhases(*block);
  size_t ended;
  try {
    ended = endBlocks(machine, rank, false);
  } catch (const Fatal &fatal) { // of a bulk store
    return fail(machine, rank, fatal.message);
  }
  if (!stepped && !ended && !completed) {
    std::string message = "threads wait for others that never come" + describeThreads(machine, rank);
    machine.report.findings.push_back({FindingKind::BarrierFault, message});
    return fail(machine, rank, message);
  }
  bool busy = works || ended || machine.progress != progress;
  rank.idleTurns = busy ? 0 : rank.idleTurns + 1;
  if (busy)
    machine.nextSkip = firstSkip;
  if (machine.progress != progress) // what others poll may have come
    for (const auto &other : machine.ranks)
      other->idleTurns = 0;
}

static constexpr unsigned turnsToIdle = 3; ///< a poll that fails, and what lies around it

/// While all threads poll, time passes: ever more of it. Each rank has its turns before the next jump: what it waits
/// for may have come, and few steps between two polls look like none.
static void passTime(Machine &machine, const std::vector<Rank *> &ranks, uint64_t clockReads) {
  bool idle = std::all_of(ranks.begin(), ranks.end(), [](Rank *rank) { return rank->idleTurns >= turnsToIdle; });
  if (!idle || machine.clockReads == clockReads)
    return;
  machine.nextSkip = std::max(machine.nextSkip, firstSkip);
  machine.skippedNanoseconds += machine.nextSkip;
  machine.nextSkip *= 16;
  for (Rank *rank : ranks)
    rank->idleTurns = 0;
}

static constexpr uint64_t mostOrdered = 8; ///< ranks of a group

/// Those that the policy lets run.
static std::vector<Rank *> chooseRanks(Machine &machine, std::vector<Rank *> ranks) {
  if (machine.options.policy == Policy::Random) {
    shuffle(machine, ranks);
    ranks.resize(1 + randomBelow(machine, ranks.size()));
  } else if (machine.options.policy == Policy::OneAhead) {
    // The one with the lowest number runs while it can; that which the seed names has number 0.
    uint64_t seed = machine.options.seed % mostOrdered;
    auto number = [&](const Rank *rank) { return (rank->index + mostOrdered - seed) % mostOrdered; };
    Rank *first = nullptr;
    for (Rank *rank : ranks)
      if (rank->idleTurns < turnsToIdle && (!first || number(rank) < number(first)))
        first = rank;
    if (first)
      return {first};
  }
  return ranks;
}

void heddle::threads::runTurn(Machine &machine) {
  beginBlocks(machine);
  std::vector<Rank *> ranks;
  for (const auto &rank : machine.ranks)
    if (!rank->isDone())
      ranks.push_back(rank.get());
  if (ranks.empty())
    return;
  uint64_t clockReads = machine.clockReads;
  for (Rank *rank : chooseRanks(machine, ranks))
    runRank(machine, *rank);
  passTime(machine, ranks, clockReads);
  if (machine.report.warpSteps - machine.firstStep <= machine.options.mostSteps)
    return;
  for (Rank *rank : ranks)
    if (!rank->isDone())
      fail(machine, *rank,
           fmt::format("no progress after {} steps", machine.report.warpSteps - machine.firstStep) +
               describeThreads(machine, *rank));
}

void heddle::threads::runAll(Machine &machine) {
  auto isOver = [](const auto &rank) { return rank->isDone(); };
  while (machine.report.error.empty() && !std::all_of(machine.ranks.begin(), machine.ranks.end(), isOver))
    runTurn(machine);
}
