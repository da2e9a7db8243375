// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Why the bits are the same: in f32, each element is summed in order of k with one fused step each, as elsewhere. Sums
// of 8-bit integers wrap, so that their order does not matter. Sums of 32 products of fp4 are multiples of a quarter
// below 2^11, which are exact in f32 whatever their order, and so as integers.
#include "simulator/instructions/MatrixDirect.h"
#include "simulator/numbers/Conversions.h"
#include "simulator/numbers/FloatFormats.h"
#include <cstring>
#include <immintrin.h>
#include <type_traits>
#include <utility>

#define HEDDLE_DIRECT [[gnu::target("avx512f,avx512vl,avx512dq,avx512bw,avx512vnni")]]

namespace heddle::simulator {
namespace {

constexpr unsigned mostWords = 8; // registers of A or B

/// Operands in registers. A and B have `words` of them; their lanes hold `outer` rows or columns, 64 / outer times
/// along k.
struct DirectOperands {
  const Row *a, *b;
  const uint32_t *c; ///< in the order of `offsets`
  uint32_t *d;
  unsigned words;
  const uint16_t *offsetsOfC, *offsetsOfD; ///< from the first lane of the first register to each row
};

/// Where the rows of C and D lie: four follow each other in a lane's registers.
template <unsigned outer>
constexpr std::array<uint16_t, 32> makeOffsets() {
  constexpr unsigned groups = waveLanes / outer;
  std::array<uint16_t, 32> offsets{};
  for (unsigned row = 0; row < outer; ++row)
    offsets[row] = uint16_t((row % 4 + 4 * (row / (4 * groups))) * waveLanes + row / 4 % groups * outer);
  return offsets;
}
template <unsigned outer>
constexpr std::array<uint16_t, 32> rowOffsets = makeOffsets<outer>();
constexpr std::array<uint16_t, 32> noOffsets{}; ///< of C that is the same everywhere

//===-- Decoding to f32 ------------------------------------------------------------------------------------------===//

/// Puts item `item` of 16 lanes into a matrix, of which a word's first item lies at `to`.
struct PutItem {
  float *to;
  unsigned outer;
  HEDDLE_DIRECT void operator()(unsigned item, __m512 values) const { _mm512_storeu_ps(to + item * outer, values); }
};

/// How 16 words of a register become the items that they hold.
struct DecodeBf16 {
  static constexpr unsigned items = 2;
  HEDDLE_DIRECT void operator()(__m512i words, PutItem put) const {
    put(0, _mm512_castsi512_ps(_mm512_slli_epi32(words, 16)));
    put(1, _mm512_castsi512_ps(_mm512_and_si512(words, _mm512_set1_epi32(int(0xFFFF0000)))));
  }
};
struct DecodeF16 {
  static constexpr unsigned items = 2;
  HEDDLE_DIRECT void operator()(__m512i words, PutItem put) const {
    put(0, _mm512_cvtph_ps(_mm512_cvtepi32_epi16(words)));
    put(1, _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(words, 16))));
  }
};
struct DecodeFp4 {
  static constexpr unsigned items = 8;
  HEDDLE_DIRECT void operator()(__m512i words, PutItem put) const {
    const __m512 table = _mm512_setr_ps(0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6);
    for (unsigned item = 0; item < items; ++item) // by the four lowest bits
      put(item, _mm512_permutexvar_ps(_mm512_srl_epi32(words, _mm_cvtsi32_si128(int(4 * item))), table));
  }
};
/// Each value of eight bits has its last 16 bits 0 in f32. The table has the first ones.
struct DecodeByte {
  static constexpr unsigned items = 4;
  const uint16_t *table;
  HEDDLE_DIRECT void operator()(__m512i words, PutItem put) const {
    for (unsigned item = 0; item < 2; ++item) {
      __m512i codes = item ? _mm512_srli_epi16(words, 8) : _mm512_and_si512(words, _mm512_set1_epi16(0xFF));
      __m512i quarters[4]; // of the table: bits 6 and 7 choose
      for (unsigned i = 0; i < 4; ++i)
        quarters[i] = _mm512_permutex2var_epi16(_mm512_loadu_si512(table + 64 * i), codes,
                                                _mm512_loadu_si512(table + 64 * i + 32));
      __mmask32 bit6 = _mm512_test_epi16_mask(codes, _mm512_set1_epi16(0x40));
      __mmask32 bit7 = _mm512_test_epi16_mask(codes, _mm512_set1_epi16(0x80));
      __m512i both = _mm512_mask_blend_epi16(bit7, _mm512_mask_blend_epi16(bit6, quarters[0], quarters[1]),
                                             _mm512_mask_blend_epi16(bit6, quarters[2], quarters[3]));
      put(item, _mm512_castsi512_ps(_mm512_slli_epi32(both, 16)));
      put(item + 2, _mm512_castsi512_ps(_mm512_and_si512(both, _mm512_set1_epi32(int(0xFFFF0000)))));
    }
  }
};

/// An operand as [k][outer]. `run` items of a lane follow each other along k.
template <unsigned outer, typename Decode>
HEDDLE_DIRECT void decodeOperand(const Row *rows, unsigned words, unsigned run, Decode decode, float *matrix) {
  constexpr unsigned parts = waveLanes / outer;
  for (unsigned word = 0; word < words; ++word)
    for (unsigned part = 0; part < parts; ++part) {
      unsigned item = word * Decode::items;
      float *to = matrix + (run * (parts * (item / run) + part) + item % run) * outer;
      for (unsigned half = 0; half < outer; half += 16) {
        __m512i codes = _mm512_loadu_si512(rows[word] + part * outer + half);
        decode(codes, {to + half, outer});
      }
    }
}

struct ByteTables {
  alignas(64) uint16_t fp8[256], bf8[256], fp8Fnuz[256], bf8Fnuz[256];
  ByteTables() {
    auto fill = [](uint16_t *to, const FloatFormat &format) {
      for (unsigned code = 0; code < 256; ++code)
        to[code] = uint16_t(std::bit_cast<uint32_t>(decodeTable(format)[code]) >> 16);
    };
    fill(fp8, simulator::fp8Ocp), fill(bf8, simulator::bf8Ocp);
    fill(fp8Fnuz, simulator::fp8Fnuz), fill(bf8Fnuz, simulator::bf8Fnuz);
  }
};

const uint16_t *tableOf(MatrixElement element) {
  static const ByteTables tables;
  switch (element) {
  case MatrixElement::Fp8:
    return tables.fp8;
  case MatrixElement::Bf8:
    return tables.bf8;
  case MatrixElement::Fp8Fnuz:
    return tables.fp8Fnuz;
  default:
    return tables.bf8Fnuz;
  }
}

template <unsigned outer>
void decodeAs(MatrixElement element, const Row *rows, unsigned words, unsigned run, float *matrix) {
  if (element == MatrixElement::BF16)
    decodeOperand<outer>(rows, words, run, DecodeBf16(), matrix);
  else if (element == MatrixElement::F16)
    decodeOperand<outer>(rows, words, run, DecodeF16(), matrix);
  else if (element == MatrixElement::Fp4)
    decodeOperand<outer>(rows, words, run, DecodeFp4(), matrix);
  else
    decodeOperand<outer>(rows, words, run, DecodeByte{tableOf(element)}, matrix);
}

//===-- Products in f32 ------------------------------------------------------------------------------------------===//

using Lanes = float __attribute__((ext_vector_type(16)));

/// D = A B + C, with sixteen vectors of sums in registers.
template <unsigned outer>
HEDDLE_DIRECT void multiplyFloats(const float *a, const float *b, unsigned k, const DirectOperands &operands) {
  constexpr unsigned vectors = outer / 16, rows = 16 / vectors;
  for (unsigned first = 0; first < outer; first += rows) {
    Lanes sums[rows][vectors];
    for (unsigned row = 0; row < rows; ++row)
      std::memcpy(sums[row], operands.c + operands.offsetsOfC[first + row], sizeof sums[row]);
    for (unsigned index = 0; index < k; ++index) {
      Lanes right[vectors];
      std::memcpy(right, b + index * outer, sizeof right);
      for (unsigned row = 0; row < rows; ++row) {
        Lanes left = a[index * outer + first + row];
        for (unsigned each = 0; each < vectors; ++each)
          sums[row][each] = __builtin_elementwise_fma(left, right[each], sums[row][each]);
      }
    }
    for (unsigned row = 0; row < rows; ++row)
      std::memcpy(operands.d + operands.offsetsOfD[first + row], sums[row], sizeof sums[row]);
  }
}

template <unsigned outer>
void multiplyDecoded(const MatrixInstruction &matrix, const DirectOperands &operands, const unsigned (&runs)[2]) {
  alignas(64) float a[2048], b[2048];
  decodeAs<outer>(matrix.a, operands.a, operands.words, runs[0], a);
  decodeAs<outer>(matrix.b, operands.b, operands.words, runs[1], b);
  multiplyFloats<outer>(a, b, matrix.shape.k, operands);
}

//===-- Products in integers -------------------------------------------------------------------------------------===//

/// Of products of unsigned bytes of B and signed ones of A, [words][outer]: what each row of A adds when `bias` is
/// added to each byte of B.
template <unsigned outer>
HEDDLE_DIRECT inline void sumBias(const uint32_t *a, unsigned words, int bias, uint32_t *biased) {
  for (unsigned each = 0; each < outer; each += 16) {
    __m512i sums = _mm512_setzero_si512();
    for (unsigned word = 0; word < words; ++word)
      sums = _mm512_dpbusd_epi32(sums, _mm512_set1_epi8(char(bias)), _mm512_load_si512(a + word * outer + each));
    _mm512_store_si512(biased + each, sums);
  }
}

/// sums[row][each] += A B for `rows` rows of A from `first` on and all columns, where four bytes along k share a word:
/// `a` and `b` are [words][outer].
template <unsigned outer, unsigned rows>
HEDDLE_DIRECT [[gnu::always_inline]] inline void multiplyWords(const uint32_t *a, const uint32_t *b, unsigned words,
                                                               unsigned first, __m512i (&sums)[rows][outer / 16]) {
  for (unsigned word = 0; word < words; ++word) {
    __m512i right[outer / 16];
    for (unsigned each = 0; each < outer / 16; ++each)
      right[each] = _mm512_loadu_si512(b + word * outer + 16 * each);
    for (unsigned row = 0; row < rows; ++row) {
      __m512i left = _mm512_set1_epi32(int(a[word * outer + first + row]));
      for (unsigned each = 0; each < outer / 16; ++each)
        sums[row][each] = _mm512_dpbusd_epi32(sums[row][each], right[each], left);
    }
  }
}

/// Lanes hold items of A and B at the same k in the same way, so that words need not be put in the order of k.
template <unsigned outer>
HEDDLE_DIRECT void multiplyBytes(const DirectOperands &operands) {
  constexpr unsigned vectors = outer / 16, rows = 16 / vectors, bias = 128;
  alignas(64) uint32_t a[mostWords * waveLanes], b[mostWords * waveLanes], biased[outer];
  std::memcpy(a, operands.a, operands.words * sizeof(Row));
  for (unsigned at = 0; at < operands.words * waveLanes; at += 16)
    _mm512_store_si512(b + at, _mm512_xor_si512(_mm512_loadu_si512(operands.b[0] + at), _mm512_set1_epi8(char(bias))));
  unsigned words = operands.words * (waveLanes / outer);
  sumBias<outer>(a, words, bias, biased);
  for (unsigned first = 0; first < outer; first += rows) {
    __m512i sums[rows][vectors];
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned each = 0; each < vectors; ++each)
        sums[row][each] =
            _mm512_sub_epi32(_mm512_loadu_si512(operands.c + operands.offsetsOfC[first + row] + 16 * each),
                             _mm512_set1_epi32(int(biased[first + row])));
    multiplyWords<outer, rows>(a, b, words, first, sums);
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned each = 0; each < vectors; ++each)
        _mm512_storeu_si512(operands.d + operands.offsetsOfD[first + row] + 16 * each, sums[row][each]);
  }
}

/// Twice the values of fp4, as signed bytes; those of B are `fp4Bias` more.
constexpr int fp4Bias = 12;
HEDDLE_DIRECT inline __m512i fp4Table(int bias) {
  alignas(16) int8_t values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  for (int8_t &value : values)
    value = int8_t(value + bias);
  return _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i *>(values)));
}

/// The eight items of each word as two words of bytes, of the even items and of the odd ones.
HEDDLE_DIRECT inline void spreadFp4(const uint32_t *from, unsigned count, unsigned stride, __m512i table,
                                    uint32_t *to) {
  const __m512i low = _mm512_set1_epi8(15);
  for (unsigned at = 0; at < count; at += 16) {
    __m512i codes = _mm512_loadu_si512(from + at);
    _mm512_store_si512(to + at, _mm512_shuffle_epi8(table, _mm512_and_si512(codes, low)));
    _mm512_store_si512(to + stride + at,
                       _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi32(codes, 4), low)));
  }
}

using Doubles = double __attribute__((ext_vector_type(8)));
using HalfLanes = float __attribute__((ext_vector_type(8)));

/// Eight sums of a row, in quarters, are scaled and added. `rowScale` is for quarters.
HEDDLE_DIRECT inline void addScaledEight(__m256i sums, double rowScale, const double *columnScales, float *c) {
  HalfLanes old;
  Doubles scales;
  std::memcpy(&old, c, sizeof old);
  std::memcpy(&scales, columnScales, sizeof scales);
  Doubles added = Doubles(_mm512_cvtepi32_pd(sums)) * rowScale * scales;
  old = __builtin_convertvector(added + __builtin_convertvector(old, Doubles), HalfLanes);
  std::memcpy(c, &old, sizeof old);
}

/// Sixteen sums of a row, in quarters, are scaled and added, where all scales are powers of two of f32. Products are
/// exact then, and the sum of one with an element of C is as if exact before it is rounded, as it is in f64: its parts
/// are within 53 bits, or so far apart that the larger one is the result.
HEDDLE_DIRECT inline void addScaledSixteen(__m512i sums, float rowScale, const float *columnScales, float *c) {
  __m512 scales = _mm512_mul_ps(_mm512_set1_ps(rowScale), _mm512_load_ps(columnScales));
  _mm512_store_ps(c, _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), scales, _mm512_load_ps(c)));
}

/// Which scales an operand has: a register, or the same exponent everywhere.
struct ScaleSource {
  const uint32_t *lanes;
  unsigned shift;
  uint32_t exponent;
};

/// scaleFactor() of all lanes, times `factor`.
HEDDLE_DIRECT void readScales(const ScaleSource &source, double factor, double *scales) {
  const __m512i bias = _mm512_set1_epi64(1023 - 127), nanExponent = _mm512_set1_epi64(0xFF);
  for (unsigned lane = 0; lane < waveLanes; lane += 8) {
    __m256i exponents = _mm256_set1_epi32(int(source.exponent));
    if (source.lanes) {
      __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(source.lanes + lane));
      exponents =
          _mm256_and_si256(_mm256_srl_epi32(words, _mm_cvtsi32_si128(int(source.shift))), _mm256_set1_epi32(0xFF));
    }
    __m512i wide = _mm512_cvtepu32_epi64(exponents);
    __m512d powers = _mm512_castsi512_pd(_mm512_slli_epi64(_mm512_add_epi64(wide, bias), 52));
    powers = _mm512_mask_mov_pd(powers, _mm512_cmpeq_epi64_mask(wide, nanExponent), _mm512_set1_pd(quietNan<double>()));
    _mm512_storeu_pd(scales + lane, _mm512_mul_pd(powers, _mm512_set1_pd(factor)));
  }
}

/// Of the lanes of one block. `narrowRows` is null where a product of two does not fit f32.
struct BlockScales {
  const double *rows, *columns;
  const float *narrowRows, *narrowColumns;
};

/// The same in f32. Whether all are so near 1 that a product of two of them is a power of two in f32, too.
HEDDLE_DIRECT bool narrowScales(const double *scales, float *narrow) {
  constexpr double most = 0x1p62, least = 0x1p-62;
  __mmask8 areWithin = 0xff;
  for (unsigned lane = 0; lane < waveLanes; lane += 8) {
    __m512d eight = _mm512_load_pd(scales + lane);
    areWithin &= _mm512_cmp_pd_mask(eight, _mm512_set1_pd(least), _CMP_GE_OQ) &
                 _mm512_cmp_pd_mask(eight, _mm512_set1_pd(most), _CMP_LE_OQ);
    _mm256_store_ps(narrow + lane, _mm512_cvtpd_ps(eight));
  }
  return areWithin == 0xff;
}

/// One block of 32 along k: [8 words][outer] of A and B.
template <unsigned outer>
HEDDLE_DIRECT void addFp4Block(const uint32_t *a, const uint32_t *b, const BlockScales &scales, float *c) {
  constexpr unsigned vectors = outer / 16, rows = 16 / vectors, words = 8;
  alignas(64) uint32_t biased[outer];
  sumBias<outer>(a, words, fp4Bias, biased);
  for (unsigned first = 0; first < outer; first += rows) {
    __m512i sums[rows][vectors];
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned each = 0; each < vectors; ++each)
        sums[row][each] = _mm512_set1_epi32(-int(biased[first + row]));
    multiplyWords<outer, rows>(a, b, words, first, sums);
    if (scales.narrowRows) {
      for (unsigned row = 0; row < rows; ++row)
        for (unsigned each = 0; each < vectors; ++each)
          addScaledSixteen(sums[row][each], scales.narrowRows[first + row], scales.narrowColumns + 16 * each,
                           c + (first + row) * outer + 16 * each);
      continue;
    }
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned each = 0; each < vectors; ++each)
        for (unsigned half = 0; half < 2; ++half)
          addScaledEight(half ? _mm512_extracti64x4_epi64(sums[row][each], 1) : _mm512_castsi512_si256(sums[row][each]),
                         scales.rows[first + row], scales.columns + 16 * each + 8 * half,
                         c + (first + row) * outer + 16 * each + 8 * half);
  }
}

/// Both of fp4, a block of 32 along k in each part of the lanes.
template <unsigned outer>
HEDDLE_DIRECT void multiplyFp4(const DirectOperands &operands, const ScaleSource (&scales)[2]) {
  constexpr unsigned words = 4;
  alignas(64) float c[outer * outer];
  for (unsigned row = 0; row < outer; ++row)
    std::memcpy(c + row * outer, operands.c + operands.offsetsOfC[row], outer * sizeof(float));
  const __m512i tableOfA = fp4Table(0), tableOfB = fp4Table(fp4Bias);
  alignas(64) double rowScales[waveLanes], columnScales[waveLanes];
  readScales(scales[0], 0.25, rowScales); // sums are of products of doubled values
  readScales(scales[1], 1, columnScales);
  alignas(64) float narrowRows[waveLanes], narrowColumns[waveLanes];
  bool areNarrow = narrowScales(rowScales, narrowRows) && narrowScales(columnScales, narrowColumns);
  for (unsigned part = 0; part < waveLanes / outer; ++part) {
    alignas(64) uint32_t a[2 * words * outer], b[2 * words * outer];
    for (unsigned word = 0; word < words; ++word) {
      spreadFp4(operands.a[word] + part * outer, outer, outer, tableOfA, a + 2 * word * outer);
      spreadFp4(operands.b[word] + part * outer, outer, outer, tableOfB, b + 2 * word * outer);
    }
    addFp4Block<outer>(a, b,
                       {rowScales + part * outer, columnScales + part * outer,
                        areNarrow ? narrowRows + part * outer : nullptr, narrowColumns + part * outer},
                       c);
  }
  for (unsigned row = 0; row < outer; ++row)
    std::memcpy(operands.d + operands.offsetsOfD[row], c + row * outer, outer * sizeof(float));
}

//===-- Which instructions ---------------------------------------------------------------------------------------===//

bool hasAllInstructions() {
  static const bool hasAll = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                             __builtin_cpu_supports("avx512vnni");
  return hasAll;
}

bool isDecoded(MatrixElement element) {
  switch (element) {
  case MatrixElement::BF16:
  case MatrixElement::F16:
  case MatrixElement::Fp8:
  case MatrixElement::Bf8:
  case MatrixElement::Fp8Fnuz:
  case MatrixElement::Bf8Fnuz:
  case MatrixElement::Fp4:
    return true;
  default:
    return false;
  }
}

/// Rows of C are read before those of D are written that lie in the same registers, unless they overlap in part.
bool overlapInPart(const Operand &c, const Operand &d) {
  return c.isVector() && c.index != d.index && c.index < d.index + d.words && d.index < c.index + c.words;
}

/// Neither shape nor modifiers ask for more than what is done here.
bool isPlain(const Instruction &instruction, const MatrixInstruction &matrix) {
  const MatrixShape &shape = matrix.shape;
  const Modifiers &modifiers = instruction.modifiers;
  const Operand &c = instruction.operands[3];
  bool broadcasts = matrix.kind == MatrixKind::Dense && (modifiers.cbsz || modifiers.blgp);
  return matrix.kind != MatrixKind::Sparse && !broadcasts && shape.blocks == 1 && shape.m == shape.n &&
         (shape.n == 16 || shape.n == 32) && !c.negate && !c.absolute && !overlapInPart(c, instruction.operands[0]);
}

ScaleSource scaleSource(const Wave &wave, const Instruction &instruction, unsigned number) {
  const Operand &operand = instruction.operands[4 + number];
  if (operand.isVector())
    return {wave.v[operand.index], 8 * scaleByte(instruction.modifiers, number), 0};
  return {nullptr, 0, readUniform32(wave, operand) >> 23 & 0xFF};
}

template <unsigned outer>
bool multiplyShape(Wave &wave, const Instruction &instruction, const MatrixInstruction &matrix,
                   DirectOperands &operands) {
  unsigned items = matrix.shape.k * outer / waveLanes;
  operands.words = items * bitsOf(matrix.a) / 32;
  if (matrix.kind == MatrixKind::Scaled) {
    if (matrix.a != MatrixElement::Fp4 || matrix.b != MatrixElement::Fp4)
      return false;
    multiplyFp4<outer>(operands, {scaleSource(wave, instruction, 0), scaleSource(wave, instruction, 1)});
    return true;
  }
  if (matrix.a == MatrixElement::I8) {
    multiplyBytes<outer>(operands);
    return true;
  }
  if (!isDecoded(matrix.a) || !isDecoded(matrix.b) || bitsOf(matrix.a) != bitsOf(matrix.b))
    return false;
  bool isByteFormat = matrix.kind == MatrixKind::Formats && bitsOf(matrix.a) == 8; // in runs of 16 bytes
  unsigned run = isByteFormat ? std::min(items, 16u) : items;
  multiplyDecoded<outer>(matrix, operands, {run, run});
  return true;
}

} // namespace

bool multiplyDirectly(Wave &wave, const Instruction &instruction, const MatrixInstruction &given) {
  if (!hasAllInstructions() || !isPlain(instruction, given))
    return false;
  MatrixInstruction matrix = given;
  if (matrix.kind == MatrixKind::Formats || matrix.kind == MatrixKind::Scaled) {
    auto formatOf = [](unsigned code) {
      return code == 0 ? MatrixElement::Fp8 : code == 1 ? MatrixElement::Bf8 : MatrixElement::Fp4;
    };
    unsigned codes[] = {instruction.modifiers.cbsz, instruction.modifiers.blgp};
    for (unsigned code : codes)
      if (code > 1 && code != 4)
        return false;
    matrix.a = formatOf(codes[0]), matrix.b = formatOf(codes[1]);
  }
  const Operand &c = instruction.operands[3], &d = instruction.operands[0];
  alignas(64) uint32_t uniform[32];
  DirectOperands operands;
  operands.a = wave.v + instruction.operands[1].index;
  operands.b = wave.v + instruction.operands[2].index;
  operands.d = wave.v[d.index];
  const uint16_t *offsets = given.shape.n == 16 ? rowOffsets<16>.data() : rowOffsets<32>.data();
  operands.offsetsOfC = operands.offsetsOfD = offsets;
  if (c.isVector()) {
    operands.c = wave.v[c.index];
  } else {
    std::fill_n(uniform, 32, readUniform32(wave, c));
    operands.c = uniform;
    operands.offsetsOfC = noOffsets.data();
  }
  return given.shape.n == 16 ? multiplyShape<16>(wave, instruction, matrix, operands)
                             : multiplyShape<32>(wave, instruction, matrix, operands);
}

} // namespace heddle::simulator
