// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scalar instructions: result and SCC of each at the values where they change.
#include "simulator/decode/TestAssembler.h"
#include "simulator/state/Fault.h"
#include <gtest/gtest.h>

namespace heddle::simulator {
namespace {

/// s[2:3] and s[4:5] are the sources, s[0:1] gets the result.
struct Outcome {
  uint64_t value;
  bool scc;
  bool operator==(const Outcome &) const = default;
};
std::ostream &operator<<(std::ostream &stream, const Outcome &outcome) {
  return stream << std::hex << outcome.value << " scc " << outcome.scc;
}

Outcome run(const std::string &text, uint64_t a = 0, uint64_t b = 0, bool scc = false, uint64_t old = 0) {
  auto wave = makeTestWave();
  wave->setScalar64(0, old);
  wave->setScalar64(2, a);
  wave->setScalar64(4, b);
  wave->scc = scc;
  executeText(*wave, text);
  return {wave->scalar64(0), wave->scc};
}

Outcome of(uint64_t value, bool scc) {
  return {value, scc};
}

TEST(Scalar, AdditionAndItsCarries) {
  EXPECT_EQ(run("s_add_u32 s0, s2, s4", 0xffffffff, 2), of(1, true));
  EXPECT_EQ(run("s_add_u32 s0, s2, s4", 0xfffffffe, 1), of(0xffffffff, false));
  EXPECT_EQ(run("s_addc_u32 s0, s2, s4", 0xffffffff, 0, true), of(0, true));
  EXPECT_EQ(run("s_addc_u32 s0, s2, s4", 5, 6, true), of(12, false));
  EXPECT_EQ(run("s_sub_u32 s0, s2, s4", 1, 2), of(0xffffffff, true));
  EXPECT_EQ(run("s_sub_u32 s0, s2, s4", 2, 2), of(0, false));
  EXPECT_EQ(run("s_subb_u32 s0, s2, s4", 2, 2, true), of(0xffffffff, true));
  EXPECT_EQ(run("s_subb_u32 s0, s2, s4", 0, 0xffffffff, true), of(0, true));
  EXPECT_EQ(run("s_add_i32 s0, s2, s4", 0x7fffffff, 1), of(0x80000000, true));
  EXPECT_EQ(run("s_add_i32 s0, s2, s4", 0xffffffff, 1), of(0, false));
  EXPECT_EQ(run("s_sub_i32 s0, s2, s4", 0x80000000, 1), of(0x7fffffff, true));
  EXPECT_EQ(run("s_addk_i32 s0, 0xffff", 0, 0, true, 5), of(4, false));
  EXPECT_EQ(run("s_mulk_i32 s0, 0xfffe", 0, 0, true, 5), of(0xfffffff6, true));
  EXPECT_EQ(run("s_lshl3_add_u32 s0, s2, s4", 0x20000001, 1), of(9, true));
  EXPECT_EQ(run("s_absdiff_i32 s0, s2, s4", 3, 0xfffffffe), of(5, true));
  EXPECT_EQ(run("s_mul_i32 s0, s2, s4", 0x10001, 0x10001, true), of(0x20001, true));
  EXPECT_EQ(run("s_mul_hi_u32 s0, s2, s4", 0xffffffff, 0xffffffff), of(0xfffffffe, false));
  EXPECT_EQ(run("s_mul_hi_i32 s0, s2, s4", 0xffffffff, 5), of(0xffffffff, false));
}

TEST(Scalar, MinimumAndMaximumSayWhichTheyTook) {
  EXPECT_EQ(run("s_min_i32 s0, s2, s4", 0xffffffff, 1), of(0xffffffff, true));
  EXPECT_EQ(run("s_min_u32 s0, s2, s4", 0xffffffff, 1), of(1, false));
  EXPECT_EQ(run("s_max_i32 s0, s2, s4", 0xffffffff, 1), of(1, false));
  EXPECT_EQ(run("s_max_u32 s0, s2, s4", 0xffffffff, 1), of(0xffffffff, true));
}

TEST(Scalar, BitsAndShifts) {
  EXPECT_EQ(run("s_and_b64 s[0:1], s[2:3], s[4:5]", 0xf00000000f, 0xff00000000), of(0xf000000000, true));
  EXPECT_EQ(run("s_andn2_b32 s0, s2, s4", 7, 7), of(0, false));
  EXPECT_EQ(run("s_xnor_b32 s0, s2, s4", 0xffffffff, 0), of(0, false));
  EXPECT_EQ(run("s_orn2_b64 s[0:1], s[2:3], s[4:5]", 0, ~uint64_t(1)), of(1, true));
  EXPECT_EQ(run("s_lshl_b32 s0, s2, s4", 3, 33), of(6, true));
  EXPECT_EQ(run("s_lshl_b64 s[0:1], s[2:3], s4", 1, 63), of(uint64_t(1) << 63, true));
  EXPECT_EQ(run("s_ashr_i32 s0, s2, s4", 0x80000000, 31), of(0xffffffff, true));
  EXPECT_EQ(run("s_ashr_i64 s[0:1], s[2:3], s4", uint64_t(1) << 63, 63), of(~uint64_t(0), true));
  EXPECT_EQ(run("s_bfe_u32 s0, s2, 0x80004", 0xabcde), of(0xcd, true));
  EXPECT_EQ(run("s_bfe_i32 s0, s2, 0x80004", 0xabcde), of(0xffffffcd, true));
  EXPECT_EQ(run("s_bfe_i64 s[0:1], s[2:3], 0x200000", 0x80000000), of(0xffffffff80000000, true));
  EXPECT_EQ(run("s_bfe_u32 s0, s2, 0x4", 0xabcde, 0, true), of(0, false));
  EXPECT_EQ(run("s_bfm_b32 s0, s2, s4", 5, 3, true), of(0xf8, true));
  EXPECT_EQ(run("s_pack_lh_b32_b16 s0, s2, s4", 0x11112222, 0x33334444), of(0x33332222, false));
}

TEST(Scalar, UnaryBits) {
  EXPECT_EQ(run("s_not_b32 s0, s2", 0xffffffff, 0, true), of(0, false));
  EXPECT_EQ(run("s_brev_b32 s0, s2", 1), of(0x80000000, false));
  EXPECT_EQ(run("s_bcnt1_i32_b64 s0, s[2:3]", ~uint64_t(0)), of(64, true));
  EXPECT_EQ(run("s_bcnt0_i32_b32 s0, s2", 0xffffffff), of(0, false));
  EXPECT_EQ(run("s_ff1_i32_b32 s0, s2", 0), of(0xffffffff, false));
  EXPECT_EQ(run("s_ff1_i32_b64 s0, s[2:3]", uint64_t(1) << 40), of(40, false));
  EXPECT_EQ(run("s_flbit_i32_b32 s0, s2", 1), of(31, false));
  EXPECT_EQ(run("s_flbit_i32 s0, s2", 0xfffffffe), of(31, false));
  EXPECT_EQ(run("s_flbit_i32 s0, s2", 0xffffffff), of(0xffffffff, false));
  EXPECT_EQ(run("s_sext_i32_i8 s0, s2", 0x180), of(0xffffff80, false));
  EXPECT_EQ(run("s_abs_i32 s0, s2", 0x80000000), of(0x80000000, true));
  EXPECT_EQ(run("s_wqm_b64 s[0:1], s[2:3]", 0x8000000000000010), of(0xf0000000000000f0, true));
  EXPECT_EQ(run("s_quadmask_b32 s0, s2", 0x10010), of(0x12, true));
  EXPECT_EQ(run("s_bitset1_b32 s0, s2", 35, 0, false, 1), of(9, false));
  EXPECT_EQ(run("s_bitset0_b64 s[0:1], s2", 33, 0, false, ~uint64_t(0)), of(~(uint64_t(1) << 33), false));
}

TEST(Scalar, ComparisonsAndSelection) {
  EXPECT_TRUE(run("s_cmp_lt_i32 s2, s4", 0xffffffff, 0).scc);
  EXPECT_FALSE(run("s_cmp_lt_u32 s2, s4", 0xffffffff, 0).scc);
  EXPECT_TRUE(run("s_cmpk_eq_i32 s2, 0xffff", 0xffffffff).scc);
  EXPECT_FALSE(run("s_cmpk_eq_u32 s2, 0xffff", 0xffffffff).scc);
  EXPECT_TRUE(run("s_cmp_lg_u64 s[2:3], s[4:5]", uint64_t(1) << 40, 0).scc);
  EXPECT_TRUE(run("s_bitcmp0_b64 s[2:3], s4", ~(uint64_t(1) << 45), 45).scc);
  EXPECT_EQ(run("s_cselect_b32 s0, s2, s4", 1, 2, true).value, 1u);
  EXPECT_EQ(run("s_cselect_b64 s[0:1], s[2:3], -1", 1, 2, false).value, ~uint64_t(0));
  EXPECT_EQ(run("s_cmov_b32 s0, s2", 1, 0, false, 9).value, 9u);
  EXPECT_EQ(run("s_cmovk_i32 s0, 0x8000", 0, 0, true, 9).value, 0xffff8000u);
  EXPECT_EQ(run("s_movk_i32 s0, 0x8000").value, 0xffff8000u);
}

TEST(Scalar, ExecMasks) {
  auto wave = makeTestWave();
  wave->setExec(0xff);
  wave->setScalar64(2, 0xf0f0);
  executeText(*wave, "s_and_saveexec_b64 s[0:1], s[2:3]");
  EXPECT_EQ(wave->exec(), 0xf0u);
  EXPECT_EQ(wave->scalar64(0), 0xffu);
  EXPECT_TRUE(wave->scc);
  executeText(*wave, "s_andn2_saveexec_b64 s[0:1], exec");
  EXPECT_EQ(wave->exec(), 0u);
  EXPECT_FALSE(wave->scc);
  wave->setExec(0xff);
  executeText(*wave, "s_andn1_wrexec_b64 s[0:1], s[2:3]");
  EXPECT_EQ(wave->exec(), 0x0fu);
  EXPECT_EQ(wave->scalar64(0), 0x0fu);
}

TEST(Scalar, JumpsCountFromTheNextInstruction) {
  auto wave = makeTestWave();
  executeText(*wave, "s_branch 65519");
  EXPECT_EQ(int64_t(wave->pc), 4 - 17 * 4);
  wave->scc = true;
  executeText(*wave, "s_cbranch_scc0 3");
  EXPECT_EQ(wave->pc, 4u);
  executeText(*wave, "s_cbranch_scc1 3");
  EXPECT_EQ(wave->pc, 16u);
  wave->setExec(0);
  executeText(*wave, "s_cbranch_execz 1");
  EXPECT_EQ(wave->pc, 8u);
  wave->setScalar64(2, 0x1000);
  executeText(*wave, "s_swappc_b64 s[2:3], s[2:3]");
  EXPECT_EQ(wave->pc, 0x1000u);
  EXPECT_EQ(wave->scalar64(2), 4u);
}

TEST(Scalar, FieldsOfHardwareRegisters) {
  auto wave = makeTestWave();
  wave->mode = 0x3f0;
  executeText(*wave, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 3), 0x9\ns_getreg_b32 s0, hwreg(HW_REG_MODE, 4, 4)");
  EXPECT_EQ(wave->mode, 0x390u);
  EXPECT_EQ(wave->s[0], 9u);
  wave->s[2] = 3;
  executeText(*wave, "s_setreg_b32 hwreg(HW_REG_MODE, 0, 2), s2");
  EXPECT_EQ(wave->mode, 0x393u);
  EXPECT_THROW(executeText(*wave, "s_getreg_b32 s0, hwreg(HW_REG_SH_MEM_BASES)"), Fault);
}

} // namespace
} // namespace heddle::simulator
