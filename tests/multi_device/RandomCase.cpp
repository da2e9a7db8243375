// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Chooses collective, group, sizes, plan and kind of call by the seed, without what is refused.
#include "tests/multi_device/RandomCase.h"
#include "chips/Chip.h"
#include "collectives/Reference.h"
#include "support/Error.h"
#include "tests/fuzz/Random.h"
#include "tests/multi_device/FirstEpoch.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <thread>

namespace heddle::testing {
namespace {

using fuzz::Random;

void shuffle(Random &random, std::vector<int> &list) {
  for (size_t i = list.size(); i > 1; --i)
    std::swap(list[i - 1], list[size_t(random.below(int64_t(i)))]);
}

std::vector<int> shuffledRange(Random &random, int count) {
  std::vector<int> list;
  for (int i = 0; i < count; ++i)
    list.push_back(i);
  shuffle(random, list);
  return list;
}

bool isRefused(const Collective &collective) {
  try {
    checkCollective(collective);
  } catch (const Error &) {
    return true;
  }
  return false;
}

/// What the kernel depends on.
void chooseKernel(Random &random, RandomCase &test) {
  Collective &c = test.collective;
  const Algorithm *algorithm = random.pick(allAlgorithms());
  c.kind = random.pick(algorithm->kinds);
  c.ranks = int(random.chance(4) ? 1 : random.chance(50) ? random.between(2, 4) : random.between(5, 8));
  if (c.kind == CollectiveKind::Permute) {
    c.sources = shuffledRange(random, c.ranks);
    for (int &source : c.sources)
      source = random.chance(15) ? -1 : source;
  }
  do {
    c.type = random.pick(allElementTypes());
    c.reduction = Reduction(random.below(6));
  } while (c.reduces() && isRefused(c));
  test.options.algorithm = algorithm->name;
  test.options.blocks = int(random.chance(50) ? 1 : random.between(2, 5));
  test.options.tileElements = int64_t(4) << random.below(random.chance(10) ? 9 : 6);
  test.options.tilesPerRound = random.between(1, 4);
  if (random.chance(25))
    test.options.packets = PacketForm::LL;
}

int64_t randomLength(Random &random, int64_t roundElements) {
  switch (random.below(6)) {
  case 0:
    return random.below(3);
  case 1:
    return random.between(1, 16);
  case 2:
    return roundElements + random.between(-2, 2);
  case 3:
    return random.below(roundElements + 1);
  default:
    return random.below(4 * roundElements);
  }
}

uint64_t randomEpoch(Random &random) {
  if (random.chance(50))
    return 1;
  const std::vector<uint64_t> wraps = {uint64_t(1) << 31, uint64_t(1) << 32, uint64_t(1) << 33, uint64_t(1) << 63};
  return random.pick(wraps) - uint64_t(random.below(8));
}

/// All the rest.
void chooseCalls(Random &random, RandomCase &test, bool rows) {
  Collective &c = test.collective;
  test.ordinals = shuffledRange(random, 12);
  test.ordinals.resize(size_t(c.ranks));
  int64_t round = test.options.blocks * test.options.tileElements * test.options.tilesPerRound;
  if (findAlgorithm(c.kind, test.options.algorithm).slices)
    round *= c.ranks;
  int64_t largest = std::max<int64_t>(64, 40000 / c.ranks);
  for (int64_t call = random.between(1, 4); call > 0; --call) {
    int64_t length = std::min(largest, randomLength(random, round));
    int64_t outer = rows ? random.between(2, 9) : 1;
    test.sizes.emplace_back(outer, (length + outer - 1) / outer);
  }
  test.firstEpoch = randomEpoch(random);
  test.placement.inputOffset = random.chance(50) ? random.below(9) : 0;
  test.placement.outputOffset = random.chance(50) ? random.below(9) : 0;
  test.placement.inPlace = !rows && random.chance(30);
  test.special = random.chance(40);
  test.threads = random.chance(30);
}

void launchAll(const RandomCase &test, CollectiveRun &run) {
  if (!test.threads) {
    Random random(test.seed);
    for (int rank : shuffledRange(random, test.collective.ranks))
      run.launch(rank);
    return;
  }
  std::vector<std::thread> threads;
  for (int rank = 0; rank < test.collective.ranks; ++rank)
    threads.emplace_back([&run, rank] { run.launch(rank); });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace

RandomCase randomCase(uint64_t seed) {
  RandomCase test;
  test.seed = seed;
  Random kernelRandom(seed / 8), random(seed + (uint64_t(1) << 62));
  chooseKernel(kernelRandom, test);
  chooseCalls(random, test, kernelRandom.chance(30));
  return test;
}

std::string describe(const RandomCase &test) {
  const Collective &c = test.collective;
  std::vector<std::string> sizes;
  for (auto [outer, inner] : test.sizes)
    sizes.push_back(fmt::format("[{}][{}]", outer, inner));
  return fmt::format(
      "seed {}: {} {} of {} parts {} on devices {}, sources {{{}}}, {}, {} blocks, {} tiles of {}, first "
      "epoch {}, offsets {} and {}{}{}{}{}",
      test.seed, collectiveName(c.kind), c.reduces() ? reductionName(c.reduction) : "copy", elementTypeName(c.type),
      fmt::join(sizes, " "), fmt::join(test.ordinals, ","), fmt::join(c.sources, ","), test.options.algorithm,
      test.options.blocks, test.options.tilesPerRound, test.options.tileElements, test.firstEpoch,
      test.placement.inputOffset, test.placement.outputOffset, test.placement.inPlace ? ", in place" : "",
      test.options.packets ? ", packets with flags" : "", test.special ? ", special values" : "",
      test.threads ? ", a thread for each rank" : "");
}

/// The case's devices, in their order, among those that there are.
std::vector<int> presentOrdinals(const RandomCase &test) {
  std::vector<int> sorted = test.ordinals, present;
  std::sort(sorted.begin(), sorted.end());
  int count = driverUnderTest().deviceCount();
  for (int ordinal : test.ordinals)
    present.push_back(sorted.back() < count ? ordinal
                                            : int(std::find(sorted.begin(), sorted.end(), ordinal) - sorted.begin()));
  return present;
}

std::string runCase(const RandomCase &test) {
  if (!hasDevices(test.collective.ranks))
    return "";
  try {
    GroupFromEpoch late(openDevices(presentOrdinals(test)), test.firstEpoch);
    Communicator &communicator = late.communicator;
    std::vector<std::unique_ptr<CollectiveRun>> runs;
    std::vector<std::vector<std::string>> expected;
    Collective collective = test.collective;
    for (auto [outer, inner] : test.sizes) {
      collective.outer = outer, collective.inner = inner;
      auto inputs = reference::randomInputs(collective, test.seed * 8 + runs.size(), test.special);
      expected.push_back(reference::runCollective(collective, inputs));
      runs.push_back(std::make_unique<CollectiveRun>(communicator, makePlan(collective, chipUnderTest(), test.options),
                                                     inputs, test.placement));
    }
    for (const auto &run : runs)
      launchAll(test, *run);
    communicator.synchronize();
    for (size_t call = 0; call < runs.size(); ++call) {
      for (int rank = 0; rank < collective.ranks; ++rank)
        if (std::string difference = reference::firstDifference(collective.type, runs[call]->outputs[size_t(rank)],
                                                                expected[call][size_t(rank)]);
            !difference.empty())
          return fmt::format("call {}, rank {}: {}", call, rank, difference);
      if (std::string damage = runs[call]->damage(); !damage.empty())
        return fmt::format("call {}, {}", call, damage);
    }
  } catch (const Error &error) {
    return fmt::format("error: {} ({})", error.what(), fmt::join(error.notes, "; "));
  }
  return "";
}

} // namespace heddle::testing
