// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small programs on one compute unit, with cycles that follow from the model's figures.
#include "simulator/timing/UnitModel.h"
#include "simulator/decode/TestAssembler.h"
#include <gtest/gtest.h>
#include <sstream>

namespace heddle::simulator {
namespace {

/// Programs of waves, a line an instruction; ` ; lds=8` and the like after it say what its addresses would.
class Unit {
public:
  explicit Unit(unsigned resident = 1, unsigned groups = 1)
      : disassembler("gfx942"), unit(model(), 4, resident, groups, instructions, nullptr) {}

  static const TimingModel &model() { return timingOf(lookupChip("gfx942")); }

  void addGroup(const std::vector<std::string> &programs) {
    size_t group = unit.beginGroup(unsigned(programs.size()));
    for (unsigned wave = 0; wave < programs.size(); ++wave) {
      std::istringstream lines(programs[wave]);
      for (std::string line; std::getline(lines, line);)
        unit.push(group, wave, operationOf(line));
      unit.endWave(group, wave);
    }
  }
  const UnitTimes &run() { return unit.finish(); }

private:
  TimedOperation operationOf(const std::string &line) {
    TimedOperation operation;
    operation.instruction = uint32_t(instructions.size());
    std::string text = line.substr(0, line.find(';'));
    instructions.push_back(timedInstructionOf(decodeText("gfx942", text)[0], model(),
                                              disassembler.schedulingOf(assemble("gfx942", text))));
    auto number = [&](const char *name) {
      size_t place = line.find(name);
      return place == std::string::npos ? 0 : std::stoi(line.substr(place + std::string(name).size()));
    };
    operation.ldsCycles = uint16_t(number("lds="));
    operation.bytes = uint16_t(number("bytes="));
    operation.lines = operation.fromL2 = uint8_t(number("lines="));
    operation.isTaken = number("taken=");
    return operation;
  }

  Disassembler disassembler;
  std::deque<TimedInstruction> instructions;
  UnitModel unit;
};

std::string repeat(const std::string &text, unsigned count) {
  std::string result;
  for (unsigned i = 0; i < count; ++i)
    result += text;
  return result;
}

uint64_t of(const UnitTimes &times, Bound bound) {
  return times.bounds[unsigned(bound)];
}

const std::string mfma = "v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]\n";

TEST(UnitModel, VectorInstructionsTakeATurnEach) {
  Unit unit;
  unit.addGroup({repeat("v_add_f32 v0, v1, v2\n", 10)});
  EXPECT_EQ(unit.run().cycles, 40u);
}

TEST(UnitModel, WavesOfASimdShareItsVectorUnit) {
  Unit unit;
  unit.addGroup(std::vector<std::string>(8, repeat("v_exp_f32 v0, v1\n", 10)));
  const UnitTimes &times = unit.run();
  EXPECT_GE(times.cycles, 2 * 10 * 16u - 12); // the last one's unit is busy when the wave ends
  EXPECT_LE(times.cycles, 2 * 10 * 16u);
  EXPECT_EQ(times.vectorBusy, 8 * 10 * 16u);
}

TEST(UnitModel, MatrixInstructionsThatAddToTheSameRegistersFollowEachOther) {
  Unit unit;
  unit.addGroup({repeat(mfma, 10)});
  const UnitTimes &times = unit.run();
  EXPECT_EQ(times.cycles, 320u);
  EXPECT_EQ(of(times, Bound::Matrix), 320u);
  EXPECT_EQ(of(times, Bound::Idle), 3 * 320u); // one wave, on one of four SIMDs
}

TEST(UnitModel, AMatrixResultIsLateForOthers) {
  Unit unit;
  unit.addGroup({mfma + "v_mfma_f32_32x32x8_f16 a[16:31], a[0:1], v[2:3], a[16:31]\n"});
  const UnitTimes &times = unit.run();
  EXPECT_EQ(times.cycles, 48u + 32); // 8 passes, and 4 until an operand may be read
  EXPECT_EQ(of(times, Bound::Result), 16u);
}

TEST(UnitModel, AnotherWaveFillsTheWait) {
  std::string load = "global_load_dword v0, v[2:3], off ; lines=2 bytes=256\ns_waitcnt vmcnt(0)\n";
  Unit alone, both;
  std::string work = repeat("v_add_f32 v4, v5, v6\n", 60);
  alone.addGroup({load});
  both.addGroup({load, "s_nop 0", "s_nop 0", "s_nop 0", work});
  uint64_t waited = of(alone.run(), Bound::Latency);
  EXPECT_GT(waited, 240u);
  const UnitTimes &times = both.run();
  EXPECT_EQ(times.cycles, alone.run().cycles);
  EXPECT_EQ(of(times, Bound::Vector), 240u);
}

TEST(UnitModel, WaitsCountFromTheLastIssued) {
  std::string loads = repeat("global_load_dword v0, v[2:3], off ; lines=2 bytes=256\n", 8);
  auto cycles = [&](const std::string &wait) {
    Unit unit;
    unit.addGroup({loads + wait + "v_exp_f32 v0, v1\n"});
    return unit.run();
  };
  UnitTimes first = cycles("s_waitcnt vmcnt(7)\n"), last = cycles("s_waitcnt vmcnt(0)\n");
  auto waited = [](const UnitTimes &times) { return times.instructions[8].waited(); };
  EXPECT_LT(waited(first), waited(last));
  EXPECT_GT(waited(first), 200u);
  EXPECT_EQ(last.instructions[8].executed, 1u);
}

TEST(UnitModel, LdsIsSharedByAllWaves) {
  std::string reads = repeat("ds_read_b128 v[0:3], v4 ; lds=32\n", 10) + "s_waitcnt lgkmcnt(0)\n";
  Unit unit;
  unit.addGroup({reads, reads, reads, reads});
  const UnitTimes &times = unit.run();
  EXPECT_EQ(times.ldsBusy, 4 * 10 * 32u);
  EXPECT_GE(times.cycles, 4 * 10 * 32u);
  EXPECT_LE(times.cycles, 4 * 10 * 32u + 100);
  EXPECT_GT(of(times, Bound::Lds), 4 * times.cycles * 8 / 10);
}

TEST(UnitModel, ABarrierWaitsForTheLastWave) {
  std::string late = repeat("v_exp_f32 v0, v1\n", 20);
  Unit unit;
  unit.addGroup({"s_barrier\ns_endpgm", late + "s_barrier\ns_endpgm"});
  const UnitTimes &times = unit.run();
  EXPECT_GE(times.cycles, 20 * 16u - 12);
  EXPECT_GT(of(times, Bound::Barrier), 290u);
  EXPECT_GT(times.instructions[0].waited(), 290u); // the barrier's own
}

TEST(UnitModel, ABarrierOpensWhenTheOthersHaveEnded) {
  Unit unit;
  unit.addGroup({"s_barrier\ns_nop 0\ns_endpgm", "s_endpgm"});
  EXPECT_LT(unit.run().cycles, 40u);
}

TEST(UnitModel, WorkgroupsRunAtOnceAsFarAsTheyFit) {
  auto cycles = [](unsigned resident) {
    Unit unit(resident, 4);
    for (unsigned group = 0; group < 4; ++group)
      unit.addGroup({"global_load_dword v0, v[2:3], off ; lines=2 bytes=256\ns_waitcnt vmcnt(0)\n"});
    return unit.run().cycles;
  };
  uint64_t alone = cycles(1);
  EXPECT_GT(alone, 4 * 250u);
  EXPECT_LT(cycles(2), alone * 55 / 100);
  EXPECT_LT(cycles(4), alone * 30 / 100);
}

TEST(UnitModel, CyclesOfAllSimdsAreSpent) {
  Unit unit;
  unit.addGroup({mfma + "v_exp_f32 v0, v1\ns_barrier\n",
                 "ds_read_b32 v0, v1 ; lds=2\ns_waitcnt lgkmcnt(0)\ns_barrier\n", "s_branch 0 ; taken=1\ns_barrier\n"});
  const UnitTimes &times = unit.run();
  uint64_t sum = 0;
  for (uint64_t each : times.bounds)
    sum += each;
  EXPECT_EQ(sum, 4 * times.cycles);
}

} // namespace
} // namespace heddle::simulator
