// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels whose order by time is known: matrix instructions on registers alone, copies by 32 and by 128 bits, LDS with
// and without bank conflicts, a matmul whose tiles are loaded one iteration ahead or not.
typedef float float16_ __attribute__((ext_vector_type(16)));
typedef float float4_ __attribute__((ext_vector_type(4)));
typedef half half4_ __attribute__((ext_vector_type(4)));
typedef half half8_ __attribute__((ext_vector_type(8)));

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define WAVES 256

__attribute__((reqd_work_group_size(WAVES, 1, 1))) kernel void matrix_peak(global float *out, int n) {
  float16_ sums[4] = {0, 0, 0, 0};
#ifdef __gfx950__
  half8_ a = (half)get_local_id(0), b = (half)1;
#define MULTIPLY __builtin_amdgcn_mfma_f32_32x32x16_f16
#else
  half4_ a = (half)get_local_id(0), b = (half)1;
#define MULTIPLY __builtin_amdgcn_mfma_f32_32x32x8f16
#endif
  for (int i = 0; i < n; ++i)
#pragma unroll
    for (int j = 0; j < 16; ++j)
      sums[j % 4] = MULTIPLY(a, b, sums[j % 4], 0, 0, 0);
  float16_ sum = sums[0] + sums[1] + sums[2] + sums[3];
  out[get_global_id(0)] = sum[0] + sum[7];
}

__attribute__((reqd_work_group_size(WAVES, 1, 1))) kernel void copy32(global float *restrict to,
                                                                      global const float *restrict from, int n) {
#pragma unroll 1
  for (int i = get_global_id(0); i < n; i += get_global_size(0))
    to[i] = from[i];
}

__attribute__((reqd_work_group_size(WAVES, 1, 1))) kernel void copy128(global float4_ *restrict to,
                                                                       global const float4_ *restrict from, int n) {
#pragma unroll 1
  for (int i = get_global_id(0); i < n / 4; i += get_global_size(0))
    to[i] = from[i];
}

// Each work-item reads a row of 64 bytes after another; rows are `stride` units of 16 bytes apart.
#define ROWS(name, OFFSET)                                                                                             \
  __attribute__((reqd_work_group_size(WAVES, 1, 1))) kernel void name(global float4_ *out, int n) {                   \
    local float4_ tile[WAVES * 5];                                                                                     \
    int row = get_local_id(0);                                                                                         \
    for (int column = 0; column < 4; ++column)                                                                         \
      tile[OFFSET(row, column)] = (float4_)(row + column);                                                             \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                                      \
    float4_ sum = 0;                                                                                                   \
    for (int i = 0; i < n; ++i)                                                                                        \
      for (int column = 0; column < 4; ++column)                                                                       \
        sum += ((volatile local float4_ *)tile)[OFFSET((row + i) % WAVES, column)];                                    \
    out[get_global_id(0)] = sum;                                                                                       \
  }
#define PLAIN(row, column) ((row) * 4 + (column))
#define PADDED(row, column) ((row) * 5 + (column))
#define SWIZZLED(row, column) ((row) * 4 + ((column) ^ ((row) / 2 % 4)))
ROWS(lds_plain, PLAIN)
ROWS(lds_padded, PADDED)
ROWS(lds_swizzled, SWIZZLED)
