// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a chip's fields say of its instructions, against two others that know: LLVM's assembler takes an instruction
// exactly for the chips that have it, and so does the simulator's table.
#include "chips/Chip.h"
#include "simulator/decode/Decoder.h"
#include "simulator/decode/TestAssembler.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::simulator;

namespace {

template <typename T>
bool contains(const std::vector<T> &list, T value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

struct Claim {
  std::string instruction;
  bool stands;
};

std::vector<Claim> claimsOf(const Chip &chip) {
  auto copies = [&](int bits) { return contains(chip.sharedCopies.laneBits, bits); };
  auto transposes = [&](int bits) { return contains(chip.transposedReadBits, bits); };
  auto sums = [&](AtomicSum sum) { return contains(chip.bufferSums, sum); };
  return {
      {"buffer_load_dword v0, s[8:11], s3 offen lds", copies(32)},
      {"buffer_load_dwordx3 v0, s[8:11], s3 offen lds", copies(96)},
      {"buffer_load_dwordx4 v0, s[8:11], s3 offen lds", copies(128)},
      {"global_load_lds_dword v[2:3], off", copies(32)},
      {"global_load_lds_dwordx4 v[2:3], off", copies(128)},
      {"ds_read_b64_tr_b4 v[0:1], v2", transposes(4)},
      {"ds_read_b96_tr_b6 v[0:2], v4", transposes(6)},
      {"ds_read_b64_tr_b8 v[0:1], v2", transposes(8)},
      {"ds_read_b64_tr_b16 v[0:1], v2", transposes(16)},
      {"global_atomic_add_f32 v2, v3, s[0:1]", chip.hasSum(AtomicSum::F32)},
      {"global_atomic_add_f64 v2, v[4:5], s[0:1]", chip.hasSum(AtomicSum::F64)},
      {"global_atomic_pk_add_f16 v2, v3, s[0:1]", chip.hasSum(AtomicSum::F16x2)},
      {"global_atomic_pk_add_bf16 v2, v3, s[0:1]", chip.hasSum(AtomicSum::BF16x2)},
      {"buffer_atomic_add_f32 v0, v1, s[8:11], 0 offen", sums(AtomicSum::F32)},
      {"buffer_atomic_add_f64 v[2:3], v1, s[8:11], 0 offen", sums(AtomicSum::F64)},
      {"buffer_atomic_pk_add_f16 v0, v1, s[8:11], 0 offen", sums(AtomicSum::F16x2)},
      {"buffer_atomic_pk_add_bf16 v0, v1, s[8:11], 0 offen", sums(AtomicSum::BF16x2)},
      {"v_permlane16_swap_b32 v0, v1", chip.laneSwaps},
      {"v_permlane32_swap_b32 v0, v1", chip.laneSwaps},
      {"v_cvt_pk_f16_f32 v0, v1, v2", chip.narrowingPairs},
      {"v_cvt_pk_bf16_f32 v0, v1, v2", chip.narrowingPairs},
      {"v_maximum3_f32 v0, v1, v2, v3", chip.nanKeepingExtrema},
      {"v_cvt_scalef32_pk_f16_fp8 v0, v1, v2", chip.scaledConversions},
      {"v_cvt_scalef32_pk_bf16_bf8 v0, v1, v2", chip.scaledConversions},
      {"v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[20:23], v24, v25", chip.scaledMatmuls},
      {"v_mfma_f32_16x16x8_xf32 v[0:3], v[4:5], v[6:7], v[8:11]", chip.hasMatmul(MatrixOperand::TF32)},
  };
}

bool assembles(const std::string &processor, const std::string &text) {
  try {
    assemble(processor, text);
    return true;
  } catch (const std::exception &) {
    return false;
  }
}

TEST(ChipFields, AssemblerAndSimulatorAgree) {
  ASSERT_FALSE(simulatedChips().empty());
  for (const Chip *chip : simulatedChips())
    for (const Claim &claim : claimsOf(*chip)) {
      EXPECT_EQ(assembles(chip->processor, claim.instruction), claim.stands) << chip->name << ": " << claim.instruction;
      if (claim.stands)
        EXPECT_TRUE(Decoder::isKnown(decodeText(chip->processor, claim.instruction).at(0)))
            << chip->name << ": " << claim.instruction;
    }
}

/// Rows are named after the chip's matrix instructions: `f32.16x16x16f16` is v_mfma_f32_16x16x16_f16.
TEST(ChipFields, SimulatorHasEveryMatmul) {
  for (const Chip *chip : simulatedChips()) {
    std::vector<std::string> known = Decoder(chip->processor).mnemonics();
    for (const WarpMatmul &each : chip->matmuls) {
      int pieces = each.n / each.m; // of 4 x 64 are 16 instructions of 4 x 4
      std::string shape = std::to_string(each.m) + "x" + std::to_string(each.m) + "x" + std::to_string(each.k / pieces);
      std::string name = each.name, before = "v_mfma_" + name.substr(0, name.find('.')) + "_" + shape;
      EXPECT_NE(name.find("." + shape), std::string::npos) << chip->name << ": " << name;
      EXPECT_TRUE(std::any_of(known.begin(), known.end(),
                              [&](const std::string &row) { return row.starts_with(before + "_"); }))
          << chip->name << ": " << before;
    }
  }
}

} // namespace
