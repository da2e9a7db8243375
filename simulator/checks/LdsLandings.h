// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What loads to LDS brought there, as long as another write of the same bytes may not be ordered with them: to tell
// whether two waves brought the same.
#pragma once
#include "simulator/memory/MemoryRequest.h"
#include <array>
#include <memory>
#include <vector>

namespace heddle::simulator {

struct LdsLanding {
  uint32_t stream = 0, time = 0; ///< of LdsShadow
  uint32_t ldsBase = 0, stride = 4;
  std::array<uint32_t, mostWordsPerLane * waveLanes> data; ///< as MemoryRequest::data
  /// Of `bytes`, 1 or 4, at an address in LDS that the lane wrote.
  uint32_t valueAt(uint32_t address, unsigned bytes, unsigned lane) const {
    uint32_t offset = address - ldsBase - lane * stride;
    uint32_t word = data[offset / 4 * waveLanes + lane];
    return bytes == 4 ? word : word >> 8 * (offset & 3) & 0xff;
  }
};

class LdsLandings {
public:
  /// Of a workgroup: 1 MiB. The oldest one is forgotten where there are more.
  static constexpr size_t most = 1024;

  void clear() { landings.clear(); }
  void add(uint32_t stream, uint32_t time, const MemoryRequest &request);
  /// Null when it has not landed, or is forgotten.
  const LdsLanding *find(uint32_t stream, uint32_t time) const;
  /// Those up to this time are over for all waves.
  void forgetUpTo(uint32_t time);

private:
  std::vector<std::unique_ptr<LdsLanding>> landings, spare;
};

} // namespace heddle::simulator
