// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrix products: d[b,m,n] = sum over k of a[b,m,k] * b[b,k,n], plus c. Floating point sums exact products in double
// and rounds once, whatever `inputPrecision` permits; integers are exact modulo the accumulator's width.
#include "compiler/dialects/triton/Triton.h"
#include "support/Error.h"
#include "tests/reference/Program.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace heddle::reference;

namespace {
struct Extents {
  int64_t batch, m, n, k;
};
} // namespace

// Size of dimension `fromEnd` counted from the last one (1 is the last).
static int64_t extent(const Tile &tile, int fromEnd) {
  return tile.shape()[tile.shape().size() - fromEnd];
}

static int64_t batchOf(const Tile &result) {
  return result.shape().size() == 3 ? result.shape()[0] : 1;
}

static Results integerDot(Operation *op, const Inputs &in, Extents e) {
  return {buildTile(op->getResult(0).getType(), [&](int64_t i) {
    int64_t n = i % e.n, m = i / e.n % e.m, batch = i / (e.n * e.m);
    uint64_t sum = in[2].bits[i];
    for (int64_t k = 0; k < e.k; ++k)
      sum += uint64_t(signedAt(in[0], (batch * e.m + m) * e.k + k) * signedAt(in[1], (batch * e.k + k) * e.n + n));
    return sum;
  })};
}

static std::vector<double> decodeAll(const Tile &tile) {
  const FloatFormat &format = formatOf(tile.type);
  std::vector<double> numbers;
  for (uint64_t bits : tile.bits)
    numbers.push_back(decode(format, bits));
  return numbers;
}

// `a` is [batch, m, k] and `b` [batch, k, n].
static Results floatDot(Program &program, Operation *op, const std::vector<double> &a, const std::vector<double> &b,
                        const Tile &c, Extents e) {
  const FloatFormat &format = formatOf(c.type);
  return {buildTile(op->getResult(0).getType(), [&](int64_t i) {
    int64_t n = i % e.n, m = i / e.n % e.m, batch = i / (e.n * e.m);
    double sum = decode(format, c.bits[i]);
    for (int64_t step = 0; step < e.k; ++step) {
      int64_t k = program.contrary() ? e.k - 1 - step : step;
      sum += a[(batch * e.m + m) * e.k + k] * b[(batch * e.k + k) * e.n + n];
      if (program.contrary())
        sum = decode(format, encode(format, sum));
    }
    return encode(format, sum);
  })};
}

static Results dot(Program &program, Operation *op, const Inputs &in) {
  Extents e{batchOf(in[2]), extent(in[2], 2), extent(in[2], 1), extent(in[0], 1)};
  if (in[0].elementType().isInteger())
    return integerDot(op, in, e);
  return floatDot(program, op, decodeAll(in[0]), decodeAll(in[1]), in[2], e);
}

//===-- Scaled dot -----------------------------------------------------------------------------------------------===//

static FloatFormat formatOf(heddle::triton::ScaleDotElemType kind) {
  switch (kind) {
  case heddle::triton::ScaleDotElemType::E4M3:
    return formatE4M3FN;
  case heddle::triton::ScaleDotElemType::E5M2:
    return formatE5M2;
  case heddle::triton::ScaleDotElemType::BF16:
    return formatBF16;
  case heddle::triton::ScaleDotElemType::FP16:
    return formatF16;
  default:
    throw heddle::inputError("the reference evaluator does not know this element format of a scaled dot");
  }
}

// The four-bit format e2m1 has no special values: 0, 0.5, 1, 1.5, 2, 3, 4, 6.
static double decodeE2M1(uint64_t bits) {
  static const double magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return bits & 8 ? -magnitudes[bits & 7] : magnitudes[bits & 7];
}

// e2m1 operands hold two values per byte, low nibble first, along K or along the other dimension. Returns the unpacked
// numbers row-major; `packedDimension` is counted from the last one and `shape` is updated.
static std::vector<double> unpackE2M1(const Tile &tile, int packedFromEnd, std::vector<int64_t> &shape) {
  size_t packed = shape.size() - packedFromEnd;
  std::vector<int64_t> source = shape;
  shape[packed] *= 2;
  std::vector<double> numbers(tile.size() * 2);
  for (int64_t i = 0; i < int64_t(numbers.size()); ++i) {
    std::vector<int64_t> at = unravel(i, shape);
    bool high = at[packed] % 2;
    at[packed] /= 2;
    uint64_t byte = tile.bits[ravel(at, source)];
    numbers[i] = decodeE2M1(high ? byte >> 4 : byte & 15);
  }
  return numbers;
}

static double decodeScale(const Tile &scales, int64_t index) {
  if (!scales.elementType().isInteger())
    return decode(formatE4M3FN, scales.bits[index]);
  uint64_t exponent = scales.bits[index]; // E8M0: a biased exponent alone; 255 is NaN
  return exponent == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, int(exponent) - 127);
}

namespace {
/// One operand of a scaled dot: its numbers, and where K and the other dimension are.
struct ScaledOperand {
  std::vector<double> numbers;
  std::vector<int64_t> shape;
  size_t kDimension, otherDimension;
};
} // namespace

static ScaledOperand decodeOperand(const Tile &tile, heddle::triton::ScaleDotElemType kind, bool isLeft,
                                   bool packedAlongK) {
  ScaledOperand operand;
  operand.shape = tile.shape().vec();
  size_t rank = operand.shape.size();
  operand.kDimension = isLeft ? rank - 1 : rank - 2;
  operand.otherDimension = isLeft ? rank - 2 : rank - 1;
  if (kind == heddle::triton::ScaleDotElemType::E2M1) {
    size_t packed = packedAlongK ? operand.kDimension : operand.otherDimension;
    operand.numbers = unpackE2M1(tile, int(rank - packed), operand.shape);
  } else {
    for (uint64_t bits : tile.bits)
      operand.numbers.push_back(decode(formatOf(kind), bits));
  }
  return operand;
}

// Scales are [.., M or N, K / group] for either operand.
static void applyScales(ScaledOperand &operand, const Tile &scales) {
  int64_t k = operand.shape[operand.kDimension], group = k / extent(scales, 1);
  for (int64_t i = 0; i < int64_t(operand.numbers.size()); ++i) {
    std::vector<int64_t> at = unravel(i, operand.shape);
    std::vector<int64_t> scaleAt(at.begin(), at.end() - 2);
    scaleAt.push_back(at[operand.otherDimension]);
    scaleAt.push_back(at[operand.kDimension] / group);
    operand.numbers[i] *= decodeScale(scales, ravel(scaleAt, scales.shape()));
  }
}

static Results dotScaled(Program &program, Operation *op, const Inputs &in) {
  auto dotOp = cast<heddle::triton::DotScaledOp>(op);
  ScaledOperand a = decodeOperand(in[0], dotOp.getAElemType(), true, dotOp.getLhsKPack());
  ScaledOperand b = decodeOperand(in[1], dotOp.getBElemType(), false, dotOp.getRhsKPack());
  size_t next = 3; // operands: a, b, c, then the scales that are present
  if (dotOp.getAScale())
    applyScales(a, in[next++]);
  if (dotOp.getBScale())
    applyScales(b, in[next]);
  Extents e{batchOf(in[2]), extent(in[2], 2), extent(in[2], 1), a.shape[a.kDimension]};
  return floatDot(program, op, a.numbers, b.numbers, in[2], e);
}

void heddle::reference::addDotHandlers(HandlerTable &table) {
  table["tt.dot"] = dot;
  table["tt.dot_scaled"] = dotScaled;
}
