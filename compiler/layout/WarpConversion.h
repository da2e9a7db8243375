// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How elements get from one register layout to another where none changes its warp, without memory.
#pragma once
#include "compiler/layout/LinearLayout.h"

namespace heddle::layout {

struct WarpConversion {
  /// Of two registers whose numbers differ in `registerBit`, the first (where the bit is 0) gives what its lanes with
  /// `laneBit` have, and gets what the second has in lanes without it.
  struct Swap {
    int registerBit, laneBit;
    bool operator==(const Swap &) const = default;
  };
  std::vector<Swap> swaps; ///< of the source's registers, one after the other
  /// (register, lane, warp) of the result -> the register, lane and warp that have its element after the swaps.
  LinearLayout from;
  bool shuffles = false; ///< `from` takes elements of other lanes: one shuffle for each register of the result

  bool needsLanes() const { return shuffles || !swaps.empty(); } ///< all lanes have to take part
};

/// The conversion of a tile from layout `source` to layout `result`: registers are renamed, each is shuffled once, or
/// pairs of registers swap parts of their lanes. Nothing where that is not enough. `swappable`: the bits of a lane's
/// number with which the chip can swap, as a mask.
std::optional<WarpConversion> convertInWarp(const LinearLayout &source, const LinearLayout &result, uint64_t swappable);

} // namespace heddle::layout
