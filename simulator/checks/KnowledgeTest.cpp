// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Vector clocks that share their entries: random joins against maps, and that no copy sees what another one learns.
#include "simulator/checks/Knowledge.h"
#include <gtest/gtest.h>
#include <map>
#include <random>

namespace heddle::simulator {
namespace {

using Entries = std::map<uint32_t, uint32_t>;

void expectSame(const Knowledge &knowledge, const Entries &expected, uint32_t ids) {
  for (uint32_t id = 0; id < ids; ++id) {
    auto found = expected.find(id);
    ASSERT_EQ(knowledge.epochOf(id), found == expected.end() ? 0 : found->second) << "id " << id;
  }
  ASSERT_EQ(knowledge.of([](uint32_t) { return true; }).size(), expected.size());
}

void join(Entries &to, const Entries &from) {
  for (auto [id, epoch] : from)
    to[id] = std::max(to[id], epoch);
}

TEST(Knowledge, IsJoinedAsMapsAre) {
  constexpr uint32_t ids = 300;
  std::mt19937 random(7);
  Knowledge all[6];
  Entries expected[6];
  for (int round = 0; round < 3000; ++round) {
    unsigned to = random() % 6, from = random() % 6;
    switch (random() % 4) {
    case 0: // now and then nothing is known any more
      all[to] = round % 64 ? all[from] : Knowledge();
      expected[to] = round % 64 ? expected[from] : Entries();
      break;
    case 1:
      all[to].join(all[from]);
      join(expected[to], expected[from]);
      break;
    default: {
      Entries few;
      for (unsigned count = random() % 5; count; --count)
        few[random() % ids] = 1 + random() % 1000;
      std::vector<Knowledge::Entry> sorted;
      for (auto [id, epoch] : few)
        sorted.push_back({id, epoch});
      all[to].join(sorted);
      join(expected[to], few);
    }
    }
    for (unsigned each : {to, from})
      expectSame(all[each], expected[each], ids);
  }
  for (unsigned each = 0; each < 6; ++each) // also those not joined last
    expectSame(all[each], expected[each], ids);
}

TEST(Knowledge, OfAWaveIsFoundByItsStream) {
  Knowledge knowledge;
  Knowledge::Entry entry{Knowledge::idOf(3, Stream::Everywhere), 5};
  knowledge.join({&entry, 1});
  EXPECT_EQ(knowledge.epochOf(Knowledge::idOf(3, Stream::Everywhere)), 5u);
  EXPECT_EQ(knowledge.epochOf(Knowledge::idOf(3, Stream::Written)), 0u);
  EXPECT_TRUE(knowledge.of([](uint32_t wave) { return wave != 3; }).empty());
}

TEST(Knowledge, KeepsLittleFreeMemory) {
  constexpr uint32_t ids = 1 << 15;
  std::vector<Knowledge::Entry> entries(ids);
  for (uint32_t id = 0; id < ids; ++id)
    entries[id] = {id, 1};
  {
    std::vector<Knowledge> many(2 * Knowledge::mostFreeBytes / (ids * sizeof(Knowledge::Entry)));
    for (Knowledge &each : many)
      each.join(entries);
  }
  EXPECT_LE(Knowledge::freeBytes(), Knowledge::mostFreeBytes);
  EXPECT_GT(Knowledge::freeBytes(), Knowledge::mostFreeBytes / 2);
  size_t before = Knowledge::freeBytes();
  Knowledge another;
  another.join(entries);
  EXPECT_LT(Knowledge::freeBytes(), before); // it is used again
}

} // namespace
} // namespace heddle::simulator
