// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the tests say to the libamdhip64 on top of the simulator (FakeHip.cpp) and ask of it. The loaded library gives
// its only FakeHip by the symbol `fakeHip`.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace heddle {

struct FakeHip {
  int devices = 2, version = 60342131;
  std::string architecture = "gfx942:sramecc+:xnack-"; ///< of all devices
  bool peers = true;
  uint32_t linkType = 4, hops = 1; ///< between any two; 4 is xGMI

  struct Failure {
    int call;   ///< the first is 1
    int result; ///< what that call gives
  };
  std::map<std::string, Failure> failures; ///< by symbol

  std::vector<std::string> calls; ///< symbols, in order
  std::vector<std::string> waits; ///< calls that had to wait for work that was queued
  std::vector<unsigned> kinds;    ///< of memory, as hipExtMallocWithFlags names them; 0 for hipMalloc
  int64_t liveAllocations = 0, livePinned = 0, liveStreams = 0, liveEvents = 0, liveModules = 0, liveGraphs = 0;
  int lost = 0; ///< what every call gives after an error of a kernel

  int64_t count(const std::string &symbol) const {
    int64_t sum = 0;
    for (const std::string &call : calls)
      sum += call == symbol;
    return sum;
  }
};

} // namespace heddle
