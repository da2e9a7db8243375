// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Machines of all kinds, by the fake: none, old, broken and several GPUs; memory.
#include "chips/Chip.h"
#include "runtime/drivers/cuda/CudaTestSupport.h"

using namespace heddle;

namespace {

class CudaDriverTest : public CudaTest {};

TEST_F(CudaDriverTest, DevicesAndTheirDescription) {
  EXPECT_EQ(driver.deviceCount(), 2);
  EXPECT_EQ(driver.problem(), "");
  EXPECT_CONTAINS(driver.description(), "CUDA 13.0 in ");
  auto device = driver.open(1);
  EXPECT_EQ(device->name(), "cuda:1");
  EXPECT_EQ(device->ordinal(), 1);
  EXPECT_EQ(device->chip().name, "sm_90");
  EXPECT_EQ(device->description(), "Fake GPU, sm_90, 4 multiprocessors, 1024 MiB of memory");
  EXPECT_EQ(device, driver.open(1));
  EXPECT_EQ(&device->driver(), &driver);
  EXPECT_CONTAINS(messageOf([&] { driver.open(2); }), "device `cuda:2`: there are 2 CUDA devices");
}

TEST_F(CudaDriverTest, WithoutALibrary) {
  CudaDriver none("/nowhere/libcuda.so.1");
  EXPECT_EQ(none.deviceCount(), 0);
  EXPECT_EQ(none.description(), "");
  EXPECT_CONTAINS(none.problem(), "the CUDA driver cannot be opened: /nowhere/libcuda.so.1");
  EXPECT_EQ(errorOf([&] { none.open(0); }).kind, ErrorClass::Environment);
  EXPECT_FALSE(none.canAccessPeer(0, 1));
}

TEST_F(CudaDriverTest, ALibraryThatIsNoDriver) {
  CudaDriver wrong("libdl.so.2");
  EXPECT_CONTAINS(wrong.problem(), "the CUDA driver libdl.so.2 has no `cuInit`");
}

TEST_F(CudaDriverTest, WithoutAGpu) {
  fake.failures["cuInit"] = {1, 100};
  EXPECT_EQ(driver.deviceCount(), 0);
  EXPECT_CONTAINS(driver.problem(), "CUDA driver: cuInit: CUDA_ERROR_NO_DEVICE (100)");
  EXPECT_CONTAINS(driver.problem(), "CUDA_VISIBLE_DEVICES");
  fake = FakeCuda();
  fake.devices = 0;
  CudaDriver empty(buildPath("test/fake-cuda.so"));
  EXPECT_EQ(empty.problem(), "the CUDA driver has no device");
}

TEST_F(CudaDriverTest, DriverAndKernelModuleDisagree) {
  fake.failures["cuInit"] = {1, 803};
  EXPECT_CONTAINS(driver.problem(), "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)");
  EXPECT_CONTAINS(driver.problem(), "of different versions");
}

TEST_F(CudaDriverTest, AnOldGpuIsNamedWithBothChips) {
  fake.major = 8;
  Error error = errorOf([&] { driver.open(0); });
  EXPECT_EQ(error.kind, ErrorClass::Environment);
  EXPECT_EQ(std::string(error.what()),
            "cuda:0: Fake GPU has compute capability sm_80, and Heddle makes code for sm_90");
}

TEST_F(CudaDriverTest, UnknownErrorsHaveTheirNumber) {
  fake.failures["cuDeviceGetName"] = {1, 4711};
  EXPECT_CONTAINS(messageOf([&] { driver.open(0); }), "cuda:0: cuDeviceGetName: unknown error (4711)");
}

TEST_F(CudaDriverTest, EveryFailingCallOfOpeningIsNamed) {
  for (const char *symbol : {"cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain"}) {
    fake.failures = {{symbol, {1, 1}}};
    EXPECT_CONTAINS(messageOf([&] { driver.open(0); }),
                    std::string("cuda:0: ") + symbol + ": CUDA_ERROR_INVALID_VALUE (1)");
  }
  driver.open(0);
  for (const char *symbol : {"cuDeviceCanAccessPeer", "cuCtxEnablePeerAccess"}) {
    fake.failures = {{symbol, {1, 1}}};
    EXPECT_CONTAINS(messageOf([&] { driver.open(1); }), std::string(symbol) + ": CUDA_ERROR_INVALID_VALUE (1)");
  }
  EXPECT_EQ(driver.open(1)->name(), "cuda:1");
}

TEST_F(CudaDriverTest, PeerAccessIsAskedAndEnabledOnce) {
  auto first = driver.open(0), second = driver.open(1);
  second.reset();
  driver.open(1);
  EXPECT_TRUE(driver.canAccessPeer(0, 1));
  EXPECT_TRUE(driver.canAccessPeer(1, 1));
  EXPECT_FALSE(driver.canAccessPeer(0, 2));
  EXPECT_EQ(fake.count("cuDeviceCanAccessPeer"), 2);
  EXPECT_EQ(fake.count("cuCtxEnablePeerAccess"), 2);
  EXPECT_EQ(fake.count("cuDevicePrimaryCtxRetain"), 2);
}

TEST_F(CudaDriverTest, PeerAccessThatIsEnabledAlreadyIsFine) {
  driver.open(0);
  fake.failures["cuCtxEnablePeerAccess"] = {1, 704};
  EXPECT_NO_THROW(driver.open(1));
}

TEST_F(CudaDriverTest, DevicesThatDoNotReachEachOther) {
  fake.peers = false;
  auto first = driver.open(0), second = driver.open(1);
  EXPECT_FALSE(driver.canAccessPeer(0, 1));
  EXPECT_EQ(fake.count("cuCtxEnablePeerAccess"), 0);
  Buffer from = first->allocate(64), to = second->allocate(64);
  auto stream = first->createStream();
  stream->fill(from, 5);
  stream->copy(to.address(), from.address(), 64);
  EXPECT_EQ(readBack<uint8_t>(*stream, to), std::vector<uint8_t>(64, 5));
  EXPECT_EQ(fake.count("cuMemcpyPeerAsync"), 1);
}

TEST_F(CudaDriverTest, MemoryIsCountedAndNamedWhenItRunsOut) {
  auto device = driver.open(0);
  Buffer buffer = device->allocate(1 << 20, "x");
  EXPECT_EQ(device->memoryInfo().totalBytes, uint64_t(1) << 30);
  EXPECT_EQ(device->memoryInfo().freeBytes, (uint64_t(1) << 30) - (1 << 20));
  Error error = errorOf([&] { device->allocate(uint64_t(1) << 30, "big"); });
  EXPECT_EQ(error.kind, ErrorClass::Environment);
  EXPECT_EQ(std::string(error.what()),
            "cuda:0: out of memory: buffer `big` asks for 1073741824 bytes, 1072693248 are available");
  EXPECT_EQ(device->allocate(0).sizeBytes(), 0u);
}

TEST_F(CudaDriverTest, FreedMemoryStaysUntilQueuedWorkHasRun) {
  auto device = driver.open(0), other = driver.open(1);
  auto stream = other->createStream();
  fake.hold = true;
  {
    Buffer buffer = device->allocate(256);
    stream->fill(buffer, 1);
  }
  EXPECT_EQ(fake.count("cuMemFree_v2"), 0);
  EXPECT_CONTAINS(messageOf([&] { stream->fill(4096, 0, 4); }), "there are no buffers");
  stream->synchronize();
  EXPECT_EQ(fake.count("cuMemFree_v2"), 1);
  EXPECT_EQ(fake.liveAllocations, 0);
}

TEST_F(CudaDriverTest, FreedMemoryIsWaitedForWhenItIsNeeded) {
  auto device = driver.open(0);
  auto stream = device->createStream();
  fake.hold = true;
  {
    Buffer buffer = device->allocate(uint64_t(900) << 20);
    stream->fill(buffer.address(), 1, 16);
  }
  Buffer next = device->allocate(uint64_t(900) << 20);
  EXPECT_EQ(fake.liveAllocations, 1);
}

TEST_F(CudaDriverTest, EverythingIsGivenBack) {
  {
    CudaDriver shortLived(buildPath("test/fake-cuda.so"));
    auto device = shortLived.open(0);
    auto stream = device->createStream();
    auto event = device->createEvent();
    Buffer buffer = device->allocate(64);
    stream->fill(buffer, 1);
    stream->record(event);
    stream->beginCapture();
    stream->fill(buffer, 2);
    auto graph = stream->endCapture();
    stream->launch(*graph);
    stream->launch({.kernel = {device->loadModule(emptyPackage())}});
  }
  EXPECT_EQ(fake.liveAllocations, 0);
  EXPECT_EQ(fake.livePinned, 0);
  EXPECT_EQ(fake.liveStreams, 0);
  EXPECT_EQ(fake.liveEvents, 0);
  EXPECT_EQ(fake.liveModules, 0);
  EXPECT_EQ(fake.liveGraphs, 0);
}

TEST_F(CudaDriverTest, TheCallersContextIsPutBack) {
  auto current = reinterpret_cast<cuda::Result (*)(cuda::Context *)>(
      ::dlsym(::dlopen(buildPath("test/fake-cuda.so").c_str(), RTLD_NOW), "cuCtxGetCurrent"));
  auto context = reinterpret_cast<cuda::Context>(&fake);
  auto device = driver.open(0);
  Buffer buffer = device->allocate(64);
  ASSERT_EQ(current(&context), 0);
  EXPECT_EQ(context, nullptr);
}

} // namespace
