// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the tests say to a driver library without a GPU and ask of it, be it libcuda (FakeCuda.h) or libamdhip64
// (tests/fake_hip/).
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace heddle {

struct FakeLaunch {
  std::string entry;
  unsigned grid[3], block[3], sharedBytes;
  bool cooperative = false;
  bool dependent = false;
  std::vector<std::string> parameters = {}; ///< the bytes of each
  const void *stream = nullptr;
};

struct FakeGpu {
  int version; ///< as the library counts
  int devices = 2;
  bool peers = true;
  bool hold = false; ///< enqueued work waits for a host thread to synchronize; on simulated devices it always does

  struct Failure {
    int call;   ///< the first is 1
    int result; ///< what that call gives
  };
  std::map<std::string, Failure> failures; ///< by symbol

  std::vector<std::string> calls; ///< symbols, in order
  std::vector<std::string> waits; ///< calls that had to wait for work that was queued
  int64_t liveAllocations = 0, livePinned = 0, liveStreams = 0, liveEvents = 0, liveModules = 0, liveGraphs = 0;
  int lost = 0; ///< what every call gives after an error of a kernel

  int64_t count(const std::string &symbol) const { return std::count(calls.begin(), calls.end(), symbol); }

protected:
  explicit FakeGpu(int version) : version(version) {}
};

} // namespace heddle
