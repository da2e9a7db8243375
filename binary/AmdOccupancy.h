// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How many workgroups of a kernel a compute unit holds at once, and what keeps it from more. Sources: LLVM's AMDGPU
// user guide, "Kernel Descriptor" (granules of LDS), and its lib/Target/AMDGPU/Utils/AMDGPUBaseInfo.cpp, for GFX90A
// (waves and registers of a SIMD, workgroups and barriers of a unit).
#pragma once
#include "binary/AmdCodeObject.h"
#include "chips/Chip.h"

namespace heddle {

struct AmdOccupancy {
  int64_t groupsPerUnit = 0; ///< 0: not even one fits
  int64_t wavesPerGroup = 0;
  int64_t wavesPerSimd = 0; ///< of the fullest of the unit's four; 8 are the most
  /// Workgroups that each of these alone would allow, registers by what the kernel uses: LLVM allocates more when
  /// something else keeps the waves away anyway.
  int64_t byWaves = 0, byVectorRegisters = 0, byScalarRegisters = 0, byLds = 0;
  /// `waves`, `vector registers`, `LDS`, `scalar registers`: the scarcest, the first of them when several are; or
  /// `allocated registers`, of which there are more than the kernel uses.
  const char *limit() const;
};

/// For workgroups of `workItems` with `dynamicLdsBytes` beside what the kernel declares.
AmdOccupancy occupancyOf(const AmdKernel &kernel, const Chip &chip, int64_t workItems, int64_t dynamicLdsBytes);

} // namespace heddle
