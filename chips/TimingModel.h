// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an estimate of time takes from a chip's documents, as values. Cycles are of the compute units' clock. The passes
// of matrix instructions are not here: LLVM's scheduling model of the chip has them (simulator/decode/Disassembler.h).
// docs/timing.md says where each figure comes from, and which are assumed.
#pragma once
#include "chips/Chip.h"

namespace heddle {

struct TimingModel {
  double clockHz = 0; ///< the peak engine clock
  const char *product = "";

  // A SIMD issues every `issueCycles` cycles, at most one instruction of each kind, each of another wave.
  int issueCycles = 4;
  int transcendentalPasses = 4;       ///< for which v_exp_f32 and the like occupy the vector unit
  int matrixOperationsPerCycle = 512; ///< of a SIMD: multiplications and additions of dense f16
  int takenBranchCycles = 16;         ///< until the next instruction of the wave
  int barrierCycles = 4;              ///< from the last arrival

  // LDS: a compute unit moves a row of all banks in each cycle.
  int ldsReadBytesPerCycle = 128, ldsWriteBytesPerCycle = 128;
  int ldsLatencyCycles = 64; ///< from the last row to the registers
  int ldsQueueCycles = 32;   ///< of work that LDS has ahead of it when waves must hold further instructions back

  // Vector memory of a compute unit.
  int addressLanesPerCycle = 16; ///< 64 lanes take four cycles
  int linesPerCycle = 1;         ///< that the vector cache looks up
  int vectorCacheBytes = 32 * 1024;
  int vectorCacheBytesPerCycle = 64; ///< to registers and to LDS
  int unitBytesPerCycle = 64;        ///< from L2 to one compute unit
  int memoryQueueCycles = 64;        ///< as ldsQueueCycles

  // From issue to the result, by where the line is found.
  int scalarCacheCycles = 64;
  int vectorCacheCycles = 120, l2Cycles = 250, lastLevelCycles = 500, memoryCycles = 800;

  // The whole chip.
  double lastLevelBytesPerSecond = 0; ///< of the cache that all dies share (Infinity Cache)
  double memoryBytesPerSecond = 0;
  double attainableShare = 1; ///< of memoryBytesPerSecond that a stream reaches

  double bytesPerCycle(double bytesPerSecond) const { return bytesPerSecond / clockHz; }
};

/// Throws Error{Internal} for a chip that the simulator does not know.
const TimingModel &timingOf(const Chip &chip);

extern const TimingModel gfx942Timing, gfx950Timing;

} // namespace heddle
