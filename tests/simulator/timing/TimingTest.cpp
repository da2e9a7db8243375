// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The estimate of time of whole kernels ranks what is published, and reaches the peak of the matrix units.
#include "simulator/timing/Timing.h"
#include "simulator/Simulator.h"
#include "simulator/timing/TestPeaks.h"
#include "support/File.h"
#include "support/TestPaths.h"
#include "tests/simulator/AssembledObject.h"
#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace heddle::simulator {
namespace {

class ChipTiming : public testing::TestWithParam<const char *> {
protected:
  const Chip &chip() const { return lookupChip(GetParam()); }

  AmdCodeObject rankings() const {
    std::string name = fmt::format("timing/rankings-{}.hsaco", GetParam());
    return parseAmdCodeObject(readFile(buildPath("test/simulator/" + name)), name);
  }
};

struct Buffers {
  std::vector<uint64_t> sizes; ///< in bytes, of the arguments that are pointers
  uint32_t number = 0;         ///< the last argument
};

TimingReport time(const AmdCodeObject &object, const std::string &kernel, const Buffers &buffers, uint32_t groups,
                  TimingOptions options = {}) {
  Simulator simulator(object);
  std::string arguments;
  for (uint64_t size : buffers.sizes) {
    uint64_t address = simulator.allocate(size, "buffer");
    arguments.append(reinterpret_cast<const char *>(&address), 8);
  }
  arguments.append(reinterpret_cast<const char *>(&buffers.number), 4);
  arguments.resize(std::max<size_t>(arguments.size(), object.kernel(kernel).declaredKernargBytes));
  options.launchGroups = std::max<uint64_t>(options.launchGroups, groups);
  Timing timing(lookupChip(object.chip), options);
  SimulationOptions run;
  run.observer = &timing;
  simulator.launch(object.kernel(kernel), {.groups = {groups}, .items = {256}}, arguments, run);
  return timing.report();
}

// ---- The peak of the matrix units ----

/// A loop of an instruction on registers alone, with four sums.
std::string matrixLoop(const char *mnemonic, unsigned words, unsigned operandWords, const char *modifiers) {
  std::string text = "s_movk_i32 s8, 8\nLOOP:\n";
  for (unsigned i = 0; i < 64; ++i)
    text += fmt::format("{0} a[{1}:{2}], v[0:{3}], v[{4}:{5}], a[{1}:{2}] {6}\n", mnemonic, i % 4 * words,
                        i % 4 * words + words - 1, operandWords - 1, operandWords, 2 * operandWords - 1, modifiers);
  return text + "s_sub_u32 s8, s8, 1\ns_cmp_lg_u32 s8, 0\ns_cbranch_scc1 LOOP\ns_endpgm\n";
}

struct PeakCase {
  const char *mnemonic;
  unsigned words, operandWords;
  const char *modifiers, *peak;
};

const PeakCase cdna3[] = {
    {"v_mfma_f32_32x32x8_f16", 16, 2, "", "f16"},     {"v_mfma_f32_16x16x16_f16", 4, 2, "", "f16"},
    {"v_mfma_f32_32x32x8_bf16", 16, 2, "", "bf16"},   {"v_mfma_f32_32x32x16_fp8_fp8", 16, 2, "", "fp8"},
    {"v_mfma_f32_16x16x32_fp8_fp8", 4, 2, "", "fp8"}, {"v_mfma_i32_32x32x16_i8", 16, 2, "", "i8"},
    {"v_mfma_f32_32x32x4_xf32", 16, 2, "", "tf32"},   {"v_mfma_f64_16x16x4_f64", 8, 2, "", "f64"},
};
const PeakCase cdna4[] = {
    {"v_mfma_f32_32x32x16_f16", 16, 4, "", "f16"},
    {"v_mfma_f32_16x16x32_bf16", 4, 4, "", "bf16"},
    {"v_mfma_i32_32x32x32_i8", 16, 4, "", "i8"},
    {"v_mfma_f32_32x32x64_f8f6f4", 16, 8, "", "fp8"},
    {"v_mfma_f32_16x16x128_f8f6f4", 4, 4, "cbsz:4 blgp:4", "fp4"},
    {"v_mfma_f64_16x16x4_f64", 8, 2, "", "f64"},
};

TEST_P(ChipTiming, MatrixLoopsReachThePeak) {
  for (const PeakCase &each : chip().simulated == InstructionSet::Cdna4 ? std::span<const PeakCase>(cdna4) : cdna3) {
    SCOPED_TRACE(each.mnemonic);
    AmdCodeObject object = assembledObject(GetParam(), "loop",
                                           matrixLoop(each.mnemonic, each.words, each.operandWords, each.modifiers), 8);
    TimingReport report = time(object, "loop", {}, 1, {.launchGroups = uint64_t(chip().computeUnits)});
    double peak = matrixPeak(chip(), each.peak);
    EXPECT_GT(report.matrixOperationsPerSecond, 0.95 * peak);
    EXPECT_LT(report.matrixOperationsPerSecond, 1.01 * peak);
  }
}

TEST_P(ChipTiming, CompiledMatrixLoopReachesThePeak) {
  TimingReport report =
      time(rankings(), "matrix_peak", {{1024}, 256}, 1, {.launchGroups = uint64_t(chip().computeUnits)});
  EXPECT_GT(report.matrixOperationsPerSecond, 0.95 * matrixPeak(chip(), "f16"));
  EXPECT_GT(report.shares[unsigned(Bound::Matrix)], 0.95);
}

// ---- Rankings ----

TEST_P(ChipTiming, WideCopiesAreFaster) {
  uint32_t groups = uint32_t(chip().computeUnits), numbers = 4096;
  Buffers buffers{{4ull * numbers * groups, 4ull * numbers * groups}, numbers};
  TimingReport narrow = time(rankings(), "copy32", buffers, groups),
               wide = time(rankings(), "copy128", buffers, groups);
  EXPECT_LT(wide.cycles, 0.8 * narrow.cycles);
  EXPECT_EQ(wide.traffic.written, narrow.traffic.written);
  EXPECT_EQ(wide.traffic.written * lineBytes, buffers.sizes[0]);
}

TEST_P(ChipTiming, WideCopiesToLdsAreFaster) {
  const std::vector<int> &bits = chip().sharedCopies.laneBits;
  if (std::find(bits.begin(), bits.end(), 128) == bits.end())
    return; // it has none
  Buffers buffers{{16 * 16384}, 16};
  TimingReport narrow = time(rankings(), "to_lds32", buffers, 1), wide = time(rankings(), "to_lds128", buffers, 1);
  EXPECT_LT(wide.cycles, 0.85 * narrow.cycles);
  EXPECT_EQ(wide.unit.ldsBusy, 16u * 16384 / 128);
  EXPECT_EQ(narrow.unit.ldsBusy, wide.unit.ldsBusy);
}

/// Where all compute units copy, memory is the bound, however they do it.
TEST_P(ChipTiming, CopiesOfTheWholeChipReachTheRateOfMemory) {
  uint32_t groups = uint32_t(chip().computeUnits) * 2, numbers = 16384;
  Buffers buffers{{4ull * numbers * groups, 4ull * numbers * groups}, numbers};
  TimingReport report = time(rankings(), "copy128", buffers, groups, {.residentGroups = 2});
  double bytesPerSecond = double(2 * buffers.sizes[0]) / report.seconds, peak = timingOf(chip()).memoryBytesPerSecond;
  EXPECT_GT(bytesPerSecond, 0.6 * peak);
  EXPECT_LT(bytesPerSecond, 0.85 * peak);
}

TEST_P(ChipTiming, BankConflictsTakeTime) {
  auto read = [&](const char *kernel) { return time(rankings(), kernel, {{4096}, 64}, 1); };
  TimingReport plain = read("lds_plain"), padded = read("lds_padded"), swizzled = read("lds_swizzled");
  EXPECT_LT(padded.ldsConflictCycles, plain.ldsConflictCycles / 2);
  EXPECT_LT(swizzled.ldsConflictCycles, plain.ldsConflictCycles / 2);
  EXPECT_LT(padded.cycles, 0.7 * plain.cycles);
  EXPECT_LT(swizzled.cycles, 0.7 * plain.cycles);
  EXPECT_GT(plain.shares[unsigned(Bound::Lds)], 0.5);
}

// ---- What is extrapolated ----

TEST_P(ChipTiming, MoreWorkgroupsTakeMoreTime) {
  uint32_t groups = uint32_t(chip().computeUnits);
  auto cycles = [&](uint32_t perUnit, unsigned timed) {
    Buffers buffers{{1024ull * groups * perUnit}, 2};
    return time(rankings(), "matrix_peak", buffers, groups * perUnit, {.groups = timed});
  };
  TimingReport one = cycles(1, 0), all = cycles(3, 3), some = cycles(3, 1);
  EXPECT_EQ(all.timedGroups, 3u);
  EXPECT_EQ(some.timedGroups, 1u);
  EXPECT_NEAR(some.cycles, 3 * one.cycles, 1);
  EXPECT_NEAR(all.cycles / some.cycles, 1, 0.5); // the next one begins while stores are in flight
}

TEST_P(ChipTiming, WhatIsNotKeptIsExtrapolated) {
  auto run = [&](uint64_t most) { return time(rankings(), "matrix_peak", {{1024}, 128}, 1, {.mostOperations = most}); };
  TimingReport all = run(1 << 24), some = run(2000);
  EXPECT_EQ(all.untimed, 0u);
  EXPECT_GT(some.untimed, 0u);
  EXPECT_NEAR(some.cycles / all.cycles, 1, 0.2);
}

TEST_P(ChipTiming, SharesAddUp) {
  TimingReport report = time(rankings(), "lds_plain", {{4096}, 8}, 1);
  double sum = 0;
  for (double share : report.shares)
    sum += share;
  EXPECT_NEAR(sum, 1, 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Chips, ChipTiming, testing::Values("gfx942", "gfx950"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
} // namespace heddle::simulator
