// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which waits the machine code shows to be needless, and which near misses it does not.
#include "simulator/mutations/WaitFlow.h"
#include "simulator/decode/TestAssembler.h"
#include <gtest/gtest.h>

namespace heddle::simulator {
namespace {

/// What is said of taking away the wait that is marked by `s_nop 9` before it.
WaitReason ofMarked(const std::string &text, WaitCounts weaker = {}) {
  std::vector<uint8_t> code = assemble("gfx942", text);
  Decoder decoder("gfx942");
  for (uint64_t pc = 0; pc < code.size();) {
    Instruction instruction = decoder.decode(std::span(code).subspan(pc), pc);
    pc += instruction.sizeBytes;
    if (instruction.text != "s_nop 9")
      continue;
    Instruction wait = decoder.decode(std::span(code).subspan(pc), pc);
    EXPECT_EQ(wait.mnemonic, "s_waitcnt");
    constexpr uint64_t base = 0x1000;
    return WaitFlow("gfx942", code, base, {base}).reasonToWeaken(base + pc, WaitCounts::of(wait.immediate), weaker);
  }
  ADD_FAILURE() << "there is no mark in\n" << text;
  return WaitReason::None;
}

const std::string load = "global_load_dword v1, v[2:3], off\n", read = "ds_read_b32 v1, v2\n",
                  scalar = "s_load_dwordx2 s[4:5], s[0:1], 0x0\n", mark = "s_nop 9\n", vector0 = "s_waitcnt vmcnt(0)\n",
                  local0 = "s_waitcnt lgkmcnt(0)\n", end = "s_endpgm\n";

TEST(WaitFlow, NothingUnderWay) {
  EXPECT_EQ(ofMarked(mark + vector0 + end), WaitReason::NothingUnderWay);
  EXPECT_EQ(ofMarked(load + vector0 + mark + vector0 + end), WaitReason::NothingUnderWay);
  EXPECT_EQ(ofMarked(load + load + mark + "s_waitcnt vmcnt(2)\n" + end), WaitReason::NothingUnderWay);
  EXPECT_EQ(ofMarked(read + mark + vector0 + end), WaitReason::NothingUnderWay) << "it counts in the other counter";
  EXPECT_EQ(ofMarked(load + mark + vector0 + end), WaitReason::None);
  EXPECT_EQ(ofMarked(load + load + load + mark + "s_waitcnt vmcnt(2)\n" + end), WaitReason::None);
  EXPECT_EQ(ofMarked(scalar + mark + local0 + end), WaitReason::None);
  EXPECT_EQ(ofMarked("buffer_wbl2 sc1\n" + mark + vector0 + end), WaitReason::None);
  EXPECT_EQ(ofMarked(load + mark + "s_waitcnt vmcnt(0) lgkmcnt(0)\n" + end, {0, WaitCounts::anyLocal}),
            WaitReason::NothingUnderWay)
      << "only one of its fields goes";
}

TEST(WaitFlow, OnEveryWay) {
  EXPECT_EQ(ofMarked("s_cbranch_scc0 2\n" + load + mark + vector0 + end), WaitReason::None) << "one way has the load";
  EXPECT_EQ(ofMarked("s_cbranch_scc0 3\n" + load + vector0 + mark + vector0 + end), WaitReason::NothingUnderWay);
  // A loop: what its end leaves is there at its begin.
  EXPECT_EQ(ofMarked(mark + vector0 + load + "s_cbranch_scc0 65531\n" + vector0 + end), WaitReason::None);
  EXPECT_EQ(ofMarked(mark + vector0 + load + vector0 + "s_cbranch_scc0 65530\n" + end), WaitReason::NothingUnderWay);
}

TEST(WaitFlow, DemandedAgain) {
  const WaitReason again = WaitReason::DemandedAgain, none = WaitReason::None;
  EXPECT_EQ(ofMarked(load + mark + vector0 + "v_add_u32 v8, v9, v9\n" + vector0 + end), again);
  EXPECT_EQ(ofMarked(load + mark + vector0 + "v_add_u32 v8, v1, v9\n" + vector0 + end), none) << "its result is read";
  EXPECT_EQ(ofMarked(load + mark + vector0 + "v_mov_b32 v1, 0\n" + vector0 + end), none) << "and written";
  EXPECT_EQ(ofMarked(load + mark + vector0 + "s_waitcnt vmcnt(1)\n" + end), none) << "not as much";
  EXPECT_EQ(ofMarked(load + mark + vector0 + local0 + end), none) << "the other counter";
  EXPECT_EQ(ofMarked(load + mark + vector0 + "s_barrier\n" + vector0 + end), none);
  EXPECT_EQ(ofMarked(load + mark + vector0 + load + vector0 + end), none) << "an operation between them";
  EXPECT_EQ(ofMarked(load + mark + vector0 + end), none) << "the end";
  EXPECT_EQ(ofMarked(scalar + mark + local0 + "s_add_u32 s8, s4, s5\n" + local0 + end), none);
  EXPECT_EQ(ofMarked(scalar + mark + local0 + "s_add_u32 s8, s9, s9\n" + local0 + end), again);
  // Two ways, and both must demand it.
  EXPECT_EQ(ofMarked(load + mark + vector0 + "s_cbranch_scc0 2\n" + vector0 + end + vector0 + end), again);
  EXPECT_EQ(ofMarked(load + mark + vector0 + "s_cbranch_scc0 2\n" + vector0 + end + end), none);
}

TEST(WaitFlow, UnknownWays) {
  EXPECT_EQ(ofMarked(mark + vector0 + "s_setpc_b64 s[4:5]\n"), WaitReason::None);
  EXPECT_EQ(ofMarked(mark + vector0 + "s_swappc_b64 s[30:31], s[4:5]\n" + end), WaitReason::None);
  EXPECT_EQ(ofMarked(mark + vector0 + "s_set_gpr_idx_on s4, gpr_idx(SRC0)\n" + end), WaitReason::None);
  EXPECT_EQ(ofMarked(mark + vector0 + "s_branch 100\n"), WaitReason::None) << "out of the code";
}

const std::string globalLoads = "global_load_dword v1, v[8:9], off\nglobal_load_dword v2, v[8:9], off\n",
                  ldsLoads = "ds_read_b32 v1, v8\nds_read_b32 v2, v9\n",
                  loadsToLds = "global_load_lds_dword v[8:9], off\nglobal_load_lds_dword v[8:9], off offset:1024\n";

/// Of two loads, into v1 and v2 or to LDS, with `behind` after them.
bool maySwap(const std::string &behind, const std::string &loads = globalLoads) {
  std::vector<uint8_t> code = assemble("gfx942", loads + behind);
  constexpr uint64_t base = 0x1000;
  return WaitFlow("gfx942", code, base, {base}).maySwapLoads(base);
}

TEST(WaitFlow, LoadsThatMayChangePlaces) {
  const std::string useFirst = "v_mov_b32 v5, v1\n", useSecond = "v_mov_b32 v5, v2\n",
                    third = "global_load_dword v3, v[8:9], off\n", store = "global_store_dword v[8:9], v5, off\n",
                    vector1 = "s_waitcnt vmcnt(1)\n", vector2 = "s_waitcnt vmcnt(2)\n";
  EXPECT_TRUE(maySwap(vector0 + useFirst + useSecond + end));
  EXPECT_TRUE(maySwap(end));
  EXPECT_FALSE(maySwap(vector1 + useFirst + vector0 + useSecond + end));
  EXPECT_TRUE(maySwap(vector1 + useSecond + vector0 + end)) << "wrong in the one order, but not in the other";
  EXPECT_TRUE(maySwap(vector1 + vector0 + useFirst + end)) << "not used while it is late";
  // What the first one reads, others may change as soon as it is over: they learn of it by a barrier or a flag.
  EXPECT_FALSE(maySwap(vector1 + "s_barrier\n" + vector0 + useFirst + end));
  EXPECT_FALSE(maySwap(vector1 + store + vector0 + useFirst + end));
  EXPECT_FALSE(maySwap(vector1 + "ds_write_b32 v8, v5\n" + vector0 + useFirst + end)) << "a flag in LDS";
  EXPECT_FALSE(maySwap(vector1 + end)) << "others' barrier waits for it no longer";
  EXPECT_TRUE(maySwap("s_barrier\n" + store + vector0 + useFirst + end)) << "nobody has waited for either";
  EXPECT_TRUE(maySwap(vector0 + "s_barrier\n" + store + useFirst + end));
  EXPECT_FALSE(maySwap("s_waitcnt lgkmcnt(1)\ns_barrier\n" + local0 + useFirst + end, ldsLoads));
  EXPECT_TRUE(maySwap("s_waitcnt lgkmcnt(0)\ns_barrier\n" + useFirst + end, ldsLoads));
  EXPECT_TRUE(maySwap(third + vector1 + useFirst + end)) << "lets go of both";
  EXPECT_FALSE(maySwap(third + vector2 + useFirst + vector0 + end));
  EXPECT_FALSE(maySwap(store + vector2 + "v_mov_b32 v1, 0\n" + vector0 + end)) << "written while it is late";
  EXPECT_FALSE(maySwap("buffer_inv sc1\n" + vector2 + useFirst + vector0 + end)) << "counts too";
  EXPECT_TRUE(maySwap("ds_read_b32 v3, v8\n" + vector2 + useFirst + vector0 + end)) << "the other counter";
  EXPECT_FALSE(maySwap("s_waitcnt lgkmcnt(1)\n" + useFirst + local0 + end, ldsLoads));
  EXPECT_TRUE(maySwap("s_waitcnt lgkmcnt(0)\n" + useFirst + useSecond + end, ldsLoads));
  EXPECT_TRUE(maySwap(vector1 + useFirst + local0 + end, ldsLoads)) << "no wait for either";
  EXPECT_FALSE(maySwap(vector1 + "s_barrier\n" + vector0 + end, loadsToLds)) << "nobody knows who reads LDS";
  EXPECT_TRUE(maySwap(vector0 + "s_barrier\n" + end, loadsToLds));
  // On one of two ways.
  EXPECT_FALSE(maySwap("s_cbranch_scc0 2\n" + vector0 + end + vector1 + useFirst + vector0 + end));
  EXPECT_FALSE(maySwap("s_cbranch_scc0 2\n" + third + vector1 + useFirst + vector0 + end)) << "with one more, or not";
  // More than a counter counts, and a way that is not known.
  std::string many = "s_nop 0\n";
  for (unsigned i = 0; i < 61; ++i)
    many += third;
  EXPECT_FALSE(maySwap(many + vector0 + useFirst + end));
  EXPECT_FALSE(maySwap("s_setpc_b64 s[4:5]\n"));
  // LDS executes a wave's operations in their order; a full counter lets go of the first ones.
  EXPECT_TRUE(maySwap("s_waitcnt lgkmcnt(1)\nds_write_b32 v8, v5\n" + local0 + useFirst + end, ldsLoads));
  std::string reads;
  for (int i = 0; i < 20; ++i)
    reads += "ds_read_b32 v3, v8\n";
  EXPECT_TRUE(maySwap(reads + local0 + useFirst + end, ldsLoads));
  EXPECT_FALSE(maySwap(reads.substr(0, reads.size() * 14 / 20) + "s_barrier\n" + local0 + useFirst + end, ldsLoads));
  EXPECT_FALSE(maySwap(reads.substr(0, reads.size() * 14 / 20) + store + local0 + useFirst + end, ldsLoads));
}

} // namespace
} // namespace heddle::simulator
