// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of f32 to 8-bit floats with a scale for each row; on gfx950 also blocks of 32 to 4-bit floats with a power of two
// for each block.
#include "common.h"

// `columns` is a multiple of 4; `largest` is the format's largest number. One workgroup a row.
WORK_ITEMS(256) __kernel void quantise_rows(__global const float *x, __global u32 *codes, __global float *scales,
                                            int columns, float largest) {
  __local u32 most;
  if (ITEM == 0)
    most = 0;
  barrier_of_group();
  x += GROUP * columns, codes += GROUP * columns / 4;
  float mine = 0;
  for (int i = ITEM; i < columns; i += 256)
    mine = __builtin_fmaxf(mine, __builtin_fabsf(x[i]));
  __atomic_fetch_max(&most, as_u32(mine), __ATOMIC_RELAXED); // bits of positive floats are in the order of the floats
  barrier_of_group();
  float scale = largest / __builtin_fmaxf(as_f32(most), 1e-12f);
  if (ITEM == 0)
    scales[GROUP] = scale;
  for (int i = ITEM; i < columns / 4; i += 256) {
    float4_t values = ((__global const float4_t *)x)[i] * scale;
    int code = __builtin_amdgcn_cvt_pk_fp8_f32(values.x, values.y, 0, false);
    codes[i] = __builtin_amdgcn_cvt_pk_fp8_f32(values.z, values.w, code, true);
  }
}

#ifdef __gfx950__
// A work-item a block of 32: scales are exponents with bias 127.
WORK_ITEMS(64) __kernel void quantise_blocks(__global const float *x, __global u32 *codes, __global u8 *scales, int blocks) {
  int block = GROUP * 64 + ITEM;
  if (block >= blocks)
    return;
  x += block * 32, codes += block * 4;
  float most = 0;
  for (int i = 0; i < 32; ++i)
    most = __builtin_fmaxf(most, __builtin_fabsf(x[i]));
  int exponent = (int)(as_u32(most) >> 23) - 2; // so that the largest becomes 4 to 8; 6 is the largest number
  exponent = exponent < 1 ? 1 : exponent;
  scales[block] = exponent;
  float scale = as_f32((u32)exponent << 23);
  for (int i = 0; i < 4; ++i) {
    u32 code = 0;
    code = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(code, x[8 * i], x[8 * i + 1], scale, 0);
    code = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(code, x[8 * i + 2], x[8 * i + 3], scale, 1);
    code = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(code, x[8 * i + 4], x[8 * i + 5], scale, 2);
    code = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(code, x[8 * i + 6], x[8 * i + 7], scale, 3);
    codes[i] = code;
  }
}
#endif
