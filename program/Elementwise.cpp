// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One function for each kind of element-wise operation, with HLO's rules for integers and NaN.
#include "program/Elementwise.h"
#include "program/Conversion.h"
#include "program/NarrowTypes.h"
#include "program/RealFunctions.h"
#include "support/Error.h"
#include <cmath>

using namespace mlir;
using namespace heddle::triton;
using heddle::hlo::DType;
using heddle::hlo::Opcode;
using heddle::tile::TileWriter;

namespace heddle::program {
namespace {

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
      if (isSubByteInteger(types[0]))
        return subByteInteger();
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
      return real.inDouble(x[0], x[1], [&](Value a, Value b) { return real.power(a, b); });
    case Opcode::Atan2:
      return real.inDouble(x[0], x[1], [&](Value a, Value b) { return real.atan2(a, b); });
    default:
      return unknown();
    }
  }

  // As bytes, of which the low bits count; a shift to the right and counts of bits must not see the others.
  Value subByteInteger() {
    Type byte = w.b.getIntegerType(8);
    int width = hlo::bitWidth(types[0]);
    bool seesBits = instruction.opcode == Opcode::ShiftRightLogical || instruction.opcode == Opcode::PopulationCount ||
                    instruction.opcode == Opcode::CountLeadingZeros;
    SmallVector<Value> operands(in);
    if (seesBits)
      operands[0] = w.bitAnd(operands[0], w.constant(byte, (1 << width) - 1, operands[0]));
    if (instruction.opcode == Opcode::ShiftRightArithmetic) // by the highest bit, also of unsigned types
      operands[0] = wrapInteger(w, operands[0], width == 4 ? DType::S4 : width == 2 ? DType::S2 : DType::S1);
    DType whole = hlo::isSignedInteger(types[0]) ? DType::S8 : DType::U8;
    SmallVector<DType> wholes(types.size(), whole);
    Value result = Operation(w, instruction, operands, wholes).run();
    if (instruction.opcode == Opcode::CountLeadingZeros)
      result = w.sub(result, w.constant(byte, 8 - width, result));
    return wrapInteger(w, result, types[0]);
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
    Value bytes = toMemory(w, x, types[0]);
    if (to == DType::Pred || isNarrow(to))
      return fromMemory(w, w.bitcast(bytes, w.b.getIntegerType(8)), to);
    return w.bitcast(bytes, registerType(*w.b.getContext(), to));
  }

  Value unknown() { throw internalError(std::string("`") + opcodeName(instruction.opcode) + "` is not element-wise"); }

  TileWriter &w;
  RealFunctions real;
  const hlo::Instruction &instruction;
  ArrayRef<Value> in;
  ArrayRef<DType> types;
};

} // namespace

Value elementwise(TileWriter &w, const hlo::Instruction &instruction, ArrayRef<Value> operands, ArrayRef<DType> types) {
  return Operation(w, instruction, operands, types).run();
}

} // namespace heddle::program
