// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the figures of a chip, which stand beside it in its file.
#include "chips/TimingModel.h"
#include "support/Error.h"

namespace heddle {

const TimingModel &timingOf(const Chip &chip) {
  for (auto [each, model] : {std::pair(&gfx942Chip, &gfx942Timing), std::pair(&gfx950Chip, &gfx950Timing)})
    if (each->name == chip.name)
      return *model;
  throw internalError("no estimate of time for " + chip.name);
}

} // namespace heddle
