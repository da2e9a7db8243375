// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each limit of the occupancy alone, at the edges of its granules.
#include "binary/AmdOccupancy.h"
#include <gtest/gtest.h>

namespace heddle {
namespace {

/// A kernel whose descriptor allocates so many registers.
AmdKernel kernelOf(uint32_t vectorRegisters, uint32_t scalarRegisters = 32, uint32_t ldsBytes = 0) {
  AmdKernel kernel;
  kernel.resource1 = (vectorRegisters / 8 - 1) | (scalarRegisters / 16 - 1) * 2 << 6;
  kernel.groupBytes = ldsBytes;
  EXPECT_EQ(kernel.vectorRegisters(), vectorRegisters);
  EXPECT_EQ(kernel.scalarRegisters(), scalarRegisters);
  return kernel;
}

void expect(const AmdOccupancy &actual, int64_t groups, int64_t wavesPerSimd, std::string limit) {
  EXPECT_EQ(actual.groupsPerUnit, groups);
  EXPECT_EQ(actual.wavesPerSimd, wavesPerSimd);
  EXPECT_EQ(actual.limit(), limit);
}

TEST(AmdOccupancy, WavesAndBarriers) {
  expect(occupancyOf(kernelOf(8), gfx942Chip, 64, 0), 32, 8, "waves");
  expect(occupancyOf(kernelOf(8), gfx942Chip, 65, 0), 16, 8, "waves");
  expect(occupancyOf(kernelOf(8), gfx942Chip, 256, 0), 8, 8, "waves");
  expect(occupancyOf(kernelOf(8), gfx942Chip, 1024, 0), 2, 8, "waves");
  expect(occupancyOf(kernelOf(8), gfx942Chip, 192, 0), 10, 8, "waves");
}

TEST(AmdOccupancy, VectorRegisters) {
  expect(occupancyOf(kernelOf(64), gfx942Chip, 256, 0), 8, 8, "waves");
  expect(occupancyOf(kernelOf(72), gfx942Chip, 256, 0), 7, 7, "vector registers");
  expect(occupancyOf(kernelOf(208), gfx942Chip, 256, 0), 2, 2, "vector registers");
  expect(occupancyOf(kernelOf(512), gfx942Chip, 256, 0), 1, 1, "vector registers");
  expect(occupancyOf(kernelOf(264), gfx942Chip, 512, 0), 0, 0, "vector registers");
}

TEST(AmdOccupancy, ScalarRegisters) {
  expect(occupancyOf(kernelOf(8, 96), gfx942Chip, 256, 0), 8, 8, "waves");
  expect(occupancyOf(kernelOf(8, 112), gfx942Chip, 256, 0), 7, 7, "scalar registers");
}

TEST(AmdOccupancy, LdsInGranules) {
  expect(occupancyOf(kernelOf(8, 32, 16384), gfx942Chip, 256, 0), 4, 4, "LDS");
  expect(occupancyOf(kernelOf(8, 32, 16384), gfx942Chip, 256, 1), 3, 3, "LDS");
  expect(occupancyOf(kernelOf(8, 32, 16385), gfx942Chip, 256, 0), 3, 3, "LDS");
  expect(occupancyOf(kernelOf(8), gfx950Chip, 256, 160 * 1024), 1, 1, "LDS");
  expect(occupancyOf(kernelOf(8), gfx950Chip, 256, 32000), 5, 5, "LDS");
  expect(occupancyOf(kernelOf(8), gfx950Chip, 256, 32001), 4, 4, "LDS");
  expect(occupancyOf(kernelOf(8), gfx942Chip, 256, 65537), 0, 0, "LDS");
}

TEST(AmdOccupancy, MoreAllocatedThanUsed) {
  AmdKernel kernel = kernelOf(264, 112, 40000);
  kernel.registers.vector = 20;
  kernel.registers.scalar = 8;
  expect(occupancyOf(kernel, gfx942Chip, 256, 0), 1, 1, "LDS");
  kernel.groupBytes = 0;
  expect(occupancyOf(kernel, gfx942Chip, 256, 0), 1, 1, "allocated registers");
}

} // namespace
} // namespace heddle
