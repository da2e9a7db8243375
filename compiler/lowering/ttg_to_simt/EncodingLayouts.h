// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the encodings of TTGIR denote, as linear layouts (compiler/layout/Encodings.h).
#pragma once
#include "compiler/dialects/simt/Simt.h"
#include "compiler/dialects/ttg/TritonGpu.h"
#include "compiler/layout/Encodings.h"

namespace heddle::simt {

using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

/// Lanes of a warp and warps of a block, which a layout has to be of.
struct BlockThreads {
  int64_t lanes, warps;
};

/// The layout of a tile of `shape`; an error where the encoding is of another number of axes, lanes or warps.
mlir::FailureOr<layout::LinearLayout> tileLayout(mlir::Attribute encoding, llvm::ArrayRef<int64_t> shape,
                                                 BlockThreads threads, EmitError emitError);
/// The type of this level; an error where the bases of a layout are not those of the shape.
mlir::FailureOr<SharedType> memoryType(triton::gpu::MemDescType type, EmitError emitError);

} // namespace heddle::simt
