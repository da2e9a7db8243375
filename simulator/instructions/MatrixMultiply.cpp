// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One product for all matrix instructions: operands are decoded into plain matrices, multiplied in order of k with one
// fused step each, and the result is put back. The order and width of the chips' own sums are not documented.
#include "simulator/instructions/MatrixMultiply.h"
#include "simulator/instructions/LaneModifiers.h"
#include "simulator/instructions/MatrixDirect.h"
#include "simulator/instructions/MatrixKernels.h"
#include "simulator/numbers/Conversions.h"
#include "simulator/state/Fault.h"
#include <algorithm>
#include <array>
#include <memory>
#include <span>

namespace heddle::simulator {

//===-- Layout ---------------------------------------------------------------------------------------------------===//

OperandPlace operandPlace(const MatrixShape &shape, unsigned outerSize, unsigned lane, unsigned item, unsigned run) {
  unsigned group = lane / outerSize, block = group % shape.blocks, part = group / shape.blocks;
  unsigned parts = waveLanes / outerSize / shape.blocks;
  return {lane % outerSize, run * (parts * (item / run) + part) + item % run, block};
}

namespace {

/// The constants of the formula for results: rows that follow each other in a lane's items, blocks and groups of rows
/// side by side in the lanes, and groups of rows one after the other in the items.
struct ResultFormula {
  unsigned run, blocksAcross, groupsAcross, groupsDown;
  ResultFormula(const MatrixShape &shape, bool isDouble) {
    unsigned area = shape.m * shape.n;
    run = isDouble ? 1 : 4;
    blocksAcross = (waveLanes * run + area - 1) / area;
    groupsAcross = waveLanes / (blocksAcross * shape.n);
    groupsDown = shape.m / (run * groupsAcross);
  }
};

} // namespace

ResultPlace resultPlace(const MatrixShape &shape, bool isDouble, unsigned row, unsigned column, unsigned block) {
  ResultFormula f(shape, isDouble);
  unsigned group = row / f.run;
  return {column + shape.n * (group % f.groupsAcross + f.groupsAcross * (block % f.blocksAcross)),
          row % f.run + f.run * (group / f.groupsAcross + f.groupsDown * (block / f.blocksAcross))};
}

unsigned broadcastLaneOfA(unsigned lane, unsigned cbsz, unsigned abid) {
  unsigned group = waveLanes >> cbsz;
  return lane % group + group * abid;
}

unsigned broadcastLaneOfB(unsigned lane, unsigned blgp) {
  switch (blgp) {
  case 0:
    return lane;
  case 1:
  case 2:
    return lane % 32 + 32 * (blgp - 1);
  case 3:
    return (lane + 16) % waveLanes;
  default:
    return lane % 16 + 16 * (blgp - 4);
  }
}

unsigned scaleByte(const Modifiers &modifiers, unsigned number) {
  return (modifiers.opSel >> number & 1) + 2 * (modifiers.opSelHi >> number & 1);
}

//===-- Operands -------------------------------------------------------------------------------------------------===//

namespace {

constexpr unsigned mostElements = 4096; // of A or B: 32 x 64 and, for 4x4x4 in 16 blocks, 256

/// Plain matrices. `a` is [block][k][row] and `b` [block][k][column], so that lanes that follow each other fill them.
template <typename T, typename Factor>
struct Matrices {
  alignas(64) Factor a[mostElements], b[mostElements];
  alignas(64) T c[mostElements];
};

const FloatFormat &formatOf(MatrixElement element) {
  switch (element) {
  case MatrixElement::Fp8:
    return fp8Ocp;
  case MatrixElement::Bf8:
    return bf8Ocp;
  case MatrixElement::Fp8Fnuz:
    return fp8Fnuz;
  case MatrixElement::Bf8Fnuz:
    return bf8Fnuz;
  case MatrixElement::Fp6:
    return fp6;
  case MatrixElement::Bf6:
    return bf6;
  default:
    return fp4;
  }
}

/// f32 with 10 bits of mantissa.
float roundedToXf32(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t rounded = (bits + 0xFFF + (bits >> 13 & 1)) & ~0x1FFFu;
  return isNan(value) || isInfinite(value) ? value : std::bit_cast<float>(rounded);
}

template <typename Decode>
void decodeLanes(const uint32_t *codes, float *values, Decode decode) {
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    values[lane] = decode(codes[lane]);
}

/// The bits of item `item` of all lanes, at bit 0.
const uint32_t *itemCodes(const Row *rows, unsigned bits, unsigned item, Row &storage) {
  unsigned bit = item * bits, shift = bit % 32;
  const uint32_t *low = rows[bit / 32];
  if (shift == 0)
    return low;
  if (shift + bits <= 32) {
    for (unsigned lane = 0; lane < waveLanes; ++lane)
      storage[lane] = low[lane] >> shift;
    return storage;
  }
  const uint32_t *high = rows[bit / 32 + 1];
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    storage[lane] = low[lane] >> shift | high[lane] << (32 - shift);
  return storage;
}

/// Item `item` of all lanes of an operand whose registers start at `rows`.
void decodeItem(const Row *rows, MatrixElement element, unsigned item, bool flush, float *values) {
  unsigned bits = bitsOf(element), bit = item * bits;
  if (element == MatrixElement::Fp4)
    return matrixKernels().decodeFp4(rows[bit / 32], bit % 32, values);
  if (bits == 8 && element != MatrixElement::I8)
    return matrixKernels().decodeByte(rows[bit / 32], bit % 32, decodeTable(formatOf(element)).data(), values);
  Row storage;
  const uint32_t *codes = itemCodes(rows, bits, item, storage);
  switch (element) {
  case MatrixElement::F32:
    return decodeLanes(codes, values, [flush](uint32_t code) {
      auto value = std::bit_cast<float>(code);
      return flush ? flushDenormal(value) : value;
    });
  case MatrixElement::Xf32:
    return decodeLanes(codes, values, [flush](uint32_t code) {
      auto value = std::bit_cast<float>(code);
      return roundedToXf32(flush ? flushDenormal(value) : value);
    });
  case MatrixElement::F16:
    return decodeLanes(codes, values, [](uint32_t code) { return float(fromBits<_Float16>(code & 0xFFFF)); });
  case MatrixElement::BF16:
    return decodeLanes(codes, values, [](uint32_t code) { return std::bit_cast<float>(code << 16); });
  case MatrixElement::I8:
    return decodeLanes(codes, values, [](uint32_t code) { return float(int8_t(code)); });
  default:
    const float *table = decodeTable(formatOf(element)).data();
    uint32_t mask = (1u << bits) - 1;
    return decodeLanes(codes, values, [table, mask](uint32_t code) { return table[code & mask]; });
  }
}
void decodeItem(const Row *rows, MatrixElement, unsigned item, bool, double *values) {
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    values[lane] = std::bit_cast<double>(uint64_t(rows[2 * item + 1][lane]) << 32 | rows[2 * item][lane]);
}

/// Which operand of an instruction, and how its lanes are broadcast.
struct OperandView {
  const Row *rows;
  MatrixElement element;
  unsigned outerSize;
  unsigned run; ///< items of a lane that follow each other along k
  bool flush = false, negate = false, broadcasts = false;
  std::array<uint8_t, waveLanes> sourceLanes; ///< when it broadcasts
};

template <typename T>
void broadcastLanes(const OperandView &view, T (&values)[waveLanes]) {
  T own[waveLanes];
  std::copy_n(values, waveLanes, own);
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    values[lane] = own[view.sourceLanes[lane]];
}

/// Each group of `outerSize` lanes holds one item of a column of A or of a row of B; `places` says where it goes.
template <unsigned outerSize, typename T>
void putGroups(const T *values, T *matrix, const unsigned *places) {
  for (unsigned group = 0; group < waveLanes / outerSize; ++group)
    std::memcpy(matrix + places[group], values + group * outerSize, outerSize * sizeof(T));
}

template <typename T>
void loadOperand(const MatrixShape &shape, const OperandView &view, T *matrix) {
  unsigned items = shape.k * view.outerSize * shape.blocks / waveLanes;
  unsigned places[waveLanes / 4]; // of the item at hand; within a run, items follow each other along k
  alignas(64) T values[waveLanes];
  for (unsigned item = 0; item < items; ++item) {
    decodeItem(view.rows, view.element, item, view.flush, values);
    if (view.broadcasts)
      broadcastLanes(view, values);
    if (view.negate)
      for (T &value : values)
        value = -value;
    unsigned inRun = item % view.run * view.outerSize;
    for (unsigned group = 0; inRun == 0 && group < waveLanes / view.outerSize; ++group) {
      OperandPlace place = operandPlace(shape, view.outerSize, group * view.outerSize, item, view.run);
      places[group] = (place.block * shape.k + place.k) * view.outerSize;
    }
    if (view.outerSize == 4)
      putGroups<4>(values, matrix + inRun, places);
    else if (view.outerSize == 16)
      putGroups<16>(values, matrix + inRun, places);
    else
      putGroups<32>(values, matrix + inRun, places);
  }
}

/// A row of four elements becomes dense: two bits of the index for each of the two that are there.
template <typename T>
void loadSparse(const MatrixShape &shape, const OperandView &view, const uint32_t *indices, unsigned shift, T *matrix) {
  std::fill_n(matrix, shape.k * shape.m, T(0));
  MatrixShape stored = shape;
  stored.k /= 2;
  unsigned items = stored.k * shape.m / waveLanes;
  alignas(64) T values[waveLanes];
  for (unsigned item = 0; item < items; ++item) {
    decodeItem(view.rows, view.element, item, view.flush, values);
    for (unsigned lane = 0; lane < waveLanes; ++lane) {
      unsigned within = indices[lane] >> (shift + 2 * item) & 3, part = lane / shape.m;
      unsigned k = 2 * items * part + 4 * (item / 2) + within;
      matrix[k * shape.m + lane % shape.m] = values[lane];
    }
  }
}

//===-- Results --------------------------------------------------------------------------------------------------===//

/// Calls `visit(item, lane, element)` for each run of shape.n lanes that holds one row of the result.
template <typename Visit>
void forResultRuns(const MatrixShape &shape, bool isDouble, Visit visit) {
  unsigned run = isDouble ? 1 : 4; // rows that follow each other in a lane's items
  for (unsigned block = 0; block < shape.blocks; ++block)
    for (unsigned row = 0; row < shape.m; row += run) {
      ResultPlace place = resultPlace(shape, isDouble, row, 0, block);
      for (unsigned next = 0; next < run; ++next)
        visit(place.item + next, place.lane, (block * shape.m + row + next) * shape.n);
    }
}

template <typename T>
void loadResult(const Wave &wave, const MatrixShape &shape, const Operand &operand, T *matrix) {
  constexpr unsigned words = sizeof(T) / 4;
  if (!operand.isVector()) {
    uint64_t bits = words == 2 ? readUniform64(wave, operand) : readUniform32(wave, operand);
    std::fill_n(matrix, shape.m * shape.n * shape.blocks, fromBits<T>(bits));
    return;
  }
  forResultRuns(shape, words == 2, [&](unsigned item, unsigned lane, unsigned element) {
    if (words == 1) {
      std::memcpy(matrix + element, wave.v[operand.index + item] + lane, shape.n * sizeof(T));
      return;
    }
    for (unsigned column = 0; column < shape.n; ++column) {
      uint64_t bits = wave.v[operand.index + item * words][lane + column];
      if (words == 2)
        bits |= uint64_t(wave.v[operand.index + item * words + 1][lane + column]) << 32;
      matrix[element + column] = fromBits<T>(bits);
    }
  });
}

template <typename T>
void storeResult(Wave &wave, const MatrixShape &shape, const Operand &operand, const T *matrix) {
  constexpr unsigned words = sizeof(T) / 4;
  forResultRuns(shape, words == 2, [&](unsigned item, unsigned lane, unsigned element) {
    if (words == 1) {
      std::memcpy(wave.v[operand.index + item] + lane, matrix + element, shape.n * sizeof(T));
      return;
    }
    for (unsigned column = 0; column < shape.n; ++column) {
      uint64_t bits = bitsOf(matrix[element + column]);
      wave.v[operand.index + item * words][lane + column] = uint32_t(bits);
      if (words == 2)
        wave.v[operand.index + item * words + 1][lane + column] = uint32_t(bits >> 32);
    }
  });
}

//===-- Products -------------------------------------------------------------------------------------------------===//

/// c += a b, four rows of f64 at once, so that sums wait less for each other.
template <unsigned n>
void multiplyDoubles(const double *a, const double *b, double *c, unsigned m, unsigned k) {
  for (unsigned first = 0; first < m; first += 4) {
    double sums[4][n];
    std::memcpy(sums, c + first * n, sizeof sums);
    for (unsigned index = 0; index < k; ++index)
      for (unsigned row = 0; row < 4; ++row)
        for (unsigned column = 0; column < n; ++column)
          sums[row][column] = __builtin_fma(a[index * m + first + row], b[index * n + column], sums[row][column]);
    std::memcpy(c + first * n, sums, sizeof sums);
  }
}
void multiplyBlock(const double *a, const double *b, double *c, const MatrixShape &shape, unsigned k) {
  shape.n == 4 ? multiplyDoubles<4>(a, b, c, shape.m, k) : multiplyDoubles<16>(a, b, c, shape.m, k);
}
void multiplyBlock(const float *a, const float *b, float *c, const MatrixShape &shape, unsigned k) {
  matrixKernels().multiply(a, b, c, {shape.m, shape.n, k});
}

/// The sum of all products of a block is below 2^24, so that f32 holds it whatever the order; only C wraps.
void multiplyAll(const MatrixShape &shape, Matrices<int32_t, float> &matrices) {
  alignas(64) float sums[32 * 32];
  unsigned area = shape.m * shape.n;
  for (unsigned block = 0; block < shape.blocks; ++block) {
    std::fill_n(sums, area, 0.0f);
    multiplyBlock(matrices.a + block * shape.k * shape.m, matrices.b + block * shape.k * shape.n, sums, shape, shape.k);
    int32_t *c = matrices.c + block * area;
    for (unsigned element = 0; element < area; ++element)
      c[element] = int32_t(uint32_t(c[element]) + uint32_t(int32_t(sums[element])));
  }
}

template <typename T>
void multiplyAll(const MatrixShape &shape, Matrices<T, T> &matrices) {
  for (unsigned block = 0; block < shape.blocks; ++block)
    multiplyBlock(matrices.a + block * shape.k * shape.m, matrices.b + block * shape.k * shape.n,
                  matrices.c + block * shape.m * shape.n, shape, shape.k);
}

/// The factor that lane `lane` gives, of the byte that op_sel and op_sel_hi choose; of a constant, its exponent.
double scaleOfLane(const Wave &wave, const Instruction &instruction, unsigned number, unsigned lane) {
  const Operand &operand = instruction.operands[4 + number];
  uint32_t exponent;
  if (operand.isVector()) {
    exponent = wave.v[operand.index][lane] >> (8 * scaleByte(instruction.modifiers, number)) & 0xFF;
  } else {
    exponent = readUniform32(wave, operand) >> 23 & 0xFF;
  }
  return scaleFactor(std::bit_cast<float>(exponent << 23));
}

/// Each block of 32 along k is multiplied by itself; its sum is scaled before it is added.
void multiplyScaled(const Wave &wave, const Instruction &instruction, const MatrixShape &shape,
                    Matrices<float, float> &matrices) {
  alignas(64) float sums[32 * 32];
  double scalesA[32], scalesB[32];
  for (unsigned start = 0; start < shape.k; start += 32) {
    for (unsigned outer = 0; outer < shape.m; ++outer) {
      unsigned lane = outer + shape.m * (start / 32);
      scalesA[outer] = scaleOfLane(wave, instruction, 0, lane);
      scalesB[outer] = scaleOfLane(wave, instruction, 1, lane);
    }
    std::fill_n(sums, shape.m * shape.n, 0.0f);
    multiplyBlock(matrices.a + start * shape.m, matrices.b + start * shape.n, sums, shape, 32);
    matrixKernels().addScaled({sums, scalesA, scalesB}, matrices.c, {shape.m, shape.n, 32});
  }
}

MatrixElement formatByCode(unsigned code) {
  static constexpr MatrixElement formats[] = {MatrixElement::Fp8, MatrixElement::Bf8, MatrixElement::Fp6,
                                              MatrixElement::Bf6, MatrixElement::Fp4};
  if (code >= std::size(formats))
    throw Fault("matrix format " + std::to_string(code) + " is none of fp8, bf8, fp6, bf6, fp4 (0 to 4)");
  return formats[code];
}

/// One block of each group of 2^cbsz is read by all of them.
void checkBroadcast(const Modifiers &modifiers, const MatrixShape &shape) {
  unsigned group = 1u << modifiers.cbsz;
  if (group > shape.blocks || modifiers.abid >= group)
    throw Fault("broadcasts block " + std::to_string(modifiers.abid) + " of each " + std::to_string(group) +
                " (abid, cbsz), but multiplies " + std::to_string(shape.blocks) + " blocks");
}

/// 16 bytes, where the instruction is made of two of half its k: f8f6f4 with 8-bit elements, and B of sparse products.
unsigned runOf(const MatrixInstruction &matrix, const OperandView &view, unsigned number) {
  unsigned items = matrix.shape.k * view.outerSize * matrix.shape.blocks / waveLanes, bits = bitsOf(view.element);
  bool isSparseB = matrix.kind == MatrixKind::Sparse && number == 1;
  bool isByteFormat = (matrix.kind == MatrixKind::Formats || matrix.kind == MatrixKind::Scaled) && bits == 8;
  return isSparseB || isByteFormat ? std::min(items, 128 / bits) : items;
}

OperandView viewOf(const Wave &wave, const Instruction &instruction, const MatrixInstruction &matrix, unsigned number) {
  const Modifiers &modifiers = instruction.modifiers;
  bool hasFormats = matrix.kind == MatrixKind::Formats || matrix.kind == MatrixKind::Scaled;
  OperandView view;
  view.rows = wave.v + instruction.operands[1 + number].index;
  view.element = number ? matrix.b : matrix.a;
  view.outerSize = number ? matrix.shape.n : matrix.shape.m;
  view.flush = !(wave.mode & 0x10);
  if (hasFormats)
    view.element = formatByCode(number ? modifiers.blgp : modifiers.cbsz);
  view.run = runOf(matrix, view, number);
  view.negate = matrix.a == MatrixElement::F64 && modifiers.blgp >> number & 1;
  view.broadcasts = matrix.kind == MatrixKind::Dense && matrix.a != MatrixElement::F64 &&
                    (number ? modifiers.blgp != 0 : modifiers.cbsz != 0);
  if (view.broadcasts && number == 0)
    checkBroadcast(modifiers, matrix.shape);
  if (view.broadcasts)
    for (unsigned lane = 0; lane < waveLanes; ++lane)
      view.sourceLanes[lane] = uint8_t(
          (number ? broadcastLaneOfB(lane, modifiers.blgp) : broadcastLaneOfA(lane, modifiers.cbsz, modifiers.abid)) %
          waveLanes);
  return view;
}

/// Which bits of the index register count: sets that do not fill it are chosen by abid, unless cbsz is set.
unsigned indexShift(const Modifiers &modifiers, const MatrixShape &shape) {
  unsigned setBits = shape.k * shape.m / waveLanes;
  return modifiers.cbsz ? 0 : setBits * modifiers.abid % 32;
}

template <typename T, typename Factor>
void multiplyAs(Wave &wave, const Instruction &instruction, const MatrixInstruction &matrix) {
  // Not static storage of each thread: a library that is opened late finds little room for that.
  static thread_local const auto owned = std::make_unique<Matrices<T, Factor>>();
  Matrices<T, Factor> &matrices = *owned;
  const MatrixShape &shape = matrix.shape;
  OperandView a = viewOf(wave, instruction, matrix, 0), b = viewOf(wave, instruction, matrix, 1);
  bool sparse = matrix.kind == MatrixKind::Sparse;
  if (sparse)
    loadSparse(shape, a, wave.v[instruction.operands[3].index], indexShift(instruction.modifiers, shape), matrices.a);
  else
    loadOperand(shape, a, matrices.a);
  loadOperand(shape, b, matrices.b);
  const Operand &addend = instruction.operands[sparse ? 0 : 3];
  loadResult(wave, shape, addend, matrices.c);
  bool negates = (matrix.a == MatrixElement::F64 && instruction.modifiers.blgp & 4) || addend.negate;
  if (negates || addend.absolute)
    for (T &value : std::span(matrices.c, shape.m * shape.n * shape.blocks)) {
      T magnitude = addend.absolute && value < T(0) ? -value : value;
      value = negates ? -magnitude : magnitude;
    }
  if constexpr (std::is_same_v<T, float>)
    if (matrix.kind == MatrixKind::Scaled) {
      multiplyScaled(wave, instruction, shape, matrices);
      storeResult(wave, shape, instruction.operands[0], matrices.c);
      return;
    }
  multiplyAll(shape, matrices);
  storeResult(wave, shape, instruction.operands[0], matrices.c);
}

} // namespace

void multiplyMatrices(Wave &wave, const Instruction &instruction, const MatrixInstruction &matrix) {
  if (!multiplyDirectly(wave, instruction, matrix))
    multiplyPlainly(wave, instruction, matrix);
}

void multiplyPlainly(Wave &wave, const Instruction &instruction, const MatrixInstruction &matrix) {
  if (matrix.a == MatrixElement::F64)
    multiplyAs<double, double>(wave, instruction, matrix);
  else if (matrix.a == MatrixElement::I8)
    multiplyAs<int32_t, float>(wave, instruction, matrix);
  else
    multiplyAs<float, float>(wave, instruction, matrix);
}

} // namespace heddle::simulator
