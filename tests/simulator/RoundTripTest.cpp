// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is decoded is what the bytes say: the record of an instruction, written as assembly text, becomes the same bytes
// again. For every mnemonic that the simulator has, with random operands and modifiers.
#include "AssemblyText.h"
#include "VectorEncodings.h"
#include "simulator/decode/Decoder.h"
#include "simulator/decode/TestAssembler.h"
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

namespace heddle::simulator {
namespace {

/// An encoding's fixed bits, and where its opcode lies. Source: CDNA 3 manual, "Microcode formats".
struct Encoding {
  uint32_t fixed, fixedMask;
  unsigned opcodeShift, opcodes;
};
constexpr Encoding encodings[] = {
    {0x80000000, 0xc0000000, 23, 128},  // SOP2
    {0xb0000000, 0xf0000000, 23, 32},   // SOPK
    {0xbe800000, 0xff800000, 8, 256},   // SOP1
    {0xbf000000, 0xff800000, 16, 128},  // SOPC
    {0xbf800000, 0xff800000, 16, 128},  // SOPP
    {0xc0000000, 0xfc000000, 18, 256},  // SMEM
    {0x00000000, 0x80000000, 25, 62},   // VOP2
    {0x7e000000, 0xfe000000, 9, 256},   // VOP1
    {0x7c000000, 0xfe000000, 17, 256},  // VOPC
    {0xd0000000, 0xfc000000, 16, 1024}, // VOP3 and VOP3P
    {0xd8000000, 0xfc000000, 17, 256},  // DS
    {0xdc000000, 0xfc004000, 18, 128},  // FLAT and SCRATCH
    {0xdc008000, 0xfc00c000, 18, 128},  // GLOBAL
    {0xdc004000, 0xfc00c000, 18, 128},  // SCRATCH
    {0xe0000000, 0xfc000000, 18, 128},  // MUBUF
};

class RoundTrip {
public:
  explicit RoundTrip(const std::string &chip) : chip(chip), decoder(chip) {}

  void tryEncodings() {
    for (const Encoding &encoding : encodings)
      for (uint32_t opcode = 0; opcode < encoding.opcodes; ++opcode)
        for (unsigned i = 0; i < 60; ++i) {
          uint32_t first = (firstBits() & ~encoding.fixedMask) | encoding.fixed;
          first = (first & ~((encoding.opcodes - 1) << encoding.opcodeShift)) | opcode << encoding.opcodeShift;
          bool hasSources = encoding.fixed == 0xd0000000;
          tryWords({first, hasSources ? sources() : secondBits(), uint32_t(random()), uint32_t(random())});
        }
    for (const std::vector<uint32_t> &words : vectorEncodings())
      tryWords(words);
    for (uint64_t seed = 0; seed < 2; ++seed)
      for (const std::vector<uint32_t> &words : modifiedEncodings(seed))
        tryWords(words);
  }

  std::vector<std::string> missing() {
    std::vector<std::string> names;
    for (const std::string &name : decoder.mnemonics())
      if (!done.contains(name))
        names.push_back(name);
    return names;
  }

  std::map<std::string, unsigned> done; ///< by mnemonic

private:
  /// Fields that an instruction does not use must be zero, and those of several registers even or more: many are tried
  /// with few bits set.
  uint32_t firstBits() {
    uint32_t bits = uint32_t(random());
    switch (random() % 4) {
    case 0:
      return 0;
    case 1:
      return bits & 0x03ff00fe; // no modifiers
    case 2:
      return (bits & 0x03ff00fc) | 0x4000; // op_sel_hi as packed instructions have it
    default:
      return bits;
    }
  }
  uint32_t secondBits() {
    uint32_t bits = 0;
    for (unsigned shift = 0; shift < 32; shift += 8) // registers, mostly
      if (random() % 2)
        bits |= uint32_t(random() % 100 * 2) << shift;
    if (random() % 2) // no scalar address
      bits = (bits & 0xff80ffff) | 0x7f0000;
    return random() % 3 ? bits : uint32_t(random());
  }
  /// Three sources of nine bits: vector or scalar registers, constants, nothing.
  uint32_t sources() {
    uint32_t bits = random() % 2 ? 0x18000000 : random() % 2 ? 0 : uint32_t(random()) & 0xf8000000;
    for (unsigned shift = 0; shift < 27; shift += 9) {
      uint32_t number = uint32_t(random() % 25 * 4), kind = uint32_t(random() % 4);
      bits |= (kind < 2 ? 256 + number : kind == 2 ? number : random() % 2 ? 128 : 0) << shift;
    }
    return random() % 3 ? bits : uint32_t(random());
  }

  Instruction decode(const std::vector<uint8_t> &bytes) { return decoder.decode(bytes, 0); }

  void tryWords(const std::vector<uint32_t> &words) {
    std::vector<uint8_t> bytes(words.size() * 4);
    std::memcpy(bytes.data(), words.data(), bytes.size());
    Instruction random = decode(bytes);
    if (!random.row || done[random.mnemonic] >= 4 || random.text.find("/*") != std::string::npos ||
        !Decoder::isKnown(random)) {
      std::erase_if(done, [](const auto &entry) { return entry.second == 0; });
      return;
    }
    // Bits that mean nothing are gone in what LLVM makes of its own text.
    std::vector<uint8_t> wanted;
    try {
      wanted = assemble(chip, random.text);
    } catch (const std::runtime_error &) { // text that LLVM prints and does not read
      return;
    }
    check(wanted);
  }

  void check(const std::vector<uint8_t> &wanted) {
    Instruction instruction = decode(wanted);
    std::string text = assemblyText(instruction);
    std::vector<uint8_t> found;
    ASSERT_NO_THROW(found = assemble(chip, text)) << chip << ": `" << instruction.text << "`";
    ASSERT_EQ(found, wanted) << chip << ": `" << instruction.text << "` is read as `" << text << "`";
    ++done[instruction.mnemonic];
  }

  std::string chip;
  Decoder decoder;
  std::mt19937 random{31};
};

void runAll(const std::string &chip) {
  RoundTrip trip(chip);
  trip.tryEncodings();
  EXPECT_EQ(fmt::format("{}", fmt::join(trip.missing(), " ")), "") << "no bytes of the chip are decoded as these";
  unsigned checks = 0;
  for (const auto &[name, count] : trip.done)
    checks += count;
  fmt::print("{}: {} instructions of {} mnemonics\n", chip, checks, trip.done.size());
}

TEST(RoundTrip, Gfx942) {
  runAll("gfx942");
}
TEST(RoundTrip, Gfx950) {
  runAll("gfx950");
}

} // namespace
} // namespace heddle::simulator
