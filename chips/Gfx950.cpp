// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AMD CDNA4. Sources: AMD CDNA4 instruction set architecture (sizes, matrix, atomic and memory instructions); LLVM's
// AMDGPU user guide and the processor's features in its back end (what is one instruction, granules); AMD CDNA 4 white
// paper (units, dies, links).
#include "chips/Chip.h"
#include "chips/TimingModel.h"

namespace heddle {

using enum ElementType;

const Chip gfx950Chip = {
    .name = "gfx950",
    .description = "AMD Instinct MI350X, MI355X (CDNA4)",
    .vendor = Vendor::Amd,
    .processor = "gfx950",
    .simulated = InstructionSet::Cdna4,
    .threadsPerWarp = 64,
    .sharedMemoryBytes = 160 * 1024,
    .sharedMemoryBanks = 64,
    .registersPerThread = 512, // vector and accumulation registers together
    .computeUnits = 256,
    .unit = {.simds = 4,
             .threads = 2048, // 8 waves of each SIMD
             .registers = 131072,
             .registerGranule = 8,
             .scalarRegistersPerSimd = 800,
             .scalarRegisterGranule = 16,
             .blocksWithBarrier = 16,
             .sharedMemoryGranuleBytes = 1280},
    .dies = 8,
    .memoryBytes = int64_t(288) << 30,
    .cachesHostMemory = true,
    .fp8 = Fp8Formats::Ocp,
    .matrixTypes = {F64, F32, F16, BF16, F8E4M3FN, F8E5M2, I8},
    .matmuls = {{MatrixOperand::F16, 32, 32, 16, "f32.32x32x16.f16"},
                {MatrixOperand::F16, 16, 16, 32, "f32.16x16x32.f16"},
                {MatrixOperand::F16, 32, 32, 8, "f32.32x32x8f16"},
                {MatrixOperand::F16, 16, 16, 16, "f32.16x16x16f16"},
                {MatrixOperand::BF16, 32, 32, 16, "f32.32x32x16.bf16"},
                {MatrixOperand::BF16, 16, 16, 32, "f32.16x16x32.bf16"},
                {MatrixOperand::BF16, 32, 32, 8, "f32.32x32x8bf16.1k"},
                {MatrixOperand::BF16, 16, 16, 16, "f32.16x16x16bf16.1k"},
                {MatrixOperand::I8, 32, 32, 32, "i32.32x32x32.i8"},
                {MatrixOperand::I8, 16, 16, 64, "i32.16x16x64.i8"},
                {MatrixOperand::I8, 32, 32, 16, "i32.32x32x16.i8"},
                {MatrixOperand::I8, 16, 16, 32, "i32.16x16x32.i8"},
                {MatrixOperand::Fp8, 32, 32, 16, "f32.32x32x16"},
                {MatrixOperand::Fp8, 16, 16, 32, "f32.16x16x32"},
                {MatrixOperand::F32, 32, 32, 2, "f32.32x32x2f32"},
                {MatrixOperand::F32, 16, 16, 4, "f32.16x16x4f32"},
                {MatrixOperand::F64, 16, 16, 4, "f64.16x16x4f64"},
                // of 4 x 64: 16 instructions of 16 blocks each, which read the same A
                {MatrixOperand::F16, 4, 64, 64, "f32.4x4x4f16"},
                {MatrixOperand::BF16, 4, 64, 64, "f32.4x4x4bf16.1k"},
                {MatrixOperand::I8, 4, 64, 64, "i32.4x4x4i8"},
                {MatrixOperand::F32, 4, 64, 16, "f32.4x4x1f32"}},
    .scaledMatmuls = true,
    .barriers = {.perBlock = 1, .ordersMemory = false},
    .sharedCopies = {.laneBits = {32, 96, 128}, .addressPerLane = false},
    .transposedReadBits = {4, 6, 8, 16}, // ds_read_b64_tr_b4, ds_read_b96_tr_b6, ds_read_b64_tr_b8, _b16
    .globalSums = {AtomicSum::F32, AtomicSum::F64, AtomicSum::F16x2, AtomicSum::BF16x2},
    .bufferSums = {AtomicSum::F32, AtomicSum::F64, AtomicSum::F16x2, AtomicSum::BF16x2},
    .laneSwaps = true,
    .narrowingPairs = true,
    .nanKeepingExtrema = true,
    .scaledConversions = true,
    .peerAtomics = true,
    // xGMI: eight MI350X have a link for each pair; 52 to 56 GB/s of it are seen.
    .links = {.perPair = 1, .bytesPerSecond = 76'800'000'000, .usableBytesPerSecond = 54'000'000'000},
};

// Sources: AMD Instinct MI355X data sheet (clock, memory); reports of its announcement (LDS that reads twice as much in
// a cycle); CDNA 4 white paper (caches, transcendental operations at twice the rate of CDNA 3). Latencies, queues, the
// attainable share and the rate of the last-level cache are assumed.
const TimingModel gfx950Timing = {
    .clockHz = 2.4e9,
    .product = "MI355X",
    .transcendentalPasses = 2,
    .matrixOperationsPerCycle = 1024,
    .ldsReadBytesPerCycle = 256, // 64 banks of 4 bytes
    .ldsWriteBytesPerCycle = 128,
    .unitBytesPerCycle = 64, // L2 gives an XCD 16 channels x 128 bytes a cycle, for 32 compute units
    .lastLevelBytesPerSecond = 17.2e12,
    .memoryBytesPerSecond = 8e12,
    .attainableShare = 0.8,
};

} // namespace heddle
