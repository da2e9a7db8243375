// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program/Elementwise.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "program/Types.h"
#include "support/Error.h"
#include <cmath>

using namespace mlir;
using namespace heddle::triton;
using heddle::hlo::DType;
using heddle::hlo::Opcode;
using heddle::tile::TileWriter;

namespace heddle::program {
namespace {

bool isFp8(DType type) {
  return hlo::isFloating(type) && hlo::bitWidth(type) == 8;
}

Type shaped(Type element, Value value) {
  if (auto type = dyn_cast<RankedTensorType>(value.getType()))
    return RankedTensorType::get(type.getShape(), element);
  return element;
}

/// Functions of floating values in one type, f32 or f64.
class Real {
public:
  Real(TileWriter &w) : w(w) {}

  Value number(double value, Value like) { return w.constant(getElementTypeOrSelf(like.getType()), value, like); }
  Value add(Value x, Value y) { return w.binary<arith::AddFOp>(x, y); }
  Value sub(Value x, Value y) { return w.binary<arith::SubFOp>(x, y); }
  Value mul(Value x, Value y) { return w.binary<arith::MulFOp>(x, y); }
  Value div(Value x, Value y) { return w.binary<arith::DivFOp>(x, y); }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    Value left = w.like(x, y), right = w.like(y, x);
    return arith::CmpFOp::create(w.b, predicate, left, right);
  }
  template <class Op>
  Value apply(Value x) {
    return Op::create(w.b, x);
  }
  Value abs(Value x) { return apply<math::AbsFOp>(x); }
  Value negate(Value x) { return apply<arith::NegFOp>(x); }
  Value copySign(Value magnitude, Value sign) { return math::CopySignOp::create(w.b, magnitude, sign); }

  /// `compute` in f64, rounded back to the type of `like`: for functions that are made of others and lose digits.
  Value inDouble(Value x, function_ref<Value(Value)> compute) {
    if (getElementTypeOrSelf(x.getType()).isF64())
      return compute(x);
    Value wide = arith::ExtFOp::create(w.b, shaped(w.b.getF64Type(), x), x);
    return arith::TruncFOp::create(w.b, x.getType(), compute(wide));
  }

  // Kahan: the rounding error of u = exp(x) cancels in (u - 1) / log(u). The factor that is near 1 is made first: the
  // other product may overflow.
  Value expm1(Value x) {
    Value u = apply<math::ExpOp>(x), one = number(1, x);
    Value product = mul(sub(u, one), div(x, apply<math::LogOp>(u)));
    Value small = compare(arith::CmpFPredicate::OEQ, u, one);
    Value below = compare(arith::CmpFPredicate::OEQ, sub(u, one), number(-1, x));
    Value above = compare(arith::CmpFPredicate::OEQ, u, number(INFINITY, x));
    return w.select(small, x, w.select(below, number(-1, x), w.select(above, u, product)));
  }
  Value log1p(Value x) {
    Value one = number(1, x), u = add(one, x), log = apply<math::LogOp>(u);
    Value product = mul(log, div(x, sub(u, one)));
    Value small = compare(arith::CmpFPredicate::OEQ, u, one);
    Value above = compare(arith::CmpFPredicate::OEQ, u, number(INFINITY, x));
    return w.select(small, x, w.select(above, u, product));
  }
  // exp(-x) would overflow before the result underflows.
  Value logistic(Value x) {
    Value one = number(1, x), small = apply<math::ExpOp>(negate(abs(x)));
    Value negative = compare(arith::CmpFPredicate::OLT, x, number(0, x));
    return div(w.select(negative, small, one), add(one, small));
  }
  Value tangent(Value x) { return div(apply<math::SinOp>(x), apply<math::CosOp>(x)); }
  // One Newton step repairs what exp and log lose.
  Value cubeRoot(Value x) {
    Value magnitude = abs(x), third = number(1.0 / 3, x);
    Value root = apply<math::ExpOp>(mul(apply<math::LogOp>(magnitude), third));
    Value better = sub(root, mul(third, sub(root, div(magnitude, mul(root, root)))));
    Value special = w.bitOr(compare(arith::CmpFPredicate::OEQ, magnitude, number(0, x)),
                            w.negate(compare(arith::CmpFPredicate::OLT, magnitude, number(INFINITY, x))));
    return w.select(special, x, copySign(better, x));
  }
  Value sign(Value x) {
    Value zero = number(0, x);
    Value isNumber = w.bitOr(compare(arith::CmpFPredicate::OLT, x, zero), compare(arith::CmpFPredicate::OGT, x, zero));
    return w.select(isNumber, copySign(number(1, x), x), x); // zeros keep their sign, NaN stays
  }
  // C's pow.
  Value power(Value x, Value y) {
    Value zero = number(0, x), one = number(1, x), infinity = number(INFINITY, x), magnitude = abs(x);
    auto is = [&](Value a, Value b) { return compare(arith::CmpFPredicate::OEQ, a, b); };
    Value half = mul(y, number(0.5, y));
    Value isInteger = is(apply<math::FloorOp>(y), y);
    Value isOdd = w.bitAnd(isInteger, w.negate(is(apply<math::FloorOp>(half), half)));
    Value result = apply<math::ExpOp>(mul(y, apply<math::LogOp>(magnitude)));
    Value growing = compare(arith::CmpFPredicate::OGT, y, zero);
    result = w.select(is(magnitude, zero), w.select(growing, zero, infinity), result);
    result = w.select(is(magnitude, infinity), w.select(growing, infinity, zero), result);
    Value isLarge = compare(arith::CmpFPredicate::OGT, magnitude, one);
    Value yInfinite = is(abs(y), infinity);
    Value grows = compare(arith::CmpFPredicate::OEQ, w.select(isLarge, one, zero), w.select(growing, one, zero));
    result = w.select(yInfinite, w.select(is(magnitude, one), one, w.select(grows, infinity, zero)), result);
    Value isNegative = compare(arith::CmpFPredicate::OLT, copySign(one, x), zero);
    result = w.select(w.bitAnd(isNegative, isOdd), negate(result), result);
    Value finite = compare(arith::CmpFPredicate::OLT, magnitude, infinity), nonzero = w.negate(is(magnitude, zero));
    Value undefined =
        w.bitAnd(w.bitAnd(isNegative, w.negate(w.bitOr(isInteger, yInfinite))), w.bitAnd(finite, nonzero));
    result = w.select(undefined, number(NAN, x), result);
    auto isNan = [&](Value a) { return compare(arith::CmpFPredicate::UNO, a, a); };
    result = w.select(w.bitOr(isNan(x), isNan(y)), number(NAN, x), result);
    return w.select(w.bitOr(is(y, zero), is(x, one)), one, result);
  }
  // |t| <= 1; the series converges fast below tan(pi / 8), and beyond it atan t = pi/4 + atan((t - 1) / (t + 1)).
  Value arcTangentOfSmall(Value t) {
    Value one = number(1, t), large = compare(arith::CmpFPredicate::OGT, t, number(0.41421356237309503, t));
    Value x = w.select(large, div(sub(t, one), add(t, one)), t), square = mul(x, x), sum = number(0, t);
    for (int term = 41; term >= 1; term -= 2)
      sum = sub(number(1.0 / term, t), mul(square, sum));
    return add(mul(x, sum), w.select(large, number(M_PI / 4, t), number(0, t)));
  }
  Value atan2(Value y, Value x) {
    Value zero = number(0, x), infinity = number(INFINITY, x), ay = abs(y), ax = abs(x);
    auto is = [&](Value a, Value b) { return compare(arith::CmpFPredicate::OEQ, a, b); };
    Value steep = compare(arith::CmpFPredicate::OGT, ay, ax);
    Value low = w.select(steep, ax, ay), high = w.select(steep, ay, ax), t = div(low, high);
    t = w.select(is(high, zero), zero, t);
    t = w.select(w.bitAnd(is(low, infinity), is(high, infinity)), number(1, x), t);
    Value angle = arcTangentOfSmall(t);
    angle = w.select(steep, sub(number(M_PI / 2, x), angle), angle);
    Value left = compare(arith::CmpFPredicate::OLT, copySign(number(1, x), x), zero);
    angle = w.select(left, sub(number(M_PI, x), angle), angle);
    Value undefined = w.bitOr(compare(arith::CmpFPredicate::UNO, x, x), compare(arith::CmpFPredicate::UNO, y, y));
    return w.select(undefined, number(NAN, x), copySign(angle, y));
  }

private:
  TileWriter &w;
};

class Operation {
public:
  Operation(TileWriter &w, const hlo::Instruction &instruction, ArrayRef<Value> in, ArrayRef<DType> types)
      : w(w), real(w), instruction(instruction), in(in), types(types) {}

  Value run() {
    switch (instruction.opcode) {
    case Opcode::Copy:
      return in[0];
    case Opcode::Convert:
      return convertElement(w, in[0], types[0], instruction.shape.type);
    case Opcode::BitcastConvert:
      return bitcast(in[0]);
    case Opcode::Select:
      return w.select(in[0], in[1], in[2]);
    case Opcode::Compare:
      return compare();
    case Opcode::Clamp: {
      Value low = extremum(true, in[0], in[1], types[1]);
      return extremum(false, low, in[2], types[1]);
    }
    case Opcode::Maximum:
    case Opcode::Minimum:
      return extremum(instruction.opcode == Opcode::Maximum, in[0], in[1], types[0]);
    default:
      return hlo::isFloating(types[0]) ? floating() : integer();
    }
  }

private:
  // Computes in f32 or f64, and rounds once.
  Value floating() {
    SmallVector<Value> wide;
    bool narrow = hlo::bitWidth(types[0]) < 32;
    for (Value value : in)
      wide.push_back(narrow ? convertElement(w, value, types[0], DType::F32) : value);
    Value result = inWide(wide);
    bool isNumber = hlo::isFloating(instruction.shape.type);
    return narrow && isNumber ? convertElement(w, result, DType::F32, types[0]) : result;
  }

  Value inWide(ArrayRef<Value> x) {
    switch (instruction.opcode) {
    case Opcode::Abs:
      return real.abs(x[0]);
    case Opcode::Negate:
      return real.negate(x[0]);
    case Opcode::Sign:
      return real.sign(x[0]);
    case Opcode::Floor:
      return real.apply<math::FloorOp>(x[0]);
    case Opcode::Ceil:
      return real.apply<math::CeilOp>(x[0]);
    case Opcode::RoundNearestAfz:
      return real.apply<math::RoundOp>(x[0]);
    case Opcode::RoundNearestEven:
      return real.apply<math::RoundEvenOp>(x[0]);
    case Opcode::Exponential:
      return real.apply<math::ExpOp>(x[0]);
    case Opcode::ExponentialMinusOne:
      return real.inDouble(x[0], [&](Value v) { return real.expm1(v); });
    case Opcode::Log:
      return real.apply<math::LogOp>(x[0]);
    case Opcode::LogPlusOne:
      return real.inDouble(x[0], [&](Value v) { return real.log1p(v); });
    case Opcode::Logistic:
      return real.logistic(x[0]);
    case Opcode::Tanh:
      return real.apply<math::TanhOp>(x[0]);
    case Opcode::Sine:
      return real.apply<math::SinOp>(x[0]);
    case Opcode::Cosine:
      return real.apply<math::CosOp>(x[0]);
    case Opcode::Tan:
      return real.inDouble(x[0], [&](Value v) { return real.tangent(v); });
    case Opcode::Sqrt:
      return real.apply<math::SqrtOp>(x[0]);
    case Opcode::Rsqrt:
      return real.apply<math::RsqrtOp>(x[0]);
    case Opcode::Cbrt:
      return real.inDouble(x[0], [&](Value v) { return real.cubeRoot(v); });
    case Opcode::Erf:
      return real.apply<math::ErfOp>(x[0]);
    case Opcode::IsFinite:
      return real.compare(arith::CmpFPredicate::OLT, real.abs(x[0]), real.number(INFINITY, x[0]));
    case Opcode::Add:
      return real.add(x[0], x[1]);
    case Opcode::Subtract:
      return real.sub(x[0], x[1]);
    case Opcode::Multiply:
      return real.mul(x[0], x[1]);
    case Opcode::Divide:
      return real.div(x[0], x[1]);
    case Opcode::Remainder:
      return w.binary<arith::RemFOp>(x[0], x[1]);
    case Opcode::Power:
      return twoInDouble(x, [&](Value a, Value b) { return real.power(a, b); });
    case Opcode::Atan2:
      return twoInDouble(x, [&](Value a, Value b) { return real.atan2(a, b); });
    default:
      return unknown();
    }
  }

  Value twoInDouble(ArrayRef<Value> x, function_ref<Value(Value, Value)> compute) {
    Value left = w.like(x[0], x[1]), right = w.like(x[1], x[0]);
    if (getElementTypeOrSelf(left.getType()).isF64())
      return compute(left, right);
    Type wide = shaped(w.b.getF64Type(), left);
    Value result = compute(arith::ExtFOp::create(w.b, wide, left), arith::ExtFOp::create(w.b, wide, right));
    return arith::TruncFOp::create(w.b, left.getType(), result);
  }

  Value integer() {
    bool isUnsigned = types[0] == DType::Pred || hlo::isUnsignedInteger(types[0]);
    Value x = in[0], y = in.size() > 1 ? in[1] : Value();
    auto number = [&](int64_t value) { return w.constant(getElementTypeOrSelf(x.getType()), double(value), x); };
    bool pred = types[0] == DType::Pred;
    switch (instruction.opcode) {
    case Opcode::Abs:
      return isUnsigned ? x : Value(math::AbsIOp::create(w.b, x));
    case Opcode::Negate:
      return w.sub(number(0), x);
    case Opcode::Sign: {
      Value positive = w.compare(isUnsigned ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt, x, number(0));
      Value negative = isUnsigned ? w.like(w.boolean(false), x) : w.less(x, number(0));
      return w.select(positive, number(1), w.select(negative, number(-1), number(0)));
    }
    case Opcode::Not:
      return w.binary<arith::XOrIOp>(x, pred ? w.boolean(true) : number(-1));
    case Opcode::PopulationCount:
      return math::CtPopOp::create(w.b, x);
    case Opcode::CountLeadingZeros:
      return math::CountLeadingZerosOp::create(w.b, x);
    case Opcode::Add:
      return pred ? w.bitOr(x, y) : w.add(x, y);
    case Opcode::Subtract:
      return w.sub(x, y);
    case Opcode::Multiply:
      return pred ? w.bitAnd(x, y) : w.mul(x, y);
    case Opcode::Divide:
      return isUnsigned ? w.divide(x, y) : w.binary<arith::DivSIOp>(x, y);
    case Opcode::Remainder:
      return isUnsigned ? w.modulo(x, y) : w.binary<arith::RemSIOp>(x, y);
    case Opcode::Power:
      return integerPower(x, y, isUnsigned);
    case Opcode::And:
      return w.bitAnd(x, y);
    case Opcode::Or:
      return w.bitOr(x, y);
    case Opcode::Xor:
      return w.binary<arith::XOrIOp>(x, y);
    case Opcode::ShiftLeft:
      return w.shiftLeft(x, y);
    case Opcode::ShiftRightLogical:
      return w.shiftRight(x, y);
    case Opcode::ShiftRightArithmetic:
      return w.binary<arith::ShRSIOp>(x, y);
    default:
      return unknown();
    }
  }

  // Square and multiply over the bits of the exponent; a negative one gives 0 but for the bases 1 and -1.
  Value integerPower(Value x, Value y, bool isUnsigned) {
    x = w.like(x, y), y = w.like(y, x);
    Type type = getElementTypeOrSelf(x.getType());
    auto number = [&](int64_t value) { return w.constant(type, double(value), x); };
    Value result = number(1), square = x;
    for (unsigned bit = 0; bit < type.getIntOrFloatBitWidth(); ++bit) {
      Value isSet = w.compare(arith::CmpIPredicate::ne, w.bitAnd(w.shiftRight(y, number(bit)), number(1)), number(0));
      result = w.select(isSet, w.mul(result, square), result);
      square = w.mul(square, square);
    }
    if (isUnsigned)
      return result;
    Value odd = w.compare(arith::CmpIPredicate::ne, w.bitAnd(y, number(1)), number(0));
    Value inverse = w.select(w.equal(x, number(1)), number(1),
                             w.select(w.equal(x, number(-1)), w.select(odd, number(-1), number(1)), number(0)));
    return w.select(w.less(y, number(0)), inverse, result);
  }

  Value extremum(bool largest, Value x, Value y, DType type) {
    if (hlo::isFloating(type)) {
      bool narrow = isFp8(type);
      Value a = narrow ? convertElement(w, x, type, DType::F32) : x,
            b = narrow ? convertElement(w, y, type, DType::F32) : y;
      Value result = largest ? w.binary<arith::MaximumFOp>(a, b) : w.binary<arith::MinimumFOp>(a, b);
      return narrow ? convertElement(w, result, DType::F32, type) : result;
    }
    if (type == DType::Pred || hlo::isUnsignedInteger(type))
      return largest ? w.binary<arith::MaxUIOp>(x, y) : w.binary<arith::MinUIOp>(x, y);
    return largest ? w.binary<arith::MaxSIOp>(x, y) : w.binary<arith::MinSIOp>(x, y);
  }

  // Total order: as sign and magnitude, so that -NaN < -inf < ... < -0 < +0 < ... < inf < NaN.
  Value totalOrderKey(Value x) {
    unsigned bits = elementBits(x.getType());
    Type type = w.b.getIntegerType(bits);
    Value pattern = w.bitcast(x, type), zero = w.constant(type, 0, pattern);
    Value magnitude = w.constant(type, -1, pattern);
    magnitude = w.shiftRight(magnitude, w.constant(type, 1, pattern));
    return w.select(w.less(pattern, zero), w.binary<arith::XOrIOp>(pattern, magnitude), pattern);
  }

  Value compare() {
    using hlo::CompareDirection;
    Value x = in[0], y = in[1];
    bool isReal = hlo::isFloating(types[0]), isUnsigned = types[0] == DType::Pred || hlo::isUnsignedInteger(types[0]);
    if (isReal && instruction.totalOrder) {
      x = totalOrderKey(x), y = totalOrderKey(y);
      isReal = false;
    }
    if (isReal) {
      if (isFp8(types[0]))
        x = convertElement(w, x, types[0], DType::F32), y = convertElement(w, y, types[0], DType::F32);
      static constexpr arith::CmpFPredicate table[] = {arith::CmpFPredicate::OEQ, arith::CmpFPredicate::UNE,
                                                       arith::CmpFPredicate::OLT, arith::CmpFPredicate::OLE,
                                                       arith::CmpFPredicate::OGT, arith::CmpFPredicate::OGE};
      return real.compare(table[int(instruction.direction)], x, y);
    }
    static constexpr arith::CmpIPredicate bySign[] = {arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,
                                                      arith::CmpIPredicate::slt, arith::CmpIPredicate::sle,
                                                      arith::CmpIPredicate::sgt, arith::CmpIPredicate::sge};
    static constexpr arith::CmpIPredicate plain[] = {arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,
                                                     arith::CmpIPredicate::ult, arith::CmpIPredicate::ule,
                                                     arith::CmpIPredicate::ugt, arith::CmpIPredicate::uge};
    return w.compare((isUnsigned ? plain : bySign)[int(instruction.direction)], x, y);
  }

  Value bitcast(Value x) {
    DType to = instruction.shape.type;
    Value bytes = types[0] == DType::Pred ? w.extend(x, 8) : x;
    if (to == DType::Pred)
      return fromMemory(w, w.bitcast(bytes, w.b.getIntegerType(8)), to);
    return w.bitcast(bytes, registerType(*w.b.getContext(), to));
  }

  Value unknown() { throw internalError(std::string("`") + opcodeName(instruction.opcode) + "` is not element-wise"); }

  TileWriter &w;
  Real real;
  const hlo::Instruction &instruction;
  ArrayRef<Value> in;
  ArrayRef<DType> types;
};

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
  Type narrow = shaped(registerType(*w.b.getContext(), to), x);
  Value rounded = FpToFpOp::create(w.b, narrow, x, RoundingModeAttr::get(w.b.getContext(), RoundingMode::NearestEven));
  Fp8Limit limit = limitOf(to);
  Real real(w);
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
  Real real(w);
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
    result = w.truncate(result, bits);
  }
  return result;
}

} // namespace

Type registerType(MLIRContext &context, DType type) {
  if (type == DType::Pred)
    return IntegerType::get(&context, 1);
  return tile::storageType(context, *bufferType(type));
}

Value fromMemory(TileWriter &w, Value value, DType type) {
  if (type != DType::Pred)
    return value;
  return w.compare(arith::CmpIPredicate::ne, value, w.constant(w.b.getIntegerType(8), 0, value));
}

Value toMemory(TileWriter &w, Value value, DType type) {
  return type == DType::Pred ? w.extend(value, 8) : value;
}

Value convertElement(TileWriter &w, Value x, DType from, DType to) {
  if (from == to)
    return x;
  MLIRContext &context = *w.b.getContext();
  bool fromReal = hlo::isFloating(from), toReal = hlo::isFloating(to);
  Real real(w);
  if (to == DType::Pred)
    return fromReal ? real.compare(arith::CmpFPredicate::UNE, isFp8(from) ? convertElement(w, x, from, DType::F32) : x,
                                   w.constant(isFp8(from) ? Type(w.b.getF32Type()) : registerType(context, from), 0, x))
                    : w.compare(arith::CmpIPredicate::ne, x, w.constant(registerType(context, from), 0, x));
  if (fromReal && toReal) {
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
  unsigned bits = unsigned(hlo::bitWidth(to)), now = elementBits(x.getType());
  if (bits <= now)
    return w.truncate(x, bits);
  return isSigned ? Value(arith::ExtSIOp::create(w.b, shaped(w.b.getIntegerType(bits), x), x)) : w.extend(x, bits);
}

Value elementwise(TileWriter &w, const hlo::Instruction &instruction, ArrayRef<Value> operands, ArrayRef<DType> types) {
  return Operation(w, instruction, operands, types).run();
}

} // namespace heddle::program
