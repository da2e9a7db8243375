// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each limit on its own, in the granules in which hardware allocates; the smallest one counts.
#include "binary/AmdOccupancy.h"
#include <algorithm>

namespace heddle {
namespace {

int64_t roundUp(int64_t value, int64_t granule) {
  return (value + granule - 1) / granule * granule;
}

} // namespace

const char *AmdOccupancy::limit() const {
  if (byWaves == groupsPerUnit)
    return "waves";
  if (byVectorRegisters == groupsPerUnit)
    return "vector registers";
  if (byLds == groupsPerUnit)
    return "LDS";
  return byScalarRegisters == groupsPerUnit ? "scalar registers" : "allocated registers";
}

AmdOccupancy occupancyOf(const AmdKernel &kernel, const Chip &chip, int64_t workItems, int64_t dynamicLdsBytes) {
  const ComputeUnit &unit = chip.unit;
  const int64_t simds = unit.simds, lanes = chip.threadsPerWarp, mostWavesPerSimd = unit.threads / (simds * lanes);
  const int64_t vectorRegistersPerSimd = unit.registers / (simds * lanes); // a wave's registers are of one SIMD
  const int64_t scalarRegistersPerSimd = unit.scalarRegistersPerSimd;
  AmdOccupancy result;
  result.wavesPerGroup = std::max<int64_t>(1, (workItems + lanes - 1) / lanes);
  auto groupsOf = [&](int64_t wavesPerSimd) {
    return simds * std::min(wavesPerSimd, mostWavesPerSimd) / result.wavesPerGroup;
  };
  result.byWaves = groupsOf(mostWavesPerSimd);
  if (result.wavesPerGroup > 1) // one wave needs no barrier
    result.byWaves = std::min(result.byWaves, int64_t(unit.blocksWithBarrier));
  auto groupsByRegisters = [&](int64_t ofSimd, int64_t ofWave) { return groupsOf(ofSimd / ofWave); };
  auto used = [](uint32_t count, int64_t granule, int64_t allocated) {
    return count ? std::min(roundUp(count, granule), allocated) : allocated;
  };
  int64_t vector = kernel.vectorRegisters(), scalar = kernel.scalarRegisters();
  result.byVectorRegisters =
      groupsByRegisters(vectorRegistersPerSimd, used(kernel.registers.vector, unit.registerGranule, vector));
  result.byScalarRegisters =
      groupsByRegisters(scalarRegistersPerSimd, used(kernel.registers.scalar, unit.scalarRegisterGranule, scalar));
  int64_t lds = int64_t(kernel.groupBytes) + dynamicLdsBytes;
  result.byLds = lds ? chip.sharedMemoryBytes / roundUp(lds, unit.sharedMemoryGranuleBytes) : result.byWaves;
  result.groupsPerUnit =
      std::min({result.byWaves, result.byVectorRegisters, result.byScalarRegisters, result.byLds,
                groupsByRegisters(vectorRegistersPerSimd, vector), groupsByRegisters(scalarRegistersPerSimd, scalar)});
  result.wavesPerSimd = (result.groupsPerUnit * result.wavesPerGroup + simds - 1) / simds;
  return result;
}

} // namespace heddle
