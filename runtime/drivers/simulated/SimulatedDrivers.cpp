// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Apart from the driver itself, because it brings in all drivers of the runtime.
#include "chips/Chip.h"
#include "runtime/Driver.h"
#include "runtime/drivers/simulated/SimulatedDriver.h"

namespace heddle {

void addSimulatedDrivers() {
  static const bool once = [] {
    for (const Chip *chip : simulatedChips())
      addDriver(*makeSimulatedDriver(*chip).release()); // devices of static objects may outlive a static one
    return true;
  }();
  (void)once;
}

} // namespace heddle
