// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What GpuDriverTest.cpp does not test for both vendors: old and broken GPUs, contexts, and memory that runs out.
#include "tests/fake_cuda/CudaTestSupport.h"

using namespace heddle;

const GpuVendor &heddle::testedVendor() {
  static const GpuVendor vendor = {
      .name = "cuda",
      .title = "CUDA",
      .library = "CUDA driver",
      .fakeLibrary = "test/fake-cuda.so",
      .version = "CUDA 13.0",
      .chip = "sm_90",
      .description = "Fake GPU, sm_90, 4 multiprocessors, 1024 MiB of memory",
      .setting = "HEDDLE_CUDA_LIBRARY",
      .visibleDevices = "CUDA_VISIBLE_DEVICES",
      .tooOld = "Heddle needs a driver for CUDA 12.0 or newer",
      .invalidValue = "CUDA_ERROR_INVALID_VALUE (1)",
      .outOfMemory = "CUDA_ERROR_OUT_OF_MEMORY (2)",
      .noDevice = "CUDA_ERROR_NO_DEVICE (100)",
      .captureInvalidated = "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED (901)",
      .fault = "CUDA_ERROR_ILLEGAL_ADDRESS (700)",
      .init = "cuInit",
      .deviceGetName = "cuDeviceGetName",
      .currentDevice = "cuCtxGetCurrent",
      .deviceCanAccessPeer = "cuDeviceCanAccessPeer",
      .enablePeer = "cuCtxEnablePeerAccess",
      .memoryGetInfo = "cuMemGetInfo_v2",
      .memoryAllocate = "cuMemAlloc_v2",
      .memoryFree = "cuMemFree_v2",
      .hostAllocate = "cuMemHostAlloc",
      .hostFree = "cuMemFreeHost",
      .copyToDevice = "cuMemcpyHtoDAsync_v2",
      .copyToHost = "cuMemcpyDtoHAsync_v2",
      .copyOnDevice = "cuMemcpyDtoDAsync_v2",
      .copyBetween = "cuMemcpyPeerAsync",
      .fillBytes = "cuMemsetD8Async",
      .streamCreate = "cuStreamCreateWithPriority",
      .streamSynchronize = "cuStreamSynchronize",
      .streamWaitEvent = "cuStreamWaitEvent",
      .streamBeginCapture = "cuStreamBeginCapture_v2",
      .streamEndCapture = "cuStreamEndCapture",
      .graphInstantiate = "cuGraphInstantiateWithFlags",
      .eventCreate = "cuEventCreate",
      .eventRecord = "cuEventRecord",
      .launchHostFunction = "cuLaunchHostFunc",
      .launchKernel = "cuLaunchKernel",
      .launchCooperative = "cuLaunchCooperativeKernel",
      .maxActiveBlocks = "cuOccupancyMaxActiveBlocksPerMultiprocessor",
      .openingCalls = {"cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain"},
      .loadingCalls = {"cuLinkCreate_v2", "cuLinkComplete", "cuModuleLoadDataEx", "cuModuleGetFunction",
                       "cuFuncGetAttribute", "cuFuncLoad", "cuCtxGetLimit"},
      .kernel = cudaPackage("touch", ".visible .entry touch(.param .u64 out, .param .u64 record)\n{ ret; }\n",
                            {pointerArgument("out")}),
      .anotherKernel = fillPackage(),
      .faultyKernel = emptyPackage("illegal"),
      .residentBlocks = 8,
      .residentText = "4 multiprocessors with 2 blocks each",
      .freshFake = []() -> FakeGpu & { return fakeCuda() = FakeCuda(); },
      .makeDriver = [](const std::string &library) -> std::unique_ptr<GpuDriver> {
        return std::make_unique<CudaDriver>(library);
      }};
  return vendor;
}

namespace {

class CudaDriverTest : public CudaTest {};

TEST_F(CudaDriverTest, TheContextOfADeviceIsRetainedOnce) {
  auto first = driver.open(0), second = driver.open(1);
  second.reset();
  driver.open(1);
  EXPECT_EQ(fake.count("cuDevicePrimaryCtxRetain"), 2);
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
