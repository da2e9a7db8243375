// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All-reduces with flags, ranks being workgroups of one device.
#include "tests/reference/SoftFloat.h"
#include "tests/simulator/applications/Application.h"

namespace heddle::simulator {
namespace {

using reference::formatBF16;

class AllReduce : public Application {
protected:
  void reduce(const std::string &name, uint32_t world, uint32_t count, uint32_t blocks) {
    SimulatedObject &kernels = load("all_reduce");
    kernels.options.residentGroups = world * blocks; // all at once: they wait for each other
    std::vector<uint64_t> table, inputs, results;
    for (uint32_t rank = 0; rank < world; ++rank) {
      table.push_back(kernels.buffer(std::vector<uint16_t>(2 * count), "staging"));
      results.push_back(kernels.buffer(std::vector<uint16_t>(count), "result"));
      table.push_back(results.back());
      table.push_back(kernels.buffer(std::vector<uint32_t>(2 * blocks * world), "flags"));
      inputs.push_back(kernels.buffer(std::vector<uint16_t>(count), "input"));
    }
    uint64_t tableAt = kernels.buffer(table), inputsAt = kernels.buffer(inputs),
             statuses = kernels.buffer(std::vector<uint32_t>(world * blocks));
    for (uint32_t epoch = 1; epoch <= 3; ++epoch) {
      std::vector<uint16_t> expected = fill(kernels, inputs, count);
      kernels.run(name, {.groups = {world, blocks}, .items = {256}}, tableAt, inputsAt, statuses, 0u, world, count,
                  epoch, blocks);
      ASSERT_EQ(kernels.read<uint32_t>(statuses), std::vector<uint32_t>(world * blocks)) << "somebody did not come";
      for (uint32_t rank = 0; rank < world; ++rank)
        ASSERT_EQ(kernels.read<uint16_t>(results[rank]), expected) << "rank " << rank << ", epoch " << epoch;
    }
  }

private:
  /// New inputs; their sums in the order of ranks, in f32, rounded once.
  std::vector<uint16_t> fill(SimulatedObject &kernels, const std::vector<uint64_t> &inputs, uint32_t count) {
    std::vector<float> sums(count);
    for (uint64_t input : inputs) {
      std::vector<uint16_t> codes;
      for (float value : floats(count, -2, 2))
        codes.push_back(uint16_t(encode(formatBF16, value)));
      std::memcpy(kernels.simulator.bytes(input).data(), codes.data(), codes.size() * 2);
      for (uint32_t i = 0; i < count; ++i)
        sums[i] += float(decode(formatBF16, codes[i]));
    }
    std::vector<uint16_t> expected;
    for (float sum : sums)
      expected.push_back(uint16_t(encode(formatBF16, sum)));
    return expected;
  }
};
EVERYWHERE(AllReduce);

TEST_P(AllReduce, OneShot) {
  reduce("one_shot", 8, 1000, 2);
  reduce("one_shot", 3, 77, 1);
  reduce("one_shot", 1, 5, 1);
}

TEST_P(AllReduce, TwoShot) {
  reduce("two_shot", 8, 1600, 2);
  reduce("two_shot", 2, 4, 1);
}

TEST_P(AllReduce, SomebodyDoesNotCome) {
  SimulatedObject &kernels = load("all_reduce");
  uint64_t space = kernels.buffer(std::vector<uint16_t>(64)), flags = kernels.buffer(std::vector<uint32_t>(8)),
           statuses = kernels.buffer(std::vector<uint32_t>(2)), others = kernels.buffer(std::vector<uint32_t>(8));
  uint64_t table = kernels.buffer(std::vector<uint64_t>{space, space, flags, space, space, others}),
           inputs = kernels.buffer(std::vector<uint64_t>{space, space});
  kernels.run("one_shot", {.items = {256}}, table, inputs, statuses, 0u, 2u, 8u, 1u, 1u); // rank 0 of two, alone
  EXPECT_EQ(kernels.read<uint32_t>(statuses), (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(kernels.read<uint32_t>(others)[0], 1u) << "its own flag is at the other rank";
}

} // namespace
} // namespace heddle::simulator
