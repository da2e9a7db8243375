// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the tests say to the fake libcuda (FakeCuda.cpp) and ask of it. A loaded fake gives its only FakeCuda by the
// symbol `fakeCuda`.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace heddle {

struct FakeLaunch {
  std::string entry;
  unsigned grid[3], block[3], sharedBytes;
  bool cooperative = false;
  unsigned cluster = 1;
  std::vector<std::string> parameters; ///< the bytes of each
};

/// Two GPUs of host memory. Kernels do nothing, but for `fill_words(pointer, value, count, record)`, which fills, and
/// `illegal`, after which every call fails, and `say(number, record)`, whose programs 1 and 0 print a number (site 0)
/// and, if it is above 9, program 1 fails at site 1, element 7.
struct FakeCuda {
  int devices = 2, major = 9, minor = 0, version = 13000, multiprocessors = 4, sharedPerBlock = 232448;
  int blocksPerMultiprocessor = 2, maxThreads = 1024;
  bool peers = true;
  uint64_t memoryBytes = uint64_t(1) << 30; ///< of each device
  bool loadsPtx = false;                    ///< cuModuleLoadDataEx takes text
  bool hold = false;                        ///< enqueued work waits for somebody to synchronize

  struct Failure {
    int call;   ///< the first is 1
    int result; ///< what that call gives
  };
  std::map<std::string, Failure> failures; ///< by symbol

  std::function<void()> afterQuery; ///< called once, when cuStreamQuery has its answer

  std::vector<std::string> calls; ///< symbols, in order
  std::vector<FakeLaunch> launches;
  int64_t liveAllocations = 0, livePinned = 0, liveStreams = 0, liveEvents = 0, liveModules = 0, liveGraphs = 0;
  std::vector<std::string> waits; ///< calls that would have waited for work that was queued
  int jitTarget = 0;              ///< that the last compilation asked for
  int lost = 0;                   ///< what every call gives after an error of a kernel

  int64_t count(const std::string &symbol) const {
    int64_t sum = 0;
    for (const std::string &call : calls)
      sum += call == symbol;
    return sum;
  }
};

} // namespace heddle
