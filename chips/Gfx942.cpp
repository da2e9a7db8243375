// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AMD CDNA3. Sources: AMD Instinct MI300 instruction set architecture (sizes, matrix, atomic and memory instructions);
// LLVM's AMDGPU user guide and the processor's features in its back end (what is one instruction, granules); AMD
// CDNA 3 white paper (units, dies, links).
#include "chips/Chip.h"
#include "chips/TimingModel.h"

namespace heddle {

using enum ElementType;

const Chip gfx942Chip = {
    .name = "gfx942",
    .description = "AMD Instinct MI300A, MI300X, MI325X (CDNA3)",
    .vendor = Vendor::Amd,
    .processor = "gfx942",
    .simulated = InstructionSet::Cdna3,
    .threadsPerWarp = 64,
    .sharedMemoryBytes = 64 * 1024,
    .sharedMemoryBanks = 32,
    .registersPerThread = 512, // vector and accumulation registers together
    .computeUnits = 304,
    .unit = {.simds = 4,
             .threads = 2048, // 8 waves of each SIMD
             .registers = 131072,
             .registerGranule = 8,
             .scalarRegistersPerSimd = 800,
             .scalarRegisterGranule = 16,
             .blocksWithBarrier = 16,
             .sharedMemoryGranuleBytes = 512},
    .dies = 8,
    .memoryBytes = int64_t(192) << 30, // MI300X
    .fp8 = Fp8Formats::Fnuz,
    .matrixTypes = {F64, F32, F16, BF16, F8E4M3FNUZ, F8E5M2FNUZ, I8},
    .matmuls = {{MatrixOperand::F16, 32, 32, 8, "f32.32x32x8f16"},
                {MatrixOperand::F16, 16, 16, 16, "f32.16x16x16f16"},
                {MatrixOperand::BF16, 32, 32, 8, "f32.32x32x8bf16.1k"},
                {MatrixOperand::BF16, 16, 16, 16, "f32.16x16x16bf16.1k"},
                {MatrixOperand::I8, 32, 32, 16, "i32.32x32x16.i8"},
                {MatrixOperand::I8, 16, 16, 32, "i32.16x16x32.i8"},
                {MatrixOperand::Fp8, 32, 32, 16, "f32.32x32x16"},
                {MatrixOperand::Fp8, 16, 16, 32, "f32.16x16x32"},
                {MatrixOperand::TF32, 32, 32, 4, "f32.32x32x4.xf32"},
                {MatrixOperand::TF32, 16, 16, 8, "f32.16x16x8.xf32"},
                {MatrixOperand::F32, 32, 32, 2, "f32.32x32x2f32"},
                {MatrixOperand::F32, 16, 16, 4, "f32.16x16x4f32"},
                {MatrixOperand::F64, 16, 16, 4, "f64.16x16x4f64"},
                // of 4 x 64: 16 instructions of 16 blocks each, which read the same A
                {MatrixOperand::F16, 4, 64, 64, "f32.4x4x4f16"},
                {MatrixOperand::BF16, 4, 64, 64, "f32.4x4x4bf16.1k"},
                {MatrixOperand::I8, 4, 64, 64, "i32.4x4x4i8"},
                {MatrixOperand::F32, 4, 64, 16, "f32.4x4x1f32"}},
    .barriers = {.perBlock = 1, .ordersMemory = false},
    .sharedCopies = {.laneBits = {32}, .addressPerLane = false},
    .globalSums = {AtomicSum::F32, AtomicSum::F64, AtomicSum::F16x2, AtomicSum::BF16x2},
    .bufferSums = {AtomicSum::F32, AtomicSum::F64, AtomicSum::F16x2},
    .peerAtomics = true,
    // xGMI: eight MI300X have a link for each pair; 46 to 50 GB/s of it are seen.
    .links = {.perPair = 1, .bytesPerSecond = 64'000'000'000, .usableBytesPerSecond = 48'000'000'000},
};

// Sources: AMD Instinct MI300X data sheet (clock, memory); CDNA 3 white paper (LDS, caches and their widths,
// transcendental operations at a quarter of the rate). Latencies, queues and the attainable share are assumed.
const TimingModel gfx942Timing = {
    .clockHz = 2.1e9,
    .product = "MI300X",
    .transcendentalPasses = 4,
    .matrixOperationsPerCycle = 512,
    .ldsReadBytesPerCycle = 128, // 32 banks of 4 bytes
    .ldsWriteBytesPerCycle = 128,
    .unitBytesPerCycle = 53, // L2 gives an XCD 16 channels x 128 bytes a cycle, for 38 compute units
    .lastLevelBytesPerSecond = 17.2e12,
    .memoryBytesPerSecond = 5.3e12,
    .attainableShare = 0.8,
};

} // namespace heddle
