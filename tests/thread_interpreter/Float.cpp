// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Floating-point arithmetic with one rounding an operation, as PTX has it, and operations on the bits alone.
#include "tests/thread_interpreter/Elementwise.h"

using namespace heddle::threads;
using u64 = uint64_t;

template <class T>
static u64 fused(const Op &, u64 a, u64 b, u64 c) {
  if constexpr (requires { T::format; })
    return heddle::reference::encodeFma(T::format, T::get(a), T::get(b), T::get(c));
  else
    return T::put(std::fma(T::get(a), T::get(b), T::get(c)));
}
static Entry fusedRow(std::string_view name) {
  return {name, {nullptr, &ternary<fused<F16>>, &ternary<fused<BF16>>, &ternary<fused<F32>>, &ternary<fused<F64>>}};
}

// Sign operations keep the payload of a NaN, so they work on bits. The handlers' index gives the sign's place.
template <unsigned Sign>
static constexpr u64 signBit = u64(1) << Sign;
template <template <unsigned> class Maker>
static Entry bitRow(std::string_view name) {
  return {name, {nullptr, Maker<15>::handler, Maker<15>::handler, Maker<31>::handler, Maker<63>::handler}};
}
template <unsigned Sign>
struct Negate {
  static constexpr Handler handler = &unary<[](const Op &, u64 a) { return a ^ signBit<Sign>; }>;
};
template <unsigned Sign>
struct Absolute {
  static constexpr Handler handler = &unary<[](const Op &, u64 a) { return a & ~signBit<Sign>; }>;
};
template <unsigned Sign>
struct CopySign {
  static constexpr Handler handler =
      &binary<[](const Op &, u64 a, u64 b) { return (a & ~signBit<Sign>) | (b & signBit<Sign>); }>;
};

// -0 is less than +0 for all of them.
static constexpr auto smaller = [](auto a, auto b) { return a < b || (a == b && std::signbit(a)) ? a : b; };
static constexpr auto larger = [](auto a, auto b) { return a > b || (a == b && !std::signbit(a)) ? a : b; };
static constexpr auto minimumNumber = [](auto a, auto b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : smaller(a, b);
};
static constexpr auto maximumNumber = [](auto a, auto b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : larger(a, b);
};
static constexpr auto minimum = [](auto a, auto b) { return std::isnan(a) || std::isnan(b) ? a + b : smaller(a, b); };
static constexpr auto maximum = [](auto a, auto b) { return std::isnan(a) || std::isnan(b) ? a + b : larger(a, b); };
static constexpr auto unordered = [](auto a, auto b) { return std::isnan(a) || std::isnan(b); };

// Whether the value is in one of the classes of the mask, LLVM's FPClassTest. Signalling NaNs count as quiet ones too.
template <class T>
static u64 isInClass(const Op &, u64 bits, u64 classes) {
  auto value = T::get(bits);
  unsigned kind = std::isnan(value) ? 3 : 0;
  if (!kind) {
    double magnitude = std::fabs(double(value));
    double smallestNormal = std::is_same_v<T, F16> ? 0x1p-14 : std::is_same_v<T, F64> ? 0x1p-1022 : 0x1p-126;
    unsigned step = std::isinf(magnitude) ? 3 : magnitude >= smallestNormal ? 2 : magnitude > 0 ? 1 : 0;
    kind = std::signbit(value) ? 1u << (5 - step) : 1u << (6 + step);
  }
  return (classes & kind) != 0;
}

static u64 selectBits(const Op &, u64 condition, u64 a, u64 b) {
  return condition ? a : b;
}

std::span<const Entry> heddle::threads::floatTable() {
  static const Entry rows[] = {
      floatBinary<[](auto a, auto b) { return a + b; }>("fadd"),
      floatBinary<[](auto a, auto b) { return a - b; }>("fsub"),
      floatBinary<[](auto a, auto b) { return a * b; }>("fmul"),
      floatBinary<[](auto a, auto b) { return a / b; }>("fdiv"),
      floatBinary<[](auto a, auto b) { return std::fmod(a, b); }>("frem"),
      bitRow<Negate>("fneg"),
      bitRow<Absolute>("llvm.fabs"),
      bitRow<Absolute>("llvm.nvvm.fabs"),
      bitRow<CopySign>("llvm.copysign"),
      fusedRow("llvm.fma"),
      fusedRow("llvm.fmuladd"),
      fusedRow("llvm.nvvm.fma.rn.f"),
      fusedRow("llvm.nvvm.fma.rn.d"),
      fusedRow("llvm.nvvm.fma.rn.f16"),
      fusedRow("llvm.nvvm.fma.rn.f16x2"),
      fusedRow("llvm.nvvm.fma.rn.bf16"),
      fusedRow("llvm.nvvm.fma.rn.bf16x2"),
      {"llvm.is.fpclass",
       {nullptr, &binary<isInClass<F16>>, &binary<isInClass<BF16>>, &binary<isInClass<F32>>, &binary<isInClass<F64>>}},
      forAll("select", &ternary<selectBits>),
      floatUnary<[](auto a) { return std::sqrt(a); }>("llvm.sqrt"),
      floatUnary<[](auto a) { return std::sqrt(a); }>("llvm.nvvm.sqrt.rn.f"),
      floatUnary<[](auto a) { return std::sqrt(a); }>("llvm.nvvm.sqrt.rn.d"),
      floatUnary<[](auto a) { return std::sqrt(a); }>("llvm.nvvm.sqrt.f"),
      floatUnary<[](auto a) { return std::floor(a); }>("llvm.floor"),
      floatUnary<[](auto a) { return std::ceil(a); }>("llvm.ceil"),
      floatUnary<[](auto a) { return std::trunc(a); }>("llvm.trunc"),
      floatUnary<[](auto a) { return std::nearbyint(a); }>("llvm.rint"),
      floatUnary<[](auto a) { return std::nearbyint(a); }>("llvm.nearbyint"),
      floatUnary<[](auto a) { return std::nearbyint(a); }>("llvm.roundeven"),
      floatUnary<[](auto a) { return std::round(a); }>("llvm.round"),
      floatUnary<[](auto a) { return a; }>("llvm.canonicalize"),
      floatBinary<minimumNumber>("llvm.minnum"),
      floatBinary<maximumNumber>("llvm.maxnum"),
      floatBinary<minimumNumber>("llvm.minimumnum"),
      floatBinary<maximumNumber>("llvm.maximumnum"),
      floatBinary<minimum>("llvm.minimum"),
      floatBinary<maximum>("llvm.maximum"),
      floatBinary<minimumNumber>("llvm.nvvm.fmin.f"),
      floatBinary<maximumNumber>("llvm.nvvm.fmax.f"),
      floatBinary<minimum>("llvm.nvvm.fmin.nan.f"),
      floatBinary<maximum>("llvm.nvvm.fmax.nan.f"),
      floatBinary<[](auto a, auto b) { return a * b; }>("llvm.nvvm.mul.rn.f"),
      floatBinary<[](auto a, auto b) { return a + b; }>("llvm.nvvm.add.rn.f"),
      floatBinary<[](auto a, auto b) { return a / b; }>("llvm.nvvm.div.rn.f"),
      floatCompare<[](auto, auto) { return false; }>("fcmp.false"),
      floatCompare<[](auto, auto) { return true; }>("fcmp.true"),
      floatCompare<[](auto a, auto b) { return a == b; }>("fcmp.oeq"),
      floatCompare<[](auto a, auto b) { return a > b; }>("fcmp.ogt"),
      floatCompare<[](auto a, auto b) { return a >= b; }>("fcmp.oge"),
      floatCompare<[](auto a, auto b) { return a < b; }>("fcmp.olt"),
      floatCompare<[](auto a, auto b) { return a <= b; }>("fcmp.ole"),
      floatCompare<[](auto a, auto b) { return a < b || a > b; }>("fcmp.one"),
      floatCompare<[](auto a, auto b) { return !unordered(a, b); }>("fcmp.ord"),
      floatCompare<unordered>("fcmp.uno"),
      floatCompare<[](auto a, auto b) { return !(a < b || a > b); }>("fcmp.ueq"),
      floatCompare<[](auto a, auto b) { return !(a <= b); }>("fcmp.ugt"),
      floatCompare<[](auto a, auto b) { return !(a < b); }>("fcmp.uge"),
      floatCompare<[](auto a, auto b) { return !(a >= b); }>("fcmp.ult"),
      floatCompare<[](auto a, auto b) { return !(a > b); }>("fcmp.ule"),
      floatCompare<[](auto a, auto b) { return a != b; }>("fcmp.une"),
  };
  return rows;
}
