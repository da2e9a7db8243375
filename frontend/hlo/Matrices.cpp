// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The small steps of which factors of matrices are made. Operations on complex arrays are taken apart where they are
// appended (ReadComplex.cpp), so that only conjugates are written here.
#include "frontend/hlo/Matrices.h"
#include <algorithm>
#include <utility>

namespace heddle::hlo {

int InstructionParser::Matrices::zeros(int like) {
  int zero = numberLike(like, 0);
  return isComplex(typeOf(like)) ? join(Opcode::Complex, zero, zero) : zero;
}

int InstructionParser::Matrices::fill(int value, const std::vector<int64_t> &sizes) {
  std::vector<int64_t> from = sizesOf(value), kept, dimensions;
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] == sizes[i] && sizes[i] != 1) {
      kept.push_back(from[i]);
      dimensions.push_back(int64_t(i));
    }
  return parser.broadcast(parser.reshape(value, kept, at), dimensions, sizes, at);
}

int InstructionParser::Matrices::padColumns(int value, int64_t columns) {
  Instruction pad;
  pad.opcode = Opcode::Pad;
  pad.operands = {value, parser.number(0, typeOf(value), at)};
  pad.padding = {{}, {}, {0, columns - sizesOf(value)[2], 0}};
  return parser.append(std::move(pad), at);
}

int InstructionParser::Matrices::byReal(Opcode opcode, int value, int factor) {
  factor = fillLike(factor, value);
  if (!isComplex(typeOf(value)))
    return join(opcode, value, factor);
  ComplexParts parts = parser.partsOf(value, at);
  int real = join(opcode, parts.real, factor);
  return join(Opcode::Complex, real, join(opcode, parts.imaginary, factor));
}

int InstructionParser::Matrices::where(const std::vector<int64_t> &sizes, int64_t dimension, CompareDirection direction,
                                       int index) {
  return compare(parser.iota(sizes, dimension, at), direction, fill(index, sizes));
}

int InstructionParser::Matrices::take(int value, int64_t dimension, int index) {
  Instruction slice;
  slice.opcode = Opcode::DynamicSlice;
  slice.operands = {value};
  slice.dynamicSliceSizes = sizesOf(value);
  slice.dynamicSliceSizes[size_t(dimension)] = 1;
  for (int64_t i = 0; i < 3; ++i)
    slice.operands.push_back(i == dimension ? index : parser.number(0, DType::S32, at));
  return parser.append(std::move(slice), at);
}

int InstructionParser::Matrices::permute(int value, int64_t dimension, int order) {
  std::vector<int64_t> sizes = sizesOf(value), indices = sizesOf(order);
  bool forEach = indices.size() == 2;
  if (parser.shapeOf(value).elementCount() == 0) // as many rows or columns, of which none can be gathered
    return value;
  indices.push_back(1);
  Instruction gather;
  gather.opcode = Opcode::Gather;
  gather.operands = {value, parser.reshape(order, indices, at)};
  gather.gather.collapsed = {dimension};
  gather.gather.startIndexMap = {dimension};
  gather.gather.indexVectorDim = int64_t(indices.size()) - 1;
  gather.gather.sliceSizes = sizes;
  gather.gather.sliceSizes[size_t(dimension)] = 1;
  if (forEach) {
    gather.gather.sliceSizes[0] = 1;
    gather.gather.operandBatch = gather.gather.indicesBatch = {0};
    gather.gather.offsets = {3 - dimension};
  } else {
    gather.gather.offsets = {0, 3 - dimension};
  }
  return parser.append(std::move(gather), at);
}

int InstructionParser::Matrices::slice(int value, int64_t dimension, int64_t count) {
  Instruction instruction;
  instruction.opcode = Opcode::Slice;
  instruction.operands = {value};
  instruction.slice = {{0, 0, 0}, sizesOf(value), {1, 1, 1}};
  instruction.slice.limits[size_t(dimension)] = count;
  return parser.append(std::move(instruction), at);
}

int InstructionParser::Matrices::transpose(int value) {
  Instruction instruction;
  instruction.opcode = Opcode::Transpose;
  instruction.operands = {value};
  instruction.dimensions = {0, 2, 1};
  return parser.append(std::move(instruction), at);
}

int InstructionParser::Matrices::conjugate(int value) {
  if (!isComplex(typeOf(value)))
    return value;
  ComplexParts parts = parser.partsOf(value, at);
  return join(Opcode::Complex, parts.real, unary(Opcode::Negate, parts.imaginary));
}

int InstructionParser::Matrices::reduce(int value, int64_t dimension, Opcode opcode, int64_t from) {
  if (isComplex(typeOf(value))) {
    ComplexParts parts = parser.partsOf(value, at);
    int real = reduce(parts.real, dimension, opcode, from);
    return join(Opcode::Complex, real, reduce(parts.imaginary, dimension, opcode, from));
  }
  DType type = typeOf(value);
  std::vector<int64_t> sizes = sizesOf(value);
  auto combine = [&](InstructionParser &inner, const std::vector<int> &values) {
    return std::vector<int>{inner.apply(opcode, values, at)};
  };
  Instruction reduction;
  reduction.opcode = Opcode::Reduce;
  reduction.operands = {value, parser.number(from, type, at)};
  reduction.dimensions = {dimension};
  reduction.calledComputation =
      parser.addComputation("combine", {Shape::scalar(type), Shape::scalar(type)}, combine, at);
  sizes[size_t(dimension)] = 1;
  return parser.reshape(parser.append(std::move(reduction), at), sizes, at);
}

int InstructionParser::Matrices::normOfRows(int value) {
  int magnitudes = unary(Opcode::Abs, value), scale = largest(magnitudes, 1);
  int one = numberLike(scale, 1), isZero = compare(scale, CompareDirection::Equal, numberLike(scale, 0));
  int scaled = byReal(Opcode::Divide, magnitudes, choose(isZero, one, scale));
  return join(Opcode::Multiply, scale, unary(Opcode::Sqrt, sum(join(Opcode::Multiply, scaled, scaled), 1)));
}

int InstructionParser::Matrices::identity(const std::vector<int64_t> &sizes, int like) {
  int isDiagonal = compare(parser.iota(sizes, 1, at), CompareDirection::Equal, parser.iota(sizes, 2, at));
  return parser.convert(isDiagonal, typeOf(like), at);
}

//===-- Loops ----------------------------------------------------------------------------------------------------===//

std::vector<int> InstructionParser::Matrices::elementsOf(int tuple, size_t count) {
  std::vector<int> elements;
  for (size_t i = 0; i < count; ++i)
    elements.push_back(parser.element(tuple, int64_t(i), at));
  return elements;
}

std::vector<int> InstructionParser::Matrices::loop(const std::vector<int> &state, int64_t trips, const Step &step) {
  if (trips == 0) // a matrix without columns, of which none can be taken
    return state;
  auto goesOn = [&](Matrices &m, int number, const std::vector<int> &) {
    return m.compare(number, CompareDirection::Less, m.index(trips));
  };
  return loopWhile(state, goesOn, step);
}

std::vector<int> InstructionParser::Matrices::loopWhile(const std::vector<int> &state, const Test &goesOn,
                                                        const Step &step) {
  std::vector<int> all = {parser.number(0, DType::S32, at)};
  all.insert(all.end(), state.begin(), state.end());
  int tuple = parser.apply(Opcode::Tuple, all, at);
  Shape shape = parser.shapeOf(tuple);
  auto test = [&](InstructionParser &inner, const std::vector<int> &parameters) {
    Matrices matrices{inner, at};
    std::vector<int> values = matrices.elementsOf(parameters[0], all.size());
    return std::vector<int>{goesOn(matrices, values[0], {values.begin() + 1, values.end()})};
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
  instruction.condition = parser.addComputation("goes_on", {shape}, test, at);
  instruction.body = parser.addComputation("step", {shape}, advance, at);
  std::vector<int> results = elementsOf(parser.append(std::move(instruction), at), all.size());
  return {results.begin() + 1, results.end()};
}

} // namespace heddle::hlo
