// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches that share a device: what one does wrong is not said of the other, whoever makes it happen.
#include "tests/simulator/kernels/SimulatedKernel.h"
#include <gtest/gtest.h>

namespace heddle::simulator {
namespace {

TEST(SideBySide, AFaultIsThatOfItsLaunch) {
  AmdCodeObject object = parseAmdCodeObject(readObject("kernels-gfx942-O3.hsaco"), "kernels");
  const AmdKernel &kernel = object.kernel("vector_add");
  for (uint64_t seed = 0; seed < 64; ++seed) {
    Simulator simulator("gfx942");
    LoadedObject &loaded = simulator.load(object);
    uint64_t good = simulator.allocate(4096, "good"), nowhere = 256;
    SimulationOptions options;
    options.policy = Policy::Random;
    options.schedule = Schedule::Random;
    options.seed = seed;
    auto prepare = [&](uint64_t out) {
      std::string arguments(kernel.kernargBytes, '\0');
      uint64_t pointers[] = {good, good, out};
      int n = 1024;
      std::memcpy(arguments.data(), pointers, sizeof pointers);
      std::memcpy(arguments.data() + sizeof pointers, &n, sizeof n);
      return simulator.prepare(loaded, kernel, {.groups = {4}, .items = {256}}, arguments, 0, options);
    };
    std::unique_ptr<KernelRun> runs[] = {prepare(good), prepare(nowhere), prepare(good)};
    simulator.run(runs, options);
    for (int i : {0, 2})
      EXPECT_FALSE(runs[i]->error) << "launch " << i << ", seed " << seed;
    ASSERT_TRUE(runs[1]->error) << "seed " << seed;
    EXPECT_EQ(std::string(runs[1]->error->what()).find("kernel `vector_add`: writes 4 bytes at 0x"), 0u);
  }
}

} // namespace
} // namespace heddle::simulator
