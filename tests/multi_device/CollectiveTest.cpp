// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every algorithm, rank count, type and reduction against the plain reference.
#include "chips/Chip.h"
#include "collectives/Reference.h"
#include "tests/multi_device/CollectiveRunner.h"
#include <gtest/gtest.h>

using namespace heddle;
using heddle::testing::CollectiveRun;
using heddle::testing::openDevices;

namespace {

std::vector<int> firstOrdinals(int ranks) {
  std::vector<int> ordinals;
  for (int rank = 0; rank < ranks; ++rank)
    ordinals.push_back(rank);
  return ordinals;
}

void expectRight(Communicator &communicator, const Collective &collective, const PlanOptions &options, uint64_t seed,
                 int calls = 2) {
  Plan plan = makePlan(collective, hostChip, options);
  for (int call = 0; call < calls; ++call) {
    auto inputs = reference::randomInputs(collective, seed + uint64_t(call), call == 1);
    auto expected = reference::runCollective(collective, inputs);
    CollectiveRun run(communicator, plan, inputs);
    const auto &outputs = run.run();
    for (int rank = 0; rank < collective.ranks; ++rank)
      EXPECT_EQ(reference::firstDifference(collective.type, outputs[size_t(rank)], expected[size_t(rank)]), "")
          << describe(plan.collective) << " by " << plan.algorithm->name << ", rank " << rank << ", call " << call;
  }
}

Collective make(CollectiveKind kind, int ranks, int64_t outer, int64_t inner, ElementType type = ElementType::F32) {
  Collective collective;
  collective.kind = kind, collective.ranks = ranks, collective.outer = outer, collective.inner = inner;
  collective.type = type;
  if (kind == CollectiveKind::Permute) // everybody to the next one, and nobody to rank 0
    for (int rank = 0; rank < ranks; ++rank)
      collective.sources.push_back(rank - 1);
  return collective;
}

TEST(Collectives, EveryAlgorithmAndRankCount) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    Communicator communicator(openDevices("host", firstOrdinals(ranks)));
    for (const Algorithm *algorithm : allAlgorithms())
      for (CollectiveKind kind : algorithm->kinds)
        expectRight(communicator, make(kind, ranks, 3, 37), {algorithm->name, 0, 0, 0}, uint64_t(ranks));
  }
}

} // namespace
