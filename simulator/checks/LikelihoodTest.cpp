// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The severities of findings, by the rules of docs/checking.md.
#include "simulator/checks/Likelihood.h"
#include "support/Error.h"
#include <gtest/gtest.h>

namespace heddle::simulator {
namespace {

Severity after(const Latency &latency, uint32_t cycles, uint32_t delay = 0) {
  return Likelihood::after(latency, {cycles / 4, cycles}, delay).severity;
}

TEST(Likelihood, OfAMissingWait) {
  EXPECT_EQ(after(ldsLatency, 0), Severity::High);
  EXPECT_EQ(after(ldsLatency, ldsLatency.least - 1), Severity::High);
  EXPECT_EQ(after(ldsLatency, ldsLatency.least), Severity::Medium);
  EXPECT_EQ(after(ldsLatency, ldsLatency.most - 1), Severity::Medium);
  EXPECT_EQ(after(ldsLatency, ldsLatency.most), Severity::Low);
  EXPECT_EQ(after(vectorLatency, ldsLatency.most), Severity::Medium);
  EXPECT_EQ(after(ldsLatency, 0, vectorLatency.least), Severity::Medium) << "the second access takes its time too";
}

TEST(Likelihood, OfTwoWaves) {
  EXPECT_EQ(Likelihood::inOneQueue({1, 4}).severity, Severity::Medium);
  EXPECT_EQ(Likelihood::inOneQueue({100, 400}).severity, Severity::Low);
  EXPECT_EQ(Likelihood::withoutBarrier({20, 80}).severity, Severity::High);
  EXPECT_EQ(Likelihood::withoutBarrier({100, 400}).severity, Severity::Medium);
  EXPECT_EQ(Likelihood::withoutBarrier({10000, 40000}).severity, Severity::Low);
}

TEST(Likelihood, OfChecksWithoutTime) {
  EXPECT_EQ(Likelihood::of(Check::Uninitialised).severity, Severity::High);
  EXPECT_EQ(Likelihood::of(Check::LostUpdate).severity, Severity::Medium);
  EXPECT_EQ(Likelihood::of(Check::BarrierExit).severity, Severity::Low);
  EXPECT_EQ(Likelihood::of(Check::LdsSameValue).severity, Severity::Low);
  EXPECT_EQ(Likelihood::of(Check::GlobalSameValue).severity, Severity::Low);
  EXPECT_EQ(Likelihood::of(Check::MisalignedSlow).severity, Severity::Low);
}

TEST(Likelihood, TheMostLikelyOneStands) {
  Likelihood near = Likelihood::after(vectorLatency, {1, 4}, 0), far = Likelihood::after(vectorLatency, {20, 80}, 0),
             late = Likelihood::after(vectorLatency, {1000, 4000}, 0);
  EXPECT_TRUE(near.isAbove(far));
  EXPECT_FALSE(far.isAbove(near));
  EXPECT_TRUE(far.isAbove(late));
  EXPECT_EQ(near.reason(),
            "about 4 cycles and 1 instruction after an access to memory, which takes at least 120 cycles");
  EXPECT_EQ(late.reason(),
            "about 4000 cycles and 1000 instructions after an access to memory, which takes 120 to 4096 cycles");
}

TEST(Likelihood, NamesOfSeverities) {
  for (Severity severity : {Severity::Low, Severity::Medium, Severity::High})
    EXPECT_EQ(parseSeverity("--min-severity", nameOf(severity)), severity);
  EXPECT_THROW(parseSeverity("--min-severity", "urgent"), Error);
}

} // namespace
} // namespace heddle::simulator
