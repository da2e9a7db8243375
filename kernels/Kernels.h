// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels of the library, one folder or file each; docs/kernels.md has their contracts.
#pragma once
#include "kernels/LibraryKernel.h"

namespace heddle::kernels {

extern const LibraryKernel amaxKernel, fp8Blockwise, fp8Colwise3d, fp8GroupedMatmul2d2d, fp8GroupedMatmul2d3d,
    fp8JaggedColwise, fp8JaggedColwiseDual, fp8JaggedRowwise, fp8Rowwise2d, fp8Rowwise3d, fp8Tensorwise, int4Matmul,
    mxfp8Dequantise, mxfp8Dequantise3d, mxfp8Quantise, mxfp8Quantise3d, permuteIndices, permuteRows, tokenGroupPad,
    tokenGroupUnpad, unpermuteRows;

} // namespace heddle::kernels
