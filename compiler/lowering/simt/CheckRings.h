// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers of a ring's tiles that nothing proves to be in range are checked while the kernel runs (`--check`).
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace heddle::simt {

/// Puts a `tt.assert` before each operation that names a tile of a ring by a number of which neither its range nor the
/// way in which it counts around tells that the ring has such a tile. A wrong number would reach other bytes of shared
/// memory, which no check of addresses sees. Assertions are barriers: such a kernel says nothing of missing ones.
void checkRings(mlir::ModuleOp module);

} // namespace heddle::simt
