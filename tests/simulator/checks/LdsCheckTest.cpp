// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Races in LDS: two accesses of the same bytes by one wave or two, with and without wait and barrier between them;
// locks and flags; the end of waves; what the reports say. The verdict is the same under every policy and schedule.
#include "tests/simulator/checks/AssembledKernel.h"
#include "tests/simulator/checks/LdsTable.h"
#include <gmock/gmock.h>

namespace heddle::simulator {
namespace {

using testing::HasSubstr;

std::string textOf(const SimulationReport &report) {
  std::string text;
  for (const Finding &finding : report.findings)
    text += finding.text();
  return text;
}

/// That every run of it ends well, with one finding of the check, or none when `check` is empty.
void expectFindings(const std::vector<std::string> &programs, std::optional<Check> check) {
  AssembledKernel kernel(programs);
  forEachRun([&](SimulationOptions options) {
    options.checks = ldsChecks();
    SimulationReport report = kernel.run(options);
    ASSERT_FALSE(report.error) << report.error->what();
    ASSERT_EQ(report.findings.size(), check ? 1u : 0u) << describe(options) << "\n" << textOf(report);
    if (check) {
      ASSERT_EQ(report.findings[0].check, *check) << textOf(report);
    }
  });
}
void expectRace(const std::vector<std::string> &programs) {
  expectFindings(programs, Check::LdsRace);
}
void expectNone(const std::vector<std::string> &programs) {
  expectFindings(programs, std::nullopt);
}

/// The texts of the findings under one policy and schedule.
std::string reportOf(const std::vector<std::string> &programs) {
  AssembledKernel kernel(programs);
  SimulationOptions options;
  options.checks = ldsChecks();
  return textOf(kernel.run(options));
}

// ---- Two accesses ----

constexpr const char *read = "ds_read_b32 v10, v1", *write = "ds_write_b32 v1, v0",
                     *load = "global_load_lds_dword v[2:3], off", *add = "ds_add_u32 v1, v0";
constexpr const char *localWait = "s_waitcnt lgkmcnt(0)", *vectorWait = "s_waitcnt vmcnt(0)",
                     *bothWaits = "s_waitcnt vmcnt(0) lgkmcnt(0)";

/// By Access: what two loads bring is the same, and something else than a write.
constexpr const char *texts[] = {"ds_read_b32 v10, v1 offset:1024", "ds_write_b32 v1, v0 offset:1024",
                                 "global_load_lds_dword v[2:3], off offset:1024", "ds_add_u32 v1, v0 offset:1024"};

TEST(LdsRace, WithinAWave) {
  forEachLdsCell([](const LdsCell &cell) {
    std::string program = fmt::format("{}\n{}{}{}\n{}", texts[int(cell.first)], cell.waitText(), cell.barrierText(),
                                      texts[int(cell.second)], bothWaits);
    SCOPED_TRACE(program);
    std::vector<std::string> programs = {program, cell.barrierText()};
    cell.racesWithinAWave() ? expectRace(programs) : expectNone(programs);
  });
}

TEST(LdsRace, BetweenWaves) {
  forEachLdsCell([](const LdsCell &cell) {
    std::string first =
                    fmt::format("{}\n{}{}{}", texts[int(cell.first)], cell.waitText(), cell.barrierText(), bothWaits),
                second = fmt::format("{}{}\n{}", cell.barrierText(), texts[int(cell.second)], bothWaits);
    SCOPED_TRACE(first + "\nand\n" + second);
    bool isSame = cell.first == Access::Load && cell.second == Access::Load;
    cell.racesBetweenWaves() ? expectFindings({first, second}, isSame ? Check::LdsSameValue : Check::LdsRace)
                             : expectNone({first, second});
  });
}

TEST(LdsRace, OnlySharedBytesCount) {
  // Bytes 0 and 1 of each dword by one wave, 2 and 3 by the other.
  expectNone({"ds_write_b16 v1, v0", "ds_write_b16 v1, v0 offset:2"});
  expectNone({"ds_write_b8 v1, v0 offset:1", "ds_read_u8 v10, v1\nds_read_u16 v10, v1 offset:2"});
  expectRace({"ds_write_b16 v1, v0", "ds_write_b8 v1, v0 offset:1"});
  expectRace({"ds_write_b16 v1, v0", "ds_read_b32 v10, v1"});
  expectRace({"ds_write_b32 v1, v0\ns_barrier", "s_barrier\nds_read_u8 v10, v1 offset:3"});
  expectNone({"ds_write_b32 v1, v0\ns_waitcnt lgkmcnt(0)\ns_barrier", "s_barrier\nds_read_u8 v10, v1 offset:3"});
  expectNone({"ds_write_b32 v1, v0", "ds_write_b32 v1, v0 offset:256"});
  expectRace({"ds_write2st64_b32 v1, v0, v0 offset0:1 offset1:3", "ds_read_b32 v10, v1 offset:768"});
  expectNone({"ds_write2st64_b32 v1, v0, v0 offset0:1 offset1:3", "ds_read_b32 v10, v1 offset:512"});
}

TEST(LdsRace, ReadsThatTransposeCount) {
  for (const char *tile : {"ds_read_b64_tr_b16 v[10:11], v12", "ds_read_b64_tr_b8 v[10:11], v12",
                           "ds_read_b64_tr_b4 v[10:11], v12", "ds_read_b96_tr_b6 v[10:12], v12"}) {
    std::string read = std::string("v_lshlrev_b32 v12, 2, v1\n") + tile, meet = "s_barrier\n";
    SCOPED_TRACE(tile);
    expectRace({std::string(write) + "\n" + localWait, read});
    expectNone({std::string(write) + "\n" + localWait + "\n" + meet, meet + read});
    expectRace({std::string(write) + "\n" + meet, meet + read});
    expectRace({read + "\n" + meet, meet + write});
    expectRace({std::string(load) + "\n" + read + "\n" + vectorWait});
  }
}

TEST(LdsRace, InactiveLanesDoNothing) {
  std::string half = "s_mov_b32 exec_hi, 0\n", otherHalf = "s_mov_b32 exec_lo, 0\n";
  expectNone({half + write, otherHalf + read});
  expectNone({half + load + "\n" + vectorWait, otherHalf + read});
  expectRace({half + load + "\n" + vectorWait, half + read});
}

/// Four words a lane lie 16 bytes apart, and M0 and the offset say where.
TEST(LdsRace, PlacesOfLoadsToLds) {
  std::string setM0 = "s_mov_b32 m0, 1024\n", wide = "global_load_lds_dwordx4 v[2:3], off offset:16\n";
  expectNone({setM0 + wide + vectorWait, "ds_read_b32 v10, v1 offset:768"}); // up to 1024
  expectRace({setM0 + wide + vectorWait, "ds_read_b32 v10, v1 offset:788"}); // up to 1044
  expectRace({setM0 + wide + vectorWait, "ds_read_b32 v10, v1 offset:2060"});
  expectNone({setM0 + wide + vectorWait, "ds_read_b32 v10, v1 offset:2064"});
}

TEST(LdsRace, CountedWaits) {
  std::string other = "global_load_lds_dword v[2:3], off offset:256\n", own = std::string(load) + "\n";
  std::string meet = "s_barrier\n", end = vectorWait;
  expectNone({own + other + "s_waitcnt vmcnt(1)\n" + read + "\n" + end});
  expectRace({other + own + "s_waitcnt vmcnt(1)\n" + read + "\n" + end});
  expectNone({own + other + "s_waitcnt vmcnt(1)\n" + meet + end, meet + read});
  expectRace({other + own + "s_waitcnt vmcnt(1)\n" + meet + end, meet + read});
}

TEST(LdsRace, FlatAccessesOfLdsCount) {
  std::string address = "s_mov_b64 s[8:9], src_shared_base\nv_mov_b32 v5, s9\nv_mov_b32 v4, v1\n";
  std::string store = address + "flat_store_dword v[4:5], v0\n";
  expectRace({store, read});
  expectRace({store + "s_barrier", std::string("s_barrier\n") + read});
  expectNone({store + bothWaits + "\ns_barrier", std::string("s_barrier\n") + read});
  expectNone({store + read, ""});
  expectNone({"flat_store_dword v[2:3], v0", read}); // global memory
}

TEST(LdsRace, WavesThatEnd) {
  // The barrier of the others opens after its end, which waits for everything.
  expectNone({std::string(write) + "\n" + localWait, std::string("s_barrier\n") + read});
  expectNone({write, std::string("s_barrier\n") + read});
  expectNone({load, std::string("s_barrier\n") + read});
  expectRace({load, read});
}

// ---- The same value ----

void expectSame(const std::vector<std::string> &programs) {
  expectFindings(programs, Check::LdsSameValue);
}
/// A load to LDS of the words `bytes` after the lane's.
std::string loadFrom(unsigned bytes) {
  return fmt::format("v_add_co_u32 v12, vcc, {}, v2\nv_addc_co_u32 v13, vcc, 0, v3, vcc\n"
                     "global_load_lds_dword v[12:13], off\n",
                     bytes);
}

TEST(LdsSameValue, OfStores) {
  expectSame({"ds_write_b32 v1, v1", "ds_write_b32 v1, v1"});
  expectSame({"ds_write_b32 v1, v1", "ds_write_b8 v1, v1"});
  expectSame({"v_mov_b32 v10, 0x01010101\nds_write_b32 v1, v10", "v_mov_b32 v10, 1\nds_write_b8 v1, v10 offset:2"});
  expectRace({"v_mov_b32 v10, 0x01010101\nds_write_b32 v1, v10", "v_mov_b32 v10, 2\nds_write_b8 v1, v10 offset:2"});
}

TEST(LdsSameValue, OfLoadsToLds) {
  expectSame({load, load});
  expectSame({std::string(load) + "\n" + vectorWait, load});
  expectSame({load, loadFrom(0)});
  expectRace({load, loadFrom(64)});
  // The buffer's words are their number: what the first wave's work-items store is what the loads bring.
  expectSame({write, load});
  expectSame({"", "v_and_b32 v0, 63, v0\nds_write_b32 v1, v0", load});
  expectRace({"", write, load}); // of the second wave: 64 and more
  expectSame({"global_load_lds_dwordx4 v[2:3], off", "global_load_lds_dwordx4 v[2:3], off"});
  expectNone({std::string(load) + "\n" + vectorWait + "\ns_barrier", std::string("s_barrier\n") + load});
}

TEST(LdsSameValue, WithADifferenceInOneLane) {
  std::string text = reportOf({"ds_write_b32 v1, v1", "v_add_u32 v10, 1, v1\ns_mov_b64 exec, 2\nds_write_b32 v1, v10\n"
                                                      "s_mov_b64 exec, 4\nds_write_b32 v1, v1"});
  EXPECT_THAT(text, testing::AllOf(HasSubstr("(lds-race)"), HasSubstr("(lds-same-value)")));
  EXPECT_THAT(reportOf({load, "s_mov_b64 exec, 2\n" + loadFrom(64) + "s_mov_b64 exec, 4\n" + load}),
              testing::AllOf(HasSubstr("(lds-race)"), HasSubstr("(lds-same-value)"),
                             HasSubstr("note   both write the same value")));
}

/// A third value races with both, also where it is ordered with one of them.
TEST(LdsSameValue, AThirdValueRaces) {
  std::string same = "ds_write_b32 v1, v1\n", other = "v_add_u32 v10, 1, v1\nds_write_b32 v1, v10\n",
              meet = "s_barrier\n", done = std::string(localWait) + "\n";
  for (bool isWaited : {false, true}) {
    // The second wave waits before the barrier, the first does not: the third follows one of them only.
    std::string text = reportOf({same + (isWaited ? done : "") + meet, same + done + meet, meet + other});
    EXPECT_THAT(text, HasSubstr("(lds-same-value)"));
    EXPECT_EQ(text.find("(lds-race)") == std::string::npos, isWaited) << text;
  }
  std::string copied = std::string(load) + "\n";
  std::string text = reportOf({copied + meet, copied + vectorWait + "\n" + meet, meet + other});
  EXPECT_THAT(text, testing::AllOf(HasSubstr("(lds-race)"), HasSubstr("(lds-same-value)")));
}

TEST(LdsSameValue, IsOffByDefault) {
  AssembledKernel kernel({load, load});
  SimulationOptions options;
  options.checks = CheckSet::usual();
  EXPECT_EQ(textOf(kernel.run(options)), "");
}

// ---- Locks and flags ----

/// Lane 0 takes the lock at 4096, changes the word at 0, and lets it go.
std::string underLock(const std::string &release, const std::string &name) {
  return "s_mov_b64 exec, 1\nv_mov_b32 v20, 0x1000\nv_mov_b32 v21, 0\nv_mov_b32 v22, 1\n" + name +
         ":\nds_cmpst_rtn_b32 v23, v20, v21, v22\ns_waitcnt lgkmcnt(0)\nv_readfirstlane_b32 s8, v23\n"
         "s_cmp_lg_u32 s8, 0\ns_cbranch_scc1 " +
         name + "\nds_read_b32 v10, v1\ns_waitcnt lgkmcnt(0)\nv_add_u32 v10, 1, v10\nds_write_b32 v1, v10\n" + release;
}
const std::string clearLock = "v_mov_b32 v20, 0x1000\nv_mov_b32 v21, 0\nds_write_b32 v20, v21\n"
                              "s_waitcnt lgkmcnt(0)\n";

TEST(LdsLock, ReleasedByAStoreOrAnExchange) {
  for (const char *letGo : {"ds_write_b32 v20, v21", "ds_wrxchg_rtn_b32 v23, v20, v21", "ds_sub_u32 v20, v22"}) {
    std::string release = std::string("s_waitcnt lgkmcnt(0)\n") + letGo + "\ns_waitcnt lgkmcnt(0)";
    SCOPED_TRACE(letGo);
    expectNone({clearLock + "s_barrier\n" + underLock(release, "a"), "s_barrier\n" + underLock(release, "b"),
                "s_barrier\n" + underLock(release, "c")});
  }
}

TEST(LdsLock, WithoutAWaitBeforeTheRelease) {
  std::string release = "ds_write_b32 v20, v21\ns_waitcnt lgkmcnt(0)";
  AssembledKernel kernel(
      {clearLock + "s_barrier\n" + underLock(release, "a"), "s_barrier\n" + underLock(release, "b")});
  forEachRun([&](SimulationOptions options) {
    options.checks = ldsChecks();
    SimulationReport report = kernel.run(options);
    ASSERT_FALSE(report.error) << report.error->what();
    EXPECT_FALSE(report.findings.empty()) << describe(options);
  });
}

/// Lane 0 has changed the place that it writes, as one does who takes a lock; the other lanes write data.
TEST(LdsLock, IsNotWhatOneOfManyLanesWrites) {
  std::string zero = "v_mov_b32 v20, 0\nv_mov_b32 v21, 1\n", own = "v_lshlrev_b32 v22, 3, v1\n";
  std::string count = zero + own + "ds_add_u32 v20, v21\ns_waitcnt lgkmcnt(0)\n";
  std::string inLast =
      "s_mov_b32 exec_lo, 0\nv_mov_b32 v20, 0\n"; // not in lane 0, whose stores race with the other's addition
  for (const char *store : {"ds_write_b32 v1, v0", "ds_write_b64 v20, v[0:1]", "ds_write2_b32 v20, v0, v0 offset1:9"}) {
    SCOPED_TRACE(store);
    std::string text = reportOf({count + store, inLast + "ds_read_b32 v10, v1\nds_read_b32 v10, v20 offset:4\n"
                                                         "ds_read_b32 v10, v20 offset:36"});
    EXPECT_THAT(text, testing::ContainsRegex("  write  pc 0x[0-9a-f]+  ds_write"));
  }
  expectRace({count + "ds_write_b32 v1, v0", inLast + "ds_read_b32 v10, v1"});
  // Two locks at once, let go by one store.
  std::string both = zero + "ds_add_u32 v20, v21\nds_add_u32 v20, v21 offset:36\ns_waitcnt lgkmcnt(0)\n";
  expectNone({both + "ds_write2_b32 v20, v0, v0 offset1:9", both + "ds_write2_b32 v20, v0, v0 offset1:9"});
}

TEST(LdsLock, DoesNotOrderWhoDidNotTakeIt) {
  std::string release = "s_waitcnt lgkmcnt(0)\nds_write_b32 v20, v21\ns_waitcnt lgkmcnt(0)";
  AssembledKernel kernel({clearLock + "s_barrier\n" + underLock(release, "a"), "s_barrier\nds_write_b32 v1, v0"});
  SimulationOptions options;
  options.checks = ldsChecks();
  EXPECT_THAT(textOf(kernel.run(options)), HasSubstr("(lds-race)"));
}

/// A counter that each wave adds to when it has written, and one reads until all have.
TEST(LdsLock, ACounterThatIsPolled) {
  std::string count = "v_mov_b32 v20, 0x1000\nv_mov_b32 v21, 1\n";
  std::string arrive = count + write + "\ns_waitcnt lgkmcnt(0)\ns_mov_b64 exec, 1\nds_add_u32 v20, v21\n" + localWait;
  std::string poll = count +
                     "poll:\nds_read_b32 v23, v20\ns_waitcnt lgkmcnt(0)\nv_readfirstlane_b32 s8, v23\n"
                     "s_cmp_lg_u32 s8, 1\ns_cbranch_scc1 poll\n" +
                     read + "\n" + localWait;
  expectNone({clearLock + "s_barrier\n" + arrive, "s_barrier\n" + poll});
  // No wave has cleared it for certain when the first adds.
  expectRace({clearLock + "s_barrier\ns_barrier",
              "s_mov_b64 exec, 1\n" + count + "ds_add_u32 v20, v21\n" + localWait + "\ns_barrier\ns_barrier"});
}

TEST(LdsLock, SumsAreReadBehindABarrier) {
  // As a histogram: each lane adds to a place of its own, and reads what others may still add to.
  expectRace({add, std::string(add) + "\n" + read});
  expectNone({std::string(add) + "\n" + localWait + "\ns_barrier",
              std::string(add) + "\n" + localWait + "\ns_barrier\n" + read});
  // A counter that is cleared while others may still read it.
  std::string uniform = "v_mov_b32 v20, 0x1000\nv_mov_b32 v21, 1\n", meet = std::string(localWait) + "\ns_barrier\n";
  std::string sum = uniform + "ds_add_u32 v20, v21\n" + meet;
  expectRace({sum + "ds_read_b32 v23, v20\n" + localWait, sum + "ds_write_b32 v20, v21"});
  expectNone({sum + "ds_read_b32 v23, v20\n" + meet, sum + meet + "ds_write_b32 v20, v21"});
}

// ---- Ends ----

TEST(LdsRace, TheEndOfAWaveWaits) {
  expectNone({load});
  expectNone({std::string(load) + "\nglobal_load_dword v10, v[2:3], off"});
}

TEST(BarrierExit, OfAWaveThatHasMetTheOthers) {
  expectNone({"s_barrier", "s_barrier"});
  expectNone({"", "s_barrier\ns_barrier", ""}); // leave at once
  expectFindings({"s_barrier", "s_barrier\ns_barrier", "s_barrier"}, Check::BarrierExit);
  expectNone({"", "s_barrier"});
  // Different barriers of the code: legal when all waves are there, suspicious when some have left.
  expectNone({"s_barrier\ns_nop 0", "s_nop 0\ns_barrier"});
  expectFindings({"", "s_barrier\ns_nop 0", "s_nop 0\ns_barrier"}, Check::BarrierExit);
  EXPECT_THAT(reportOf({"s_barrier", "s_barrier\ns_barrier"}),
              testing::AllOf(HasSubstr("error: a barrier opens only because waves have ended (barrier-exit)"),
                             HasSubstr("note   waves 0 have ended, after 1 barriers at most; waves 1 wait after 1")));
}

// ---- Reports ----

TEST(LdsReport, NamesBothPlacesAndTheBarrier) {
  std::string text = reportOf({std::string(load) + "\nglobal_load_dword v10, v[2:3], off\ns_barrier\n" + vectorWait,
                               std::string("s_barrier\n") + read});
  EXPECT_THAT(text,
              HasSubstr("error: missing order: LDS is read before another wave's load to LDS of the same bytes is "
                        "known to be over (lds-race)\n"));
  EXPECT_THAT(text, HasSubstr("  load   pc 0x34  global_load_lds_dword v[2:3], off "));
  EXPECT_THAT(text, HasSubstr("workgroup 0,0,0 wave 0 lane 0   LDS 0x0..0x3\n"));
  EXPECT_THAT(text, HasSubstr("ds_read_b32 v10, v1 "));
  EXPECT_THAT(text, HasSubstr("  needs  s_waitcnt vmcnt(1) in wave 0 before the s_barrier at pc 0x44\n"));
}

TEST(LdsReport, SaysWhatIsMissing) {
  EXPECT_THAT(reportOf({write, read}),
              HasSubstr("needs  a barrier between the two, and before it s_waitcnt lgkmcnt(0) in wave 0\n"));
  EXPECT_THAT(reportOf({std::string(write) + "\ns_barrier", std::string("s_barrier\n") + read}),
              HasSubstr("needs  s_waitcnt lgkmcnt(0) in wave 0 before the s_barrier at pc "));
  EXPECT_THAT(reportOf({std::string(load) + "\nglobal_load_dword v10, v[2:3], off\n" + read + "\n" + vectorWait}),
              HasSubstr("needs  s_waitcnt vmcnt(1) before the read\n"));
  EXPECT_THAT(reportOf({std::string(read) + "\nds_read_b32 v11, v1 offset:1024\n" + load + "\n" + vectorWait}),
              HasSubstr("needs  s_waitcnt lgkmcnt(1) before the load to LDS\n"));
  EXPECT_THAT(reportOf({std::string(write) + "\ns_load_dword s8, s[4:5], 0x0\n" + load + "\n" + vectorWait}),
              HasSubstr("needs  s_waitcnt lgkmcnt(0) before the load to LDS\n"));
}

TEST(LdsReport, NotesEqualValuesAndFlags) {
  std::string same = "v_mov_b32 v10, 5\nds_write_b32 v1, v10";
  EXPECT_THAT(reportOf({same, same}), testing::AllOf(HasSubstr("(lds-same-value)"),
                                                     HasSubstr("note   both write the same value: every order")));
  // Some lanes write the same value, others do not.
  EXPECT_THAT(reportOf({"v_mov_b32 v10, 5\nds_write_b32 v1, v10", "v_max_u32 v10, 69, v0\nv_sub_u32 v10, v10, 64\n"
                                                                  "ds_write_b32 v1, v10"}),
              testing::AllOf(HasSubstr("(lds-same-value)"), HasSubstr("(lds-race)")));
  EXPECT_THAT(reportOf({write, write}), testing::Not(HasSubstr("same value")));
  std::string flag = "v_mov_b32 v20, 0\n";
  EXPECT_THAT(reportOf({flag + "ds_write_b32 v20, v0", flag + "ds_read_b32 v10, v20"}),
              HasSubstr("note   instructions do not tell an atomic load or store of a flag in LDS from a plain one"));
  EXPECT_THAT(reportOf({write, read}), testing::Not(HasSubstr("atomic load")));
}

TEST(LdsReport, OneForAPairOfInstructions) {
  std::string loop = "s_mov_b32 s8, 10\nagain:\nds_write_b32 v1, v0\ns_sub_u32 s8, s8, 1\ns_cmp_lg_u32 s8, "
                     "0\ns_cbranch_scc1 again\n";
  std::string text = reportOf({write, loop});
  EXPECT_EQ(text.find("error:"), text.rfind("error:"));
}

} // namespace
} // namespace heddle::simulator
