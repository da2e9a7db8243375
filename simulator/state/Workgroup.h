// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the waves of one workgroup share: LDS and the barrier.
#pragma once
#include "simulator/state/Wave.h"
#include <memory>

namespace heddle::simulator {

struct Workgroup {
  uint32_t id[3] = {0, 0, 0};
  uint32_t device = 0; ///< index of the device on which it runs
  uint32_t launch = 0; ///< of the machine's, in the order in which they began
  std::vector<uint8_t> lds;
  std::vector<std::unique_ptr<Wave>> waves;
  uint32_t arrived = 0; ///< waves at the barrier
  uint32_t ended = 0;

  /// The barrier knows no site: it opens when every wave that has not ended has arrived.
  bool barrierIsComplete() const { return arrived > 0 && arrived + ended == waves.size(); }
};

} // namespace heddle::simulator
