// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every wave that can go on gets its turn, and what is in flight arrives, before much time passes: two devices that
// send each other flags and never wait for their stores, under every schedule.
#include "tests/simulator/checks/AssembledKernel.h"
#include "tests/simulator/checks/LdsTable.h"
#include <functional>
#include <gtest/gtest.h>
#include <optional>

namespace heddle::simulator {
namespace {

/// Flag `flag` becomes 7 some time.
std::string send(int flag) {
  return fmt::format("v_mov_b32 v11, 7\nglobal_store_dword v[2:3], v11, off offset:{} sc0 sc1\n", 256 * flag);
}

/// Loads `places` flags from `flag` on again and again, and looks at the first: the others are in flight meanwhile.
std::string await(int flag, int places) {
  std::string text = fmt::format("poll_{}:\n", flag);
  for (int place = 0; place < places; ++place)
    text += fmt::format("global_load_dword v{}, v[2:3], off offset:{} sc0 sc1\n", 20 + place, 256 * (flag + place));
  return text + fmt::format("s_waitcnt vmcnt({})\nv_readfirstlane_b32 s8, v20\ns_cmp_lg_u32 s8, 7\n"
                            "s_cbranch_scc1 poll_{}\n",
                            places - 1, flag);
}

/// The same with one flag; ends the program 2^30 ticks after `takeTime`.
const std::string takeTime = "s_memrealtime s[12:13]\ns_waitcnt lgkmcnt(0)\ns_add_u32 s12, s12, 0x40000000\n"
                             "s_addc_u32 s13, s13, 0\n";
std::string awaitInTime(int flag) {
  return fmt::format("poll_{0}:\nglobal_load_dword v20, v[2:3], off offset:{1} sc0 sc1\ns_waitcnt vmcnt(0)\n"
                     "v_readfirstlane_b32 s8, v20\ns_cmp_eq_u32 s8, 7\ns_cbranch_scc1 came_{0}\n"
                     "s_memrealtime s[10:11]\ns_waitcnt lgkmcnt(0)\ns_sub_u32 s10, s10, s12\ns_subb_u32 s11, s11, s13\n"
                     "s_cmp_lt_i32 s11, 0\ns_cbranch_scc1 poll_{0}\ns_endpgm\ncame_{0}:\n",
                     flag, 256 * flag);
}

/// Each of the two waits for the other twice; both say so at their ends.
std::vector<std::string> flagsToAndFro(const std::function<std::string(int)> &await) {
  return {send(0) + await(1) + send(2) + await(3) + send(14), await(0) + send(1) + await(2) + send(3) + send(15)};
}

void expectBothEnd(const std::vector<std::string> &programs, SimulationOptions options) {
  SCOPED_TRACE(describe(options));
  AssembledKernel kernel(programs, WavesOf::System);
  options.instructionLimit = 16'000'000;
  std::optional<Error> error = kernel.run(options).error;
  EXPECT_FALSE(error) << error->what();
  EXPECT_EQ(kernel.word(64 * 14), 7u);
  EXPECT_EQ(kernel.word(64 * 15), 7u);
}

/// Whenever nothing goes on, a load of theirs is in flight.
TEST(Turns, WhoPollsTwoPlacesDoesNotKeepTheFrozenAway) {
  auto programs = flagsToAndFro([](int flag) { return await(flag, 2); });
  forEachRun([&](const SimulationOptions &options) { expectBothEnd(programs, options); });
}

/// Ten are more than are remembered, so that they never seem to wait.
TEST(Turns, WhoPollsManyPlacesDoesNotKeepTheFrozenAway) {
  auto programs = flagsToAndFro([](int flag) { return await(flag, 10); });
  for (Policy policy : {Policy::Earliest, Policy::Latest}) {
    SimulationOptions options;
    options.policy = policy, options.schedule = Schedule::Frozen, options.caches = true;
    expectBothEnd(programs, options);
  }
}

TEST(Turns, TimeDoesNotPassTheFrozenBy) {
  auto programs = flagsToAndFro([](int flag) { return takeTime + awaitInTime(flag); });
  forEachRun([&](const SimulationOptions &options) { expectBothEnd(programs, options); });
}

/// No device sends anything: time passes although loads are in flight, or who polls two places never gives up.
TEST(Turns, TimePassesForThoseWhoPollSeveralPlaces) {
  auto poll = [](int flag) {
    std::string text = awaitInTime(flag);
    text.insert(text.find("s_waitcnt"), "global_load_dword v21, v[2:3], off offset:2048 sc0 sc1\n");
    return takeTime + text.replace(text.find("vmcnt(0)"), 8, "vmcnt(1)");
  };
  AssembledKernel kernel({poll(1), poll(2) + send(15)}, WavesOf::System);
  forEachRun([&](const SimulationOptions &options) {
    if (options.schedule == Schedule::Random) // hardly ever has none a turn that comes
      return;
    SCOPED_TRACE(describe(options));
    std::optional<Error> error = kernel.run(options).error;
    EXPECT_FALSE(error) << error->what();
    EXPECT_EQ(kernel.word(64 * 15), 64u * 15);
  });
}

} // namespace
} // namespace heddle::simulator
