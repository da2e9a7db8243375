// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations of `ttng`: matmuls of warp groups, barrier objects, bulk copies of tensors.
#pragma once
#include "compiler/dialects/ttg/TritonGpu.h"
#include "compiler/lowering/ttg_to_simt/EncodingLayouts.h"

namespace heddle::simt {

/// The type of this level; an error where bulk copies do not move such blocks.
mlir::FailureOr<mlir::Type> tensorMapType(triton::TensorDescType descriptor, EmitError emitError);
/// Descriptors that the kernel is given are pointers, with tensor maps of them and the arguments after them at its
/// begin. Types are those of the simt level.
void takeDescriptors(triton::FuncOp kernel);
/// Replaces an operation of `ttng`; tiles and memory objects have the types of the simt level. `warps` execute it.
mlir::LogicalResult convertHopperOp(mlir::Operation *op, int warps);

} // namespace heddle::simt
