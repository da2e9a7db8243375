// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of accesses to global memory: for each thing that may be missing, a program that lacks it and is told so,
// beside the one that has it and is told nothing, under every policy and schedule.
#include "simulator/checks/StoredValues.h"
#include "tests/simulator/checks/AssembledKernel.h"
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <set>

namespace heddle::simulator {
namespace {

using testing::HasSubstr;

std::string reportOf(AssembledKernel &kernel, SimulationOptions options) {
  options.checks = parseChecks("none,+global-race,+narrow-scope");
  SimulationReport report = kernel.run(options);
  EXPECT_FALSE(report.error) << report.error->what();
  std::string text;
  for (const Finding &finding : report.findings)
    text += finding.text();
  return text;
}

std::string describe(const SimulationOptions &options) {
  return fmt::format("policy {} schedule {} seed {}", int(options.policy), int(options.schedule), options.seed);
}

void expectNone(WavesOf together, const std::vector<std::string> &programs) {
  AssembledKernel kernel(programs, together);
  forEachRun([&](const SimulationOptions &options) { ASSERT_EQ(reportOf(kernel, options), "") << describe(options); });
}

/// That every run has a finding that needs this.
void expectNeed(WavesOf together, const std::vector<std::string> &programs, const std::string &need) {
  AssembledKernel kernel(programs, together);
  forEachRun([&](const SimulationOptions &options) {
    ASSERT_THAT(reportOf(kernel, options), HasSubstr("  needs  " + need + "\n")) << describe(options);
  });
}

// ---- Data, and a flag after it ----

const std::string store = "global_store_dword v[2:3], v0, off\n", load = "global_load_dword v10, v[2:3], off\n",
                  wait = "s_waitcnt vmcnt(0)\n";

/// Lane 0 stores 1 to the flag.
std::string setFlag(const std::string &scope) {
  return "s_mov_b64 s[8:9], exec\ns_mov_b64 exec, 1\nv_mov_b32 v11, 1\n"
         "global_store_dword v[2:3], v11, off offset:1024 " +
         scope + "\ns_mov_b64 exec, s[8:9]\n";
}
/// Lane 0 reads it until it is there.
std::string awaitFlag(const std::string &scope) {
  return "s_mov_b64 s[8:9], exec\ns_mov_b64 exec, 1\npoll:\nglobal_load_dword v11, v[2:3], off offset:1024 " + scope +
         "\ns_waitcnt vmcnt(0)\nv_readfirstlane_b32 s3, v11\ns_cmp_lg_u32 s3, 1\ns_cbranch_scc1 poll\n"
         "s_mov_b64 exec, s[8:9]\n";
}

struct Distance {
  WavesOf together;
  std::string scope;
};
class Flag : public testing::TestWithParam<Distance> {
protected:
  WavesOf together = GetParam().together;
  std::string scope = GetParam().scope, writeBack = "buffer_wbl2 " + scope + "\n",
              invalidate = "buffer_inv " + scope + "\n", set = setFlag(scope), await = awaitFlag(scope);
};

TEST_P(Flag, Orders) {
  expectNone(together, {store + writeBack + wait + set, await + invalidate + load});
  expectNone(together, {store + writeBack + wait + set, await + invalidate + store});
  expectNone(together, {load + wait + set, await + invalidate + store});
  // A store that goes where all find it needs no writing back, and no cache stands before another store.
  expectNone(together, {"global_store_dword v[2:3], v0, off " + scope + "\n" + wait + set, await + invalidate + load});
  expectNone(together, {store + writeBack + wait + set, await + store});
}

TEST_P(Flag, WithoutInvalidation) {
  expectNeed(together, {store + writeBack + wait + set, await + load},
             "buffer_inv " + scope + " between the load that saw the flag and the second access");
}

TEST_P(Flag, WithoutWritingBack) {
  std::string need =
      "buffer_wbl2 " + scope + " and s_waitcnt vmcnt(0) after the first access, before the flag is stored";
  expectNeed(together, {store + wait + set, await + invalidate + load}, need);
  expectNeed(together, {writeBack + wait + store + wait + set, await + invalidate + load}, need);
}

TEST_P(Flag, WithoutWaitingForTheWriteBack) {
  std::string need = fmt::format("s_waitcnt vmcnt(0) between buffer_wbl2 {0} and the store of the flag, or the flag's "
                                 "own scope is too narrow ({0} is needed)",
                                 scope);
  expectNeed(together, {store + writeBack + set, await + invalidate + load}, need);
  expectNeed(together, {store + writeBack + "s_waitcnt vmcnt(1)\n" + set, await + invalidate + load}, need);
}

TEST_P(Flag, WithoutWaitingForALoad) {
  expectNeed(together, {load + set, await + invalidate + store},
             "s_waitcnt that proves the first access complete, before the flag is stored");
}

TEST_P(Flag, ThatNobodyReads) {
  expectNeed(together, {store + writeBack + wait + set, load},
             "a flag that is released after the first and acquired before the second");
}

/// Lane 0 does this, without a scope, to the flag itself.
std::string plainly(const std::string &instruction) {
  return "s_mov_b64 s[8:9], exec\ns_mov_b64 exec, 1\n" + instruction + ", off offset:1024\ns_mov_b64 exec, s[8:9]\n";
}

TEST_P(Flag, IsResetByWhoFoundIt) {
  std::string reset = plainly("global_store_dword v[2:3], v0"), look = plainly("global_load_dword v10, v[2:3]");
  expectNone(together, {set, await + reset});
  expectNone(together, {set, await + invalidate + look});
  // Whose cache may hold what was there before.
  expectNeed(together, {set, await + look},
             "buffer_inv " + scope + " between the load that saw the flag and the second access");
  // Something stored before the flag may still be in flight: the flag says nothing of the stream that both are in.
  AssembledKernel inFlight({"global_store_dword v[2:3], v0, off " + scope + "\n" + set, await + reset}, together);
  forEachRun([&](const SimulationOptions &options) {
    ASSERT_THAT(reportOf(inFlight, options), HasSubstr("(global-race)")) << describe(options);
  });
}

INSTANTIATE_TEST_SUITE_P(All, Flag,
                         testing::Values(Distance{WavesOf::Device, "sc1"}, Distance{WavesOf::System, "sc0 sc1"}),
                         [](const auto &info) {
                           return info.param.together == WavesOf::Device ? "InADevice" : "BetweenDevices";
                         });

TEST(NarrowScope, NamesTheScopeThatIsNeeded) {
  std::string writeBack = "buffer_wbl2 sc1\n", invalidate = "buffer_inv sc1\n";
  expectNeed(WavesOf::Device,
             {store + writeBack + wait + setFlag("sc0"), "global_load_dword v11, v[2:3], off "
                                                         "offset:1024 sc1"},
             "sc1 on both: the waves are of two workgroups");
  expectNeed(WavesOf::System,
             {store + writeBack + wait + setFlag("sc1"), "global_load_dword v11, v[2:3], off offset:1024 sc0 sc1"},
             "sc0 sc1 on both: the waves are of two devices");
  std::string add = "s_mov_b64 exec, 1\nglobal_atomic_add v[2:3], v0, off\n", addForAll = "s_mov_b64 exec, 1\n"
                                                                                          "global_atomic_add v[2:3], "
                                                                                          "v0, off sc1\n";
  expectNone(WavesOf::Device, {add, add});
  expectNeed(WavesOf::System, {add, addForAll}, "sc0 sc1 on both: the waves are of two devices");
  expectNone(WavesOf::System, {addForAll, addForAll});
}

/// The findings about the flag, of a load of it with another scope than its store has. A wave that polls what a cache
/// keeps may wait for ever.
std::string reportOfFlag(const Distance &store, const std::string &scope, const SimulationOptions &given, bool &ended) {
  SimulationOptions options = given;
  options.instructionLimit = 20'000;
  AssembledKernel kernel({setFlag(store.scope), awaitFlag(scope)}, store.together);
  SimulationReport report = kernel.run(options);
  ended = !report.error;
  std::string text;
  for (const Finding &finding : report.findings)
    text += finding.text();
  return text;
}

void expectOfALoadThatPolls(const Distance &flag, const std::string &checks) {
  size_t endless = 0;
  forEachRun([&](SimulationOptions options) {
    options.checks = parseChecks(checks);
    bool ended = false;
    for (std::string scope : {"sc0", "sc1"})
      if (flag.scope != scope)
        EXPECT_THAT(reportOfFlag(flag, scope, options, ended), HasSubstr(flag.scope + " on both: the waves are of"))
            << scope << ", " << describe(options);
    // Without any, one load is a race like others; the second one may wait for the store.
    std::string text = reportOfFlag(flag, "", options, ended);
    endless += !ended;
    std::string comesAgain = flag.scope + " on the load if it waits for the store; else ";
    if (!ended)
      EXPECT_THAT(text, HasSubstr(comesAgain)) << checks << ", " << describe(options);
    else if (options.checks.has(Check::GlobalRace))
      EXPECT_THAT(text, HasSubstr("error: ")) << describe(options);
    else if (!text.empty())
      EXPECT_THAT(text, HasSubstr(comesAgain)) << describe(options);
  });
  EXPECT_GT(endless, 0u);
}

TEST(NarrowScope, OfALoadThatPolls) {
  for (const Distance &flag : {Distance{WavesOf::Device, "sc1"}, Distance{WavesOf::System, "sc0 sc1"}})
    for (std::string checks : {"none,+global-race,+narrow-scope", "none,+narrow-scope"})
      expectOfALoadThatPolls(flag, checks);
}

/// A load in a loop that waits for nothing is told what else orders it.
TEST(NarrowScope, OfALoadThatComesAgain) {
  std::string add = "s_mov_b64 exec, 1\nglobal_atomic_add v[2:3], v0, off\n",
              loads = "s_mov_b64 exec, 1\ns_mov_b32 s3, 3\nagain:\n" + load + wait +
                      "s_sub_u32 s3, s3, 1\ns_cmp_lg_u32 s3, 0\ns_cbranch_scc1 again\n";
  AssembledKernel kernel({add, loads}, WavesOf::Device);
  std::string report = reportOf(kernel, {});
  EXPECT_THAT(report, HasSubstr("error: a load that comes again has no scope that holds the wave which stores "
                                "(narrow-scope)\n"));
  EXPECT_THAT(report, HasSubstr("  needs  sc1 on the load if it waits for the store; else a flag that is released "
                                "after the first and acquired before the second\n"));
}

// ---- A workgroup ----

TEST(GlobalRace, InAWorkgroup) {
  std::string barrier = "s_barrier\n";
  for (const auto &[first, second] : {std::pair{store, load}, {load, store}, {store, store}}) {
    expectNone(WavesOf::Group, {first + barrier, barrier + second});
    expectNeed(WavesOf::Group, {first, second},
               "s_barrier between the two, or a flag that is released after the first and acquired before the second");
  }
  expectNone(WavesOf::Group, {load, load});
  expectNone(WavesOf::Group, {store, "global_store_dword v[2:3], v0, off offset:256\n"});
  expectNone(WavesOf::Group, {store + setFlag("sc0"), awaitFlag("sc0") + load});
}

/// The bytes decide, not the words; three words a lane, and lanes that are not side by side.
TEST(GlobalRace, OnlySharedBytesCount) {
  auto expect = [](bool race, const std::string &first, const std::string &second) {
    AssembledKernel kernel({first, second});
    EXPECT_EQ(reportOf(kernel, {}).empty(), !race) << first << "and\n" << second;
  };
  std::string third = "v_mul_u32_u24 v12, 12, v0\nv_and_b32 v12, 0x3ff, v12\n";
  expect(false, "global_store_short v[2:3], v0, off", "global_store_short v[2:3], v0, off offset:2");
  expect(true, "global_store_short v[2:3], v0, off", "global_store_byte v[2:3], v0, off offset:1");
  expect(true, "global_store_dword v[2:3], v0, off", "global_load_ushort v10, v[2:3], off offset:2");
  expect(true, "global_store_dwordx2 v[2:3], v[0:1], off offset:2", "global_load_dword v10, v[2:3], off offset:256");
  expect(false, "global_store_dword v[2:3], v0, off", "global_load_dwordx2 v[10:11], v[2:3], off offset:256");
  expect(true, third + "global_store_dwordx3 v12, v[0:2], s[4:5]",
         "s_mov_b64 exec, 1\nglobal_load_dword v10, v1, s[4:5] "
         "offset:764");
  expect(false, "s_mov_b32 exec_hi, 0\n" + store, "s_mov_b32 exec_lo, 0\n" + load);
  expect(true, "s_mov_b32 exec_hi, 0\n" + store, load);
}

TEST(GlobalRace, ScalarLoadBehindAStore) {
  std::string need = "a vector load: the scalar cache is not told of stores of the same launch",
              scalar = "s_load_dword s10, s[4:5], 0x0\ns_waitcnt lgkmcnt(0)\n";
  expectNeed(WavesOf::Group, {store + wait + scalar}, need);
  expectNeed(WavesOf::Group, {store + wait + "s_barrier\n", "s_barrier\n" + scalar}, need);
  expectNeed(WavesOf::Device,
             {store + "buffer_wbl2 sc1\n" + wait + setFlag("sc1"), awaitFlag("sc1") + "buffer_inv sc1\n" + scalar},
             need);
  expectNone(WavesOf::Group, {"s_mov_b64 exec, -2\n" + store + wait + scalar}); // of another word
  expectNone(WavesOf::Group, {scalar + store});
}

TEST(GlobalRace, ScalarStores) {
  std::string put = "s_store_dword s2, s[4:5], 0x0\n", get = "s_load_dword s10, s[4:5], 0x0\n",
              lgkm = "s_waitcnt lgkmcnt(0)\n", back = "s_dcache_wb\n", one = "s_mov_b64 exec, 1\n";
  expectNone(WavesOf::Group, {put + back});
  expectNone(WavesOf::Group, {put + lgkm + get + lgkm + back});
  expectNeed(WavesOf::Group, {put + lgkm}, "s_dcache_wb after the store, before s_endpgm");
  expectNeed(WavesOf::Group, {back + put}, "s_dcache_wb after the store, before s_endpgm");
  expectNone(WavesOf::Group, {put + back + lgkm + "s_barrier\n", one + "s_barrier\n" + load});
  AssembledKernel unordered({put + "s_barrier\n" + back, one + "s_barrier\n" + load});
  EXPECT_THAT(reportOf(unordered, {}), HasSubstr("two accesses to the same memory that nothing orders"));
  expectNeed(WavesOf::Group, {put + back + lgkm + "s_barrier\n", "s_barrier\n" + get + lgkm},
             "a vector load: the scalar cache is not told of stores of the same launch");
}

TEST(GlobalRace, ScalarAtomicsSynchronise) {
  std::string lgkm = "s_waitcnt lgkmcnt(0)\n",
              arrive = "s_mov_b32 s10, 1\ns_atomic_add s10, s[4:5], 0x400 glc\n" + lgkm,
              await = "poll:\ns_load_dword s10, s[4:5], 0x400 glc\n" + lgkm +
                      "s_cmp_lg_u32 s10, 257\ns_cbranch_scc1 poll\n";
  expectNone(WavesOf::Device, {store + "buffer_wbl2 sc1\n" + wait + arrive, await + "buffer_inv sc1\n" + load + wait});
  AssembledKernel plain({store + wait + arrive, await + "buffer_inv sc1\n" + load + wait}, WavesOf::Device);
  EXPECT_THAT(reportOf(plain, {}), HasSubstr("two accesses to the same memory that nothing orders"));
}

// ---- The same value ----

/// The names of the checks that find something, whatever the policy and the schedule.
void expectKinds(const std::vector<std::string> &programs, const std::set<std::string> &kinds) {
  for (WavesOf together : {WavesOf::Group, WavesOf::Device, WavesOf::System}) {
    AssembledKernel kernel(programs, together);
    forEachRun([&](SimulationOptions options) {
      options.checks = parseChecks("none,+global-race,+narrow-scope,+global-same-value");
      SimulationReport report = kernel.run(options);
      ASSERT_FALSE(report.error) << report.error->what();
      std::set<std::string> found;
      for (const Finding &finding : report.findings)
        found.insert(infoOf(finding.check).name);
      ASSERT_EQ(found, kinds) << describe(options) << testing::PrintToString(programs);
    });
  }
}

TEST(GlobalSameValue, OfTheBytesThatBothStore) {
  std::string same = "global_store_dword v[2:3], v1, off\n", byte = "global_store_byte v[2:3], v1, off\n";
  expectKinds({same, same}, {"global-same-value"});
  expectKinds({same, byte}, {"global-same-value"});
  expectKinds({byte, "v_lshrrev_b32 v10, 8, v1\nglobal_store_byte v[2:3], v10, off offset:1\n"}, {});
  expectKinds({same, "v_lshrrev_b32 v10, 8, v1\nglobal_store_byte v[2:3], v10, off offset:1\n"}, {"global-same-value"});
  expectKinds({same, "v_mov_b32 v10, 1\nglobal_store_byte v[2:3], v10, off offset:1\n"}, {"global-race"});
  expectKinds({same, "global_load_dword v10, v[2:3], off\n"}, {"global-race"});
  expectKinds({same, same, "v_add_u32 v10, 1, v1\nglobal_store_dword v[2:3], v10, off\n"},
              {"global-race", "global-same-value"});
  expectKinds({same, "s_mov_b64 exec, 2\nv_add_u32 v10, 1, v1\nglobal_store_dword v[2:3], v10, off\n"
                     "s_mov_b64 exec, 4\n" +
                         same},
              {"global-race", "global-same-value"});
}

TEST(GlobalSameValue, OfLanesThatAreNoRow) {
  std::string apart = "v_lshlrev_b32 v12, 5, v0\nv_and_b32 v12, 0x7e0, v12\n", // 32 bytes from lane to lane
      wide = apart + "v_mov_b32 v10, v12\nv_mov_b32 v11, 7\nglobal_store_dwordx2 v12, v[10:11], s[4:5]\n";
  expectKinds({wide, wide}, {"global-same-value"});
  expectKinds({wide, apart + "v_mov_b32 v11, 7\nglobal_store_dword v12, v11, s[4:5] offset:4\n"},
              {"global-same-value"});
  expectKinds({wide, apart + "v_mov_b32 v11, 8\nglobal_store_dword v12, v11, s[4:5] offset:4\n"}, {"global-race"});
}

TEST(StoredValues, ForgetsTheOldest) {
  StoredValues stored;
  MemoryRequest request;
  request.kind = RequestKind::Store;
  request.bytes = 16;
  request.words = 4;
  request.lanes = allLanes;
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    request.address[lane] = 0x1000 + 64 * (63 - lane);
  size_t stores = 2 * StoredValues::mostBytes / sizeof request.data;
  for (uint32_t epoch = 1; epoch <= stores; ++epoch) {
    request.data[1][3] = epoch;
    stored.add({5, 1, epoch}, request);
  }
  uint64_t third = request.address[3] + 4;
  EXPECT_EQ(stored.byteAt({5, 1, 1}, 3, third), std::nullopt);
  for (unsigned byte = 0; byte < 4; ++byte)
    EXPECT_EQ(stored.byteAt({5, 1, uint32_t(stores)}, 3, third + byte), uint8_t(stores >> 8 * byte));
  EXPECT_EQ(stored.byteAt({5, 1, uint32_t(stores)}, 3, third + 12), std::nullopt);
  EXPECT_EQ(stored.byteAt({5, 2, uint32_t(stores)}, 3, third), std::nullopt);
}

// ---- Read-modify-writes that the chip lacks ----

/// What LLVM makes of one: a plain load, and a compare-and-swap that expects what it has brought.
TEST(GlobalRace, PlainLoadOfWhatACompareAndSwapExpects) {
  std::string lane = "s_mov_b64 exec, 1\n", add = lane + "global_atomic_add v[2:3], v0, off\n",
              plain = lane + "global_load_dword v13, v[2:3], off\n" + wait,
              swap = "v_add_u32 v12, 1, v13\nglobal_atomic_cmpswap v10, v[2:3], v[12:13], off sc0\n" + wait,
              elsewhere = "global_atomic_cmpswap v10, v[2:3], v[12:13], off offset:8 sc0\n" + wait;
  std::string need = "a flag that is released after the first and acquired before the second";
  expectNone(WavesOf::Device, {add, plain + swap});
  expectNone(WavesOf::Device, {plain + swap, add});
  expectNone(WavesOf::Device, {plain + swap, plain + swap});
  expectNone(WavesOf::Device, {plain + swap + plain + swap, plain + swap + plain + swap});
  expectNeed(WavesOf::Device, {add, plain}, need);
  expectNeed(WavesOf::Device, {add, plain + elsewhere}, need);
  // Of two places, each with its own.
  std::string addNext = lane + "global_atomic_add v[2:3], v0, off offset:8\n",
              plainNext = lane + "global_load_dword v13, v[2:3], off offset:8\n" + wait;
  expectNone(WavesOf::Device, {add + addNext, plain + plainNext + elsewhere + swap});
  AssembledKernel kernel({add + addNext, plain + plainNext + elsewhere}, WavesOf::Device);
  std::string report = reportOf(kernel, {});
  EXPECT_THAT(report, HasSubstr("byte 0 of"));
  EXPECT_THAT(report, testing::Not(HasSubstr("byte 8 of")));
}

} // namespace
} // namespace heddle::simulator
