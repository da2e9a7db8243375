// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which vector instructions the simulator has: every encoding of each format is disassembled, and each mnemonic must
// have a row of its chip or be named here as missing.
#include "VectorEncodings.h"
#include "simulator/decode/Disassembler.h"
#include "simulator/decode/InstructionParser.h"
#include "simulator/instructions/InstructionTable.h"
#include <cstring>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>

namespace heddle::simulator {
namespace {

std::set<std::string> vectorMnemonics(const char *chip) {
  Disassembler disassembler(chip);
  std::set<std::string> names;
  for (const std::vector<uint32_t> &words : vectorEncodings()) {
    std::vector<uint8_t> bytes(words.size() * 4);
    std::memcpy(bytes.data(), words.data(), bytes.size());
    Disassembler::Printed printed = disassembler.print(bytes);
    if (printed.sizeBytes && printed.text.starts_with("v_"))
      names.emplace(mnemonicOf(printed.text));
  }
  return names;
}

/// What no compiler for compute kernels emits.
const std::set<std::string> missing = {"v_clrexcp", "v_screen_partition_4se_b32"};

void checkChip(const char *chip, ChipSet set, size_t atLeast) {
  const InstructionTable &table = instructionsOf(set);
  size_t found = 0;
  std::string lacking;
  for (const std::string &name : vectorMnemonics(chip)) {
    if (table.find(name))
      ++found;
    else if (!missing.contains(name))
      lacking += " " + name;
  }
  EXPECT_EQ(lacking, "") << "no row on " << chip;
  EXPECT_GE(found, atLeast) << "the list of encodings has shrunk";
  fmt::print("{}: {} vector instructions are implemented, {} rows in all\n", chip, found, table.size());
}

TEST(InstructionList, Gfx942) {
  checkChip("gfx942", ChipSet::Gfx942, 520);
}
TEST(InstructionList, Gfx950) {
  checkChip("gfx950", ChipSet::Gfx950, 605);
}

TEST(InstructionList, ChipsDiffer) {
  EXPECT_EQ(instructionsOf(ChipSet::Gfx942).find("v_bitop3_b32"), nullptr);
  EXPECT_NE(instructionsOf(ChipSet::Gfx950).find("v_bitop3_b32"), nullptr);
  EXPECT_EQ(instructionsOf(ChipSet::Gfx950).find("v_mfma_f32_16x16x8_xf32"), nullptr);
  const InstructionRow *fnuz = instructionsOf(ChipSet::Gfx942).find("v_cvt_pk_fp8_f32");
  const InstructionRow *ocp = instructionsOf(ChipSet::Gfx950).find("v_cvt_pk_fp8_f32");
  EXPECT_NE(fnuz->execute, ocp->execute);
}

} // namespace
} // namespace heddle::simulator
