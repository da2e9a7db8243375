// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What races in LDS do to results: accesses that something orders have one outcome under every policy and schedule,
// accesses that nothing orders have several. This is the simulated machine, without checks: LdsCheckTest.cpp has the
// same table.
#include "tests/simulator/checks/AssembledKernel.h"
#include "tests/simulator/checks/LdsTable.h"
#include <gtest/gtest.h>
#include <map>

namespace heddle::simulator {
namespace {

using Outcome = std::vector<uint32_t>;

/// Words 512 to 703 of the buffer after each run, with how often they came.
std::map<Outcome, unsigned> outcomesOf(const std::vector<std::string> &programs) {
  AssembledKernel kernel(programs);
  std::map<Outcome, unsigned> outcomes;
  forEachRun([&](const SimulationOptions &options) {
    SimulationReport report = kernel.run(options);
    ASSERT_FALSE(report.error) << report.error->what();
    Outcome outcome;
    for (size_t i = 512; i < 704; ++i)
      outcome.push_back(kernel.word(i));
    ++outcomes[outcome];
  });
  return outcomes;
}

void expectOne(const std::vector<std::string> &programs) {
  EXPECT_EQ(outcomesOf(programs).size(), 1u) << programs[0];
}
void expectSeveral(const std::vector<std::string> &programs) {
  EXPECT_GT(outcomesOf(programs).size(), 1u) << programs[0];
}

// ---- Two accesses ----

constexpr const char *read = "ds_read_b32 v10, v1", *write = "ds_write_b32 v1, v12",
                     *load = "global_load_lds_dword v[4:5], off", *add = "ds_add_u32 v1, v12";

/// Gives the word of each lane a value, and v12 another that is the wave's; v[4:5] points to words that are the wave's.
std::string begin(unsigned wave) {
  return fmt::format("v_add_u32 v11, 0x1388, v0\nv_add_u32 v12, 0x3e8, v0\nv_mov_b32 v10, 7\n"
                     "v_add_co_u32 v4, vcc, {}, v2\nv_addc_co_u32 v5, vcc, 0, v3, vcc\n{}s_barrier\n",
                     wave ? "0x400" : "0", wave ? "" : "ds_write_b32 v1, v11\ns_waitcnt lgkmcnt(0)\n");
}
/// Stores what was read, and the first wave what is in LDS in the end.
std::string end(unsigned wave) {
  std::string text = fmt::format("s_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_store_dword v[2:3], v10, off offset:{}\n"
                                 "s_barrier\n",
                                 wave ? 2304 : 2048);
  return wave ? text
              : text + "ds_read_b32 v13, v1\ns_waitcnt lgkmcnt(0)\nglobal_store_dword v[2:3], v13, off "
                       "offset:2560\n";
}

constexpr const char *texts[] = {read, write, load, add}; ///< by Access

TEST(LdsValues, WithinAWave) {
  forEachLdsCell([](const LdsCell &cell) {
    std::string program = begin(0) + texts[int(cell.first)] + "\n" + cell.waitText() + cell.barrierText() +
                          texts[int(cell.second)] + "\n" + end(0);
    std::vector<std::string> programs = {program, begin(1) + cell.barrierText() + end(1)};
    cell.racesWithinAWave() ? expectSeveral(programs) : expectOne(programs);
  });
}

TEST(LdsValues, BetweenWaves) {
  forEachLdsCell([](const LdsCell &cell) {
    std::string first = begin(0) + texts[int(cell.first)] + "\n" + cell.waitText() + cell.barrierText() + end(0),
                second = begin(1) + cell.barrierText() + texts[int(cell.second)] + "\n" + end(1);
    SCOPED_TRACE("and\n" + second);
    cell.racesBetweenWaves() ? expectSeveral({first, second}) : expectOne({first, second});
  });
}

// ---- Pipelines ----

/// What one may get wrong in a pipeline of loads to LDS with two slots.
struct Pipeline {
  std::string filled = "s_waitcnt vmcnt(1)"; ///< before the barrier after which others read the slot
  std::string publish = "s_barrier";
  std::string used = "s_waitcnt lgkmcnt(0)"; ///< before the barrier after which the slot is filled again
  std::string free = "s_barrier";
};

/// Each wave loads its half of every tile into a slot, and adds up the other wave's halves.
std::string pipelineProgram(const Pipeline &pipeline, unsigned wave) {
  constexpr unsigned tiles = 4;
  auto fill = [&](unsigned tile) {
    return fmt::format("s_mov_b32 m0, {}\nv_add_co_u32 v4, vcc, 0x{:x}, v2\nv_addc_co_u32 v5, vcc, 0, v3, vcc\n"
                       "global_load_lds_dword v[4:5], off\n",
                       tile % 2 * 1024 + wave * 256, tile * 512 + wave * 256);
  };
  std::string text = "v_mov_b32 v10, 0\n" + fill(0);
  for (unsigned tile = 0; tile < tiles; ++tile) {
    bool last = tile + 1 == tiles;
    text += last ? "s_waitcnt vmcnt(0)\n" : fill(tile + 1) + pipeline.filled + "\n";
    text += fmt::format("{}\nds_read_b32 v11, v1 offset:{}\n{}\n{}\ns_waitcnt lgkmcnt(0)\nv_add_u32 v10, v10, v11\n",
                        pipeline.publish, tile % 2 * 1024 + (1 - wave) * 256, pipeline.used, pipeline.free);
  }
  return text + fmt::format("global_store_dword v[2:3], v10, off offset:{}\ns_waitcnt vmcnt(0)\n", wave ? 2304 : 2048);
}

std::vector<std::string> programsOf(const Pipeline &pipeline) {
  return {pipelineProgram(pipeline, 0), pipelineProgram(pipeline, 1)};
}

TEST(LdsValues, ARightPipeline) {
  std::map<Outcome, unsigned> outcomes = outcomesOf(programsOf({}));
  ASSERT_EQ(outcomes.size(), 1u);
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(outcomes.begin()->first[lane], 4 * (64 + lane) + 6 * 128);
    EXPECT_EQ(outcomes.begin()->first[64 + lane], 4 * lane + 6 * 128);
  }
}

TEST(LdsValues, WrongPipelinesShowAndAreFound) {
  for (const Pipeline &wrong :
       {Pipeline{.filled = "s_waitcnt vmcnt(2)"}, Pipeline{.filled = ""}, Pipeline{.publish = ""}, Pipeline{.used = ""},
        Pipeline{.free = ""}, Pipeline{.filled = "s_waitcnt lgkmcnt(0)"}}) {
    SCOPED_TRACE(wrong.filled + ", " + wrong.publish + ", " + wrong.used + ", " + wrong.free);
    expectSeveral(programsOf(wrong));
    AssembledKernel kernel(programsOf(wrong));
    forEachRun([&](SimulationOptions options) {
      options.checks = parseChecks("none,+lds-race");
      EXPECT_FALSE(kernel.run(options).findings.empty());
    });
  }
}

// ---- What compilers rely on ----

TEST(LdsValues, FlatStoresToLdsAreOverWithTheLocalCounter) {
  std::string store = "s_mov_b64 s[8:9], src_shared_base\nv_mov_b32 v7, s9\nv_mov_b32 v6, v1\nflat_store_dword v[6:7], "
                      "v12\n";
  std::string first = begin(0) + store, second = begin(1) + "s_barrier\n" + read + "\n" + end(1);
  expectOne({first + "s_waitcnt lgkmcnt(0)\ns_barrier\n" + end(0), second});
  expectSeveral({first + "s_barrier\n" + end(0), second});
}

/// Also when nothing has waited for it before the wave ends.
TEST(LdsValues, ALoadThatLandsBeyondLdsIsAFaultOfItsInstruction) {
  AssembledKernel kernel({"s_mov_b32 m0, 0x8000\nglobal_load_lds_dword v[2:3], off", "s_nop 0"});
  forEachRun([&](const SimulationOptions &options) {
    SimulationReport report = kernel.run(options);
    ASSERT_TRUE(report.error);
    EXPECT_NE(std::string(report.error->what()).find("of LDS, of which the workgroup has 8192 bytes"),
              std::string::npos)
        << report.error->what();
    EXPECT_NE(report.error->notes.at(0).find("global_load_lds_dword v[2:3], off  workgroup 0,0,0 wave 0 lane 0"),
              std::string::npos)
        << report.error->notes[0];
  });
}

TEST(LdsValues, ScratchOfAWaveIsInOrder) {
  std::string program = begin(0) + "scratch_store_dword off, v12, off\nscratch_load_dword v10, off, off\n"
                                   "scratch_store_dword off, v1, off\n";
  expectOne({program + end(0)});
}

} // namespace
} // namespace heddle::simulator
