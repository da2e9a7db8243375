// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One text for both kinds of processor: the loops are inlined into functions of either instruction set.
#include "simulator/instructions/MatrixKernels.h"
#include <cstring>
#include <immintrin.h>

#define HEDDLE_WIDE [[gnu::target("avx512f,avx512vl,avx512dq,avx512bw")]]

namespace heddle::simulator {
namespace {

constexpr unsigned lanes = 64;

template <unsigned size>
using Vector = float __attribute__((ext_vector_type(size)));

/// c += a b for some rows and all columns, whose sums lie in registers meanwhile.
template <unsigned rows, unsigned columns, unsigned width>
[[gnu::always_inline]] inline void multiplyRows(const float *a, const float *b, float *c, const BlockShape &shape) {
  constexpr unsigned vectors = columns / width;
  Vector<width> sums[rows][vectors];
  for (unsigned row = 0; row < rows; ++row)
    std::memcpy(sums[row], c + row * shape.n, sizeof sums[row]);
  for (unsigned index = 0; index < shape.k; ++index) {
    Vector<width> right[vectors];
    std::memcpy(right, b + index * shape.n, sizeof right);
    for (unsigned row = 0; row < rows; ++row) {
      Vector<width> left = a[index * shape.m + row];
      for (unsigned each = 0; each < vectors; ++each)
        sums[row][each] = __builtin_elementwise_fma(left, right[each], sums[row][each]);
    }
  }
  for (unsigned row = 0; row < rows; ++row)
    std::memcpy(c + row * shape.n, sums[row], sizeof sums[row]);
}

template <unsigned rows, unsigned columns, unsigned width>
[[gnu::always_inline]] inline void multiplyAllRows(const float *a, const float *b, float *c, const BlockShape &shape) {
  for (unsigned row = 0; row < shape.m; row += rows)
    multiplyRows<rows, columns, width>(a + row, b, c + row * shape.n, shape);
}

void multiplyPlain(const float *a, const float *b, float *c, const BlockShape &shape) {
  if (shape.n == 4)
    return multiplyAllRows<4, 4, 4>(a, b, c, shape);
  for (unsigned half = 0; half < shape.n; half += 16)
    multiplyAllRows<4, 16, 8>(a, b + half, c + half, shape);
}

HEDDLE_WIDE void multiplyWide(const float *a, const float *b, float *c, const BlockShape &shape) {
  if (shape.n == 4)
    multiplyAllRows<4, 4, 4>(a, b, c, shape);
  else if (shape.n == 16)
    multiplyAllRows<8, 16, 16>(a, b, c, shape);
  else
    multiplyAllRows<8, 32, 16>(a, b, c, shape);
}

[[gnu::always_inline]] inline void addScaledRows(const ScaledSums &scaled, float *c, const BlockShape &shape) {
  using Sums = Vector<8>;
  using Wide = double __attribute__((ext_vector_type(8)));
  for (unsigned row = 0; row < shape.m; ++row)
    for (unsigned column = 0; column < shape.n; column += 8) {
      Sums sums, old;
      Wide scales;
      std::memcpy(&sums, scaled.sums + row * shape.n + column, sizeof sums);
      std::memcpy(&old, c + row * shape.n + column, sizeof old);
      std::memcpy(&scales, scaled.columnScales + column, sizeof scales);
      Wide added = __builtin_convertvector(sums, Wide) * scaled.rowScales[row] * scales;
      old = __builtin_convertvector(added + __builtin_convertvector(old, Wide), Sums);
      std::memcpy(c + row * shape.n + column, &old, sizeof old);
    }
}

void addScaledPlain(const ScaledSums &sums, float *c, const BlockShape &shape) {
  addScaledRows(sums, c, shape);
}
HEDDLE_WIDE void addScaledWide(const ScaledSums &sums, float *c, const BlockShape &shape) {
  addScaledRows(sums, c, shape);
}

/// The eight magnitudes lie in one vector register; code 8 is -0.
void decodeFp4Plain(const uint32_t *words, unsigned shift, float *values) {
  const __m256 magnitudes = _mm256_setr_ps(0, 0.5f, 1, 1.5f, 2, 3, 4, 6);
  for (unsigned lane = 0; lane < lanes; lane += 8) {
    __m256i word = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(words + lane));
    __m256i code = _mm256_srl_epi32(word, _mm_cvtsi32_si128(int(shift)));
    __m256i sign = _mm256_slli_epi32(_mm256_and_si256(code, _mm256_set1_epi32(8)), 28);
    __m256 magnitude = _mm256_permutevar8x32_ps(magnitudes, code); // by the three lowest bits
    _mm256_storeu_ps(values + lane, _mm256_or_ps(magnitude, _mm256_castsi256_ps(sign)));
  }
}

HEDDLE_WIDE void decodeFp4Wide(const uint32_t *words, unsigned shift, float *values) {
  const __m512 table = _mm512_setr_ps(0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6);
  for (unsigned lane = 0; lane < lanes; lane += 16) {
    __m512i code = _mm512_srl_epi32(_mm512_loadu_si512(words + lane), _mm_cvtsi32_si128(int(shift)));
    _mm512_storeu_ps(values + lane, _mm512_permutexvar_ps(code, table)); // by the four lowest bits
  }
}

void decodeBytePlain(const uint32_t *words, unsigned shift, const float *table, float *values) {
  for (unsigned lane = 0; lane < lanes; ++lane)
    values[lane] = table[words[lane] >> shift & 0xFF];
}

HEDDLE_WIDE void decodeByteWide(const uint32_t *words, unsigned shift, const float *table, float *values) {
  for (unsigned lane = 0; lane < lanes; lane += 16) {
    __m512i code = _mm512_srl_epi32(_mm512_loadu_si512(words + lane), _mm_cvtsi32_si128(int(shift)));
    code = _mm512_and_si512(code, _mm512_set1_epi32(0xFF));
    _mm512_storeu_ps(values + lane, _mm512_i32gather_ps(code, table, 4));
  }
}

} // namespace

const MatrixKernels &plainMatrixKernels() {
  static constexpr MatrixKernels kernels{multiplyPlain, addScaledPlain, decodeFp4Plain, decodeBytePlain};
  return kernels;
}

const MatrixKernels *wideMatrixKernels() {
  static constexpr MatrixKernels kernels{multiplyWide, addScaledWide, decodeFp4Wide, decodeByteWide};
  static const bool hasAll = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  return hasAll ? &kernels : nullptr;
}

const MatrixKernels &matrixKernels() {
  static const MatrixKernels *best = wideMatrixKernels() ? wideMatrixKernels() : &plainMatrixKernels();
  return *best;
}

} // namespace heddle::simulator
