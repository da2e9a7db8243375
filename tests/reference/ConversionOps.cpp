// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversions between types. Integers of 64 bits do not fit a double, so integer-to-float rounds the integer itself.
#include "compiler/dialects/triton/Triton.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "support/Error.h"
#include "tests/reference/Program.h"
#include <cmath>

using namespace mlir;
using namespace heddle::reference;

// An integer magnitude as a double whose rounding to a smaller format is that of the integer: rounded to odd at 53 bits
// (see SoftFloat.cpp), or to nearest even when double itself is the target.
static double magnitudeAsDouble(uint64_t magnitude, bool isTarget) {
  if (isTarget || magnitude < (uint64_t(1) << 53))
    return double(magnitude);
  uint64_t lost = magnitude & 0x7ff; // at most 11 bits do not fit
  return double((magnitude & ~uint64_t(0x7ff)) | (lost ? 0x800 : 0));
}

static uint64_t integerToFloat(const FloatFormat &format, bool negative, uint64_t magnitude) {
  double value = magnitudeAsDouble(magnitude, format.width() == 64);
  return encode(format, negative ? -value : value);
}

// Truncation toward zero; `low` and `high` are the exclusive bounds of the values that fit.
static double truncated(double value, double low, double high) {
  if (!(value > low && value < high))
    throw heddle::inputError("conversion of " + std::to_string(value) + " to an integer that cannot hold it");
  return std::trunc(value);
}

static uint64_t floatToSigned(double value, unsigned width) {
  double limit = std::ldexp(1.0, int(width) - 1);
  double low = width == 64 ? std::nextafter(-limit, -INFINITY) : -limit - 1;
  return uint64_t(int64_t(truncated(value, low, limit)));
}
static uint64_t floatToUnsigned(double value, unsigned width) {
  return uint64_t(truncated(value, -1.0, std::ldexp(1.0, int(width))));
}

static Results convertFloat(const Tile &source, Type type, Rounding rounding) {
  const FloatFormat &from = formatOf(source.type), &to = formatOf(type);
  // fp8 saturates (tt.fp_to_fp is the conversion to fp8); the wider formats overflow to infinity as IEEE does.
  Overflow overflow = to.width() == 8 ? Overflow::Saturate : Overflow::Infinity;
  return {buildTile(type, [&](int64_t i) { return encode(to, decode(from, source.bits[i]), rounding, overflow); })};
}

static void addIntegerResizing(HandlerTable &table) {
  for (StringRef name : {"arith.extui", "arith.trunci"})
    table[name] = [](Program &, Operation *op, const Inputs &in) {
      return Results{buildTile(op->getResult(0).getType(), [&](int64_t i) { return in[0].bits[i]; })};
    };
  table["arith.extsi"] = [](Program &, Operation *op, const Inputs &in) {
    return Results{buildTile(op->getResult(0).getType(), [&](int64_t i) { return uint64_t(signedAt(in[0], i)); })};
  };
}

static void addFloatIntegerConversions(HandlerTable &table) {
  table["arith.sitofp"] = [](Program &, Operation *op, const Inputs &in) {
    Type type = op->getResult(0).getType();
    return Results{buildTile(type, [&](int64_t i) {
      int64_t value = signedAt(in[0], i);
      return integerToFloat(formatOf(type), value < 0, value < 0 ? -uint64_t(value) : uint64_t(value));
    })};
  };
  table["arith.uitofp"] = [](Program &, Operation *op, const Inputs &in) {
    Type type = op->getResult(0).getType();
    return Results{buildTile(type, [&](int64_t i) { return integerToFloat(formatOf(type), false, in[0].bits[i]); })};
  };
  table["arith.fptosi"] = [](Program &, Operation *op, const Inputs &in) {
    Type type = op->getResult(0).getType();
    return Results{buildTile(type, [&](int64_t i) {
      return floatToSigned(decode(formatOf(in[0].type), in[0].bits[i]), elementWidth(type));
    })};
  };
  table["arith.fptoui"] = [](Program &, Operation *op, const Inputs &in) {
    Type type = op->getResult(0).getType();
    return Results{buildTile(type, [&](int64_t i) {
      return floatToUnsigned(decode(formatOf(in[0].type), in[0].bits[i]), elementWidth(type));
    })};
  };
}

void heddle::reference::addConversionHandlers(HandlerTable &table) {
  addIntegerResizing(table);
  addFloatIntegerConversions(table);
  for (StringRef name : {"arith.extf", "arith.truncf"})
    table[name] = [](Program &, Operation *op, const Inputs &in) {
      return convertFloat(in[0], op->getResult(0).getType(), Rounding::NearestEven);
    };
  table["tt.fp_to_fp"] = [](Program &, Operation *op, const Inputs &in) {
    auto rounding = cast<heddle::triton::FpToFpOp>(op).getRounding();
    bool towardZero = rounding && *rounding == heddle::triton::RoundingMode::TowardZero;
    return convertFloat(in[0], op->getResult(0).getType(), towardZero ? Rounding::TowardZero : Rounding::NearestEven);
  };
  // The same bits under another type.
  for (StringRef name : {"arith.bitcast", "tt.bitcast", "tt.int_to_ptr", "tt.ptr_to_int"})
    table[name] = [](Program &, Operation *op, const Inputs &in) {
      return Results{Tile{op->getResult(0).getType(), in[0].bits}};
    };
}
