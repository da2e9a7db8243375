// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Causal attention of heads of 64, one wave for 32 queries, 32 keys a step, with a running maximum. Scores are made
// transposed, keys by queries, so that a lane has scores of one query only, in the places where the second product wants
// them.
#include "common.h"

#define HEAD 64
#define KEYS 32

static float exchange_halves(float value) {
#ifdef __gfx950__
  typedef u32 u32x2 __attribute__((ext_vector_type(2)));
  u32x2 both = __builtin_amdgcn_permlane32_swap(as_u32(value), as_u32(value), false, false);
  return as_f32(LANE < 32 ? both.y : both.x);
#else
  return as_f32(from_lane(as_u32(value), LANE ^ 32));
#endif
}

// All [length, 64]. Two waves a workgroup share the values of a step in LDS; `scale` includes log2(e).
WORK_ITEMS(128) __kernel void attention(__global const half *q, __global const half *k, __global const half *v,
                                        __global float *out, int length, float scale) {
  __local half values[KEYS][HEAD];
  int query = GROUP * 64 + WAVE * 32 + (LANE & 31), upper = LANE >> 5;
  half4_t queries[HEAD / 8]; // of this lane's query, four of every eight
  for (int i = 0; i < HEAD / 8; ++i)
    queries[i] = query < length ? *(__global const half4_t *)(q + query * HEAD + 8 * i + 4 * upper) : (half4_t)0;
  float16_t result[2] = {}; // transposed: rows are places in the head, the column is the query
  float most = -__builtin_inff(), sum = 0;
  int end = (GROUP + 1) * 64 < length ? (GROUP + 1) * 64 : length;
  for (int first = 0; first < end; first += KEYS) {
    for (int i = ITEM; i < KEYS * HEAD / 8; i += 128) {
      int key = first + i / (HEAD / 8);
      half8_t piece = key < length ? *(__global const half8_t *)(v + key * HEAD + i % (HEAD / 8) * 8) : (half8_t)0;
      *(__local half8_t *)&values[i / (HEAD / 8)][i % (HEAD / 8) * 8] = piece;
    }
    float16_t scores = {};
    for (int i = 0; i < HEAD / 8; ++i) {
      int key = first + (LANE & 31);
      half4_t keys = key < length ? *(__global const half4_t *)(k + key * HEAD + 8 * i + 4 * upper) : (half4_t)0;
      scores = __builtin_amdgcn_mfma_f32_32x32x8f16(keys, queries[i], scores, 0, 0, 0);
    }
    float highest = -__builtin_inff();
    for (int i = 0; i < 16; ++i) {
      int key = first + 8 * (i / 4) + 4 * upper + i % 4;
      scores[i] = key <= query ? scores[i] * scale : -__builtin_inff();
      highest = __builtin_fmaxf(highest, scores[i]);
    }
    highest = __builtin_fmaxf(most, __builtin_fmaxf(highest, exchange_halves(highest)));
    float shrink = __builtin_amdgcn_exp2f(most - highest), step_sum = 0;
    for (int i = 0; i < 16; ++i) {
      scores[i] = __builtin_amdgcn_exp2f(scores[i] - highest);
      step_sum += scores[i];
    }
    sum = sum * shrink + step_sum + exchange_halves(step_sum);
    most = highest;
    barrier_of_group();
    for (int part = 0; part < 2; ++part) {
      for (int i = 0; i < 16; ++i)
        result[part][i] *= shrink;
      for (int step = 0; step < KEYS / 8; ++step) {
        half4_t weights, column;
        for (int i = 0; i < 4; ++i) {
          weights[i] = (half)scores[4 * step + i];
          column[i] = values[8 * step + 4 * upper + i][32 * part + (LANE & 31)];
        }
        result[part] = __builtin_amdgcn_mfma_f32_32x32x8f16(column, weights, result[part], 0, 0, 0);
      }
    }
    barrier_of_group(); // before the values of the next step
  }
  if (query < length)
    for (int part = 0; part < 2; ++part)
      for (int i = 0; i < 16; ++i)
        out[query * HEAD + 32 * part + 8 * (i / 4) + 4 * upper + i % 4] = result[part][i] / sum;
}
