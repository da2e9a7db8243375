// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What `heddle bench` says, and its exit code, when a result is wrong: with rows made here, since collectives give
// none.
#include "tools/BenchReport.h"
#include "support/Error.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace heddle;
using testing::HasSubstr;

namespace {

BenchmarkRow rowOf(int64_t bytes, int64_t wrongOutOfPlace, int64_t wrongInPlace) {
  BenchmarkRow row;
  row.plan =
      planFor(collectiveOfSize(CollectiveKind::AllReduce, ElementType::F32, Reduction::Sum, 4, bytes), "host", {});
  row.outOfPlace.wrong = wrongOutOfPlace;
  row.inPlace.wrong = wrongInPlace;
  for (BenchmarkTimes *times : {&row.outOfPlace, &row.inPlace})
    if (times->wrong)
      times->firstWrong = "rank 2, element 5: 1.25, expected 1.5";
  return row;
}

struct Outcome {
  int code;
  std::string data, talk;
};

Outcome report(BenchVerbRequest request, const std::vector<BenchmarkRow> &rows) {
  request.collective = "all-reduce";
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  BenchReport report(request, {{"host:0", "host:1", "host:2", "host:3"}, "a host", "NCCL 2.27.3 (libnccl.so.2)"},
                     {1024});
  for (const BenchmarkRow &row : rows)
    report.add(row);
  int code = report.finish();
  std::string data = testing::internal::GetCapturedStdout();
  return {code, data, testing::internal::GetCapturedStderr()};
}

TEST(BenchReport, RightResultsAreCodeZero) {
  Outcome outcome = report({}, {rowOf(1024, 0, 0), rowOf(4096, 0, 0)});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.data, HasSubstr("# Out of bounds values : 0 OK"));
  EXPECT_EQ(outcome.talk, "");
}

TEST(BenchReport, OneWrongElementIsCodeOne) {
  for (auto [outOfPlace, inPlace] : {std::pair{1, 0}, {0, 1}}) {
    Outcome outcome = report({}, {rowOf(1024, outOfPlace, inPlace), rowOf(4096, 0, 0)});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.data, HasSubstr("# Out of bounds values : 1 FAILED"));
    EXPECT_EQ(outcome.talk, std::string("first wrong of 1024 bytes, ") + (inPlace ? "in place" : "out of place") +
                                ": rank 2, element 5: 1.25, expected 1.5\n");
  }
}

TEST(BenchReport, ForProgramsToo) {
  BenchVerbRequest json, csv;
  json.json = csv.csv = true;
  Outcome outcome = report(json, {rowOf(1024, 2, 1), rowOf(4096, 0, 4)});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(nlohmann::json::parse(outcome.data)["outOfBounds"], 7);
  EXPECT_EQ(report(json, {rowOf(1024, 0, 0)}).code, 0);
  EXPECT_EQ(report(csv, {rowOf(1024, 0, 1)}).code, 1);
  EXPECT_EQ(report(csv, {rowOf(1024, 0, 0)}).code, 0);
}

TEST(BenchReport, WhatIsNotComparedIsNotAvailable) {
  BenchVerbRequest request;
  request.run.checks = 0;
  Outcome outcome = report(request, {rowOf(1024, 0, 0)});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.data, HasSubstr("N/A"));
}

/// Ours take 2 us and 4 us in place, NCCL 6 us and 1 us.
BenchmarkRow rowWithPeer() {
  BenchmarkRow row = rowOf(1024, 0, 0);
  row.ncclOutOfPlace = row.ncclInPlace = BenchmarkTimes();
  row.outOfPlace.p50 = 2;
  row.inPlace.p50 = 4;
  row.ncclOutOfPlace->p50 = 6;
  row.ncclInPlace->p50 = 1;
  return row;
}

TEST(BenchReport, ThePeerStandsBesideOurs) {
  BenchVerbRequest request;
  request.run.peer = "nccl";
  request.run.graphReplays = 5;
  BenchmarkRow row = rowWithPeer();
  row.ncclInPlace->wrong = 3; // ours alone decide the exit code
  Outcome outcome = report(request, {row});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.data, HasSubstr("# NCCL 2.27.3 (libnccl.so.2): the same process and buffers"));
  EXPECT_THAT(outcome.data, HasSubstr("# both in graphs of 20 calls, 5 replays"));
  EXPECT_THAT(outcome.data, HasSubstr("   2.00      6.00   3.00  "));
  EXPECT_THAT(outcome.data, HasSubstr("   4.00      1.00   0.25  "));
  EXPECT_THAT(outcome.data, HasSubstr("# NCCL / ours, mean    : 0.866 (geometric)"));
  EXPECT_THAT(outcome.data, HasSubstr("# NCCL wrong values    : 3 beyond"));
}

TEST(BenchReport, ThePeerForPrograms) {
  BenchVerbRequest json, csv;
  json.run.peer = csv.run.peer = "nccl";
  json.json = csv.csv = true;
  BenchmarkRow row = rowWithPeer();
  row.ncclInPlace.reset(); // as of all-to-all
  auto text = nlohmann::json::parse(report(json, {row}).data);
  EXPECT_EQ(text["peer"], "NCCL 2.27.3 (libnccl.so.2)");
  EXPECT_EQ(text["rows"][0]["outOfPlace"]["nccl"]["p50"], 6);
  EXPECT_EQ(text["rows"][0]["outOfPlace"]["ratio"], 3);
  EXPECT_FALSE(text["rows"][0]["inPlace"].contains("ratio"));
  std::string lines = report(csv, {row}).data, first = lines.substr(0, lines.find('\n'));
  std::string second = lines.substr(first.size() + 1);
  EXPECT_EQ(std::count(first.begin(), first.end(), ','), std::count(second.begin(), second.end(), ','));
  EXPECT_THAT(second, HasSubstr(",0.000,0,6.000,0.000,0.000,3.0000,,,,,,,,1,128\n"));
}

} // namespace
