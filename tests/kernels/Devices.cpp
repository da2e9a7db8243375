// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The devices on which kernels_test runs library kernels, beside those of the runtime: simulated ones, and the
// interpreter of sm_90's code.
#include "runtime/drivers/simulated/SimulatedDriver.h"
#include "tests/threads_driver/ThreadsDriver.h"
#include <gtest/gtest.h>

namespace {

struct Devices : testing::Environment {
  void SetUp() override {
    heddle::addSimulatedDrivers();
    heddle::threads::useThreadsDriver();
  }
};

const testing::Environment *devices = testing::AddGlobalTestEnvironment(new Devices);

} // namespace
