// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Factors of matrices as HLO's own operations: loops over columns (ReadLinearAlgebra.cpp, ReadHouseholder.cpp) and over
// rounds of rotations (ReadJacobi.cpp), so that nothing after the parser knows them.
#pragma once
#include "frontend/hlo/ParseInstruction.h"

namespace heddle::hlo {

/// Matrices are [batch, rows, columns], real or complex; what is made from them is appended to the parser's
/// computation. Steps of loops get a Matrices of the loop's computation.
struct InstructionParser::Matrices {
  InstructionParser &parser;
  Location at;

  std::vector<int64_t> sizesOf(int value) const { return parser.shapeOf(value).dimensions; }
  DType typeOf(int value) const { return parser.shapeOf(value).type; }
  int join(Opcode opcode, int left, int right) { return parser.apply(opcode, {left, right}, at); }
  int unary(Opcode opcode, int value) { return parser.apply(opcode, {value}, at); }
  int choose(int which, int value, int otherwise) {
    return parser.apply(Opcode::Select, {which, value, otherwise}, at);
  }
  int compare(int left, CompareDirection direction, int right) { return parser.compare(left, direction, right, at); }
  /// A real number of this value's type, or of its parts' type.
  int numberLike(int value, double number) { return parser.filled(value, number, at); }
  int index(int64_t number) { return parser.number(number, DType::S32, at); }
  int zeros(int like);
  int real(int value) { return parser.partOf(value, Opcode::Real, at); }
  int asTypeOf(int value, int like) {
    return typeOf(value) == typeOf(like) ? value : parser.convert(value, typeOf(like), at);
  }

  /// A scalar, or an array with extents of 1, in these sizes.
  int fill(int value, const std::vector<int64_t> &sizes);
  int fillLike(int value, int like) { return fill(value, sizesOf(like)); }
  int spread(int scalar, const std::vector<int64_t> &sizes) { return parser.broadcast(scalar, {}, sizes, at); }
  /// [batch, 1, columns] with zeros up to `columns`.
  int padColumns(int value, int64_t columns);
  /// Real and complex parts times, or divided by, real numbers that are filled to their sizes.
  int byReal(Opcode opcode, int value, int factor);
  /// Where an element's row or column is so compared with `index`.
  int where(const std::vector<int64_t> &sizes, int64_t dimension, CompareDirection direction, int index);
  /// The row or column of this number, with an extent of 1.
  int take(int value, int64_t dimension, int index);
  /// The rows or columns in this order: s32 [batch, count], or [count] for all matrices of a batch.
  int permute(int value, int64_t dimension, int order);
  int slice(int value, int64_t dimension, int64_t count); ///< the first rows or columns
  int transpose(int value);
  int conjugate(int value);
  int adjoint(int value) { return conjugate(transpose(value)); }
  /// The sum, or the largest, over the rows (1) or columns (2), with an extent of 1.
  int sum(int value, int64_t dimension) { return reduce(value, dimension, Opcode::Add, 0); }
  int largest(int value, int64_t dimension) { return reduce(value, dimension, Opcode::Maximum, 0); }
  int reduce(int value, int64_t dimension, Opcode opcode, int64_t from);
  /// [batch, 1, columns]: the norm over the rows, which neither overflows nor vanishes in between.
  int normOfRows(int value);
  int identity(const std::vector<int64_t> &sizes, int like);

  using Step = std::function<std::vector<int>(Matrices &, int number, const std::vector<int> &state)>;
  std::vector<int> loop(const std::vector<int> &state, int64_t trips, const Step &step);
  /// The same while a pred[] of the number and the state is true.
  using Test = std::function<int(Matrices &, int number, const std::vector<int> &state)>;
  std::vector<int> loopWhile(const std::vector<int> &state, const Test &goesOn, const Step &step);
  std::vector<int> elementsOf(int tuple, size_t count);

  struct Rotations; // ReadJacobi.cpp
  using Round = std::function<std::vector<int>(Rotations &, int partners, const std::vector<int> &state)>;
  std::vector<int> sweep(std::vector<int> state, int64_t columns, const Round &round);
  int isDiagonal(int matrix, int scale);
  int orderOf(int values, CompareDirection direction);

  int cholesky(int matrix, bool lower);
  int solve(int matrix, int right, bool lower, bool unit);
  /// Of a system of equations with three diagonals [batch, n, 1] each: the first of `below` and the last of `above`
  /// do not count.
  int solveTridiagonal(int below, int diagonal, int above, int right);
  /// The factors, and the pivots' rows [batch, n, 1], counted from 1.
  std::vector<int> factors(int matrix);
  int pivotOf(int matrix, int column);

  /// What LAPACK's geqrf leaves: R with the reflectors below its diagonal, and their factors [batch, n, 1].
  std::vector<int> householder(int matrix);
  /// The product of the reflectors, or its adjoint, times a matrix.
  int reflect(int reflectors, int taus, int matrix, bool isAdjoint);

  /// Of Hermitian matrices the eigenvectors as columns, the eigenvalues [batch, n, 1], ascending, and whether these are
  /// those of the matrix, pred [batch, 1, 1]: not of one that is not finite, or whose sweeps did not end.
  std::vector<int> eigenvectors(int matrix);
  /// U, the singular values [batch, n, 1], descending, V, and likewise whether they are those of the matrix; all
  /// columns of U where it is `full`.
  std::vector<int> singularVectors(int matrix, bool full);
};

} // namespace heddle::hlo
