// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes of matrix instructions: LLVM's scheduling model against the tables of the ISA documents, and both against the
// peaks of the data sheets.
#include "simulator/timing/TimedInstruction.h"
#include "simulator/decode/TestAssembler.h"
#include "simulator/timing/TestPeaks.h"
#include <gtest/gtest.h>

namespace heddle::simulator {
namespace {

struct MatrixCase {
  const char *text;
  unsigned passes; ///< AMD Instinct MI300 and CDNA4 Instruction Set Architecture, matrix instructions
  uint64_t operations;
  const char *peak; ///< of the data sheet; null: below it
};

const MatrixCase cdna3[] = {
    {"v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]", 8, 16384, "f16"},
    {"v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]", 4, 8192, "f16"},
    {"v_mfma_f32_32x32x8_bf16 a[0:15], v[0:1], v[2:3], a[0:15]", 8, 16384, "bf16"},
    {"v_mfma_f32_16x16x16_bf16 a[0:3], v[0:1], v[2:3], a[0:3]", 4, 8192, "bf16"},
    {"v_mfma_f32_32x32x16_fp8_fp8 a[0:15], v[0:1], v[2:3], a[0:15]", 8, 32768, "fp8"},
    {"v_mfma_f32_16x16x32_fp8_bf8 a[0:3], v[0:1], v[2:3], a[0:3]", 4, 16384, "fp8"},
    {"v_mfma_i32_32x32x16_i8 a[0:15], v[0:1], v[2:3], a[0:15]", 8, 32768, "i8"},
    {"v_mfma_i32_16x16x32_i8 a[0:3], v[0:1], v[2:3], a[0:3]", 4, 16384, "i8"},
    {"v_mfma_f32_32x32x4_xf32 a[0:15], v[0:1], v[2:3], a[0:15]", 8, 8192, "tf32"},
    {"v_mfma_f32_16x16x8_xf32 a[0:3], v[0:1], v[2:3], a[0:3]", 4, 4096, "tf32"},
    {"v_mfma_f32_32x32x2_f32 a[0:15], v0, v1, a[0:15]", 16, 4096, "f32"},
    {"v_mfma_f32_16x16x4_f32 a[0:3], v0, v1, a[0:3]", 8, 2048, "f32"},
    {"v_mfma_f64_16x16x4_f64 a[0:7], v[0:1], v[2:3], a[0:7]", 8, 2048, "f64"},
    {"v_mfma_f32_4x4x4_16b_f16 a[0:3], v[0:1], v[2:3], a[0:3]", 2, 2048, nullptr},
    {"v_mfma_f32_32x32x4_2b_f16 a[0:31], v[0:1], v[2:3], a[0:31]", 16, 16384, nullptr},
};

const MatrixCase cdna4[] = {
    {"v_mfma_f32_32x32x16_f16 a[0:15], v[0:3], v[4:7], a[0:15]", 8, 32768, "f16"},
    {"v_mfma_f32_16x16x32_f16 a[0:3], v[0:3], v[4:7], a[0:3]", 4, 16384, "f16"},
    {"v_mfma_f32_32x32x16_bf16 a[0:15], v[0:3], v[4:7], a[0:15]", 8, 32768, "bf16"},
    {"v_mfma_f32_16x16x32_bf16 a[0:3], v[0:3], v[4:7], a[0:3]", 4, 16384, "bf16"},
    {"v_mfma_i32_32x32x32_i8 a[0:15], v[0:3], v[4:7], a[0:15]", 8, 65536, "i8"},
    {"v_mfma_i32_16x16x64_i8 a[0:3], v[0:3], v[4:7], a[0:3]", 4, 32768, "i8"},
    {"v_mfma_f32_32x32x64_f8f6f4 a[0:15], v[0:7], v[8:15], a[0:15]", 16, 131072, "fp8"},
    {"v_mfma_f32_16x16x128_f8f6f4 a[0:3], v[0:7], v[8:15], a[0:3]", 8, 65536, "fp8"},
    {"v_mfma_f32_32x32x64_f8f6f4 a[0:15], v[0:5], v[8:13], a[0:15] cbsz:2 blgp:2", 8, 131072, "fp6"},
    {"v_mfma_f32_32x32x64_f8f6f4 a[0:15], v[0:3], v[8:11], a[0:15] cbsz:4 blgp:4", 8, 131072, "fp4"},
    {"v_mfma_f32_16x16x128_f8f6f4 a[0:3], v[0:3], v[8:11], a[0:3] cbsz:4 blgp:4", 4, 65536, "fp4"},
    {"v_mfma_f32_32x32x64_f8f6f4 a[0:15], v[0:7], v[8:11], a[0:15] blgp:4", 16, 131072, nullptr},
    {"v_mfma_scale_f32_32x32x64_f8f6f4 a[0:15], v[0:3], v[8:11], a[0:15], v20, v21 cbsz:4 blgp:4", 8, 131072, "fp4"},
    {"v_mfma_f32_32x32x2_f32 a[0:15], v0, v1, a[0:15]", 16, 4096, "f32"},
    {"v_mfma_f64_16x16x4_f64 a[0:7], v[0:1], v[2:3], a[0:7]", 16, 2048, "f64"},
    {"v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]", 8, 16384, nullptr},
};

TimedInstruction timed(const Chip &chip, const std::string &text) {
  Disassembler disassembler(chip.processor);
  return timedInstructionOf(decodeText(chip.processor, text)[0], timingOf(chip),
                            disassembler.schedulingOf(assemble(chip.processor, text)));
}

/// Of a chip whose matrix units do nothing else.
double operationsPerSecond(const Chip &chip, const TimedInstruction &instruction) {
  return double(instruction.operations) / instruction.busyCycles * chip.unit.simds * chip.computeUnits *
         timingOf(chip).clockHz;
}

void check(const Chip &chip, std::span<const MatrixCase> cases) {
  for (const MatrixCase &each : cases) {
    SCOPED_TRACE(each.text);
    TimedInstruction instruction = timed(chip, each.text);
    EXPECT_EQ(instruction.kind, InstructionKind::Matrix);
    EXPECT_EQ(instruction.busyCycles, 4 * each.passes);
    EXPECT_GE(instruction.latencyCycles, instruction.busyCycles + 4);
    EXPECT_EQ(instruction.operations, each.operations);
    EXPECT_GT(instruction.accumulatorWords, 0u);
    if (each.peak) {
      EXPECT_NEAR(operationsPerSecond(chip, instruction) / matrixPeak(chip, each.peak), 1, 0.01);
    }
  }
}

TEST(TimedInstruction, PassesOfCdna3) {
  check(lookupChip("gfx942"), cdna3);
}

TEST(TimedInstruction, PassesOfCdna4) {
  check(lookupChip("gfx950"), cdna4);
}

TEST(TimedInstruction, VectorUnit) {
  const Chip &chip = lookupChip("gfx942"), &later = lookupChip("gfx950");
  for (const char *text : {"v_add_f32 v0, v1, v2", "v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]",
                           "v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]"})
    EXPECT_EQ(timed(chip, text).busyCycles, 4u) << text;
  EXPECT_EQ(timed(chip, "v_exp_f32 v0, v1").busyCycles, 16u);
  EXPECT_EQ(timed(later, "v_exp_f32 v0, v1").busyCycles, 8u);
  EXPECT_EQ(timed(later, "v_exp_f32 v0, v1").latencyCycles, 16u);
}

TEST(TimedInstruction, KindsAndIdleCycles) {
  const Chip &chip = lookupChip("gfx942");
  auto kind = [&](const char *text) { return timed(chip, text).kind; };
  EXPECT_EQ(kind("s_add_u32 s0, s1, s2"), InstructionKind::Scalar);
  EXPECT_EQ(kind("s_load_dwordx2 s[0:1], s[2:3], 0x0"), InstructionKind::ScalarMemory);
  EXPECT_EQ(kind("ds_read_b128 v[0:3], v4"), InstructionKind::Lds);
  EXPECT_EQ(kind("buffer_load_dword v0, v1, s[0:3], 0 offen"), InstructionKind::Memory);
  EXPECT_EQ(kind("s_cbranch_scc0 0"), InstructionKind::Branch);
  EXPECT_EQ(kind("s_waitcnt vmcnt(3)"), InstructionKind::Wait);
  EXPECT_EQ(timed(chip, "s_waitcnt vmcnt(3)").waits.vector, 3u);
  EXPECT_EQ(timed(chip, "s_nop 7").idleCycles, 28u);
  EXPECT_EQ(timed(chip, "s_sleep 2").idleCycles, 128u);
  EXPECT_EQ(timed(chip, "s_setprio 3").priority, 3);
}

} // namespace
} // namespace heddle::simulator
