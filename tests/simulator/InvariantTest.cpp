// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What holds for every vector instruction, whatever it computes: registers that are no destination stay as they are,
// and so do the lanes that EXEC leaves out, but where the manual says otherwise. Random registers, modifiers, DPP and
// SDWA.
#include "VectorEncodings.h"
#include "simulator/decode/Decoder.h"
#include "simulator/decode/TestAssembler.h"
#include "simulator/instructions/LaneModifiers.h"
#include "simulator/state/Fault.h"
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

namespace heddle::simulator {
namespace {

constexpr unsigned rowsInUse = 300; // architectural ones, and some of the accumulation registers

class Trial {
public:
  explicit Trial(const std::string &chip) : decoder(chip), wave(makeTestWave()), before(makeTestWave()) {}

  /// The number of instructions that were executed: encodings that are none, or lack a row, do not count.
  unsigned run(const std::vector<uint32_t> &words) {
    std::vector<uint8_t> bytes(words.size() * 4);
    std::memcpy(bytes.data(), words.data(), bytes.size());
    Instruction instruction = decoder.decode(bytes, 0);
    if (!instruction.row || !instruction.text.starts_with("v_"))
      return 0;
    fill();
    std::memcpy(before->v, wave->v, sizeof wave->v);
    std::memcpy(before->s, wave->s, sizeof wave->s);
    try {
      instruction.execute(*wave, instruction);
    } catch (const Fault &) { // a matrix format that there is not
      return 0;
    }
    check(instruction);
    return 1;
  }

private:
  void fill() {
    for (unsigned row = 0; row < rowsInUse; ++row)
      for (uint32_t &lane : wave->v[row])
        lane = random() % 4 ? uint32_t(random()) : uint32_t(random() % 100);
    for (uint32_t &scalar : wave->s)
      scalar = uint32_t(random());
    wave->setExec(random() % 3 ? random() : allLanes);
    wave->mode = random() % 4 ? usualMode : usualMode ^ uint32_t(random() & 0xFF);
  }

  static bool isDestination(const Instruction &instruction, unsigned row) {
    for (unsigned number = 0; number < instruction.row->destinations; ++number) {
      const Operand &operand = instruction.operands[number];
      if (operand.isVector() && row >= operand.index && row < unsigned(operand.index + operand.words))
        return true;
    }
    return false;
  }

  void check(const Instruction &instruction) {
    uint64_t exec = before->exec();
    bool ignores = instruction.row->implicit & ignoresExec;
    for (unsigned row = 0; row < rowsInUse; ++row) {
      bool destination = isDestination(instruction, row);
      for (unsigned lane = 0; lane < waveLanes; ++lane) {
        bool mayChange = destination && (ignores || (exec >> lane & 1));
        ASSERT_TRUE(mayChange || wave->v[row][lane] == before->v[row][lane])
            << instruction.text << " changes row " << row << ", lane " << lane << " under EXEC 0x" << std::hex << exec;
      }
    }
    if (!(instruction.row->implicit & writesExec) && instruction.operands[0].isVector()) {
      ASSERT_EQ(wave->exec(), exec) << instruction.text;
    }
  }

  Decoder decoder;
  std::mt19937_64 random{11};
  std::unique_ptr<Wave> wave, before;
};

void runAll(const std::string &chip, unsigned atLeast) {
  Trial trial(chip);
  unsigned executed = 0;
  for (const std::vector<uint32_t> &words : vectorEncodings())
    executed += trial.run(words);
  for (uint64_t seed = 0; seed < 3; ++seed)
    for (const std::vector<uint32_t> &words : modifiedEncodings(seed))
      executed += trial.run(words);
  EXPECT_GE(executed, atLeast);
  fmt::print("{}: {} instructions executed\n", chip, executed);
}

TEST(Invariants, Gfx942) {
  runAll("gfx942", 2000);
}
TEST(Invariants, Gfx950) {
  runAll("gfx950", 2000);
}

} // namespace
} // namespace heddle::simulator
