// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From where lines come: the first touch of each level, what a cache keeps, what an invalidation takes away.
#include "simulator/timing/MemoryLevels.h"
#include <gtest/gtest.h>

namespace heddle::simulator {
namespace {

class Levels : public testing::Test {
protected:
  void expect(const LevelCounts &counts, unsigned fromL2, unsigned fromLastLevel, unsigned fromMemory) {
    EXPECT_EQ(counts.lines, lines.size());
    EXPECT_EQ(counts.fromL2, fromL2);
    EXPECT_EQ(counts.fromLastLevel, fromLastLevel);
    EXPECT_EQ(counts.fromMemory, fromMemory);
  }
  LevelCounts load(unsigned xcd = 0) { return levels.load(lines, xcd, true, false); }

  MemoryLevels levels{gfx942Timing};
  std::vector<uint64_t> lines = {3, 9};
};

TEST_F(Levels, LoadsFindWhatWasTouched) {
  expect(load(), 2, 2, 2);
  expect(load(), 0, 0, 0);
  expect(levels.load(lines, 0, false, false), 2, 0, 0); // another compute unit of the XCD
  expect(levels.load(lines, 1, false, false), 2, 2, 0); // another XCD
  EXPECT_EQ(levels.traffic.read, 2u);
  EXPECT_EQ(levels.traffic.lastLevel, 4u);
}

TEST_F(Levels, AnInvalidatedVectorCacheAsksL2) {
  load();
  levels.invalidateVectorCache();
  expect(load(), 2, 0, 0);
}

TEST_F(Levels, AnInvalidatedScalarCacheAsksL2) {
  expect(levels.loadScalar(lines, 0, true), 2, 2, 2);
  expect(levels.loadScalar(lines, 0, true), 0, 0, 0);
  levels.invalidateScalarCache();
  expect(levels.loadScalar(lines, 0, true), 2, 0, 0);
}

TEST_F(Levels, StoresReadNothing) {
  expect(levels.store(lines, 0), 2, 0, 0);
  EXPECT_EQ(levels.traffic.read, 0u);
  EXPECT_EQ(levels.traffic.written, 2u);
}

TEST_F(Levels, AtomicsReadAndWrite) {
  expect(levels.update(lines, 0), 2, 2, 2);
  expect(levels.update(lines, 0), 2, 0, 0); // not in the vector cache
  EXPECT_EQ(levels.traffic.read, 2u);
  EXPECT_EQ(levels.traffic.written, 2u);
}

} // namespace
} // namespace heddle::simulator
