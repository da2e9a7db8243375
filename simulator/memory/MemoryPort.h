// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where waves issue memory operations. The policy says when a request's events happen between its issue and the moment
// a wait forces it; caches and checks belong behind this door, not in the instruction families.
#pragma once
#include "simulator/memory/AddressSpace.h"
#include "simulator/memory/MemoryRequest.h"
#include <deque>
#include <memory>

namespace heddle::simulator {

enum class Policy : uint8_t {
  Earliest, ///< memory and registers change at issue
  Latest, ///< memory is read and changed at issue; registers, and LDS that a load writes, change when a wait forces it
};

inline constexpr unsigned vectorCapacity = 63, localCapacity = 15; ///< of vmcnt and lgkmcnt

/// The requests of one wave that have not landed.
struct PendingRequests {
  struct Entry {
    MemoryRequest request;
    unsigned queuesLeft = 1;
  };
  using Queue = std::deque<std::shared_ptr<Entry>>;
  Queue vector, local, scalar;
};

class MemoryPort {
public:
  MemoryPort(AddressSpace &global, Policy policy) : global(global), policy(policy) {}

  void issue(Wave &wave, MemoryRequest &request) {
    request.sample(wave, request);
    if (!request.land)
      return;
    if (policy == Policy::Earliest)
      request.land(wave, request);
    else
      enqueue(wave, request);
  }
  /// s_waitcnt: at most so many operations may remain. vectorCapacity and localCapacity mean no wait.
  void wait(Wave &wave, unsigned vectorCount, unsigned localCount) {
    if (policy != Policy::Earliest)
      completeUntil(wave, vectorCount, localCount);
  }
  void finish(Wave &wave) { wait(wave, 0, 0); }

  /// The virtual clock: a tick for every instruction of every wave.
  uint64_t now(const Wave &wave) const { return startedTicks + wave.executed; }

  AddressSpace &global;
  uint64_t startedTicks = 0; ///< the machine sets it before a wave's turn

private:
  void enqueue(Wave &wave, const MemoryRequest &request);
  void completeUntil(Wave &wave, unsigned vectorCount, unsigned localCount);

  Policy policy;
};

} // namespace heddle::simulator
