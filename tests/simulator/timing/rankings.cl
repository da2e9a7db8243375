// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels whose order by time is published: copies by 32 and by 128 bits, LDS with and without bank conflicts; and
// matrix instructions on registers alone, which reach the chip's peak. They use only what clang has built in.
typedef float float4_t __attribute__((ext_vector_type(4)));
typedef float float16_t __attribute__((ext_vector_type(16)));
typedef half half4_t __attribute__((ext_vector_type(4)));
typedef half half8_t __attribute__((ext_vector_type(8)));

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define ITEM __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()
#define ITEMS 256
#define GROUP_OF_256 __attribute__((amdgpu_flat_work_group_size(ITEMS, ITEMS)))

#ifdef __gfx950__
typedef half8_t operand_t;
#define MULTIPLY __builtin_amdgcn_mfma_f32_32x32x16_f16
#else
typedef half4_t operand_t;
#define MULTIPLY __builtin_amdgcn_mfma_f32_32x32x8f16
#endif

GROUP_OF_256 kernel void matrix_peak(global float *out, int n) {
  float16_t sums[4] = {0, 0, 0, 0};
  operand_t a = (half)ITEM, b = (half)1;
  for (int i = 0; i < n; ++i)
#pragma unroll
    for (int j = 0; j < 16; ++j)
      sums[j % 4] = MULTIPLY(a, b, sums[j % 4], 0, 0, 0);
  float16_t sum = sums[0] + sums[1] + sums[2] + sums[3];
  out[GROUP * ITEMS + ITEM] = sum[0] + sum[7];
}

// Each workgroup copies n numbers; in the second kernel with a quarter of the instructions.
GROUP_OF_256 kernel void copy32(global float *restrict to, global const float *restrict from, int n) {
#pragma unroll 1
  for (int i = ITEM; i < n; i += ITEMS)
    to[GROUP * n + i] = from[GROUP * n + i];
}

GROUP_OF_256 kernel void copy128(global float4_t *restrict to, global const float4_t *restrict from, int n) {
#pragma unroll 1
  for (int i = ITEM; i < n / 4; i += ITEMS)
    to[GROUP * n / 4 + i] = from[GROUP * n / 4 + i];
}

// Each workgroup copies n tiles of 16 KiB to LDS, one after the other, without registers.
#define COPY_TO_LDS(name, BYTES)                                                                                       \
  GROUP_OF_256 kernel void name(global const char *from, int n) {                                                      \
    local char tile[16384];                                                                                            \
    int wave = __builtin_amdgcn_readfirstlane(ITEM / 64);                                                              \
    for (int i = 0; i < n; ++i) {                                                                                      \
      for (int part = wave * 64 * BYTES; part < 16384; part += ITEMS * BYTES)                                          \
        __builtin_amdgcn_global_load_lds(from + (GROUP * n + i) * 16384 + part + ITEM % 64 * BYTES, tile + part,       \
                                         BYTES, 0, 0);                                                                 \
      __builtin_amdgcn_s_waitcnt(0x0f70);                                                                              \
      __builtin_amdgcn_s_barrier();                                                                                    \
    }                                                                                                                  \
  }
COPY_TO_LDS(to_lds32, 4)
#ifdef __gfx950__
COPY_TO_LDS(to_lds128, 16)
#endif

// Each work-item reads 16 bytes of its row of a tile, n times.
#define READ_COLUMN(name, OFFSET)                                                                                      \
  GROUP_OF_256 kernel void name(global float4_t *out, int n) {                                                         \
    local float4_t tile[ITEMS * 5];                                                                                    \
    int row = ITEM;                                                                                                    \
    for (int column = 0; column < 4; ++column)                                                                         \
      tile[OFFSET(row, column)] = (float4_t)(float)(row + column);                                                     \
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");                                                             \
    __builtin_amdgcn_s_barrier();                                                                                      \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");                                                             \
    float4_t sum = 0;                                                                                                  \
    for (int i = 0; i < n; ++i)                                                                                        \
      for (int column = 0; column < 4; ++column)                                                                       \
        sum += ((volatile local float4_t *)tile)[OFFSET((row + i) % ITEMS, column)];                                   \
    out[GROUP * ITEMS + ITEM] = sum;                                                                                   \
  }
#define PLAIN(row, column) ((row) * 4 + (column))                        // rows are 64 bytes apart
#define PADDED(row, column) ((row) * 5 + (column))                       // 80 bytes
#define SWIZZLED(row, column) ((row) * 4 + ((column) ^ ((row) / 2 % 4))) // 64 bytes, columns exchanged
READ_COLUMN(lds_plain, PLAIN)
READ_COLUMN(lds_padded, PADDED)
READ_COLUMN(lds_swizzled, SWIZZLED)
