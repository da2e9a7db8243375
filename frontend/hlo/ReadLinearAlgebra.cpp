// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cholesky and LU factors and triangular systems are read as a loop over columns, so that nothing after the parser
// knows them: HLO's own operations, and the calls of LAPACK that JAX makes on CPUs.
#include "frontend/hlo/Matrices.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <utility>

namespace heddle::hlo {

int InstructionParser::Matrices::cholesky(int matrix, bool lower) {
  std::vector<int64_t> sizes = sizesOf(matrix), column = {sizes[0], sizes[1], 1};
  auto step = [&](Matrices &m, int number, const std::vector<int> &state) {
    int here = m.take(state[0], 2, number);
    int root = m.unary(Opcode::Sqrt, m.real(m.take(here, 1, number)));
    int factor = m.choose(m.where(column, 1, CompareDirection::GreaterOrEqual, number),
                          m.byReal(Opcode::Divide, here, root), m.zeros(here));
    if (isComplex(m.typeOf(here))) // of the diagonal the real part counts
      factor =
          m.choose(m.where(column, 1, CompareDirection::Equal, number), m.fill(m.asTypeOf(root, here), column), factor);
    int product = m.join(Opcode::Multiply, m.fill(factor, sizes), m.fill(m.adjoint(factor), sizes));
    int rest = m.choose(m.where(sizes, 2, CompareDirection::Greater, number),
                        m.join(Opcode::Subtract, state[0], product), state[0]);
    return std::vector<int>{m.choose(m.where(sizes, 2, CompareDirection::Equal, number), m.fill(factor, sizes), rest)};
  };
  int made = loop({lower ? matrix : adjoint(matrix)}, sizes[1], step)[0];
  int isFactor =
      parser.compare(parser.iota(sizes, 1, at), CompareDirection::GreaterOrEqual, parser.iota(sizes, 2, at), at);
  made = choose(isFactor, made, zeros(made));
  return lower ? made : adjoint(made);
}

int InstructionParser::Matrices::solve(int matrix, int right, bool lower, bool unit) {
  std::vector<int64_t> sizes = sizesOf(right), row = {sizes[0], 1, sizes[2]};
  auto step = [&](Matrices &m, int number, const std::vector<int> &state) {
    int last = m.parser.number(sizes[1] - 1, DType::S32, at);
    int index = lower ? number : m.join(Opcode::Subtract, last, number);
    int column = m.take(state[0], 2, index), found = m.take(state[1], 1, index);
    if (!unit)
      found = m.join(Opcode::Divide, found, m.fill(m.take(column, 1, index), row));
    int product = m.join(Opcode::Multiply, m.fill(column, sizes), m.fill(found, sizes));
    int isLater = m.where(sizes, 1, lower ? CompareDirection::Greater : CompareDirection::Less, index);
    int rest = m.choose(isLater, m.join(Opcode::Subtract, state[1], product), state[1]);
    return std::vector<int>{state[0],
                            m.choose(m.where(sizes, 1, CompareDirection::Equal, index), m.fill(found, sizes), rest)};
  };
  return loop({matrix, right}, sizes[1], step)[1];
}

// The first of the largest magnitudes from the diagonal on, [batch, 1, 1]: the least row of those that none exceeds.
// LAPACK's magnitude of a complex number is the sum of its parts' magnitudes.
int InstructionParser::Matrices::pivotOf(int matrix, int column) {
  int taken = take(matrix, 2, column), values = unary(Opcode::Abs, real(taken));
  if (isComplex(typeOf(taken)))
    values = join(Opcode::Add, values, unary(Opcode::Abs, parser.partOf(taken, Opcode::Imag, at)));
  std::vector<int64_t> sizes = sizesOf(values);
  DType type = typeOf(values);
  values = choose(where(sizes, 1, CompareDirection::GreaterOrEqual, column), values,
                  fill(parser.number(-1, type, at), sizes));
  auto larger = [&](InstructionParser &inner, const std::vector<int> &v) {
    int stays = inner.compare(v[0], CompareDirection::GreaterOrEqual, v[2], at);
    return std::vector<int>{inner.apply(Opcode::Select, {stays, v[0], v[2]}, at),
                            inner.apply(Opcode::Select, {stays, v[1], v[3]}, at)};
  };
  Shape number = Shape::scalar(DType::S32), value = Shape::scalar(type);
  Instruction reduce;
  reduce.opcode = Opcode::Reduce;
  reduce.operands = {values, parser.iota(sizes, 1, at), parser.number(-2, type, at), column};
  reduce.dimensions = {1};
  reduce.calledComputation = parser.addComputation("largest", {value, number, value, number}, larger, at);
  return parser.reshape(parser.element(parser.append(std::move(reduce), at), 1, at), {sizes[0], 1, 1}, at);
}

std::vector<int> InstructionParser::Matrices::factors(int matrix) {
  std::vector<int64_t> sizes = sizesOf(matrix), pivotSizes = {sizes[0], std::min(sizes[1], sizes[2]), 1};
  auto step = [&](Matrices &m, int number, const std::vector<int> &state) {
    int pivot = m.pivotOf(state[0], number);
    int zero = m.zeros(state[0]);
    int isPivot = m.where(sizes, 1, CompareDirection::Equal, pivot);
    int chosen = m.sum(m.choose(isPivot, state[0], zero), 1), current = m.take(state[0], 1, number);
    int swapped = m.choose(isPivot, m.fill(current, sizes), state[0]);
    swapped = m.choose(m.where(sizes, 1, CompareDirection::Equal, number), m.fill(chosen, sizes), swapped);
    int column = m.take(swapped, 2, number), isLower = m.where(sizes, 1, CompareDirection::Greater, number);
    int diagonal = m.fill(m.take(chosen, 2, number), m.sizesOf(column));
    int isZero = m.compare(diagonal, CompareDirection::Equal, m.zeros(column));
    int factor = m.choose(isZero, column, m.join(Opcode::Divide, column, diagonal));
    int product = m.join(Opcode::Multiply, m.fill(factor, sizes), m.fill(chosen, sizes));
    int right = m.choose(m.where(sizes, 2, CompareDirection::Greater, number),
                         m.join(Opcode::Subtract, swapped, product), swapped);
    right = m.choose(m.where(sizes, 2, CompareDirection::Equal, number), m.fill(factor, sizes), right);
    int counted =
        m.fill(m.join(Opcode::Add, pivot, m.fill(m.parser.number(1, DType::S32, at), {sizes[0], 1, 1})), pivotSizes);
    return std::vector<int>{m.choose(isLower, right, swapped),
                            m.choose(m.where(pivotSizes, 1, CompareDirection::Equal, number), counted, state[1])};
  };
  return loop({matrix, fill(parser.number(0, DType::S32, at), pivotSizes)}, pivotSizes[1], step);
}

// Rows are (x of this row, of the next, of the one after, 0, the right side). A row is eliminated from the next one, or
// the next from it where its first number is larger, as LAPACK does; what is left moves one to the left.
int InstructionParser::Matrices::solveTridiagonal(int below, int diagonal, int above, int right) {
  std::vector<int64_t> sizes = sizesOf(right);
  int64_t count = sizes[1], width = 4 + sizes[2];
  if (count == 0)
    return right;
  std::vector<int64_t> ahead = {1, 2, 3, 3}; // 3 is always 0
  for (int64_t i = 4; i < width; ++i)
    ahead.push_back(i);
  auto move = [&](Matrices &m, int value) {
    return m.permute(value, 2, m.parser.convert(m.parser.constant(ahead, at), DType::S32, at));
  };
  Instruction join;
  join.opcode = Opcode::Concatenate;
  join.dimensions = {2};
  join.operands = {below, diagonal, above, zeros(above), right};
  int rows = parser.append(std::move(join), at), first = parser.number(0, DType::S32, at);
  std::vector<int64_t> all = sizesOf(rows);
  auto eliminate = [&](Matrices &m, int number, const std::vector<int> &state) {
    int next = m.take(state[0], 1, m.join(Opcode::Add, number, m.index(1))), current = state[1];
    auto size = [&](int row) { return m.unary(Opcode::Abs, m.take(row, 2, m.index(0))); };
    int isLarger = m.fillLike(m.compare(size(current), CompareDirection::Less, size(next)), current);
    int top = m.choose(isLarger, next, current), bottom = m.choose(isLarger, current, next);
    int factor = m.join(Opcode::Divide, m.take(bottom, 2, m.index(0)), m.take(top, 2, m.index(0)));
    int rest = m.join(Opcode::Subtract, bottom, m.join(Opcode::Multiply, m.fillLike(factor, top), top));
    int isThis = m.where(all, 1, CompareDirection::Equal, number);
    return std::vector<int>{m.choose(isThis, m.fill(top, all), state[0]), move(m, rest)};
  };
  std::vector<int> made = loop({rows, move(*this, take(rows, 1, first))}, count - 1, eliminate);
  int isLast = where(all, 1, CompareDirection::Equal, index(count - 1));
  rows = choose(isLast, fill(made[1], all), made[0]);
  auto substitute = [&](Matrices &m, int number,
                        const std::vector<int> &state) { // x, the next row's x, the one's after
    int here = m.join(Opcode::Subtract, m.index(count - 1), number), row = m.take(state[0], 1, here);
    auto factor = [&](int64_t i) { return m.fillLike(m.take(row, 2, m.index(i)), state[2]); };
    int value =
        m.permute(row, 2, m.join(Opcode::Add, m.parser.iota({width - 4}, 0, at), m.spread(m.index(4), {width - 4})));
    value = m.join(Opcode::Subtract, value, m.join(Opcode::Multiply, factor(1), state[2]));
    value = m.join(Opcode::Subtract, value, m.join(Opcode::Multiply, factor(2), state[3]));
    value = m.join(Opcode::Divide, value, factor(0));
    int isThis = m.where(sizes, 1, CompareDirection::Equal, here);
    return std::vector<int>{state[0], m.choose(isThis, m.fill(value, sizes), state[1]), value, state[2]};
  };
  int none = zeros(take(right, 1, first));
  return loop({rows, right, none, none}, count, substitute)[1];
}

//===-- The operations -------------------------------------------------------------------------------------------===//

int InstructionParser::asMatrices(int value, Location location) {
  Shape shape = shapeOf(value);
  bool isRead = shape.type == DType::F32 || shape.type == DType::F64 || isComplex(shape.type);
  if (!shape.isArray() || shape.rank() < 2 || !isRead)
    cursor.fail(location, fmt::format("a factor or solution of {} is not supported", formatShapePlain(shape)),
                {"matrices are of f32, f64, c64 or c128, and may have batch dimensions before"});
  int64_t rows = shape.dimensions[size_t(shape.rank() - 2)], columns = shape.dimensions.back();
  int64_t batch =
      std::accumulate(shape.dimensions.begin(), shape.dimensions.end() - 2, int64_t(1), std::multiplies<>());
  return reshape(value, {batch, rows, columns}, location);
}

int InstructionParser::solveTriangular(const Instruction &call, const TriangularOptions &options, Location location) {
  if (call.operands.size() != 2)
    cursor.fail(location, fmt::format("'triangular-solve' takes two operands, got {}", call.operands.size()));
  Shape result = shapeOf(call.operands[1]);
  Matrices matrices{*this, location};
  int matrix = asMatrices(call.operands[0], location), right = asMatrices(call.operands[1], location);
  std::vector<int64_t> a = shapeOf(matrix).dimensions, b = shapeOf(right).dimensions;
  if (a[0] != b[0] || a[1] != a[2] || a[1] != b[options.left ? 1 : 2] || shapeOf(matrix).type != result.type)
    cursor.fail(location,
                fmt::format("'triangular-solve' of {} and {} with left_side={}",
                            formatShapePlain(shapeOf(call.operands[0])), formatShapePlain(result), options.left));
  bool transposes = options.transposed == options.left; // x a = b is a' x' = b'
  matrix = options.conjugated ? matrices.conjugate(matrix) : matrix;
  matrix = transposes ? matrices.transpose(matrix) : matrix;
  right = options.left ? right : matrices.transpose(right);
  int made = matrices.solve(matrix, right, options.lower != transposes, options.unit);
  return reshape(options.left ? made : matrices.transpose(made), result.dimensions, location);
}

int InstructionParser::factorCholesky(const Instruction &call, bool lower, Location location) {
  if (call.operands.size() != 1)
    cursor.fail(location, fmt::format("'cholesky' takes one operand, got {}", call.operands.size()));
  Shape shape = shapeOf(call.operands[0]);
  int matrix = asMatrices(call.operands[0], location);
  if (shapeOf(matrix).dimensions[1] != shapeOf(matrix).dimensions[2])
    cursor.fail(location, fmt::format("'cholesky' of {}, which is not square", formatShapePlain(shape)));
  return reshape(Matrices{*this, location}.cholesky(matrix, lower), shape.dimensions, location);
}

InstructionParser::Binding InstructionParser::finishCholesky(Definition &definition, const Instruction &cholesky) {
  TriangularOptions options = context.attributes.triangular;
  return finishCopy(definition, cholesky, factorCholesky(cholesky, options.lower, definition.location));
}

InstructionParser::Binding InstructionParser::finishTriangularSolve(Definition &definition, const Instruction &solve) {
  TriangularOptions options = context.attributes.triangular;
  return finishCopy(definition, solve, solveTriangular(solve, options, definition.location));
}

} // namespace heddle::hlo
