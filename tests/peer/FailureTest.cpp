// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranks that do not come: every wait ends, and the record says who was missed, where, and for how long.
#include "tests/peer/Ranks.h"
#include <chrono>
#include <gtest/gtest.h>
#include <thread>

using namespace heddle;
using namespace heddle::peertest;

namespace {

constexpr uint64_t outOffset = 1 << 17;

const char *const meetKernel = R"(
module {
  tt.func public @meet(%group: !tt.ptr<i64>, %signals: !tt.ptr<i64>, %out: !tt.ptr<i64>, %epoch: i64, %tag: i64) {
    %c1 = arith.constant 1 : i64
    %deadline = peer.deadline %group : i64
    %block = tt.get_program_id x : i32
    %ok = peer.block_barrier %signals, %epoch, %deadline, %group, tag %tag {world_size = WORLD : i32}
    %word = arith.extui %ok : i1 to i64
    %status = arith.addi %word, %c1 : i64
    %place = tt.addptr %out, %block : !tt.ptr<i64>, i32
    tt.store %place, %status : !tt.ptr<i64>
    tt.return
  }
}
)";

/// What the kernel stores for a barrier.
constexpr uint64_t missed = 1, met = 2;

struct RankBarrier {
  Ranks ranks;
  RankBarrier(int worldSize, double limitSeconds) : ranks(worldSize, limitSeconds) {
    ranks.load(fill(meetKernel, {{"WORLD", worldSize}}));
  }
  void start(int rank, uint64_t epoch, uint64_t tag, int64_t blocks = 1) {
    ranks.start(rank, blocks, {ranks.at(rank, 0), ranks.at(rank, outOffset), ScalarBits{epoch}, ScalarBits{tag}});
  }
  uint64_t status(int rank, uint64_t block = 0) { return ranks.arena(rank)[outOffset / 8 + block]; }
};

// Seconds. Ranks that come have to come within it, also on a machine that gives their threads no time for a while.
constexpr double busyLimit = 1;

TEST(Failure, TheRecordNamesWhoDidNotCome) {
  RankBarrier barrier(3, busyLimit);
  Ranks &ranks = barrier.ranks;
  for (int rank : {0, 1})
    barrier.start(rank, 5, 77);
  for (int rank : {0, 1}) {
    ranks.finish(rank);
    EXPECT_EQ(barrier.status(rank), missed);
    const PeerError &error = ranks.error(rank);
    EXPECT_EQ(error.state, uint32_t(PeerErrorState::Written));
    EXPECT_EQ(error.reason, uint32_t(PeerErrorReason::Deadline));
    EXPECT_EQ(error.peer, 2u);
    EXPECT_EQ(error.block, 0u);
    EXPECT_EQ(error.expected, 5u);
    EXPECT_EQ(error.seen, 0u);
    EXPECT_GE(error.elapsedNs, uint64_t(busyLimit * 1e9));
    EXPECT_LT(error.elapsedNs, 30000000000u);
    EXPECT_EQ(error.tag, 77u);
  }
  EXPECT_EQ(ranks.error(2).state, 0u);
}

TEST(Failure, ABlockIsMissedAlone) {
  RankBarrier barrier(2, busyLimit);
  Ranks &ranks = barrier.ranks;
  for (int rank : {0, 1}) // epoch 3 for all three blocks
    barrier.start(rank, 3, 1, 3);
  for (int rank : {0, 1}) {
    ranks.finish(rank);
    for (uint64_t block = 0; block < 3; ++block)
      EXPECT_EQ(barrier.status(rank, block), met);
  }
  barrier.start(0, 4, 2, 3);
  barrier.start(1, 4, 2, 2); // block 2 stays away
  ranks.finish(0);
  ranks.finish(1);
  EXPECT_EQ(barrier.status(0, 0), met);
  EXPECT_EQ(barrier.status(0, 1), met);
  EXPECT_EQ(barrier.status(0, 2), missed);
  EXPECT_EQ(ranks.error(0).peer, 1u);
  EXPECT_EQ(ranks.error(0).block, 2u);
  EXPECT_EQ(ranks.error(0).expected, 4u);
  EXPECT_EQ(ranks.error(0).seen, 3u);
  EXPECT_EQ(ranks.error(1).state, 0u);
}

TEST(Failure, TheFirstRecordStays) {
  RankBarrier barrier(2, busyLimit);
  for (uint64_t epoch : {1, 2}) {
    barrier.start(0, epoch, 100 + epoch);
    barrier.ranks.finish(0);
    EXPECT_EQ(barrier.status(0), missed);
  }
  EXPECT_EQ(barrier.ranks.error(0).expected, 1u);
  EXPECT_EQ(barrier.ranks.error(0).tag, 101u);
  // A rank with a record waits no more. Without it a barrier that all ranks come to works again.
  barrier.ranks.error(0) = {};
  for (int rank : {0, 1})
    barrier.start(rank, 3, 103);
  for (int rank : {0, 1}) {
    barrier.ranks.finish(rank);
    EXPECT_EQ(barrier.status(rank), met);
  }
}

TEST(Failure, ALateRankIsWaitedFor) {
  RankBarrier barrier(2, 60);
  barrier.start(0, 1, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(barrier.status(0), 0u);
  barrier.start(1, 1, 1);
  for (int rank : {0, 1}) {
    barrier.ranks.finish(rank);
    EXPECT_EQ(barrier.status(rank), met);
  }
}

TEST(Failure, AbortEndsWaits) {
  RankBarrier barrier(4, 3600);
  for (int rank : {0, 1, 3})
    barrier.start(rank, 9, 5, 4);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (int rank : {0, 1, 3})
    barrier.ranks.abort(rank);
  for (int rank : {0, 1, 3}) {
    barrier.ranks.finish(rank);
    for (uint64_t block = 0; block < 4; ++block)
      EXPECT_EQ(barrier.status(rank, block), missed);
    const PeerError &error = barrier.ranks.error(rank);
    EXPECT_EQ(error.state, uint32_t(PeerErrorState::Written));
    EXPECT_EQ(error.reason, uint32_t(PeerErrorReason::Abort));
    EXPECT_EQ(error.expected, 9u);
    EXPECT_LT(error.elapsedNs, 600000000000u);
  }
}

// A tile of packets of which one does not come, reported by tile and by scalar.
const char *const packetKernel = R"(
module {
  tt.func public @packets(%group: !tt.ptr<i64>, %inbox: !tt.ptr<i64>, %out: !tt.ptr<i32>, %flag: i32, %tag: i64) {
    %row = arith.constant dense<8> : tensor<2x8xi32>
    %yes = arith.constant dense<true> : tensor<2x8xi1>
    %deadline = peer.deadline %group : i64
    %r = tt.make_range {start = 0 : i32, end = 2 : i32} : tensor<2xi32>
    %c = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
    %r2 = tt.expand_dims %r {axis = 1 : i32} : tensor<2xi32> -> tensor<2x1xi32>
    %c2 = tt.expand_dims %c {axis = 0 : i32} : tensor<8xi32> -> tensor<1x8xi32>
    %rows = tt.broadcast %r2 : tensor<2x1xi32> -> tensor<2x8xi32>
    %columns = tt.broadcast %c2 : tensor<1x8xi32> -> tensor<2x8xi32>
    %first = arith.muli %rows, %row : tensor<2x8xi32>
    %lane = arith.addi %first, %columns : tensor<2x8xi32>
    %base = tt.splat %inbox : !tt.ptr<i64> -> tensor<2x8x!tt.ptr<i64>>
    %slots = tt.addptr %base, %lane : tensor<2x8x!tt.ptr<i64>>, tensor<2x8xi32>
    %data, %ok = peer.packet_receive %slots, %flag within %deadline, %group : tensor<2x8x!tt.ptr<i64>>
    %failed = arith.xori %ok, %yes : tensor<2x8xi1>
    %expected = arith.extui %flag : i32 to i64
    %seen = tt.load %slots : tensor<2x8x!tt.ptr<i64>>
    peer.report %failed, %lane, %expected, %seen, %deadline, %group, tag %tag : tensor<2x8xi1>, tensor<2x8xi32>, i64, tensor<2x8xi64>
    %outs = tt.splat %out : !tt.ptr<i32> -> tensor<2x8x!tt.ptr<i32>>
    %places = tt.addptr %outs, %lane : tensor<2x8x!tt.ptr<i32>>, tensor<2x8xi32>
    tt.store %places, %data : tensor<2x8x!tt.ptr<i32>>
    tt.return
  }
}
)";

TEST(Failure, APacketThatDoesNotCome) {
  for (int absent : {-1, 0, 7, 13}) {
    Ranks ranks(1, 0.02);
    ranks.load(packetKernel);
    for (int lane = 0; lane < 16; ++lane)
      ranks.arena(0)[lane] = (uint64_t(lane == absent ? 6 : 7) << 32) | uint64_t(lane + 100);
    ranks.start(0, 1, {ranks.at(0, 0), ranks.at(0, outOffset), ScalarBits{7}, ScalarBits{uint64_t(1) << 63}});
    ranks.finish(0);
    const PeerError &error = ranks.error(0);
    EXPECT_EQ(error.state, absent < 0 ? 0u : uint32_t(PeerErrorState::Written));
    const uint32_t *out = reinterpret_cast<uint32_t *>(ranks.arena(0) + outOffset / 8);
    for (uint32_t lane = 0; lane < 16; ++lane)
      EXPECT_EQ(out[lane], lane + 100);
    if (absent < 0)
      continue;
    EXPECT_EQ(error.peer, uint32_t(absent));
    EXPECT_EQ(error.expected, 7u);
    EXPECT_EQ(error.seen, (uint64_t(6) << 32) | uint64_t(absent + 100));
    EXPECT_EQ(error.tag, uint64_t(1) << 63);
    EXPECT_GE(error.elapsedNs, 20000000u);
  }
}

} // namespace
