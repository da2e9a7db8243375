// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Formats by their numbers of bits: one function for all, with what only some have selected at the end.
#include "program/NarrowTypes.h"
#include "frontend/hlo/Literal.h"
#include "program/Conversion.h"
#include "program/RealFunctions.h"
#include <cmath>

using namespace mlir;
using heddle::hlo::DType;
using heddle::tile::TileWriter;
using heddle::triton::elementBits;

namespace heddle::program {

bool isCodedFloat(DType type) {
  switch (type) {
  case DType::F8E4M3:
  case DType::F8E4M3B11FNUZ:
  case DType::F8E3M4:
  case DType::F8E8M0FNU:
  case DType::F4E2M1FN:
    return true;
  default:
    return false;
  }
}

bool isSubByteInteger(DType type) {
  return hlo::isInteger(type) && hlo::bitWidth(type) < 8;
}

namespace {

/// Patterns of f32 or f64 and the values of one format.
struct Format {
  TileWriter &w;
  const hlo::SmallFloat &format;
  RealFunctions real;

  Format(TileWriter &writer, DType type) : w(writer), format(*hlo::findSmallFloat(type)), real(writer) {}

  int signShift() const { return format.exponentBits + format.mantissaBits; }
  double smallestNormal() const { return std::ldexp(1.0, 1 - format.bias); }
  double subnormalScale() const { return std::ldexp(1.0, format.bias - 1 + format.mantissaBits); }
  Type integer(unsigned bits) { return w.b.getIntegerType(bits); }
  Value bits(Value like, uint64_t value) {
    Type type = getElementTypeOrSelf(like.getType());
    TypedAttr attribute = IntegerAttr::get(type, APInt(64, value).zextOrTrunc(type.getIntOrFloatBitWidth()));
    return w.like(arith::ConstantOp::create(w.b, attribute), like);
  }
  Value isNot(Value x) { return real.compare(arith::CmpFPredicate::UNO, x, x); }
};

} // namespace

Value decodeFloat(TileWriter &w, Value byte, DType type) {
  Format f(w, type);
  const hlo::SmallFloat &format = f.format;
  Type single = w.b.getF32Type();
  int mantissaBits = format.mantissaBits;
  Value code = w.bitAnd(w.extend(byte, 32), w.constant(f.integer(32), (format.hasSign ? 2 << f.signShift() : 256) - 1));
  Value magnitude = w.bitAnd(code, f.bits(code, (uint64_t(1) << f.signShift()) - 1));
  Value moved =
      w.add(w.shiftLeft(magnitude, f.bits(code, 23 - mantissaBits)), f.bits(code, uint64_t(127 - format.bias) << 23));
  Value value = w.bitcast(moved, single);
  if (format.hasSign) {
    Value small = arith::UIToFPOp::create(w.b, value.getType(), magnitude);
    small = f.real.mul(small, f.real.number(1 / f.subnormalScale(), small));
    Value isSmall = w.less(magnitude, f.bits(code, uint64_t(1) << mantissaBits));
    value = w.select(isSmall, small, value);
  } else {
    value = w.select(w.equal(code, f.bits(code, 0)), f.real.number(std::ldexp(1.0, -format.bias), value), value);
  }
  if (format.infinity >= 0)
    value =
        w.select(w.equal(magnitude, f.bits(code, uint64_t(format.infinity))), f.real.number(INFINITY, value), value);
  if (format.hasSign) {
    Value sign = w.bitAnd(w.shiftLeft(code, f.bits(code, 31 - f.signShift())), f.bits(code, 0x80000000));
    value = w.bitcast(w.bitOr(w.bitcast(value, f.integer(32)), sign), single);
  }
  if (format.nan < 0)
    return value;
  Value isNan = format.nanIsNegativeZero || !format.hasSign
                    ? w.equal(code, f.bits(code, uint64_t(format.nan)))
                    : w.compare(arith::CmpIPredicate::ugt, magnitude,
                                f.bits(code, uint64_t(format.infinity >= 0 ? format.infinity : format.nan - 1)));
  return w.select(isNan, f.real.number(NAN, value), value);
}

Value encodeFloat(TileWriter &w, Value value, DType type) {
  Format f(w, type);
  const hlo::SmallFloat &format = f.format;
  int mantissaBits = format.mantissaBits;
  Value pattern = w.bitcast(value, f.integer(32));
  Value magnitude = w.bitAnd(pattern, f.bits(pattern, 0x7fffffff));
  Value code = w.sub(w.shiftRight(magnitude, f.bits(pattern, 23 - mantissaBits)),
                     f.bits(pattern, uint64_t(127 - format.bias) << mantissaBits));
  if (format.hasSign) {
    Value absolute = f.real.abs(value);
    Value isSmall = f.real.compare(arith::CmpFPredicate::OLT, absolute, f.real.number(f.smallestNormal(), value));
    Value scaled = f.real.mul(absolute, f.real.number(f.subnormalScale(), value));
    scaled = w.select(isSmall, scaled, f.real.number(0, value));
    code = w.select(isSmall, arith::FPToUIOp::create(w.b, pattern.getType(), scaled), code);
  }
  Value infinite = f.bits(pattern, 0x7f800000);
  if (format.infinity >= 0)
    code = w.select(w.equal(magnitude, infinite), f.bits(pattern, uint64_t(format.infinity)), code);
  Value isNan = w.compare(arith::CmpIPredicate::ugt, magnitude, infinite);
  if (format.nan >= 0 && !format.nanIsNegativeZero)
    code = w.select(isNan, f.bits(pattern, uint64_t(format.nan)), code);
  if (format.hasSign) {
    Value sign = w.shiftLeft(w.shiftRight(pattern, f.bits(pattern, 31)), f.bits(pattern, uint64_t(f.signShift())));
    code = w.bitOr(code, sign);
  }
  if (format.nanIsNegativeZero)
    code = w.select(isNan, f.bits(pattern, uint64_t(format.nan)), code);
  return w.truncate(code, 8);
}

Value roundFloat(TileWriter &w, Value value, DType type) {
  Format f(w, type);
  const hlo::SmallFloat &format = f.format;
  bool isDouble = elementBits(value.getType()) == 64;
  unsigned width = isDouble ? 64 : 32;
  int dropped = (isDouble ? 52 : 23) - format.mantissaBits;
  uint64_t last = uint64_t(1) << dropped;
  Value absolute = f.real.abs(value);
  Value pattern = w.bitcast(absolute, f.integer(width));
  Value rounded = w.add(pattern, f.bits(pattern, format.hasSign ? (last >> 1) - 1 : last >> 1));
  if (format.hasSign) // else there are only powers of two, and XLA takes the upper one of two equally near
    rounded = w.add(rounded, w.bitAnd(w.shiftRight(pattern, f.bits(pattern, uint64_t(dropped))), f.bits(pattern, 1)));
  rounded = w.bitAnd(rounded, f.bits(pattern, ~(last - 1)));
  Value result = w.bitcast(rounded, getElementTypeOrSelf(value.getType()));
  auto number = [&](double x) { return f.real.number(x, value); };
  if (format.hasSign) {
    Value isSmall = f.real.compare(arith::CmpFPredicate::OLT, absolute, number(f.smallestNormal()));
    Value small = f.real.apply<math::RoundEvenOp>(f.real.mul(absolute, number(f.subnormalScale())));
    result = w.select(isSmall, f.real.mul(small, number(1 / f.subnormalScale())), result);
  }
  double largest = hlo::largestOf(format);
  double beyond = format.infinity >= 0 ? INFINITY : format.nan >= 0 ? NAN : largest;
  result = w.select(f.real.compare(arith::CmpFPredicate::OGT, result, number(largest)), number(beyond), result);
  Value isNegative = w.less(w.bitcast(value, f.integer(width)), f.bits(pattern, 0));
  if (!format.hasSign) {
    double least = std::ldexp(1.0, -format.bias);                                             // there is no zero
    Value isLeast = f.real.compare(arith::CmpFPredicate::OLT, absolute, number(1.5 * least)); // a denormal of f32
    result = w.select(isLeast, number(least), result);
    Value isZero = f.real.compare(arith::CmpFPredicate::OEQ, value, number(0));
    result = w.select(w.bitOr(isNegative, isZero), number(NAN), result);
  } else {
    if (format.nanIsNegativeZero)
      isNegative = w.bitAnd(isNegative, f.real.compare(arith::CmpFPredicate::UNE, result, number(0)));
    result = w.select(isNegative, f.real.negate(result), result);
  }
  result = w.select(f.isNot(value), number(format.nan < 0 ? -0.0 : NAN), result);
  return isDouble ? Value(arith::TruncFOp::create(w.b, shaped(w.b.getF32Type(), value), result)) : result;
}

Value wrapInteger(TileWriter &w, Value byte, DType type) {
  auto unused = double(8 - hlo::bitWidth(type));
  Value shift = w.constant(w.b.getIntegerType(8), unused, byte), moved = w.shiftLeft(byte, shift);
  return hlo::isSignedInteger(type) ? w.binary<arith::ShRSIOp>(moved, shift) : w.shiftRight(moved, shift);
}

} // namespace heddle::program
