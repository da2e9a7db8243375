// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The launches that find the largest magnitude of a dense array: by relaxed atomics on one word, or by a value for each
// block and a launch that reduces them.
#pragma once
#include "kernels/Quantise.h"

namespace heddle::kernels {

/// Adds to `plan` what leaves the bits of the largest magnitude of `x` in the first element of the buffer `target`, an
/// i32 or f32. The option `method` chooses; `reduction` has a temporary `partial`.
void planAmax(const Call &call, const std::string &target, ElementType targetType, bool propagates, Plan &plan);

/// Of `method`, `block` and `warps` in planAmax.
Option amaxMethod();
std::vector<TileParameter> amaxTiles();
/// Each method with these tile parameters.
std::vector<TuningVariant> amaxVariants(const std::vector<std::string> &tiles);

} // namespace heddle::kernels
