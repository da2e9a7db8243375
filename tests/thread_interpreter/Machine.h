// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The state that operations work on: a warp's registers and lanes, its block, and what all ranks share.
#pragma once
#include "tests/thread_interpreter/DeviceOrder.h"
#include "tests/thread_interpreter/Program.h"
#include "tests/thread_interpreter/SharedChecks.h"
#include <bit>
#include <deque>
#include <set>

namespace heddle::threads {

inline constexpr unsigned warpSize = 32;
/// Where generic addresses of shared and local memory begin; no host address is near.
inline constexpr uint64_t sharedWindow = uint64_t(1) << 56, localWindow = uint64_t(2) << 56;
enum AddressSpace : uint8_t { Generic = 0, Global = 1, Shared = 3, Constants = 4, Local = 5 };

/// Ends the run.
struct Fatal {
  std::string message;
};

struct AsyncCopy {
  uint64_t source;
  uint32_t shared, bytes, sourceBytes;
  const Op *op;
  uint64_t number;            ///< of its lane's copies
  uint32_t releasedClock = 0; ///< of the lane's first noinc arrival at an mbarrier after it; zero: none
};

/// A box of a tensor, and where its copy lies in shared memory.
struct BulkCopy {
  const Op *op;
  const TensorMap *map;
  std::array<int32_t, TensorMap::mostAxes> coordinates; ///< innermost first
  uint32_t shared;
};

/// From device memory to shared memory. The clocks are of its lane, for it alone.
struct BulkLoad : BulkCopy {
  Warp *warp;
  unsigned lane;
  uint32_t clock, deviceClock;
};

/// From shared memory to device memory.
struct BulkStore : BulkCopy {
  uint8_t reduction = 0;          ///< how it changes the tensor (BulkCopies.cpp)
  bool isRead = false;            ///< from shared memory
  std::vector<uint8_t> data = {}; ///< then the box
};

/// Bytes of shared memory that a product of warp groups reads until it is waited for.
struct GroupRead {
  const Op *op;
  uint32_t offset, lane, bytes;
  uint64_t group; ///< of products, counted by the warp
};

struct Range {
  uint64_t begin, end;
  std::string name;
};

/// A launch that runs, beside those of other ranks.
struct Rank {
  std::shared_ptr<const Program> program;
  Launch launch;
  unsigned index = 0;
  std::string name; ///< `rank 1`; empty for the only one
  unsigned residentBlocks = 1;
  uint64_t nextBlock = 0;
  std::vector<std::unique_ptr<Block>> blocks; ///< those that run
  unsigned idleTurns = 0;                     ///< turns in a row in which its threads did nothing but poll and wait
  std::string error;                          ///< what ended it early
  std::vector<uint32_t> slots;                ///< of resident blocks, in DeviceOrder
  Known begin;                                ///< what its threads know when they begin
  Knowledge end;                              ///< what those knew that have ended

  bool isDone() const { return blocks.empty() && (!error.empty() || nextBlock == launch.grid.count()); }
};

struct Machine {
  Options options;
  std::vector<Range> ranges; ///< sorted
  std::vector<std::unique_ptr<Rank>> ranks;
  DeviceOrder *order = nullptr; ///< null: races in device memory are not looked for
  Report report;
  std::map<std::tuple<FindingKind, const void *, const void *>, size_t> known;
  uint64_t progress = 0;           ///< stores to device memory, and barriers that were met
  uint64_t skippedNanoseconds = 0; ///< while all threads waited
  uint64_t nextSkip = 0;
  uint64_t firstStep = 0; ///< from where Options::mostSteps counts
  mutable uint64_t clockReads = 0;
  uint64_t randomState = 0;

  explicit Machine(const Options &options) : options(options), randomState(options.seed) {}
  /// The last range that begins at `address` or below it; null when none does.
  const Range *rangeBefore(uint64_t address) const;
  /// `byte 4 of 'x'`, or the address where no range begins below it.
  std::string describePlace(uint64_t address) const;
  uint64_t nanoseconds() const {
    ++clockReads;
    return 1'000'000'000 + report.warpSteps * options.nanosecondsPerStep + skippedNanoseconds;
  }
  /// Adds a finding once for a pair of instructions; `message` is only called the first time.
  template <class Message>
  void find(FindingKind kind, const void *first, const void *second, Message &&message) {
    auto [place, isNew] = known.try_emplace({kind, first, second}, report.findings.size());
    if (isNew)
      report.findings.push_back({kind, message()});
    else
      ++report.findings[place->second].count;
  }
};

/// The latest clock of each thread of a block that is known; null: nothing.
using KnownThreads = std::shared_ptr<const Clocks>;
void joinInto(KnownThreads &known, const KnownThreads &other);

struct Barrier {
  uint32_t expected = 0, arrived = 0;
  std::vector<uint32_t> lanes; ///< of each warp: who waits
  std::vector<uint32_t> came;  ///< of each warp: who arrived, waiting or not
  std::vector<uint32_t> clocks;
  uint32_t trueCount = 0; ///< of the predicates of the reducing forms
  Knowledge known;        ///< of those who arrived
  KnownThreads threads;   ///< likewise, in shared memory, beyond `clocks`
};

/// An mbarrier of 8 bytes in shared memory, between init and inval.
struct ArrivalBarrier {
  static constexpr uint32_t sizeBytes = 8;
  struct Landing {
    Warp *warp;
    unsigned lane;
    uint64_t copies; ///< of the lane, those with lower numbers
    /// Of an arrival that counts itself in first, when it was made: what orders it before the phase's end are other
    /// arrivals. 0: of one that the phase waits for.
    uint32_t clock = 0;
  };
  struct Arrival {
    uint32_t thread, clock;
  };

  uint32_t initialiser = 0; ///< thread
  uint32_t expected = 0;
  uint64_t phase = 0;                      ///< so many are complete
  std::vector<uint32_t> came;              ///< in this phase, lanes of each warp
  std::vector<uint32_t> copied;            ///< in this phase by noinc arrivals, lanes of each warp
  std::vector<uint32_t> waiting;           ///< lanes of each warp
  uint32_t arrived = 0;                    ///< in this phase; one arrival may count for several
  int64_t expectedBytes = 0;               ///< in this phase, by bulk copies
  std::vector<BulkLoad> loads;             ///< in flight
  std::vector<Landing> landings;           ///< of this phase's arrivals of copies
  std::vector<Landing> unseen;             ///< those of complete phases that no thread has waited for yet
  std::vector<Arrival> arrivals, previous; ///< of this phase, and of the one before it
  // What arrivals released, those of the current phase included, and what the complete phases did.
  Clocks released;
  KnownThreads known;
  Knowledge deviceReleased;
  Known deviceKnown;

  unsigned waitingThreads() const;
  int64_t loadBytes() const;
  bool hasTransfers() const { return expectedBytes || !loads.empty(); }
  /// What is left of the phase is that its bulk copies complete.
  bool isDue() const { return arrived == expected && loadBytes() == expectedBytes; }
  /// `the mbarrier at byte 8 of shared memory, whose phase 3 has 31 of 32 arrivals`.
  std::string describe(uint32_t offset) const;
};

struct Block {
  Machine &machine;
  Rank &rank;
  Dim3 index;
  uint32_t threads;
  std::vector<uint8_t> shared;
  SharedChecks checks;
  uint32_t slot = 0; ///< in DeviceOrder
  std::vector<std::unique_ptr<Warp>> warps;
  std::map<uint32_t, Barrier> barriers;
  std::map<uint32_t, ArrivalBarrier> arrivalBarriers; ///< by the offset in shared memory

  Block(Machine &machine, Rank &rank, Dim3 index, uint32_t slot);
  const Program &program() const { return *rank.program; }
  bool isDone() const;
  std::string name() const;
};

struct Warp {
  Block &block;
  unsigned index;
  std::unique_ptr<uint64_t[]> registers;
  std::unique_ptr<uint8_t[]> local;

  uint32_t pc = 0, active = 0;          ///< the group of lanes that runs
  std::array<uint32_t, warpSize> pcs{}; ///< of the lanes outside the group
  uint32_t live = 0;
  uint32_t atWarpSync = 0, atBarrier = 0; ///< lanes that wait
  uint32_t slices = 0;

  const Range *range = nullptr; ///< the last one hit
  std::array<std::deque<std::vector<AsyncCopy>>, warpSize> copyGroups;
  std::array<std::vector<AsyncCopy>, warpSize> copies; ///< not yet in a group
  std::array<uint64_t, warpSize> copiesBegun{};
  std::array<std::vector<std::vector<BulkStore>>, warpSize> bulkGroups; ///< that are not complete
  std::array<std::vector<BulkStore>, warpSize> bulkStores;              ///< not yet in a group
  std::vector<GroupRead> groupReads;                                    ///< that wgmma may still make
  uint64_t productGroups = 0;                                           ///< that are closed

  unsigned stepsSincePoll = 0;
  uint64_t polledAddress = 0, polledValue = 0; ///< by the last atomic load of device memory

  // Vector clocks for the order of accesses to device memory; null when none is looked at.
  uint32_t deviceClock = 1;
  std::unique_ptr<std::array<LaneOrder, warpSize>> deviceOrder;

  // Vector clocks for the order of accesses to shared memory.
  uint32_t clock = 1;
  std::vector<uint32_t> knownWarps;                                  ///< clock of each warp that is ordered before us
  std::array<std::array<uint32_t, warpSize>, warpSize> knownLanes{}; ///< [us][them] inside the warp
  std::array<KnownThreads, warpSize> knownThreads; ///< by an mbarrier, in other warps beyond knownWarps

  Warp(Block &block, unsigned index);
  uint64_t *reg(uint32_t slot) { return registers.get() + size_t(slot) * warpSize; }
  uint32_t thread(unsigned lane) const { return index * warpSize + lane; }
  std::string name(unsigned lane) const;
  Machine &machine() const { return block.machine; }
  const Program &program() const { return block.program(); }
  /// Writes the group's program counter back to its lanes.
  void save() {
    for (uint32_t rest = active; rest; rest &= rest - 1)
      pcs[std::countr_zero(rest)] = pc;
  }
  bool knows(unsigned lane, uint32_t otherThread, uint32_t otherClock) const {
    uint32_t other = otherThread / warpSize;
    if (other == index)
      return knownLanes[lane][otherThread % warpSize] >= otherClock;
    return knownWarps[other] >= otherClock || (knownThreads[lane] && (*knownThreads[lane])[otherThread] >= otherClock);
  }
  /// Orders everything that `lanes` did before everything they will do.
  void synchronise(uint32_t lanes);
  void synchroniseShared(uint32_t lanes); ///< in shared memory only
  [[noreturn]] void fail(const Op &op, unsigned lane, const std::string &what) const;
};

template <class Body>
inline void eachLane(uint32_t active, Body &&body) {
  if (active == ~0u)
    for (unsigned lane = 0; lane < warpSize; ++lane)
      body(lane);
  else
    for (uint32_t rest = active; rest; rest &= rest - 1)
      body(unsigned(std::countr_zero(rest)));
}

/// The bytes of a checked access. `shared` is set when they lie in shared memory.
struct Place {
  uint8_t *bytes;
  uint32_t offset;
  bool shared;
  bool device = false; ///< device memory, and its order is looked at
};
Place locate(Warp &warp, const Op &op, unsigned lane, uint64_t address, uint64_t sizeBytes, unsigned space,
             uint32_t alignment);
/// Tells the checks of an access, before a write; `values` is what will be there, or null when it is not known yet.
void note(Warp &warp, const Op &op, unsigned lane, const Place &place, uint32_t bytes, Access access,
          const uint8_t *values = nullptr);

/// The copies of a lane that began before now are released with its clock; returns the number of the next one.
uint64_t releaseCopies(Warp &warp, unsigned lane);
/// The data of those of a lane's copies that are in flight and have numbers below `end` land.
void landCopies(Warp &warp, unsigned lane, uint64_t end);

/// The phases that only bulk copies hold up end, if a thread waits for them. Returns whether there were any.
bool completeDuePhases(Block &block);
/// The object for a bulk load that begins; fails where there is none.
ArrivalBarrier &objectOfLoad(Warp &warp, const Op &op, unsigned lane, uint64_t address);
/// The data of a bulk load are there.
void landLoad(const BulkLoad &load);
/// The block ends: its bulk stores complete. Copies that no thread waited for are found.
void endBulkCopies(Block &block);

/// The bytes of a read-modify-write, to be changed and written back. Chips swap four bytes at least, so that an update
/// of one or two is one of the word around them, whose last may lie past the end of a buffer: on a device none ends
/// inside a word. Those are 0, and who changes them is at fault.
class ChangedBytes {
public:
  ChangedBytes(Warp &warp, const Op &op, unsigned lane, uint64_t address, unsigned sizeBytes, unsigned space,
               uint32_t alignment, Access access);
  void writeBack();

  uint8_t bytes[16] = {};

private:
  Warp &warp;
  const Op &op;
  unsigned lane, sizeBytes, space;
  uint64_t address;
  unsigned inside; ///< so many are memory
  Place place;
};

/// Runs `body(lanes)` once all lanes that `maskOf` names are here; until then lanes wait.
template <class MaskOf, class Body>
Flow converge(Warp &warp, const Op &op, MaskOf &&maskOf, Body &&body) {
  uint32_t here = warp.active, done = 0;
  for (uint32_t rest = warp.atWarpSync; rest; rest &= rest - 1)
    if (unsigned lane = std::countr_zero(rest); warp.pcs[lane] == warp.pc)
      here |= 1u << lane;
  for (uint32_t rest = here; rest;) {
    unsigned lane = std::countr_zero(rest);
    uint32_t mask = maskOf(lane), lanes = 0;
    for (uint32_t left = rest; left; left &= left - 1)
      if (unsigned other = std::countr_zero(left); maskOf(other) == mask)
        lanes |= 1u << other;
    rest &= ~lanes;
    if (lanes & ~mask)
      warp.fail(op, std::countr_zero(lanes & ~mask), "the thread is not in its own member mask");
    if (mask & warp.live & ~lanes)
      continue;
    body(lanes);
    done |= lanes;
  }
  if (done == warp.active && here == done)
    return Flow::Next;
  uint32_t pc = warp.pc;
  eachLane(here, [&](unsigned lane) { warp.pcs[lane] = pc + (done >> lane & 1); });
  warp.atWarpSync = (warp.atWarpSync & ~here) | (here & ~done);
  return Flow::Switch;
}

inline uint32_t allLanes(const Warp &warp) {
  return warp.live;
}

} // namespace heddle::threads
