// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which instructions the simulator has: every opcode of each format is disassembled, and each mnemonic must have a row
// of its chip or be named here as missing.
#include "VectorEncodings.h"
#include "simulator/decode/Disassembler.h"
#include "simulator/decode/InstructionParser.h"
#include "simulator/instructions/InstructionTable.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>
#include <span>

namespace heddle::simulator {
namespace {

/// An opcode's place in an encoding's first dword. Source: CDNA 3 manual, "Microcode formats".
struct Format {
  uint32_t fixed;
  unsigned opcodeShift, opcodes;
};
constexpr Format scalarFormats[] = {{0x80000000, 23, 96},   // SOP2
                                    {0xb0000000, 23, 32},   // SOPK
                                    {0xbe800000, 8, 256},   // SOP1
                                    {0xbf000000, 16, 128},  // SOPC
                                    {0xbf800000, 16, 128},  // SOPP
                                    {0xc0000000, 18, 256}}; // SMEM
constexpr Format memoryFormats[] = {{0xd8000000, 17, 256},  // DS
                                    {0xdc000000, 18, 128},  // FLAT
                                    {0xdc004000, 18, 128},  // SCRATCH
                                    {0xdc008000, 18, 128},  // GLOBAL
                                    {0xe0000000, 18, 128},  // MUBUF
                                    {0xe8000000, 15, 16}};  // MTBUF

/// Of each opcode with no bits, and with those fields that some instruction needs.
void addEncodings(std::span<const Format> formats, std::vector<std::vector<uint32_t>> &encodings) {
  constexpr uint32_t immediate = 1 << 17, loadsToLds = 1 << 16; // of SMEM and MUBUF
  for (const Format &format : formats)
    for (uint32_t opcode = 0; opcode < format.opcodes; ++opcode)
      for (uint32_t fields : {0u, 1u, 4u, 0x200u, immediate, immediate | 0x80u, loadsToLds})
        for (uint32_t second : {0u, 4u, 0x7f0000u, 0x7f0400u, 0x80000000u, 0x8000u})
          encodings.push_back({format.fixed | opcode << format.opcodeShift | fields, second});
}

std::set<std::string> allMnemonics(const char *chip) {
  Disassembler disassembler(chip);
  std::set<std::string> names;
  std::vector<std::vector<uint32_t>> encodings = vectorEncodings();
  addEncodings(scalarFormats, encodings);
  addEncodings(memoryFormats, encodings);
  for (const std::vector<uint32_t> &words : encodings) {
    std::vector<uint8_t> bytes(words.size() * 4);
    std::memcpy(bytes.data(), words.data(), bytes.size());
    Disassembler::Printed printed = disassembler.print(bytes);
    if (printed.sizeBytes)
      names.emplace(mnemonicOf(printed.text));
  }
  return names;
}

/// What no compiler for compute kernels emits. docs/simulator-instructions.md says why, group by group.
const std::set<std::string> missing = {"v_clrexcp",
                                       "v_screen_partition_4se_b32",
                                       "s_bitreplicate_b64_b32",
                                       "s_endpgm_ordered_ps_done",
                                       "s_endpgm_saved",
                                       "s_sethalt",
                                       "s_setkill",
                                       "ds_append",
                                       "ds_consume",
                                       "ds_condxchg32_rtn_b64",
                                       "ds_nop",
                                       "ds_read_addtid_b32",
                                       "ds_write_addtid_b32",
                                       "ds_wrap_rtn_b32"};
/// Beginnings of names.
const std::vector<std::string> missingGroups = {"buffer_load_format_",
                                                "buffer_store_format_",
                                                "tbuffer_",
                                                "ds_gws_",
                                                "ds_wrxchg2",
                                                "s_atc_probe",
                                                "s_cbranch_cdbg",
                                                "s_cbranch_g_fork",
                                                "s_cbranch_i_fork",
                                                "s_cbranch_join",
                                                "s_dcache_discard",
                                                "s_movrel",
                                                "s_rfe_",
                                                "s_scratch_",
                                                "s_sendmsg",
                                                "scratch_load_lds_"};

bool isMissing(const std::string &name) {
  return missing.contains(name) || std::any_of(missingGroups.begin(), missingGroups.end(),
                                               [&](const std::string &group) { return name.starts_with(group); });
}

void checkChip(const char *chip, ChipSet set, size_t atLeast) {
  const InstructionTable &table = instructionsOf(set);
  size_t vectors = 0, scalars = 0;
  std::string lacking;
  for (const std::string &name : allMnemonics(chip)) {
    if (table.find(name))
      ++(name.starts_with("v_") ? vectors : scalars);
    else if (!isMissing(name))
      lacking += " " + name;
    EXPECT_FALSE(table.find(name) && isMissing(name)) << name << " is executed, and listed as not";
  }
  EXPECT_EQ(lacking, "") << "no row on " << chip;
  EXPECT_GE(vectors, atLeast) << "the list of encodings has shrunk";
  EXPECT_EQ(vectors + scalars, table.size()) << "rows that no encoding of the chip is read as, or lacking encodings";
  fmt::print("{}: {} vector and {} other instructions are implemented\n", chip, vectors, scalars);
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
