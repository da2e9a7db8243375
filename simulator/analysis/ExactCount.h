// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The largest count that one counter of a wait could have: with it, on every path, all operations for which the wait as
// it is waits are over before anything needs them, be it by this wait, when it comes again too, or by a later one. The
// others stay as they are. See Waits.h for what needs an operation.
#pragma once
#include "simulator/analysis/MachineCode.h"
#include "simulator/analysis/Outstanding.h"
#include <optional>
#include <span>

namespace heddle::simulator {

/// What is known of the largest count.
enum class CountClass : uint8_t {
  NothingInFlight, ///< the wait never waits
  Larger,          ///< it is larger than the one that is there
  Unneeded,        ///< no wait is needed: other waits come before all that needs something
  Newest,          ///< it is the one that is there: something needs the newest operation that it waits for
  Paths,           ///< likewise; on another path that operation is older, and a larger count would do
  Unordered,       ///< it is 0: something needs an operation that may return at any time
  NotKnown,        ///< the code goes where the analysis cannot follow
};
inline constexpr unsigned countClassCount = 7;
struct CountClassInfo {
  const char *name; ///< `larger`
  const char *what;
};
const CountClassInfo &infoOf(CountClass kind);

struct ExactCount {
  CountClass kind = CountClass::NotKnown;
  unsigned count = 0;           ///< if there is one: not for NothingInFlight, Unneeded and NotKnown
  std::optional<uint32_t> user; ///< the instruction that needs it
};

/// A counter of a wait: in one of the two, and with what may be in flight where it stands.
struct CounterSite {
  uint32_t wait = 0;
  bool isVector = false;
  unsigned count = 0;
  const CounterState *before = nullptr;
};

class ExactCounts {
public:
  /// By instruction: what it is, and whether it may be skipped. All must outlive this.
  ExactCounts(const MachineCode &code, std::span<const Operation> operations, const std::vector<bool> &maySkip);

  ExactCount find(const CounterSite &site);

private:
  /// After a wait, on the worst path: what it may have left in flight, of what was in flight before it.
  struct Rest {
    unsigned issued = 0; ///< at least so many ordered operations since
    unsigned limit = 0;  ///< those that were so old before it, or older, are over
    bool loose = false;  ///< unordered ones, for which the wait is, may be left
    bool operator==(const Rest &) const = default;
    /// Nothing is left for which the wait is.
    bool isOver(const CounterSite &site) const { return limit <= site.count && !loose; }
    bool join(const Rest &other);
  };
  /// Something that needs an operation that was `age` old.
  struct Need {
    unsigned age = 0;
    bool isLoose = false;
    uint32_t user = 0, operation = 0;
  };
  void prepare(const CounterSite &site);
  /// The need that allows the smallest count, when the wait has `count`.
  std::optional<Need> findNeed(const CounterSite &site, unsigned count);
  void step(const CounterSite &site, unsigned count, uint32_t index, Rest &rest) const;
  std::optional<Need> needOf(const CounterSite &site, uint32_t index, const Rest &rest) const;

  const MachineCode &code;
  std::span<const Operation> operations;
  const std::vector<bool> &maySkip;
  bool isKnown = true;
  RegisterSet loaded;        ///< into which the operations load that the wait waits for
  bool loadsLds = false;     ///< or whether they load to LDS
  bool isLds = false;        ///< or access it
  std::vector<Rest> entries; ///< by block
  std::vector<bool> isReached;
};

} // namespace heddle::simulator
