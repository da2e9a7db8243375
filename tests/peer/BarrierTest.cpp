// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Block barriers between 1 to 8 ranks: what a block stored before, the same block of every rank reads after.
#include "tests/peer/Ranks.h"
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::peertest;

namespace {

// Each round a block stores a number that tells round, rank and block, meets the others and reads theirs. Two halves of
// the memory, used in turn, make one barrier a round enough. `out[block]` counts wrong numbers and failed barriers.
const char *const roundsKernel = R"(
module {
  tt.func public @rounds(%group: !tt.ptr<i64>, %signals: !tt.ptr<i64>, %data: !tt.ptr<i64>, %out: !tt.ptr<i64>,
                         %first: i64, %rounds: i32, %tag: i64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %none = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %thousand = arith.constant 1000 : i64
    %hundred = arith.constant 100 : i64
    %hundreds = arith.constant dense<100> : tensor<LANESxi64>
    %zeros = arith.constant dense<0> : tensor<LANESxi64>
    %world = arith.constant dense<WORLD> : tensor<LANESxi32>
    %deadline = peer.deadline %group : i64
    %rank = peer.rank %group : i32
    %rank64 = arith.extui %rank : i32 to i64
    %block = tt.get_program_id x : i32
    %block64 = arith.extui %block : i32 to i64
    %blocks = tt.get_num_programs x : i32
    %lane = tt.make_range {start = 0 : i32, end = LANES : i32} : tensor<LANESxi32>
    %lane64 = arith.extui %lane : tensor<LANESxi32> to tensor<LANESxi64>
    %present = arith.cmpi ult, %lane, %world : tensor<LANESxi32>
    %wrong = scf.for %i = %c0 to %rounds step %c1 iter_args(%sum = %none) -> (i64) : i32 {
      %i64 = arith.extui %i : i32 to i64
      %epoch = arith.addi %first, %i64 : i64
      %half = arith.andi %i, %c1 : i32
      %row = arith.muli %half, %blocks : i32
      %slot = arith.addi %row, %block : i32
      %mine = tt.addptr %data, %slot : !tt.ptr<i64>, i32
      %scaled = arith.muli %epoch, %thousand : i64
      %common = arith.addi %scaled, %block64 : i64
      %ranked = arith.muli %rank64, %hundred : i64
      %value = arith.addi %common, %ranked : i64
      tt.store %mine, %value : !tt.ptr<i64>
      %ok = peer.block_barrier %signals, %epoch, %deadline, %group, tag %tag {world_size = WORLD : i32}
      %all = tt.splat %mine : !tt.ptr<i64> -> tensor<LANESx!tt.ptr<i64>>
      %theirs = peer.address %all, %lane, %group : tensor<LANESx!tt.ptr<i64>>, tensor<LANESxi32>
      %seen = tt.load %theirs, %present, %zeros : tensor<LANESx!tt.ptr<i64>>
      %commons = tt.splat %common : i64 -> tensor<LANESxi64>
      %steps = arith.muli %lane64, %hundreds : tensor<LANESxi64>
      %expected = arith.addi %commons, %steps : tensor<LANESxi64>
      %differs = arith.cmpi ne, %seen, %expected : tensor<LANESxi64>
      %bad = arith.andi %differs, %present : tensor<LANESxi1>
      %count = arith.extui %bad : tensor<LANESxi1> to tensor<LANESxi64>
      %new = "tt.reduce"(%count) <{axis = 0 : i32}> ({
      ^bb0(%a: i64, %b: i64):
        %s = arith.addi %a, %b : i64
        tt.reduce.return %s : i64
      }) : (tensor<LANESxi64>) -> i64
      %failed = arith.select %ok, %none, %thousand : i64
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

constexpr uint64_t dataOffset = 1 << 16, outOffset = 1 << 17;

struct Shape {
  int ranks, blocks;
};

class Barrier : public testing::TestWithParam<Shape> {};

TEST_P(Barrier, BlocksOfAllRanksMeet) {
  auto [worldSize, blocks] = GetParam();
  int lanes = 1;
  while (lanes < worldSize)
    lanes *= 2;
  Ranks ranks(worldSize);
  ranks.load(fill(roundsKernel, {{"WORLD", worldSize}, {"LANES", lanes}}));
  constexpr uint64_t rounds = 100, justBelow32Bits = 0xffffffc0;
  uint64_t first = justBelow32Bits; // some epochs on each side of 2^32
  for (int call = 0; call < 2; ++call, first += rounds) {
    for (int rank = 0; rank < worldSize; ++rank) {
      std::fill_n(ranks.arena(rank) + outOffset / 8, blocks, ~uint64_t(0));
      ranks.start(rank, blocks,
                  {ranks.at(rank, 0), ranks.at(rank, dataOffset), ranks.at(rank, outOffset), ScalarBits{first},
                   ScalarBits{rounds}, ScalarBits{7}});
    }
    for (int rank = 0; rank < worldSize; ++rank) {
      ranks.finish(rank);
      for (int block = 0; block < blocks; ++block)
        EXPECT_EQ(ranks.arena(rank)[outOffset / 8 + uint64_t(block)], 0u) << "rank " << rank << ", block " << block;
      EXPECT_EQ(ranks.error(rank).state, 0u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Barrier,
                         testing::Values(Shape{1, 1}, Shape{1, 4}, Shape{2, 1}, Shape{2, 8}, Shape{3, 4}, Shape{4, 4},
                                         Shape{5, 3}, Shape{6, 2}, Shape{7, 2}, Shape{8, 1}, Shape{8, 4}),
                         [](const auto &info) {
                           return std::to_string(info.param.ranks) + "ranks" + std::to_string(info.param.blocks) +
                                  "blocks";
                         });

} // namespace
