// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Floating-point arithmetic and functions. Operands are decoded to double, the operation is done there, and the result
// is rounded once to the type; SoftFloat.cpp says why that is exact for + - * / sqrt. The transcendental functions are
// those of the C++ library in double, within one unit in the last place of f64 and so correctly rounded for the smaller
// types except near ties.
#include "compiler/dialects/triton/Triton.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "support/Error.h"
#include "tests/reference/Program.h"
#include <bit>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace heddle::reference;

static constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

// IEEE 754-2019 maximum and minimum: -0 is below +0, NaN wins.
static double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return notANumber;
  return a > b || (a == b && std::signbit(b)) ? a : b;
}
static double minimum(double a, double b) {
  return -maximum(-a, -b);
}
// ... maximumNumber and minimumNumber: NaN loses.
// Their zeros may come out either way.
static double maximumNumber(double a, double b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : maximum(a, b);
}
static double minimumNumber(double a, double b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : minimum(a, b);
}

using Unary = double (*)(double);
using Binary = double (*)(double, double);

static const std::map<StringRef, Binary> binaryFloats = {
    {"arith.addf", [](double a, double b) { return a + b; }},
    {"arith.subf", [](double a, double b) { return a - b; }},
    {"arith.mulf", [](double a, double b) { return a * b; }},
    {"arith.divf", [](double a, double b) { return a / b; }},
    {"tt.precise_divf", [](double a, double b) { return a / b; }},
    {"arith.remf", [](double a, double b) { return std::fmod(a, b); }},
    {"arith.maximumf", maximum},
    {"arith.minimumf", minimum},
};

// Exact up to the sign of a zero.
static const std::map<StringRef, Binary> numberChoices = {{"arith.maxnumf", maximumNumber},
                                                          {"arith.minnumf", minimumNumber}};

// Correctly rounded.
static const std::map<StringRef, Unary> unaryFloats = {
    {"math.sqrt", [](double a) { return std::sqrt(a); }},
    {"tt.precise_sqrt", [](double a) { return std::sqrt(a); }},
    {"math.floor", [](double a) { return std::floor(a); }},
    {"math.ceil", [](double a) { return std::ceil(a); }},
    {"math.trunc", [](double a) { return std::trunc(a); }},
    {"math.round", [](double a) { return std::round(a); }},
    {"math.roundeven", [](double a) { return std::nearbyint(a); }},
};

// Correct to a few units in the last place in any implementation.
static const std::map<StringRef, Unary> functions = {
    {"math.exp", [](double a) { return std::exp(a); }},     {"math.exp2", [](double a) { return std::exp2(a); }},
    {"math.expm1", [](double a) { return std::expm1(a); }}, {"math.log", [](double a) { return std::log(a); }},
    {"math.log2", [](double a) { return std::log2(a); }},   {"math.log10", [](double a) { return std::log10(a); }},
    {"math.log1p", [](double a) { return std::log1p(a); }}, {"math.sin", [](double a) { return std::sin(a); }},
    {"math.cos", [](double a) { return std::cos(a); }},     {"math.tan", [](double a) { return std::tan(a); }},
    {"math.tanh", [](double a) { return std::tanh(a); }},   {"math.atan", [](double a) { return std::atan(a); }},
    {"math.erf", [](double a) { return std::erf(a); }},     {"math.rsqrt", [](double a) { return 1.0 / std::sqrt(a); }},
};

static const std::map<StringRef, Binary> binaryFunctions = {
    {"tt.approx_divf", [](double a, double b) { return a / b; }},
    {"math.powf", [](double a, double b) { return std::pow(a, b); }},
    {"math.atan2", [](double a, double b) { return std::atan2(a, b); }},
};

// Two units in the last place away from a finite number, to either side.
static uint64_t nearby(const FloatFormat &format, uint64_t bits) {
  uint64_t magnitude = bits & (format.signBit() - 1);
  if (magnitude < 2 || magnitude + 2 > format.largestFinite())
    return bits;
  return magnitude & 1 ? bits + 2 : bits - 2;
}

static Results evaluateFma(Program &, Operation *op, const Inputs &in) {
  const FloatFormat &format = formatOf(in[0].type);
  return {buildTile(in[0].type, [&](int64_t i) {
    return encodeFma(format, decode(format, in[0].bits[i]), decode(format, in[1].bits[i]),
                     decode(format, in[2].bits[i]));
  })};
}

static Results evaluateClamp(Program &, Operation *op, const Inputs &in) {
  const FloatFormat &format = formatOf(in[0].type);
  bool propagate = cast<heddle::triton::ClampFOp>(op).getPropagateNan() == heddle::triton::PropagateNan::All;
  return {buildTile(in[0].type, [&](int64_t i) {
    double x = decode(format, in[0].bits[i]), low = decode(format, in[1].bits[i]), high = decode(format, in[2].bits[i]);
    return encode(format, propagate && std::isnan(x) ? notANumber : minimumNumber(maximumNumber(x, low), high));
  })};
}

static bool compare(arith::CmpFPredicate predicate, double a, double b) {
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case arith::CmpFPredicate::AlwaysFalse:
    return false;
  case arith::CmpFPredicate::OEQ:
    return !unordered && a == b;
  case arith::CmpFPredicate::OGT:
    return !unordered && a > b;
  case arith::CmpFPredicate::OGE:
    return !unordered && a >= b;
  case arith::CmpFPredicate::OLT:
    return !unordered && a < b;
  case arith::CmpFPredicate::OLE:
    return !unordered && a <= b;
  case arith::CmpFPredicate::ONE:
    return !unordered && a != b;
  case arith::CmpFPredicate::ORD:
    return !unordered;
  case arith::CmpFPredicate::UEQ:
    return unordered || a == b;
  case arith::CmpFPredicate::UGT:
    return unordered || a > b;
  case arith::CmpFPredicate::UGE:
    return unordered || a >= b;
  case arith::CmpFPredicate::ULT:
    return unordered || a < b;
  case arith::CmpFPredicate::ULE:
    return unordered || a <= b;
  case arith::CmpFPredicate::UNE:
    return unordered || a != b;
  case arith::CmpFPredicate::UNO:
    return unordered;
  case arith::CmpFPredicate::AlwaysTrue:
    return true;
  }
  throw heddle::internalError("unknown floating-point predicate");
}

static Results evaluateCompare(Program &, Operation *op, const Inputs &in) {
  auto cmp = cast<arith::CmpFOp>(op);
  const FloatFormat &format = formatOf(in[0].type);
  return {buildTile(cmp.getType(), [&](int64_t i) {
    return compare(cmp.getPredicate(), decode(format, in[0].bits[i]), decode(format, in[1].bits[i]));
  })};
}

// Sign operations change one bit, also of a NaN.
static void addSignHandlers(HandlerTable &table) {
  auto signBitOf = [](const Tile &tile) { return formatOf(tile.type).signBit(); };
  table["arith.negf"] = [=](Program &, Operation *, const Inputs &in) {
    return Results{buildTile(in[0].type, [&](int64_t i) { return in[0].bits[i] ^ signBitOf(in[0]); })};
  };
  table["math.absf"] = [=](Program &, Operation *, const Inputs &in) {
    return Results{buildTile(in[0].type, [&](int64_t i) { return in[0].bits[i] & ~signBitOf(in[0]); })};
  };
  table["math.copysign"] = [=](Program &, Operation *, const Inputs &in) {
    return Results{buildTile(in[0].type, [&](int64_t i) {
      return (in[0].bits[i] & ~signBitOf(in[0])) | (in[1].bits[i] & signBitOf(in[0]));
    })};
  };
}

// result(program, format, value): the bits of a result from its value in double.
template <typename Table, typename Result>
static void addElementwise(HandlerTable &table, const Table &functions, Result result) {
  for (auto [name, compute] : functions)
    table[name] = [compute = compute, result](Program &program, Operation *, const Inputs &in) {
      const FloatFormat &format = formatOf(in[0].type);
      auto operand = [&](size_t k, int64_t i) { return decode(format, in[k].bits[i]); };
      return Results{buildTile(in[0].type, [&](int64_t i) {
        if constexpr (std::is_invocable_v<decltype(compute), double>)
          return result(program, format, compute(operand(0, i)));
        else
          return result(program, format, compute(operand(0, i), operand(1, i)));
      })};
    };
}

void heddle::reference::addFloatHandlers(HandlerTable &table) {
  auto rounded = [](Program &, const FloatFormat &format, double value) { return encode(format, value); };
  auto zeroEitherWay = [](Program &program, const FloatFormat &format, double value) {
    return encode(format, program.contrary() && value == 0 ? -value : value);
  };
  auto approximate = [](Program &program, const FloatFormat &format, double value) {
    uint64_t bits = encode(format, value);
    return program.contrary() ? nearby(format, bits) : bits;
  };
  addElementwise(table, binaryFloats, rounded);
  addElementwise(table, unaryFloats, rounded);
  addElementwise(table, numberChoices, zeroEitherWay);
  addElementwise(table, functions, approximate);
  addElementwise(table, binaryFunctions, approximate);
  table["math.fma"] = evaluateFma;
  table["tt.clampf"] = evaluateClamp;
  table["arith.cmpf"] = evaluateCompare;
  addSignHandlers(table);
}
