// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values that blocks of 1 to 8 ranks tell each other: each rank reads what every other said in this round.
#include "tests/peer/Ranks.h"
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::peertest;

namespace {

// Each round a block tells the others two numbers made of round, rank and block, and reads theirs; a barrier lets the
// slots be used again. `out[block]` counts wrong words and failed barriers.
const char *const roundsKernel = R"(
module {
  tt.func public @rounds(%group: !tt.ptr<i64>, %signals: !tt.ptr<i64>, %slots: !tt.ptr<i64>, %out: !tt.ptr<i64>,
                         %first: i64, %rounds: i32, %tag: i64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i64
    %c3 = arith.constant 3 : i64
    %none = arith.constant 0 : i64
    %thousand = arith.constant 1000 : i64
    %prime = arith.constant 0x9e3779b97f4a7c15 : i64
    %low = arith.constant dense<0xffffffff> : tensor<LANESxi64>
    %zeros = arith.constant dense<0> : tensor<LANESxi64>
    %half = arith.constant dense<32> : tensor<LANESxi64>
    %one = arith.constant dense<1> : tensor<LANESxi64>
    %two = arith.constant dense<2> : tensor<LANESxi64>
    %three = arith.constant dense<3> : tensor<LANESxi64>
    %primes = arith.constant dense<0x9e3779b97f4a7c15> : tensor<LANESxi64>
    %world = arith.constant dense<WORLD> : tensor<LANESxi64>
    %perBlock = arith.constant WORDS : i64
    %deadline = peer.deadline %group : i64
    %rank = peer.rank %group : i32
    %rank64 = arith.extui %rank : i32 to i64
    %block = tt.get_program_id x : i32
    %block64 = arith.extui %block : i32 to i64
    %lane = tt.make_range {start = 0 : i32, end = LANES : i32} : tensor<LANESxi32>
    %lane64 = arith.extui %lane : tensor<LANESxi32> to tensor<LANESxi64>
    %peer = arith.shrui %lane64, %two : tensor<LANESxi64>
    %word = arith.andi %lane64, %three : tensor<LANESxi64>
    %number = arith.shrui %word, %one : tensor<LANESxi64>
    %isHigh = arith.andi %word, %one : tensor<LANESxi64>
    %exists = arith.cmpi ult, %peer, %world : tensor<LANESxi64>
    %ranks = tt.splat %rank64 : i64 -> tensor<LANESxi64>
    %isOther = arith.cmpi ne, %peer, %ranks : tensor<LANESxi64>
    %present = arith.andi %exists, %isOther : tensor<LANESxi1>
    %offset = arith.muli %block64, %perBlock : i64
    %row = tt.addptr %slots, %offset : !tt.ptr<i64>, i64
    %rows = tt.splat %row : !tt.ptr<i64> -> tensor<LANESx!tt.ptr<i64>>
    %places = tt.addptr %rows, %lane : tensor<LANESx!tt.ptr<i64>>, tensor<LANESxi32>
    %wrong = scf.for %i = %c0 to %rounds step %c1 iter_args(%sum = %none) -> (i64) : i32 {
      %i64 = arith.extui %i : i32 to i64
      %epoch = arith.addi %first, %i64 : i64
      %scaled = arith.muli %epoch, %thousand : i64
      %common = arith.addi %scaled, %block64 : i64
      %seed = arith.muli %common, %c3 : i64
      %double = arith.muli %rank64, %c2 : i64
      %start = arith.addi %seed, %double : i64
      %a = arith.muli %start, %prime : i64
      %b = arith.addi %a, %prime : i64
      %ok = peer.block_exchange SEMANTIC, %slots, (%a, %b), %epoch, %deadline, %group, tag %tag {world_size = WORLD : i32}
      %packets = tt.load %places, %present, %zeros : tensor<LANESx!tt.ptr<i64>>
      %data = arith.andi %packets, %low : tensor<LANESxi64>
      %seeds = tt.splat %seed : i64 -> tensor<LANESxi64>
      %doubles = arith.muli %peer, %two : tensor<LANESxi64>
      %starts = arith.addi %seeds, %doubles : tensor<LANESxi64>
      %numbered = arith.addi %starts, %number : tensor<LANESxi64>
      %values = arith.muli %numbered, %primes : tensor<LANESxi64>
      %shift = arith.muli %isHigh, %half : tensor<LANESxi64>
      %shifted = arith.shrui %values, %shift : tensor<LANESxi64>
      %expected = arith.andi %shifted, %low : tensor<LANESxi64>
      %differs = arith.cmpi ne, %data, %expected : tensor<LANESxi64>
      %bad = arith.andi %differs, %present : tensor<LANESxi1>
      %count = arith.extui %bad : tensor<LANESxi1> to tensor<LANESxi64>
      %new = "tt.reduce"(%count) <{axis = 0 : i32}> ({
      ^bb0(%x: i64, %y: i64):
        %s = arith.addi %x, %y : i64
        tt.reduce.return %s : i64
      }) : (tensor<LANESxi64>) -> i64
      %read = peer.block_barrier %signals, %epoch, %deadline, %group, tag %tag {world_size = WORLD : i32}
      %both = arith.andi %ok, %read : i1
      %failed = arith.select %both, %none, %thousand : i64
      %more = arith.addi %new, %failed : i64
      %next = arith.addi %sum, %more : i64
      scf.yield %next : i64
    }
    %place = tt.addptr %out, %block : !tt.ptr<i64>, i32
    tt.store %place, %wrong : !tt.ptr<i64>
    tt.return
  }
}
)";

constexpr uint64_t slotsOffset = 1 << 16, outOffset = 1 << 17;

void load(Ranks &ranks, const std::string &semantic) {
  int lanes = 4;
  while (lanes < 4 * ranks.size())
    lanes *= 2;
  std::string text = fill(roundsKernel, {{"WORLD", ranks.size()}, {"LANES", lanes}, {"WORDS", 4 * ranks.size()}});
  text.replace(text.find("SEMANTIC"), 8, semantic);
  ranks.load(text);
}

void start(Ranks &ranks, int rank, int blocks, uint64_t first, uint64_t rounds) {
  std::fill_n(ranks.arena(rank) + outOffset / 8, blocks, ~uint64_t(0));
  ranks.start(rank, blocks,
              {ranks.at(rank, 0), ranks.at(rank, slotsOffset), ranks.at(rank, outOffset), ScalarBits{first},
               ScalarBits{rounds}, ScalarBits{7}});
}

struct Shape {
  int ranks, blocks;
};

class Exchange : public testing::TestWithParam<Shape> {};

TEST_P(Exchange, EveryRankReadsWhatTheOthersSaid) {
  auto [worldSize, blocks] = GetParam();
  for (const char *semantic : {"relaxed", "release"}) {
    Ranks ranks(worldSize);
    load(ranks, semantic);
    constexpr uint64_t rounds = 50, justBelow32Bits = 0xffffffe0;
    uint64_t first = justBelow32Bits; // flags wrap around on the way
    for (int call = 0; call < 2; ++call, first += rounds) {
      for (int rank = 0; rank < worldSize; ++rank)
        start(ranks, rank, blocks, first, rounds);
      for (int rank = 0; rank < worldSize; ++rank) {
        ranks.finish(rank);
        for (int block = 0; block < blocks; ++block)
          EXPECT_EQ(ranks.arena(rank)[outOffset / 8 + uint64_t(block)], 0u) << "rank " << rank << ", block " << block;
        EXPECT_EQ(ranks.error(rank).state, 0u);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Exchange,
                         testing::Values(Shape{1, 2}, Shape{2, 1}, Shape{2, 4}, Shape{3, 4}, Shape{4, 4}, Shape{5, 2},
                                         Shape{8, 1}, Shape{8, 3}),
                         [](const auto &info) {
                           return std::to_string(info.param.ranks) + "ranks" + std::to_string(info.param.blocks) +
                                  "blocks";
                         });

TEST(Exchange, WhoIsMissingIsReported) {
  Ranks ranks(3, /*limitSeconds=*/1);
  load(ranks, "relaxed");
  constexpr uint64_t epoch = 41;
  for (int rank : {0, 1})
    start(ranks, rank, 1, epoch, 1);
  for (int rank : {0, 1}) {
    ranks.finish(rank);
    const PeerError &error = ranks.error(rank);
    EXPECT_EQ(error.state, uint32_t(PeerErrorState::Written));
    EXPECT_EQ(error.reason, uint32_t(PeerErrorReason::Deadline));
    EXPECT_EQ(error.peer, 2u);
    EXPECT_EQ(error.expected, epoch);
    EXPECT_EQ(error.seen, 0u);
    EXPECT_EQ(error.tag, 7u);
    EXPECT_EQ(ranks.arena(rank)[outOffset / 8] / 1000, 1u) << "one barrier that failed, and wrong words";
  }
}

} // namespace
