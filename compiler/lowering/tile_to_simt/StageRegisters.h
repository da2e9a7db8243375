// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The registers that the stages of a loop need, before anything is written: a way to cut a loop that does not fit is
// not tried.
#pragma once
#include "compiler/lowering/tile_to_simt/LoopSteps.h"

namespace heddle::simt {

/// 32-bit registers of a thread at the matmul of the loop that needs most: what the loop carries, what stages leave to
/// later ones, and what matmuls read from outside. Addresses take few: contiguous elements share one.
int64_t registersFor(const LoopSteps &loop, const Cut &cut);

} // namespace heddle::simt
