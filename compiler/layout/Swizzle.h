// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A layout of shared memory through which a tile goes from one register layout to another without bank conflicts, and
// the count of the conflicts that are left. Source: DESIGN's fact sheet on layouts, section 9.
#pragma once
#include "compiler/layout/LinearLayout.h"
#include <cstdint>

namespace heddle::layout {

struct ScratchLayout {
  /// (offset, register) -> flat index of the tile. `register` counts the repetitions: the tile goes through the memory
  /// in as many pieces, so that the memory can be smaller than the tile. Offsets are in elements.
  LinearLayout layout;
  int64_t vectorElements = 1; ///< contiguous elements that one thread may read or write at once
  int64_t offsets() const { return layout.inputSize(Dim::Offset); }
  int64_t repetitions() const { return layout.inputSize(Dim::Register); }
};

/// For a tile of elements of `elementBits` (8 to 64). Both layouts have the outputs of the tile. `banks` of 32 bits.
ScratchLayout chooseScratch(const LinearLayout &from, const LinearLayout &to, int elementBits, int banks = 32);

/// Memory passes beyond the first that a warp's access takes, the worst over registers and warps: counted, not
/// predicted. `access` maps (register, lane, warp) to offsets in elements; lanes access `vectorElements` each, in
/// transactions of 128 bytes.
int64_t countConflicts(const LinearLayout &access, int elementBits, int64_t vectorElements, int banks = 32);

} // namespace heddle::layout
