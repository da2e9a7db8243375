// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the author of a copy is told that does not go straight to shared memory: what keeps it narrow, and a layout with
// which it would go.
#pragma once
#include "compiler/lowering/simt/Accesses.h"
#include "compiler/lowering/simt/GpuTarget.h"
#include "compiler/lowering/ttg_to_simt/EncodingLayouts.h"

namespace heddle::simt {

/// Of a copy of `tile` to `to`, which begins at a tile of a memory object. `allowed`: elements that are known to be
/// contiguous in global memory under one mask; `contiguous`: whatever the mask says. Adds notes to `warning`.
void adviseOnCopy(mlir::InFlightDiagnostic &warning, mlir::RankedTensorType tile, SharedType to, AccessWidth allowed,
                  int64_t contiguous, BlockThreads threads, const GpuTarget &target);

} // namespace heddle::simt
