// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The lines of rows of lanes, of scattered lanes and of lanes that a descriptor's range masks.
#include "simulator/memory/LineSet.h"
#include <gtest/gtest.h>

namespace heddle::simulator {
namespace {

/// Each lane accesses four bytes, `stride` after those of the lane before.
std::vector<uint64_t> linesOf(uint64_t first, uint64_t stride, uint64_t inRange) {
  MemoryRequest request;
  request.space = Space::Global;
  request.bytes = 4;
  request.lanes = allLanes;
  request.inRange[0] = inRange;
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    request.address[lane] = first + lane * stride;
  LineSet lines(request);
  EXPECT_EQ(lines.size(), lines.all().size());
  return {lines.all().begin(), lines.all().end()};
}

using Lines = std::vector<uint64_t>;

TEST(LineSet, ARowOfLanes) {
  EXPECT_EQ(linesOf(1024, 4, allLanes), (Lines{8, 9}));
  EXPECT_EQ(linesOf(1024 + 64, 4, allLanes), (Lines{8, 9, 10}));
}

TEST(LineSet, ScatteredLanesShareLines) {
  EXPECT_EQ(linesOf(1024, 8, allLanes), (Lines{8, 9, 10, 11}));
  EXPECT_EQ(linesOf(1024, 0, allLanes), (Lines{8}));
}

TEST(LineSet, MaskedLanesTouchNothing) {
  EXPECT_EQ(linesOf(1024, 4, 0xff), (Lines{8}));
  EXPECT_EQ(linesOf(1024, 4, 0), Lines());
}

} // namespace
} // namespace heddle::simulator
