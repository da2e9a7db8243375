// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions that the hardware approximates: computed in double here and rounded once, so tests must allow its error.
// The names with `.ftz` flush subnormal operands and results to zero.
#include "tests/thread_interpreter/Elementwise.h"

using namespace heddle::threads;

static constexpr auto reciprocal = [](double a) { return 1 / a; };
static constexpr auto reciprocalRoot = [](double a) { return 1 / std::sqrt(a); };
static constexpr auto exponential2 = [](double a) { return std::exp2(a); };
static constexpr auto logarithm2 = [](double a) { return std::log2(a); };
static constexpr auto root = [](double a) { return std::sqrt(a); };
static constexpr auto sine = [](double a) { return std::sin(a); };
static constexpr auto cosine = [](double a) { return std::cos(a); };
static constexpr auto hyperbolicTangent = [](double a) { return std::tanh(a); };

static float flush(float value) {
  return std::fabs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value;
}
template <auto Function>
static Entry flushedUnary(std::string_view name) {
  Entry row = roundedUnary<Function>(name);
  row.handlers[size_t(Scalar::F32)] =
      &unary<[](const Op &, uint64_t a) { return F32::put(flush(float(Function(double(flush(F32::get(a))))))); }>;
  return row;
}

static constexpr auto divide = [](auto a, auto b) { return a / b; };

std::span<const Entry> heddle::threads::approximationTable() {
  static const Entry rows[] = {
      roundedUnary<exponential2>("llvm.exp2"),
      roundedUnary<logarithm2>("llvm.log2"),
      roundedUnary<sine>("llvm.sin"),
      roundedUnary<cosine>("llvm.cos"),
      roundedUnary<hyperbolicTangent>("llvm.tanh"),
      roundedUnary<[](double a) { return std::exp(a); }>("llvm.exp"),
      roundedUnary<[](double a) { return std::log(a); }>("llvm.log"),
      roundedUnary<exponential2>("llvm.nvvm.ex2.approx"),
      flushedUnary<exponential2>("llvm.nvvm.ex2.approx.ftz"),
      roundedUnary<logarithm2>("llvm.nvvm.lg2.approx.f"),
      roundedUnary<logarithm2>("llvm.nvvm.lg2.approx.d"),
      flushedUnary<logarithm2>("llvm.nvvm.lg2.approx.ftz.f"),
      roundedUnary<reciprocal>("llvm.nvvm.rcp.rn.f"),
      roundedUnary<reciprocal>("llvm.nvvm.rcp.rn.d"),
      flushedUnary<reciprocal>("llvm.nvvm.rcp.approx.ftz.f"),
      flushedUnary<reciprocal>("llvm.nvvm.rcp.approx.ftz.d"),
      roundedUnary<reciprocalRoot>("llvm.nvvm.rsqrt.approx.f"),
      flushedUnary<reciprocalRoot>("llvm.nvvm.rsqrt.approx.ftz.f"),
      roundedUnary<reciprocalRoot>("llvm.nvvm.rsqrt.approx.d"),
      roundedUnary<root>("llvm.nvvm.sqrt.approx.f"),
      flushedUnary<root>("llvm.nvvm.sqrt.approx.ftz.f"),
      roundedUnary<sine>("llvm.nvvm.sin.approx.f"),
      flushedUnary<sine>("llvm.nvvm.sin.approx.ftz.f"),
      roundedUnary<cosine>("llvm.nvvm.cos.approx.f"),
      flushedUnary<cosine>("llvm.nvvm.cos.approx.ftz.f"),
      floatBinary<divide>("llvm.nvvm.div.approx.f"),
      floatBinary<divide>("llvm.nvvm.div.full"),
  };
  return rows;
}
