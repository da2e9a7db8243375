// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operands and modifiers of every form are parsed, and random words never crash the decoder.
#include "simulator/decode/Decoder.h"
#include "simulator/decode/InstructionParser.h"
#include "simulator/decode/TestAssembler.h"
#include "simulator/state/Fault.h"
#include <gtest/gtest.h>
#include <random>

namespace heddle::simulator {
namespace {

Instruction parse(const std::string &text) {
  Instruction instruction;
  instruction.text = text;
  EXPECT_EQ(parseOperands(instruction), "") << text;
  return instruction;
}

TEST(InstructionParser, RegistersOfEveryFile) {
  Instruction parsed = parse("v_foo v5, v[2:5], a7, s[0:1], vcc, ttmp3, m0");
  ASSERT_EQ(parsed.operandCount, 7);
  EXPECT_EQ(parsed.operands[0].index, 5);
  EXPECT_EQ(parsed.operands[1].index, 2);
  EXPECT_EQ(parsed.operands[1].words, 4);
  EXPECT_EQ(parsed.operands[2].index, firstAccumulationRow + 7);
  EXPECT_EQ(parsed.operands[3].kind, Operand::Kind::Scalar);
  EXPECT_EQ(parsed.operands[4].index, vccRegister);
  EXPECT_EQ(parsed.operands[5].index, trapRegister + 3);
  EXPECT_EQ(parsed.operands[6].index, m0Register);
}

TEST(InstructionParser, SourceModifiers) {
  Instruction parsed = parse("v_add_f32_e64 v0, -|v1|, -s2 clamp mul:4");
  EXPECT_TRUE(parsed.operands[1].negate && parsed.operands[1].absolute);
  EXPECT_TRUE(parsed.operands[2].negate && !parsed.operands[2].absolute);
  EXPECT_TRUE(parsed.modifiers.clamp);
  EXPECT_EQ(parsed.modifiers.outputModifier, 2);
}

TEST(InstructionParser, ModifiersWithoutOperands) {
  Instruction parsed = parse("buffer_wbl2 sc0 sc1");
  EXPECT_EQ(parsed.operandCount, 0);
  EXPECT_TRUE(parsed.modifiers.sc0 && parsed.modifiers.sc1);
}

TEST(InstructionParser, DppSdwaAndLists) {
  Modifiers dpp = parse("v_mov_b32_dpp v0, v1 quad_perm:[1,0,3,2] row_mask:0xa bank_mask:0xf bound_ctrl:1").modifiers;
  EXPECT_EQ(dpp.dpp.control, Dpp::Control::QuadPerm);
  EXPECT_EQ(dpp.dpp.value, 0b10110001);
  EXPECT_EQ(dpp.dpp.rowMask, 0xa);
  EXPECT_TRUE(dpp.dpp.boundControl);
  Modifiers sdwa =
      parse("v_f_sdwa v0, v1, sext(v2) dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:DWORD")
          .modifiers;
  EXPECT_EQ(sdwa.sdwa.destination, Sdwa::Select::Byte1);
  EXPECT_EQ(sdwa.sdwa.unused, Sdwa::Unused::Preserve);
  EXPECT_EQ(sdwa.sdwa.source0, Sdwa::Select::Word1);
  Modifiers packed = parse("v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7] op_sel_hi:[0,1,1] neg_lo:[0,0,1]").modifiers;
  EXPECT_EQ(packed.opSelHi, 0b110);
  EXPECT_EQ(packed.negLo, 0b100);
}

TEST(InstructionParser, UnknownWordsAreNamed) {
  Instruction instruction;
  instruction.text = "v_add_f32 v0, v1, v2 sideways:1";
  EXPECT_EQ(parseOperands(instruction), "modifier `sideways:1`");
  instruction = {};
  instruction.text = "v_add_f32 v0, w1, v2";
  EXPECT_EQ(parseOperands(instruction), "operand `w1`");
}

TEST(Decoder, ConstantsFollowTheOperandsType) {
  auto bits = [](const std::string &text, unsigned operand) {
    return decodeText("gfx942", text).at(0).operands[operand].constant;
  };
  EXPECT_EQ(bits("v_add_f32 v0, 1.0, v1", 1), 0x3f800000);
  EXPECT_EQ(bits("v_add_f32 v0, 1, v1", 1), 1);
  EXPECT_EQ(bits("v_add_f32 v0, 0x40490fdb, v1", 1), 0x40490fdb);
  EXPECT_EQ(bits("v_mul_f32 v0, 0.15915494, v1", 1), 0x3e22f983);
  EXPECT_EQ(bits("v_add_u32 v0, -1, v1", 1), 0xffffffff);
  EXPECT_EQ(bits("v_add_f64 v[0:1], v[2:3], 1.0", 2), 0x3ff0000000000000);
  EXPECT_EQ(bits("v_add_f64 v[0:1], v[2:3], 0.15915494309189532", 2), 0x3fc45f306dc9c882);
}

TEST(Decoder, WhatNoTableKnowsFaultsWhenItIsReached) {
  auto wave = makeTestWave();
  Instruction unknown =
      Decoder("gfx942").decode(std::vector<uint8_t>{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 16);
  EXPECT_EQ(unknown.sizeBytes, 4u);
  EXPECT_EQ(unknown.text, ".long 0xffffffff");
  EXPECT_THROW(unknown.execute(*wave, unknown), Fault);
}

/// Five words; every other time of an encoding with 8 bytes, where there is more to go wrong.
std::vector<uint8_t> randomBytes(std::mt19937 &random) {
  constexpr uint32_t longEncodings[] = {0xc0000000, 0xd0000000, 0xd8000000, 0xdc000000, 0xe0000000, 0xe8000000};
  uint32_t words[5];
  for (uint32_t &word : words)
    word = uint32_t(random());
  if (words[4] & 1)
    words[0] = (words[0] & 0x03ffffff) | longEncodings[words[4] / 2 % 6];
  if (words[4] & 64) // literals, and codes that name no register, are rare otherwise
    words[1] |= words[4] & 128 ? 0xff : 0xff000000;
  std::vector<uint8_t> bytes(4 * (1 + random() % 5));
  std::memcpy(bytes.data(), words, bytes.size());
  return bytes;
}

TEST(Decoder, RandomBytesBecomeInstructionsOrFaults) {
  for (const char *chip : {"gfx942", "gfx950"}) {
    Decoder decoder(chip);
    std::mt19937 random(3);
    unsigned known = 0;
    for (int round = 0; round < 200'000; ++round) {
      std::vector<uint8_t> bytes = randomBytes(random);
      Instruction instruction = decoder.decode(bytes, 0);
      ASSERT_TRUE(instruction.execute) << instruction.text;
      ASSERT_LE(instruction.sizeBytes, bytes.size()) << instruction.text;
      ASSERT_NE(instruction.sizeBytes, 12u) << instruction.text << ": a literal where these chips have none";
      known += instruction.row != nullptr;
    }
    EXPECT_GT(known, 50'000u) << chip;
  }
}

TEST(Decoder, RefusesWhatTheDisassemblerWouldDieOf) {
  for (const char *chip : {"gfx942", "gfx950"})
    for (std::vector<uint32_t> words : {std::vector<uint32_t>{0xe844f266, 0xffbc9119}, // tbuffer_load, offset literal
                                        {0xe1cdf266, 0xffbc9119},                      // buffer_, the same
                                        {0xd1cc650b, 0xdbfd7aac},                      // v_, third source literal
                                        {0xd06162ff, 0x06359257},                      // v_cmp_, destination literal
                                        {0xd3ad84db, 0xff1e2870},                      // v_mfma_ of f8f6f4, A scalar
                                        {0xd3ace16e, 0x4ed7dfc1, 0xd3ad8b28, 0x73ff4911}, // scaled, C literal
                                        {0x7e0002f9, 0x00070006}}) { // v_mov_b32_sdwa, no such select
      words.resize(5, 0x12345678);
      std::vector<uint8_t> bytes(words.size() * 4);
      std::memcpy(bytes.data(), words.data(), bytes.size());
      EXPECT_TRUE(Decoder(chip).decode(bytes, 0).text.starts_with(".long")) << chip << " " << std::hex << words[0];
    }
}

TEST(Decoder, LanesOutsideExecKeepTheirValue) {
  auto wave = makeTestWave();
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    wave->v[1][lane] = lane, wave->v[0][lane] = 7;
  wave->setExec(0xf0);
  executeText(*wave, "v_add_u32 v0, 100, v1");
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    EXPECT_EQ(wave->v[0][lane], lane >= 4 && lane < 8 ? 100 + lane : 7);
}

} // namespace
} // namespace heddle::simulator
