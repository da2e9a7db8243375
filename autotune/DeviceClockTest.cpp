// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tuner on the host device, with a kernel of the test whose candidates are wrong, endless or no program, and with
// one of the library.
#include "autotune/DeviceClock.h"
#include "autotune/FaultyKernel.h"
#include "autotune/Lookup.h"
#include "autotune/SameBytes.h"
#include "autotune/Tuner.h"
#include "runtime/Driver.h"
#include "support/TestError.h"
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>

namespace heddle::autotune {
namespace {

using namespace kernels;

struct Tuning : testing::Test {
  std::shared_ptr<Device> device = openDevice("host");
  Database database{":memory:"};

  TuneReport tune(const LibraryKernel &kernel, const CallRequest &request, TuneOptions options = {}) {
    options.search.mostRounds = 20;
    auto makeClock = [&](const Space &space, bool) -> std::unique_ptr<Clock> {
      return std::make_unique<DeviceClock>(device, kernel, space, HostArrays(),
                                           DeviceClockOptions{.threads = 2, .secondsPerCall = 0.3});
    };
    return tuneCall(kernel, request, placeOf(*device, false), makeClock, database, options);
  }
};

const CandidateReport &reportOf(const TuneReport &report, const std::string &name) {
  for (size_t i = 0; i < report.names.size(); ++i)
    if (report.names[i] == name)
      return report.outcome.candidates.at(i);
  throw internalError("no candidate " + name);
}

TEST_F(Tuning, what_is_wrong_endless_or_no_program_is_left_out) {
  CallRequest request{.inputs = arraysOfShape(seven, {{"N", 1000}}, ElementType::F32), .options = {}};
  TuneReport report = tune(seven, request);
  EXPECT_EQ(textOf(report.result.configuration), "fault=0,repeats=1"); // 40 times less to do
  EXPECT_GT(report.result.gain, 0.5);
  const CandidateReport &wrong = reportOf(report, "fault=1,repeats=1"),
                        &endless = reportOf(report, "fault=2,repeats=1"),
                        &noProgram = reportOf(report, "fault=3,repeats=1");
  EXPECT_EQ(wrong.failure->kind, "wrong");
  EXPECT_EQ(wrong.failure->reason,
            "1000 elements of `out` are not those of the default; out[0] is 8, and the default has 7");
  EXPECT_EQ(endless.failure->kind, "launch");
  EXPECT_CONTAINS(endless.failure->reason, "did not finish within 0.3 s");
  EXPECT_EQ(noProgram.failure->kind, "compile");

  TuneReport again = tune(seven, request);
  EXPECT_TRUE(again.wasKnown);
  EXPECT_EQ(again.outcome.measurements, 0u);
  EXPECT_EQ(again.outcome.chosen, report.outcome.chosen); // decided again from the measurements
  TuneOptions replays;
  replays.replays = true;
  EXPECT_EQ(tune(seven, request, replays).result.configuration, report.result.configuration);
  TuneOptions force;
  force.forceBefore = "9999";
  TuneReport forced = tune(seven, request, force);
  EXPECT_FALSE(forced.wasKnown);
  EXPECT_EQ(forced.result.configuration, report.result.configuration);
}

/// A choice made with another driver holds the place, though another is about as fast.
TEST_F(Tuning, what_was_chosen_with_another_driver) {
  CallRequest request{.inputs = arraysOfShape(seven, {{"N", 500}}, ElementType::F32), .options = {{"fault", "0"}}};
  std::map<std::string, std::string> parts = keyOf(seven, request, placeOf(*device, false)).all();
  parts["driver"] = "another";
  database.merge({{Key(parts), {{"repeats", "1"}}, 1, 2, 0.5, 0, 9, "2026-11-27T10:00:00Z", "measured"}});
  TuneReport report = tune(seven, request);
  EXPECT_EQ(textOf(report.result.configuration), "repeats=1");
  EXPECT_CONTAINS(report.outcome.reason, "the choice of before");
}

/// There is memory for the temporaries of one candidate at a time.
TEST(DeviceMemory, candidates_take_turns) {
  ::setenv("HEDDLE_HOST_MEMORY", "1536K", 1);
  std::shared_ptr<Device> device = openDevice("host:3"); // which is not open yet
  ::unsetenv("HEDDLE_HOST_MEMORY");
  LibraryKernel roomy = seven;
  roomy.plan = [](const Call &call) {
    Plan plan = planOfSeven(call);
    plan.temporaries = {{"scratch", {ElementType::I8, {1 << 20}}}};
    return plan;
  };
  CallRequest request{.inputs = arraysOfShape(roomy, {{"N", 100}}, ElementType::F32), .options = {{"fault", "0"}}};
  Space space = makeSpace(roomy, request);
  ASSERT_EQ(space.candidates.size(), 2u);
  DeviceClock clock(device, roomy, space, {}, {});
  for (size_t candidate : {0, 1})
    clock.prepare(candidate);
  for (size_t candidate : {0, 1, 0})
    EXPECT_GT(clock.measure(candidate), 0);
}

TEST_F(Tuning, nothing_to_replay) {
  CallRequest request{.inputs = arraysOfShape(seven, {{"N", 8}}, ElementType::F32), .options = {}};
  TuneOptions options;
  options.replays = true;
  EXPECT_CONTAINS(messageOf([&] { tune(seven, request, options); }), "the database has no finished search");
}

TEST_F(Tuning, a_kernel_of_the_library_runs_with_what_was_found) {
  std::string path = (std::filesystem::temp_directory_path() / "heddle-tuning-test.sqlite").string();
  std::filesystem::remove(path);
  ::setenv("HEDDLE_TUNING_DATABASE", path.c_str(), 1);
  const LibraryKernel &kernel = lookupKernel("amax");
  CallRequest request{.inputs = arraysOfShape(kernel, {{"M", 4}, {"N", 1024}}, ElementType::BF16), .options = {}};
  std::string note;
  prepareTuned(device, kernel, request, {}, &note);
  EXPECT_CONTAINS(note, "not tuned: there is no result for this call of `amax`");
  Key key = keyOf(kernel, request, placeOf(*device, false));
  TunedResult result{
      key, {{"block", "1024"}, {"method", "reduction"}}, 5, 10, 0.5, 0.01, 12, "2026-11-27T10:00:00Z", "measured"};
  Database(path).merge({result});
  Prepared prepared = prepareTuned(device, kernel, request, {}, &note);
  EXPECT_EQ(note, "tuned: `block=1024,method=reduction`, key " + key.id() + ", 50.0 % less time than the default");
  EXPECT_EQ(prepared.call().tile("block", 0), 1024);
  EXPECT_TRUE(prepared.call().is("method", "reduction"));
  // A configuration of another time, which the kernel has no more.
  result.configuration = {{"block", "1000"}};
  result.measuredAt = "2026-11-28T10:00:00Z";
  Database(path).merge({result});
  prepareTuned(device, kernel, request, {}, &note);
  EXPECT_CONTAINS(note, "not tuned: the kernel refuses `block=1000` for this call, so the default runs: ");
  ::unsetenv("HEDDLE_TUNING_DATABASE");
  std::filesystem::remove(path);
}

TEST(SameBytes, a_single_word_that_differs) {
  std::shared_ptr<Device> device = openDevice("host");
  std::unique_ptr<Stream> stream = device->createStream();
  constexpr size_t words = 10'000; // two blocks and a part of one
  std::vector<int32_t> values(words, 5);
  Buffer first = device->allocate(4 * words), second = device->allocate(4 * words);
  SameBytes same(device);
  stream->copyToDevice(first, values.data());
  stream->copyToDevice(second, values.data());
  EXPECT_TRUE(same.compare(*stream, first.address(), second.address(), 4 * words));
  for (size_t at : {size_t(0), size_t(4095), size_t(4096), words - 1}) {
    values[at] = -5;
    stream->copyToDevice(second, values.data());
    EXPECT_FALSE(same.compare(*stream, first.address(), second.address(), 4 * words)) << at;
    EXPECT_TRUE(at == 0 || same.compare(*stream, first.address(), second.address(), 4 * at)) << at;
    values[at] = 5;
  }
}

} // namespace
} // namespace heddle::autotune
