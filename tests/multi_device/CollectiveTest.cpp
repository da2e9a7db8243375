// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every algorithm, rank count, type and reduction against the plain reference.
#include "tests/multi_device/Cases.h"
#include "tests/multi_device/CollectiveRunner.h"
#include "tests/multi_device/FirstEpoch.h"
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

using namespace heddle;
using namespace heddle::testing;

namespace {

/// Of none, one and several peers, with one to exchange with and without: 4 is in other tests, 6 and 7 are in the
/// campaign (RandomCase.cpp), and at length all are here.
std::vector<int> rankCounts() {
  std::vector<int> counts = isLong() ? std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8} : std::vector<int>{1, 2, 3, 5, 8};
  std::erase_if(counts, [](int count) { return count > driverUnderTest().deviceCount(); });
  return counts;
}

TEST(Collectives, EveryAlgorithmAndRankCount) {
  for (int ranks : rankCounts()) {
    Communicator communicator(openDevices(firstOrdinals(ranks)));
    for (const Algorithm *algorithm : allAlgorithms())
      for (CollectiveKind kind : algorithm->kinds)
        expectRight(communicator, makeCollective(kind, ranks, 3, 37), {algorithm->name, 0, 0, 0}, uint64_t(ranks));
  }
}

// By packets with flags, as there are several rounds: they take the elements apart into words. Every pair on the host,
// which has one definition of the arithmetic with the other targets; on those each type and each reduction.
TEST(Collectives, EveryTypeAndReduction) {
  HEDDLE_WANTS_DEVICES(3);
  Communicator communicator(openDevices({0, 1, 2}));
  for (ElementType type : allElementTypes())
    for (int number = 0; number < 6; ++number) {
      Reduction reduction = Reduction(number);
      bool isBitwise = reduction == Reduction::And || reduction == Reduction::Or;
      bool isSum = reduction == Reduction::Sum || reduction == Reduction::Product;
      bool isChosen = isLong() || driverName() == "host" || (number + int(type)) % 3 == 0;
      if (!isChosen || (isFloat(type) && isBitwise) || (type == ElementType::I1 && isSum))
        continue;
      expectRight(communicator, makeCollective(CollectiveKind::AllReduce, 3, 1, 61, type, reduction),
                  {"one_shot_packets", 1, 16, 1}, uint64_t(number));
    }
}

constexpr const char *foldingPackets[] = {"one_shot_packets", "two_shot_packets", "scatter_packets"};
constexpr const char *allPackets[] = {"one_shot_packets", "two_shot_packets", "scatter_packets", "gather_packets",
                                      "exchange_packets"};

Collective collectiveBy(const std::string &name, int ranks, int64_t inner, ElementType type) {
  for (const Algorithm *algorithm : allAlgorithms())
    if (algorithm->name == name)
      return makeCollective(algorithm->kinds[0], ranks, 1, inner, type);
  throw internalError("no algorithm " + name);
}

/// A tile has a word for each lane of four warps, on any chip, and a round has room for `tiles` of each block.
PlanOptions lamport(const char *algorithm, ElementType type, int64_t tiles) {
  PlanOptions options = {algorithm, 1, 4 * 64 * 8 / elementSizeBytes(type), tiles, 4};
  options.packets = PacketForm::Lamport;
  return options;
}

// Each slot is written, read and cleared twice, by several tiles.
TEST(Collectives, PacketsOfLamportsForm) {
  const std::vector<ElementType> types = {ElementType::F32, ElementType::I16, ElementType::BF16, ElementType::F64};
  size_t number = 0;
  for (int ranks : {1, 2, 3, 4, 8}) {
    if (ranks > driverUnderTest().deviceCount())
      break;
    Communicator communicator(openDevices(firstOrdinals(ranks)));
    for (const char *algorithm : allPackets) {
      ElementType type = types[number++ % types.size()];
      for (int64_t inner : {1, 1300})
        expectRight(communicator, collectiveBy(algorithm, ranks, inner, type), lamport(algorithm, type, 8),
                    uint64_t(inner), 4);
    }
  }
}

TEST(Collectives, PacketsOfLamportsFormOfEveryFloat) {
  HEDDLE_WANTS_DEVICES(3);
  Communicator communicator(openDevices({0, 1, 2}));
  for (ElementType type : {ElementType::F64, ElementType::F32, ElementType::F16, ElementType::BF16,
                           ElementType::F8E4M3FN, ElementType::F8E5M2})
    for (Reduction reduction : {Reduction::Sum, Reduction::Minimum})
      expectRight(communicator, makeCollective(CollectiveKind::AllReduce, 3, 1, 61, type, reduction),
                  lamport("one_shot_packets", type, 1), 6);
}

/// Words for each rank, every second of which packets have another use for: two calls later, in the same inbox, it is
/// the other one of the two. Where they are folded all ranks but the first have zeros, so that sums are such words too.
std::vector<std::string> wordsForPackets(const Collective &collective, uint64_t call) {
  std::vector<std::string> inputs(size_t(collective.ranks));
  for (size_t rank = 0; rank < inputs.size(); ++rank) {
    inputs[rank].resize(size_t(collective.inputElements() * elementSizeBytes(collective.type)));
    if (collective.reduces() && rank > 0)
      continue;
    for (size_t at = 0; at < inputs[rank].size(); at += 8) {
      uint64_t number = at / 8 + rank, special = (number / 2 + call / 2) % 2 ? missingWord : escapedWord;
      uint64_t word = number % 2 ? special : (number + call) * 0x0123456789ABCDEF;
      std::memcpy(inputs[rank].data() + at, &word, std::min<size_t>(8, inputs[rank].size() - at));
    }
  }
  return inputs;
}

// Copies and integers keep every bit. Every second call has the same inbox.
TEST(Collectives, WordsThatPacketsUseArriveAsTheyAre) {
  HEDDLE_WANTS_DEVICES(2);
  int ranks = std::min(3, driverUnderTest().deviceCount());
  for (auto [algorithm, type] : std::vector<std::pair<const char *, ElementType>>{
           {"one_shot_packets", ElementType::I32},
           {"two_shot_packets", ElementType::I64},
           {"two_shot_packets", ElementType::F8E4M3FNUZ}, // a float in which a word of ones is numbers
           {"scatter_packets", ElementType::I8},
           {"gather_packets", ElementType::BF16},
           {"exchange_packets", ElementType::F8E5M2}}) {
    Communicator communicator(openDevices(firstOrdinals(ranks)));
    Collective collective = collectiveBy(algorithm, ranks, 3000, type);
    Plan plan = makePlan(collective, chipUnderTest(), lamport(algorithm, type, 8));
    EXPECT_TRUE(plan.hasEscapes());
    for (uint64_t call = 0; call < 6; ++call) {
      std::vector<std::string> inputs = wordsForPackets(collective, call);
      std::vector<std::string> expected = reference::runCollective(collective, inputs);
      for (uint64_t word : {missingWord, escapedWord})
        ASSERT_NE(expected[0].find(std::string(reinterpret_cast<const char *>(&word), 8)), std::string::npos);
      CollectiveRun run(communicator, plan, inputs);
      EXPECT_TRUE(run.run() == expected) << algorithm << ", call " << call;
    }
  }
}

// What a word that has not come is made of may be data.
TEST(Collectives, NaNsOfAllOnesArriveAsNaNs) {
  HEDDLE_WANTS_DEVICES(3);
  for (const char *algorithm : foldingPackets)
    for (ElementType type : {ElementType::F64, ElementType::F32, ElementType::F16, ElementType::BF16,
                             ElementType::F8E4M3FN, ElementType::F8E5M2}) {
      Communicator communicator(openDevices({0, 1, 2}));
      Collective collective = collectiveBy(algorithm, 3, 100, type);
      std::string zeros(size_t(collective.inputElements() * elementSizeBytes(type)), '\0'), ones(zeros.size(), '\xff');
      CollectiveRun run(communicator, makePlan(collective, chipUnderTest(), lamport(algorithm, type, 1)),
                        {zeros, ones, zeros});
      std::vector<std::string> outputs = run.run();
      for (const std::string &output : outputs) {
        EXPECT_EQ(output, outputs[0]);
        for (size_t i = 0; i < output.size(); i += size_t(elementSizeBytes(type)))
          ASSERT_TRUE(std::isnan(loadDouble(type, output.data() + i))) << elementTypeName(type) << " by " << algorithm;
      }
    }
}

TEST(Collectives, OfNoElementOneAndAFewMore) {
  HEDDLE_WANTS_DEVICES(3);
  for (const Algorithm *algorithm : allAlgorithms()) {
    Communicator communicator(openDevices({0, 1, 2}));
    for (int64_t inner : {0, 1, 2, 3, 7, 8, 9, 47, 48, 49, 400})
      expectRight(communicator, makeCollective(algorithm->kinds[0], 3, 1, inner, ElementType::I16),
                  {algorithm->name, 3, 8, 2}, uint64_t(inner));
  }
}

TEST(Collectives, OfArraysAtOddPlaces) {
  HEDDLE_WANTS_DEVICES(2);
  Communicator communicator(openDevices({0, 1}));
  for (const Algorithm *algorithm : allAlgorithms())
    if (algorithm->direct || algorithm == &oneShotPackets || algorithm == &twoShotPull)
      for (ElementType type : {ElementType::UI8, ElementType::F16, ElementType::F64})
        for (int64_t offset : {1, 3})
          expectRight(communicator, makeCollective(algorithm->kinds[0], 2, 1, 77, type), {algorithm->name, 2, 16, 1},
                      uint64_t(offset), 2, {offset, 4 - offset, false});
}

TEST(Collectives, InPlace) {
  HEDDLE_WANTS_DEVICES(4);
  using K = CollectiveKind;
  Communicator communicator(openDevices({0, 1, 2, 3}));
  for (K kind : {K::AllReduce, K::AllGather, K::ReduceScatter, K::AllToAll, K::Broadcast})
    for (const Algorithm *algorithm : allAlgorithms())
      if (algorithm->does(kind))
        for (int64_t inner : {5, 64, driverName() == "threads" && !isLong() ? 141 : 333})
          expectRight(communicator, makeCollective(kind, 4, 1, inner), {algorithm->name, 2, 16, 2}, 6, 2,
                      {inner % 3, 0, true});
}

// Of even and odd numbers of ranks: who swaps with whom in an exchange depends on it.
TEST(Collectives, DirectOnesInPlace) {
  for (int ranks : rankCounts()) {
    Communicator communicator(openDevices(firstOrdinals(ranks)));
    for (const Algorithm *algorithm : allAlgorithms())
      if (algorithm->direct)
        for (int64_t inner : {1, 100, 1024})
          expectRight(communicator, makeCollective(algorithm->kinds[0], ranks, 1, inner, ElementType::I32),
                      {algorithm->name, 2, 16, 3}, uint64_t(ranks), 2, {0, 0, true});
  }
}

TEST(Collectives, WhatTheOptionsSayIsDone) {
  HEDDLE_WANTS_DEVICES(2);
  Communicator communicator(openDevices({0, 1}));
  int most = communicator.computeUnits() ? communicator.computeUnits() : maxCollectiveBlocks;
  for (int blocks : {1, 7, std::min(most, maxCollectiveBlocks)})
    for (int64_t tilesPerRound : {1, 5})
      for (const char *algorithm : {"one_shot_pull", "two_shot_packets"})
        expectRight(communicator, makeCollective(CollectiveKind::AllReduce, 2, 1, 3001),
                    {algorithm, blocks, 4, tilesPerRound}, uint64_t(blocks));
}

// The counters of epochs at the ends of 32 and 63 bits, where comparisons, flags and parities could go wrong.
TEST(Collectives, AcrossTheWrapOfTheEpochs) {
  HEDDLE_WANTS_DEVICES(3);
  uint64_t bit32 = uint64_t(1) << 32, bit63 = uint64_t(1) << 63;
  for (uint64_t firstEpoch : {bit32 - 9, bit32 - 2, bit32 - 1, 2 * bit32 - 6, bit63 - 5, bit63 - 2}) {
    GroupFromEpoch late(openDevices({0, 1, 2}), firstEpoch);
    Communicator &communicator = late.communicator;
    for (const char *algorithm :
         {"one_shot_packets", "one_shot_pull", "two_shot_packets", "two_shot_pull", "two_shot_direct", "two_shot_push"})
      for (int64_t tile : {4, 1024}) // packets of both forms
        expectRight(communicator, makeCollective(CollectiveKind::AllReduce, 3, 1, 50), {algorithm, 1, tile, 1}, 3, 4);
  }
}

/// Of three ranks, one of which launches all before the next one launches any.
void expectAllRight(Communicator &communicator, const std::vector<std::unique_ptr<CheckedRun>> &runs) {
  for (int rank : {1, 2, 0})
    for (const auto &run : runs)
      run->launch(rank);
  communicator.synchronize();
  for (const auto &run : runs)
    run->expectRight();
}

TEST(Collectives, OneKernelServesAllSizes) {
  HEDDLE_WANTS_DEVICES(3);
  Communicator communicator(openDevices({0, 1, 2}));
  for (const char *algorithm : {"gather_packets", "gather_push"}) {
    std::vector<std::unique_ptr<CheckedRun>> runs;
    for (int64_t inner : {1, 300, 0, 17, 64, 2, 500, 33}) {
      Plan plan =
          makePlan(makeCollective(CollectiveKind::AllGather, 3, 1, inner), chipUnderTest(), {algorithm, 2, 8, 2});
      runs.push_back(std::make_unique<CheckedRun>(communicator, plan, uint64_t(inner)));
    }
    expectAllRight(communicator, runs);
  }
}

// Slots without flags wait for whichever call comes next.
TEST(Collectives, OneInboxServesAllSizes) {
  HEDDLE_WANTS_DEVICES(3);
  Communicator communicator(openDevices({0, 1, 2}));
  for (const char *algorithm : foldingPackets) {
    std::vector<std::unique_ptr<CheckedRun>> runs;
    std::string key;
    for (int64_t inner : {1, 1500, 17, 0, 2000, 2, 600, 1500}) {
      Plan plan = makePlan(collectiveBy(algorithm, 3, inner, ElementType::F32), chipUnderTest(),
                           lamport(algorithm, ElementType::F32, 4));
      key = key.empty() ? kernelKey(plan) : key;
      EXPECT_EQ(kernelKey(plan), key);
      runs.push_back(std::make_unique<CheckedRun>(communicator, plan, uint64_t(inner)));
    }
    expectAllRight(communicator, runs);
  }
}

/// A call and one whose input is what the first has made, one right after the other; the last rank comes late.
void expectChainRight(Communicator &communicator, const Plan &first, const Plan &second, uint64_t seed) {
  struct Arrays {
    Buffer input, between, output;
  };
  auto &makesInput = communicator.prepare(first), &tested = communicator.prepare(second);
  std::vector<std::string> inputs = reference::randomInputs(first.collective, seed, false);
  std::vector<Arrays> arrays;
  for (int rank = 0; rank < communicator.ranks(); ++rank) {
    Device &device = *communicator.device(rank);
    size_t bytes = inputs[size_t(rank)].size(), outputBytes = size_t(second.collective.outputElements()) * 4;
    arrays.push_back({device.allocate(bytes), device.allocate(bytes), device.allocate(outputBytes)});
    communicator.stream(rank).copyToDevice(arrays.back().input, inputs[size_t(rank)].data());
    communicator.stream(rank).fill(arrays.back().between, 0xA5);
  }
  communicator.synchronize();
  for (int rank = 0; rank < communicator.ranks(); ++rank) {
    const auto &[input, between, output] = arrays[size_t(rank)];
    if (rank + 1 == communicator.ranks() && !runWhenWaitedFor())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    communicator.launch(makesInput, rank, {DeviceAddress(input), DeviceAddress(between)});
    communicator.launch(tested, rank, {DeviceAddress(between), DeviceAddress(output)});
  }
  communicator.synchronize();
  auto expected = reference::runCollective(second.collective, reference::runCollective(first.collective, inputs));
  for (int rank = 0; rank < communicator.ranks(); ++rank) {
    std::string found(expected[size_t(rank)].size(), '\0');
    communicator.stream(rank).copyToHost(found.data(), arrays[size_t(rank)].output);
    communicator.synchronize();
    EXPECT_EQ(reference::firstDifference(ElementType::F32, found, expected[size_t(rank)]), "")
        << describe(second.collective) << " by " << second.algorithm->name << ", rank " << rank;
  }
}

// Parts that are whole accesses and end in a tile, one with an element more, and so few that the last slice has none.
TEST(Collectives, PartsThatEndInATile) {
  HEDDLE_WANTS_DEVICES(3);
  Communicator communicator(openDevices({0, 1, 2}));
  size_t number = 0;
  for (const Algorithm *algorithm : allAlgorithms()) {
    ElementType type = std::array{ElementType::UI8, ElementType::F16, ElementType::F64}[number++ % 3];
    int64_t access = std::max<int64_t>(1, 16 / elementSizeBytes(type)), tile = 32 * access;
    auto expect = [&](int64_t inner, int64_t offset) {
      expectRight(communicator, makeCollective(algorithm->kinds[0], 3, 1, inner, type), {algorithm->name, 2, tile, 2},
                  uint64_t(inner), 1, {offset, offset, false});
    };
    for (int64_t inner : {access, 5 * access + 1, 4 * tile + 7 * access})
      expect(inner, 0);
    expect(5 * access, 1);
  }
}

// On a GPU the second call may lie ready before the first, which waits for the rank that comes late, has written.
TEST(Collectives, AResultIsTheInputOfTheNextCall) {
  HEDDLE_WANTS_DEVICES(2);
  int ranks = std::min(3, driverUnderTest().deviceCount());
  for (const Algorithm *algorithm : allAlgorithms()) {
    Communicator communicator(openDevices(firstOrdinals(ranks)));
    Collective second = makeCollective(algorithm->kinds[0], ranks, 1, 300 * ranks);
    Collective first = makeCollective(CollectiveKind::AllToAll, ranks, 1, second.inputElements() / ranks);
    for (uint64_t call = 0; call < 2; ++call)
      expectChainRight(communicator, makePlan(first, chipUnderTest(), {"exchange_packets", 2, 0, 0}),
                       makePlan(second, chipUnderTest(), {algorithm->name, 2, 0, 0}), call);
  }
}

// By hand, since the reference has the same rule: an infinity among the operands stays one, a sum of finite ones that
// is too large becomes the largest value.
TEST(Collectives, InfinitiesOfTheNarrowestFloats) {
  HEDDLE_WANTS_DEVICES(2);
  struct Case {
    Reduction reduction;
    char first, second, result;
  };
  const char infinity = 0x7C, minusInfinity = char(0xFC), largest = 0x7B, zero = 0;
  for (const Case &test : {Case{Reduction::Maximum, infinity, zero, infinity},
                           {Reduction::Sum, infinity, zero, infinity},
                           {Reduction::Minimum, zero, minusInfinity, minusInfinity},
                           {Reduction::Sum, largest, largest, largest}}) {
    Communicator communicator(openDevices({0, 1}));
    Collective collective = makeCollective(CollectiveKind::AllReduce, 2, 1, 5, ElementType::F8E5M2, test.reduction);
    for (const char *algorithm : {"one_shot_packets", "one_shot_pull", "two_shot_pull"}) {
      CollectiveRun run(communicator, makePlan(collective, chipUnderTest(), {algorithm, 0, 0, 0}),
                        {std::string(5, test.first), std::string(5, test.second)});
      for (const std::string &output : run.run())
        EXPECT_EQ(output, std::string(5, test.result)) << algorithm;
    }
  }
}

} // namespace
