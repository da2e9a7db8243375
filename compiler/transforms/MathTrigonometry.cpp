// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sin and cos, right for every finite argument. f32 is computed in f64. Coefficients: interpolation at Chebyshev nodes
// with 60 digits. The reduction for huge f64 angles is in MathHugeAngle.cpp.
#include "compiler/transforms/MathEmitter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;

namespace heddle::math {

// a - b and its rounding error, for any a and b.
static Pair twoDifference(const Emitter &emit, Value a, Value b) {
  Value difference = emit.sub(a, b);
  Value back = emit.sub(difference, a);
  Value error = emit.sub(emit.sub(a, emit.sub(difference, back)), emit.add(b, back));
  return {difference, error};
}

// The sine or cosine of an angle whose nearest multiple of pi/2 was `quadrant`, from both at the rest: the lowest bit
// of the quadrant exchanges them, the next one turns the sign.
static Value pickQuadrant(const Emitter &emit, Value quadrant, Value sine, Value cosine) {
  Value even = emit.isZero(emit.iand(quadrant, emit.integer(1)));
  Value sign = emit.shiftLeft(emit.iand(quadrant, emit.integer(2)), 62);
  return emit.fromBits(emit.ixor(emit.bits(emit.select(even, sine, cosine)), sign));
}

// `result` with its sign turned where `x` is negative: sin is odd, and sin(-0) is -0.
static Value turnSign(const Emitter &emit, Value result, Value x) {
  Value sign = emit.iand(emit.bits(x), emit.integer(uint64_t(1) << 63));
  return emit.fromBits(emit.ixor(emit.bits(result), sign));
}

//===-- f32 ------------------------------------------------------------------------------------------------------===//

// |x| * 2 / pi modulo 4, to about 2^-80. For |x| in [2^(24 + 32 j), 2^(56 + 32 j)), x' = x / 2^32j is an integer of 24
// significant bits below 2^56, so multiples of 4 may be dropped from 2/pi * 2^32j beforehand. What is left is cut in
// pieces of 29 bits, whose products with x' are exact. The smallest range also serves all smaller x.
static Pair reduceSingle(const Emitter &emit, Value a, Value &quadrant) {
  // 2/pi * 2^32j mod 4, by bits of weight down to 2^-27, 2^-56, 2^-85, and the rest.
  static constexpr double pieces[4][4] = {
      {0.63661976903676987, 3.3308114738561656e-09, 2.276010047810136e-18, 2.52682603558315e-26},
      {2.3057263568043709, 2.3248082209326171e-09, 1.1381837181818342e-17, 1.8590068560064397e-26},
      {1.9849753230810165, 4.1811349521525543e-09, 1.045479743871214e-17, 1.8089974075560061e-26},
      {1.9578379243612289, 1.995295734191771e-10, 8.306908000113059e-18, 8.3295418331718814e-28}};
  static constexpr double scales[] = {1, 0x1p-32, 0x1p-64, 0x1p-96}, bounds[] = {0x1p56, 0x1p88, 0x1p120};
  Value beyond[3];
  for (int range = 0; range < 3; ++range)
    beyond[range] = emit.less(emit.number(bounds[range]), a);
  auto byRange = [&](auto constantOf) {
    Value chosen = emit.number(constantOf(0));
    for (int range = 0; range < 3; ++range)
      chosen = emit.select(beyond[range], emit.number(constantOf(range + 1)), chosen);
    return chosen;
  };
  Value scaled = emit.mul(a, byRange([&](int range) { return scales[range]; }));
  Value part[4];
  for (int piece = 0; piece < 4; ++piece) {
    part[piece] = emit.mul(scaled, byRange([&](int range) { return pieces[range][piece]; }));
    if (piece < 2) // the others are below 4
      part[piece] = emit.fma(emit.floor(emit.mul(part[piece], emit.number(0.25))), emit.number(-4), part[piece]);
  }
  Value magic = emit.number(emit.magic());
  Value rounded = emit.add(emit.add(emit.add(part[0], part[1]), part[2]), magic);
  quadrant = emit.bits(rounded);
  auto [first, firstError] = twoDifference(emit, emit.sub(part[0], emit.sub(rounded, magic)), emit.neg(part[1]));
  auto [second, secondError] = twoDifference(emit, first, emit.neg(part[2]));
  return {second, emit.add(emit.add(firstError, secondError), part[3])};
}

static Value expandSingle(const Emitter &narrow, Value x, bool cosine) {
  // (sin(r) / r - 1) / r^2 and (cos(r) - 1 + r^2 / 2) / r^4 over r^2 in [0, 0.63], degree 3: 2^-35 and 2^-39.
  static constexpr double sineCoefficients[] = {-0.16666666663622831, 0.0083333317852176958, -0.00019840038872556747,
                                                2.7243781409461231e-06};
  static constexpr double cosineCoefficients[] = {0.04166666666412721, -0.001388888759732781, 2.4800560429914505e-05,
                                                  -2.7295830827614617e-07};
  Type f64 = narrow.builder.getF64Type();
  auto vector = dyn_cast<VectorType>(narrow.type);
  Emitter emit(narrow.builder, vector ? Type(vector.clone(f64)) : f64);
  Value wide = arith::ExtFOp::create(emit.builder, emit.type, x);
  Value quadrant;
  auto [high, low] = reduceSingle(emit, emit.abs(wide), quadrant);
  Value r = emit.mul(emit.add(high, low), emit.number(1.5707963267948966));
  Value z = emit.mul(r, r);
  Value sine = emit.fma(emit.mul(r, z), emit.polynomial(z, sineCoefficients), r);
  Value half = emit.fma(z, emit.number(-0.5), emit.number(1));
  Value cos = emit.fma(emit.mul(z, z), emit.polynomial(z, cosineCoefficients), half);
  Value result;
  if (cosine)
    result = pickQuadrant(emit, emit.iadd(quadrant, emit.integer(1)), sine, cos);
  else
    result = turnSign(emit, pickQuadrant(emit, quadrant, sine, cos), wide);
  return arith::TruncFOp::create(emit.builder, narrow.type, result);
}

//===-- f64 ------------------------------------------------------------------------------------------------------===//

constexpr double hugeAngle = 0x1p30;

// x - n pi/2 with pi/2 in three parts of 53 bits. The first product and difference are exact in one fma; the second is
// taken with its errors, because near a multiple of pi/2 it is most of what is left.
static Pair reduceModerate(const Emitter &emit, Value x, Value &quadrant) {
  Value magic = emit.number(emit.magic());
  Value rounded = emit.fma(x, emit.number(0.63661977236758138), magic);
  quadrant = emit.bits(rounded);
  Value n = emit.sub(rounded, magic);
  Value r = emit.fma(n, emit.number(-1.5707963267948966), x);
  Value second = emit.number(6.123233995736766e-17);
  Value product = emit.mul(n, second);
  Value productError = emit.fma(n, second, emit.neg(product));
  auto [high, error] = twoDifference(emit, r, product);
  Value low = emit.fma(n, emit.number(1.4973849048591698e-33), emit.sub(error, productError));
  return {high, low};
}

// `x` is not negative. For huge angles another reduction is run, when any lane has one.
static Pair reduceDouble(const Emitter &emit, Value x, Value &quadrant) {
  ImplicitLocOpBuilder &builder = emit.builder;
  Value isModerate = emit.less(x, emit.number(hugeAngle));
  Value moderateQuadrant;
  Pair moderate = reduceModerate(emit, x, moderateQuadrant);
  Value allModerate = isModerate;
  if (auto vector = dyn_cast<VectorType>(isModerate.getType())) {
    if (vector.getRank() != 1)
      allModerate = vector::ShapeCastOp::create(
          builder, VectorType::get({vector.getNumElements()}, vector.getElementType()), allModerate);
    allModerate = vector::ReductionOp::create(builder, vector::CombiningKind::AND, allModerate);
  }
  auto branch = scf::IfOp::create(builder, TypeRange{emit.type, emit.type, emit.integerType}, allModerate,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(branch.thenBlock());
  scf::YieldOp::create(builder, ValueRange{moderate.high, moderate.low, moderateQuadrant});
  builder.setInsertionPointToEnd(branch.elseBlock());
  Value hugeQuadrant;
  Pair huge = reduceHugeAngle(emit, x, hugeQuadrant);
  scf::YieldOp::create(builder, ValueRange{emit.select(isModerate, moderate.high, huge.high),
                                           emit.select(isModerate, moderate.low, huge.low),
                                           emit.select(isModerate, moderateQuadrant, hugeQuadrant)});
  quadrant = branch.getResult(2);
  return {branch.getResult(0), branch.getResult(1)};
}

static Value expandDouble(const Emitter &emit, Value x, bool cosine) {
  // As for f32, but of degree 6: 0.05 and 0.01 ulp.
  static constexpr double sineCoefficients[] = {-0.16666666666666666,   0.0083333333333333315,  -0.00019841269841264567,
                                                2.7557319218954762e-06, -2.505210610025599e-08, 1.6058510875319195e-10,
                                                -7.5854864852359384e-13};
  static constexpr double cosineCoefficients[] = {
      0.041666666666666664,   -0.0013888888888888887,  2.4801587301584367e-05, -2.7557319221189102e-07,
      2.0876755717584403e-09, -1.1470449354466773e-11, 4.745198807202876e-14};
  Value quadrant;
  auto [r, low] = reduceDouble(emit, emit.abs(x), quadrant);
  Value z = emit.mul(r, r), half = emit.number(0.5);
  // sin(r + low) = r + (low (1 - z/2) + r^3 q(z)).
  Value correction = emit.mul(low, emit.fma(z, emit.neg(half), emit.number(1)));
  Value sine = emit.add(r, emit.fma(emit.mul(r, z), emit.polynomial(z, sineCoefficients), correction));
  // cos(r + low) = 1 - z/2 + (z^2 q(z) - r low), with the rounding error of 1 - z/2 put back.
  Value halfSquare = emit.mul(z, half), one = emit.number(1);
  Value head = emit.sub(one, halfSquare);
  Value tail = emit.sub(emit.sub(one, head), halfSquare);
  Value cosineTail = emit.fma(emit.mul(z, z), emit.polynomial(z, cosineCoefficients), emit.neg(emit.mul(r, low)));
  Value cos = emit.add(head, emit.add(tail, cosineTail));
  Value result = pickQuadrant(emit, cosine ? emit.iadd(quadrant, emit.integer(1)) : quadrant, sine, cos);
  if (!cosine)
    result = turnSign(emit, result, x);
  Value isFinite = emit.less(emit.abs(x), emit.number(std::numeric_limits<double>::infinity()));
  return emit.select(isFinite, result, emit.sub(x, x)); // NaN otherwise
}

Value expandSin(const Emitter &emit, Value x) {
  return emit.isDouble ? expandDouble(emit, x, false) : expandSingle(emit, x, false);
}

Value expandCos(const Emitter &emit, Value x) {
  return emit.isDouble ? expandDouble(emit, x, true) : expandSingle(emit, x, true);
}

} // namespace heddle::math
