// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small programs: their blocks and loops, what each wait waits for, and which waits are too long.
#include "simulator/analysis/Waits.h"
#include "simulator/decode/TestAssembler.h"
#include <fmt/format.h>
#include <gmock/gmock.h>

namespace heddle::simulator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

MachineCode codeOf(const std::string &text) {
  std::vector<uint8_t> bytes = assemble("gfx942", text);
  return readMachineCode("gfx942", bytes, 0, 0);
}

/// `vmcnt(0) <- global_load_dword global_store_dword, enough 1 for v_mov_b32`
std::vector<std::string> waitsOf(const std::string &text) {
  MachineCode code = codeOf(text);
  std::vector<std::string> lines;
  for (const Wait &wait : analyseWaits(code))
    for (const CounterWait &counter : wait.counters) {
      std::string line = fmt::format("{}({}) <-", counter.isVector ? "vmcnt" : "lgkmcnt", counter.count);
      for (uint32_t index : counter.waitsFor)
        line += " " + code.instructions[index].mnemonic;
      if (counter.enough)
        line += fmt::format(", enough {} for {}", *counter.enough, code.instructions[*counter.user].mnemonic);
      lines.push_back(line + (counter.waitsTooLong() ? ", too long" : ""));
    }
  return lines;
}

TEST(MachineCode, BlocksAndLoops) {
  MachineCode code = codeOf(R"(
    s_mov_b32 s0, 4
  loop:
    s_sub_u32 s0, s0, 1
    s_cmp_eq_u32 s0, 0
    s_cbranch_scc0 loop
    s_cbranch_execz end
    s_nop 0
  end:
    s_endpgm
    s_nop 1
  )");
  EXPECT_TRUE(code.isComplete);
  EXPECT_EQ(code.instructions.size(), 7u) << "what cannot be reached is left out";
  std::vector<bool> loops;
  for (const CodeBlock &block : code.blocks)
    loops.push_back(block.isInLoop);
  EXPECT_THAT(loops, ElementsAre(false, true, false, false, false));
  EXPECT_THAT(code.blocks[1].next, testing::UnorderedElementsAre(1, 2));
  EXPECT_EQ(code.blockOf(3), 1u);
}

TEST(MachineCode, WhatCannotBeFollowedIsSaid) {
  EXPECT_FALSE(codeOf("s_setpc_b64 s[30:31]").isComplete);
  EXPECT_FALSE(codeOf("s_nop 0").isComplete) << "it runs out of the code";
  EXPECT_FALSE(codeOf(".long 0xffffffff\ns_endpgm").isComplete);
}

TEST(MachineCode, Classes) {
  MachineCode code = codeOf("v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]\nscratch_load_dword v0, off, off\n"
                            "s_load_dword s0, s[0:1], 0\nds_read_b32 v0, v0\nglobal_load_dword v0, v0, s[0:1]\n"
                            "s_add_u32 s0, s0, s0\nv_add_f32 v0, v0, v0\ns_barrier\ns_waitcnt 0\ns_endpgm");
  std::vector<std::string> names;
  for (const Instruction &instruction : code.instructions)
    names.push_back(nameOf(classOf(instruction)));
  EXPECT_THAT(names, ElementsAre("matrix", "scratch", "scalar memory", "LDS", "vector memory", "scalar", "vector",
                                 "barrier", "wait", "branch"));
}

TEST(Waits, TheOldestOfTwoLoads) {
  std::string loads = "global_load_dword v0, v9, s[0:1]\nglobal_load_dwordx2 v[2:3], v9, s[0:1]\n";
  EXPECT_THAT(waitsOf(loads + "s_waitcnt vmcnt(1)\nv_mov_b32 v5, v0\ns_endpgm"),
              ElementsAre("vmcnt(1) <- global_load_dword, enough 1 for v_mov_b32"));
  EXPECT_THAT(waitsOf(loads + "s_waitcnt vmcnt(0)\nv_mov_b32 v5, v0\ns_endpgm"),
              ElementsAre("vmcnt(0) <- global_load_dword global_load_dwordx2, enough 1 for v_mov_b32, too long"));
  EXPECT_THAT(waitsOf(loads + "s_waitcnt vmcnt(0)\nv_mov_b32 v3, v7\ns_endpgm"),
              ElementsAre("vmcnt(0) <- global_load_dword global_load_dwordx2, enough 0 for v_mov_b32"))
      << "what is overwritten counts as used";
}

TEST(Waits, ThatNothingNeeds) {
  EXPECT_THAT(waitsOf("global_store_dword v0, v1, s[0:1]\ns_waitcnt vmcnt(0)\ns_endpgm"),
              ElementsAre("vmcnt(0) <- global_store_dword, too long"));
  EXPECT_THAT(waitsOf("s_waitcnt vmcnt(0) lgkmcnt(0)\ns_endpgm"), ElementsAre("vmcnt(0) <-", "lgkmcnt(0) <-"));
  EXPECT_THAT(
      waitsOf("global_load_dword v0, v9, s[0:1]\ns_waitcnt vmcnt(0)\nglobal_load_dword v1, v9, s[0:1]\n"
              "s_waitcnt vmcnt(0)\nv_add_f32 v0, v0, v1\ns_endpgm"),
      ElementsAre("vmcnt(0) <- global_load_dword, too long", "vmcnt(0) <- global_load_dword, enough 0 for v_add_f32"))
      << "the second wait would have been for both";
}

TEST(Waits, BarriersAndFences) {
  std::string begin = "global_load_dword v0, v9, s[0:1]\nds_write_b32 v8, v9\ns_waitcnt vmcnt(0) lgkmcnt(0)\n";
  EXPECT_THAT(waitsOf(begin + "s_barrier\ns_endpgm"), ElementsAre("vmcnt(0) <- global_load_dword, too long",
                                                                  "lgkmcnt(0) <- ds_write_b32, enough 0 for s_barrier"))
      << "a load into a register concerns no other wave";
  EXPECT_THAT(waitsOf(begin + "buffer_inv sc1\ns_endpgm"),
              ElementsAre("vmcnt(0) <- global_load_dword, enough 0 for buffer_inv",
                          "lgkmcnt(0) <- ds_write_b32, enough 0 for buffer_inv"));
  EXPECT_THAT(waitsOf("s_mov_b32 m0, 0\nglobal_load_lds_dword v[0:1], off\nglobal_load_dword v2, v9, s[0:1]\n"
                      "s_waitcnt vmcnt(1)\ns_barrier\ns_endpgm"),
              ElementsAre("vmcnt(1) <- global_load_lds_dword, enough 1 for s_barrier"));
}

TEST(Waits, ScalarLoadsReturnInAnyOrder) {
  EXPECT_THAT(waitsOf("s_load_dword s4, s[0:1], 0\nds_read_b32 v0, v9\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v1, s4\n"
                      "s_endpgm"),
              ElementsAre("lgkmcnt(0) <- s_load_dword ds_read_b32, enough 0 for v_mov_b32"));
  EXPECT_THAT(waitsOf("s_load_dword s4, s[0:1], 0\nds_read_b32 v0, v9\ns_waitcnt lgkmcnt(1)\ns_endpgm"),
              ElementsAre("lgkmcnt(1) <-"));
}

TEST(Waits, FlatAccessesAreInBothCounters) {
  EXPECT_THAT(waitsOf("flat_load_dword v0, v[8:9]\nglobal_load_dword v1, v9, s[0:1]\ns_waitcnt vmcnt(0) lgkmcnt(0)\n"
                      "v_mov_b32 v2, v0\ns_endpgm"),
              ElementsAre("vmcnt(0) <- flat_load_dword global_load_dword, enough 0 for v_mov_b32",
                          "lgkmcnt(0) <- flat_load_dword, enough 0 for v_mov_b32"));
}

TEST(Waits, MoreThanTheCounterHolds) {
  std::string text = "ds_read_b32 v0, v99\n";
  for (int i = 1; i < 20; ++i)
    text += fmt::format("ds_read_b64 v[{}:{}], v99\n", 2 * i, 2 * i + 1);
  std::string loads = "lgkmcnt(14) <- ds_read_b32 ds_read_b64 ds_read_b64 ds_read_b64 ds_read_b64 ds_read_b64";
  EXPECT_THAT(waitsOf(text + "s_waitcnt lgkmcnt(14)\nv_mov_b32 v80, v0\ns_endpgm"),
              ElementsAre(loads + ", enough 14 for v_mov_b32"));
}

TEST(Waits, AroundALoop) {
  // Each iteration uses what the one before has loaded: one load may stay in flight.
  EXPECT_THAT(waitsOf(R"(
    global_load_dword v0, v9, s[0:1]
  loop:
    global_load_dwordx2 v[2:3], v9, s[0:1]
    s_waitcnt vmcnt(1)
    v_add_f32 v5, v5, v0
    global_load_dword v0, v9, s[0:1]
    s_waitcnt vmcnt(1)
    v_add_f32 v5, v5, v3
    s_sub_u32 s4, s4, 1
    s_cmp_eq_u32 s4, 0
    s_cbranch_scc0 loop
    s_endpgm)"),
              ElementsAre("vmcnt(1) <- global_load_dword global_load_dword, enough 1 for v_add_f32",
                          "vmcnt(1) <- global_load_dwordx2, enough 1 for v_add_f32"));
}

TEST(Waits, OnePathNeedsIt) {
  EXPECT_THAT(waitsOf(R"(
    global_load_dword v0, v9, s[0:1]
    s_waitcnt vmcnt(0)
    s_cbranch_execz end
    v_add_f32 v5, v5, v0
  end:
    s_endpgm)"),
              ElementsAre("vmcnt(0) <- global_load_dword, enough 0 for v_add_f32"));
}

TEST(Waits, WhatMayBeSkipped) {
  std::string loads = "global_load_dword v0, v9, s[0:1]\nglobal_load_dword v1, v9, s[0:1]\n",
              end = "s_waitcnt vmcnt(0)\nv_mov_b32 v5, v0\nv_mov_b32 v6, v1\ns_endpgm",
              both = "vmcnt(0) <- global_load_dword global_load_dword, enough ";
  EXPECT_THAT(waitsOf(loads + end), ElementsAre(both + "1 for v_mov_b32, too long"));
  EXPECT_THAT(waitsOf("s_setvskip s2, 0\n" + loads + end), ElementsAre(both + "0 for v_mov_b32"))
      << "the first load may be the youngest, and the first move may not be done";
  EXPECT_THAT(waitsOf("s_setvskip s2, 0\ns_setvskip 0, 0\n" + loads + end),
              ElementsAre(both + "1 for v_mov_b32, too long"));
}

TEST(Waits, JoinedPaths) {
  EXPECT_THAT(waitsOf(R"(
    global_load_dword v0, v9, s[0:1]
    s_cbranch_execz end
    global_load_dwordx2 v[2:3], v9, s[0:1]
  end:
    s_waitcnt vmcnt(0)
    v_mov_b32 v5, v0
    s_endpgm)"),
              ElementsAre("vmcnt(0) <- global_load_dword global_load_dwordx2, enough 0 for v_mov_b32"))
      << "on one of them the load is the youngest";
}

} // namespace
} // namespace heddle::simulator
