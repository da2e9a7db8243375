// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the tests of both vendors' drivers need to know of HIP and of its fake.
#include "tests/fake_hip/HipTestSupport.h"

using namespace heddle;

const GpuVendor &heddle::testedVendor() {
  static const GpuVendor vendor = {
      .name = "hip",
      .title = "HIP",
      .library = "HIP runtime",
      .fakeLibrary = "test/libamdhip64.so",
      .version = "HIP 6.3",
      .chip = "gfx942",
      .description = "Simulated GPU, gfx942, 304 compute units, 196608 MiB of memory",
      .setting = "HEDDLE_HIP_LIBRARY",
      .visibleDevices = "HIP_VISIBLE_DEVICES",
      .tooOld = "Heddle needs HIP of ROCm 6.0 or newer",
      .invalidValue = "hipErrorInvalidValue (1)",
      .outOfMemory = "hipErrorOutOfMemory (2)",
      .noDevice = "hipErrorNoDevice (100)",
      .captureInvalidated = "hipErrorStreamCaptureInvalidated (901)",
      .fault = "hipErrorLaunchFailure (719)",
      .init = "hipInit",
      .deviceGetName = "hipDeviceGetName",
      .currentDevice = "hipGetDevice",
      .deviceCanAccessPeer = "hipDeviceCanAccessPeer",
      .enablePeer = "hipDeviceEnablePeerAccess",
      .memoryGetInfo = "hipMemGetInfo",
      .memoryAllocate = "hipMalloc",
      .memoryFree = "hipFree",
      .hostAllocate = "hipHostMalloc",
      .hostFree = "hipHostFree",
      .copyToDevice = "hipMemcpyHtoDAsync",
      .copyToHost = "hipMemcpyDtoHAsync",
      .copyOnDevice = "hipMemcpyDtoDAsync",
      .copyBetween = "hipMemcpyPeerAsync",
      .fillBytes = "hipMemsetD8Async",
      .streamCreate = "hipStreamCreateWithPriority",
      .streamSynchronize = "hipStreamSynchronize",
      .streamWaitEvent = "hipStreamWaitEvent",
      .streamBeginCapture = "hipStreamBeginCapture",
      .streamEndCapture = "hipStreamEndCapture",
      .graphInstantiate = "hipGraphInstantiateWithFlags",
      .eventCreate = "hipEventCreateWithFlags",
      .eventRecord = "hipEventRecord",
      .launchHostFunction = "hipLaunchHostFunc",
      .launchKernel = "hipModuleLaunchKernel",
      .launchCooperative = "hipModuleLaunchCooperativeKernel",
      .maxActiveBlocks = "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",
      .openingCalls = {"hipDeviceGet", "hipDeviceGetName", "hipGetDevicePropertiesR0600", "hipDeviceGetAttribute"},
      .loadingCalls = {"hipModuleLoadData", "hipModuleGetFunction", "hipFuncGetAttribute"},
      .kernel = hipPackage("early_end"),
      .anotherKernel = hipPackage("vector_add", 256),
      .faultyKernel = hipPackage("traps"),
      .residentBlocks = 304 * 32,
      .residentText = "304 compute units with 32 blocks each",
      .freshFake = []() -> FakeGpu & { return fakeHip() = FakeHip(); },
      .makeDriver = [](const std::string &library) -> std::unique_ptr<GpuDriver> {
        return std::make_unique<HipDriver>(library);
      }};
  return vendor;
}
