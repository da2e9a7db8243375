// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Records as kernels leave them: order, limits, and bytes that make no sense.
#include "runtime/LaunchReport.h"
#include "runtime/Print.h"
#include "support/TestError.h"
#include <cstring>

using namespace heddle;

namespace {

class LaunchReportTest : public testing::Test {
protected:
  LaunchReportTest() {
    before = setPrintSink([this](const std::string &line) { lines.push_back(line); });
    package.kernel = "k";
    package.sites = {{"tt.print", "", 0, 0, "x", {{"i16", {2}, true}}, false},
                     {"tt.assert", "", 0, 0, "holds", {}, false}};
  }
  ~LaunchReportTest() override { setPrintSink(std::move(before)); }

  LaunchRecord &record() { return *reinterpret_cast<LaunchRecord *>(memory.data()); }
  char *pieces() { return reinterpret_cast<char *>(&record() + 1); }
  /// Elements first and first + 1 of site 0, where a kernel would put them.
  void add(std::array<int32_t, 3> program, int16_t first, uint32_t sizeBytes = uint32_t(printPieceBytes(2, 2))) {
    PrintPiece piece{sizeBytes, 0, 0, {program[0], program[1], program[2]}};
    int16_t values[2] = {first, int16_t(first + 1)};
    if (record().bytes + sizeBytes <= uint64_t(recordedPieceBytes)) {
      std::memcpy(pieces() + record().bytes, &piece, sizeof piece);
      std::memcpy(pieces() + record().bytes + sizeof piece, values, sizeof values);
    }
    record().bytes += sizeBytes;
    record().lines += 2;
  }
  void report() { reportLaunch(package, {4, 3, 2}, memory.data()); }

  std::vector<uint64_t> memory = std::vector<uint64_t>(size_t(launchRecordBytes) / 8);
  Package package;
  std::vector<std::string> lines;
  PrintSink before;
};

using Lines = std::vector<std::string>;

TEST_F(LaunchReportTest, NothingIsSaidOfNothing) {
  report();
  EXPECT_EQ(lines, Lines());
}

TEST_F(LaunchReportTest, ProgramsInOrderAndEachInItsOwn) {
  add({1, 0, 1}, 50);
  add({3, 1, 0}, 30);
  add({2, 0, 0}, 20);
  add({1, 0, 1}, 40);
  report();
  EXPECT_EQ(lines, (Lines{"pid (2, 0, 0) idx (0) x: 20", "pid (2, 0, 0) idx (1) x: 21", "pid (3, 1, 0) idx (0) x: 30",
                          "pid (3, 1, 0) idx (1) x: 31", "pid (1, 0, 1) idx (0) x: 50", "pid (1, 0, 1) idx (1) x: 51",
                          "pid (1, 0, 1) idx (0) x: 40", "pid (1, 0, 1) idx (1) x: 41"}));
}

TEST_F(LaunchReportTest, WhatFoundNoRoomIsCounted) {
  int64_t count = recordedPieceBytes / printPieceBytes(2, 2) + 10;
  for (int64_t i = 0; i < count; ++i)
    add({0, 0, 0}, 1);
  report();
  ASSERT_EQ(lines.size(), size_t(printLineLimit) + 1);
  EXPECT_EQ(lines.back(), droppedLinesText("k", 2 * count - printLineLimit));
}

// The limit may be reached within a piece.
TEST_F(LaunchReportTest, TheLimitCutsAPiece) {
  package.sites[0].operands[0].shape = {3};
  for (int i = 0; i < 1400; ++i) {
    add({0, 0, 0}, 1, uint32_t(printPieceBytes(3, 2)));
    record().lines += 1;
  }
  report();
  ASSERT_EQ(lines.size(), size_t(printLineLimit) + 1);
  EXPECT_EQ(lines[printLineLimit - 1], "pid (0, 0, 0) idx (0) x: 1");
  EXPECT_EQ(lines.back(), droppedLinesText("k", 104));
}

TEST_F(LaunchReportTest, BytesThatMakeNoSenseEndTheList) {
  for (uint32_t size : {0u, 8u, uint32_t(printPieceBytes(2, 2)) - 8, uint32_t(printPieceBytes(2, 2)) + 4, ~0u}) {
    memory.assign(memory.size(), 0);
    lines.clear();
    add({0, 0, 0}, 5);
    add({0, 0, 0}, 6, size);
    record().bytes = uint64_t(recordedPieceBytes);
    report();
    EXPECT_EQ(lines, (Lines{"pid (0, 0, 0) idx (0) x: 5", "pid (0, 0, 0) idx (1) x: 6", droppedLinesText("k", 2)}))
        << size;
  }
}

TEST_F(LaunchReportTest, FailuresNameProgramAndElement) {
  add({0, 0, 0}, 5);
  uint64_t program = 1 + 4 * (2 + 3 * 1); // (1, 2, 1) of 4 x 3 x 2
  record().failure = ~(program << (failureElementBits + failureSiteBits) | 1u << failureElementBits | 77u);
  Error error = errorOf([&] { report(); });
  EXPECT_EQ(std::string(error.what()), "kernel `k`: assertion failed: holds");
  EXPECT_EQ(error.notes, Lines{"in program instance (1, 2, 1), element 77"});
  EXPECT_EQ(lines.size(), 2u);
}

// All of the record's limits at once.
TEST_F(LaunchReportTest, TheLargestFailureFits) {
  record().failure =
      ~((uint64_t(1) << 31) << (failureElementBits + failureSiteBits) | 5u << failureElementBits | ((1u << 20) - 1));
  EXPECT_CONTAINS(errorOf([&] { report(); }).notes.at(0), "element 1048575");
}

} // namespace
