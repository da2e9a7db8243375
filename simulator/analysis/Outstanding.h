// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory operations that may be in flight at a point of the code, and what needs them to be over.
#pragma once
#include "simulator/checks/RegisterUse.h"
#include <cstdint>
#include <set>
#include <vector>

namespace heddle::simulator {

/// What an instruction is to the counters and to the order of memory.
struct Operation {
  enum class Kind : uint8_t { None, Vector, Lds, Scalar, Flat };
  Kind kind = Kind::None;
  bool isVisible = false;    ///< others may see whether it is over: all but loads of global memory into registers
  bool isOrderPoint = false; ///< it comes after all that was issued before it
  bool isBarrier = false;    ///< what others may see comes before it
  bool isTransfer = false;   ///< to an address in a register, or it addresses registers relatively: anything may follow
  bool isUnknown = false;    ///< no table says what it reads and writes beside the operands of its text
  bool isEnd = false;        ///< of the wave
  bool isVector = false;     ///< skipped while VSKIP is set
  bool writesLds = false;    ///< a load to LDS
  RegisterUse use;

  /// It returns in the order of issue of those in the same counter.
  bool isOrdered() const { return kind == Kind::Vector || kind == Kind::Lds; }
  bool countsInVector() const { return kind == Kind::Vector || kind == Kind::Flat; }
  bool countsInLocal() const { return kind == Kind::Lds || kind == Kind::Scalar || kind == Kind::Flat; }
};

Operation operationOf(const Instruction &instruction);

/// Whether `operation` goes wrong while `earlier` is in flight.
bool needs(const Operation &operation, const Operation &earlier);

/// What one counter counts and may be in flight, as numbers of instructions.
class CounterState {
public:
  /// `capacity` is the counter's largest value, which as a count means no wait.
  explicit CounterState(unsigned capacity) : capacity(capacity) {}
  void issue(uint32_t index, bool isOrdered);
  void wait(unsigned count);            ///< no more than `count` remain
  bool join(const CounterState &other); ///< true when it grows
  /// All that a wait for `count` waits for, sorted.
  std::vector<uint32_t> from(unsigned count) const;
  /// The largest count, from `count` on, that waits for the operation; the capacity when none does.
  unsigned countFor(unsigned count, uint32_t index) const;
  /// Those that return in the order of issue, by age: how many ordered ones were issued after them. Those of the last
  /// age are as old or older. While one is in flight, so are all younger ones, whatever else the counter counts: a wait
  /// for n is for all of age n or more.
  const std::vector<std::vector<uint32_t>> &ordered() const { return byAge; }
  /// Those that may return at any time: only a wait for 0 is for them.
  const std::vector<uint32_t> &unordered() const { return loose; }

private:
  unsigned capacity;
  std::vector<std::vector<uint32_t>> byAge; ///< each sorted
  std::vector<uint32_t> loose;              ///< sorted
};

struct Outstanding {
  CounterState vector{63}, local{15};

  /// `mayBeSkipped`: perhaps nothing is issued.
  void issue(uint32_t index, const Operation &operation, bool mayBeSkipped);
  void wait(uint16_t immediate); ///< of s_waitcnt
  bool join(const Outstanding &other);
};

} // namespace heddle::simulator
