// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What each s_waitcnt waits for, on any path that leads to it, and whether what follows needs that.
//
// Memory operations that may be in flight are kept by age: how many younger ones their counter has. Where paths join,
// an operation is in flight when it is on any of them. A wait for a count n is for all that may be n or more operations
// old. What follows needs an operation when it reads or writes a register into which it loads, or when it is an order
// point: s_barrier (for LDS operations, stores, atomics and loads to LDS), buffer_wbl2, buffer_inv, s_dcache_*,
// s_sendmsg, an atomic, an access of the system's scope, a call (for all); and, in LDS, where one of the two is a load
// to LDS. The end needs loads to LDS and scalar stores. The first instruction on each path that needs anything that a
// wait waits for says which count would have been enough for it; ExactCount.h asks for all that follows. Scalar memory
// operations and flat ones return in any order; what s_setvskip may skip may be in flight or not. Source: LLVM's AMDGPU
// user guide, "Memory Model GFX942"; AMD Instinct MI300 (CDNA3) Instruction Set Architecture, "Data Dependency
// Resolution"; like LLVM, buffer_inv is taken for counted nowhere.
#pragma once
#include "simulator/analysis/ExactCount.h"
#include "simulator/analysis/MachineCode.h"
#include <optional>

namespace heddle::simulator {

/// One counter of one wait.
struct CounterWait {
  bool isVector = false;          ///< vmcnt; else lgkmcnt
  unsigned count = 0;             ///< as many operations may remain
  std::vector<uint32_t> waitsFor; ///< instructions whose operations are over after it, by address; may be empty
  /// The count that the next use needs; none when nothing needs any of them before the counter is waited for again.
  std::optional<unsigned> enough;
  std::optional<uint32_t> user; ///< the instruction that needs this count
  ExactCount exact;             ///< for all that follows
  bool waitsForNothing() const { return waitsFor.empty(); }
  bool waitsTooLong() const { return !waitsFor.empty() && (!enough || *enough > count); }
};

struct Wait {
  uint32_t instruction = 0;
  std::vector<CounterWait> counters; ///< one or two
  bool waitsForNothing() const;      ///< with none of its counters
  bool waitsTooLong() const;         ///< with any of them
  /// Of a wait that is too long, what is known of the counters that are: the first of the classes, in the order of
  /// CountClass.
  CountClass tooLongClass() const;
};

/// By address; an s_waitcnt that waits for neither counter is left out.
std::vector<Wait> analyseWaits(const MachineCode &code);

} // namespace heddle::simulator
