// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the tests of collectives share: making one, running it, and comparing every rank with the plain reference.
#pragma once
#include "chips/Chip.h"
#include "collectives/Reference.h"
#include "support/Error.h"
#include "tests/multi_device/CollectiveRunner.h"
#include <functional>
#include <gtest/gtest.h>

namespace heddle::testing {

inline Collective makeCollective(CollectiveKind kind, int ranks, int64_t outer, int64_t inner,
                                 ElementType type = ElementType::F32, Reduction reduction = Reduction::Sum) {
  Collective collective;
  collective.kind = kind, collective.type = type, collective.reduction = reduction;
  collective.ranks = ranks, collective.outer = outer, collective.inner = inner;
  if (kind == CollectiveKind::Permute) // each rank to the next one, and none to rank 0
    for (int rank = 0; rank < ranks; ++rank)
      collective.sources.push_back(rank - 1);
  return collective;
}

inline std::vector<int> firstOrdinals(int ranks) {
  std::vector<int> ordinals;
  for (int rank = 0; rank < ranks; ++rank)
    ordinals.push_back(rank);
  return ordinals;
}

/// Leaves a test for which there are too few devices.
#define HEDDLE_WANTS_DEVICES(count)                                                                                    \
  if (!hasDevices(count))                                                                                              \
  GTEST_SKIP() << "there are " << driverUnderTest().deviceCount() << " devices, wanted " << (count)

/// Leaves a test of how long things take, or of kernels that run while the test goes on: those of threads devices run
/// when they are waited for, and their clock is one of their own. So are those that a fake libamdhip64 gives.
#define HEDDLE_WANTS_REAL_TIME()                                                                                       \
  if (runWhenWaitedFor())                                                                                              \
  GTEST_SKIP() << testDriver() << " devices have no real time: they run while somebody waits for them"

/// A run with its inputs and what the reference makes of them.
class CheckedRun : public CollectiveRun {
public:
  CheckedRun(Communicator &communicator, const Plan &plan, uint64_t seed, const Placement &placement = {})
      : CheckedRun(communicator, plan, reference::randomInputs(plan.collective, seed, seed % 2 == 1), placement) {}
  CheckedRun(Communicator &communicator, const Plan &plan, const std::vector<std::string> &inputs,
             const Placement &placement)
      : CollectiveRun(communicator, plan, inputs, placement), plan(plan),
        expected(reference::runCollective(plan.collective, inputs)) {}

  /// After synchronize.
  void expectRight() const {
    for (size_t rank = 0; rank < outputs.size(); ++rank)
      EXPECT_EQ(reference::firstDifference(plan.collective.type, outputs[rank], expected[rank]), "")
          << describe(plan.collective) << " by " << plan.algorithm->name << ", rank " << rank;
    EXPECT_EQ(damage(), "") << describe(plan.collective) << " by " << plan.algorithm->name;
  }

private:
  Plan plan;
  std::vector<std::string> expected;
};

/// `calls` calls one after the other; every second one has special values.
inline void expectRight(Communicator &communicator, const Collective &collective, const PlanOptions &options,
                        uint64_t seed, int calls = 2, const Placement &placement = {}) {
  Plan plan = makePlan(collective, chipUnderTest(), options);
  for (int call = 0; call < calls; ++call) {
    CheckedRun run(communicator, plan, 2 * seed + uint64_t(call), placement);
    run.run();
    run.expectRight();
  }
}

/// The error that `action` throws, its notes below its message.
inline std::string errorOf(ErrorClass kind, const std::function<void()> &action) {
  try {
    action();
  } catch (const Error &error) {
    EXPECT_EQ(int(error.kind), int(kind)) << error.what();
    std::string text = error.what();
    for (const std::string &note : error.notes)
      text += "\n" + note;
    return text;
  }
  return "no error";
}

inline void expectContains(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no `" << part << "` in:\n" << text;
}

} // namespace heddle::testing
