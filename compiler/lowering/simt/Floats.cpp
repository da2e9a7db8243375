// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversions between floating-point types: by the chip's instructions where it has them, else by definition
// (compiler/arithmetic, docs/host.md).
#include "compiler/arithmetic/Numbers.h"
#include "compiler/lowering/simt/ThreadCode.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

ThreadCode::Values ThreadCode::toFp8(ValueRange f32, Type to, bool isWithinRange) {
  Values results = target.toFp8(b, f32, to, isWithinRange);
  if (results.empty())
    for (Value value : f32)
      results.push_back(arithmetic::Numbers(b).narrow(value, to));
  return results;
}

ThreadCode::Values ThreadCode::fromFp8(ValueRange bits, Type from) {
  Values results = target.fromFp8(b, bits, from);
  if (results.empty())
    for (Value value : bits)
      results.push_back(arithmetic::Numbers(b).widen(value, from));
  return results;
}

Value ThreadCode::convertFloat(Value value, Type from, Type to, bool towardZero) {
  if (from == to)
    return value;
  Type f32 = b.getF32Type();
  if (isFp8(from)) {
    value = fromFp8(value, from).front();
    from = f32;
  }
  if (from == to)
    return value;
  unsigned width = to.getIntOrFloatBitWidth(), had = from.getIntOrFloatBitWidth();
  if (isFp8(to) || towardZero) {
    arithmetic::Numbers numbers(b);
    if (had < 32) {
      value = arith::ExtFOp::create(b, f32, value);
      had = 32;
    }
    if (isFp8(to) && !towardZero && had == 32)
      return toFp8(value, to).front();
    if (width < 32)
      return as(threadType(to), numbers.narrow(value, to, towardZero));
    return numbers.convertFloat(value, value.getType(), to, towardZero);
  }
  if (width == had) { // f16 and bf16
    value = arith::ExtFOp::create(b, f32, value);
    had = 32;
  }
  return width > had ? Value(arith::ExtFOp::create(b, to, value)) : Value(arith::TruncFOp::create(b, to, value));
}
