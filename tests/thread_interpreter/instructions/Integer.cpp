// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integer arithmetic, comparisons, bit operations, and what the PTX instructions on integers add.
#include "tests/thread_interpreter/instructions/Elementwise.h"

using namespace heddle::threads;
using u64 = uint64_t;
using i64 = int64_t;

template <auto F>
static Entry two(std::string_view name) {
  return forIntegers(name, &binary<[](const Op &op, u64 a, u64 b) -> u64 { return F(op, a, b) & op.mask; }>);
}
template <auto F>
static Entry twoSigned(std::string_view name) {
  return forIntegers(
      name,
      &binary<[](const Op &op, u64 a, u64 b) -> u64 { return u64(F(toSigned(op, a), toSigned(op, b))) & op.mask; }>);
}
template <auto F>
static Entry one(std::string_view name) {
  return forIntegers(name, &unary<[](const Op &op, u64 a) -> u64 { return F(op, a) & op.mask; }>);
}
template <auto F>
static Entry three(std::string_view name) {
  return forIntegers(name, &ternary<[](const Op &op, u64 a, u64 b, u64 c) -> u64 { return F(op, a, b, c) & op.mask; }>);
}

// Division by zero ends the run: it is undefined in LLVM, and no lowering guards it by chance.
template <auto F>
static Flow divide(Warp &warp, const Op &op) {
  const u64 *a = warp.reg(op.in[0]), *b = warp.reg(op.in[1]);
  u64 *result = warp.reg(op.out[0]);
  eachLane(warp.active, [&](unsigned lane) {
    if (!b[lane])
      warp.fail(op, lane, "division by zero");
    result[lane] = F(op, a[lane], b[lane]) & op.mask;
  });
  return Flow::Next;
}

template <auto F>
static Flow withOverflow(Warp &warp, const Op &op) {
  const u64 *a = warp.reg(op.in[0]), *b = warp.reg(op.in[1]);
  u64 *result = warp.reg(op.out[0]), *overflow = warp.reg(op.out[1]);
  eachLane(warp.active, [&](unsigned lane) {
    __int128 exact = F(op, a[lane], b[lane]);
    result[lane] = u64(exact) & op.mask;
    bool isSigned = op.immediate;
    overflow[lane] = isSigned ? exact != toSigned(op, u64(exact)) : exact < 0 || exact > __int128(op.mask);
  });
  return Flow::Next;
}

template <auto F>
static u64 saturateUnsigned(const Op &op, u64 a, u64 b) {
  __int128 exact = F(__int128(a), __int128(b));
  return exact < 0 ? 0 : exact > __int128(op.mask) ? op.mask : u64(exact);
}
template <auto F>
static u64 saturateSigned(const Op &op, u64 a, u64 b) {
  __int128 exact = F(__int128(toSigned(op, a)), __int128(toSigned(op, b))), largest = op.mask >> 1;
  return u64(i64(exact > largest ? largest : exact < -largest - 1 ? -largest - 1 : exact));
}

static constexpr auto plus = [](auto a, auto b) { return a + b; };
static constexpr auto minus = [](auto a, auto b) { return a - b; };

static u64 reverseBytes(const Op &op, u64 a) {
  return __builtin_bswap64(a) >> (64 - op.width);
}
static u64 reverseBits(const Op &op, u64 a) {
  return __builtin_bitreverse64(a) >> (64 - op.width);
}
static u64 funnelLeft(const Op &op, u64 a, u64 b, u64 c) {
  unsigned shift = c % op.width;
  return shift ? a << shift | b >> (op.width - shift) : a;
}
static u64 funnelRight(const Op &op, u64 a, u64 b, u64 c) {
  unsigned shift = c % op.width;
  return shift ? a << (op.width - shift) | b >> shift : b;
}
static u64 permuteBytes(const Op &, u64 a, u64 b, u64 selector) {
  u64 bytes = b << 32 | a, result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    unsigned choice = selector >> 4 * i & 15;
    u64 byte = bytes >> 8 * (choice & 7) & 0xff;
    result |= (choice & 8 ? (byte & 0x80 ? 0xff : 0) : byte) << 8 * i;
  }
  return result;
}
template <class A, class B>
static u64 dotBytes(const Op &, u64 a, u64 b, u64 c) {
  u64 sum = c;
  for (unsigned i = 0; i < 4; ++i)
    sum += u64(i64(A(a >> 8 * i)) * i64(B(b >> 8 * i)));
  return sum;
}

std::span<const Entry> heddle::threads::integerTable() {
  static const Entry rows[] = {
      two<[](const Op &, u64 a, u64 b) { return a + b; }>("add"),
      two<[](const Op &, u64 a, u64 b) { return a - b; }>("sub"),
      two<[](const Op &, u64 a, u64 b) { return a * b; }>("mul"),
      two<[](const Op &, u64 a, u64 b) { return a & b; }>("and"),
      two<[](const Op &, u64 a, u64 b) { return a | b; }>("or"),
      two<[](const Op &, u64 a, u64 b) { return a ^ b; }>("xor"),
      // PTX clamps the amount; LLVM's result is poison there.
      two<[](const Op &op, u64 a, u64 b) { return b < op.width ? a << b : 0; }>("shl"),
      two<[](const Op &op, u64 a, u64 b) { return b < op.width ? a >> b : 0; }>("lshr"),
      two<[](const Op &op, u64 a, u64 b) { return u64(toSigned(op, a) >> (b < 63 ? b : 63)); }>("ashr"),
      forIntegers("udiv", &divide<[](const Op &, u64 a, u64 b) { return a / b; }>),
      forIntegers("urem", &divide<[](const Op &, u64 a, u64 b) { return a % b; }>),
      forIntegers("sdiv", &divide<[](const Op &op, u64 a, u64 b) {
                    i64 x = toSigned(op, a), y = toSigned(op, b);
                    return y == -1 ? u64(0) - u64(x) : u64(x / y);
                  }>),
      forIntegers("srem", &divide<[](const Op &op, u64 a, u64 b) {
                    i64 x = toSigned(op, a), y = toSigned(op, b);
                    return y == -1 ? u64(0) : u64(x % y);
                  }>),
      two<[](const Op &, u64 a, u64 b) { return u64(a == b); }>("icmp.eq"),
      two<[](const Op &, u64 a, u64 b) { return u64(a != b); }>("icmp.ne"),
      two<[](const Op &, u64 a, u64 b) { return u64(a < b); }>("icmp.ult"),
      two<[](const Op &, u64 a, u64 b) { return u64(a <= b); }>("icmp.ule"),
      two<[](const Op &, u64 a, u64 b) { return u64(a > b); }>("icmp.ugt"),
      two<[](const Op &, u64 a, u64 b) { return u64(a >= b); }>("icmp.uge"),
      twoSigned<[](i64 a, i64 b) { return a < b; }>("icmp.slt"),
      twoSigned<[](i64 a, i64 b) { return a <= b; }>("icmp.sle"),
      twoSigned<[](i64 a, i64 b) { return a > b; }>("icmp.sgt"),
      twoSigned<[](i64 a, i64 b) { return a >= b; }>("icmp.sge"),
      twoSigned<[](i64 a, i64 b) { return a < b ? a : b; }>("llvm.smin"),
      twoSigned<[](i64 a, i64 b) { return a > b ? a : b; }>("llvm.smax"),
      two<[](const Op &, u64 a, u64 b) { return a < b ? a : b; }>("llvm.umin"),
      two<[](const Op &, u64 a, u64 b) { return a > b ? a : b; }>("llvm.umax"),
      two<[](const Op &op, u64 a, u64 b) { return saturateUnsigned<plus>(op, a, b); }>("llvm.uadd.sat"),
      two<[](const Op &op, u64 a, u64 b) { return saturateUnsigned<minus>(op, a, b); }>("llvm.usub.sat"),
      two<[](const Op &op, u64 a, u64 b) { return saturateSigned<plus>(op, a, b); }>("llvm.sadd.sat"),
      two<[](const Op &op, u64 a, u64 b) { return saturateSigned<minus>(op, a, b); }>("llvm.ssub.sat"),
      forIntegers("llvm.uadd.with.overflow",
                  &withOverflow<[](const Op &, u64 a, u64 b) { return __int128(a) + __int128(b); }>),
      forIntegers("llvm.usub.with.overflow",
                  &withOverflow<[](const Op &, u64 a, u64 b) { return __int128(a) - __int128(b); }>),
      forIntegers("llvm.umul.with.overflow", &withOverflow<[](const Op &, u64 a, u64 b) {
                    unsigned __int128 product =
                        (unsigned __int128)a * b; // of two 64-bit values, more than __int128 holds
                    return product >> 127 ? -__int128(1) - __int128(~u64(product)) : __int128(product);
                  }>),
      forIntegers(
          "llvm.sadd.with.overflow",
          &withOverflow<[](const Op &op, u64 a, u64 b) { return __int128(toSigned(op, a)) + toSigned(op, b); }>),
      forIntegers(
          "llvm.ssub.with.overflow",
          &withOverflow<[](const Op &op, u64 a, u64 b) { return __int128(toSigned(op, a)) - toSigned(op, b); }>),
      forIntegers(
          "llvm.smul.with.overflow",
          &withOverflow<[](const Op &op, u64 a, u64 b) { return __int128(toSigned(op, a)) * toSigned(op, b); }>),
      twoSigned<[](i64 a, i64 b) { return (a > b) - (a < b); }>("llvm.scmp"),
      two<[](const Op &, u64 a, u64 b) { return u64(i64(a > b) - i64(a < b)); }>("llvm.ucmp"),
      two<[](const Op &, u64 a, u64 b) { return a & b; }>("llvm.ptrmask"),
      one<[](const Op &op, u64 a) { return toSigned(op, a) < 0 ? u64(0) - a : a; }>("llvm.abs"),
      one<[](const Op &, u64 a) { return u64(std::popcount(a)); }>("llvm.ctpop"),
      one<[](const Op &op, u64 a) { return u64(std::countl_zero(a) - (64 - op.width)); }>("llvm.ctlz"),
      one<[](const Op &op, u64 a) { return u64(a ? std::countr_zero(a) : op.width); }>("llvm.cttz"),
      one<reverseBytes>("llvm.bswap"),
      one<reverseBits>("llvm.bitreverse"),
      three<funnelLeft>("llvm.fshl"),
      three<funnelRight>("llvm.fshr"),
      // The first operand is the upper half.
      three<[](const Op &, u64 a, u64 b, u64 c) { return c < 32 ? u64((a << 32 | b) << c >> 32) : b; }>(
          "llvm.nvvm.fshl.clamp"),
      three<[](const Op &, u64 a, u64 b, u64 c) { return (a << 32 | b) >> (c < 32 ? c : 32); }>("llvm.nvvm.fshr.clamp"),
      three<permuteBytes>("llvm.nvvm.prmt"),
      three<dotBytes<int8_t, int8_t>>("llvm.nvvm.idp4a.s.s"),
      three<dotBytes<int8_t, uint8_t>>("llvm.nvvm.idp4a.s.u"),
      three<dotBytes<uint8_t, int8_t>>("llvm.nvvm.idp4a.u.s"),
      three<dotBytes<uint8_t, uint8_t>>("llvm.nvvm.idp4a.u.u"),
      twoSigned<[](i64 a, i64 b) { return a * b >> 32; }>("llvm.nvvm.mulhi.i"),
      two<[](const Op &, u64 a, u64 b) { return a * b >> 32; }>("llvm.nvvm.mulhi.ui"),
      twoSigned<[](i64 a, i64 b) { return i64(__int128(a) * b >> 64); }>("llvm.nvvm.mulhi.ll"),
      two<[](const Op &, u64 a, u64 b) { return u64((unsigned __int128)a * b >> 64); }>("llvm.nvvm.mulhi.ull"),
  };
  return rows;
}
