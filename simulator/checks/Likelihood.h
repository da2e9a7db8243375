// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How likely hardware is to show a finding, by rules that docs/checking.md states: how long the first access takes, how
// long after it the second one comes, and whether one queue serves both.
#pragma once
#include "simulator/memory/MemoryRequest.h"
#include "simulator/state/CheckSet.h"
#include "simulator/state/Severity.h"

namespace heddle::simulator {

/// Estimates of how long an access takes, in cycles. No manual has them.
struct Latency {
  uint32_t least = 0, most = 0;
  const char *what = ""; ///< `an access to LDS`
};
inline constexpr Latency ldsLatency = {64, 1024, "an access to LDS"},
                         vectorLatency = {120, 4096, "an access to memory"},
                         scalarLatency = {64, 4096, "a scalar access to memory"};
Latency latencyOf(const MemoryRequest &request);

/// When a wave was where: instructions that it has issued, and the cycles that they take at least. All waves of a
/// workgroup have the same cycles when a barrier opens.
struct WaveTime {
  uint32_t instructions = 0, cycles = 0;
};
/// Advances with each instruction of a wave.
struct WaveClock {
  WaveTime now, atBarrier;
  uint32_t issue = 0; ///< cycles of the instruction that executes
};
/// Until the next instruction of the wave can issue.
uint32_t issueCyclesOf(const Instruction &instruction);

struct Likelihood {
  enum class Rule : uint8_t {
    Always,     ///< time has no part in it
    Link,       ///< what lies between the devices decides
    Allowed,    ///< the chips do what the code says, which is perhaps not meant
    Unused,     ///< a matter of speed
    SameValue,  ///< both accesses bring the same
    Latency,    ///< the first access has `latency`, and the second one comes so many cycles later
    OneQueue,   ///< the same, but the request queues of LDS rarely change the order of both
    NoBarrier,  ///< two waves that run alike come there so many cycles apart
    NoOrder,    ///< of two workgroups, which have no time in common
    Cache,      ///< they are ordered, but a cache may stand between them
    ScalarCache ///< as Latency, and the scalar cache may have kept the line
  };
  Severity severity = Severity::High;
  Rule rule = Rule::Always;
  bool isMeasured = false;   ///< whether the next two are known
  uint32_t instructions = 0; ///< between the two accesses
  uint32_t cycles = 0;       ///< from the first to the second, at least
  Latency latency = {};      ///< of the first

  /// Of the checks whose findings do not depend on time.
  static Likelihood of(Check check);
  /// `delay`: cycles that the second access itself takes at least before it has any effect.
  static Likelihood after(const Latency &latency, WaveTime apart, uint32_t delay);
  static Likelihood inOneQueue(WaveTime apart);
  static Likelihood withoutBarrier(WaveTime apart);
  static Likelihood of(Rule rule, Severity severity) { return {severity, rule}; }

  std::string reason() const;
  /// Whether hardware shows it more than the other.
  bool isAbove(const Likelihood &other) const {
    return severity != other.severity ? severity > other.severity
                                      : isMeasured && other.isMeasured && cycles < other.cycles;
  }
};

/// From one access of a wave to another, or to now.
WaveTime between(const WaveTime &first, const WaveTime &second);
/// Of two waves of a workgroup, the first of which was at `first` before the last barrier.
WaveTime acrossBarrier(const WaveClock &earlier, const WaveTime &first, const WaveClock &later);
/// The same after it: how far one is ahead of the other there, if they run alike.
WaveTime apartSinceBarrier(const WaveClock &earlier, const WaveTime &first, const WaveClock &later);

} // namespace heddle::simulator
