// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// c[m, n] = sum over k of a[m, k] * b[n, k], with matrix instructions: workgroups of four waves make 64 x 64 of c. Tiles
// of 64 x 32 go straight to LDS, two stages in turn; who waits for what is written out.
//
// Compiled as f16, whose loads are the builtin's, so that LLVM adds waits of its own; with BF16, whose loads are assembly,
// so that the waits in the source are all there are; and with BF16 and NO_WAIT, which forgets one of them.
#include "common.h"

#define TILE 64
#define DEPTH 32
#define OPERAND_BYTES (TILE * DEPTH * 2)

#if defined(__gfx950__)
#define LOAD_BYTES 16
#define LOAD "buffer_load_dwordx4"
#define STEP 32
typedef __bf16 bf16x8 __attribute__((ext_vector_type(8)));
#ifdef BF16
typedef bf16x8 Fragment;
#define MULTIPLY __builtin_amdgcn_mfma_f32_16x16x32_bf16
#else
typedef half8_t Fragment;
#define MULTIPLY __builtin_amdgcn_mfma_f32_16x16x32_f16
#endif
#else
#define LOAD_BYTES 4
#define LOAD "buffer_load_dword"
#define STEP 16
typedef short short4_t __attribute__((ext_vector_type(4)));
#ifdef BF16
typedef short4_t Fragment;
#define MULTIPLY __builtin_amdgcn_mfma_f32_16x16x16bf16_1k
#else
typedef half4_t Fragment;
#define MULTIPLY __builtin_amdgcn_mfma_f32_16x16x16f16
#endif
#endif

#define LOADS (OPERAND_BYTES / 4 / (64 * LOAD_BYTES)) // of each wave, for a quarter of an operand's tile

#ifdef BF16
typedef u32x4 Source;
static u32 uniform(u32 value) { return (u32)__builtin_amdgcn_readfirstlane((int)value); }
static Source source_of(__global const u16 *x, u32 bytes) {
  return (u32x4)(uniform((u32)(u64)x), uniform((u32)((u64)x >> 32)), uniform(bytes), 0x27000);
}
static void load_to_lds(Source source, __local u8 *lds, u32 from) {
  __asm__ volatile("s_mov_b32 m0, %0\n\ts_nop 0\n\t" LOAD " %1, %2, 0 offen lds"
                   :
                   : "s"(uniform((u32)lds)), "v"(from), "s"(source)
                   : "memory", "m0");
}
#else
typedef __amdgpu_buffer_rsrc_t Source;
static Source source_of(__global const u16 *x, u32 bytes) {
  return __builtin_amdgcn_make_buffer_rsrc((__global void *)x, 0, bytes, 0x27000);
}
static void load_to_lds(Source source, __local u8 *lds, u32 from) {
  __builtin_amdgcn_raw_ptr_buffer_load_lds(source, lds, LOAD_BYTES, from, 0, 0, 0);
}
#endif

// The tile at (row, k) of a matrix with `columns` columns. A lane's bytes come to lie after those of the lane before it;
// rows beyond the matrix are beyond its bytes, and become zeros.
static void load_tile(Source source, __local u8 *lds, u32 row, u32 k, u32 columns) {
  for (u32 i = 0; i < LOADS; ++i) {
    u32 at = (WAVE * LOADS + i) * 64 * LOAD_BYTES, mine = at + LANE * LOAD_BYTES;
    load_to_lds(source, lds + at, ((row + mine / (DEPTH * 2)) * columns + k) * 2 + mine % (DEPTH * 2));
  }
}

WORK_ITEMS(256) __kernel void matmul(__global const u16 *a, __global const u16 *b, __global float *c, int m, int n, int k) {
  __local u8 stages[2][2][OPERAND_BYTES] __attribute__((aligned(16)));
  Source source_a = source_of(a, m * k * 2), source_b = source_of(b, n * k * 2);
  u32 row = __builtin_amdgcn_workgroup_id_y() * TILE, column = GROUP * TILE;
  u32 my_row = (WAVE >> 1) * 32, my_column = (WAVE & 1) * 32;
  float4_t sums[2][2] = {};
  load_tile(source_a, stages[0][0], row, 0, k);
  load_tile(source_b, stages[0][1], column, 0, k);
  for (int done = 0; done < k; done += DEPTH) {
    u32 stage = done / DEPTH & 1;
    if (done + DEPTH < k) {
      load_tile(source_a, stages[stage ^ 1][0], row, done + DEPTH, k);
      load_tile(source_b, stages[stage ^ 1][1], column, done + DEPTH, k);
#ifndef NO_WAIT
      WAIT_VECTOR(2 * LOADS); // those of this stage are older
#endif
    } else
      WAIT_VECTOR(0);
    __builtin_amdgcn_s_barrier(); // every wave's part of the stage is there
    for (u32 step = 0; step < DEPTH; step += STEP) {
      Fragment parts_a[2], parts_b[2];
      u32 inner = (step + (LANE >> 4) * (STEP / 4)) * 2;
      for (u32 i = 0; i < 2; ++i) {
        u32 outer = 16 * i + (LANE & 15);
        parts_a[i] = *(__local Fragment *)&stages[stage][0][(my_row + outer) * DEPTH * 2 + inner];
        parts_b[i] = *(__local Fragment *)&stages[stage][1][(my_column + outer) * DEPTH * 2 + inner];
      }
      for (u32 i = 0; i < 2; ++i)
        for (u32 j = 0; j < 2; ++j)
          sums[i][j] = MULTIPLY(parts_a[i], parts_b[j], sums[i][j], 0, 0, 0);
    }
    WAIT_LDS();
    __builtin_amdgcn_s_barrier(); // nobody reads the stage any longer
  }
  for (u32 i = 0; i < 2; ++i)
    for (u32 j = 0; j < 2; ++j)
      for (u32 item = 0; item < 4; ++item) {
        u32 y = row + my_row + 16 * i + (LANE >> 4) * 4 + item, x = column + my_column + 16 * j + (LANE & 15);
        if (y < m && x < n)
          c[y * n + x] = sums[i][j][item];
      }
}
