// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the tests say to the libamdhip64 on top of the simulator (FakeHip.cpp) and ask of it. The loaded library gives
// its only FakeHip by the symbol `fakeHip`.
#pragma once
#include "tests/fake_gpu/FakeGpu.h"

namespace heddle {

struct FakeHip : FakeGpu {
  FakeHip() : FakeGpu(60342131) {}

  std::string architecture = "gfx942:sramecc+:xnack-"; ///< of all devices
  uint32_t linkType = 4, hops = 1;                     ///< between any two; 4 is xGMI

  std::vector<unsigned> kinds; ///< of memory, as hipExtMallocWithFlags names them; 0 for hipMalloc
};

} // namespace heddle
