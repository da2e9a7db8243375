// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Assembly of a thread (`ttg.inline_asm`) as assembly on one pack of elements, which are all that the thread has.
#pragma once
#include "compiler/dialects/ttg/TritonGpu.h"

namespace heddle::simt {

/// Replaces the operation; tiles have the types of the simt level. An error unless it takes and gives tiles of one
/// shape and layout, of elements of 32 or 64 bits.
mlir::LogicalResult convertThreadAssembly(triton::gpu::InlineAsmOp op);

} // namespace heddle::simt
