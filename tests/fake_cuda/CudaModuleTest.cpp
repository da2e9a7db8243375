// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From package to launch on the fake: what is refused, what is packed, what is kept on disk.
#include "runtime/drivers/cuda/CubinCache.h"
#include "support/ElementType.h"
#include "support/File.h"
#include "tests/fake_cuda/CudaTestSupport.h"
#include <chrono>
#include <cstring>
#include <future>
#include <thread>

using namespace heddle;

namespace {

class CudaModuleTest : public WithStream<CudaTest> {
protected:
  Error loadError(const std::function<void(Package &)> &change) {
    Package package = fillPackage();
    change(package);
    return errorOf([&] { driver.open(0)->loadModule(package); });
  }
  std::string entryPath() {
    std::string found;
    for (const auto &entry : std::filesystem::directory_iterator(folder))
      found = entry.path().string();
    return found;
  }
};

uint64_t bitsOf(const std::string &bytes) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

TEST_F(CudaModuleTest, RunsAKernel) {
  device = driver.open(1);
  stream = device->createStream();
  Buffer out = device->allocate(400, "out");
  stream->fill(out, 0);
  Kernel kernel{device->loadModule(Package::parse(fillPackage().serialize(), "k.hpkg"))};
  EXPECT_TRUE(kernel.package().binary.empty());
  stream->launch({.kernel = kernel, .grid = {3, 2, 1}, .arguments = {out, ScalarBits{7}, ScalarBits{90}}});
  auto values = readBack<uint32_t>(*stream, out);
  EXPECT_EQ(values[0], 7u);
  EXPECT_EQ(values[89], 7u);
  EXPECT_EQ(values[90], 0u);
}

TEST_F(CudaModuleTest, ParametersArePackedByTheInterface) {
  std::vector<PackageArgument> arguments = {{"p", "f32", true, 1},      {"a", "i1", false, 1},  {"b", "i8", false, 1},
                                            {"c", "f16", false, 1},     {"d", "f32", false, 1}, {"e", "f64", false, 1},
                                            {"f", "ptr<f16>", true, 1}, {"g", "i64", false, 1}};
  std::string ptx = ".entry k(.param .u64 p, .param .u32 a, .param .u32 b, .param .u32 c, .param .u32 d,"
                    " .param .u64 e, .param .u64 f, .param .u64 g, .param .u64 record)";
  Package package = cudaPackage("k", ptx, arguments);
  package.threads = 256;
  package.sharedBytes = 100000;
  stream->launch({.kernel = {device->loadModule(package)},
                  .grid = {5, 6, 7},
                  .arguments = {DeviceAddress{0x123456789a00}, ScalarBits{1}, ScalarBits{0xff}, ScalarBits{0x3c00},
                                ScalarBits{0x3f800000}, ScalarBits{0x3ff0000000000000}, DeviceAddress{0x10},
                                ScalarBits{UINT64_MAX}}});
  stream->synchronize();
  ASSERT_EQ(fake.launches.size(), 1u);
  const FakeLaunch &launch = fake.launches[0];
  std::vector<uint64_t> values,
      expected = {0x123456789a00, 1, 0xff, 0x3c00, 0x3f800000, 0x3ff0000000000000, 0x10, UINT64_MAX, 0};
  std::vector<size_t> sizes, expectedSizes = {8, 4, 4, 4, 4, 8, 8, 8, 8};
  for (const std::string &bytes : launch.parameters) {
    values.push_back(bitsOf(bytes));
    sizes.push_back(bytes.size());
  }
  EXPECT_EQ(values, expected);
  EXPECT_EQ(sizes, expectedSizes);
  EXPECT_EQ(launch.grid[0], 5u);
  EXPECT_EQ(launch.grid[1], 6u);
  EXPECT_EQ(launch.grid[2], 7u);
  EXPECT_EQ(launch.block[0], 256u);
  EXPECT_EQ(launch.sharedBytes, 100000u);
  EXPECT_FALSE(launch.cooperative);
}

/// n, then a matrix of f16 with two sizes and two strides, by two maps.
Package matrixPackage() {
  Package package = cudaPackage("k",
                                ".entry k(.param .u32 n, .param .u64 x, .param .u32 rows, .param .u32 columns,"
                                " .param .u64 pitch, .param .u64 step, .param .u64 record,"
                                " .param .align 64 .b8 map0[128], .param .align 64 .b8 map1[128])",
                                {{"n", "i32", false, 1},
                                 {"x", "f16", true, 1},
                                 {"rows", "i32", false, 1},
                                 {"columns", "i32", false, 1},
                                 {"pitch", "i64", false, 1},
                                 {"step", "i64", false, 1}});
  package.abiVersion = cudaTensorMapAbiVersion;
  package.tensorMaps = {{1, "f16", {64, 32}, 64}, {1, "i16", {256, 64}, 128}};
  return package;
}

std::vector<LaunchArgument> matrixArguments(uint64_t pitch = 56) {
  return {ScalarBits{7}, DeviceAddress{0x123456789a00}, ScalarBits{100}, ScalarBits{50}, ScalarBits{pitch},
          ScalarBits{1}};
}

FakeTensorMap mapOf(const std::string &bytes) {
  FakeTensorMap map = {};
  EXPECT_EQ(bytes.size(), 128u);
  std::memcpy(&map, bytes.data(), sizeof map);
  return map;
}

void expectMatrixMaps(const FakeLaunch &launch, uint64_t pitchBytes) {
  ASSERT_EQ(launch.parameters.size(), 9u);
  EXPECT_EQ(bitsOf(launch.parameters[4]), pitchBytes / 2);
  EXPECT_EQ(bitsOf(launch.parameters[6]), 0u);
  FakeTensorMap first = mapOf(launch.parameters[7]), second = mapOf(launch.parameters[8]);
  EXPECT_EQ(first.address, 0x123456789a00u);
  EXPECT_EQ(int(first.type), cuda::tensorMap::typeF16);
  EXPECT_EQ(first.rank, 2u);
  EXPECT_EQ(first.sizes[0], 50u);
  EXPECT_EQ(first.sizes[1], 100u);
  EXPECT_EQ(first.strides[0], pitchBytes);
  EXPECT_EQ(first.box[0] + 1, 32);
  EXPECT_EQ(first.box[1] + 1, 64);
  EXPECT_EQ(first.steps[0] * first.steps[1], 1);
  EXPECT_EQ(int(first.swizzle), cuda::tensorMap::swizzle64);
  EXPECT_EQ(int(first.promotion), cuda::tensorMap::promotionOf128Bytes);
  EXPECT_EQ(first.interleave + first.outside, 0);
  EXPECT_EQ(int(second.type), cuda::tensorMap::typeU16);
  EXPECT_EQ(second.box[1] + 1, 256);
  EXPECT_EQ(int(second.swizzle), cuda::tensorMap::swizzle128);
}

TEST_F(CudaModuleTest, TensorMapsAreParametersByValue) {
  Kernel kernel{device->loadModule(matrixPackage())};
  stream->launch({.kernel = kernel, .arguments = matrixArguments()});
  stream->launch({.kernel = kernel, .arguments = matrixArguments(64)});
  stream->beginCapture();
  stream->launch({.kernel = kernel, .arguments = matrixArguments(72)});
  auto graph = stream->endCapture();
  stream->launch(*graph);
  stream->synchronize();
  ASSERT_EQ(fake.launches.size(), 3u);
  for (size_t i = 0; i < 3; ++i)
    expectMatrixMaps(fake.launches[i], 112 + 16 * i);
}

TEST_F(CudaModuleTest, TensorMapsOfEveryType) {
  namespace types = cuda::tensorMap;
  const std::pair<const char *, int> rows[] = {
      {"f16", types::typeF16},     {"bf16", types::typeBF16}, {"f32", types::typeF32}, {"f64", types::typeF64},
      {"i8", types::typeU8},       {"i16", types::typeU16},   {"i32", types::typeI32}, {"i64", types::typeI64},
      {"f8E4M3FN", types::typeU8}, {"f8E5M2", types::typeU8}};
  for (auto [name, type] : rows) {
    Package package = matrixPackage();
    package.tensorMaps = {{1, name, {8, 16}, 128}, {1, name, {8, 16}, 0}};
    stream->launch({.kernel = {device->loadModule(package)}, .arguments = matrixArguments(64)});
    stream->synchronize();
    FakeTensorMap map = mapOf(fake.launches.back().parameters[7]);
    EXPECT_EQ(int(map.type), type) << name;
    EXPECT_EQ(map.strides[0], uint64_t(64 * elementSizeBytes(*findElementType(name)))) << name;
    EXPECT_EQ(int(mapOf(fake.launches.back().parameters[8]).swizzle), types::swizzleNone);
  }
}

TEST_F(CudaModuleTest, TensorMapRefusals) {
  auto loadErrorOf = [&](const std::function<void(Package &)> &change) {
    Package package = matrixPackage();
    change(package);
    return messageOf([&] { device->loadModule(package); });
  };
  EXPECT_CONTAINS(loadErrorOf([](Package &p) { p.abiVersion = cudaAbiVersion; }),
                  "version 2 of the CUDA interface, this runtime has version 3");
  EXPECT_CONTAINS(loadErrorOf([](Package &p) { p.tensorMaps[0].box[0] = 300; }), "its box has 300 elements");
  EXPECT_CONTAINS(loadErrorOf([](Package &p) { p.tensorMaps.pop_back(); }),
                  "its PTX has more parameters than the 8 that its description says");
  EXPECT_CONTAINS(loadErrorOf([](Package &p) { p.binary.replace(p.binary.find("map1[128]"), 9, "map1[64]"); }),
                  "parameter 8 of its PTX has 64 bytes, its description says 128");
  Kernel kernel{device->loadModule(matrixPackage())};
  EXPECT_CONTAINS(
      messageOf([&] { stream->launch({.kernel = kernel, .arguments = matrixArguments(50)}); }),
      "argument `pitch`: a stride of 50 elements, 100 bytes, along axis 0 of a tensor map is not a multiple "
      "of 16 bytes");
  fake.failures["cuTensorMapEncodeTiled"] = {1, 1};
  std::string message = messageOf([&] { stream->launch({.kernel = kernel, .arguments = matrixArguments()}); });
  EXPECT_CONTAINS(message, "cuda:0: kernel `k`: tensor map 0: cuTensorMapEncodeTiled: CUDA_ERROR_INVALID_VALUE (1)");
  EXPECT_CONTAINS(message, "of f16 at 0x123456789a00, sizes 50 x 100, strides of 112 bytes, a box of 32 x 64");
  EXPECT_TRUE(fake.launches.empty());
}

TEST_F(CudaModuleTest, Refusals) {
  Error error = loadError([](Package &p) { p.target = "host"; });
  EXPECT_EQ(error.kind, ErrorClass::Input);
  EXPECT_CONTAINS(error.what(), "kernel `fill_words` was compiled for target host, the device cuda:0 is sm_90");
  EXPECT_CONTAINS(loadError([](Package &p) { p.binaryKind = "elf-shared-object"; }).what(), "is no PTX text");
  EXPECT_CONTAINS(loadError([](Package &p) { p.abiVersion = 9; }).what(),
                  "version 9 of the CUDA interface, this runtime has version 2");
  EXPECT_CONTAINS(loadError([](Package &p) { p.threads = 0; }).what(), "0 threads in a block: a block has 1 to 1024");
  EXPECT_CONTAINS(loadError([](Package &p) { p.threads = 1025; }).what(), "1025 threads");
  error = loadError([](Package &p) { p.sharedBytes = 232449; });
  EXPECT_EQ(error.kind, ErrorClass::Input);
  EXPECT_CONTAINS(error.what(), "needs 232449 bytes of shared memory in a block, cuda:0 has 232448");
  EXPECT_CONTAINS(loadError([](Package &p) {
                    p.sharedBytes = 232000;
                    p.binary += ".shared .align 4 .b8 tile[449];";
                  }).what(),
                  "needs 232449 bytes of shared memory");
  EXPECT_CONTAINS(loadError([](Package &p) { p.entry = "none"; }).what(), "its binary has no entry `none`");
  EXPECT_CONTAINS(loadError([](Package &p) { p.arguments.pop_back(); }).what(),
                  "parameter 2 of its PTX has 4 bytes, its description says 8");
  EXPECT_CONTAINS(loadError([](Package &p) { p.binary.insert(p.binary.find(')'), ", .param .u64 more"); }).what(),
                  "its PTX has more parameters than the 4 that its description says");
  EXPECT_CONTAINS(loadError([](Package &p) { p.arguments.push_back({"q", "i32", false, 1}); }).what(),
                  "parameter 3 of its PTX has 8 bytes, its description says 4");
  EXPECT_CONTAINS(loadError([](Package &p) { p.arguments.push_back({"q", "i64", false, 1}); }).what(),
                  "its PTX has fewer parameters than the 5");
  fake.maxThreads = 128;
  EXPECT_CONTAINS(loadError([](Package &p) { p.threads = 256; }).what(),
                  "256 threads in a block, and its code allows 128 with 40 registers each");
}

TEST_F(CudaModuleTest, TheCompilersMessagesAreNotes) {
  std::string message = messageOf([&] {
    Package package = fillPackage();
    package.binary += "nonsense";
    driver.open(0)->loadModule(package);
  });
  EXPECT_CONTAINS(message, "cuda:0: kernel `fill_words`: cuLinkAddData_v2: CUDA_ERROR_INVALID_PTX (218)");
  EXPECT_CONTAINS(message, "\nptxas application ptx input, line 7; error : Unknown symbol 'nonsense'\nptxas fatal\n");
  EXPECT_CONTAINS(message, "the driver is for CUDA 13.0");
  Error error = loadError([](Package &p) { p.binary += ".version 99"; });
  EXPECT_EQ(error.kind, ErrorClass::Environment);
  EXPECT_CONTAINS(error.notes.at(0), "the driver is older than the PTX");
}

TEST_F(CudaModuleTest, CodeForOneChipAloneIsAskedForByName) {
  device->loadModule(fillPackage());
  EXPECT_EQ(fake.jitTarget, 0);
  Package package = fillPackage();
  package.binary.insert(package.binary.find("sm_90") + 5, "a");
  device->loadModule(package);
  EXPECT_EQ(fake.jitTarget, 0x10000 + 90);
}

TEST_F(CudaModuleTest, WhatTheLinkerRefusesTheLoaderMayTake) {
  fake.loadsPtx = true;
  fake.failures["cuLinkComplete"] = {1, 1};
  device->loadModule(fillPackage());
  EXPECT_FALSE(std::filesystem::exists(folder));
}

// The linker would ignore what it says (ptxas C7504).
TEST_F(CudaModuleTest, CodeThatMovesRegistersIsNotLinked) {
  fake.loadsPtx = true;
  Package package = fillPackage();
  package.binary.insert(package.binary.rfind("ret;"), "setmaxnreg.dec.sync.aligned.u32 24; ");
  device->loadModule(package);
  EXPECT_EQ(fake.count("cuLinkComplete"), 0);
  device->loadModule(fillPackage());
  EXPECT_EQ(fake.count("cuLinkComplete"), 1);
}

TEST_F(CudaModuleTest, CodeIsKeptOnDisk) {
  device->loadModule(fillPackage());
  EXPECT_EQ(fake.count("cuLinkComplete"), 1);
  device->loadModule(fillPackage());
  EXPECT_EQ(fake.count("cuLinkComplete"), 1);
  Package other = fillPackage();
  other.binary += "// other";
  device->loadModule(other);
  EXPECT_EQ(fake.count("cuLinkComplete"), 2);
  fake.version = 12080;
  CudaDriver newer(buildPath("test/fake-cuda.so"));
  newer.open(0)->loadModule(fillPackage());
  EXPECT_EQ(fake.count("cuLinkComplete"), 3);
  EXPECT_EQ(fake.liveModules, 0);
}

TEST_F(CudaModuleTest, EveryDamagedEntryIsMadeAgain) {
  device->loadModule(fillPackage());
  std::string path = entryPath(), good = readFile(path);
  for (size_t at = 0; at < good.size(); at += 7) {
    std::string bad = good;
    bad[at] = char(bad[at] ^ 0x40);
    CubinCache cache(folder, "sm_90-13000");
    writeFileAtomically(path, bad);
    EXPECT_FALSE(cache.find(fillPackage().binary)) << at;
    writeFileAtomically(path, good.substr(0, at));
    EXPECT_FALSE(cache.find(fillPackage().binary)) << at;
  }
  device->loadModule(fillPackage());
  EXPECT_EQ(fake.count("cuLinkComplete"), 2);
  EXPECT_EQ(readFile(path), good);
}

TEST_F(CudaModuleTest, AnEntryThatTheDriverRefusesIsMadeAgain) {
  CubinCache cache(folder, "sm_90-13000");
  cache.store(fillPackage().binary, "code of another time");
  driver.open(0)->loadModule(fillPackage());
  EXPECT_EQ(fake.count("cuLinkComplete"), 1);
  EXPECT_NE(*cache.find(fillPackage().binary), "code of another time");
}

TEST_F(CudaModuleTest, WithoutAFolderNothingIsKept) {
  writeFileAtomically(folder, "a file in the way");
  device->loadModule(fillPackage());
  device->loadModule(fillPackage());
  EXPECT_EQ(fake.count("cuLinkComplete"), 2);
  CubinCache none("", "sm_90-13000");
  none.store("ptx", "code");
  EXPECT_FALSE(none.find("ptx"));
}

TEST_F(CudaModuleTest, GridLimits) {
  Kernel kernel{device->loadModule(emptyPackage())};
  stream->launch({.kernel = kernel, .grid = {70000, 1, 1}});
  for (std::array<int64_t, 3> grid : {std::array<int64_t, 3>{1, 65536, 1}, {1, 1, 65536}}) {
    Error error = errorOf([&] { stream->launch({.kernel = kernel, .grid = grid}); });
    EXPECT_EQ(error.kind, ErrorClass::Input);
    EXPECT_CONTAINS(error.what(), "on a CUDA device y and z are at most 65535");
  }
}

// Four of them have to fit, and here are two blocks on each of four multiprocessors.
TEST_F(CudaModuleTest, SmallLaunchesThatWaitThemselvesMayStartEarly) {
  Package package = emptyPackage();
  // Whether the second of two launches may, of so many blocks.
  auto early = [&](int64_t first, int64_t second, bool cooperative) {
    Kernel kernel{device->loadModule(package)};
    stream = device->createStream();
    for (int64_t blocks : {first, second})
      stream->launch({.kernel = kernel, .grid = {blocks, 1, 1}, .cooperative = cooperative});
    stream->synchronize();
    EXPECT_FALSE(fake.launches.at(fake.launches.size() - 2).dependent);
    return fake.launches.back().dependent;
  };
  EXPECT_FALSE(early(1, 1, false));
  package.dependentLaunch = true;
  for (bool cooperative : {false, true}) {
    EXPECT_TRUE(early(2, 2, cooperative));
    EXPECT_FALSE(early(2, 3, cooperative));
    EXPECT_EQ(early(3, 2, cooperative), !cooperative); // the first does not wait, or perhaps for other devices
  }
  ::setenv("HEDDLE_CUDA_DEPENDENT_LAUNCH", "off", 1);
  EXPECT_FALSE(early(2, 2, false));
  ::unsetenv("HEDDLE_CUDA_DEPENDENT_LAUNCH");
}

// What is captured says nothing of what runs before the next launch, nor does a graph.
TEST_F(CudaModuleTest, ACaptureHasAPredecessorOfItsOwn) {
  Package package = emptyPackage();
  package.dependentLaunch = true;
  Kernel kernel{device->loadModule(package)};
  auto launch = [&](int64_t blocks) {
    stream->launch({.kernel = kernel, .grid = {blocks, 1, 1}, .cooperative = true});
  };
  launch(1);
  stream->record(device->createEvent());
  launch(1); // after an event
  launch(3);
  stream->beginCapture();
  launch(1);
  launch(1);
  auto graph = stream->endCapture();
  launch(1); // after the one of three blocks
  stream->launch(*graph);
  launch(1);
  launch(1);
  stream->synchronize();
  std::vector<bool> early;
  for (const FakeLaunch &made : fake.launches)
    early.push_back(made.dependent);
  EXPECT_EQ(early, (std::vector<bool>{false, false, false, false, false, true, false, true}));
}

TEST_F(CudaTest, DriversBeforeCuda123StartLaunchesOneBehindTheOther) {
  for (int version : {12020, 12030}) {
    fake.version = version;
    CudaDriver older(buildPath("test/fake-cuda.so"));
    auto device = older.open(0);
    auto stream = device->createStream();
    Package package = emptyPackage();
    package.dependentLaunch = true;
    Kernel kernel{device->loadModule(package)};
    for (int i = 0; i < 2; ++i)
      stream->launch({.kernel = kernel});
    stream->synchronize();
    EXPECT_EQ(fake.launches.back().dependent, version == 12030);
  }
}

// On a GPU the load would wait for what runs on the device, and launches there for the load.
TEST_F(CudaModuleTest, CodeIsLoadedWhenTheDeviceIsIdle) {
  Buffer buffer = device->allocate(64);
  fake.hold = true;
  stream->fill(buffer, 1);
  std::promise<void> asked;
  fake.afterQuery = [&] { asked.set_value(); };
  std::thread loading([&] { device->loadModule(emptyPackage()); });
  asked.get_future().wait_for(std::chrono::milliseconds(500));
  stream->synchronize();
  loading.join();
  EXPECT_EQ(fake.waits, std::vector<std::string>());
  EXPECT_EQ(fake.count("cuModuleLoadDataEx"), 1);
}

TEST_F(CudaModuleTest, WorkOfAnotherDeviceKeepsNoCodeOut) {
  fake.hold = true;
  stream->hostFunction([] {});
  auto loaded = driver.open(1)->loadModule(emptyPackage());
  EXPECT_EQ(fake.liveModules, 1);
  EXPECT_EQ(fake.waits, std::vector<std::string>());
}

// Two GPUs stand for two devices each here: devices 0 and 2 are one.
TEST_F(CudaTest, DevicesOfOneGpuShareIt) {
  const char *const queues = "CUDA_DEVICE_MAX_CONNECTIONS";
  ::setenv("HEDDLE_DEVICES_PER_GPU", "2", 1);
  ::setenv(queues, "16", 1);
  EXPECT_EQ(vendor.makeDriver(buildPath(vendor.fakeLibrary))->deviceCount(), 4);
  EXPECT_STREQ(std::getenv(queues), "16") << "what the user has chosen stays";
  ::unsetenv(queues);
  auto first = driver.open(0), second = driver.open(1), third = driver.open(2);
  EXPECT_STREQ(std::getenv(queues), "32");
  for (const char *name : {"HEDDLE_DEVICES_PER_GPU", queues})
    ::unsetenv(name);
  Package package = emptyPackage();
  package.dependentLaunch = true;
  Kernel kernel{third->loadModule(package)};
  auto early = [&](int64_t blocks) {
    auto stream = third->createStream();
    for (int i = 0; i < 2; ++i)
      stream->launch({.kernel = kernel, .grid = {blocks, 1, 1}});
    stream->synchronize();
    return fake.launches.back().dependent;
  };
  EXPECT_TRUE(early(1));
  EXPECT_FALSE(early(2)) << "four times two are more than half of the eight that fit";
  static_cast<CudaDevice &>(*first).context().gate.patience = std::chrono::milliseconds(5);
  auto busy = first->createStream();
  fake.hold = true;
  busy->hostFunction([] {});
  auto elsewhere = second->loadModule(package);
  EXPECT_EQ(fake.waits, std::vector<std::string>());
  auto here = third->loadModule(package);
  EXPECT_EQ(fake.waits, (std::vector<std::string>{"cuModuleLoadDataEx"})) << "looked for a moment without work";
}

TEST_F(CudaModuleTest, CodeIsLoadedInTheEndWhenTheDeviceIsNeverIdle) {
  static_cast<CudaDevice &>(*device).context().gate.patience = std::chrono::milliseconds(5);
  fake.hold = true;
  stream->hostFunction([] {});
  auto loaded = device->loadModule(emptyPackage());
  EXPECT_EQ(fake.liveModules, 1);
  EXPECT_EQ(fake.waits, (std::vector<std::string>{"cuModuleLoadDataEx"}));
}

TEST_F(CudaModuleTest, LocalMemoryIsCutUpBeforeTheFirstLaunch) {
  Package package = emptyPackage();
  package.binary.insert(package.binary.find("ret;"), ".local .b8 far[8192]; ");
  fake.failures = {{"cuCtxSetLimit", {1, 2}}};
  EXPECT_CONTAINS(messageOf([&] { device->loadModule(package); }), "cuda:0: cuCtxSetLimit: CUDA_ERROR_OUT_OF_MEMORY");
  fake.failures.clear();
  Kernel kernel{device->loadModule(package)};
  fake.hold = true;
  stream->hostFunction([] {});
  stream->launch({.kernel = kernel});
  stream->synchronize();
  EXPECT_EQ(fake.waits, std::vector<std::string>());
  device->loadModule(package);
  EXPECT_EQ(fake.count("cuCtxSetLimit"), 2);
}

} // namespace
