// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversions round once, and go beyond what the tile level converts: to pred, and to fp8 formats without saturation.
#include "program/Conversion.h"
#include "program/NarrowTypes.h"
#include "program/RealFunctions.h"
#include "program/Types.h"
#include <cmath>

using namespace mlir;
using namespace heddle::triton;
using heddle::hlo::DType;
using heddle::tile::TileWriter;

namespace heddle::program {

bool isFp8(DType type) {
  return hlo::isFloating(type) && hlo::bitWidth(type) <= 8;
}

Type shaped(Type element, Value value) {
  if (auto type = dyn_cast<RankedTensorType>(value.getType()))
    return RankedTensorType::get(type.getShape(), element);
  return element;
}

namespace {

/// What is too large for an 8-bit format: halfway between its largest value and the next step, and what it becomes.
struct Fp8Limit {
  double bound;
  int nan; ///< bits; infinity where the format has one
};
Fp8Limit limitOf(DType type) {
  switch (type) {
  case DType::F8E4M3FN:
    return {464, 0x7F};
  case DType::F8E5M2:
    return {61440, 0x7C};
  case DType::F8E4M3FNUZ:
    return {248, 0x80};
  default:
    return {61440, 0x80};
  }
}

// tt.fp_to_fp saturates; HLO does not.
Value toFp8(TileWriter &w, Value x, DType to) {
  if (isCodedFloat(to))
    return roundFloat(w, x, to);
  Type narrow = shaped(registerType(*w.b.getContext(), to), x);
  Value rounded = FpToFpOp::create(w.b, narrow, x, RoundingModeAttr::get(w.b.getContext(), RoundingMode::NearestEven));
  Fp8Limit limit = limitOf(to);
  RealFunctions real(w);
  Value magnitude = real.abs(x);
  // Halfway goes to the even neighbour: of f8e4m3fn that is the largest value, of the others the step beyond.
  auto isOver = to == DType::F8E4M3FN ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OGE;
  Value over = real.compare(isOver, magnitude, real.number(limit.bound, x));
  Type byte = w.b.getIntegerType(8);
  Value bits = w.bitcast(rounded, byte), replacement = w.constant(byte, limit.nan, bits);
  if (to == DType::F8E5M2)
    replacement = w.bitOr(replacement, w.bitAnd(bits, w.constant(byte, -128, bits)));
  return w.bitcast(w.select(over, replacement, bits), registerType(*w.b.getContext(), to));
}

Value floatToInteger(TileWriter &w, Value x, DType to) {
  RealFunctions real(w);
  unsigned bits = unsigned(hlo::bitWidth(to));
  bool isSigned = hlo::isSignedInteger(to);
  Type wide = shaped(w.b.getIntegerType(std::max(bits, 32u)), x);
  Value result = isSigned ? Value(arith::FPToSIOp::create(w.b, wide, x)) : Value(arith::FPToUIOp::create(w.b, wide, x));
  if (bits < 32) {
    Type type = getElementTypeOrSelf(wide);
    double low = isSigned ? -std::exp2(bits - 1) : 0, high = std::exp2(isSigned ? bits - 1 : bits) - 1;
    result = isSigned ? w.binary<arith::MaxSIOp>(result, w.constant(type, low, result)) : result;
    Value limit = w.constant(type, high, result);
    result = isSigned ? w.binary<arith::MinSIOp>(result, limit) : w.binary<arith::MinUIOp>(result, limit);
    result = w.truncate(result, std::max(bits, 8u));
  }
  return result;
}

} // namespace

Type registerType(MLIRContext &context, DType type) {
  if (type == DType::Pred)
    return IntegerType::get(&context, 1);
  if (isCodedFloat(type))
    return Float32Type::get(&context);
  return tile::storageType(context, *bufferType(type));
}

Value fromMemory(TileWriter &w, Value value, DType type) {
  if (isCodedFloat(type))
    return decodeFloat(w, value, type);
  if (isSubByteInteger(type))
    return wrapInteger(w, value, type);
  if (type != DType::Pred)
    return value;
  return w.compare(arith::CmpIPredicate::ne, value, w.constant(w.b.getIntegerType(8), 0, value));
}

Value toMemory(TileWriter &w, Value value, DType type) {
  if (isCodedFloat(type))
    return encodeFloat(w, value, type);
  return type == DType::Pred ? w.extend(value, 8) : value;
}

Value convertElement(TileWriter &w, Value x, DType from, DType to) {
  if (from == to)
    return x;
  MLIRContext &context = *w.b.getContext();
  bool fromReal = hlo::isFloating(from), toReal = hlo::isFloating(to);
  RealFunctions real(w);
  if (to == DType::Pred)
    return fromReal ? real.compare(arith::CmpFPredicate::UNE, isFp8(from) ? convertElement(w, x, from, DType::F32) : x,
                                   w.constant(isFp8(from) ? Type(w.b.getF32Type()) : registerType(context, from), 0, x))
                    : w.compare(arith::CmpIPredicate::ne, x, w.constant(registerType(context, from), 0, x));
  if (fromReal && toReal) {
    if (isCodedFloat(from))
      return convertElement(w, x, DType::F32, to);
    if (isFp8(from)) {
      Value wide = FpToFpOp::create(w.b, shaped(w.b.getF32Type(), x), x, RoundingModeAttr());
      return convertElement(w, wide, DType::F32, to);
    }
    if (isFp8(to)) {
      if (hlo::bitWidth(from) == 64) // one rounding: f32 would be a second
        return toFp8(w, x, to);
      return toFp8(w, convertElement(w, x, from, DType::F32), to);
    }
    Type type = shaped(registerType(context, to), x);
    if (hlo::bitWidth(from) == 16 && hlo::bitWidth(to) == 16)
      return arith::TruncFOp::create(w.b, type, convertElement(w, x, from, DType::F32));
    return hlo::bitWidth(from) < hlo::bitWidth(to) ? Value(arith::ExtFOp::create(w.b, type, x))
                                                   : Value(arith::TruncFOp::create(w.b, type, x));
  }
  if (fromReal)
    return floatToInteger(w, hlo::bitWidth(from) < 32 ? convertElement(w, x, from, DType::F32) : x, to);
  bool isSigned = hlo::isSignedInteger(from);
  if (toReal) {
    DType through = isFp8(to) ? DType::F32 : to;
    Type type = shaped(registerType(context, through), x);
    Value value =
        isSigned ? Value(arith::SIToFPOp::create(w.b, type, x)) : Value(arith::UIToFPOp::create(w.b, type, x));
    return convertElement(w, value, through, to);
  }
  if (isSubByteInteger(to))
    return from == DType::Pred ? w.extend(x, 8) : wrapInteger(w, w.truncate(x, 8), to);
  unsigned bits = unsigned(hlo::bitWidth(to)), now = elementBits(x.getType());
  if (bits <= now)
    return w.truncate(x, bits);
  return isSigned ? Value(arith::ExtSIOp::create(w.b, shaped(w.b.getIntegerType(bits), x), x)) : w.extend(x, bits);
}

} // namespace heddle::program
