// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For the HIP driver's tests: a driver on the fake libamdhip64, reset, and kernels of code objects that the build made.
#pragma once
#include "binary/AmdPackage.h"
#include "runtime/Launch.h"
#include "runtime/Stream.h"
#include "runtime/drivers/hip/HipDriver.h"
#include "support/File.h"
#include "support/TestError.h"
#include "support/TestPaths.h"
#include "tests/fake_hip/FakeHip.h"
#include <dlfcn.h>

namespace heddle {

inline FakeHip &fakeHip() {
  static auto *fake = [] {
    void *library = ::dlopen(buildPath("test/libamdhip64.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<FakeHip *(*)()>(::dlsym(library, "fakeHip"))();
  }();
  return *fake;
}

/// A fresh fake, and a driver that uses it.
class HipTest : public testing::Test {
protected:
  HipTest() { fake = FakeHip(); }

  FakeHip &fake = fakeHip();
  HipDriver driver{buildPath("test/libamdhip64.so")};
};

inline Package hipPackage(const std::string &kernel, int64_t threads = 64, const std::string &chip = "gfx942") {
  std::string name = "kernels-" + chip + "-O3.hsaco";
  return packageOfCodeObject(readFile(buildPath("test/simulator/" + name)), name, kernel, threads);
}

template <typename T>
std::vector<T> readBack(Stream &stream, const Buffer &buffer) {
  std::vector<T> values(buffer.sizeBytes() / sizeof(T));
  stream.copyToHost(values.data(), buffer);
  stream.synchronize();
  return values;
}

} // namespace heddle
