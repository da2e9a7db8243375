// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For the tests of both GPU drivers: the sources beside this one run what the two have in common, once in the program
// of each vendor, on its fake library.
#pragma once
#include "binary/Package.h"
#include "runtime/DeviceTestSupport.h"
#include "runtime/Launch.h"
#include "runtime/drivers/gpu/GpuDriver.h"
#include "support/TestPaths.h"
#include "tests/fake_gpu/FakeGpu.h"
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace heddle {

/// How a vendor calls things, and what its fake has.
struct GpuVendor {
  const char *name, *title, *library, *fakeLibrary;
  const char *version, *chip, *description;
  const char *setting, *visibleDevices, *tooOld;
  // ---- Errors with their numbers ----
  const char *invalidValue, *outOfMemory, *noDevice, *captureInvalidated, *fault;
  // ---- Entry points, by the names of GpuApi.h ----
  const char *init, *deviceGetName, *currentDevice, *deviceCanAccessPeer, *enablePeer, *memoryGetInfo, *memoryAllocate,
      *memoryFree, *hostAllocate, *hostFree, *copyToDevice, *copyToHost, *copyOnDevice, *copyBetween, *fillBytes,
      *streamCreate, *streamSynchronize, *streamWaitEvent, *streamBeginCapture, *streamEndCapture, *graphInstantiate,
      *eventCreate, *eventRecord, *launchHostFunction, *launchKernel, *launchCooperative, *maxActiveBlocks;
  std::vector<const char *> openingCalls, loadingCalls; ///< what can fail in opening a device, in loading a module
  // ---- Kernels; the first two take a pointer ----
  Package kernel, anotherKernel, faultyKernel;
  int64_t residentBlocks; ///< of `kernel`, at the most
  const char *residentText;

  FakeGpu &(*freshFake)();
  std::unique_ptr<GpuDriver> (*makeDriver)(const std::string &library);
};

/// Each test program has its own.
const GpuVendor &testedVendor();

/// What a fake library of the build says by a symbol.
template <typename Fake>
Fake &fakeOf(const char *library, const char *symbol) {
  void *handle = ::dlopen(buildPath(library).c_str(), RTLD_NOW | RTLD_LOCAL);
  return *reinterpret_cast<Fake *(*)()>(::dlsym(handle, symbol))();
}

/// A fresh fake, an empty cache folder, and a driver that uses both.
class GpuTest : public ::testing::Test {
protected:
  GpuTest() {
    std::filesystem::remove_all(folder);
    ::setenv("HEDDLE_CACHE_DIR", folder.c_str(), 1);
  }
  ~GpuTest() override {
    ::unsetenv("HEDDLE_CACHE_DIR");
    std::filesystem::remove_all(folder);
  }

  /// Each call fails once, with what the driver then says.
  void expectFailureNamed(const char *symbol, const std::function<void()> &action) {
    fake.failures = {{symbol, {1, 1}}};
    Error error = errorOf(action);
    EXPECT_EQ(error.kind, ErrorClass::Environment) << symbol;
    EXPECT_CONTAINS(error.what(), fmt::format("{}: {}", symbol, vendor.invalidValue));
    EXPECT_CONTAINS(error.what(), fmt::format("{}:0", vendor.name));
    fake.failures.clear();
  }

  const std::string folder =
      (std::filesystem::temp_directory_path() / fmt::format("heddle-gpu-test-{}", ::getpid())).string();
  const GpuVendor &vendor = testedVendor();
  FakeGpu &fake = vendor.freshFake();
  const std::unique_ptr<GpuDriver> ownDriver = vendor.makeDriver(buildPath(vendor.fakeLibrary));
  GpuDriver &driver = *ownDriver;
};

/// With a stream of the first device.
template <typename Base>
class WithStream : public Base {
protected:
  std::shared_ptr<Device> device = this->driver.open(0);
  std::unique_ptr<Stream> stream = device->createStream();
};

} // namespace heddle
