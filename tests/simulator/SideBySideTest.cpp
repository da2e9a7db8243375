// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several kernels at once on one device: whose fault a fault is, and what goes on.
#include "simulator/Simulator.h"
#include "support/TestError.h"
#include "tests/simulator/AssembledObject.h"
#include <cstring>

namespace heddle::simulator {
namespace {

constexpr Policy policies[] = {Policy::Earliest, Policy::Latest, Policy::Reordered, Policy::Random};
constexpr Schedule schedules[] = {Schedule::RunToBlock, Schedule::RoundRobin, Schedule::LeapFrog, Schedule::Frozen,
                                  Schedule::Random};

/// Kernels of one wave in each group; v[2:3] is the address of the lane's word of a buffer of 64 words, v[4:5] one
/// outside of every buffer. Group 0 of each is on the same compute unit.
class SideBySide : public testing::Test {
protected:
  SideBySide() : buffer(simulator.allocate(256, "buffer")) { options.instructionLimit = 1'000'000; }

  std::unique_ptr<KernelRun> prepare(const std::string &name, const std::string &text, uint32_t groups = 1) {
    AmdCodeObject object = assembledObject("gfx942", name,
                                           "s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
                                           "v_lshlrev_b32 v1, 2, v0\n"
                                           "s_waitcnt lgkmcnt(0)\n"
                                           "v_mov_b32 v3, s5\n"
                                           "v_add_co_u32 v2, vcc, s4, v1\n"
                                           "v_addc_co_u32 v3, vcc, 0, v3, vcc\n"
                                           "v_mov_b32 v4, v1\n"
                                           "v_mov_b32 v5, 1\n" +
                                               text + "\ns_endpgm\n",
                                           8);
    LoadedObject &loaded = simulator.load(object);
    std::string arguments(8, '\0');
    std::memcpy(arguments.data(), &buffer, 8);
    return simulator.prepare(loaded, loaded.object.kernels[0], {.groups = {groups}, .items = {64}}, arguments, 0,
                             options);
  }
  void runToEnd(std::initializer_list<KernelRun *> runs) {
    Session session(simulator, options);
    for (KernelRun *run : runs)
      session.begin(*run);
    while (session.pass())
      ;
  }
  uint32_t word(size_t index) {
    uint32_t value;
    std::memcpy(&value, &simulator.bytes(buffer)[4 * index], 4);
    return value;
  }

  Simulator simulator{"gfx942"};
  SimulationOptions options;
  uint64_t buffer;
};

const char *const storeAndGoOn = "global_store_dword v[4:5], v0, off\nagain:\ns_sleep 1\ns_branch again";
const char *const releaseAWord = "v_mov_b32 v6, 77\nglobal_store_dword v[2:3], v6, off\nbuffer_wbl2 sc1\n"
                                 "s_waitcnt vmcnt(0)\nv_mov_b32 v6, 78\nglobal_store_dword v[2:3], v6, off";

/// The release of the second performs the store of the first, which no wave has waited for.
TEST_F(SideBySide, AFaultIsThatOfTheKernelWhoseRequestItWas) {
  options.policy = Policy::Latest;
  auto first = prepare("first", storeAndGoOn), second = prepare("second", releaseAWord);
  runToEnd({first.get(), second.get()});
  ASSERT_TRUE(first->error);
  EXPECT_CONTAINS(first->error->what(), "kernel `first`: writes 4 bytes at 0x100000000, outside every allocation");
  EXPECT_CONTAINS(first->error->notes.at(0), "global_store_dword v[4:5], v0, off  workgroup 0,0,0 wave 0 lane 0");
  EXPECT_FALSE(second->error) << second->error->what();
  EXPECT_EQ(word(5), 78u);
}

/// Also when it comes by chance, or when old requests are performed.
TEST_F(SideBySide, SoItIsInEveryOrder) {
  for (Policy policy : policies)
    for (Schedule schedule : schedules)
      for (uint64_t seed = 0; seed < 8; ++seed) {
        options.policy = policy, options.schedule = schedule, options.seed = seed;
        SCOPED_TRACE(testing::Message() << nameOf(policy) << " " << nameOf(schedule) << " " << seed);
        auto first = prepare("first", storeAndGoOn, 2), second = prepare("second", releaseAWord, 3),
             third = prepare("third", "global_load_dword v6, v[4:5], off\ns_nop 0\ns_waitcnt vmcnt(0)", 2);
        runToEnd({first.get(), second.get(), third.get()});
        ASSERT_TRUE(first->error && third->error);
        ASSERT_FALSE(first->isEndless || third->isEndless);
        EXPECT_CONTAINS(first->error->what(), "kernel `first`: writes 4 bytes at 0x100000000");
        EXPECT_CONTAINS(third->error->what(), "kernel `third`: reads 4 bytes at 0x100000000");
        ASSERT_FALSE(second->error) << second->error->what();
        EXPECT_EQ(word(5), 78u);
      }
}

TEST(Names, ArePrintedAsTheyAreRead) {
  for (Policy policy : policies)
    EXPECT_EQ(parsePolicy(nameOf(policy)), policy);
  for (Schedule schedule : schedules)
    EXPECT_EQ(parseSchedule(nameOf(schedule)), schedule);
  EXPECT_EQ(messageOf([] { parsePolicy("latets"); }),
            "there is no policy `latets`\nthe closest is `latest`\nthe policies are `earliest`, `latest`, `reordered`, "
            "`random`");
  EXPECT_CONTAINS(messageOf([] { parseSchedule(""); }), "there is no schedule ``\nthe schedules are `run-to-block`");
}

TEST_F(SideBySide, AMachineThatGoesEndsWhatRuns) {
  auto run = prepare("endless", "again:\ns_sleep 1\ns_branch again");
  {
    Session session(simulator, options);
    session.begin(*run);
    session.pass();
  }
  EXPECT_EQ(simulator.system.devices[0]->runningKernels, 0u);
}

/// A launch of many workgroups, each of which ends at once, is no reason to look at the time only when all have run.
TEST_F(SideBySide, ManyGroupsGiveWayToOthers) {
  options.instructionLimit = 0;
  options.isCancelled = [] { return true; };
  auto run = prepare(
      "many", "s_movk_i32 s6, 1000\nagain:\ns_sub_i32 s6, s6, 1\ns_cmp_lg_u32 s6, 0\ns_cbranch_scc1 again", 10'000);
  runToEnd({run.get()});
  ASSERT_TRUE(run->error);
  EXPECT_CONTAINS(run->error->what(), "kernel `many` is stopped");
  EXPECT_LT(run->statistics.instructions, 10'000'000u); // of 30 million
}

} // namespace
} // namespace heddle::simulator
