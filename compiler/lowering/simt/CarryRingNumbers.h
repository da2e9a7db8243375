// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops that carry a tile of a ring carry its number in place of it, which tells the analyses of shared memory which
// tile each iteration has. Triton's own pipelines carry the tiles.
#pragma once
#include "mlir/IR/Operation.h"

namespace heddle::simt {

/// Changes each `scf.for` below `root` that begins with `simt.index %ring[a]` and yields `simt.index %ring[b]` of one
/// `%ring` from outside of it. A number that the loop carries already, from `a` on and with `b` as the next, is used.
void carryRingNumbers(mlir::Operation *root);

} // namespace heddle::simt
