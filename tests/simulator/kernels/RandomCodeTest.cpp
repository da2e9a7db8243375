// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs of random instructions that the simulator has, under every policy and schedule and with every check: they
// end, are stopped, or end with an error that says what the program did wrong, and never otherwise. What they compute,
// and what the checks report, is not looked at.
#include "simulator/decode/Decoder.h"
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
      if (Decoder::isKnown(instruction))
        (accesses(instruction.mnemonic) ? accessing : computing).push_back(bytes.substr(0, instruction.sizeBytes));
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
  /// Whether it has an address, which is hardly ever a good one.
  static bool accesses(const std::string &mnemonic) {
    for (const char *prefix : {"ds_", "global_", "flat_", "scratch_", "buffer_load", "buffer_store", "buffer_atomic",
                               "s_load", "s_store", "s_atomic", "s_buffer_"})
      if (mnemonic.starts_with(prefix))
        return true;
    return false;
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
    program.options.policy = Policy(random() % 4);
    program.options.schedule = Schedule(random() % 5);
    program.options.caches = random() % 2;
    program.options.checks = parseChecks(random() % 2 ? "all" : "none");
    uint64_t buffer = program.buffer(std::vector<uint32_t>(4096));
    try {
      program.run("matmul", {.groups = {1 + uint32_t(random() % 3)}, .items = {1 + uint32_t(random() % 128)}}, buffer,
                  buffer, buffer, int(random()));
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
  EXPECT_GT(ended, 50u) << "nearly all stop at once, which tests little";
}

TEST(RandomCode, Gfx942) {
  runMany("gfx942");
}
TEST(RandomCode, Gfx950) {
  runMany("gfx950");
}

} // namespace
} // namespace heddle::simulator
