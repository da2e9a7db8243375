// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops whose only barrier is that of their rings wait at barrier objects in shared memory (mbarriers) in its place: a
// warp arrives when it has read a tile, and waits where it needs the next one, so that groups of warps need not be in
// step. One group of four warps then computes while the tensor cores multiply for another.
#pragma once
#include "compiler/dialects/simt/Simt.h"

namespace heddle::simt {

class GpuTarget;

/// Of a ring of so many barrier objects, 8 bytes each.
SharedType barrierObjects(mlir::MLIRContext *context, int64_t count);

/// Rewrites innermost loops of blocks of more than four warps on targets with barrier objects, where a multiprocessor
/// has shared memory, or registers, for one such block only: blocks beside each other are not in step anyway. A loop
/// qualifies that begins with a wait for copies and a barrier, and whose other accesses to memory are copies to rings
/// and reads. It is executed once by its block, as far as the text tells. Barriers have been proven to order all
/// accesses before.
void splitBarriers(mlir::ModuleOp module, const GpuTarget &target, int warps);

} // namespace heddle::simt
