// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integer operations and conversions between integers and floating point. What LLVM leaves undefined (division by zero,
// wide shifts, conversions out of range) is defined here.
#include "compiler/arithmetic/Numbers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle::arithmetic;

//===-- Integers -------------------------------------------------------------------------------------------------===//

static bool isSignedOp(Operation *op) {
  return isa<arith::DivSIOp, arith::RemSIOp>(op);
}
static bool isRemainderOp(Operation *op) {
  return isa<arith::RemSIOp, arith::RemUIOp>(op);
}

/// Whether the dividend was extended from a narrower type, so that dividing it by -1 cannot overflow.
static bool fitsNarrower(Value a) {
  return a.getDefiningOp<arith::ExtSIOp>() || a.getDefiningOp<arith::ExtUIOp>();
}

// x / 0 is all ones, x % 0 is x, and the smallest integer by -1 wraps; a hardware division would trap.
Value Numbers::divide(Operation *op, Value a, Value d) {
  bool isRemainder = isRemainderOp(op);
  Type type = getElementTypeOrSelf(a.getType());
  unsigned bits = type.getIntOrFloatBitWidth();
  APInt constant;
  bool known = matchPattern(d, m_ConstantInt(&constant)) && !constant.isZero() && !constant.isAllOnes();
  if (known)
    return cloneOn(op, {a, d}, type);
  auto value = [&](int64_t number) { return constantLike(type, number, a); };
  auto equal = [&](Value x, Value y) -> Value { return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, y); };
  // The divisor that is really divided by does not depend on the dividend, so that one that all threads share stays so.
  Value isZero = equal(d, value(0)), isMinusOne, isOdd = isZero;
  if (isSignedOp(op) && bits > 1 && !fitsNarrower(a)) {
    isMinusOne = equal(d, value(-1));
    isOdd = arith::OrIOp::create(b, loc, isZero, isMinusOne);
  }
  Value safe = arith::SelectOp::create(b, loc, isOdd, value(1), d);
  bool vector = isa<VectorType>(a.getType());
  Value result = vector && bits > 1 && bits <= 32 ? divideNarrow(op, a, safe) : cloneOn(op, {a, safe}, type);
  if (isMinusOne && !isRemainder)
    result = arith::SelectOp::create(b, loc, isMinusOne, arith::SubIOp::create(b, loc, value(0), a), result);
  return arith::SelectOp::create(b, loc, isZero, isRemainder ? a : value(-1), result);
}

// Quotients of integers of at most 32 bits are exact in f64: a / d differs from the next integer by at least 1/d, which
// is far more than an f64 rounding error. For vectors: SIMD has f64 division but no integer one.
Value Numbers::divideNarrow(Operation *op, Value a, Value d) {
  Type real = like(b.getF64Type(), a);
  auto toReal = [&](Value x) -> Value {
    return isSignedOp(op) ? Value(arith::SIToFPOp::create(b, loc, real, x))
                          : Value(arith::UIToFPOp::create(b, loc, real, x));
  };
  Value exact = arith::DivFOp::create(b, loc, toReal(a), toReal(d));
  Value wide = arith::FPToSIOp::create(b, loc, like(b.getI64Type(), a), exact);
  Value quotient = arith::TruncIOp::create(b, loc, a.getType(), wide);
  if (!isRemainderOp(op))
    return quotient;
  return arith::SubIOp::create(b, loc, a, arith::MulIOp::create(b, loc, quotient, d));
}

// A shift by the width or more gives 0, or the sign in every bit (PTX clamps the amount).
Value Numbers::shift(Operation *op, Value a, Value amount) {
  Type type = getElementTypeOrSelf(a.getType());
  int64_t bits = type.getIntOrFloatBitWidth();
  APInt constant;
  if (matchPattern(amount, m_ConstantInt(&constant)) && constant.ult(bits))
    return cloneOn(op, {a, amount}, type);
  Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, amount, constantLike(type, bits, a));
  if (bits == 1) // the amount `bits` does not fit i1
    inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, amount, constantLike(type, 0, a));
  if (isa<arith::ShRSIOp>(op)) {
    Value clamped = arith::SelectOp::create(b, loc, inside, amount, constantLike(type, bits == 1 ? 0 : bits - 1, a));
    return cloneOn(op, {a, clamped}, type);
  }
  // Of a 64-bit amount LLVM 22's NVPTX back end takes the low 32 bits and, where it sees the comparison with the width,
  // relies on PTX to clamp those: so the amount is made small by another way.
  Value safe = bits == 1 ? arith::SelectOp::create(b, loc, inside, amount, constantLike(type, 0, a)).getResult()
                         : arith::MinUIOp::create(b, loc, amount, constantLike(type, bits - 1, a)).getResult();
  return arith::SelectOp::create(b, loc, inside, cloneOn(op, {a, safe}, type), constantLike(type, 0, a));
}

Value Numbers::multiplyHigh(Value a, Value c) {
  Type type = getElementTypeOrSelf(a.getType());
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits == 64)
    return arith::MulUIExtendedOp::create(b, loc, a, c).getHigh();
  Type wide = like(b.getIntegerType(2 * bits), a);
  Value product =
      arith::MulIOp::create(b, loc, arith::ExtUIOp::create(b, loc, wide, a), arith::ExtUIOp::create(b, loc, wide, c));
  Value high = arith::ShRUIOp::create(b, loc, product, constantLike(b.getIntegerType(2 * bits), bits, a));
  return arith::TruncIOp::create(b, loc, a.getType(), high);
}

//===-- Between integers and floating point ----------------------------------------------------------------------===//

// Out-of-range values saturate and NaN gives 0; results under 32 bits are the low bits of the 32-bit one.
Value Numbers::floatToInt(Value a, Type from, Type to, bool isSigned) {
  if (isNarrowFloat(from))
    a = widen(a, from);
  unsigned bits = to.getIntOrFloatBitWidth();
  Type wide = like(b.getIntegerType(std::max(bits, 32u)), a);
  auto name = b.getStringAttr(isSigned ? "llvm.fptosi.sat" : "llvm.fptoui.sat");
  Value result = LLVM::CallIntrinsicOp::create(b, loc, wide, name, ValueRange{a}).getResult(0);
  return bits < 32 ? Value(arith::TruncIOp::create(b, loc, like(to, a), result)) : result;
}

// To a narrow format through f64, which holds 32-bit integers exactly; of a 64-bit one the low 12 bits become one that
// says whether any was set, far below where the narrow format rounds.
Value Numbers::intToFloat(Value a, Type to, bool isSigned) {
  bool narrowed = isNarrowFloat(to);
  unsigned bits = getElementTypeOrSelf(a.getType()).getIntOrFloatBitWidth();
  if (narrowed && bits == 64) {
    Type wide = b.getI64Type();
    Value low = arith::AndIOp::create(b, loc, a, constantLike(wide, 0xFFF, a));
    Value lost = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, low, constantLike(wide, 0, a));
    Value high = arith::XOrIOp::create(b, loc, a, low);
    Value sticky = arith::SelectOp::create(b, loc, lost, constantLike(wide, 0x800, a), constantLike(wide, 0, a));
    Value replaced = arith::OrIOp::create(b, loc, high, sticky);
    // Small values need no help, and would lose what counts.
    Value shifted = arith::ShRSIOp::create(b, loc, a, constantLike(wide, 52, a));
    Value zeroOrOnes = arith::AddIOp::create(b, loc, shifted, constantLike(wide, isSigned ? 1 : 0, a));
    Value large = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ugt, zeroOrOnes, constantLike(wide, isSigned, a));
    a = arith::SelectOp::create(b, loc, large, replaced, a);
  }
  Type type = like(narrowed ? Type(bits >= 32 ? b.getF64Type() : b.getF32Type()) : to, a);
  Value real =
      isSigned ? Value(arith::SIToFPOp::create(b, loc, type, a)) : Value(arith::UIToFPOp::create(b, loc, type, a));
  return narrowed ? narrow(real, to) : real;
}
