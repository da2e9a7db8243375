// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who is told of everything that happens to registers, LDS and memory, to check it. All functions are called in the
// order in which the simulated machine does things; none may change what it does. Who does not care leaves one out.
#pragma once
#include "simulator/memory/MemoryRequest.h"
#include <memory>

namespace heddle::simulator {

struct Device;
class MemorySystem;

/// What a watcher has recorded of a workgroup that ran apart from the others.
class RecordedGroup {
public:
  virtual ~RecordedGroup() = default;
};

class Watcher {
public:
  virtual ~Watcher() = default;

  /// Waves of a workgroup begin together, before their first instruction; registers and LDS are as the launch made
  /// them.
  virtual void groupBegins(Workgroup &) {}
  /// All its waves have ended.
  virtual void groupEnds(Workgroup &) {}
  virtual void waveEnds(Wave &) {}
  /// Before and after every instruction. `wave.current` is it, `wave.pc` already after it.
  virtual void beforeInstruction(Wave &, const Instruction &) {}
  virtual void afterInstruction(Wave &, const Instruction &) {}

  // The life of a memory request, in this order; addresses and data to store are known from the first on.

  virtual void issued(Wave &, MemoryRequest &) {}
  /// Memory was read or changed: the loaded values are in the request, and memory has what was stored.
  virtual void performed(Wave &, MemoryRequest &) {}
  /// Registers, or LDS of a load to LDS, have the result.
  virtual void landed(Wave &, MemoryRequest &) {}
  /// A wait, a full counter, or the end of the wave proved that it is over; the counter no longer counts it.
  virtual void completed(Wave &, MemoryRequest &) {}

  /// All waves that have not ended are at the barrier; `someEnded` when others of the group have ended.
  virtual void barrierOpens(Workgroup &, bool /*someEnded*/) {}
  /// A launch begins or ends on a device: everything before is visible to everything after.
  virtual void kernelBegins(Device &) {}
  virtual void kernelEnds(Device &) {}

  // Workgroups on several threads (Together):

  /// Whether it can watch workgroups that run apart, each as if it were alone.
  virtual bool canWatchApart() const { return false; }
  /// Watches workgroups that run so on one thread, and sees memory as `view`.
  virtual std::unique_ptr<Watcher> makeApart(MemorySystem & /*view*/) { return nullptr; }
  /// Of that one: the workgroup that has just ended.
  virtual std::unique_ptr<RecordedGroup> takeRecord() { return nullptr; }
  /// The turn of that workgroup: repeats what it did to memory, and watches that. Registers of `group` are not set.
  virtual void repeat(Workgroup & /*group*/, const RecordedGroup &) {}
};

} // namespace heddle::simulator
