// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What NCCL is asked for, and what of its results counts as wrong.
#include "api/NcclPeer.h"
#include "collectives/Reference.h"
#include "support/TestError.h"
#include <cstring>

using namespace heddle;

namespace {

Collective ofSize(CollectiveKind kind, ElementType type, Reduction reduction) {
  return collectiveOfSize(kind, type, reduction, 4, 256);
}

/// How many elements of rank 1's output are too far, when `far` is added to its element 2.
int64_t countWith(const Collective &c, double far) {
  auto inputs = reference::randomInputs(c, 7, false);
  std::string expected = reference::runCollective(c, inputs)[1], seen = expected;
  char *element = seen.data() + 2 * elementSizeBytes(c.type);
  storeDouble(c.type, loadDouble(c.type, element) + far, element);
  return countBeyondTolerance(c, 1, inputs, seen, expected);
}

TEST(NcclPeer, SumsInAnotherOrderMayDifferByRoundings) {
  for (CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::ReduceScatter}) {
    Collective c = ofSize(kind, ElementType::F32, Reduction::Sum);
    EXPECT_EQ(countWith(c, 0), 0);
    EXPECT_EQ(countWith(c, 2e-7), 0);
    EXPECT_EQ(countWith(c, 1e-2), 1);
    EXPECT_EQ(countWith(c, -1e-2), 1);
    EXPECT_EQ(countWith(c, std::numeric_limits<double>::quiet_NaN()), 1);
  }
  Collective half = ofSize(CollectiveKind::AllReduce, ElementType::BF16, Reduction::Sum);
  EXPECT_EQ(countWith(half, 1e-2), 0);
  EXPECT_EQ(countWith(half, 1), 1);
}

TEST(NcclPeer, EverythingElseIsExact) {
  EXPECT_EQ(countWith(ofSize(CollectiveKind::AllReduce, ElementType::F32, Reduction::Maximum), 1e-6), 1);
  EXPECT_EQ(countWith(ofSize(CollectiveKind::AllGather, ElementType::F32, Reduction::Sum), 1e-6), 1);
  EXPECT_EQ(countWith(ofSize(CollectiveKind::AllReduce, ElementType::I32, Reduction::Sum), 1), 1);
}

TEST(NcclPeer, CountsOfParts) {
  Collective c = ofSize(CollectiveKind::ReduceScatter, ElementType::F32, Reduction::Minimum);
  NcclCollective call = ncclCollective(c);
  EXPECT_EQ(call.kind, NcclCollective::Kind::ReduceScatter);
  EXPECT_EQ(call.reduction, NcclCollective::Reduction::Minimum);
  EXPECT_EQ(call.partElements, 16);
  EXPECT_TRUE(hasNcclCalls(c, true));
  c.kind = CollectiveKind::AllToAll;
  EXPECT_TRUE(hasNcclCalls(c, false));
  EXPECT_FALSE(hasNcclCalls(c, true));
}

TEST(NcclPeer, WhatItCannotDoIsRefused) {
  BenchmarkRequest request;
  request.peer = "nccl";
  EXPECT_CONTAINS(messageOf([&] { checkPeer(request); }), "the peer nccl runs on CUDA devices, not on `host`");
  request.driver = "cuda";
  EXPECT_NO_THROW(checkPeer(request));
  request.kind = CollectiveKind::Permute;
  EXPECT_CONTAINS(messageOf([&] { checkPeer(request); }), "the peer nccl is not compared for permute");
  request.kind = CollectiveKind::AllGather; // what is only moved may be of any type
  request.type = ElementType::I16;
  EXPECT_NO_THROW(checkPeer(request));
}

} // namespace
