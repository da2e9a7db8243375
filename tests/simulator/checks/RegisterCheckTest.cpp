// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Registers while a load into them is in flight: with the wait no finding, without it exactly one, under every policy.
#include "CheckedProgram.h"
#include <gtest/gtest.h>

namespace heddle::simulator {
namespace {

const std::string read = "missing wait: the register is read before the load into it is over: ";
const std::string written = "missing wait: the register is written before the load into it is over: ";
const std::string second = "missing wait: two loads into the same register may land in any order: ";

struct Case {
  const char *name;
  std::string load, wait, use;
  std::string finding; ///< without the wait
};
void PrintTo(const Case &tested, std::ostream *stream) {
  *stream << tested.name;
}

const Case cases[] = {
    {"Read", "global_load_dword v10, v[0:1], off", "s_waitcnt vmcnt(0)", "v_add_u32 v11, v10, v2",
     read + "s_waitcnt vmcnt(0) before the read"},
    {"Write", "global_load_dword v10, v[0:1], off", "s_waitcnt vmcnt(0)", "v_mov_b32 v10, 0",
     written + "s_waitcnt vmcnt(0) before the write"},
    {"SecondWord", "global_load_dwordx4 v[12:15], v[0:1], off", "s_waitcnt vmcnt(0)", "v_mov_b32 v3, v15",
     read + "s_waitcnt vmcnt(0) before the read"},
    {"CountedWait",
     "global_load_dword v10, v[0:1], off\nglobal_load_dword v11, v[0:1], off\n"
     "global_store_dword v[0:1], v2, off",
     "s_waitcnt vmcnt(2)", "v_mov_b32 v3, v10", read + "s_waitcnt vmcnt(2) before the read"},
    {"CountedWaitThatIsTooWeak",
     "global_load_dword v10, v[0:1], off\nglobal_load_dword v11, v[0:1], off\ns_waitcnt vmcnt(1)", "s_waitcnt vmcnt(0)",
     "v_mov_b32 v3, v11", read + "s_waitcnt vmcnt(0) before the read"},
    {"Address", "global_load_dwordx2 v[10:11], v[0:1], off", "s_waitcnt vmcnt(0)",
     "v_lshl_add_u64 v[10:11], v[10:11], 0, v[0:1]", read + "s_waitcnt vmcnt(0) before the read"},
    {"StoredData", "ds_read_b32 v10, v2", "s_waitcnt lgkmcnt(0)", "global_store_dword v[0:1], v10, off",
     read + "s_waitcnt lgkmcnt(0) before the read"},
    {"Lds", "ds_read_b64 v[10:11], v2\nds_write_b32 v2, v2", "s_waitcnt lgkmcnt(1)", "v_mov_b32 v3, v11",
     read + "s_waitcnt lgkmcnt(1) before the read"},
    {"LdsBehindScalarLoads", "ds_read_b32 v10, v2\ns_load_dword s8, s[0:1], 0x0\nds_write_b32 v2, v2",
     "s_waitcnt lgkmcnt(0)", "v_mov_b32 v3, v10", read + "s_waitcnt lgkmcnt(0) before the read"},
    {"Scalar", "s_load_dwordx4 s[8:11], s[0:1], 0x0", "s_waitcnt lgkmcnt(0)", "s_add_u32 s12, s11, 1",
     read + "s_waitcnt lgkmcnt(0) before the read"},
    {"ScalarWithACount", "s_load_dword s8, s[0:1], 0x0\ns_waitcnt lgkmcnt(1)", "s_waitcnt lgkmcnt(0)",
     "v_mov_b32 v3, s8", read + "s_waitcnt lgkmcnt(0) before the read"},
    {"ScalarWritten", "s_load_dword s8, s[0:1], 0x0", "s_waitcnt lgkmcnt(0)", "s_mov_b32 s8, 0",
     written + "s_waitcnt lgkmcnt(0) before the write"},
    {"ScalarTwice", "s_load_dword s8, s[0:1], 0x0", "s_waitcnt lgkmcnt(0)", "s_load_dword s8, s[0:1], 0x4",
     second + "s_waitcnt lgkmcnt(0) before the second load"},
    {"ImplicitVcc", "s_load_dwordx2 vcc, s[0:1], 0x0", "s_waitcnt lgkmcnt(0)", "v_div_fmas_f32 v3, v2, v2, v2",
     read + "s_waitcnt lgkmcnt(0) before the read"},
    {"Branch", "s_load_dwordx2 vcc, s[0:1], 0x0", "s_waitcnt lgkmcnt(0)", "s_cbranch_vccnz 1",
     read + "s_waitcnt lgkmcnt(0) before the read"},
    {"Atomic", "global_atomic_add v10, v[0:1], v2, off sc0", "s_waitcnt vmcnt(0)", "v_mov_b32 v3, v10",
     read + "s_waitcnt vmcnt(0) before the read"},
    {"BufferAtomic",
     "s_mov_b32 s4, s0\ns_and_b32 s5, s1, 0xffff\ns_movk_i32 s6, 0x1000\ns_mov_b32 s7, 0\n"
     "v_mov_b32 v10, 0\nbuffer_atomic_add v10, v2, s[4:7], 0 offen sc0",
     "s_waitcnt vmcnt(0)", "v_mov_b32 v3, v10", read + "s_waitcnt vmcnt(0) before the read"},
    {"LdsAtomic", "ds_add_rtn_u32 v10, v2, v2", "s_waitcnt lgkmcnt(0)", "v_mov_b32 v3, v10",
     read + "s_waitcnt lgkmcnt(0) before the read"},
    {"MoveBetweenLanes", "ds_bpermute_b32 v10, v2, v2", "s_waitcnt lgkmcnt(0)", "v_mov_b32 v3, v10",
     read + "s_waitcnt lgkmcnt(0) before the read"},
    {"Accumulator", "global_load_dword a5, v[0:1], off", "s_waitcnt vmcnt(0)", "v_accvgpr_read_b32 v3, a5",
     read + "s_waitcnt vmcnt(0) before the read"},
    {"MatrixSource", "global_load_dwordx2 v[10:11], v[0:1], off", "s_waitcnt vmcnt(0)",
     "v_mfma_f32_16x16x16_f16 a[0:3], v[10:11], v[12:13], a[0:3]", read + "s_waitcnt vmcnt(0) before the read"},
    {"HalfOfARegister", "global_load_short_d16 v10, v[0:1], off", "s_waitcnt vmcnt(0)", "v_mov_b32 v3, v10",
     read + "s_waitcnt vmcnt(0) before the read"},
    {"OldDestination", "global_load_dword v10, v[0:1], off", "s_waitcnt vmcnt(0)", "v_fmac_f32 v10, v2, v2",
     read + "s_waitcnt vmcnt(0) before the read"},
    {"OtherQueue", "global_load_dword v10, v[0:1], off", "s_waitcnt vmcnt(0)", "ds_read_b32 v10, v2",
     second + "s_waitcnt vmcnt(0) before the second load"},
    {"Flat", "flat_load_dword v10, v[0:1]", "s_waitcnt vmcnt(0) lgkmcnt(0)", "v_mov_b32 v3, v10",
     read + "s_waitcnt vmcnt(0) lgkmcnt(0) before the read"},
    {"BehindFlat", "global_load_dword v10, v[0:1], off\nflat_load_dword v11, v[0:1]", "s_waitcnt vmcnt(0)",
     "v_mov_b32 v3, v10", read + "s_waitcnt vmcnt(0) before the read"},
    {"Indexed",
     "global_load_dword v12, v[0:1], off\ns_mov_b32 m0, 0\ns_mov_b32 s8, 2\ns_set_gpr_idx_on s8, gpr_idx(SRC0)",
     "s_waitcnt vmcnt(0)", "v_mov_b32 v3, v10", read + "s_waitcnt vmcnt(0) before the read"},
    {"IndexedDestination",
     "global_load_dword v12, v[0:1], off\ns_mov_b32 m0, 0\ns_mov_b32 s8, 2\ns_set_gpr_idx_on s8, gpr_idx(DST)",
     "s_waitcnt vmcnt(0)", "v_mov_b32 v10, v2", written + "s_waitcnt vmcnt(0) before the write"},
    {"FirstLane", "global_load_dword v10, v[0:1], off", "s_waitcnt vmcnt(0)", "v_readfirstlane_b32 s8, v10",
     read + "s_waitcnt vmcnt(0) before the read"},
    {"NewestOfSeveralLoads", "ds_read_b32 v10, v2\nds_read_b32 v11, v2\nds_read_b32 v12, v2", "s_waitcnt lgkmcnt(1)",
     "v_add_u32 v3, v10, v11", read + "s_waitcnt lgkmcnt(1) before the read"},
    {"LoadsIntoPartsOfASpan", "ds_read_b32 v10, v2\nds_read_b32 v11, v2\nds_read_b32 v12, v2", "s_waitcnt lgkmcnt(1)",
     "v_lshl_add_u64 v[4:5], v[10:11], 0, v[0:1]", read + "s_waitcnt lgkmcnt(1) before the read"},
    {"BothCounters", "global_load_dword v10, v[0:1], off\nds_read_b32 v11, v2\nds_read_b32 v12, v2",
     "s_waitcnt vmcnt(0) lgkmcnt(1)", "v_add_u32 v3, v10, v11", read + "s_waitcnt vmcnt(0) lgkmcnt(1) before the read"},
    {"LoadIntoTheDestination", "ds_read_b32 v10, v2\nds_read_b32 v11, v2\nds_read_b32 v12, v2", "s_waitcnt lgkmcnt(1)",
     "v_mov_b32 v11, v10", read + "s_waitcnt lgkmcnt(1) before the read"},
    {"Clock", "s_memtime s[8:9]", "s_waitcnt lgkmcnt(0)", "s_mov_b32 s3, s9",
     read + "s_waitcnt lgkmcnt(0) before the read"},
};

class RegisterWait : public testing::TestWithParam<Case> {};

TEST_P(RegisterWait, IsFoundWhereItIsMissing) {
  for (Policy policy : {Policy::Earliest, Policy::Latest, Policy::Reordered, Policy::Random}) {
    const Case &tested = GetParam();
    CheckedProgram good(only(Check::RegisterWait), policy), bad(only(Check::RegisterWait), policy);
    good.run(tested.load).run(tested.wait).run(tested.use);
    bad.run(tested.load).run(tested.use);
    EXPECT_EQ(good.report(), "") << "policy " << int(policy);
    EXPECT_EQ(bad.summary(), tested.finding) << "policy " << int(policy);
  }
}

INSTANTIATE_TEST_SUITE_P(All, RegisterWait, testing::ValuesIn(cases),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(RegisterWaitReport, NamesBothInstructions) {
  CheckedProgram program(only(Check::RegisterWait));
  program.run("global_load_dwordx2 v[10:11], v[0:1], off\ns_mov_b64 exec, 0x30").run("v_add_u32_e32 v12, v11, v2");
  EXPECT_EQ(program.report(),
            "error: missing wait: the register is read before the load into it is over (register-wait)\n"
            "  load   pc 0x0  global_load_dwordx2 v[10:11], v[0:1], off  workgroup 0,0,0 wave 0 lane 4   v11\n"
            "  read   pc 0xc  v_add_u32_e32 v12, v11, v2                workgroup 0,0,0 wave 0 lane 4\n"
            "  needs  s_waitcnt vmcnt(0) before the read\n"
            "  severity high: about 8 cycles and 1 instruction after an access to memory, which takes at least 120 "
            "cycles\n");
}

TEST(RegisterWaitReport, CountsWhatIsSeenAgain) {
  CheckedProgram program(only(Check::RegisterWait), Policy::Latest);
  program.run("s_load_dword s8, s[0:1], 0x0").repeat("s_add_u32 s9, s8, s8", 2);
  EXPECT_EQ(
      program.report(),
      "error: missing wait: the register is read before the load into it is over (register-wait)\n"
      "  load   pc 0x0  s_load_dword s8, s[0:1], 0x0              workgroup 0,0,0 wave 0   s8\n"
      "  read   pc 0x8  s_add_u32 s9, s8, s8                      workgroup 0,0,0 wave 0\n"
      "  needs  s_waitcnt lgkmcnt(0) before the read\n"
      "  severity high: about 4 cycles and 0 instructions after a scalar access to memory, which takes at least 64 "
      "cycles\n"
      "  seen   2 times\n");
}

/// What needs no wait.
TEST(RegisterWaitNone, IsNeededForSourcesOfRequests) {
  CheckedProgram program(only(Check::RegisterWait), Policy::Latest);
  program.run("global_store_dword v[0:1], v2, off\nglobal_load_dword v10, v[0:1], off\nv_mov_b32 v2, 0\n"
              "global_atomic_add v[0:1], v3, off\nv_mov_b32 v3, 0\nv_mov_b32 v0, 0\ns_mov_b32 m0, 0");
  EXPECT_EQ(program.report(), "");
}

TEST(RegisterWaitNone, IsNeededBetweenLoadsOfOneQueue) {
  CheckedProgram program(only(Check::RegisterWait), Policy::Latest);
  program.run("global_load_dword v10, v[0:1], off\nscratch_load_dword v10, off, off\nds_read_b32 v11, v2\n"
              "ds_add_rtn_u32 v11, v2, v2\nglobal_load_short_d16 v12, v[0:1], off\n"
              "global_load_short_d16_hi v12, v[0:1], off");
  EXPECT_EQ(program.report(), "");
}

TEST(RegisterWaitNone, IsNeededForLanesThatTheLoadLeftOut) {
  CheckedProgram program(only(Check::RegisterWait), Policy::Latest);
  program.run("s_mov_b64 exec, 0xf\nglobal_load_dword v10, v[0:1], off\ns_mov_b64 exec, 0xf0\nv_mov_b32 v3, v10\n"
              "v_mov_b32 v10, 0\nv_readfirstlane_b32 s8, v10\nv_readlane_b32 s8, v10, 5\nv_writelane_b32 v10, s8, 63");
  EXPECT_EQ(program.report(), "");
  program.run("v_readlane_b32 s8, v10, 3");
  EXPECT_EQ(program.summary(), read + "s_waitcnt vmcnt(0) before the read");
}

TEST(RegisterWaitNone, IsNeededWhenAFullCounterProvedIt) {
  CheckedProgram program(only(Check::RegisterWait), Policy::Latest);
  program.run("global_load_dword v10, v[0:1], off");
  for (unsigned i = 0; i < vectorCapacity; ++i)
    program.run("global_store_dword v[0:1], v2, off");
  program.run("v_mov_b32 v3, v10");
  EXPECT_EQ(program.report(), "");
}

} // namespace
} // namespace heddle::simulator
