// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the order check takes a launch to know when it begins: what earlier launches of others had learnt by their end
// of kernels that still run, and that launches have ended of which it was told. Two devices; which launch begins when
// is the test's.
#include "simulator/Simulator.h"
#include "tests/simulator/AssembledObject.h"
#include <cstring>
#include <gmock/gmock.h>

namespace heddle::simulator {
namespace {

using testing::HasSubstr;

/// v[2:3] is the address of the lane's word; flags are after the words.
const std::string begin = "s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_lshlrev_b32 v1, 2, v0\ns_waitcnt lgkmcnt(0)\n"
                          "v_mov_b32 v3, s5\nv_add_co_u32 v2, vcc, s4, v1\nv_addc_co_u32 v3, vcc, 0, v3, vcc\n",
                  store = "global_store_dword v[2:3], v0, off\n", load = "global_load_dword v10, v[2:3], off\n",
                  writeBack = "buffer_wbl2 sc0 sc1\ns_waitcnt vmcnt(0)\n", invalidate = "buffer_inv sc0 sc1\n";

/// Lane 0 does it.
std::string alone(const std::string &text) {
  return "s_mov_b64 s[8:9], exec\ns_mov_b64 exec, 1\n" + text + "s_mov_b64 exec, s[8:9]\n";
}
std::string set(int flag) {
  return alone("v_mov_b32 v11, 1\nglobal_store_dword v[2:3], v11, off offset:" + std::to_string(512 * flag) +
               " sc0 sc1\n");
}
std::string await(int flag) {
  std::string label = "poll" + std::to_string(flag);
  return alone(label + ":\nglobal_load_dword v11, v[2:3], off offset:" + std::to_string(512 * flag) +
               " sc0 sc1\ns_waitcnt vmcnt(0)\nv_readfirstlane_b32 s3, v11\ns_cmp_lg_u32 s3, 1\ns_cbranch_scc1 " +
               label + "\n");
}

class Launches {
public:
  explicit Launches(const SimulationOptions &given) : buffer(simulator.allocate(4096, "words")), options(given) {
    options.checks = parseChecks("none,+global-race,+narrow-scope");
    options.instructionLimit = 1'000'000;
    session.emplace(simulator, options);
  }
  KernelRun &start(unsigned device, const std::string &text) {
    AmdCodeObject object = assembledObject("gfx942", "launch", begin + text + "s_endpgm\n", 8);
    LoadedObject &loaded = simulator.load(object, device);
    std::string arguments(8, '\0');
    std::memcpy(arguments.data(), &buffer, 8);
    runs.push_back(simulator.prepare(loaded, loaded.object.kernels[0], {.groups = {1}, .items = {64}}, arguments,
                                     device, options));
    session->begin(*runs.back());
    return *runs.back();
  }
  void runToEnd(const KernelRun &run) {
    while (!run.ended && session->pass())
      ;
  }
  /// All of them; what was found.
  std::string findings() {
    while (session->pass())
      ;
    std::string text;
    for (const auto &run : runs)
      if (run->error)
        text += run->error->what();
    for (const Finding &finding : session->findings())
      text += finding.text();
    return text;
  }

private:
  Simulator simulator{"gfx942", 2};
  uint64_t buffer;
  SimulationOptions options;
  std::vector<std::unique_ptr<KernelRun>> runs;
  std::optional<Session> session;
};

void forEachRun(const std::function<void(Launches &launches)> &test) {
  for (Policy policy : {Policy::Earliest, Policy::Latest, Policy::Random})
    for (Schedule schedule : {Schedule::RunToBlock, Schedule::RoundRobin, Schedule::Random})
      for (uint64_t seed = 0; seed < 3; ++seed) {
        SimulationOptions options;
        options.policy = policy, options.schedule = schedule, options.seed = seed;
        SCOPED_TRACE(testing::Message() << nameOf(policy) << " " << nameOf(schedule) << " " << seed);
        Launches launches(options);
        test(launches);
      }
}

/// Stores, says so by flag 1, and runs until flag 2 is set.
const std::string writer = store + writeBack + set(1) + await(2);

TEST(LaterLaunch, KnowsWhatAnEarlierOneOfItsDeviceWasTold) {
  forEachRun([](Launches &launches) {
    launches.start(0, writer);
    launches.runToEnd(launches.start(1, await(1) + invalidate));
    launches.start(1, load + "s_waitcnt vmcnt(0)\n" + set(2));
    EXPECT_EQ(launches.findings(), "");
  });
}

TEST(LaterLaunch, KnowsNothingThatNobodyWasTold) {
  forEachRun([](Launches &launches) {
    launches.start(0, writer);
    launches.runToEnd(launches.start(1, "s_nop 0\n"));
    launches.start(1, load + "s_waitcnt vmcnt(0)\n" + set(2));
    EXPECT_THAT(launches.findings(), HasSubstr("global-race"));
  });
}

/// The end comes after the begin of the other, which waits for it, but by no flag that passes anything on.
TEST(LaterLaunch, KnowsNothingOfWhatEndsBehindItsBegin) {
  forEachRun([](Launches &launches) {
    launches.start(0, writer);
    KernelRun &told = launches.start(1, await(1) + invalidate);
    launches.start(1, load + "s_waitcnt vmcnt(0)\n" + set(2));
    launches.runToEnd(told);
    EXPECT_THAT(launches.findings(), HasSubstr("global-race"));
  });
}

/// A launch that began when another had ended says so with its flag to one that has run all the time.
TEST(LaterLaunch, TellsOthersWhichHaveEnded) {
  forEachRun([](Launches &launches) {
    launches.start(1, await(1) + invalidate + load);
    launches.runToEnd(launches.start(0, store));
    launches.start(0, set(1));
    EXPECT_EQ(launches.findings(), "");
  });
}

TEST(LaterLaunch, CannotTellWhoDoesNotInvalidate) {
  forEachRun([](Launches &launches) {
    launches.start(1, await(1) + load);
    launches.runToEnd(launches.start(0, store));
    launches.start(0, set(1));
    EXPECT_THAT(launches.findings(), HasSubstr("global-race"));
  });
}

/// The launch that sets the flag began before the other one ended, so it does not know that it has.
TEST(LaterLaunch, CannotTellWhatEndedBehindItsBegin) {
  forEachRun([](Launches &launches) {
    launches.start(1, await(1) + invalidate + load);
    launches.start(0, store + await(2));
    launches.start(0, set(2) + set(1));
    EXPECT_THAT(launches.findings(), HasSubstr("global-race"));
  });
}

} // namespace
} // namespace heddle::simulator
