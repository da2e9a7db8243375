// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LDS operations of many lanes at once conflict with the same operations as those of its lanes one after the other.
#include "simulator/checks/LdsShadow.h"
#include <gtest/gtest.h>
#include <random>
#include <tuple>

namespace heddle::simulator {
namespace {

auto fieldsOf(const LdsConflict &conflict) {
  return std::tuple(conflict.access, conflict.stream, conflict.time, conflict.address, conflict.bytes, conflict.lane,
                    conflict.earlierLane, conflict.earlierUniform, conflict.sameValue);
}

class Operations {
public:
  explicit Operations(uint64_t seed) : random(seed) {
    clock.over.fill(~uint32_t(0));
    for (unsigned wave = 0; wave < waves; ++wave)
      clock.over[wave] = clock.over[loadStream(wave)] = 0;
  }

  /// The next one of a random wave, of `bytes` a lane, side by side or anywhere.
  LdsOperation next() {
    constexpr LdsAccess kinds[] = {LdsAccess::Read,  LdsAccess::Read, LdsAccess::Write,
                                   LdsAccess::Write, LdsAccess::Load, LdsAccess::Atomic};
    LdsOperation operation;
    operation.access = kinds[random() % (random() % 8 ? 5 : 6)];
    operation.wave = uint32_t(random() % waves);
    operation.time = ++time;
    if (random() % 3 == 0) // a barrier, perhaps without a wait
      for (unsigned stream = 0; stream < waves; ++stream)
        if (random() % 8)
          clock.over[stream] = clock.over[loadStream(stream)] = time - 1;
    operation.before = clock;
    bool isLoad = operation.access == LdsAccess::Load;
    operation.before.over[isLoad ? loadStream(operation.wave) : operation.wave] = ~uint32_t(0);
    operation.floor = operation.before.floor();
    bytes = 4u << random() % 3;
    unsigned first = unsigned(random() % 64), count = 1 + unsigned(random() % (64 - first));
    lanes = random() % 3 ? allLanes : ((count < 64 ? uint64_t(1) << count : 0) - 1) << first;
    bool isRow = random() % 4;
    uint64_t base = 256 * (random() % 4) + (random() % 4 ? 0 : 4);
    for (unsigned lane = 0; lane < waveLanes; ++lane) {
      address[lane] = isRow ? base + lane * bytes : random() % (ldsBytes / bytes) * bytes;
      if (lane && address[lane] == address[lane - 1]) // of such lanes one is looked at
        address[lane] = (address[lane] + bytes) % ldsBytes;
      for (unsigned word = 0; word < 4; ++word)
        data[word * waveLanes + lane] = uint32_t(random() % 2);
    }
    return operation;
  }

  static constexpr unsigned waves = 4, ldsBytes = 2048;
  uint64_t lanes = 0, address[waveLanes];
  uint32_t data[4 * waveLanes];
  unsigned bytes = 4;

private:
  std::mt19937_64 random;
  LdsClock clock;
  uint32_t time = 0;
};

TEST(LdsShadow, LanesTogetherAreLanesOneByOne) {
  size_t seen = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Operations operations(seed);
    LdsShadow together, apart;
    together.start(Operations::ldsBytes, Operations::waves);
    apart.start(Operations::ldsBytes, Operations::waves);
    for (unsigned i = 0; i < 100; ++i) {
      LdsOperation operation = operations.next();
      const uint32_t *data = operation.access == LdsAccess::Write ? operations.data : nullptr;
      together.touch(operation, {operations.lanes, operations.address, operations.bytes, data});
      for (uint64_t rest = operations.lanes; rest; rest &= rest - 1)
        apart.touch(operation, {rest & -rest, operations.address, operations.bytes, data});
      std::vector<LdsConflict> first = together.takeConflicts(), second = apart.takeConflicts();
      ASSERT_EQ(first.size(), second.size()) << "seed " << seed << ", operation " << i;
      for (size_t k = 0; k < first.size(); ++k)
        ASSERT_EQ(fieldsOf(first[k]), fieldsOf(second[k])) << "seed " << seed << ", operation " << i;
      seen += first.size();
    }
  }
  EXPECT_GT(seen, 1000u);
}

/// A store of a wave for which those of others up to a time are over.
LdsOperation storeOf(uint32_t wave, uint32_t time, uint32_t overTime) {
  LdsOperation operation;
  operation.access = LdsAccess::Write;
  operation.wave = wave;
  operation.time = time;
  operation.before.over.fill(~uint32_t(0));
  for (unsigned other = 0; other < Operations::waves; ++other)
    if (other != wave)
      operation.before.over[other] = overTime;
  operation.floor = operation.before.floor();
  return operation;
}

// Cells are made as they are accessed: those that come later change nothing in those that there are.
TEST(LdsShadow, PlacesFarApartKeepTheirWrites) {
  constexpr uint64_t places[] = {0, 4, 8188, 8192, 40000, 65532};
  LdsShadow shadow;
  for (unsigned run = 0; run < 2; ++run) { // the second one finds nothing of the first
    shadow.start(1 << 16, Operations::waves);
    uint32_t time = 0, zeros[waveLanes] = {};
    for (uint32_t wave = 0; wave < 2; ++wave)
      for (uint64_t place : places) {
        uint64_t address[waveLanes] = {place};
        shadow.touch(storeOf(wave, ++time, 0), {1, address, 4, zeros});
        std::vector<LdsConflict> conflicts = shadow.takeConflicts();
        ASSERT_EQ(conflicts.size(), wave) << place;
        for (const LdsConflict &conflict : conflicts)
          EXPECT_EQ(std::tuple(conflict.time, conflict.address), std::tuple(time - std::size(places), place));
      }
    uint64_t outside[waveLanes] = {1 << 16, ~uint64_t(0)}, below[waveLanes] = {~uint64_t(3)}; // the end of which is 0
    shadow.touch(storeOf(2, ++time, 0), {3, outside, 4, zeros});
    shadow.touch(storeOf(2, ++time, 0), {1, below, 4, zeros});
    EXPECT_FALSE(shadow.hasConflicts());
  }
}

// Bytes of a dword that several waves wrote have the earlier writes of that dword; fewer remain with each store.
TEST(LdsShadow, BytesOfADwordLeaveRoomForLaterValues) {
  LdsShadow shadow;
  shadow.start(Operations::ldsBytes, Operations::waves);
  uint64_t dword[waveLanes] = {64}, bytes[waveLanes] = {64, 65, 66, 67}, other[waveLanes] = {128};
  uint32_t zeros[waveLanes] = {};
  for (uint32_t wave = 0; wave < 3; ++wave)
    shadow.touch(storeOf(wave, wave + 1, 0), {1, dword, 4, zeros});
  shadow.touch(storeOf(3, 4, 2), {15, bytes, 1, zeros}); // those of waves 0 and 1 are over
  shadow.takeConflicts();
  for (uint32_t wave = 0; wave < 2; ++wave)
    shadow.touch(storeOf(wave, wave + 5, 4), {1, other, 4, zeros});
  std::vector<LdsConflict> conflicts = shadow.takeConflicts();
  ASSERT_EQ(conflicts.size(), 1u);
  EXPECT_TRUE(conflicts[0].sameValue);
  EXPECT_FALSE(conflicts[0].isUnknown);
}

} // namespace
} // namespace heddle::simulator
