// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums, extrema and bit operations on the bits of each type.
#include "tests/reference/Atomics.h"
#include "support/Error.h"
#include <cmath>

using namespace mlir;
using namespace heddle::reference;
using heddle::triton::DescriptorReduceKind;
using heddle::triton::RMWOp;

static uint64_t addFloats(Type element, uint64_t a, uint64_t b) {
  const FloatFormat &format = formatOf(element);
  return encode(format, decode(format, a) + decode(format, b));
}

// Whether a is below b; -0 is below +0 and a NaN operand never replaces a number.
static bool isLess(Type element, uint64_t a, uint64_t b, bool isSigned) {
  unsigned width = elementWidth(element);
  if (isa<FloatType>(element)) {
    double x = decode(formatOf(element), a), y = decode(formatOf(element), b);
    return x < y || (x == y && std::signbit(x) && !std::signbit(y));
  }
  return isSigned ? signExtend(a, width) < signExtend(b, width) : a < b;
}
static uint64_t larger(Type element, uint64_t old, uint64_t operand, bool isSigned) {
  bool replaces = isLess(element, old, operand, isSigned) || (isa<FloatType>(element) && isNan(formatOf(element), old));
  return replaces ? operand : old;
}
static uint64_t smaller(Type element, uint64_t old, uint64_t operand, bool isSigned) {
  bool replaces = isLess(element, operand, old, isSigned) || (isa<FloatType>(element) && isNan(formatOf(element), old));
  return replaces ? operand : old;
}

uint64_t heddle::reference::update(RMWOp kind, Type element, uint64_t old, uint64_t operand) {
  unsigned width = elementWidth(element);
  switch (kind) {
  case RMWOp::And:
    return old & operand;
  case RMWOp::Or:
    return old | operand;
  case RMWOp::Xor:
    return old ^ operand;
  case RMWOp::Add:
    return truncateBits(old + operand, width);
  case RMWOp::FAdd:
    return addFloats(element, old, operand);
  case RMWOp::Max:
    return larger(element, old, operand, true);
  case RMWOp::Min:
    return smaller(element, old, operand, true);
  case RMWOp::UMax:
    return larger(element, old, operand, false);
  case RMWOp::UMin:
    return smaller(element, old, operand, false);
  case RMWOp::Exchange:
    return operand;
  }
  throw internalError("unknown atomic operation");
}

uint64_t heddle::reference::update(DescriptorReduceKind kind, Type element, uint64_t old, uint64_t operand) {
  bool isSigned = !element.isUnsignedInteger();
  switch (kind) {
  case DescriptorReduceKind::Add:
    return isa<FloatType>(element) ? addFloats(element, old, operand)
                                   : truncateBits(old + operand, elementWidth(element));
  case DescriptorReduceKind::Min:
    return smaller(element, old, operand, isSigned);
  case DescriptorReduceKind::Max:
    return larger(element, old, operand, isSigned);
  case DescriptorReduceKind::Inc:
    return old >= operand ? 0 : old + 1;
  case DescriptorReduceKind::Dec:
    return old == 0 || old > operand ? operand : old - 1;
  case DescriptorReduceKind::And:
    return old & operand;
  case DescriptorReduceKind::Or:
    return old | operand;
  case DescriptorReduceKind::Xor:
    return old ^ operand;
  }
  throw internalError("unknown reduction kind");
}
