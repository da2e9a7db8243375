// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Element operations on lanes. Integer and address arithmetic keeps the affine form as long as it can, because that is
// what makes a memory access contiguous; everything else works on vectors. Where LLVM leaves a result undefined and the
// GPU targets define one (division by zero, wide shifts, conversions out of range), the definition is made explicit.
#include "compiler/lowering/host/HostEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace heddle::host;
using namespace heddle::triton;

static Type operandElement(Operation *op, unsigned number = 0) {
  return elementTypeOf(op->getOperand(number).getType());
}
static Type resultElement(Operation *op) {
  return elementTypeOf(op->getResult(0).getType());
}

Value HostEmitter::cloneOn(Operation *op, ValueRange operands, Type scalarResult) {
  Value shape = operands.front();
  for (Value operand : operands) // a scalar condition may select among vectors
    if (isa<VectorType>(operand.getType()))
      shape = operand;
  Operation *copy = op->cloneWithoutRegions();
  copy->setDiscardableAttrs(DictionaryAttr::get(b.getContext()));
  copy->setLoc(loc);
  copy->setOperands(operands);
  copy->getResult(0).setType(like(scalarResult, shape));
  return b.insert(copy)->getResult(0);
}

LaneValue HostEmitter::elementwise(Operation *op, ArrayRef<LaneValue> operands) {
  if (isa<BitcastOp, IntToPtrOp, PtrToIntOp>(op) && registerType(operandElement(op)) == registerType(resultElement(op)))
    return operands[0];
  if (auto address = dyn_cast<AddPtrOp>(op))
    return addPointer(address, operands[0], operands[1]);
  if (std::optional<LaneValue> kept = affine(op, operands))
    return *kept;
  bool uniform = llvm::all_of(operands, [](const LaneValue &value) { return value.isUniform(); });
  SmallVector<Value> values;
  for (auto [number, operand] : llvm::enumerate(operands)) {
    bool scalarCondition = isa<arith::SelectOp>(op) && number == 0 && operand.isUniform();
    values.push_back(uniform || scalarCondition ? operand.scalar : toLanes(operand));
  }
  Value result = compute(op, values);
  return uniform ? LaneValue::uniform(result) : LaneValue::general(result);
}

// Operations under which base + lanes[l] keeps that form. Nullopt: compute with vectors.
std::optional<LaneValue> HostEmitter::affine(Operation *op, ArrayRef<LaneValue> in) {
  if (llvm::none_of(in, [](const LaneValue &value) { return value.isAffine(); }) ||
      llvm::any_of(in, [](const LaneValue &value) { return !value.scalar; }))
    return std::nullopt;
  auto zip = [&](int64_t sign) {
    LanePattern lanes(width, 0);
    for (int lane = 0; lane < width; ++lane)
      lanes[lane] =
          (in[0].lanes.empty() ? 0 : in[0].lanes[lane]) + sign * (in[1].lanes.empty() ? 0 : in[1].lanes[lane]);
    return lanes;
  };
  // The exact lanes of a result whose operands only assume that they did not wrap.
  auto exactOf = [&](Type result) -> std::shared_ptr<LazyLanes> {
    if (llvm::none_of(in, [](const LaneValue &value) { return value.exact; }))
      return {};
    SmallVector<LaneValue> copies(in.begin(), in.end());
    return std::make_shared<LazyLanes>([this, op, copies, result] {
      SmallVector<Value> operands;
      for (const LaneValue &copy : copies)
        operands.push_back(toLanes(copy));
      return cloneOn(op, operands, result);
    });
  };
  auto scaled = [&](int64_t factor) -> std::optional<LaneValue> {
    LanePattern lanes;
    for (int64_t lane : in[0].lanes)
      lanes.push_back(lane * factor);
    Value base = cloneOn(op, {in[0].scalar, in[1].scalar}, resultElement(op));
    return LaneValue{base, lanes, {}, exactOf(resultElement(op))};
  };
  Type type = resultElement(op);
  if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    LanePattern lanes = zip(isa<arith::AddIOp>(op) ? 1 : -1);
    if (llvm::all_of(lanes, [](int64_t lane) { return lane == 0; }))
      return std::nullopt;
    return LaneValue{cloneOn(op, {in[0].scalar, in[1].scalar}, type), lanes, {}, exactOf(type)};
  }
  APInt factor;
  if (isa<arith::MulIOp>(op) && in[1].isUniform() && matchPattern(in[1].scalar, m_ConstantInt(&factor)) &&
      !factor.isZero() && factor.abs().ult(1u << 20))
    return scaled(factor.getSExtValue());
  if (isa<arith::ExtSIOp>(op) && !operandElement(op).isInteger(1)) {
    LaneValue copy = in[0];
    auto exact =
        std::make_shared<LazyLanes>([this, op, copy, type] { return cloneOn(op, ValueRange{toLanes(copy)}, type); });
    return LaneValue{cloneOn(op, ValueRange{in[0].scalar}, type), in[0].lanes, {}, exact};
  }
  return std::nullopt;
}

// Addresses are i64; an offset counts elements and is sign-extended.
LaneValue HostEmitter::addPointer(AddPtrOp op, const LaneValue &pointer, const LaneValue &offset) {
  Type pointee = cast<PointerType>(elementTypeOf(op.getPtr().getType())).getPointeeType();
  int64_t size = sizeOf(storedType(pointee));
  auto bytes = [&](Value count) -> Value {
    Type wide = like(b.getI64Type(), count);
    if (count.getType() != wide)
      count = arith::ExtSIOp::create(b, loc, wide, count);
    return size == 1 ? count : Value(arith::MulIOp::create(b, loc, count, constantLike(b.getI64Type(), size, count)));
  };
  if (pointer.scalar && offset.scalar) {
    LanePattern lanes(width, 0);
    for (int lane = 0; lane < width; ++lane)
      lanes[lane] =
          (pointer.lanes.empty() ? 0 : pointer.lanes[lane]) + size * (offset.lanes.empty() ? 0 : offset.lanes[lane]);
    if (width == 1 || (pointer.lanes.empty() && offset.lanes.empty()))
      lanes.clear();
    return {add(pointer.scalar, bytes(offset.scalar)), lanes, {}, {}};
  }
  return LaneValue::general(arith::AddIOp::create(b, loc, toLanes(pointer), bytes(toLanes(offset))));
}

//===-- One operation on scalars or vectors ----------------------------------------------------------------------===//

Value HostEmitter::compute(Operation *op, ArrayRef<Value> in) {
  Type result = resultElement(op);
  return TypeSwitch<Operation *, Value>(op)
      .Case<arith::ConstantOp>([&](arith::ConstantOp constant) -> Value {
        if (isNarrowFloat(result))
          return arith::ConstantOp::create(
              b, loc,
              IntegerAttr::get(registerType(result), cast<FloatAttr>(constant.getValue()).getValue().bitcastToAPInt()));
        return arith::ConstantOp::create(b, loc, constant.getValue());
      })
      .Case<ub::PoisonOp>([&](auto) { return zero(registerType(result)); })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(
          [&](auto) { return divide(op, in[0], in[1]); })
      .Case<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>([&](auto) { return shift(op, in[0], in[1]); })
      .Case<arith::SIToFPOp>([&](auto) { return intToFloat(op, in[0], true); })
      .Case<arith::UIToFPOp>([&](auto) { return intToFloat(op, in[0], false); })
      .Case<arith::FPToSIOp>([&](auto) { return floatToInt(op, in[0], true); })
      .Case<arith::FPToUIOp>([&](auto) { return floatToInt(op, in[0], false); })
      .Case<arith::ExtFOp>([&](auto) { return convertFloat(in[0], operandElement(op), result); })
      .Case<arith::TruncFOp>([&](arith::TruncFOp truncate) {
        bool towardZero = truncate.getRoundingmode() == arith::RoundingMode::toward_zero;
        return convertFloat(in[0], operandElement(op), result, towardZero);
      })
      .Case<FpToFpOp>([&](FpToFpOp convert) {
        return convertFloat(in[0], operandElement(op), result, convert.getRounding() == RoundingMode::TowardZero);
      })
      .Case<BitcastOp, arith::BitcastOp>([&](auto) -> Value {
        Type type = like(registerType(result), in[0]);
        return type == in[0].getType() ? in[0] : Value(arith::BitcastOp::create(b, loc, type, in[0]));
      })
      .Case<IntToPtrOp, PtrToIntOp>([&](auto) { return in[0]; })
      .Case<MulhiUIOp>([&](auto) { return multiplyHigh(in[0], in[1]); })
      .Case<UnsplatOp>([&](auto) { return in[0]; })
      .Case<arith::NegFOp>([&](auto) -> Value {
        if (!isNarrowFloat(result))
          return cloneOn(op, in, result);
        unsigned bits = cast<FloatType>(result).getWidth();
        return arith::XOrIOp::create(b, loc, in[0],
                                     constantLike(registerType(result), -(int64_t(1) << (bits - 1)), in[0]));
      })
      .Case<math::AbsFOp>([&](auto) -> Value {
        if (!isNarrowFloat(result))
          return cloneOn(op, in, result);
        unsigned bits = cast<FloatType>(result).getWidth();
        return arith::AndIOp::create(b, loc, in[0],
                                     constantLike(registerType(result), (int64_t(1) << (bits - 1)) - 1, in[0]));
      })
      .Case<arith::SelectOp>([&](auto) { return cloneOn(op, in, registerType(result)); })
      .Default([&](Operation *) -> Value {
        if (isa<FloatType>(operandElement(op)))
          return computeFloat(op, in);
        return cloneOn(op, in, result);
      });
}

// Narrow formats compute in f32 and round once: with 24 bits for 11 or fewer that is the correctly rounded result of
// +, -, *, / and sqrt.
Value HostEmitter::computeFloat(Operation *op, ArrayRef<Value> in) {
  Type from = operandElement(op), to = resultElement(op);
  SmallVector<Value> wide;
  for (Value value : in)
    wide.push_back(isNarrowFloat(from) ? widen(value, from) : value);
  Type type = isNarrowFloat(to) ? b.getF32Type() : to;
  Value result =
      TypeSwitch<Operation *, Value>(op)
          .Case<ClampFOp>([&](ClampFOp clamp) -> Value {
            if (clamp.getPropagateNan() == PropagateNan::All) {
              Value low = arith::MaximumFOp::create(b, loc, wide[0], wide[1]);
              return arith::MinimumFOp::create(b, loc, low, wide[2]);
            }
            return extremum(false, extremum(true, wide[0], wide[1]), wide[2]);
          })
          .Case<arith::MaxNumFOp>([&](auto) { return extremum(true, wide[0], wide[1]); })
          .Case<arith::MinNumFOp>([&](auto) { return extremum(false, wide[0], wide[1]); })
          .Case<math::FmaOp>([&](auto) { return isNarrowFloat(to) ? fusedToOdd(wide) : cloneOn(op, wide, type); })
          .Case<PreciseSqrtOp>([&](auto) { return math::SqrtOp::create(b, loc, wide[0]); })
          .Case<PreciseDivFOp>([&](auto) { return arith::DivFOp::create(b, loc, wide[0], wide[1]); })
          .Case<arith::RemFOp>([&](auto) { return remainder(wide[0], wide[1]); })
          .Case<math::CopySignOp>([&](auto) { return copySign(wide[0], wide[1]); })
          .Default([&](Operation *) { return cloneOn(op, wide, type); });
  if (isNarrowFloat(to))
    return narrow(result, to);
  return to.isF32() && getElementTypeOrSelf(result.getType()).isF64()
             ? Value(arith::TruncFOp::create(b, loc, like(to, result), result))
             : result;
}

// a * b + c of narrow formats in f64, with the last bit set when the sum was inexact: the product is exact, Knuth's
// two-sum tells what the sum lost, and one more rounding gives what a fused operation of the narrow format gives.
Value HostEmitter::fusedToOdd(ArrayRef<Value> wide) {
  Type f64 = like(b.getF64Type(), wide[0]), i64Type = b.getI64Type();
  auto extend = [&](Value x) -> Value { return arith::ExtFOp::create(b, loc, f64, x); };
  auto subtract = [&](Value x, Value y) -> Value { return arith::SubFOp::create(b, loc, x, y); };
  Value product = arith::MulFOp::create(b, loc, extend(wide[0]), extend(wide[1])), term = extend(wide[2]);
  Value sum = arith::AddFOp::create(b, loc, product, term), part = subtract(sum, product);
  Value lost = arith::AddFOp::create(b, loc, subtract(product, subtract(sum, part)), subtract(term, part));
  Value none = constantLike(0.0, sum, b.getF64Type());
  auto compare = [&](arith::CmpFPredicate predicate, Value x) -> Value {
    return arith::CmpFOp::create(b, loc, predicate, x, none);
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
Value HostEmitter::extremum(bool largest, Value x, Value y) {
  auto name = b.getStringAttr(largest ? "llvm.maximumnum" : "llvm.minimumnum");
  return LLVM::CallIntrinsicOp::create(b, loc, x.getType(), name, ValueRange{x, y}).getResult(0);
}

// Exact, as std::fmod: |x| is reduced by multiples of |y| whose factor has at most 26 bits, so that each difference is
// a floating-point number; a turn takes 25 bits off the quotient, and most operands need one. The result is f64.
Value HostEmitter::remainder(Value x, Value y) {
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

// Chosen by the sign's bits: a copysign of LLVM is moved in front of a rounding to f16, where a sign in f64 would be
// rounded to f16 in one step, which no processor has.
Value HostEmitter::copySign(Value magnitude, Value sign) {
  Type integer = b.getIntegerType(getElementTypeOrSelf(sign.getType()).getIntOrFloatBitWidth());
  Value bits = arith::BitcastOp::create(b, loc, like(integer, sign), sign);
  Value isNegative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, bits, constantLike(integer, 0, sign));
  Value positive = math::AbsFOp::create(b, loc, magnitude), negative = arith::NegFOp::create(b, loc, positive);
  return arith::SelectOp::create(b, loc, isNegative, negative, positive);
}

//===-- Integers -------------------------------------------------------------------------------------------------===//

// x / 0 is all ones, x % 0 is x, and the smallest integer by -1 wraps; a hardware division would trap.
Value HostEmitter::divide(Operation *op, Value a, Value d) {
  bool isSigned = isa<arith::DivSIOp, arith::RemSIOp>(op), isRemainder = isa<arith::RemSIOp, arith::RemUIOp>(op);
  Type type = getElementTypeOrSelf(a.getType());
  unsigned bits = type.getIntOrFloatBitWidth();
  APInt constant;
  bool known = matchPattern(d, m_ConstantInt(&constant)) && !constant.isZero() && !constant.isAllOnes();
  if (known)
    return cloneOn(op, {a, d}, type);
  auto value = [&](int64_t number) { return constantLike(type, number, a); };
  auto equal = [&](Value x, Value y) -> Value { return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, y); };
  Value isZero = equal(d, value(0)), safe = arith::SelectOp::create(b, loc, isZero, value(1), d);
  Value overflow;
  if (isSigned && bits > 1) {
    overflow = arith::AndIOp::create(b, loc, equal(a, value(int64_t(1) << (bits - 1))), equal(d, value(-1)));
    safe = arith::SelectOp::create(b, loc, overflow, value(1), safe);
  }
  bool vector = isa<VectorType>(a.getType());
  Value result = vector && bits > 1 && bits <= 32 ? divideNarrow(op, a, safe, isSigned, isRemainder)
                                                  : cloneOn(op, {a, safe}, type);
  if (overflow && isRemainder)
    result = arith::SelectOp::create(b, loc, overflow, value(0), result);
  return arith::SelectOp::create(b, loc, isZero, isRemainder ? a : value(-1), result);
}

// Quotients of integers of at most 32 bits are exact in f64: a / d differs from the next integer by at least 1/d, which
// is far more than an f64 rounding error. SIMD has f64 division but no integer one.
Value HostEmitter::divideNarrow(Operation *op, Value a, Value d, bool isSigned, bool isRemainder) {
  Type real = like(b.getF64Type(), a);
  auto toReal = [&](Value x) -> Value {
    return isSigned ? Value(arith::SIToFPOp::create(b, loc, real, x)) : Value(arith::UIToFPOp::create(b, loc, real, x));
  };
  Value exact = arith::DivFOp::create(b, loc, toReal(a), toReal(d));
  Value wide =
      like(b.getI64Type(), a) ? Value(arith::FPToSIOp::create(b, loc, like(b.getI64Type(), a), exact)) : Value();
  Value quotient = arith::TruncIOp::create(b, loc, a.getType(), wide);
  if (!isRemainder)
    return quotient;
  return arith::SubIOp::create(b, loc, a, arith::MulIOp::create(b, loc, quotient, d));
}

// A shift by the width or more gives 0, or the sign in every bit (PTX clamps the amount).
Value HostEmitter::shift(Operation *op, Value a, Value amount) {
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
  Value safe = arith::SelectOp::create(b, loc, inside, amount, constantLike(type, 0, a));
  return arith::SelectOp::create(b, loc, inside, cloneOn(op, {a, safe}, type), constantLike(type, 0, a));
}

Value HostEmitter::multiplyHigh(Value a, Value c) {
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
Value HostEmitter::floatToInt(Operation *op, Value a, bool isSigned) {
  Type from = operandElement(op), to = resultElement(op);
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
Value HostEmitter::intToFloat(Operation *op, Value a, bool isSigned) {
  Type to = resultElement(op);
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

//===-- Regions --------------------------------------------------------------------------------------------------===//

bool HostEmitter::isStraightLine(Region &region) {
  if (!region.hasOneBlock())
    return false;
  return llvm::all_of(region.front().without_terminator(),
                      [](Operation &op) { return op.getNumRegions() == 0 && isMemoryEffectFree(&op); });
}

SmallVector<LaneValue> HostEmitter::runRegion(Region &region, ArrayRef<LaneValue> arguments) {
  Block &block = region.front();
  SmallVector<LaneValue> results;
  if (!isStraightLine(region)) {
    // Control flow: one element, through the same code as the kernel's own scalars.
    for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
      scalars[argument] = value.scalar;
    emitBlock(block);
    for (Value yielded : block.getTerminator()->getOperands())
      results.push_back(LaneValue::uniform(scalar(yielded)));
    return results;
  }
  DenseMap<Value, LaneValue> values;
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    values[argument] = value;
  auto valueOf = [&](Value value) {
    auto found = values.find(value);
    return found != values.end() ? found->second : LaneValue::uniform(scalar(value));
  };
  for (Operation &op : block.without_terminator()) {
    if (isa<LLVM::AssumeOp>(op))
      continue;
    SmallVector<LaneValue> operands;
    for (Value operand : op.getOperands())
      operands.push_back(valueOf(operand));
    values[op.getResult(0)] = elementwise(&op, operands);
  }
  for (Value yielded : block.getTerminator()->getOperands())
    results.push_back(valueOf(yielded));
  return results;
}
