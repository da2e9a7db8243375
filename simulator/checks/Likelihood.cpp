// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The assumed latencies and issue cycles, and the severities that follow from the time between two accesses.
#include "simulator/checks/Likelihood.h"
#include "support/Error.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle::simulator {

const char *nameOf(Severity severity) {
  return severity == Severity::High ? "high" : severity == Severity::Medium ? "medium" : "low";
}

Severity parseSeverity(const std::string &option, const std::string &text) {
  for (Severity severity : {Severity::Low, Severity::Medium, Severity::High})
    if (text == nameOf(severity))
      return severity;
  throw inputError(fmt::format("`{} {}`: no severity", option, text),
                   {"the severities are `low`, `medium` and `high`"});
}

Latency latencyOf(const MemoryRequest &request) {
  return request.isScalar() ? scalarLatency : request.queues & MemoryRequest::Vector ? vectorLatency : ldsLatency;
}

// ---- Time ----

/// Of a matrix instruction, by its tile. Those of 32-bit floats take twice as long, and of 64-bit ones too.
static uint32_t matrixCycles(const std::string &name) {
  bool isWide = name.ends_with("f32") || name.ends_with("f64");
  uint32_t cycles = name.find("_32x32x") != std::string::npos ? 32 : name.find("_16x16x") != std::string::npos ? 16 : 8;
  return isWide ? 2 * cycles : cycles;
}

uint32_t issueCyclesOf(const Instruction &instruction) {
  constexpr uint32_t usual = 4; // a SIMD issues for each of its waves at most every fourth cycle
  const std::string &name = instruction.mnemonic;
  if (name == "s_nop")
    return std::max<uint32_t>(usual, (instruction.immediate & 15) + 1);
  if (name == "s_sleep")
    return std::max<uint32_t>(usual, 64 * std::max(instruction.immediate & 127, 1) - 64);
  if (name.starts_with("v_mfma_") || name.starts_with("v_smfmac_"))
    return matrixCycles(name);
  for (const char *slow : {"v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_"})
    if (name.starts_with(slow))
      return 4 * usual;
  return usual;
}

WaveTime between(const WaveTime &first, const WaveTime &second) {
  return {second.instructions - first.instructions - 1, second.cycles - first.cycles};
}

WaveTime acrossBarrier(const WaveClock &earlier, const WaveTime &first, const WaveClock &later) {
  return {earlier.atBarrier.instructions - first.instructions - 1 + later.now.instructions -
              later.atBarrier.instructions - 1,
          later.now.cycles - first.cycles};
}

WaveTime apartSinceBarrier(const WaveClock &earlier, const WaveTime &first, const WaveClock &later) {
  auto distance = [](uint32_t a, uint32_t b) { return a > b ? a - b : b - a; };
  return {distance(first.instructions - earlier.atBarrier.instructions,
                   later.now.instructions - later.atBarrier.instructions),
          distance(first.cycles - earlier.atBarrier.cycles, later.now.cycles - later.atBarrier.cycles)};
}

// ---- Rules ----

Likelihood Likelihood::of(Check check) {
  switch (check) {
  case Check::MisalignedSlow:
    return of(Rule::Unused, Severity::Low);
  case Check::LdsSameValue:
  case Check::GlobalSameValue:
    return of(Rule::SameValue, Severity::Low);
  case Check::LostUpdate:
    return of(Rule::Link, Severity::Medium);
  case Check::BarrierExit:
    return of(Rule::Allowed, Severity::Low);
  default:
    return of(Rule::Always, Severity::High);
  }
}

Likelihood Likelihood::after(const Latency &latency, WaveTime apart, uint32_t delay) {
  uint32_t effect = apart.cycles + delay;
  Severity severity = effect < latency.least  ? Severity::High
                      : effect < latency.most ? Severity::Medium
                                              : Severity::Low;
  return {severity, Rule::Latency, true, apart.instructions, effect, latency};
}

Likelihood Likelihood::inOneQueue(WaveTime apart) {
  Severity severity = apart.cycles < ldsLatency.least ? Severity::Medium : Severity::Low;
  return {severity, Rule::OneQueue, true, apart.instructions, apart.cycles, ldsLatency};
}

Likelihood Likelihood::withoutBarrier(WaveTime apart) {
  Severity severity = apart.cycles < vectorLatency.least  ? Severity::High
                      : apart.cycles < vectorLatency.most ? Severity::Medium
                                                          : Severity::Low;
  return {severity, Rule::NoBarrier, true, apart.instructions, apart.cycles, vectorLatency};
}

std::string Likelihood::reason() const {
  std::string apart =
      fmt::format("about {} cycles and {} instruction{}", cycles, instructions, instructions == 1 ? "" : "s");
  switch (rule) {
  case Rule::Always:
    return "it does not depend on time";
  case Rule::Link:
    return "it depends on the link between the devices: PCIe has no such operation";
  case Rule::Allowed:
    return "the chips allow it; whether it is meant only the kernel's author knows";
  case Rule::Unused:
    return "the result is right, and takes longer";
  case Rule::SameValue:
    return "every order has the same result";
  case Rule::Latency:
  case Rule::ScalarCache: {
    std::string cache = rule == Rule::ScalarCache ? "; the scalar cache may hold an older line at any time" : "";
    if (cycles < latency.least)
      return fmt::format("{} after {}, which takes at least {} cycles{}", apart, latency.what, latency.least, cache);
    if (cycles < latency.most)
      return fmt::format("{} after {}, which takes {} to {} cycles{}", apart, latency.what, latency.least, latency.most,
                         cache);
    return fmt::format("{} after {}, which hardly takes more than {} cycles{}", apart, latency.what, latency.most,
                       cache);
  }
  case Rule::OneQueue:
    return fmt::format(
        "{} and a barrier are between them, and the request queues of LDS rarely change the order of two "
        "operations that far apart",
        apart);
  case Rule::NoBarrier:
    return isMeasured ? fmt::format("{} apart in waves that run alike; one access to memory may hold a wave back for "
                                    "{} cycles",
                                    apart, latency.most)
                      : "no barrier holds one wave back for the other";
  case Rule::NoOrder:
    return "workgroups run at any time, and nothing makes one wait for the other";
  case Rule::Cache:
    return "the two are in order, but a cache between them may have kept an old line or not yet written back";
  }
  return "";
}

} // namespace heddle::simulator
