// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For the HIP driver's tests: the fake libamdhip64, and kernels of code objects that the build made.
#pragma once
#include "runtime/drivers/hip/HipDriver.h"
#include "runtime/drivers/simulated/SimulatedTestSupport.h"
#include "tests/fake_gpu/GpuTestSupport.h"
#include "tests/fake_hip/FakeHip.h"

namespace heddle {

inline FakeHip &fakeHip() {
  return fakeOf<FakeHip>("test/libamdhip64.so", "fakeHip");
}

class HipTest : public GpuTest {
protected:
  FakeHip &fake = fakeHip();
};

inline Package hipPackage(const std::string &kernel, int64_t threads = 64, const std::string &chip = "gfx942") {
  return simulatedPackage("kernels", kernel, chip, threads);
}

} // namespace heddle
