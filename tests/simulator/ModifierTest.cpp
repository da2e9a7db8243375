// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What stands after the operands: negation, clamp, omod, op_sel, packed selections, SDWA, DPP, and what MODE does.
#include "simulator/decode/TestAssembler.h"
#include "simulator/instructions/LaneModifiers.h"
#include "simulator/numbers/FloatFormats.h"
#include <gtest/gtest.h>
#include <random>

namespace heddle::simulator {
namespace {

void fill(Wave &wave, unsigned row, uint32_t value) {
  std::fill_n(wave.v[row], waveLanes, value);
}
uint32_t bits(float value) {
  return std::bit_cast<uint32_t>(value);
}
constexpr uint32_t one = 0x3C00, two = 0x4000, three = 0x4200, five = 0x4500; // of f16

TEST(Modifiers, SignsAndResults) {
  auto wave = makeTestWave();
  fill(*wave, 1, bits(-3)), fill(*wave, 2, bits(0.25f)), fill(*wave, 3, 0xFFFFFFF0u), fill(*wave, 4, 0x7FC00000u);
  executeText(*wave, R"(v_add_f32 v5, -v1, |v2|
                        v_add_f32 v6, -|v1|, v2 mul:4
                        v_mul_f32 v7, v1, v1 clamp
                        v_mul_f32 v8, v1, v2 clamp
                        v_mul_f32 v9, v1, v2 div:2
                        v_add_u32 v10, v3, 0x20 clamp
                        v_sub_u32 v11, 1, v3 clamp
                        v_add_i32 v12, v3, v3 clamp
                        v_add_f32 v13, v4, v4 clamp
                        v_add_u32 v14, v3, 32)");
  EXPECT_EQ(wave->v[5][0], bits(3.25f));
  EXPECT_EQ(wave->v[6][0], bits(-11));
  EXPECT_EQ(wave->v[7][0], bits(1));
  EXPECT_EQ(wave->v[8][0], bits(0));
  EXPECT_EQ(wave->v[9][0], bits(-0.375f));
  EXPECT_EQ(wave->v[10][0], 0xFFFFFFFFu);
  EXPECT_EQ(wave->v[11][0], 0u);
  EXPECT_EQ(wave->v[12][0], 0xFFFFFFE0u);
  EXPECT_EQ(wave->v[13][0], 0u) << "NaN under DX10_CLAMP";
  EXPECT_EQ(wave->v[14][0], 0x10u);
}

TEST(Modifiers, HalvesOfRegisters) {
  auto wave = makeTestWave();
  fill(*wave, 1, two << 16 | one), fill(*wave, 2, five << 16 | three), fill(*wave, 5, 0xAAAABBBBu);
  for (unsigned row = 6; row < 12; ++row)
    fill(*wave, row, 0xAAAABBBBu);
  executeText(*wave, R"(v_add_f16 v5, v1, v2
                        v_max3_f16 v6, v1, v2, v1 op_sel:[0,1,0,0]
                        v_max3_f16 v7, v1, v2, v1 op_sel:[1,0,0,1]
                        v_pack_b32_f16 v8, v1, v2 op_sel:[1,1]
                        v_pk_add_f16 v9, v1, v2
                        v_pk_add_f16 v10, v1, v2 op_sel:[1,0] op_sel_hi:[0,1] neg_lo:[0,1]
                        v_pk_add_f16 v11, v1, 1.0 op_sel_hi:[1,0])");
  EXPECT_EQ(wave->v[5][0], 0x4400u) << "the other half is cleared";
  EXPECT_EQ(wave->v[6][0], 0xAAAA0000u | five);
  EXPECT_EQ(wave->v[7][0], three << 16 | 0xBBBBu);
  EXPECT_EQ(wave->v[8][0], five << 16 | two);
  EXPECT_EQ(wave->v[9][0], 0x47004400u);
  EXPECT_EQ(wave->v[10][0], 0x4600BC00u);
  EXPECT_EQ(wave->v[11][0], three << 16 | two);
}

TEST(Modifiers, PackedWordsAndMixtures) {
  auto wave = makeTestWave();
  fill(*wave, 2, bits(2)), fill(*wave, 3, bits(3)), fill(*wave, 4, bits(10)), fill(*wave, 5, bits(20));
  fill(*wave, 6, two << 16 | one), fill(*wave, 20, 0xAAAABBBBu);
  executeText(*wave, R"(v_pk_add_f32 v[8:9], v[2:3], v[4:5]
                        v_pk_mul_f32 v[10:11], v[2:3], v[4:5] op_sel:[1,0] op_sel_hi:[0,1] neg_hi:[1,0]
                        v_pk_mov_b32 v[12:13], v[2:3], v[4:5] op_sel:[1,0]
                        v_fma_mix_f32 v14, v6, v2, -v3 op_sel:[1,0,0] op_sel_hi:[1,0,0]
                        v_fma_mixhi_f16 v20, v2, v3, v6 op_sel_hi:[0,0,1]
                        v_dot2_f32_f16 v15, v6, v6, v2
                        v_dot4_i32_i8 v16, v17, v18, v19)");
  EXPECT_EQ(wave->v[8][0], bits(12));
  EXPECT_EQ(wave->v[9][0], bits(23));
  EXPECT_EQ(wave->v[10][0], bits(30));
  EXPECT_EQ(wave->v[11][0], bits(-40));
  EXPECT_EQ(wave->v[12][0], bits(3));
  EXPECT_EQ(wave->v[13][0], bits(10));
  EXPECT_EQ(wave->v[14][0], bits(1));
  EXPECT_EQ(wave->v[20][0], 0x4700BBBBu);
  EXPECT_EQ(wave->v[15][0], bits(7));
}

TEST(Modifiers, PartsByName) { // SDWA
  auto wave = makeTestWave();
  fill(*wave, 1, 0x80FF7F01u), fill(*wave, 2, 0x00000010u);
  for (unsigned row = 3; row < 7; ++row)
    fill(*wave, row, 0xAABBCCDDu);
  executeText(*wave,
              R"(v_add_u32_sdwa v3, v1, v2 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_2 src1_sel:DWORD
                        v_add_u32_sdwa v4, sext(v1), v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_3 src1_sel:DWORD
                        v_add_u16_sdwa v5, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_0 src1_sel:DWORD
                        v_add_u32_sdwa v6, v1, v2 dst_sel:BYTE_0 dst_unused:UNUSED_SEXT src0_sel:BYTE_1 src1_sel:DWORD)");
  EXPECT_EQ(wave->v[3][0], 0xAABB0FDDu);
  EXPECT_EQ(wave->v[4][0], 0xFFFFFF90u);
  EXPECT_EQ(wave->v[5][0], 0x7F110000u);
  EXPECT_EQ(wave->v[6][0], 0xFFFFFF8Fu);
}

/// v1 is the lane's number, and v2, the destination, 1000.
std::unique_ptr<Wave> moved(const std::string &control, uint64_t exec = allLanes) {
  auto wave = makeTestWave();
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    wave->v[1][lane] = lane, wave->v[2][lane] = 1000;
  wave->setExec(exec);
  executeText(*wave, "v_mov_b32_dpp v2, v1 " + control);
  return wave;
}

TEST(Modifiers, LanesOfOtherLanes) { // DPP
  auto shifted = moved("row_shr:1"), zeroed = moved("row_shr:1 bound_ctrl:1"), masked = moved("row_shl:1 row_mask:0xa");
  auto broadcast = moved("row_bcast:15 row_mask:0xa"), half = moved("row_bcast:31 row_mask:0xc");
  auto quads = moved("quad_perm:[1,0,3,2] bank_mask:0x5"), each = moved("row_newbcast:3"), mirror = moved("row_mirror");
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    unsigned row = lane / 16, place = lane % 16;
    EXPECT_EQ(shifted->v[2][lane], place ? lane - 1 : 1000);
    EXPECT_EQ(zeroed->v[2][lane], place ? lane - 1 : 0);
    EXPECT_EQ(masked->v[2][lane], row % 2 && place < 15 ? lane + 1 : 1000);
    EXPECT_EQ(broadcast->v[2][lane], row % 2 ? 16 * row - 1 : 1000);
    EXPECT_EQ(half->v[2][lane], row > 1 ? 31 : 1000);
    EXPECT_EQ(quads->v[2][lane], lane / 4 % 2 ? 1000 : lane ^ 1);
    EXPECT_EQ(each->v[2][lane], 16 * row + 3);
    EXPECT_EQ(mirror->v[2][lane], lane ^ 15);
  }
}

TEST(Modifiers, InactiveSourceLanesAreInvalid) {
  auto kept = moved("row_ror:1", 0xFFFE), zeroed = moved("row_ror:1 bound_ctrl:1", 0xFFFE);
  EXPECT_EQ(kept->v[2][1], 1000u);
  EXPECT_EQ(zeroed->v[2][1], 0u);
  EXPECT_EQ(kept->v[2][2], 1u);
  EXPECT_EQ(kept->v[2][0], 1000u) << "inactive itself";
}

TEST(Modifiers, RoundingAndDenormalsOfMode) {
  auto wave = makeTestWave();
  fill(*wave, 1, bits(1)), fill(*wave, 2, bits(1e-10f)), fill(*wave, 3, 3), fill(*wave, 4, 0x7FA00000u);
  auto result = [&](uint32_t mode, const char *text) {
    wave->mode = mode;
    executeText(*wave, text);
    return wave->v[5][0];
  };
  EXPECT_EQ(result(usualMode, "v_add_f32 v5, v1, v2"), bits(1));
  EXPECT_EQ(result(usualMode | 1, "v_add_f32 v5, v1, v2"), bits(1) + 1);
  EXPECT_EQ(result(usualMode | 3, "v_sub_f32 v5, v1, v2"), bits(1) - 1);
  EXPECT_EQ(result(usualMode | 4, "v_add_f32 v5, v1, v2"), bits(1)) << "the field of f16 and f64";
  EXPECT_EQ(result(usualMode, "v_add_f32 v5, v3, v3"), 6u);
  EXPECT_EQ(result(usualMode & ~0x10u, "v_add_f32 v5, v3, v3"), 0u);
  EXPECT_EQ(result(usualMode & ~0x20u, "v_add_f32 v5, v3, v3"), 0u);
  EXPECT_EQ(result(usualMode, "v_max_f32 v5, v4, v1"), 0x7FE00000u) << "IEEE: the signalling NaN comes out quiet";
  EXPECT_EQ(result(usualMode & ~uint32_t(ieeeMode), "v_max_f32 v5, v4, v1"), bits(1));
}

TEST(Modifiers, HalvesRoundOnceInEachMode) {
  std::mt19937 random(4);
  auto wave = makeTestWave();
  for (unsigned row = 1; row < 4; ++row)
    for (uint32_t &lane : wave->v[row]) // around 1, so that sums have bits to cut
      lane = 0x3000 + random() % 0x1800 + (random() % 2) * 0x8000;
  for (uint32_t mode = 0; mode < 4; ++mode) {
    wave->mode = usualMode | mode << 2;
    executeText(*wave, R"(v_add_f16 v4, v1, v2
                          v_mul_f16 v5, v1, v2
                          v_fma_f16 v6, v1, v2, v3
                          v_pk_add_f16 v7, v1, v2)");
    for (unsigned lane = 0; lane < waveLanes; ++lane) {
      double a = decodeFloat(f16, wave->v[1][lane]), b = decodeFloat(f16, wave->v[2][lane]);
      double c = decodeFloat(f16, wave->v[3][lane]); // a * b + c is exact in double here
      auto rounded = [&](double exact) { return encodeFloat(f16, exact, Overflow::Special, Rounding(mode)) & 0x7FFF; };
      EXPECT_EQ(wave->v[4][lane] & 0x7FFF, rounded(a + b)) << mode; // the sign of a zero depends on the mode
      EXPECT_EQ(wave->v[5][lane] & 0x7FFF, rounded(a * b)) << mode;
      EXPECT_EQ(wave->v[6][lane] & 0x7FFF, rounded(a * b + c)) << mode;
      EXPECT_EQ(wave->v[7][lane] & 0x7FFF, rounded(a + b)) << mode;
    }
  }
}

TEST(Modifiers, SmallFloatsByChip) {
  for (const char *chip : {"gfx942", "gfx950"}) {
    auto wave = makeTestWave();
    fill(*wave, 1, bits(1)), fill(*wave, 2, bits(-1000)), fill(*wave, 3, 0xAAAABBBBu), fill(*wave, 4, 0xAAAABBBBu);
    executeText(*wave, R"(v_cvt_pk_fp8_f32 v3, v1, v2
                          v_cvt_pk_fp8_f32 v4, v1, v1 op_sel:[0,0,1]
                          v_cvt_f32_fp8_sdwa v5, v4 src0_sel:BYTE_3
                          v_cvt_pk_f32_fp8_sdwa v[6:7], v4 src0_sel:WORD_1)",
                chip);
    bool ocp = std::string_view(chip) == "gfx950";
    EXPECT_EQ(wave->v[3][0], ocp ? 0xAAAAFF38u : 0xAAAA8040u) << chip;
    EXPECT_EQ(wave->v[4][0], ocp ? 0x3838BBBBu : 0x4040BBBBu) << chip;
    EXPECT_EQ(wave->v[5][0], bits(1));
    EXPECT_EQ(wave->v[7][0], bits(1));
    wave->mode |= saturateSmallFloats;
    executeText(*wave, "v_cvt_pk_fp8_f32 v3, v1, v2", chip);
    EXPECT_EQ(wave->v[3][0], ocp ? 0xAAAAFE38u : 0xAAAAFF40u) << chip;
  }
}

TEST(Modifiers, ScaledConversions) {
  auto wave = makeTestWave();
  fill(*wave, 1, bits(4)), fill(*wave, 2, bits(-12)), fill(*wave, 3, bits(2.7f)), fill(*wave, 4, 0xAABBCCDDu);
  fill(*wave, 5, 0x38000000u), fill(*wave, 8, 0xAABBCCDDu), fill(*wave, 9, two << 16 | one);
  executeText(*wave, R"(v_cvt_scalef32_pk_fp4_f32 v4, v1, v2, v3 op_sel:[0,0,0,1]
                        v_cvt_scalef32_f32_fp8 v6, v5, v3 op_sel:[1,1,0]
                        v_cvt_scalef32_pk_f32_fp4 v[10:11], v4, v3 op_sel:[0,1,0]
                        v_cvt_scalef32_pk_fp8_f16 v8, v9, v3 op_sel:[0,0,1]
                        v_cvt_scalef32_pk_bf16_fp4 v12, v4, v3 op_sel:[0,1,0])",
              "gfx950"); // the scale counts as 2
  EXPECT_EQ(wave->v[4][0], 0xAAF4CCDDu) << "2 and -6 in byte 2";
  EXPECT_EQ(wave->v[6][0], bits(2));
  EXPECT_EQ(wave->v[10][0], bits(4));
  EXPECT_EQ(wave->v[11][0], bits(-12));
  EXPECT_EQ(wave->v[8][0], 0x3830CCDDu);
  EXPECT_EQ(wave->v[12][0], 0xC1404080u);
}

TEST(Modifiers, ThirtyTwoScaledAtOnce) {
  auto wave = makeTestWave();
  for (unsigned index = 0; index < 32; ++index)
    fill(*wave, 20 + index, bits(float(index % 8)));
  fill(*wave, 1, bits(1));
  executeText(*wave, R"(v_cvt_scalef32_2xpk16_fp6_f32 v[2:7], v[20:35], v[36:51], v1
                        v_cvt_scalef32_pk32_f32_fp6 v[60:91], v[2:7], v1
                        v_cvt_scalef32_sr_pk32_fp6_f32 v[10:15], v[20:51], v19, v1
                        v_cvt_scalef32_pk32_f16_fp6 v[100:115], v[10:15], v1)",
              "gfx950");
  for (unsigned index = 0; index < 32; ++index) // the two sources of 16 alternate
    EXPECT_EQ(wave->v[60 + index][5], bits(float(index / 2 % 8))) << index;
  EXPECT_EQ(wave->v[100][5], one << 16);
  EXPECT_EQ(wave->v[101][5], three << 16 | two);
}

} // namespace
} // namespace heddle::simulator
