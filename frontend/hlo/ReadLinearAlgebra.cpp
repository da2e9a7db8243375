// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cholesky and LU factors and triangular systems are read as a loop over columns, so that nothing after the parser
// knows them: HLO's own operations, and the calls of LAPACK that JAX makes on CPUs.
#include "frontend/hlo/ParseInstruction.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <optional>
#include <utility>

namespace heddle::hlo {

/// Matrices are [batch, rows, columns]; what is made from them is appended to the parser's computation.
struct InstructionParser::Matrices {
  InstructionParser &parser;
  Location at;

  const std::vector<int64_t> &sizesOf(int value) const { return parser.shapeOf(value).dimensions; }
  DType typeOf(int value) const { return parser.shapeOf(value).type; }
  int join(Opcode opcode, int left, int right) { return parser.apply(opcode, {left, right}, at); }
  int choose(int which, int value, int otherwise) {
    return parser.apply(Opcode::Select, {which, value, otherwise}, at);
  }

  /// A scalar, or an array with extents of 1, in these sizes.
  int fill(int value, const std::vector<int64_t> &sizes) {
    std::vector<int64_t> from = sizesOf(value), kept, dimensions;
    for (size_t i = 0; i < from.size(); ++i)
      if (from[i] == sizes[i] && sizes[i] != 1) {
        kept.push_back(from[i]);
        dimensions.push_back(int64_t(i));
      }
    return parser.broadcast(parser.reshape(value, kept, at), dimensions, sizes, at);
  }

  /// Where an element's row or column is so compared with `index`.
  int where(const std::vector<int64_t> &sizes, int64_t dimension, CompareDirection direction, int index) {
    return parser.compare(parser.iota(sizes, dimension, at), direction, fill(index, sizes), at);
  }

  /// The row or column of this number, with an extent of 1.
  int take(int value, int64_t dimension, int index) {
    Instruction slice;
    slice.opcode = Opcode::DynamicSlice;
    slice.operands = {value};
    slice.dynamicSliceSizes = sizesOf(value);
    slice.dynamicSliceSizes[size_t(dimension)] = 1;
    for (int64_t i = 0; i < 3; ++i)
      slice.operands.push_back(i == dimension ? index : parser.number(0, DType::S32, at));
    return parser.append(std::move(slice), at);
  }

  int transpose(int value) {
    Instruction instruction;
    instruction.opcode = Opcode::Transpose;
    instruction.operands = {value};
    instruction.dimensions = {0, 2, 1};
    return parser.append(std::move(instruction), at);
  }

  /// [batch, 1, columns], the sum over the rows.
  int sumOfRows(int value) {
    DType type = typeOf(value);
    std::vector<int64_t> sizes = sizesOf(value);
    auto add = [&](InstructionParser &inner, const std::vector<int> &values) {
      return std::vector<int>{inner.apply(Opcode::Add, values, at)};
    };
    Instruction reduce;
    reduce.opcode = Opcode::Reduce;
    reduce.operands = {value, parser.number(0, type, at)};
    reduce.dimensions = {1};
    reduce.calledComputation = parser.addComputation("sum", {Shape::scalar(type), Shape::scalar(type)}, add, at);
    return parser.reshape(parser.append(std::move(reduce), at), {sizes[0], 1, sizes[2]}, at);
  }

  using Step = std::function<std::vector<int>(Matrices &, int number, const std::vector<int> &state)>;
  std::vector<int> loop(const std::vector<int> &state, int64_t trips, const Step &step);
  std::vector<int> elementsOf(int tuple, size_t count) {
    std::vector<int> elements;
    for (size_t i = 0; i < count; ++i)
      elements.push_back(parser.element(tuple, int64_t(i), at));
    return elements;
  }

  int cholesky(int matrix, bool lower);
  int solve(int matrix, int right, bool lower, bool unit);
  /// The factors, and the pivots' rows [batch, n], counted from 1.
  std::vector<int> factors(int matrix);
  int pivotOf(int matrix, int column);
};

std::vector<int> InstructionParser::Matrices::loop(const std::vector<int> &state, int64_t trips, const Step &step) {
  if (trips == 0) // a matrix without columns, of which none can be taken
    return state;
  std::vector<int> all = {parser.number(0, DType::S32, at)};
  all.insert(all.end(), state.begin(), state.end());
  int tuple = parser.apply(Opcode::Tuple, all, at);
  Shape shape = parser.shapeOf(tuple);
  auto goesOn = [&](InstructionParser &inner, const std::vector<int> &parameters) {
    int limit = inner.number(trips, DType::S32, at);
    return std::vector<int>{inner.compare(inner.element(parameters[0], 0, at), CompareDirection::Less, limit, at)};
  };
  auto advance = [&](InstructionParser &inner, const std::vector<int> &parameters) {
    Matrices matrices{inner, at};
    std::vector<int> values = matrices.elementsOf(parameters[0], all.size());
    std::vector<int> next = step(matrices, values[0], {values.begin() + 1, values.end()});
    next.insert(next.begin(), matrices.join(Opcode::Add, values[0], inner.number(1, DType::S32, at)));
    return std::vector<int>{inner.apply(Opcode::Tuple, next, at)};
  };
  Instruction instruction;
  instruction.opcode = Opcode::While;
  instruction.operands = {tuple};
  instruction.condition = parser.addComputation("columns", {shape}, goesOn, at);
  instruction.body = parser.addComputation("column", {shape}, advance, at);
  std::vector<int> results = elementsOf(parser.append(std::move(instruction), at), all.size());
  return {results.begin() + 1, results.end()};
}

int InstructionParser::Matrices::cholesky(int matrix, bool lower) {
  std::vector<int64_t> sizes = sizesOf(matrix), column = {sizes[0], sizes[1], 1};
  auto step = [&](Matrices &m, int number, const std::vector<int> &state) {
    int here = m.take(state[0], 2, number);
    int root = m.parser.apply(Opcode::Sqrt, {m.take(here, 1, number)}, at);
    int factor = m.choose(m.where(column, 1, CompareDirection::GreaterOrEqual, number),
                          m.join(Opcode::Divide, here, m.fill(root, column)),
                          m.fill(m.parser.number(0, m.typeOf(here), at), column));
    int product = m.join(Opcode::Multiply, m.fill(factor, sizes), m.fill(m.transpose(factor), sizes));
    int rest = m.choose(m.where(sizes, 2, CompareDirection::Greater, number),
                        m.join(Opcode::Subtract, state[0], product), state[0]);
    return std::vector<int>{m.choose(m.where(sizes, 2, CompareDirection::Equal, number), m.fill(factor, sizes), rest)};
  };
  int made = loop({lower ? matrix : transpose(matrix)}, sizes[1], step)[0];
  int isFactor =
      parser.compare(parser.iota(sizes, 1, at), CompareDirection::GreaterOrEqual, parser.iota(sizes, 2, at), at);
  made = choose(isFactor, made, fill(parser.number(0, typeOf(made), at), sizes));
  return lower ? made : transpose(made);
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
int InstructionParser::Matrices::pivotOf(int matrix, int column) {
  int values = parser.apply(Opcode::Abs, {take(matrix, 2, column)}, at);
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
    int zero = m.fill(m.parser.number(0, m.typeOf(state[0]), at), sizes);
    int isPivot = m.where(sizes, 1, CompareDirection::Equal, pivot);
    int chosen = m.sumOfRows(m.choose(isPivot, state[0], zero)), current = m.take(state[0], 1, number);
    int swapped = m.choose(isPivot, m.fill(current, sizes), state[0]);
    swapped = m.choose(m.where(sizes, 1, CompareDirection::Equal, number), m.fill(chosen, sizes), swapped);
    int column = m.take(swapped, 2, number), isLower = m.where(sizes, 1, CompareDirection::Greater, number);
    int diagonal = m.fill(m.take(chosen, 2, number), m.sizesOf(column));
    int isZero = m.parser.compare(diagonal, CompareDirection::Equal,
                                  m.fill(m.parser.number(0, m.typeOf(column), at), m.sizesOf(column)), at);
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

//===-- The operations -------------------------------------------------------------------------------------------===//

int InstructionParser::asMatrices(int value, Location location) {
  Shape shape = shapeOf(value);
  if (!shape.isArray() || shape.rank() < 2 || (shape.type != DType::F32 && shape.type != DType::F64))
    cursor.fail(location, fmt::format("a factor or solution of {} is not supported", formatShapePlain(shape)),
                {"matrices are of f32 or f64, and may have batch dimensions before"});
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

// LAPACK's letters are numbers: `{uplo = 76 : ui8}` is L.
static char letterOf(const std::string &config, std::string_view name, char otherwise) {
  size_t found = config.find(std::string(name) + " = ");
  return found == std::string::npos ? otherwise : char(std::atoi(config.c_str() + found + name.size() + 3));
}

std::optional<InstructionParser::Binding>
InstructionParser::finishLapack(Definition &definition, const Instruction &call, std::string_view target) {
  Location location = definition.location;
  auto is = [&](std::string_view name) {
    return target == fmt::format("lapack_s{}_ffi", name) || target == fmt::format("lapack_d{}_ffi", name);
  };
  std::string config;
  for (const CarriedAttribute &attribute : call.carried)
    if (attribute.name == "backend_config")
      config = attribute.text;
  bool lower = letterOf(config, "uplo", 'L') == 'L';
  if (is("trsm")) {
    TriangularOptions options = {letterOf(config, "side", 'L') == 'L', lower, letterOf(config, "diag", 'N') == 'U',
                                 letterOf(config, "trans_x", 'N') != 'N'};
    return finishCopy(definition, call, solveTriangular(call, options, location));
  }
  if (!is("potrf") && !is("getrf"))
    return std::nullopt;
  Instruction result;
  result.opcode = Opcode::Tuple;
  std::vector<int64_t> sizes = call.operands.empty() ? std::vector<int64_t>{} : shapeOf(call.operands[0]).dimensions;
  if (is("potrf")) {
    result.operands = {factorCholesky(call, lower, location)};
  } else {
    if (call.operands.size() != 1)
      cursor.fail(location, fmt::format("'{}' takes one operand, got {}", target, call.operands.size()));
    std::vector<int> made = Matrices{*this, location}.factors(asMatrices(call.operands[0], location));
    std::vector<int64_t> pivots(sizes.begin(), sizes.end() - 1);
    pivots.back() = std::min(sizes[sizes.size() - 2], sizes.back());
    result.operands = {reshape(made[0], sizes, location), reshape(made[1], pivots, location)};
  }
  // LAPACK's status: here 1 where a factor has no numbers on its diagonal, 0 elsewhere.
  int factor = asMatrices(result.operands[0], location);
  int bad = apply(Opcode::Not, {apply(Opcode::IsFinite, {factor}, location)}, location);
  int64_t batch = shapeOf(factor).dimensions[0], count = shapeOf(factor).elementCount() / std::max<int64_t>(batch, 1);
  bad = countTrue(reshape(bad, {batch, count}, location), location);
  int status = convert(compare(bad, CompareDirection::Greater,
                               broadcast(number(0, DType::S64, location), {}, {batch}, location), location),
                       DType::S32, location);
  result.operands.push_back(reshape(status, {sizes.begin(), sizes.end() - 2}, location));
  return finishAs(definition, call, std::move(result));
}

} // namespace heddle::hlo
