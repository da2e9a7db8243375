// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code objects: loading, launches and what they leave in memory, and what does not fit.
#include "binary/AmdAbi.h"
#include "tests/fake_hip/HipTestSupport.h"

using namespace heddle;

namespace {

class HipModuleTest : public WithStream<HipTest> {
protected:
  std::string refusal(const Package &package) {
    return messageOf([&] { device->loadModule(package); });
  }
};

void addVectors(Device &device, const Package &package) {
  auto stream = device.createStream();
  std::vector<float> x(1000), y(1000);
  for (int i = 0; i < 1000; ++i)
    x[size_t(i)] = float(i), y[size_t(i)] = float(2 * i);
  Buffer xs = device.allocate(4000, "x"), ys = device.allocate(4000, "y"), out = device.allocate(4000, "out");
  stream->copyToDevice(xs, x.data());
  stream->copyToDevice(ys, y.data());
  stream->launch(
      {.kernel = {device.loadModule(package)}, .grid = {4, 1, 1}, .arguments = {xs, ys, out, ScalarBits{1000}}});
  std::vector<float> sums = readBack<float>(*stream, out);
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(sums[size_t(i)], float(3 * i)) << i;
}

TEST_F(HipModuleTest, AddsVectors) {
  addVectors(*device, hipPackage("vector_add", 256));
  EXPECT_EQ(fake.count("hipModuleLoadData"), 1);
  EXPECT_EQ(fake.count("hipModuleLaunchKernel"), 1);
}

TEST_F(HipModuleTest, AddsVectorsOnTheOtherChip) {
  fake.architecture = "gfx950";
  HipDriver other(buildPath("test/libamdhip64.so"));
  addVectors(*other.open(1), hipPackage("vector_add", 256, "gfx950"));
}

TEST_F(HipModuleTest, TakesTheShapeThatAKernelIsCompiledFor) {
  Buffer out = device->allocate(256 * 4);
  stream->fill(out, 0);
  stream->launch({.kernel = {device->loadModule(hipPackage("of_one_size", 256))}, .arguments = {out}});
  EXPECT_EQ(readBack<uint32_t>(*stream, out)[0], 1u);
  EXPECT_CONTAINS(refusal(hipPackage("of_one_size", 128)),
                  "kernel `of_one_size` is compiled for workgroups of 128 x 2 x 1 work-items, its package says 128");
}

TEST_F(HipModuleTest, Refusals) {
  Package good = hipPackage("vector_add", 256), package = good;
  package.target = "sm_90";
  EXPECT_CONTAINS(refusal(package), "kernel `vector_add` was compiled for target sm_90, the device hip:0 is gfx942");
  package = good;
  package.binaryKind = "ptx";
  EXPECT_CONTAINS(refusal(package), "its binary is of kind `ptx`, and devices of gfx942 load `amd-code-object`");
  package = good;
  package.abiVersion = amdAbiVersion + 1;
  EXPECT_CONTAINS(refusal(package), "of the AMD interface");
  package = good;
  package.entry = "vector_sub";
  EXPECT_CONTAINS(refusal(package), "the code object has no kernel `vector_sub`");
  package = good;
  package.arguments.pop_back();
  package.arguments.pop_back();
  EXPECT_CONTAINS(refusal(package), "the package describes 2 arguments, its code object 4");
  package = good;
  package.threads = 2048;
  EXPECT_CONTAINS(refusal(package), "kernel `vector_add` has 2048 threads in a block, and its code allows");
  package = good;
  package.sharedBytes = 65537;
  EXPECT_CONTAINS(refusal(package), "needs 65537 bytes of shared memory in a block, hip:0 has 65536");
  package = good;
  package.binary.resize(100);
  EXPECT_EQ(errorOf([&] { device->loadModule(package); }).kind, ErrorClass::Input);
  EXPECT_EQ(fake.count("hipModuleLaunchKernel"), 0);
}

TEST_F(HipModuleTest, LaunchesThatDoNotFit) {
  Kernel kernel{device->loadModule(hipPackage("early_end"))};
  Buffer out = device->allocate(1024);
  EXPECT_CONTAINS(messageOf([&] { stream->launch({.kernel = kernel, .grid = {1 << 26, 1, 1}, .arguments = {out}}); }),
                  "67108864 workgroups of 64 work-items along x are 4294967296 work-items, and 2^32-1 are the most");
  EXPECT_CONTAINS(messageOf([&] { stream->launch({.kernel = kernel}); }), "early_end");
}

TEST_F(HipModuleTest, AnObjectOfOtherSettingsIsExplained) {
  fake.failures = {{"hipModuleLoadData", {1, 209}}};
  Error error = errorOf([&] { device->loadModule(hipPackage("early_end")); });
  EXPECT_CONTAINS(error.what(), "hip:0: kernel `early_end`: hipModuleLoadData: hipErrorNoBinaryForGpu (209)");
  EXPECT_CONTAINS(error.notes.at(0), "xnack or sramecc");
}

} // namespace
