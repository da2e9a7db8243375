// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations of TTGIR on scaled and packed elements: matmuls by the chip's instruction with scales where it has one,
// else, and for conversions, by the arithmetic of the formats (compiler/transforms/ScaledTiles.h).
#pragma once
#include "compiler/dialects/ttg/TritonGpu.h"
#include "compiler/lowering/simt/GpuTarget.h"

namespace heddle::simt {

/// Each replaces its operation; tiles have the types of the simt level. `encoding`: of the result, in the text.
mlir::LogicalResult convertScaledDot(triton::DotScaledOp op, mlir::Attribute encoding, const GpuTarget &target);
mlir::LogicalResult convertUpcast(triton::gpu::Fp4ToFpOp op);
mlir::LogicalResult convertUpcast(triton::amdg::ScaledUpcastFp4Op op);
mlir::LogicalResult convertUpcast(triton::amdg::ScaledUpcastFp8Op op);
mlir::LogicalResult convertDowncast(triton::amdg::ScaledDowncastFp8Op op);
mlir::LogicalResult convertDowncast(triton::amdg::ScaledDowncastFp4Op op);

} // namespace heddle::simt
