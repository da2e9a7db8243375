// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The processor that Heddle itself runs on. One program instance is one thread; there is no shared memory.
#include "chips/Chip.h"

namespace heddle {

const Chip hostChip = {
    .name = "host",
    .description = "the processor of this machine",
    .registersPerThread = 32,
    .peerAtomics = true, // host devices are threads of one process
};

} // namespace heddle
