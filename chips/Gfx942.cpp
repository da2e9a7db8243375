// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AMD CDNA3. Source: AMD Instinct MI300 instruction set architecture; LLVM's AMDGPU user guide.
#include "chips/Chip.h"

namespace heddle {

using enum ElementType;

const Chip gfx942Chip = {
    .name = "gfx942",
    .description = "AMD Instinct MI300A, MI300X, MI325X (CDNA3)",
    .vendor = Vendor::Amd,
    .threadsPerWarp = 64,
    .sharedMemoryBytes = 64 * 1024,
    .registersPerThread = 512, // vector and accumulation registers together
    .computeUnits = 304,
    .memoryBytes = int64_t(192) << 30, // MI300X
    .fp8 = Fp8Formats::Fnuz,
    .matrixTypes = {F64, F32, F16, BF16, F8E4M3FNUZ, F8E5M2FNUZ, I8},
    .peerAtomics = true,
    // xGMI: eight MI300X have a link for each pair; 46 to 50 GB/s of it are seen.
    .links = {.perPair = 1, .bytesPerSecond = 64'000'000'000, .usableBytesPerSecond = 48'000'000'000},
};

} // namespace heddle
