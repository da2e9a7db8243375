// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Eigenvalues of Hermitian matrices and singular values by Jacobi's rotations. A round rotates n / 2 pairs of columns
// at once; a sweep of n - 1 rounds, or n where n is odd, takes every pair once. In a round each column has a partner,
// so that a rotation of all pairs is one gather of columns and one sum.
#include "frontend/hlo/Matrices.h"
#include "frontend/hlo/SortOrder.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace heddle::hlo {

namespace {

/// Jacobi's method ends after about ten sweeps.
constexpr int64_t mostSweeps = 40;

bool isSingle(DType type) {
  return type == DType::F32 || type == DType::C64;
}
double precisionOf(DType type) {
  return isSingle(type) ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
}
/// The smallest number with all its digits.
double smallestOf(DType type) {
  return isSingle(type) ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min();
}

} // namespace

/// What a round needs of n columns.
struct InstructionParser::Matrices::Rotations {
  Matrices &m;
  int64_t columns;

  int64_t players() const { return columns + columns % 2; }
  int64_t rounds() const { return players() - 1; }

  /// s32 [n]: the other column of each one's pair. The columns but the last are paired so that their sum is the
  /// round, modulo their number; the one that is left has the last, which for an odd n is none.
  int partners(int round) {
    std::vector<int64_t> sizes = {columns};
    int numbers = m.parser.iota(sizes, 0, m.at), cycle = m.spread(m.index(rounds()), sizes);
    int here = m.spread(round, sizes);
    int sum = m.join(Opcode::Subtract, m.join(Opcode::Add, here, cycle), numbers);
    int other = m.join(Opcode::Remainder, sum, cycle);
    int isAlone = m.compare(other, CompareDirection::Equal, numbers);
    if (columns % 2)
      return other; // which is alone stays as it is
    int last = m.spread(m.index(columns - 1), sizes);
    other = m.choose(isAlone, last, other);
    int half = m.spread(m.index(players() / 2), sizes); // twice this is 1
    int alone = m.join(Opcode::Remainder, m.join(Opcode::Multiply, here, half), cycle);
    return m.choose(m.compare(numbers, CompareDirection::Equal, last), alone, other);
  }

  struct Turn {
    int cosine;  ///< [batch, 1, n], real
    int other;   ///< the factor of the partner's column
    int isLarge; ///< pred: whether the pair was not yet orthogonal
  };

  /// `own` and `theirs` are the diagonal elements of each column and of its partner, `between` those beside them, all
  /// [batch, 1, n]; the rotation makes `between` 0. What is not above `limit` is left alone.
  Turn turn(int own, int theirs, int between, int limit, int partner) {
    int size = m.unary(Opcode::Abs, between), zero = m.numberLike(size, 0), one = m.numberLike(size, 1);
    int isLarge = m.compare(size, CompareDirection::Greater, limit);
    int numbers = m.parser.iota(m.sizesOf(size), 2, m.at);
    int others = m.parser.broadcast(partner, {2}, m.sizesOf(size), m.at);
    isLarge = m.join(Opcode::And, isLarge, m.compare(numbers, CompareDirection::NotEqual, others));
    int safe = m.choose(isLarge, size, one);
    int ratio = m.join(Opcode::Divide, m.join(Opcode::Subtract, theirs, own), m.join(Opcode::Add, safe, safe));
    int isFirst = m.compare(numbers, CompareDirection::Less, others);
    int isPositive = m.join(Opcode::Or, m.compare(ratio, CompareDirection::Greater, zero),
                            m.join(Opcode::And, m.compare(ratio, CompareDirection::Equal, zero), isFirst));
    int magnitude = m.unary(Opcode::Abs, ratio);
    auto root = [&](int value) {
      return m.unary(Opcode::Sqrt, m.join(Opcode::Add, one, m.join(Opcode::Multiply, value, value)));
    };
    int tangent = m.join(Opcode::Divide, one, m.join(Opcode::Add, magnitude, root(magnitude)));
    tangent = m.choose(isLarge, m.choose(isPositive, tangent, m.unary(Opcode::Negate, tangent)), zero);
    int cosine = m.join(Opcode::Divide, one, root(tangent));
    int sine = m.join(Opcode::Multiply, cosine, tangent);
    int sign = m.byReal(Opcode::Divide, m.conjugate(between), safe); // first: the sine over a small size overflows
    int other = m.byReal(Opcode::Multiply, sign, m.unary(Opcode::Negate, sine));
    return {cosine, other, isLarge};
  }

  int columnsOf(int matrix, const Turn &turn, int partner) {
    int own = m.byReal(Opcode::Multiply, matrix, turn.cosine);
    int theirs = m.join(Opcode::Multiply, m.permute(matrix, 2, partner), m.fillLike(turn.other, matrix));
    return m.join(Opcode::Add, own, theirs);
  }

  int rowsOf(int matrix, const Turn &turn, int partner) {
    int own = m.byReal(Opcode::Multiply, matrix, m.transpose(turn.cosine));
    int factor = m.transpose(m.conjugate(turn.other));
    return m.join(Opcode::Add, own,
                  m.join(Opcode::Multiply, m.permute(matrix, 1, partner), m.fillLike(factor, matrix)));
  }

  /// [batch, 1, n], the elements of the diagonal, or those in the partner's row.
  int diagonalOf(int matrix) {
    std::vector<int64_t> sizes = m.sizesOf(matrix);
    int isDiagonal = m.compare(m.parser.iota(sizes, 1, m.at), CompareDirection::Equal, m.parser.iota(sizes, 2, m.at));
    return m.sum(m.choose(isDiagonal, matrix, m.zeros(matrix)), 1);
  }
  /// Of each column's row, the element in the partner's column.
  int besideOf(int matrix, int partner) {
    std::vector<int64_t> sizes = m.sizesOf(matrix);
    int columnNumbers = m.parser.iota(sizes, 2, m.at);
    int isPartner = m.compare(columnNumbers, CompareDirection::Equal, m.parser.broadcast(partner, {1}, sizes, m.at));
    return m.transpose(m.sum(m.choose(isPartner, matrix, m.zeros(matrix)), 2));
  }
};

/// Whether numbers that all but vanish when the sweeps have ended do so, pred [batch, 1, 1]: those of the upper
/// triangle of [batch, n, m], beside a largest element `scale` of the matrix, and not for one that is not finite. The
/// bound is that of rounding: what is left of a matrix without full rank may be rotated in every sweep.
int InstructionParser::Matrices::isDiagonal(int matrix, int scale) {
  std::vector<int64_t> sizes = sizesOf(matrix);
  int isAbove = compare(parser.iota(sizes, 1, at), CompareDirection::Less, parser.iota(sizes, 2, at));
  int magnitudes = unary(Opcode::Abs, matrix);
  int most = largest(largest(choose(isAbove, magnitudes, numberLike(magnitudes, 0)), 1), 2);
  double bound = 64 * double(std::max(sizes[1], sizes[2])) * precisionOf(typeOf(matrix));
  int limit = join(Opcode::Multiply, scale, numberLike(scale, bound));
  limit = join(Opcode::Maximum, limit, numberLike(scale, smallestOf(typeOf(matrix))));
  return join(Opcode::And, unary(Opcode::IsFinite, scale), compare(most, CompareDirection::LessOrEqual, limit));
}

/// Sweeps until one rotates nothing. `round` gets the rotations, the partners and the state, and gives the next state
/// and which pairs it rotated, pred [batch, 1, n].
std::vector<int> InstructionParser::Matrices::sweep(std::vector<int> state, int64_t columns, const Round &round) {
  if (columns < 2)
    return state;
  int64_t batch = sizesOf(state[0])[0];
  std::vector<int64_t> sizes = {batch, 1, columns};
  size_t last = state.size();
  state.push_back(index(1)); // whether the sweep before rotated
  auto goesOn = [&](Matrices &m, int number, const std::vector<int> &now) {
    int isFew = m.compare(number, CompareDirection::Less, m.index(mostSweeps));
    return m.join(Opcode::And, isFew, m.compare(now[last], CompareDirection::Greater, m.index(0)));
  };
  auto oneRound = [&](Matrices &m, int number, const std::vector<int> &now) {
    Rotations rotations{m, columns};
    std::vector<int> next = round(rotations, rotations.partners(number), now);
    next.back() = m.join(Opcode::Maximum, now[last], m.parser.convert(next.back(), DType::S32, at));
    return next;
  };
  auto oneSweep = [&](Matrices &m, int, std::vector<int> now) {
    now[last] = m.spread(m.index(0), sizes);
    std::vector<int> next = m.loop(now, Rotations{m, columns}.rounds(), oneRound);
    int moved = m.largest(m.parser.reshape(next[last], {1, batch * columns, 1}, at), 1);
    next[last] = m.parser.reshape(moved, {}, at);
    return next;
  };
  state = loopWhile(state, goesOn, oneSweep);
  state.pop_back();
  return state;
}

/// s32 [batch, n]: the order of values [batch, n].
int InstructionParser::Matrices::orderOf(int values, CompareDirection direction) {
  auto comesBefore = [&](InstructionParser &inner, const std::vector<int> &left, const std::vector<int> &right) {
    return inner.compare(left[0], direction, right[0], at);
  };
  return SortOrder{parser, at, {values}, comesBefore}.first(sizesOf(values)[1]);
}

std::vector<int> InstructionParser::Matrices::eigenvectors(int matrix) {
  std::vector<int64_t> sizes = sizesOf(matrix);
  int64_t columns = sizes[2];
  int scale = largest(largest(unary(Opcode::Abs, matrix), 1), 2);
  int limit = join(Opcode::Multiply, scale, numberLike(scale, precisionOf(typeOf(matrix)) / 4));
  auto round = [&](Rotations &r, int partner, const std::vector<int> &now) {
    Matrices &m = r.m;
    int own = m.real(r.diagonalOf(now[0]));
    auto turn = r.turn(own, m.permute(own, 2, partner), r.besideOf(now[0], partner), m.fillLike(now[2], own), partner);
    int turned = r.rowsOf(r.columnsOf(now[0], turn, partner), turn, partner);
    int columnNumbers = m.parser.iota(sizes, 2, at);
    int isBeside = m.compare(columnNumbers, CompareDirection::Equal, m.parser.broadcast(partner, {1}, sizes, at));
    isBeside = m.join(Opcode::And, isBeside, m.fill(turn.isLarge, sizes)); // 0 but for rounding, which would stay
    turned = m.choose(isBeside, m.zeros(turned), turned);
    return std::vector<int>{turned, r.columnsOf(now[1], turn, partner), now[2], turn.isLarge};
  };
  std::vector<int> made = sweep({matrix, identity(sizes, matrix), limit}, columns, round);
  int values = parser.reshape(real(Rotations{*this, columns}.diagonalOf(made[0])), {sizes[0], columns}, at);
  int order = orderOf(values, CompareDirection::Less);
  return {permute(made[1], 2, order), permute(parser.reshape(values, {sizes[0], columns, 1}, at), 1, order),
          isDiagonal(made[0], scale)};
}

std::vector<int> InstructionParser::Matrices::singularVectors(int matrix, bool full) {
  std::vector<int64_t> sizes = sizesOf(matrix);
  int64_t columns = sizes[2];
  int scale = largest(largest(unary(Opcode::Abs, matrix), 1), 2), one = numberLike(scale, 1);
  int isZero = compare(scale, CompareDirection::Equal, numberLike(scale, 0));
  int scaled = byReal(Opcode::Divide, matrix, choose(isZero, one, scale)); // the squares below are in range
  double precision = precisionOf(typeOf(matrix)),
         tolerance = precision * std::sqrt(double(std::max<int64_t>(sizes[1], 1)));
  auto round = [&](Rotations &r, int partner, const std::vector<int> &now) {
    Matrices &m = r.m;
    int size = m.unary(Opcode::Abs, now[0]), own = m.sum(m.join(Opcode::Multiply, size, size), 1);
    int theirs = m.permute(own, 2, partner);
    int between = m.sum(m.join(Opcode::Multiply, m.conjugate(now[0]), m.permute(now[0], 2, partner)), 1);
    int limit = m.join(Opcode::Multiply, m.unary(Opcode::Sqrt, own), m.unary(Opcode::Sqrt, theirs));
    limit = m.join(Opcode::Multiply, limit, m.numberLike(limit, tolerance));
    limit = m.join(Opcode::Maximum, limit, m.numberLike(limit, precision * precision * precision));
    auto turn = r.turn(own, theirs, between, limit, partner);
    return std::vector<int>{r.columnsOf(now[0], turn, partner), r.columnsOf(now[1], turn, partner), turn.isLarge};
  };
  std::vector<int> made = sweep({scaled, identity({sizes[0], columns, columns}, matrix)}, columns, round);
  int norms = parser.reshape(normOfRows(made[0]), {sizes[0], columns}, at);
  int order = orderOf(norms, CompareDirection::Greater);
  int values = permute(parser.reshape(norms, {sizes[0], columns, 1}, at), 1, order);
  // The columns are orthogonal, so that R of their QR factors is diagonal: Q has the vectors, also of values that are
  // 0.
  std::vector<int> factor = householder(permute(made[0], 2, order));
  std::vector<int64_t> square = {sizes[0], sizes[1], full ? sizes[1] : columns};
  int left = reflect(factor[0], factor[1], identity(square, matrix), false);
  int isNegative = compare(real(factor[0]), CompareDirection::Less, real(zeros(factor[0])));
  int isOnDiagonal = compare(parser.iota(sizes, 1, at), CompareDirection::Equal, parser.iota(sizes, 2, at));
  int flips = parser.convert(join(Opcode::And, isNegative, isOnDiagonal), DType::S32, at);
  flips = largest(flips, 1);
  if (full && sizes[1] != columns)
    flips = padColumns(flips, sizes[1]);
  int doesFlip = fill(compare(flips, CompareDirection::Greater, spread(index(0), sizesOf(flips))), square);
  left = choose(doesFlip, unary(Opcode::Negate, left), left);
  return {left, byReal(Opcode::Multiply, values, scale), permute(made[1], 2, order), isDiagonal(factor[0], one)};
}

} // namespace heddle::hlo
