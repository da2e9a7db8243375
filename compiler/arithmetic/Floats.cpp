// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Floating-point operations for which one operation of LLVM is not enough: it would be a library call, leave something
// open, or round in a way that no target does.
#include "compiler/arithmetic/Numbers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace heddle::arithmetic;

// a * b + c of narrow formats in f64, with the last bit set when the sum was inexact: the product is exact, Knuth's
// two-sum tells what the sum lost, and one more rounding gives what a fused operation of the narrow format gives.
Value Numbers::fusedToOdd(Value x, Value y, Value z) {
  Type f64 = like(b.getF64Type(), x), i64Type = b.getI64Type();
  auto extend = [&](Value value) -> Value { return arith::ExtFOp::create(b, loc, f64, value); };
  auto subtract = [&](Value l, Value r) -> Value { return arith::SubFOp::create(b, loc, l, r); };
  Value product = arith::MulFOp::create(b, loc, extend(x), extend(y)), term = extend(z);
  Value sum = arith::AddFOp::create(b, loc, product, term), part = subtract(sum, product);
  Value lost = arith::AddFOp::create(b, loc, subtract(product, subtract(sum, part)), subtract(term, part));
  Value none = constantLike(0.0, sum, b.getF64Type());
  auto compare = [&](arith::CmpFPredicate predicate, Value value) -> Value {
    return arith::CmpFOp::create(b, loc, predicate, value, none);
  };
  Value bits = arith::BitcastOp::create(b, loc, like(i64Type, sum), sum);
  Value one = constantLike(i64Type, 1, sum), minusOne = constantLike(i64Type, -1, sum);
  Value even = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, arith::AndIOp::create(b, loc, bits, one), one);
  Value outward = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, compare(arith::CmpFPredicate::OGT, lost),
                                        compare(arith::CmpFPredicate::OGT, sum));
  Value moved = arith::AddIOp::create(b, loc, bits, arith::SelectOp::create(b, loc, outward, one, minusOne));
  Value adjust = arith::AndIOp::create(b, loc, even, compare(arith::CmpFPredicate::ONE, lost));
  return arith::BitcastOp::create(b, loc, f64, arith::SelectOp::create(b, loc, adjust, moved, bits));
}

// The number when one operand is NaN, and -0 below +0: what both GPU targets do. LLVM's maxnum leaves zeros open and
// may become a library call.
Value Numbers::extremum(bool largest, Value x, Value y) {
  auto name = b.getStringAttr(largest ? "llvm.maximumnum" : "llvm.minimumnum");
  return LLVM::CallIntrinsicOp::create(b, loc, x.getType(), name, ValueRange{x, y}).getResult(0);
}

// Exact, as std::fmod: |x| is reduced by multiples of |y| whose factor has at most 26 bits, so that each difference is
// a floating-point number; a turn takes 25 bits off the quotient, and most operands need one. The result is f64.
Value Numbers::remainder(Value x, Value y) {
  Type real = b.getF64Type(), type = like(real, x);
  bool single = getElementTypeOrSelf(x.getType()).isF32();
  Value wx = single ? Value(arith::ExtFOp::create(b, loc, type, x)) : x;
  Value wy = single ? Value(arith::ExtFOp::create(b, loc, type, y)) : y;
  auto number = [&](double value) { return constantLike(value, wx, real); };
  auto compare = [&](arith::CmpFPredicate predicate, Value l, Value r) -> Value {
    return arith::CmpFOp::create(b, loc, predicate, l, r);
  };
  double infinity = std::numeric_limits<double>::infinity();
  Value dividend = math::AbsFOp::create(b, loc, wx), divisor = math::AbsFOp::create(b, loc, wy);
  Value valid = arith::AndIOp::create(b, loc, compare(arith::CmpFPredicate::OLT, dividend, number(infinity)),
                                      compare(arith::CmpFPredicate::OGT, divisor, number(0)));
  Value start = arith::SelectOp::create(b, loc, valid, dividend, number(0));
  Value safe = arith::SelectOp::create(b, loc, valid, divisor, number(1));
  auto loop = scf::WhileOp::create(
      b, loc, TypeRange{type}, ValueRange{start},
      [&](OpBuilder &, Location, ValueRange rest) {
        Value larger = compare(arith::CmpFPredicate::OGE, rest[0], safe);
        if (isa<VectorType>(type))
          larger = vector::ReductionOp::create(b, loc, vector::CombiningKind::OR, larger);
        scf::ConditionOp::create(b, loc, larger, rest);
      },
      [&](OpBuilder &, Location, ValueRange rest) {
        Value unit = safe, quotient = arith::DivFOp::create(b, loc, rest[0], unit);
        // Where the quotient overflows, a multiple of the divisor is taken off first.
        for (double scale : {600.0, 480.0}) {
          if (single) // f32 operands: never
            break;
          Value over = compare(arith::CmpFPredicate::OEQ, quotient, number(infinity));
          Value larger = arith::MulFOp::create(b, loc, unit, number(std::exp2(scale)));
          unit = arith::SelectOp::create(b, loc, over, larger, unit);
          quotient = arith::DivFOp::create(b, loc, rest[0], unit);
        }
        quotient = math::TruncOp::create(b, loc, quotient);
        Value bits = arith::BitcastOp::create(b, loc, like(b.getI64Type(), x), quotient);
        bits = arith::AndIOp::create(b, loc, bits, constantLike(b.getI64Type(), -(int64_t(1) << 27), x));
        Value factor = arith::BitcastOp::create(b, loc, type, bits);
        Value next = math::FmaOp::create(b, loc, arith::NegFOp::create(b, loc, factor), unit, rest[0]);
        // The quotient may have been rounded up to this factor: then the one below it, by 1 or by its last bit.
        Value below = compare(arith::CmpFPredicate::OLT, next, number(0));
        Value lastBit = constantLike(b.getI64Type(), int64_t(1) << 27, x);
        Value smaller = arith::BitcastOp::create(b, loc, type, Value(arith::SubIOp::create(b, loc, bits, lastBit)));
        Value step =
            arith::MaximumFOp::create(b, loc, number(1), Value(arith::SubFOp::create(b, loc, factor, smaller)));
        Value repaired = arith::SubFOp::create(b, loc, factor, step);
        Value again = math::FmaOp::create(b, loc, arith::NegFOp::create(b, loc, repaired), unit, rest[0]);
        next = arith::SelectOp::create(b, loc, below, again, next);
        // Lanes that are done stay as they are (an infinite divisor times 0 would make NaN).
        Value busy = compare(arith::CmpFPredicate::OGE, rest[0], safe);
        scf::YieldOp::create(b, loc, ValueRange{arith::SelectOp::create(b, loc, busy, next, rest[0])});
      });
  b.setInsertionPointAfter(loop);
  Value result = copySign(loop.getResult(0), wx);
  result = arith::SelectOp::create(b, loc, valid, result, number(std::numeric_limits<double>::quiet_NaN()));
  return result;
}

// Chosen by the sign's bits: a copysign of LLVM is moved before a rounding to f16, where a sign in f64 would be
// rounded to f16 in one step, which no processor has.
Value Numbers::copySign(Value magnitude, Value sign) {
  Type integer = b.getIntegerType(getElementTypeOrSelf(sign.getType()).getIntOrFloatBitWidth());
  Value bits = arith::BitcastOp::create(b, loc, like(integer, sign), sign);
  Value isNegative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, bits, constantLike(integer, 0, sign));
  Value positive = math::AbsFOp::create(b, loc, magnitude), negative = arith::NegFOp::create(b, loc, positive);
  return arith::SelectOp::create(b, loc, isNegative, negative, positive);
}
