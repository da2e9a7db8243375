// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which kinds of memory collectives ask the HIP runtime for: the fake one keeps a list.
#include "tests/fake_hip/HipTestSupport.h"
#include "tests/multi_device/Cases.h"

using namespace heddle;
using namespace heddle::testing;

namespace {

class HipMemory : public HipTest {
protected:
  HipMemory() : group({driver.open(0), driver.open(1)}) {}

  Communicator group;
};

constexpr unsigned data = 0, uncached = 3; // hipMalloc, hipDeviceMallocUncached

TEST_F(HipMemory, OfFlagsAndPacketsIsUncachedAndThatOfDataIsNot) {
  using Kinds = std::vector<unsigned>;
  EXPECT_EQ(fake.kinds, (Kinds{uncached, uncached})) << "abort words and error records";
  auto kindsOf = [&](const char *algorithm) {
    fake.kinds.clear();
    Collective collective = makeCollective(CollectiveKind::AllReduce, 2, 1, 500);
    CheckedRun run(group, makePlan(collective, gfx942Chip, {algorithm, 1, 64, 2}), 2);
    Kinds protocol(fake.kinds.begin(), fake.kinds.end() - 4); // the test's own arrays
    run.run();
    run.expectRight();
    return protocol;
  };
  // Of each rank: the arena, staging memory where there is any, the records of the group.
  EXPECT_EQ(kindsOf("two_shot_pull"), (Kinds{uncached, uncached, data, data, data, data}));
  EXPECT_EQ(kindsOf("two_shot_packets"), (Kinds{uncached, uncached, data, data}));
  EXPECT_EQ(kindsOf("two_shot_direct"), (Kinds{uncached, uncached, data, data}));
}

TEST_F(HipMemory, ThatIsNotThereIsNamed) {
  for (auto [code, message] :
       {std::pair(2, "hip:0: out of memory: buffer `collective arena of rank 0` asks for "),
        std::pair(1, " bytes of uncached memory for buffer `collective arena of rank 0`: hipExtMallocWithFlags: ")}) {
    fake.failures = {{"hipExtMallocWithFlags", {1, code}}};
    Plan plan = makePlan(makeCollective(CollectiveKind::AllReduce, 2, 1, 500), gfx942Chip, {"one_shot_pull", 1, 64, 2});
    std::string text = errorOf(ErrorClass::Environment, [&] { group.prepare(plan); });
    expectContains(text, message);
    expectContains(text, " bytes of uncached memory");
  }
}

} // namespace
