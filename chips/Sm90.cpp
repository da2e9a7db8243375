// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NVIDIA Hopper. Source: CUDA C++ Programming Guide, compute capability 9.0; PTX ISA, wgmma. Shared memory is the
// opt-in maximum of one block, 227 KiB of the 228 KiB.
#include "chips/Chip.h"

namespace heddle {

using enum ElementType;

const Chip sm90Chip = {
    .name = "sm_90",
    .description = "NVIDIA H100, H200 (Hopper)",
    .vendor = Vendor::Nvidia,
    .threadsPerWarp = 32,
    .sharedMemoryBytes = 227 * 1024,
    .registersPerThread = 255,
    .computeUnits = 132,
    .fp8 = Fp8Formats::Ocp,
    .matrixTypes = {F64, F32, F16, BF16, F8E4M3FN, F8E5M2, I8, UI8}, // F32 as tf32
    .peerAtomics = true,
};

} // namespace heddle
