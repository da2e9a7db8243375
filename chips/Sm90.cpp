// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NVIDIA Hopper. Sources: CUDA C++ Programming Guide, compute capability 9.0 (sizes, barriers); PTX ISA 8.6 (mma,
// wgmma, cp.async, ldmatrix, atom, griddepcontrol); H100 architecture white paper (units, links). Shared memory is the
// opt-in maximum of one block, 227 KiB of the 228 KiB. The processor has what later chips do not have (wgmma).
#include "chips/Chip.h"

namespace heddle {

using enum ElementType;

const Chip sm90Chip = {
    .name = "sm_90",
    .description = "NVIDIA H100, H200 (Hopper)",
    .vendor = Vendor::Nvidia,
    .processor = "sm_90a",
    .threadsPerWarp = 32,
    .sharedMemoryBytes = 227 * 1024,
    .sharedMemoryBanks = 32,
    .registersPerThread = 255,
    .computeUnits = 132,
    .unit = {.simds = 4,
             .threads = 2048,
             .registers = 65536,
             .registerGranule = 8,
             .blocksWithBarrier = 32,
             .sharedMemoryGranuleBytes = 128},
    .fp8 = Fp8Formats::Ocp,
    .matrixTypes = {F64, F32, F16, BF16, F8E4M3FN, F8E5M2, I8, UI8}, // F32 as tf32
    .matmuls = {{MatrixOperand::F16, 16, 8, 16, "m16n8k16.row.col.f32.f32"},
                {MatrixOperand::BF16, 16, 8, 16, "m16n8k16.row.col.bf16"},
                {MatrixOperand::Fp8, 16, 8, 32, "m16n8k32.row.col.f32"},
                {MatrixOperand::TF32, 16, 8, 8, "m16n8k8.row.col.tf32"},
                {MatrixOperand::I8, 16, 8, 32, "m16n8k32.row.col.s8"}},
    .warpGroupMatmuls = true,
    .barriers = {.perBlock = 16, .ordersMemory = true},
    .sharedCopies = {.laneBits = {32, 64, 128}, .addressPerLane = true},
    .transposedReadBits = {16}, // ldmatrix.trans
    .matrixLoads = true,
    .globalSums = {AtomicSum::F32, AtomicSum::F64, AtomicSum::F16x2, AtomicSum::BF16x2},
    .dependentLaunches = true,
    .peerAtomics = true,
};

} // namespace heddle
