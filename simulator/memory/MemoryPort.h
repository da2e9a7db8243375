// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where waves issue memory operations. The policy says when a request's events happen between its issue and the moment
// a wait forces it. What keeps this from being stronger than the machine:
//   - requests of one compute unit to the same line are performed in the order of issue, and so are LDS requests of one
//     wave, and those to its scratch;
//   - buffer_wbl2 is performed after all earlier stores of its compute unit, s_dcache_wb after the scalar ones;
//   - results land in the order of issue, queue by queue.
#pragma once
#include "simulator/memory/LinkTraffic.h"
#include "simulator/memory/MemorySystem.h"
#include "simulator/memory/Speculation.h"
#include "simulator/memory/Watcher.h"
#include "simulator/state/Fault.h"
#include <deque>
#include <memory>

namespace heddle::simulator {

enum class Policy : uint8_t {
  Earliest,  ///< everything at issue
  Latest,    ///< everything when a wait forces it; a store's lanes from the last to the first
  Reordered, ///< at issue what carries a scope (flags, locks), and loads to LDS; else as late as Latest
  Random,    ///< anywhere in between, and caches write back and forget at any time
};

inline constexpr unsigned vectorCapacity = 63, localCapacity = 15; ///< of vmcnt and lgkmcnt

/// A request between issue and completion.
struct PendingRequest {
  MemoryRequest request;
  Wave *wave = nullptr;
  bool performed = false, landed = false;
  bool failed = false; ///< it faulted: nothing comes of it any more
  bool isOld = false;  ///< it was in flight at the last call of age()
  unsigned queuesLeft = 1;
  unsigned lineCount = 0; ///< of global memory that it touches
  uint64_t lineBits = 0;  ///< a few bits of each
  uint64_t lines[2 * waveLanes];
};

/// The requests of one wave that no wait has proved to be over.
struct PendingRequests {
  using Queue = std::deque<PendingRequest *>;
  Queue vector, local, scalar;
};

struct PortOptions {
  Policy policy = Policy::Earliest;
  bool direct = true; ///< no caches: memory is what was stored last. Only with Earliest, and without a watcher
  uint64_t seed = 0;
  Watcher *watcher = nullptr;
  Speculation *speculation = nullptr; ///< of the workgroup that runs; its caches play no part
  LinkTraffic *links = nullptr;       ///< null: not counted
};

class MemoryPort {
public:
  MemoryPort(MemorySystem &system, const PortOptions &options);

  void issue(Wave &wave, MemoryRequest &request) {
    if (options.links)
      options.links->count(global, wave.unit->device->index, request);
    if (!isDirect())
      request.isRow = isRowOfLanes(request);
    if (!options.direct)
      return issuePending(wave, request);
    request.sample(wave, request);
    if (request.scope >= Scope::Agent)
      notePoll(wave, request);
    if (request.land)
      request.land(wave, request);
  }
  /// From now on memory is what it says; null: memory itself. Only under Policy::Earliest; a watcher repeats later what
  /// the requests did to memory.
  void speculate(Speculation *speculation) { options.speculation = speculation; }
  /// s_waitcnt: at most so many operations may remain. vectorCapacity and localCapacity mean no wait.
  void wait(Wave &wave, unsigned vectorCount, unsigned localCount) {
    if (!options.direct)
      completeUntil(wave, vectorCount, localCount);
  }
  /// Whether the wave has anything in flight. A wave that has ended may: nothing waits for its stores.
  static bool isBusy(const Wave &wave) {
    return !wave.pending->vector.empty() || !wave.pending->local.empty() || !wave.pending->scalar.empty();
  }
  /// Completes what the wave has in flight.
  void finish(Wave &wave) { wait(wave, 0, 0); }
  /// Forgets what the wave has in flight: its kernel is over.
  void abandon(Wave &wave);
  /// Something that may happen to the requests and caches of a unit at any time; only under Policy::Random.
  void disturb(ComputeUnit &unit);
  /// A wave's end. s_endpgm waits for everything, which takes time: stores to global memory may be in flight still for
  /// other waves, but for those that wait for its end, at a barrier or for its workgroup's LDS.
  void endWave(Wave &wave);
  /// Performs what has been in flight since the last call: nothing stays in flight for ever.
  void age();
  /// Performs all that is in flight: nothing stays in flight for ever. Returns whether a wave may find something else
  /// now: a load that brings what it brought before is no such thing, and who polls several places has one in flight
  /// whenever it is asked.
  bool performAll();
  /// What requests did wrong that happened though their own wave did not ask for it: its instruction is not the one
  /// that executes, and that one is not at fault. In the order of happening; each names its wave. To be asked after
  /// each call of this port, and each instruction that may call it.
  std::vector<Fault> takeFaults() { return std::exchange(faults, {}); }
  bool hasFaults() const { return !faults.empty(); }

  /// What a request of another port did to memory is done here.
  void repeat(Wave &wave, MemoryRequest &request) {
    request.kind == RequestKind::WriteBack || request.kind == RequestKind::Invalidate ? maintain(wave, request)
                                                                                      : request.sample(wave, request);
  }

  // For the events of requests, at global addresses:

  /// Whether memory is accessed where it lies.
  bool isDirect() const { return options.direct && !options.speculation; }
  Speculation *speculation() const { return options.speculation; }
  void read(Wave &wave, const MemoryRequest &request, uint64_t address, unsigned size, void *out) {
    if (options.speculation) {
      if (request.isScalar() && options.watcher && options.speculation->hasWritten(address, size))
        throw Fault("reads through the scalar cache what it has written, which needs its turn");
      return options.speculation->read(address, size, out);
    }
    request.isScalar() ? system.readScalar(*wave.unit, request.scope, address, size, out)
                       : system.read(*wave.unit, request.scope, address, size, out);
  }
  void write(Wave &wave, const MemoryRequest &request, uint64_t address, unsigned size, const void *in) {
    if (options.speculation && options.watcher && request.isScalar())
      throw Fault("stores through the scalar cache, which needs its turn");
    if (options.speculation)
      return options.speculation->write(address, size, in);
    request.isScalar() ? system.writeScalar(*wave.unit, request.scope, address, size, in)
                       : system.write(*wave.unit, request.scope, address, size, in);
  }
  /// s_dcache_wb and s_dcache_inv.
  void tellScalarCache(Wave &wave, RequestKind kind) {
    if (options.direct)
      return;
    kind == RequestKind::ScalarWriteBack ? system.writeBackScalar(*wave.unit) : system.invalidateScalar(*wave.unit);
  }
  uint8_t *change(Wave &wave, const MemoryRequest &request, uint64_t address, unsigned size) {
    if (options.speculation)
      throw Fault("changes memory, which needs its turn");
    return options.direct ? global.toChange(address, size) : system.change(*wave.unit, request.scope, address, size);
  }
  /// Not where memory is accessed directly.
  uint8_t *change(Wave &wave, const MemoryRequest &request, uint64_t address, unsigned size, const ByteMask &others) {
    if (options.speculation)
      throw Fault("changes memory, which needs its turn");
    return system.change(*wave.unit, request.scope, address, size, others);
  }

  /// The virtual clock: a tick for every instruction of every wave, and what was skipped while all waited.
  uint64_t now(Wave &wave) const {
    if (options.speculation)
      throw Fault("reads the clock, which needs its turn");
    wave.polls.readsClock = true;
    return startedTicks + skippedTicks + wave.executed;
  }

  AddressSpace &global;
  MemorySystem &system;
  uint64_t startedTicks = 0; ///< the machine sets it before a wave's turn
  uint64_t skippedTicks = 0;

private:
  void issuePending(Wave &wave, MemoryRequest &request);
  void completeUntil(Wave &wave, unsigned vectorCount, unsigned localCount);
  void shrink(PendingRequests::Queue &queue, size_t most);
  void complete(PendingRequest &pending);
  void perform(PendingRequest &pending);
  void maintain(Wave &wave, const MemoryRequest &request);
  void performEarlier(PendingRequest &pending);
  void keepIssued(PendingRequest &pending);
  void noteIssuing(ComputeUnit &unit);
  std::vector<ComputeUnit *> takeIssuing(Device &device);
  template <typename Action>
  bool apart(Action action);
  void land(PendingRequest &pending);
  void landSome(PendingRequests::Queue &queue);
  void landUpTo(PendingRequest &pending);
  bool landsAtIssue(const MemoryRequest &request);
  void listLines(PendingRequest &pending) const;
  bool performsAtIssue(const MemoryRequest &request);
  void forget(ComputeUnit &unit, PendingRequest &pending);
  static void notePoll(Wave &wave, const MemoryRequest &request);
  PendingRequest &make();

  PortOptions options;
  std::mt19937_64 random;
  unsigned storesAtIssue = 0, loadsAtIssue = 0, disturbance = 0; ///< of Policy::Random: chances in eighths
  std::vector<std::unique_ptr<PendingRequest>> made;
  std::vector<PendingRequest *> spare;
  std::vector<Fault> faults;
};

} // namespace heddle::simulator
