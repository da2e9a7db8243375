// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NVIDIA Hopper. Sources: CUDA C++ Programming Guide, compute capability 9.0 (sizes, barriers); PTX ISA 8.6 (mma,
// wgmma, cp.async, ldmatrix, atom, griddepcontrol); H100 architecture white paper (units, links). Shared memory is the
// opt-in maximum of one block, 227 KiB of the 228 KiB. The processor has what later chips do not have (wgmma).
#include "chips/Chip.h"
#include <climits>

namespace heddle {

using enum ElementType;

namespace {

constexpr int64_t kB = 1 << 10, MB = 1 << 20;

/// Packets need one way between devices where a barrier and a read need three, but those with flags carry half of what
/// the links could. Measured on two and four H200 by `heddle bench COLLECTIVE -d bf16 --device cuda -G 10 -n 20` with
/// `--devices`, `--algorithm`, `--packets`, `--blocks`, `--warps` and `--tile`; rows: docs/performance.md. Two ranks
/// take one shot whatever is `staged`.
constexpr CollectiveTable pair = {
    .mostRanks = 2,
    .limits = {.ll = {.oneShot = 256 * kB,
                      .twoShot = 256 * kB,
                      .gathered = 512 * kB,
                      .scattered = 512 * kB,
                      .swapped = 512 * kB},
               .lamport =
                   {.oneShot = 8 * MB, .twoShot = 8 * MB, .gathered = 8 * MB, .scattered = 32 * MB, .swapped = 16 * MB},
               .oneShot = 2 * MB,
               .staged = 1 * MB,
               .copied = 1 * MB,
               .read = 8 * MB},
    .packetBlocks = 128,
    .singlePacketBytes = 1 * MB,
    .manyBlocksBytes = 512 * kB,
    .mostWarps = 16,
    .lamportWarps = 4,
    .twoWordsBytes = 512 * kB,
    .takesRows = true,
};

/// Three and more, as four. Estimated are the limits of Lamport's packets that are gathered and swapped, from those of
/// two ranks, and `staged`: that a second barrier takes as long as 1 MB from three peers. A row is one block, which has
/// all that goes over the links: more ranks had better not take them.
constexpr CollectiveTable group = {
    .mostRanks = INT_MAX,
    .limits = {.ll = {.oneShot = 128 * kB,
                      .twoShot = 256 * kB,
                      .gathered = 512 * kB,
                      .scattered = 512 * kB,
                      .swapped = 256 * kB},
               .lamport = {.oneShot = 128 * kB,
                           .twoShot = 8 * MB,
                           .gathered = 8 * MB,
                           .scattered = 16 * MB,
                           .swapped = 8 * MB},
               .oneShot = 128 * kB,
               .staged = 1 * MB,
               .copied = 1 * MB,
               .read = 4 * MB},
    .packetBlocks = 128,
    .singlePacketBytes = 64 * kB,
    .manyBlocksBytes = 4 * MB,
    .mostWarps = 16,
    .lamportWarps = 8,
    .twoWordsBytes = INT64_MAX,
    .takesRows = false,
};

} // namespace

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
    // NVLink 4 through a switch: 18 links of 25 GB/s; four H200 that write at once carry 346 GB/s each
    // (docs/performance.md).
    .links = {.perPair = 0, .bytesPerSecond = 450'000'000'000, .usableBytesPerSecond = 346'000'000'000},
    .collectives = {pair, group},
};

} // namespace heddle
