// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the tests say to the fake libnccl (FakeNccl.cpp) and ask of it. A loaded fake gives its only FakeNccl by the
// symbol `fakeNccl`.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace heddle {

struct FakeNccl {
  int version = 22703;
  std::map<std::string, int> failures; ///< what a symbol's next call gives
  std::string lastError;               ///< ncclGetLastError's

  std::vector<std::string> calls; ///< symbols, in order
  std::vector<int> devices;       ///< of the latest ncclCommInitAll
  std::string multicast;          ///< NCCL_NVLS_ENABLE at that call
  int64_t liveCommunicators = 0;
};

} // namespace heddle
