// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Casts between scalars, and the packed conversions of 8-bit floating point. Conversions to integers saturate, as the
// hardware's do; a NaN becomes zero.
#include "tests/thread_interpreter/instructions/Elementwise.h"

using namespace heddle::threads;
using u64 = uint64_t;
using heddle::reference::FloatFormat;
using heddle::reference::formatE4M3FN;
using heddle::reference::formatE5M2;

template <class From, class To>
static Entry convert(std::string_view name) {
  return forAll(name, &unary<[](const Op &, u64 a) {
                  if constexpr (std::is_same_v<typename To::Exact, typename From::Exact>)
                    return To::put(From::get(a));
                  else if constexpr (std::is_same_v<From, F64>)
                    return To::round(From::get(a));
                  else
                    return To::put(double(From::get(a)));
                }>);
}

/// From an integer of op.width bits; the result's class chooses the handler.
template <bool IsSigned, class To>
static u64 fromInteger(const Op &op, u64 a) {
  if constexpr (std::is_same_v<To, F32>)
    return IsSigned ? To::put(float(toSigned(op, a))) : To::put(float(a));
  else
    return IsSigned ? To::round(double(toSigned(op, a))) : To::round(double(a));
}
template <bool IsSigned>
static Entry fromIntegerRow(std::string_view name) {
  return {name,
          {nullptr, &unary<fromInteger<IsSigned, F16>>, &unary<fromInteger<IsSigned, BF16>>,
           &unary<fromInteger<IsSigned, F32>>, &unary<fromInteger<IsSigned, F64>>}};
}

/// To an integer whose mask is op.mask; the operand's class chooses the handler.
template <bool IsSigned, class From>
static u64 toInteger(const Op &op, u64 a) {
  double value = std::trunc(double(From::get(a)));
  if (std::isnan(value))
    return 0;
  u64 largest = IsSigned ? op.mask >> 1 : op.mask;
  double limit = std::ldexp(1.0, std::bit_width(largest)); // the first value that is too large
  if (value >= limit)
    return largest;
  if constexpr (IsSigned)
    return (value < -limit ? ~largest : u64(int64_t(value))) & op.mask;
  else
    return value <= 0 ? 0 : u64(value);
}
template <bool IsSigned>
static Entry toIntegerRow(std::string_view name) {
  return {name,
          {nullptr, &unary<toInteger<IsSigned, F16>>, &unary<toInteger<IsSigned, BF16>>,
           &unary<toInteger<IsSigned, F32>>, &unary<toInteger<IsSigned, F64>>}};
}

/// cvt.rn.satfinite.x2: the first operand is the upper element.
template <const FloatFormat &Format, bool Relu>
static u64 packFp8(const Op &, u64 high, u64 low) {
  auto pack = [](u64 bits) -> u64 {
    double value = F32::get(bits);
    if (Relu && !(value > 0) && !std::isnan(value))
      value = 0;
    if (std::isnan(value))
      return 0x7f;
    return encode(Format, value, heddle::reference::Rounding::NearestEven, heddle::reference::Overflow::Saturate);
  };
  return pack(high) << 8 | pack(low);
}

/// Two results, the elements of <2 x half>.
template <const FloatFormat &Format, bool Relu>
static Flow unpackFp8(Warp &warp, const Op &op) {
  const u64 *packed = warp.reg(op.in[0]);
  eachLane(warp.active, [&](unsigned lane) {
    for (unsigned i = 0; i < 2; ++i) {
      double value = decode(Format, packed[lane] >> 8 * i & 0xff);
      warp.reg(op.out[i])[lane] = F16::round(Relu && value < 0 ? 0 : value);
    }
  });
  return Flow::Next;
}
template <const FloatFormat &Format, bool Relu>
static Flow packHalves(Warp &warp, const Op &op) {
  const u64 *low = warp.reg(op.in[0]), *high = warp.reg(op.in[1]);
  eachLane(warp.active, [&](unsigned lane) {
    auto widen = [](u64 bits) { return F32::put(halfToFloat(bits)); };
    warp.reg(op.out[0])[lane] = packFp8<Format, Relu>(op, widen(high[lane]), widen(low[lane]));
  });
  return Flow::Next;
}

// Vectors and scalars of the same bits: groups of op.ins or op.outs elements of op.immediate bits, the lowest first.
static Flow packBits(Warp &warp, const Op &op) {
  eachLane(warp.active, [&](unsigned lane) {
    u64 bits = 0;
    for (unsigned i = 0; i < op.ins; ++i)
      bits |= warp.reg(op.in[i])[lane] << op.immediate * i;
    warp.reg(op.out[0])[lane] = bits;
  });
  return Flow::Next;
}
static Flow unpackBits(Warp &warp, const Op &op) {
  u64 mask = ~u64(0) >> (64 - op.immediate);
  eachLane(warp.active, [&](unsigned lane) {
    u64 bits = warp.reg(op.in[0])[lane];
    for (unsigned i = 0; i < op.outs; ++i)
      warp.reg(op.out[i])[lane] = bits >> op.immediate * i & mask;
  });
  return Flow::Next;
}

// Elements by an index that is not constant. in: elements, (the new one,) index.
static Flow extractElement(Warp &warp, const Op &op) {
  eachLane(warp.active, [&](unsigned lane) {
    u64 index = warp.reg(op.in[op.ins - 1])[lane];
    if (index >= op.ins - 1u)
      warp.fail(op, lane, "the index is outside the vector");
    warp.reg(op.out[0])[lane] = warp.reg(op.in[index])[lane];
  });
  return Flow::Next;
}
static Flow insertElement(Warp &warp, const Op &op) {
  eachLane(warp.active, [&](unsigned lane) {
    u64 index = warp.reg(op.in[op.outs + 1])[lane];
    if (index >= op.outs)
      warp.fail(op, lane, "the index is outside the vector");
    for (unsigned i = 0; i < op.outs; ++i)
      warp.reg(op.out[i])[lane] = warp.reg(op.in[i == index ? op.outs : i])[lane];
  });
  return Flow::Next;
}

template <const FloatFormat &Format>
static Entry pack(std::string_view name) {
  return forAll(name, &binary<packFp8<Format, false>>);
}

// cvt.rna: to the 10 bits of TF32, ties away from zero.
static u64 roundTf32(const Op &, u64 a) {
  return (a & 0x7fffffff) > 0x7f800000 ? 0x7fffffff : (a + 0x1000) & 0xffffe000;
}
static u64 roundTf32Even(const Op &, u64 a) {
  return (a & 0x7fffffff) > 0x7f800000 ? 0x7fffffff : (a + 0xfff + (a >> 13 & 1)) & 0xffffe000;
}

std::span<const Entry> heddle::threads::conversionTable() {
  static const Entry rows[] = {
      forIntegers("trunc", &unary<[](const Op &op, u64 a) { return a & op.mask; }>),
      forIntegers("sext", &unary<[](const Op &op, u64 a) { return u64(toSigned(op, a)) & op.mask; }>),
      convert<F16, F32>("convert.f16.f32"),
      convert<F16, F64>("convert.f16.f64"),
      convert<BF16, F32>("convert.bf16.f32"),
      convert<BF16, F64>("convert.bf16.f64"),
      convert<F32, F16>("convert.f32.f16"),
      convert<F32, BF16>("convert.f32.bf16"),
      convert<F32, F64>("convert.f32.f64"),
      convert<F64, F16>("convert.f64.f16"),
      convert<F64, BF16>("convert.f64.bf16"),
      convert<F64, F32>("convert.f64.f32"),
      fromIntegerRow<true>("sitofp"),
      fromIntegerRow<false>("uitofp"),
      toIntegerRow<true>("fptosi"),
      toIntegerRow<false>("fptoui"),
      toIntegerRow<true>("llvm.fptosi.sat"),
      toIntegerRow<false>("llvm.fptoui.sat"),
      forAll("llvm.nvvm.f2i.rz", &unary<toInteger<true, F32>>),
      forAll("llvm.nvvm.f2ui.rz", &unary<toInteger<false, F32>>),
      forAll("llvm.nvvm.f2bf16.rn", &unary<[](const Op &, u64 a) { return BF16::put(F32::get(a)); }>),
      forAll("llvm.nvvm.f2tf32.rna", &unary<roundTf32>),
      forAll("llvm.nvvm.f2tf32.rn", &unary<roundTf32Even>),
  };
  return rows;
}

/// What takes all scalars of its operands at once.
std::span<const Entry> heddle::threads::packedConversionTable() {
  static const Entry rows[] = {
      forAll("bits.pack", packBits),
      forAll("bits.unpack", unpackBits),
      forAll("element.extract", extractElement),
      forAll("element.insert", insertElement),
      pack<formatE4M3FN>("llvm.nvvm.ff.to.e4m3x2.rn"),
      pack<formatE5M2>("llvm.nvvm.ff.to.e5m2x2.rn"),
      forAll("llvm.nvvm.ff.to.e4m3x2.rn.relu", &binary<packFp8<formatE4M3FN, true>>),
      forAll("llvm.nvvm.ff.to.e5m2x2.rn.relu", &binary<packFp8<formatE5M2, true>>),
      forAll("llvm.nvvm.f16x2.to.e4m3x2.rn", &packHalves<formatE4M3FN, false>),
      forAll("llvm.nvvm.f16x2.to.e5m2x2.rn", &packHalves<formatE5M2, false>),
      forAll("llvm.nvvm.f16x2.to.e4m3x2.rn.relu", &packHalves<formatE4M3FN, true>),
      forAll("llvm.nvvm.f16x2.to.e5m2x2.rn.relu", &packHalves<formatE5M2, true>),
      forAll("llvm.nvvm.e4m3x2.to.f16x2.rn", &unpackFp8<formatE4M3FN, false>),
      forAll("llvm.nvvm.e5m2x2.to.f16x2.rn", &unpackFp8<formatE5M2, false>),
      forAll("llvm.nvvm.e4m3x2.to.f16x2.rn.relu", &unpackFp8<formatE4M3FN, true>),
      forAll("llvm.nvvm.e5m2x2.to.f16x2.rn.relu", &unpackFp8<formatE5M2, true>),
  };
  return rows;
}
