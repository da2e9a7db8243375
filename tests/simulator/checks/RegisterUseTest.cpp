// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What checks think that each instruction reads and writes, against the tables of LLVM's assembler.
#include "simulator/checks/RegisterUse.h"
#include "LlvmRegisterUse.h"
#include "VectorEncodings.h"
#include "simulator/decode/Decoder.h"
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace heddle::simulator {
namespace {

using Encodings = std::vector<std::vector<uint32_t>>;

/// One encoding, or a few, for each opcode of the scalar and the memory formats.
Encodings otherEncodings() {
  Encodings encodings;
  for (uint32_t opcode = 0; opcode < 256; ++opcode) {
    encodings.push_back({0xBE800000u | 4 << 16 | opcode << 8 | 6});                   // SOP1
    encodings.push_back({0x80000000u | (opcode & 127) << 23 | 4 << 16 | 8 << 8 | 6}); // SOP2
    encodings.push_back({0xBF000000u | (opcode & 127) << 16 | 8 << 8 | 6});           // SOPC
    encodings.push_back({0xB0000000u | (opcode & 31) << 23 | 4 << 16 | 1, 7});        // SOPK
    for (uint32_t immediate : {0u, 1u})
      encodings.push_back({0xBF800000u | (opcode & 127) << 16 | immediate}); // SOPP
    encodings.push_back({0xC0020000u | opcode << 18 | 8 << 6 | 4, 16});      // SMEM: base s[8:9] at most, or nothing
    encodings.push_back({0xC0000000u | opcode << 18 | 4 << 6, 0});
    encodings.push_back({0xC0000000u | opcode << 18, 0});
    for (uint32_t registers : {0u, 4u, 0x604u, 0x80604u, 0x10000004u, 0x10000604u, 0x10080604u}) // DS
      encodings.push_back({0xD8000000u | opcode << 17, registers});
  }
  for (uint32_t opcode = 0; opcode < 128; ++opcode) {
    for (uint32_t segment : {0u, 1u, 2u})
      for (uint32_t returns : {0u, 1u})
        for (uint32_t base : {0u, 127u, 6u})
          encodings.push_back(
              {0xDC000000u | opcode << 18 | returns << 16 | segment << 14, 10u << 24 | base << 16 | 8 << 8 | 4});
    for (uint32_t flags : {0u, 1u << 12, 1u << 13, 3u << 12, 1u << 14, 1u << 12 | 1u << 16}) // offen, idxen, sc0, lds
      encodings.push_back({0xE0000000u | opcode << 18 | flags, 6u << 24 | 2 << 16 | 10 << 8 | 4});
  }
  return encodings;
}

NamedRegisters namedRegisters(const Instruction &instruction) {
  NamedRegisters names;
  for (const RegisterSpan &span : registerUseOf(instruction))
    for (unsigned word = 0; word < span.words; ++word)
      (span.isWritten ? names.written : names.read).insert(registerName(span.isVector, span.first + word));
  return names;
}

bool isDestination(const Instruction &instruction, const std::string &name) {
  return namedRegisters(instruction).written.contains(name);
}

/// What LLVM says to be read, and is not, or is of no account: a register that is written besides is waited for anyway.
bool mayBeReadByLlvmAlone(const Instruction &instruction, const std::string &name) {
  const Modifiers &modifiers = instruction.modifiers;
  if (instruction.row->implicit & ignoresExec && name.starts_with("exec"))
    return true; // nothing is moved across changes of EXEC
  if (instruction.mnemonic.starts_with("ds_") && name == "m0")
    return true; // of older chips; one encoding has one description
  bool keepsSome = modifiers.dpp.control != Dpp::Control::None || modifiers.sdwa.present ||
                   instruction.row->implicit & (keepsHighHalf | placesByte);
  return keepsSome && isDestination(instruction, name);
}

/// What it does not say to be read, and is: only ever the old value of a destination.
bool mayBeReadAlone(const Instruction &instruction, const std::string &name) {
  if (instruction.mnemonic == "s_set_gpr_idx_mode")
    return name == "m0"; // keeps the index
  return instruction.row->implicit & readsDestination && isDestination(instruction, name);
}

void compareAll(const std::string &chip, size_t atLeast) {
  LlvmRegisterUse llvm(chip);
  Decoder decoder(chip);
  std::set<std::string> seen;
  Encodings encodings = vectorEncodings(), others = otherEncodings(), modified = modifiedEncodings(0);
  encodings.insert(encodings.end(), others.begin(), others.end());
  encodings.insert(encodings.end(), modified.begin(), modified.end());
  for (const std::vector<uint32_t> &words : encodings) {
    std::vector<uint8_t> bytes(words.size() * 4);
    std::memcpy(bytes.data(), words.data(), bytes.size());
    Instruction instruction = decoder.decode(bytes, 0);
    NamedRegisters expected, found = namedRegisters(instruction);
    bool isValid = instruction.text.find("/*") == std::string::npos; // LLVM marks operands that cannot be
    if (!instruction.row || !isValid || !llvm.find(bytes, expected))
      continue;
    seen.insert(instruction.mnemonic);
    for (const std::string &name : found.read)
      EXPECT_TRUE(expected.read.contains(name) || mayBeReadAlone(instruction, name))
          << instruction.text << " does not read " << name;
    for (const std::string &name : expected.read)
      EXPECT_TRUE(found.read.contains(name) || mayBeReadByLlvmAlone(instruction, name))
          << instruction.text << " reads " << name;
    if (instruction.mnemonic == "s_setvskip") // of the format of comparisons, from which LLVM says that it writes SCC
      expected.written.erase("scc");
    EXPECT_EQ(found.written, expected.written) << instruction.text;
  }
  std::string lacking;
  for (const auto &[name, row] : instructionsOf(chip == "gfx950" ? ChipSet::Gfx950 : ChipSet::Gfx942))
    if (!seen.contains(std::string(name)))
      lacking += fmt::format(" {}", name);
  EXPECT_EQ(lacking, "") << "rows that no encoding here reaches";
  EXPECT_GE(seen.size(), atLeast);
}

TEST(RegisterUse, Gfx942) {
  compareAll("gfx942", 1000);
}
TEST(RegisterUse, Gfx950) {
  compareAll("gfx950", 1000);
}

} // namespace
} // namespace heddle::simulator
