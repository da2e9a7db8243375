// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// QR factors by Householder's reflections, one column after the other, with the signs and the form of LAPACK: the
// reflector of column k is the identity less tau v v', where v is 1 in row k and stands below the diagonal.
#include "frontend/hlo/Matrices.h"
#include <algorithm>

namespace heddle::hlo {

std::vector<int> InstructionParser::Matrices::householder(int matrix) {
  std::vector<int64_t> sizes = sizesOf(matrix), column = {sizes[0], sizes[1], 1};
  int64_t count = std::min(sizes[1], sizes[2]);
  auto step = [&](Matrices &m, int number, const std::vector<int> &state) {
    int here = m.take(state[0], 2, number), none = m.zeros(here);
    int diagonal = m.take(here, 1, number), alpha = m.real(diagonal);
    int isBelow = m.where(column, 1, CompareDirection::Greater, number);
    int isFrom = m.where(column, 1, CompareDirection::GreaterOrEqual, number);
    int beta = m.normOfRows(m.choose(isFrom, here, none)), zero = m.numberLike(beta, 0);
    int isNegative = m.compare(alpha, CompareDirection::Less, zero);
    beta = m.choose(isNegative, beta, m.unary(Opcode::Negate, beta));
    int isZero = m.compare(m.largest(m.unary(Opcode::Abs, m.choose(isBelow, here, none)), 1), CompareDirection::Equal,
                           zero); // there is nothing to reflect
    if (isComplex(m.typeOf(here)))
      isZero = m.join(Opcode::And, isZero,
                      m.compare(m.parser.partOf(diagonal, Opcode::Imag, at), CompareDirection::Equal, zero));
    int one = m.numberLike(beta, 1), full = m.asTypeOf(beta, here);
    int tau = m.byReal(Opcode::Divide, m.join(Opcode::Subtract, full, diagonal), m.choose(isZero, one, beta));
    tau = m.choose(isZero, m.zeros(tau), tau);
    int difference =
        m.choose(isZero, m.asTypeOf(one, here), m.join(Opcode::Subtract, diagonal, full)); // never 0 by the signs
    int reflector = m.choose(isBelow, m.join(Opcode::Divide, here, m.fill(difference, column)), none);
    int isPivot = m.where(column, 1, CompareDirection::Equal, number);
    int vector = m.choose(isPivot, m.fill(m.asTypeOf(one, here), column), reflector);
    int products = m.sum(m.join(Opcode::Multiply, m.fill(m.conjugate(vector), sizes), state[0]), 1);
    products = m.join(Opcode::Multiply, products, m.fillLike(m.conjugate(tau), products));
    int rest =
        m.join(Opcode::Subtract, state[0], m.join(Opcode::Multiply, m.fill(vector, sizes), m.fill(products, sizes)));
    int isLater = m.where(sizes, 2, CompareDirection::Greater, number);
    int done = m.choose(isPivot, m.fill(m.choose(isZero, diagonal, full), column), m.choose(isBelow, reflector, here));
    int made = m.choose(m.where(sizes, 2, CompareDirection::Equal, number), m.fill(done, sizes), state[0]);
    int isThis = m.where({sizes[0], count, 1}, 1, CompareDirection::Equal, number);
    return std::vector<int>{m.choose(isLater, rest, made),
                            m.choose(isThis, m.fill(tau, {sizes[0], count, 1}), state[1])};
  };
  int taus = slice(slice(matrix, 2, std::min<int64_t>(sizes[2], 1)), 1, count);
  taus = count == 0 ? parser.reshape(taus, {sizes[0], 0, 1}, at) : zeros(taus);
  return loop({matrix, taus}, count, step);
}

int InstructionParser::Matrices::reflect(int reflectors, int taus, int matrix, bool isAdjoint) {
  std::vector<int64_t> sizes = sizesOf(matrix), column = {sizes[0], sizes[1], 1};
  int64_t count = sizesOf(taus)[1];
  auto step = [&](Matrices &m, int number, const std::vector<int> &state) {
    int index = isAdjoint ? number : m.join(Opcode::Subtract, m.index(count - 1), number);
    int here = m.take(state[1], 2, index), tau = m.take(state[2], 1, index);
    int vector = m.choose(m.where(column, 1, CompareDirection::Greater, index), here, m.zeros(here));
    int isPivot = m.where(column, 1, CompareDirection::Equal, index);
    vector = m.choose(isPivot, m.asTypeOf(m.numberLike(here, 1), here), vector);
    int products = m.sum(m.join(Opcode::Multiply, m.fill(m.conjugate(vector), sizes), state[0]), 1);
    products = m.join(Opcode::Multiply, products, m.fillLike(isAdjoint ? m.conjugate(tau) : tau, products));
    int change = m.join(Opcode::Multiply, m.fill(vector, sizes), m.fill(products, sizes));
    return std::vector<int>{m.join(Opcode::Subtract, state[0], change), state[1], state[2]};
  };
  return loop({matrix, reflectors, taus}, count, step)[0];
}

} // namespace heddle::hlo
