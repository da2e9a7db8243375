// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the tests say to the fake libcuda (FakeCuda.cpp) and ask of it. A loaded fake gives its only FakeCuda by the
// symbol `fakeCuda`.
#pragma once
#include "tests/fake_gpu/FakeGpu.h"
#include <functional>

namespace heddle {

/// What the fake writes as a tensor map. Axes from the innermost one, which has no stride.
struct FakeTensorMap {
  uint64_t address, sizes[5], strides[4];
  uint32_t type, rank;
  uint8_t box[5]; ///< elements less one
  uint8_t steps[5], interleave, swizzle, promotion, outside;
};
static_assert(sizeof(FakeTensorMap) <= 128);

/// Two GPUs of host memory. Kernels do nothing, but for `fill_words(pointer, value, count, record)`, which fills, and
/// `illegal`, after which every call fails, and `say(number, record)`, whose programs 1 and 0 print a number (site 0)
/// and, if it is above 9, program 1 fails at site 1, element 7.
struct FakeCuda : FakeGpu {
  FakeCuda() : FakeGpu(13000) {}

  int major = 9, minor = 0, multiprocessors = 4, sharedPerBlock = 232448;
  int blocksPerMultiprocessor = 2, maxThreads = 1024;
  uint64_t memoryBytes = uint64_t(1) << 30; ///< of each device
  int firstUuid = 1;                        ///< what the ids of the GPUs differ by
  bool hasDescriptors = true;               ///< memory goes to other processes by descriptors
  int64_t liveReservations = 0;             ///< ranges of addresses, and memory of other processes
  bool loadsPtx = false;                    ///< cuModuleLoadDataEx takes text

  std::function<void()> afterQuery; ///< called once, when cuStreamQuery has its answer

  std::vector<FakeLaunch> launches;
  std::vector<std::vector<void *>> recordNodes; ///< records of events in graphs, 1 and so on: the nodes before each
  int externalWaits = 0;                        ///< waits of graphs for events of others
  int jitTarget = 0;                            ///< that the last compilation asked for
};

/// Node `number` of a capture that is work: the first is 1.
inline void *capturedNode(int number) {
  return reinterpret_cast<void *>(uint64_t(number) << 32);
}

} // namespace heddle
