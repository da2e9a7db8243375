// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The largest count of a wait, on small kernels: one of each class, and what must not be given up.
#include "simulator/analysis/Waits.h"
#include "simulator/decode/TestAssembler.h"
#include <fmt/format.h>
#include <gmock/gmock.h>

namespace heddle::simulator {
namespace {

using testing::ElementsAre;

/// `vmcnt(0): larger 1 for v_mov_b32`
std::vector<std::string> countsOf(const std::string &text) {
  std::vector<uint8_t> bytes = assemble("gfx942", text + "\ns_endpgm");
  MachineCode code = readMachineCode("gfx942", bytes, 0, 0);
  std::vector<std::string> lines;
  for (const Wait &wait : analyseWaits(code))
    for (const CounterWait &counter : wait.counters) {
      std::string line = fmt::format("{}({}): {}", counter.isVector ? "vmcnt" : "lgkmcnt", counter.count,
                                     infoOf(counter.exact.kind).name);
      if (counter.exact.kind == CountClass::Larger)
        line += fmt::format(" {}", counter.exact.count);
      if (counter.exact.user)
        line += " for " + code.instructions[*counter.exact.user].mnemonic;
      lines.push_back(line);
    }
  return lines;
}

const std::string twoLoads = "global_load_dword v0, v9, s[0:1]\nglobal_load_dword v1, v9, s[0:1]\n";
const std::string twoReads = "ds_read_b32 v0, v9\nds_read_b32 v1, v9\n";

TEST(ExactCount, AnotherWaitIsForTheRest) {
  EXPECT_THAT(countsOf(twoLoads + "s_waitcnt vmcnt(0)\nv_mov_b32 v5, v0\ns_waitcnt vmcnt(0)\nv_mov_b32 v5, v1"),
              ElementsAre("vmcnt(0): larger 1 for v_mov_b32", "vmcnt(0): nothing-in-flight"));
  EXPECT_THAT(countsOf(twoReads + "s_waitcnt lgkmcnt(0)\nv_mov_b32 v5, v0\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v5, v1"),
              ElementsAre("lgkmcnt(0): larger 1 for v_mov_b32", "lgkmcnt(0): nothing-in-flight"));
}

TEST(ExactCount, ALaterUseNeedsTheNewest) {
  EXPECT_THAT(countsOf(twoLoads + "s_waitcnt vmcnt(0)\nv_mov_b32 v5, v0\nv_mov_b32 v5, v1"),
              ElementsAre("vmcnt(0): newest for v_mov_b32"));
  EXPECT_THAT(countsOf(twoLoads + "s_waitcnt vmcnt(0)\nv_mov_b32 v5, v0\ns_waitcnt vmcnt(1)\nv_mov_b32 v1, v5"),
              ElementsAre("vmcnt(0): newest for v_mov_b32", "vmcnt(1): nothing-in-flight"))
      << "what is overwritten counts as used, and the second wait lets one remain";
}

TEST(ExactCount, NoWaitIsNeeded) {
  EXPECT_THAT(countsOf("global_store_dword v0, v1, s[0:1]\ns_waitcnt vmcnt(0)"), ElementsAre("vmcnt(0): unneeded"))
      << "the end of a wave waits";
  EXPECT_THAT(countsOf(twoLoads + "s_waitcnt vmcnt(1)\ns_nop 0\ns_waitcnt vmcnt(0)\nv_add_f32 v5, v0, v1"),
              ElementsAre("vmcnt(1): unneeded", "vmcnt(0): newest for v_add_f32"));
}

TEST(ExactCount, PathsOnWhichTheAgeDiffers) {
  EXPECT_THAT(countsOf(R"(
    global_load_dword v0, v9, s[0:1]
    s_cbranch_scc0 join
    global_load_dword v1, v9, s[0:1]
  join:
    s_waitcnt vmcnt(0)
    v_mov_b32 v5, v0
    s_waitcnt vmcnt(0)
    v_mov_b32 v5, v1)"),
              ElementsAre("vmcnt(0): paths for v_mov_b32", "vmcnt(0): nothing-in-flight"));
}

TEST(ExactCount, OneOfTwoPathsHasNoOtherWait) {
  EXPECT_THAT(countsOf(twoLoads + R"(
    s_waitcnt vmcnt(0)
    v_mov_b32 v5, v0
    s_cbranch_scc0 join
    s_waitcnt vmcnt(0)
  join:
    v_mov_b32 v5, v1)"),
              ElementsAre("vmcnt(0): newest for v_mov_b32", "vmcnt(0): nothing-in-flight"));
}

TEST(ExactCount, ScalarLoadsReturnInAnyOrder) {
  EXPECT_THAT(
      countsOf("s_load_dword s4, s[0:1], 0\n" + twoReads + "s_waitcnt lgkmcnt(0)\nv_mov_b32 v5, v0\nv_mov_b32 v5, s4"),
      ElementsAre("lgkmcnt(0): unordered for v_mov_b32"));
  EXPECT_THAT(countsOf(twoReads + "s_load_dword s4, s[0:1], 0\n" +
                       "s_waitcnt lgkmcnt(0)\nv_mov_b32 v5, v0\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v5, s4"),
              ElementsAre("lgkmcnt(0): larger 1 for v_mov_b32", "lgkmcnt(0): nothing-in-flight"))
      << "while an LDS operation is in flight, so are the younger ones; the scalar load after it may be over";
}

TEST(ExactCount, FlatAccessesReturnInAnyOrder) {
  EXPECT_THAT(countsOf("flat_load_dword v0, v[8:9]\nglobal_load_dword v1, v9, s[0:1]\n"
                       "s_waitcnt vmcnt(0) lgkmcnt(0)\nv_mov_b32 v5, v0"),
              ElementsAre("vmcnt(0): unordered for v_mov_b32", "lgkmcnt(0): unordered for v_mov_b32"));
}

TEST(ExactCount, ScalarStoresReadTheirDataLate) {
  EXPECT_THAT(countsOf("s_store_dword s4, s[0:1], 0\ns_waitcnt lgkmcnt(0)\ns_mov_b32 s4, 0"),
              ElementsAre("lgkmcnt(0): unordered for s_mov_b32"));
  EXPECT_THAT(countsOf("s_store_dword s4, s[0:1], 0\ns_waitcnt lgkmcnt(0)\ns_dcache_wb"),
              ElementsAre("lgkmcnt(0): unordered for s_dcache_wb"));
  EXPECT_THAT(countsOf("s_atomic_inc s4, s[0:1], 0 glc\ns_waitcnt lgkmcnt(0)\ns_mov_b32 s5, s4"),
              ElementsAre("lgkmcnt(0): unordered for s_mov_b32"));
}

TEST(ExactCount, AWaitThatComesAgain) {
  // Of two loads in flight the older one is used: the load of an iteration is over when the wait comes the second time.
  EXPECT_THAT(countsOf(R"(
    global_load_dword v0, v9, s[0:1]
    global_load_dword v1, v9, s[0:1]
  loop:
    s_waitcnt vmcnt(0)
    v_add_f32 v5, v5, v0
    v_mov_b32 v6, v7
    global_load_dword v0, v9, s[0:1]
    s_waitcnt vmcnt(1)
    v_add_f32 v5, v5, v1
    global_load_dword v1, v9, s[0:1]
    s_cbranch_scc0 loop)"),
              ElementsAre("vmcnt(0): larger 1 for v_add_f32", "vmcnt(1): nothing-in-flight"));
}

TEST(ExactCount, BarriersNeedWhatOthersMaySee) {
  EXPECT_THAT(countsOf("ds_write_b32 v8, v9\nds_read_b32 v0, v9\ns_waitcnt lgkmcnt(0)\ns_barrier"),
              ElementsAre("lgkmcnt(0): newest for s_barrier"));
  EXPECT_THAT(countsOf("s_mov_b32 m0, 0\nbuffer_load_dword v0, s[0:3], 0 offen lds\nglobal_load_dword v2, v9, s[0:1]\n"
                       "s_waitcnt vmcnt(0)\ns_barrier\ns_waitcnt vmcnt(0)\nv_mov_b32 v5, v2"),
              ElementsAre("vmcnt(0): larger 1 for s_barrier", "vmcnt(0): nothing-in-flight"));
}

TEST(ExactCount, LoadsToLdsAreInNoOrderWithLds) {
  EXPECT_THAT(countsOf("s_mov_b32 m0, 0\nds_read_b32 v0, v9\nds_read_b32 v1, v9\ns_waitcnt lgkmcnt(0)\n"
                       "buffer_load_dword v8, s[0:3], 0 offen lds"),
              ElementsAre("lgkmcnt(0): newest for buffer_load_dword"));
  EXPECT_THAT(countsOf("s_mov_b32 m0, 0\nbuffer_load_dword v8, s[0:3], 0 offen lds\ns_waitcnt vmcnt(0)"),
              ElementsAre("vmcnt(0): newest for s_endpgm"));
}

TEST(ExactCount, SkippedVectorInstructionsMayNotBeInFlight) {
  std::string use = "s_waitcnt vmcnt(0)\nv_mov_b32 v5, v0\ns_waitcnt vmcnt(0)\nv_mov_b32 v5, v1";
  EXPECT_THAT(countsOf("global_load_dword v0, v9, s[0:1]\ns_setvskip s4, 0\nglobal_load_dword v1, v9, s[0:1]\n"
                       "s_setvskip 0, 0\n" +
                       use),
              ElementsAre("vmcnt(0): paths for v_mov_b32", "vmcnt(0): nothing-in-flight"));
  EXPECT_THAT(countsOf("s_setvskip s4, 0\ns_setvskip 0, 0\n" + twoLoads + use),
              ElementsAre("vmcnt(0): larger 1 for v_mov_b32", "vmcnt(0): nothing-in-flight"));
  EXPECT_THAT(countsOf("s_setreg_b32 hwreg(HW_REG_MODE, 28, 1), s4\n" + twoLoads + use),
              ElementsAre("vmcnt(0): paths for v_mov_b32", "vmcnt(0): nothing-in-flight"));
}

TEST(ExactCount, WhatCannotBeFollowedIsNotKnown) {
  EXPECT_THAT(countsOf(twoLoads + "s_waitcnt vmcnt(0)\nv_mov_b32 v5, v0\ns_setpc_b64 s[30:31]"),
              ElementsAre("vmcnt(0): not-known"));
  EXPECT_THAT(countsOf(twoLoads + "s_waitcnt vmcnt(0)\ns_set_gpr_idx_on s4, gpr_idx(SRC0)\nv_mov_b32 v5, v0"),
              ElementsAre("vmcnt(0): not-known"));
}

} // namespace
} // namespace heddle::simulator
