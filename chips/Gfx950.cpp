// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AMD CDNA4. Source: AMD CDNA4 instruction set architecture; LLVM's AMDGPU user guide.
#include "chips/Chip.h"

namespace heddle {

using enum ElementType;

const Chip gfx950Chip = {
    .name = "gfx950",
    .description = "AMD Instinct MI350X, MI355X (CDNA4)",
    .vendor = Vendor::Amd,
    .threadsPerWarp = 64,
    .sharedMemoryBytes = 160 * 1024,
    .registersPerThread = 512, // vector and accumulation registers together
    .computeUnits = 256,
    .memoryBytes = int64_t(288) << 30,
    .fp8 = Fp8Formats::Ocp,
    .matrixTypes = {F64, F32, F16, BF16, F8E4M3FN, F8E5M2, I8},
    .peerAtomics = true,
    // xGMI: eight MI350X have a link for each pair; 52 to 56 GB/s of it are seen.
    .links = {.perPair = 1, .bytesPerSecond = 76'800'000'000, .usableBytesPerSecond = 54'000'000'000},
};

} // namespace heddle
