// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory of zeros, which a load that a mask forbids reads instead of its own place.
#pragma once
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace heddle::peer {

/// The 16 bytes of zeros of the module around `inside`, `@heddle_zeros` in global memory; declared on first use. Steps
/// behind find loads of `select mask, place, @heddle_zeros` by that name (compiler/emit).
mlir::LLVM::GlobalOp zeroMemory(mlir::Operation *inside);

} // namespace heddle::peer
