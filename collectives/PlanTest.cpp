// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans for chips that are in no table: by their fields, whatever their names.
#include "collectives/Plan.h"
#include "collectives/Algorithm.h"
#include <gtest/gtest.h>
#include <map>
#include <string>

using namespace heddle;

namespace {

Chip renamed(const Chip &from) {
  Chip chip = from;
  chip.name = "half-" + from.name;
  chip.computeUnits = from.computeUnits / 2;
  return chip;
}

/// Of a switch of which nothing was measured.
Chip onSwitch(int64_t bytesPerSecond) {
  Chip chip = renamed(gfx942Chip);
  chip.links = {.perPair = 0, .bytesPerSecond = bytesPerSecond, .usableBytesPerSecond = bytesPerSecond};
  return chip;
}

/// Of plain buffers of bf16.
Plan allReduce(const Chip &chip, int ranks, int64_t elements, int computeUnits = 0) {
  Collective collective;
  collective.kind = CollectiveKind::AllReduce;
  collective.ranks = ranks, collective.inner = elements, collective.type = ElementType::BF16;
  PlanOptions options;
  options.direct = true, options.computeUnits = computeUnits;
  return makePlan(collective, chip, options);
}

/// What kernels in bundles rely on: they are found by kernelKey alone.
TEST(PlanKeys, OneKernelExpectsOneLayout) {
  size_t shared = 0;
  for (const Chip *chip : {&hostChip, &gfx942Chip, &sm90Chip})
    for (int ranks : {2, 3, 8}) {
      std::map<std::string, std::string> layouts;
      for (int64_t elements = 1; elements < (int64_t(1) << 24); elements = elements * 5 / 4 + 1) {
        Plan plan = allReduce(*chip, ranks, elements);
        auto [known, isNew] = layouts.emplace(kernelKey(plan), layoutKey(plan));
        shared += !isNew;
        EXPECT_EQ(known->second, layoutKey(plan)) << kernelKey(plan);
      }
    }
  EXPECT_GT(shared, 50u);
}

TEST(PlanOfAChip, AnotherNameMakesNoOtherPlan) {
  for (const Chip *known : {&gfx942Chip, &gfx950Chip, &sm90Chip})
    for (int ranks : {2, 4, 8})
      for (int64_t elements = 64; elements < (int64_t(1) << 28); elements *= 16) {
        Chip chip = renamed(*known);
        Plan made = allReduce(chip, ranks, elements), usual = allReduce(*known, ranks, elements);
        EXPECT_EQ(made.target, chip.name);
        EXPECT_EQ(made.computeUnits, known->computeUnits / 2);
        EXPECT_EQ(made.algorithm, usual.algorithm) << known->name << ", " << ranks << " ranks, " << elements;
        EXPECT_EQ(made.blocks, usual.blocks);
        EXPECT_EQ(made.tileElements, usual.tileElements);
        EXPECT_EQ(made.arena.sizeBytes, usual.arena.sizeBytes);
      }
}

TEST(PlanOfAChip, BlocksFitTheUnits) {
  Chip chip = renamed(gfx942Chip);
  EXPECT_LE(allReduce(chip, 8, 1 << 26, 24).blocks, 24);
  EXPECT_GT(allReduce(chip, 8, 1 << 26).blocks, 24);
  chip.unit.registers *= 4; // two blocks of 512 threads for each unit
  EXPECT_GT(allReduce(chip, 8, 1 << 26, 24).blocks, 24);
}

/// The largest all-reduce of eight ranks, by powers of two, that is one shot.
int64_t lastOneShot(const Chip &chip) {
  int64_t elements = 64;
  while (elements < (int64_t(1) << 30) && !allReduce(chip, 8, elements).algorithm->slices)
    elements *= 2;
  return elements / 2;
}

// What the H200's table would say is the same for both.
// As many threads where warps can take the place of blocks; the same form of packets.
TEST(PlanOfAChip, LeavesUnitsToOtherKernels) {
  for (int ranks : {2, 4, 8})
    for (int64_t elements = 64; elements <= (int64_t(4) << 20); elements *= 2) {
      Collective collective;
      collective.ranks = ranks, collective.inner = elements, collective.type = ElementType::BF16;
      PlanOptions options;
      options.computeUnits = 132;
      Plan usual = makePlan(collective, sm90Chip, options);
      Plan beside = makePlanBeside(32, collective, sm90Chip, options);
      EXPECT_LE(beside.blocks, 100);
      EXPECT_EQ(beside.algorithm, usual.algorithm);
      EXPECT_EQ(beside.packets, usual.packets);
      EXPECT_EQ(beside.rounds == 1, usual.rounds == 1);
      EXPECT_GE(beside.blocks * beside.warps * 4, usual.blocks * usual.warps * 3) << elements;
      EXPECT_EQ(planKey(makePlanBeside(0, collective, sm90Chip, options)), planKey(usual));
      options.computeUnits = 4;
      EXPECT_LE(makePlanBeside(32, collective, sm90Chip, options).blocks, 2);
    }
}

TEST(PlanOfAChip, WithoutMeasurementsFollowsItsLinks) {
  Chip slow = onSwitch(20'000'000'000), fast = onSwitch(2'000'000'000'000);
  EXPECT_LT(lastOneShot(slow), lastOneShot(fast));
  EXPECT_TRUE(allReduce(slow, 8, 1 << 28).algorithm->slices);
  EXPECT_EQ(allReduce(slow, 8, 64).algorithm->barriers, 0);
}

TEST(PlanOfAChip, UnknownLinksAreTakenForSlowOnes) {
  Chip chip = onSwitch(0);
  EXPECT_EQ(lastOneShot(chip), lastOneShot(onSwitch(25'000'000'000)));
  EXPECT_FALSE(takesRowsWell(chip, 8));
  EXPECT_TRUE(takesRowsWell(chip, 2));
  EXPECT_TRUE(takesRowsWell(gfx942Chip, 8));
  EXPECT_FALSE(takesRowsWell(renamed(sm90Chip), 4));
}

} // namespace
