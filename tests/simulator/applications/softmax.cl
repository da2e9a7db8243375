// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The softmax of rows, one wave a row: the maximum by exchanging lanes through LDS' crossbar, the sum by DPP.
#include "common.h"

static float maximum_of_wave(float value) {
  for (u32 reach = 32; reach; reach >>= 1)
    value = __builtin_fmaxf(value, as_f32(from_lane(as_u32(value), LANE ^ reach)));
  return value;
}

#define SUM_STEP(control, rows) \
  value += as_f32((u32)__builtin_amdgcn_update_dpp(0, (int)as_u32(value), control, rows, 0xf, 0))
static float sum_of_wave(float value) {
  SUM_STEP(0x111, 0xf); // row_shr by 1, 2, 4, 8
  SUM_STEP(0x112, 0xf);
  SUM_STEP(0x114, 0xf);
  SUM_STEP(0x118, 0xf);
  SUM_STEP(0x142, 0xa); // row_bcast:15
  SUM_STEP(0x143, 0xc); // row_bcast:31
  return as_f32((u32)__builtin_amdgcn_readlane((int)as_u32(value), 63));
}

WORK_ITEMS(256) __kernel void softmax(__global const float *x, __global float *y, int rows, int columns) {
  int row = GROUP * 4 + WAVE;
  if (row >= rows)
    return;
  x += row * columns, y += row * columns;
  float most = -__builtin_inff(), sum = 0;
  for (int i = LANE; i < columns; i += 64)
    most = __builtin_fmaxf(most, x[i]);
  most = maximum_of_wave(most);
  for (int i = LANE; i < columns; i += 64)
    sum += __builtin_amdgcn_exp2f((x[i] - most) * 1.44269504f);
  sum = sum_of_wave(sum);
  for (int i = LANE; i < columns; i += 64)
    y[i] = __builtin_amdgcn_exp2f((x[i] - most) * 1.44269504f) / sum;
}
