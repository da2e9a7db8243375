// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What races in LDS do to results: accesses that something orders have one outcome under every policy and schedule,
// accesses that nothing orders have several. This is the simulated machine, without checks: LdsCheckTest.cpp has the
// same table.
#include "tests/simulator/checks/AssembledKernel.h"
#include <fmt/format.h>
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

enum class Wait { None, OfTheOther, Right };

struct Cell {
  const char *first, *second;
  bool barrier;
  Wait wait;
  std::string waitText() const {
    if (wait == Wait::None)
      return "";
    return (wait == Wait::Right) == (first == load) ? "s_waitcnt vmcnt(0)\n" : "s_waitcnt lgkmcnt(0)\n";
  }
};

template <typename Action>
void forEachCell(Action action) {
  constexpr std::pair<const char *, const char *> pairs[] = {
      {write, read}, {read, write}, {write, write}, {load, read}, {load, write}, {read, load},
      {write, load}, {load, load},  {add, read},    {read, add},  {add, write},  {write, add},
      {add, load},   {load, add},   {add, add},     {read, read}};
  for (auto [first, second] : pairs)
    for (bool barrier : {false, true})
      for (Wait wait : {Wait::None, Wait::OfTheOther, Wait::Right})
        action(Cell{first, second, barrier, wait});
}

TEST(LdsValues, WithinAWave) {
  forEachCell([](const Cell &cell) {
    std::string meet = cell.barrier ? "s_barrier\n" : "";
    std::string program = begin(0) + cell.first + "\n" + cell.waitText() + meet + cell.second + "\n" + end(0);
    bool race = (cell.first == load) != (cell.second == load) && cell.wait != Wait::Right;
    std::string other = begin(1) + meet + end(1);
    race ? expectSeveral({program, other}) : expectOne({program, other});
  });
}

TEST(LdsValues, BetweenWaves) {
  forEachCell([](const Cell &cell) {
    std::string meet = cell.barrier ? "s_barrier\n" : "";
    std::string first = begin(0) + cell.first + "\n" + cell.waitText() + meet + end(0),
                second = begin(1) + meet + cell.second + "\n" + end(1);
    SCOPED_TRACE("and\n" + second);
    bool harmless = cell.first == cell.second && (cell.first == read || cell.first == add);
    bool race = !harmless && !(cell.barrier && cell.wait == Wait::Right);
    race ? expectSeveral({first, second}) : expectOne({first, second});
  });
}

} // namespace
} // namespace heddle::simulator
