// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A layout of shared memory through which a tile goes from one register layout to another without bank conflicts, and
// the count of the conflicts that are left. Source: DESIGN's fact sheet on layouts, section 9.
#pragma once
#include "compiler/layout/LinearLayout.h"
#include <cstdint>

namespace heddle::layout {

struct ScratchLayout {
  /// (offset, register) -> flat index of the tile, Dim0, as `from.flattenOutputs(Dim::Dim0)` counts. Invertible.
  /// `register` counts the repetitions: the tile goes through the memory in as many pieces, so that the memory can be
  /// smaller than the tile; on both sides a thread's registers alone decide the piece. Offsets are in elements.
  LinearLayout layout;
  /// Contiguous elements that a thread writes (of `from`) or reads (of `to`) at once. A side whose offsets divide by a
  /// larger identity of registers may access more; that stays free of conflicts.
  int64_t writeElements = 1;
  int64_t readElements = 1;
  int64_t offsets() const { return layout.inputSize(Dim::Offset); }
  int64_t repetitions() const { return layout.inputSize(Dim::Register); }
};

/// For a tile of elements of `elementBits` (8 to 64). Both layouts have the outputs of the tile and reach all of it.
/// `banks` of 32 bits; a row of banks is what a transaction moves, for adjacent lanes.
ScratchLayout chooseScratch(const LinearLayout &from, const LinearLayout &to, int elementBits, int banks = 32);

/// Memory passes beyond the first that a transaction takes, the worst over registers, warps and groups of lanes:
/// counted, not predicted. `access` maps (register, lane, warp) to offsets in elements; each lane accesses
/// `vectorElements` at once, which lie in as many consecutive registers. A transaction is the adjacent lanes that
/// fill a row of banks.
int64_t countConflicts(const LinearLayout &access, int elementBits, int64_t vectorElements, int banks = 32);

} // namespace heddle::layout
