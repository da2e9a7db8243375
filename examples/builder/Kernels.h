// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels written with the C++ builder, one a file. Five compute what tests/corpus has from Triton under the same
// names, and take the same arguments; two have layouts, as Gluon's, for one chip each.
#pragma once
#include "frontend/build/Kernel.h"

namespace heddle::examples {

/// out[i] = x[i] + y[i], f32, 1024 elements a program.
build::Program vectorAdd();
/// out[r, :] = softmax(x[r, :]), f32, up to 1024 columns; the programs share the rows.
build::Program rowSoftmax();
/// c = a * b in f16, summed in f32, tiles of 64 x 64; one program a tile, in groups of 8 rows of tiles.
build::Program matmulF16();
/// y[r, :] = (x[r, :] - mean) * rstd * w + b in bf16, and mean and rstd in f32; one program a row.
build::Program layerNorm();
/// o = softmax(scale * q * k^T, causal) * v for heads of [T, 64] in f16; a program for 64 rows of a head.
build::Program attentionCausal();
/// c = a * b in f16, summed in f32, M x K by K x N, tiles of 64 x 128; one program a tile. For gfx950.
build::Program matmulAsync();
/// out = the transpose of x, 64 x 64 in f32; one program. For gfx942.
build::Program sharedTranspose();

} // namespace heddle::examples
