// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs of random instructions that the simulator has: they end, are stopped, or end with an error that says what
// the program did wrong, and never otherwise. What they compute is not looked at.
#include "simulator/decode/Decoder.h"
#include "simulator/decode/InstructionParser.h"
#include "support/Error.h"
#include "tests/simulator/kernels/SimulatedKernel.h"
#include <gtest/gtest.h>
#include <random>

namespace heddle::simulator {
namespace {

constexpr size_t programBytes = 160;

class RandomPrograms {
public:
  explicit RandomPrograms(const std::string &chip)
      : object(parseAmdCodeObject(readObject("kernels-" + chip + "-O3.hsaco"), chip)) {
    Decoder decoder(chip);
    while (computing.size() < 10'000 || accessing.size() < 5'000) {
      std::string bytes = randomWords();
      Instruction instruction = decoder.decode(std::span(reinterpret_cast<uint8_t *>(bytes.data()), bytes.size()), 0);
      if (!isReadable(instruction))
        continue;
      bool computes = instruction.mnemonic.starts_with("v_") || instruction.mnemonic.find("load") > 4;
      (computes && !instruction.mnemonic.starts_with("ds_") ? computing : accessing)
          .push_back(bytes.substr(0, instruction.sizeBytes));
    }
  }

  /// Whether the program came to its end.
  bool run() {
    std::string program;
    while (program.size() < programBytes - 24)
      program += random() % 4 == 0    ? common()
                 : random() % 12 == 0 ? accessing[random() % accessing.size()]
                                      : computing[random() % computing.size()];
    program.append(programBytes - program.size(), '\0');       // s_add_u32 s0, s0, s0
    program.replace(programBytes - 4, 4, bytesOf(0xbf810000)); // s_endpgm
    const AmdKernel &kernel = object.kernel("matmul");
    for (AmdSegment &segment : object.segments)
      if (segment.executable)
        segment.bytes.replace(kernel.entry - segment.address, program.size(), program);
    return launch();
  }

private:
  static bool isReadable(const Instruction &instruction) {
    Instruction again;
    again.text = instruction.text;
    again.row = instruction.row;
    return instruction.row && ((instruction.row->implicit & acceptsAnything) || parseOperands(again).empty());
  }

  std::string bytesOf(uint32_t word) { return {reinterpret_cast<const char *>(&word), 4}; }

  /// Half of them of the encodings of 8 bytes, which are few among random words, with few registers.
  std::string randomWords() {
    constexpr uint32_t longEncodings[] = {0xc0000000, 0xd0000000, 0xd8000000, 0xdc000000, 0xe0000000};
    std::string bytes;
    for (int i = 0; i < 4; ++i)
      bytes += bytesOf(uint32_t(random()));
    uint32_t first = uint32_t(random());
    if (random() % 2)
      first = (first & 0x03ffffff) | longEncodings[random() % 5];
    return bytes.replace(0, 4, bytesOf(first));
  }

  /// What makes more of a program happen: all lanes, small addresses, waits, jumps of some words.
  std::string common() {
    switch (random() % 4) {
    case 0:
      return bytesOf(0xbefe01c1); // s_mov_b64 exec, -1
    case 1:
      return bytesOf(0x7e000280 | uint32_t(random() % 64) << 17 | uint32_t(random() % 64)); // v_mov_b32, 0 to 63
    case 2:
      return bytesOf(0xbf8c0000); // s_waitcnt for everything
    default:
      return bytesOf(0xbf820000 | uint32_t(random() % 8)); // s_branch
    }
  }

  bool launch() {
    SimulatedObject program(object);
    program.options.instructionLimit = 1000;
    program.options.seed = random();
    program.options.policy = random() % 2 ? Policy::Earliest : Policy::Latest;
    uint64_t buffer = program.buffer(std::vector<uint32_t>(4096));
    try {
      program.run("matmul", {.items = {1 + uint32_t(random() % 128)}}, buffer, buffer, buffer, int(random()));
    } catch (const Error &error) {
      EXPECT_EQ(error.kind, ErrorClass::WrongResult) << error.what();
      return false;
    }
    return true;
  }

  std::mt19937 random{23};
  AmdCodeObject object;
  std::vector<std::string> computing, accessing;
};

void runMany(const std::string &chip) {
  RandomPrograms programs(chip);
  unsigned ended = 0;
  for (int i = 0; i < 1000; ++i)
    ended += programs.run();
  EXPECT_GT(ended, 5u) << "nearly all stop at once, which tests little";
}

TEST(RandomCode, Gfx942) {
  runMany("gfx942");
}
TEST(RandomCode, Gfx950) {
  runMany("gfx950");
}

} // namespace
} // namespace heddle::simulator
