// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions between lanes, and single ones whose results are known from the manual.
#include "simulator/decode/TestAssembler.h"
#include "simulator/instructions/LaneMoves.h"
#include "simulator/memory/MemoryPort.h"
#include <gtest/gtest.h>

namespace heddle::simulator {
namespace {

void fill(Wave &wave, unsigned row, uint32_t value) {
  std::fill_n(wave.v[row], waveLanes, value);
}
/// Row `row` holds start + lane.
void count(Wave &wave, unsigned row, uint32_t start) {
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    wave.v[row][lane] = start + lane;
}
/// A wave with a memory, through whose queue of LDS operations permutes go.
struct WithMemory {
  MemorySystem system;
  MemoryPort port{system, {}};
  std::unique_ptr<Wave> wave = makeTestWave();
  WithMemory() { wave->memory = &port; }
};
uint32_t bits(float value) {
  return std::bit_cast<uint32_t>(value);
}

TEST(Lanes, ReadAndWriteOne) {
  auto wave = makeTestWave();
  count(*wave, 1, 100);
  wave->setExec(0xF0);
  wave->s[5] = 70; // counts as 6
  executeText(*wave, "v_readfirstlane_b32 s1, v1\nv_readlane_b32 s2, v1, s5\nv_writelane_b32 v2, s2, 63");
  EXPECT_EQ(wave->s[1], 104u);
  EXPECT_EQ(wave->s[2], 106u);
  EXPECT_EQ(wave->v[2][63], 106u);
  wave->setExec(0);
  executeText(*wave, "v_readfirstlane_b32 s1, v1");
  EXPECT_EQ(wave->s[1], 100u);
}

TEST(Lanes, SwapsOfRows) {
  auto wave = makeTestWave();
  count(*wave, 1, 100), count(*wave, 2, 200), count(*wave, 3, 100), count(*wave, 4, 200);
  executeText(*wave, "v_permlane32_swap_b32 v1, v2\nv_permlane16_swap_b32 v3, v4", "gfx950");
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    EXPECT_EQ(wave->v[1][lane], lane < 32 ? 100 + lane : 200 + lane - 32);
    EXPECT_EQ(wave->v[2][lane], lane < 32 ? 100 + lane + 32 : 200 + lane);
    EXPECT_EQ(wave->v[3][lane], lane & 16 ? 200 + lane - 16 : 100 + lane);
    EXPECT_EQ(wave->v[4][lane], lane & 16 ? 200 + lane : 100 + lane + 16);
  }
}

TEST(Lanes, SwapsLeaveInactiveLanes) {
  auto wave = makeTestWave();
  count(*wave, 1, 100), count(*wave, 2, 200);
  wave->setExec(1); // lane 0 of v2 gets lane 32 of v1, which itself stays
  executeText(*wave, "v_permlane32_swap_b32 v1, v2", "gfx950");
  EXPECT_EQ(wave->v[2][0], 132u);
  EXPECT_EQ(wave->v[1][32], 132u);
  EXPECT_EQ(wave->v[2][1], 201u);
}

TEST(Lanes, PermutesByAddress) {
  WithMemory memory;
  auto &wave = memory.wave;
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    wave->v[1][lane] = 4 * ((lane + 1) % waveLanes);
  count(*wave, 2, 500);
  wave->setExec(allLanes & ~2ull);
  executeText(*wave, "ds_bpermute_b32 v3, v1, v2\nds_permute_b32 v4, v1, v2\nds_bpermute_b32 v5, v1, v2 offset:4");
  EXPECT_EQ(wave->v[3][0], 0u) << "lane 1 is inactive";
  EXPECT_EQ(wave->v[3][5], 506u);
  EXPECT_EQ(wave->v[3][63], 500u);
  EXPECT_EQ(wave->v[4][2], 0u) << "lane 1 sends nothing";
  EXPECT_EQ(wave->v[4][6], 505u);
  EXPECT_EQ(wave->v[5][5], 507u);
}

TEST(Lanes, SwizzlePatterns) {
  WithMemory memory;
  auto &wave = memory.wave;
  count(*wave, 1, 0);
  executeText(*wave, R"(ds_swizzle_b32 v2, v1 offset:swizzle(QUAD_PERM, 3, 2, 1, 0)
                        ds_swizzle_b32 v3, v1 offset:swizzle(SWAP, 16)
                        ds_swizzle_b32 v4, v1 offset:swizzle(REVERSE, 8)
                        ds_swizzle_b32 v5, v1 offset:swizzle(BROADCAST, 8, 5))");
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    EXPECT_EQ(wave->v[2][lane], lane ^ 3);
    EXPECT_EQ(wave->v[3][lane], lane ^ 16);
    EXPECT_EQ(wave->v[4][lane], lane ^ 7);
    EXPECT_EQ(wave->v[5][lane], (lane & ~7u) + 5);
    EXPECT_EQ(swizzleSourceLane(0xC000 | 3 << 5, lane), (lane & 32) | ((lane + 3) & 31)); // rotate
    EXPECT_EQ(swizzleSourceLane(0xE01F, lane), lane);                                     // Fourier, none
  }
  EXPECT_EQ(swizzleSourceLane(0xE000, 1), 16u);
  EXPECT_EQ(swizzleSourceLane(0xE000, 3), 24u);
}

TEST(Values, CarriesAndSelects) {
  auto wave = makeTestWave();
  fill(*wave, 1, 0xFFFFFFFFu), fill(*wave, 2, 1), fill(*wave, 3, 7), fill(*wave, 4, 9);
  fill(*wave, 20, 7), fill(*wave, 21, 9);
  wave->v[2][3] = 0;
  wave->setExec(0xFF);
  executeText(*wave, R"(v_add_co_u32 v5, vcc, v1, v2
                        v_addc_co_u32 v6, vcc, v3, v4, vcc
                        v_add_co_u32 v7, s[10:11], v1, v2
                        v_cndmask_b32 v8, v3, v4, s[10:11]
                        v_sub_co_u32 v9, vcc, v2, v1
                        v_mad_u64_u32 v[10:11], s[12:13], v1, v1, v[20:21])");
  EXPECT_EQ(wave->v[5][0], 0u);
  EXPECT_EQ(wave->v[5][3], 0xFFFFFFFFu);
  EXPECT_EQ(wave->v[6][0], 17u);
  EXPECT_EQ(wave->v[6][3], 16u);
  EXPECT_EQ(wave->scalar64(10), 0xF7u);
  EXPECT_EQ(wave->v[8][0], 9u);
  EXPECT_EQ(wave->v[8][3], 7u);
  EXPECT_EQ(wave->v[8][8], 0u) << "inactive";
  EXPECT_EQ(wave->vcc(), 0xFFu);
  uint64_t exact = 0xFFFFFFFFull * 0xFFFFFFFFull + (9ull << 32 | 7);
  EXPECT_EQ(uint64_t(wave->v[11][0]) << 32 | wave->v[10][0], exact);
  EXPECT_EQ(wave->scalar64(12), 0xFFu);
}

TEST(Values, ComparesFollowExec) {
  auto wave = makeTestWave();
  count(*wave, 1, 0);
  wave->setExec(0xFFFF);
  executeText(*wave, "v_cmp_gt_u32 vcc, 5, v1\nv_cmp_ne_u32 s[2:3], 5, v1\nv_cmpx_lt_u32 s[4:5], 9, v1");
  EXPECT_EQ(wave->vcc(), 0x1Fu);
  EXPECT_EQ(wave->scalar64(2), 0xFFDFu);
  EXPECT_EQ(wave->scalar64(4), 0xFC00u);
  EXPECT_EQ(wave->exec(), 0xFC00u);
}

TEST(Values, BytesAndBits) {
  auto wave = makeTestWave();
  fill(*wave, 1, 0x80706050u), fill(*wave, 2, 0x44332211u), fill(*wave, 3, 0x0C0D0804u), fill(*wave, 4, 0x0B000705u);
  executeText(*wave, R"(v_perm_b32 v5, v1, v2, v3
                        v_perm_b32 v6, v1, v2, v4
                        v_bitop3_b32 v7, v1, v2, v3 bitop3:0xca
                        v_bfe_i32 v8, v1, 28, 4
                        v_ffbh_i32 v9, v1
                        v_alignbit_b32 v10, v1, v2, 8
                        v_mbcnt_lo_u32_b32 v11, -1, 0
                        v_mbcnt_hi_u32_b32 v11, -1, v11
                        v_bfrev_b32 v12, v2
                        v_prng_b32 v13, v1)",
              "gfx950");
  EXPECT_EQ(wave->v[5][0], 0x00FF0050u);
  EXPECT_EQ(wave->v[6][0], 0xFF118060u);
  EXPECT_EQ(wave->v[7][0], (0x80706050u & 0x44332211u) | (~0x80706050u & 0x0C0D0804u));
  EXPECT_EQ(wave->v[8][0], 0xFFFFFFF8u);
  EXPECT_EQ(wave->v[9][0], 1u);
  EXPECT_EQ(wave->v[10][0], 0x50443322u);
  EXPECT_EQ(wave->v[11][37], 37u);
  EXPECT_EQ(wave->v[12][0], 0x8844CC22u);
  EXPECT_EQ(wave->v[13][0], 0x00E0C0A0u ^ 0xC5u);
}

TEST(Values, FacesOfCubes) {
  auto wave = makeTestWave();
  fill(*wave, 1, bits(1)), fill(*wave, 2, bits(-3)), fill(*wave, 3, bits(2));
  executeText(*wave, R"(v_cubeid_f32 v4, v1, v2, v3
                        v_cubesc_f32 v5, v1, v2, v3
                        v_cubetc_f32 v6, v1, v2, v3
                        v_cubema_f32 v7, v1, v2, v3
                        v_cubeid_f32 v8, v2, v1, v2)");
  EXPECT_EQ(wave->v[4][0], bits(3));
  EXPECT_EQ(wave->v[5][0], bits(1));
  EXPECT_EQ(wave->v[6][0], bits(-2));
  EXPECT_EQ(wave->v[7][0], bits(-6));
  EXPECT_EQ(wave->v[8][0], bits(5)) << "of equal ones z";
}

TEST(Values, DivisionWithImplicitVcc) {
  auto wave = makeTestWave();
  fill(*wave, 1, bits(3)), fill(*wave, 2, bits(2)), fill(*wave, 3, bits(4));
  wave->setVcc(1);
  executeText(*wave, "v_div_fmas_f32 v4, v1, v2, v3\nv_div_scale_f32 v5, s[2:3], v3, v3, v1");
  EXPECT_EQ(wave->v[4][0], bits(0x1p64f * 10)) << "the quotient was scaled down";
  EXPECT_EQ(wave->v[4][1], bits(10));
  EXPECT_EQ(wave->v[5][0], bits(4));
  EXPECT_EQ(wave->scalar64(2), 0u);
}

/// x * 1 + x, as Triton makes it of a sum of f16.
TEST(MixedPrecision, InlineConstantsOfHalves) {
  auto wave = makeTestWave();
  fill(*wave, 1, 0x42003E00); // 3 and 1.5
  executeText(*wave, "v_fma_mix_f32 v0, v1, 1.0, v1 op_sel_hi:[1,1,1]");
  EXPECT_EQ(wave->v[0][5], bits(3));
  executeText(*wave, "v_fma_mix_f32 v0, v1, -4.0, 0.5 op_sel:[1,0,0] op_sel_hi:[1,1,1]");
  EXPECT_EQ(wave->v[0][5], bits(-11.5f));
  executeText(*wave, "v_fma_mix_f32 v0, v1, 2.0, 1.0 op_sel_hi:[1,0,0]");
  EXPECT_EQ(wave->v[0][5], bits(4)) << "constants of f32";
  executeText(*wave, "v_fma_mixlo_f16 v0, v1, 1.0, 0 op_sel_hi:[1,1,1]");
  EXPECT_EQ(wave->v[0][5] & 0xffff, 0x3E00u);
}

} // namespace
} // namespace heddle::simulator
