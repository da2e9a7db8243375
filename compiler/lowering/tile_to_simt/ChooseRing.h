// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether warps copy a load's tiles straight to a ring in shared memory, and how they lie there.
#pragma once
#include "compiler/lowering/tile_to_simt/LoopPipeliner.h"

namespace heddle::simt {

/// A ring that copies of whole warps fill with contiguous bytes and that matmuls read without bank conflicts, 8 bytes
/// or more at once; nothing, and `why`, where there is none or where loads take fewer instructions.
std::optional<RingCopy> chooseRing(GlobalLoadOp load, const PipelineTarget &to, std::string &why);

/// The layout of a tile whose copies fill `shared`, `elements` of each lane after those of the lane before.
layout::LinearLayout copyLayout(const layout::LinearLayout &shared, int64_t elements, const PipelineTarget &to);

} // namespace heddle::simt
