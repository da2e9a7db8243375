// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Machines of all kinds, by the fake: none, broken and several GPUs; peers, and memory that is given back.
#include "chips/Chip.h"
#include "tests/fake_gpu/GpuTestSupport.h"

using namespace heddle;

namespace {

class GpuDriverTest : public GpuTest {};

TEST_F(GpuDriverTest, DevicesAndTheirDescription) {
  EXPECT_EQ(driver.deviceCount(), 2);
  EXPECT_EQ(driver.problem(), "");
  EXPECT_CONTAINS(driver.description(), fmt::format("{} in ", vendor.version));
  auto device = driver.open(1);
  EXPECT_EQ(device->name(), fmt::format("{}:1", vendor.name));
  EXPECT_EQ(device->ordinal(), 1);
  EXPECT_EQ(device->chip().name, vendor.chip);
  EXPECT_EQ(device->description(), vendor.description);
  EXPECT_EQ(device, driver.open(1));
  EXPECT_EQ(&device->driver(), &driver);
  EXPECT_CONTAINS(messageOf([&] { driver.open(2); }),
                  fmt::format("device `{}:2`: there are 2 {} devices", vendor.name, vendor.title));
}

TEST_F(GpuDriverTest, WithoutALibrary) {
  auto none = vendor.makeDriver("/nowhere/library.so.6");
  EXPECT_EQ(none->deviceCount(), 0);
  EXPECT_EQ(none->description(), "");
  EXPECT_CONTAINS(none->problem(), fmt::format("the {} cannot be opened: /nowhere/library.so.6", vendor.library));
  EXPECT_CONTAINS(none->problem(), vendor.setting);
  EXPECT_EQ(errorOf([&] { none->open(0); }).kind, ErrorClass::Environment);
  EXPECT_FALSE(none->canAccessPeer(0, 1));
}

TEST_F(GpuDriverTest, AMissingEntryPointIsNamed) {
  EXPECT_CONTAINS(vendor.makeDriver("libdl.so.2")->problem(),
                  fmt::format("the {} libdl.so.2 has no `{}`; {}", vendor.library, vendor.init, vendor.tooOld));
}

TEST_F(GpuDriverTest, WithoutAGpu) {
  fake.failures[vendor.init] = {1, 100};
  EXPECT_EQ(driver.deviceCount(), 0);
  EXPECT_CONTAINS(driver.problem(), fmt::format("{}: {}: {}", vendor.library, vendor.init, vendor.noDevice));
  EXPECT_CONTAINS(driver.problem(), vendor.visibleDevices);
  vendor.freshFake().devices = 0;
  EXPECT_EQ(vendor.makeDriver(buildPath(vendor.fakeLibrary))->problem(),
            fmt::format("the {} has no device", vendor.library));
}

TEST_F(GpuDriverTest, UnknownErrorsHaveTheirNumber) {
  fake.failures[vendor.deviceGetName] = {1, 4711};
  EXPECT_CONTAINS(messageOf([&] { driver.open(0); }),
                  fmt::format("{}:0: {}: unknown error (4711)", vendor.name, vendor.deviceGetName));
}

TEST_F(GpuDriverTest, EveryFailingCallOfOpeningIsNamed) {
  auto messageWithout = [&](const char *symbol, int ordinal) {
    fake.failures = {{symbol, {1, 1}}};
    return messageOf([&] { driver.open(ordinal); });
  };
  for (const char *symbol : vendor.openingCalls)
    EXPECT_CONTAINS(messageWithout(symbol, 0), fmt::format("{}:0: {}: {}", vendor.name, symbol, vendor.invalidValue));
  driver.open(0);
  for (const char *symbol : {vendor.deviceCanAccessPeer, vendor.enablePeer})
    EXPECT_CONTAINS(messageWithout(symbol, 1), fmt::format("{}: {}", symbol, vendor.invalidValue));
  EXPECT_EQ(driver.open(1)->ordinal(), 1);
}

TEST_F(GpuDriverTest, PeerAccessIsAskedAndEnabledOnce) {
  auto first = driver.open(0), second = driver.open(1);
  second.reset();
  driver.open(1);
  EXPECT_TRUE(driver.canAccessPeer(0, 1));
  EXPECT_TRUE(driver.canAccessPeer(1, 1));
  EXPECT_FALSE(driver.canAccessPeer(0, 2));
  EXPECT_EQ(fake.count(vendor.deviceCanAccessPeer), 2);
  EXPECT_EQ(fake.count(vendor.enablePeer), 2);
}

TEST_F(GpuDriverTest, PeerAccessThatIsEnabledAlreadyIsFine) {
  driver.open(0);
  fake.failures[vendor.enablePeer] = {1, 704};
  EXPECT_NO_THROW(driver.open(1));
}

TEST_F(GpuDriverTest, DevicesThatDoNotReachEachOther) {
  fake.peers = false;
  auto first = driver.open(0), second = driver.open(1);
  EXPECT_FALSE(driver.canAccessPeer(0, 1));
  EXPECT_EQ(fake.count(vendor.enablePeer), 0);
  Buffer from = first->allocate(64), to = second->allocate(64);
  auto stream = first->createStream();
  stream->fill(from, 5);
  stream->copy(to.address(), from.address(), 64);
  EXPECT_EQ(readBack<uint8_t>(*stream, to), std::vector<uint8_t>(64, 5));
  EXPECT_EQ(fake.count(vendor.copyBetween), 1);
}

/// Two GPUs that stand for two devices each.
class GpuDriverShared : public GpuTest {
protected:
  GpuDriverShared() { ::setenv("HEDDLE_DEVICES_PER_GPU", "2", 1); }
  ~GpuDriverShared() override {
    for (const char *name : {"HEDDLE_DEVICES_PER_GPU", "CUDA_DEVICE_MAX_CONNECTIONS", "GPU_MAX_HW_QUEUES"})
      ::unsetenv(name);
  }
};

TEST_F(GpuDriverShared, DevicesAndTheirDescription) {
  EXPECT_EQ(driver.deviceCount(), 4);
  auto device = driver.open(3);
  EXPECT_EQ(device->name(), fmt::format("{}:3", vendor.name));
  EXPECT_EQ(device->ordinal(), 3);
  EXPECT_EQ(device->description(), std::string(vendor.description) + ", shared by 2 devices");
  EXPECT_EQ(device->computeUnits(), static_cast<GpuDevice &>(*device).context().multiprocessors / 2);
  EXPECT_CONTAINS(messageOf([&] { driver.open(4); }), "there are 4");
}

TEST_F(GpuDriverShared, DevicesOfOneGpuReachEachOther) {
  fake.peers = false;
  auto first = driver.open(0), second = driver.open(1), third = driver.open(2);
  EXPECT_TRUE(driver.canAccessPeer(0, 2));
  EXPECT_TRUE(driver.canAccessPeer(3, 1));
  EXPECT_FALSE(driver.canAccessPeer(2, 1));
  EXPECT_EQ(fake.count(vendor.enablePeer), 0);
  auto stream = first->createStream();
  Buffer from = first->allocate(64), near = third->allocate(64), far = second->allocate(64);
  stream->fill(from, 5);
  stream->copy(near.address(), from.address(), 64);
  EXPECT_EQ(fake.count(vendor.copyOnDevice), 1);
  stream->copy(far.address(), near.address(), 64);
  EXPECT_EQ(readBack<uint8_t>(*stream, far), std::vector<uint8_t>(64, 5));
  EXPECT_EQ(fake.count(vendor.copyBetween), 1);
}

TEST_F(GpuDriverShared, EachPairOfGpusIsAskedOnce) {
  for (int ordinal : {0, 1, 2, 3})
    driver.open(ordinal);
  EXPECT_EQ(fake.count(vendor.deviceCanAccessPeer), 2);
}

// A cooperative launch would wait for the GPU, and so for the rank that waits for it.
TEST_F(GpuDriverShared, CooperativeLaunchesHaveAShareAndRunBesideEachOther) {
  auto device = driver.open(2);
  auto stream = device->createStream();
  Kernel kernel{device->loadModule(vendor.kernel)};
  Buffer out = device->allocate(1 << 20);
  auto launch = [&](int64_t blocks) {
    stream->launch({.kernel = kernel, .grid = {blocks, 1, 1}, .arguments = {out}, .cooperative = true});
  };
  int64_t share = vendor.residentBlocks / 2;
  launch(share);
  EXPECT_EQ(fake.count(vendor.launchCooperative), 0);
  Error error = errorOf([&] { launch(share + 1); });
  EXPECT_CONTAINS(error.what(),
                  fmt::format("of {} blocks; {}:2 runs at most {} at once", share + 1, vendor.name, share));
  EXPECT_EQ(error.notes,
            (std::vector<std::string>{vendor.residentText, "2 devices share the GPU (HEDDLE_DEVICES_PER_GPU)"}));
}

TEST_F(GpuDriverShared, AnIllFormedNumberIsNamed) {
  ::setenv("HEDDLE_DEVICES_PER_GPU", "9", 1);
  EXPECT_EQ(driver.deviceCount(), 0);
  EXPECT_CONTAINS(driver.problem(), "HEDDLE_DEVICES_PER_GPU: `9` is not an integer from 1 to 8");
}

TEST_F(GpuDriverTest, FreedMemoryStaysUntilQueuedWorkHasRun) {
  auto device = driver.open(0), other = driver.open(1);
  auto stream = other->createStream();
  fake.hold = true;
  {
    Buffer buffer = device->allocate(256);
    stream->fill(buffer, 1);
  }
  EXPECT_EQ(fake.count(vendor.memoryFree), 0);
  EXPECT_CONTAINS(messageOf([&] { stream->fill(4096, 0, 4); }), "there are no buffers");
  stream->synchronize();
  EXPECT_EQ(fake.count(vendor.memoryFree), 1);
  EXPECT_EQ(fake.liveAllocations, 0);
  EXPECT_EQ(fake.waits, std::vector<std::string>());
}

TEST_F(GpuDriverTest, EverythingIsGivenBack) {
  {
    auto shortLived = vendor.makeDriver(buildPath(vendor.fakeLibrary));
    auto device = shortLived->open(0);
    auto stream = device->createStream();
    auto event = device->createEvent();
    Buffer buffer = device->allocate(1024);
    stream->fill(buffer, 1);
    stream->record(event);
    stream->beginCapture();
    stream->fill(buffer, 2);
    auto graph = stream->endCapture();
    stream->launch(*graph);
    stream->launch({.kernel = {device->loadModule(vendor.kernel)}, .arguments = {buffer}});
  }
  EXPECT_EQ(fake.liveAllocations, 0);
  EXPECT_EQ(fake.livePinned, 0);
  EXPECT_EQ(fake.liveStreams, 0);
  EXPECT_EQ(fake.liveEvents, 0);
  EXPECT_EQ(fake.liveModules, 0);
  EXPECT_EQ(fake.liveGraphs, 0);
  EXPECT_EQ(fake.lost, 0);
}

} // namespace
