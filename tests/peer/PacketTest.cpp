// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packets round a ring of ranks: tiles with a mask, and scalars.
#include "tests/peer/Ranks.h"
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::peertest;

namespace {

// Each round a rank sends its tile to the next one, receives that of the one before, and adds 1. Flags count from
// `first` without 0. The inbox has a row for each round.
const char *const ringKernel = R"(
module {
  tt.func public @ring(%group: !tt.ptr<i64>, %inbox: !tt.ptr<i64>, %out: !tt.ptr<i32>, %first: i32, %rounds: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %ones = arith.constant dense<1> : tensor<64xi32>
    %row = arith.constant 64 : i32
    %active = arith.constant dense<50> : tensor<64xi32>
    %yes = arith.constant true
    %deadline = peer.deadline %group : i64
    %rank = peer.rank %group : i32
    %size = peer.world_size %group : i32
    %after = arith.addi %rank, %c1 : i32
    %next = arith.remui %after, %size : i32
    %lane = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
    %mask = arith.cmpi ult, %lane, %active : tensor<64xi32>
    %thousand = arith.constant 1000 : i32
    %mine = arith.muli %rank, %thousand : i32
    %mines = tt.splat %mine : i32 -> tensor<64xi32>
    %start = arith.addi %mines, %lane : tensor<64xi32>
    %last, %good = scf.for %i = %c0 to %rounds step %c1 iter_args(%value = %start, %fine = %yes) -> (tensor<64xi32>, i1) : i32 {
      %counted = arith.addi %first, %i : i32
      %isLow = arith.cmpi ult, %counted, %first : i32
      %skip = arith.extui %isLow : i1 to i32
      %flag = arith.addi %counted, %skip : i32
      %offset = arith.muli %i, %row : i32
      %line = tt.addptr %inbox, %offset : !tt.ptr<i64>, i32
      %lines = tt.splat %line : !tt.ptr<i64> -> tensor<64x!tt.ptr<i64>>
      %own = tt.addptr %lines, %lane : tensor<64x!tt.ptr<i64>>, tensor<64xi32>
      %remote = peer.address %own, %next, %group : tensor<64x!tt.ptr<i64>>, i32
      peer.packet_send %remote, %value, %flag, %mask : tensor<64x!tt.ptr<i64>>
      %got, %oks = peer.packet_receive %own, %flag, %mask within %deadline, %group : tensor<64x!tt.ptr<i64>>
      %all = "tt.reduce"(%oks) <{axis = 0 : i32}> ({
      ^bb0(%a: i1, %b: i1):
        %s = arith.andi %a, %b : i1
        tt.reduce.return %s : i1
      }) : (tensor<64xi1>) -> i1
      %still = arith.andi %fine, %all : i1
      %new = arith.addi %got, %ones : tensor<64xi32>
      scf.yield %new, %still : tensor<64xi32>, i1
    }
    %bases = tt.splat %out : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
    %places = tt.addptr %bases, %lane : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
    tt.store %places, %last : tensor<64x!tt.ptr<i32>>
    %status = tt.addptr %out, %row : !tt.ptr<i32>, i32
    %word = arith.extui %good : i1 to i32
    tt.store %status, %word : !tt.ptr<i32>
    tt.return
  }
}
)";

constexpr uint64_t outOffset = 1 << 19;

class Packets : public testing::TestWithParam<int> {};

TEST_P(Packets, GoRoundARing) {
  int worldSize = GetParam();
  Ranks ranks(worldSize);
  ranks.load(ringKernel);
  constexpr uint64_t rounds = 100, nearWrap = 0xffffffc0;
  for (int rank = 0; rank < worldSize; ++rank)
    ranks.start(rank, 1, {ranks.at(rank, 0), ranks.at(rank, outOffset), ScalarBits{nearWrap}, ScalarBits{rounds}});
  for (int rank = 0; rank < worldSize; ++rank)
    ranks.finish(rank);
  for (int rank = 0; rank < worldSize; ++rank) {
    const uint32_t *out = reinterpret_cast<uint32_t *>(ranks.arena(rank) + outOffset / 8);
    uint32_t origin = uint32_t((rank + int(rounds) * (worldSize - 1)) % worldSize);
    for (uint32_t lane = 0; lane < 50; ++lane)
      EXPECT_EQ(out[lane], origin * 1000 + lane + rounds) << "rank " << rank << ", lane " << lane;
    EXPECT_EQ(out[50], 1u) << "a lane without a packet receives 0";
    EXPECT_EQ(out[64], 1u) << "every packet came";
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Packets, testing::Values(1, 2, 3, 5, 8));

// Two ranks and one packet each way.
const char *const pingPongKernel = R"(
module {
  tt.func public @pingpong(%group: !tt.ptr<i64>, %inbox: !tt.ptr<i64>, %out: !tt.ptr<i32>, %rounds: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %yes = arith.constant true
    %deadline = peer.deadline %group : i64
    %rank = peer.rank %group : i32
    %other = arith.xori %rank, %c1 : i32
    %isFirst = arith.cmpi eq, %rank, %c0 : i32
    %remote = peer.address %inbox, %other, %group : !tt.ptr<i64>, i32
    %last = scf.for %i = %c0 to %rounds step %c1 iter_args(%value = %c0) -> (i32) : i32 {
      %flag = arith.addi %i, %c1 : i32
      scf.if %isFirst {
        peer.packet_send %remote, %value, %flag : !tt.ptr<i64>
      }
      %got, %ok = peer.packet_receive %inbox, %flag, %yes within %deadline, %group : !tt.ptr<i64>
      %new = arith.addi %got, %c1 : i32
      %isSecond = arith.xori %isFirst, %yes : i1
      peer.packet_send %remote, %new, %flag, %isSecond : !tt.ptr<i64>
      scf.yield %new : i32
    }
    tt.store %out, %last : !tt.ptr<i32>
    tt.return
  }
}
)";

TEST(Packets, PingPong) {
  Ranks ranks(2);
  ranks.load(pingPongKernel);
  for (int rank = 0; rank < 2; ++rank)
    ranks.start(rank, 1, {ranks.at(rank, 0), ranks.at(rank, outOffset), ScalarBits{1000}});
  for (int rank = 0; rank < 2; ++rank)
    ranks.finish(rank);
  EXPECT_EQ(uint32_t(ranks.arena(0)[outOffset / 8]), 2000u);
  EXPECT_EQ(uint32_t(ranks.arena(1)[outOffset / 8]), 1999u);
}

} // namespace
