// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reduction of huge f64 angles modulo pi/2 in integers, after M. Payne and R. Hanek, "Radian reduction for
// trigonometric functions" (1983): of 2/pi only the bits that decide the quadrant and the fraction are multiplied.
#include "compiler/transforms/MathEmitter.h"
#include <cmath>

using namespace mlir;

namespace heddle::math {

// 64 zero bits, then the first 1216 bits of 2/pi after the point (computed with 1400 bits).
static constexpr uint64_t twoOverPi[] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41,
    0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};

static Value shiftBy(const Emitter &emit, Value a, Value amount, bool left) {
  if (left)
    return arith::ShLIOp::create(emit.builder, a, amount);
  return arith::ShRUIOp::create(emit.builder, a, amount);
}

// 192 bits of the table from bit `start` on, as three words, the most significant first. Words are chosen lane by lane
// by halving: each bit of the word index keeps or moves a shrinking list of candidates.
static SmallVector<Value> tableStretch(const Emitter &emit, Value start) {
  SmallVector<Value> words;
  for (uint64_t word : twoOverPi)
    words.push_back(emit.integer(word));
  Value index = emit.shiftRight(start, 6);
  for (int step = 16; step >= 1; step /= 2) {
    Value stay = emit.isZero(emit.iand(index, emit.integer(step)));
    // After this step the index is below `step`, and four words from it are wanted.
    SmallVector<Value> next;
    for (int word = 0; word < step + 3 && word < int(words.size()); ++word)
      next.push_back(word + step < int(words.size()) ? emit.select(stay, words[word], words[word + step])
                                                     : words[word]);
    words = next;
  }
  Value shift = emit.iand(start, emit.integer(63));
  Value back = emit.isub(emit.integer(63), shift); // one less than the complement, which may be 64
  SmallVector<Value> stretch;
  for (int word = 0; word < 3; ++word)
    stretch.push_back(emit.ior(shiftBy(emit, words[word], shift, true),
                               shiftBy(emit, emit.shiftRight(words[word + 1], 1), back, false)));
  return stretch;
}

// The low 192 bits of a 53-bit number times 192 bits, as six digits of 32 bits, the least significant first.
static SmallVector<Value> multiply(const Emitter &emit, Value mantissa, ArrayRef<Value> stretch) {
  Value mask = emit.integer(0xffffffff);
  Value factor[] = {emit.iand(mantissa, mask), emit.shiftRight(mantissa, 32)};
  SmallVector<Value> digits;
  for (Value word : llvm::reverse(stretch)) {
    digits.push_back(emit.iand(word, mask));
    digits.push_back(emit.shiftRight(word, 32));
  }
  SmallVector<Value> result;
  Value carry, high; // what the column to the left receives: a sum, and the upper halves of products
  for (int column = 0; column < 6; ++column) {
    Value sum = carry, upper;
    for (int which = 0; which < 2 && which <= column; ++which) {
      Value product = emit.imul(digits[column - which], factor[which]);
      Value low = emit.iand(product, mask), top = emit.shiftRight(product, 32);
      sum = sum ? emit.iadd(sum, low) : low;
      upper = upper ? emit.iadd(upper, top) : top;
    }
    if (high)
      sum = emit.iadd(sum, high);
    result.push_back(emit.iand(sum, mask));
    carry = emit.shiftRight(sum, 32);
    high = upper;
  }
  return result;
}

// The exact float of an unsigned integer below 2^32 times 2^-exponent.
static Value digitToFloat(const Emitter &emit, Value digit, int exponent) {
  Value shifted = emit.fromBits(emit.ior(digit, emit.integer(0x4330000000000000))); // 2^52 + digit
  return emit.mul(emit.sub(shifted, emit.number(0x1p52)), emit.number(std::ldexp(1.0, -exponent)));
}

// a + b and its rounding error, for any a and b.
static Pair twoSum(const Emitter &emit, Value a, Value b) {
  Value sum = emit.add(a, b);
  Value back = emit.sub(sum, a);
  return {sum, emit.add(emit.sub(a, emit.sub(sum, back)), emit.sub(b, back))};
}

Pair reduceHugeAngle(const Emitter &emit, Value x, Value &quadrant) {
  Value bits = emit.bits(x);
  Value one = emit.integer(1);
  Value mantissa = emit.ior(emit.iand(bits, emit.integer(0x000fffffffffffff)), emit.integer(0x0010000000000000));
  // |x| = mantissa * 2^e, e = biased - 1075. Bits of 2/pi heavier than 2^(1 - e) only give multiples of 4. Bit t of the
  // table has weight 2^(63 - t), so the stretch starts at t = e + 62. Smaller x wrap round; their lanes do not matter.
  Value biased = emit.iand(emit.shiftRight(bits, 52), emit.integer(0x7ff));
  Value start = emit.iand(emit.isub(biased, emit.integer(1013)), emit.integer(0x7ff));
  SmallVector<Value> digits = multiply(emit, mantissa, tableStretch(emit, start));
  // The product counts in units of 2^-190 of pi/2. Rounding to the nearest multiple: half of one is added to the top
  // two bits, and the fraction becomes signed.
  Value top = digits[5];
  quadrant = emit.shiftRight(emit.iadd(top, emit.integer(0x20000000)), 30);
  Value fractionTop = emit.iand(top, emit.integer(0x3fffffff));
  // Digits of weight 2^-30 and down; the first in [-2^29, 2^29] after the multiple has been taken off.
  Value rounding = emit.shiftLeft(emit.iand(emit.shiftRight(top, 29), one), 30);
  Value high = emit.sub(digitToFloat(emit, fractionTop, 30), digitToFloat(emit, rounding, 30));
  Pair upper = twoSum(emit, high, digitToFloat(emit, digits[4], 62));
  Pair lower = twoSum(emit, digitToFloat(emit, digits[3], 94), digitToFloat(emit, digits[2], 126));
  Pair sum = twoSum(emit, upper.high, lower.high);
  Value rest = emit.add(emit.add(sum.low, upper.low), emit.add(lower.low, digitToFloat(emit, digits[1], 158)));
  // Times pi/2, again as a pair.
  Value piHalf = emit.number(1.5707963267948966);
  Value product = emit.mul(sum.high, piHalf);
  Value error = emit.fma(sum.high, piHalf, emit.neg(product));
  error = emit.fma(rest, piHalf, emit.fma(sum.high, emit.number(6.123233995736766e-17), error));
  Value angle = emit.add(product, error);
  Value low = emit.add(emit.sub(product, angle), error);
  return {angle, low};
}

} // namespace heddle::math
