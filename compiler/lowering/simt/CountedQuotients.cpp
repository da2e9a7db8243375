// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Quotients and remainders of index arithmetic, as `at // width` and `at % width` for contiguous elements: one division
// for a group of elements, exact for all numbers.
//
// Elements of a group are f + j, where the length of the group divides the first one, f, and the divisor d. Their
// quotients round to the same number, where they round downwards. Signed division rounds towards zero: with a negative
// f that d divides, all but the first have a quotient that is larger by one.
#include "compiler/lowering/simt/ElementCode.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

/// Elements along the axis that the lowest registers of a thread count, at most `length`.
static int64_t runInThread(const layout::LinearLayout &layout, int axis, int64_t length) {
  int64_t run = 1;
  for (bool isLonger = true; isLonger && run < length;) {
    isLonger = false;
    for (int bit = 0; bit < layout.inputBits(layout::Dim::Register); ++bit)
      isLonger |= layout.basis(layout::Dim::Register, bit, layout::tileDim(axis)) == run;
    run *= isLonger ? 2 : 1;
  }
  return run;
}

bool ElementCode::divideGroups(Values &results) {
  auto found = facts.countedGroups.find(op);
  if (found == facts.countedGroups.end())
    return false;
  auto [axis, length] = found->second;
  auto tile = cast<RankedTensorType>(op->getResult(0).getType());
  int64_t run = runInThread(layoutOf(tile), axis, length);
  if (run < 2)
    return false;
  bool isSigned = isa<arith::DivSIOp, arith::RemSIOp>(op), isRemainder = isa<arith::RemSIOp, arith::RemUIOp>(op);
  SmallVector<int64_t, 4> lengths(size_t(tile.getRank()), 1);
  lengths[size_t(axis)] = run;
  SmallVector<size_t> firsts = firstOfEquals(tile, lengths);
  const Values &dividends = of(op->getOperand(0)), &divisors = of(op->getOperand(1));
  Type type = dividends.front().getType();
  DenseMap<size_t, Value> others; ///< by first registers: quotients of the others, or remainders less j
  auto ofOthers = [&](size_t first) -> Value {
    Value f = dividends[first], d = divisors[first], of = results[first];
    if (!isSigned)
      return of;
    Value zero = constantOf(type, 0);
    Value remainder = isRemainder ? of : Value(arith::SubIOp::create(b, f, Value(arith::MulIOp::create(b, of, d))));
    Value divides = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, remainder, zero);
    Value isNegative = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, f, zero);
    Value isAbove = arith::AndIOp::create(b, divides, isNegative);
    // A divisor below zero has quotients that are smaller by one, and the remainders are those of its magnitude.
    Value isBelowZero = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, d, zero);
    if (isRemainder) {
      Value negated = arith::SubIOp::create(b, zero, d);
      Value less = arith::SelectOp::create(b, isBelowZero, d, negated);
      return arith::AddIOp::create(b, of, Value(arith::SelectOp::create(b, isAbove, less, zero)));
    }
    Value step = arith::SelectOp::create(b, isBelowZero, constantOf(type, -1), constantOf(type, 1));
    return arith::AddIOp::create(b, of, Value(arith::SelectOp::create(b, isAbove, step, zero)));
  };
  for (size_t reg = 0; reg < firsts.size(); ++reg) {
    size_t first = firsts[reg];
    if (first == reg) {
      results.push_back(compute({dividends[reg], divisors[reg]}, tile.getElementType()));
      continue;
    }
    Value &other = others[first];
    if (!other)
      other = ofOthers(first);
    int64_t j = registerPart(layoutOf(tile), int64_t(reg), layout::tileDim(axis)) % run;
    results.push_back(isRemainder ? Value(arith::AddIOp::create(b, other, constantOf(type, j))) : other);
  }
  return true;
}
