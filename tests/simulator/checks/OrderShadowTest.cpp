// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Accesses of lanes side by side leave in the shadow memory what the same accesses leave one after the other, and race
// with the same ones in the same order.
#include "simulator/checks/OrderShadow.h"
#include <gtest/gtest.h>
#include <map>
#include <random>

namespace heddle::simulator {
namespace {

/// Of a wave's accesses, those up to an epoch are ordered before whatever comes.
class TestJudge final : public AccessJudge {
public:
  explicit TestJudge(const std::map<uint32_t, uint32_t> &known) : known(known) {}
  uint32_t knownEpoch(uint32_t wave, Stream) const override { return known.at(wave); }
  bool isHidden(const AccessStamp &store, const AccessStamp &) const override { return store.wave % 2; }
  bool areCoherent(const AccessStamp &before, const AccessStamp &now) const override {
    return before.isAtomic && now.isAtomic && (before.wave ^ now.wave) % 4;
  }
  void race(const AccessStamp &before, const AccessStamp &now, uint64_t address) override {
    EXPECT_FALSE(areCoherent(before, now));
    races.push_back({address, before.wave, before.epoch, before.lane, before.bytes, now.lane, now.bytes});
  }

  std::vector<std::array<uint64_t, 7>> races;

private:
  const std::map<uint32_t, uint32_t> &known;
};

TEST(OrderShadow, RowsAreTheirLanesOneByOne) {
  constexpr unsigned widths[] = {1, 2, 4, 4, 4, 8, 12, 16};
  uint64_t seen = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    auto below = [&](uint64_t limit) { return random() % limit; };
    OrderShadow rows, lanes;
    std::map<uint32_t, uint32_t> known, issued;
    for (uint32_t wave = 0; wave < 7; ++wave)
      known[wave] = issued[wave] = 0;
    for (unsigned access = 0; access < 200; ++access) {
      AccessStamp stamp;
      stamp.wave = uint32_t(below(7));
      stamp.epoch = ++issued[stamp.wave];
      stamp.instruction = access;
      stamp.writes = below(seed % 5 + 2) == 0;
      stamp.isAtomic = below(2) == 0;
      bool isScalar = !stamp.writes && below(8) == 0;
      stamp.stream = uint8_t(isScalar ? Stream::ScalarRead : Stream::Everywhere) & 3;
      unsigned bytes = isScalar ? 4 : widths[below(8)];
      unsigned count = unsigned(below(4) ? 64 : 4 + below(61)) & ~3u;
      unsigned first = isScalar ? 0 : unsigned(below(65 - count));
      uint64_t address = 0x10000 - 512 + (below(3) ? 256 * below(12) : 4 * below(768));
      TestJudge ofRows(known), ofLanes(known);
      stamp.lane = uint8_t(first);
      bool raced = rows.touchRow(ofRows, address, bytes, count, stamp);
      for (unsigned i = 0; i < count; ++i) {
        stamp.lane = uint8_t(isScalar ? 0 : first + i);
        lanes.touch(ofLanes, address + i * bytes, bytes, stamp);
      }
      ASSERT_EQ(ofRows.races, ofLanes.races) << "seed " << seed << ", access " << access;
      ASSERT_EQ(raced, !ofRows.races.empty());
      seen += raced;
      // Most is ordered, or all would race.
      for (auto &[wave, epoch] : known)
        if (below(seed % 3 ? 40 : 4) != 0)
          epoch = issued[wave];
    }
  }
  EXPECT_GT(seen, 1000u);
}

// The test above compares the shadow with itself; here it is said what races.
TEST(OrderShadow, ConflictsThatAreNotOrderedRace) {
  struct Access {
    uint32_t wave;
    bool writes, isAtomic;
  };
  struct Case {
    Access before, now;
    uint32_t known; ///< of the accesses of the wave before
    bool races;
  };
  constexpr Case cases[] = {
      {{0, true, false}, {1, false, false}, 0, true},  // a load of what another wave stores
      {{0, true, false}, {1, true, false}, 0, true},   // two stores
      {{0, false, false}, {1, true, false}, 0, true},  // a store over what another wave loads
      {{0, true, false}, {1, true, true}, 0, true},    // one of them is atomic
      {{0, true, true}, {1, false, false}, 0, true},   // the other one is
      {{0, true, true}, {4, true, true}, 0, true},     // both are, and a scope is too narrow
      {{0, true, true}, {1, true, true}, 0, false},    // both are, and the scopes suffice
      {{0, true, false}, {1, true, false}, 1, false},  // ordered
      {{0, false, false}, {1, false, false}, 0, false} // two loads
  };
  for (const Case &each : cases) {
    OrderShadow shadow;
    std::map<uint32_t, uint32_t> known = {{each.before.wave, each.known}, {each.now.wave, 0}};
    TestJudge judge(known);
    for (const Access &access : {each.before, each.now}) {
      AccessStamp stamp;
      stamp.wave = access.wave;
      stamp.epoch = 1;
      stamp.writes = access.writes;
      stamp.isAtomic = access.isAtomic;
      stamp.stream = uint8_t(Stream::Everywhere) & 3;
      shadow.touch(judge, 0x10000, 4, stamp);
    }
    EXPECT_EQ(judge.races.size(), each.races) << "case " << &each - cases;
  }
}

} // namespace
} // namespace heddle::simulator
