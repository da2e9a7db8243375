// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A real shared object through the loader, and every reason to refuse one.
#include "runtime/drivers/host/HostModule.h"
#include "runtime/drivers/host/CpuFeatures.h"
#include "runtime/drivers/host/HostTestSupport.h"
#include "support/File.h"
#include "support/TestPaths.h"

using namespace heddle;

namespace {

Package realPackage() {
  Package package = testPackage({pointerArgument("out", "f32"), pointerArgument("x", "f32"), scalarArgument("n")});
  package.kernel = package.entry = "addNumber";
  package.binary = readFile(buildPath("test/host-test-kernel.so"));
  return package;
}

void expectSum(Device &device, const std::shared_ptr<Module> &module) {
  auto stream = device.createStream();
  Buffer out = device.allocate(400), x = device.allocate(400);
  std::vector<float> values(100, 0.5f);
  stream->copyToDevice(x, values.data());
  Launch launch{.kernel = {module}, .grid = {100, 1, 1}, .arguments = {out, x, ScalarBits{0xffffffff}}};
  stream->launch(launch);
  EXPECT_EQ(readBack<float>(*stream, out), std::vector<float>(100, -0.5f));
}

TEST(HostModule, RunsARealBinary) {
  auto device = openDevice("host:3");
  auto module = device->loadModule(Package::parse(realPackage().serialize(), "k.hpkg"));
  EXPECT_TRUE(module->package().binary.empty());
  EXPECT_EQ(Kernel{module}.arguments()[2].name, "n");
  expectSum(*device, module);
}

TEST(HostModule, ManyAtOnceAreDistinct) {
  auto device = openDevice("host");
  std::vector<std::shared_ptr<Module>> modules;
  std::set<HostEntry> entries;
  for (int i = 0; i < 100; ++i) {
    modules.push_back(device->loadModule(realPackage()));
    entries.insert(static_cast<HostModule &>(*modules.back()).entry());
  }
  EXPECT_EQ(entries.size(), 100u);
  modules.erase(modules.begin(), modules.end() - 1);
  expectSum(*device, modules.front());
}

TEST(HostModule, KernelKeepsItsCodeLoaded) {
  auto device = openDevice("host");
  auto stream = device->createStream();
  Buffer out = device->allocate(400), x = device->allocate(400);
  stream->fill(x, 0);
  {
    Kernel kernel{device->loadModule(realPackage())};
    stream->launch({.kernel = kernel, .grid = {100, 1, 1}, .arguments = {out, x, ScalarBits{2}}});
  }
  EXPECT_EQ(readBack<float>(*stream, out), std::vector<float>(100, 2.0f));
}

Error loadError(const std::function<void(Package &)> &change) {
  Package package = realPackage();
  change(package);
  return errorOf([&] { openDevice("host")->loadModule(package); });
}

TEST(HostModule, Refusals) {
  Error error = loadError([](Package &p) { p.target = "gfx950"; });
  EXPECT_EQ(error.kind, ErrorClass::Input);
  EXPECT_CONTAINS(error.what(), "kernel `addNumber` was compiled for target gfx950, the device is host");
  error = loadError([](Package &p) { p.abiVersion = 99; });
  EXPECT_CONTAINS(error.what(), "version 99 of the host interface, this runtime has version 1");
  error = loadError([](Package &p) {
    p.processor = "other";
    p.features = {"sse2", "fma4", "xop", "some-tuning"};
  });
  EXPECT_EQ(error.kind, ErrorClass::Environment);
  EXPECT_CONTAINS(error.what(), "was compiled for other, and this processor lacks fma4, xop");
  EXPECT_CONTAINS(loadError([](Package &p) { p.entry = "none"; }).what(), "its binary has no symbol `none`");
  EXPECT_CONTAINS(loadError([](Package &p) { p.binary = "text"; }).what(),
                  "of kind `elf-shared-object` and 4 bytes is no ELF");
  EXPECT_CONTAINS(loadError([](Package &p) { p.binaryKind = "ptx"; }).what(), "its binary of kind `ptx`");
  EXPECT_CONTAINS(loadError([](Package &p) { p.binary[18] = 7; }).what(), "its binary is for ELF machine 7");
  error = loadError([](Package &p) { p.binary.resize(100); });
  EXPECT_EQ(error.kind, ErrorClass::Environment);
  EXPECT_CONTAINS(error.what(), "its binary cannot be loaded: ");
  EXPECT_CONTAINS(loadError([](Package &p) {
                    p.sites = {{"tt.print", "", 0, 0, "", {{"i8", {1ll << 40, 1ll << 40}, true}}, false}};
                  }).what(),
                  "more than 2^63-1 elements");
}

} // namespace
