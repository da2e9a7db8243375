// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversions between integer and floating-point types, and bitcasts.
#include "tests/fuzz/Generator.h"
#include <cmath>

using namespace mlir;
using namespace heddle;
using namespace heddle::fuzz;

static bool isArithmeticFloat(Type type) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() > 8;
}

static Type withElement(Type type, Type element) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? Type(tensor.clone(element)) : element;
}

void Generator::addIntegerConversion() {
  auto a = choose([](const Entry &e) { return elementOf(e).isInteger(); });
  if (!a)
    return;
  Type target = randomIntegerType();
  unsigned from = elementOf(*a).getIntOrFloatBitWidth(), to = target.getIntOrFloatBitWidth();
  Type type = withElement(a->type(), target);
  if (to < from) {
    keep(create("arith.trunci", a->value, type), integers(type, a->facts.low, a->facts.high));
  } else if (to > from) {
    if (random.chance(50))
      keep(create("arith.extsi", a->value, type), a->facts);
    else
      keep(create("arith.extui", a->value, type),
           a->facts.low >= 0 ? a->facts : integers(type, 0, std::ldexp(1.0, int(from)) - 1));
  }
}

void Generator::addFloatConversion() {
  auto a = chooseTile([](Type type) { return isa<FloatType>(type); });
  if (!a)
    return;
  unsigned from = elementOf(*a).getIntOrFloatBitWidth();
  Type target = from == 8 || random.chance(70) ? randomFloatType() : randomFp8Type();
  unsigned to = target.getIntOrFloatBitWidth();
  Type type = withElement(a->type(), target);
  if (from == 8) { // every fp8 value is one of every wider type
    keep(triton::FpToFpOp::create(builder, location, type, a->value, triton::RoundingModeAttr()), a->facts);
  } else if (to == 8) { // saturates; what an infinity or an inexact value becomes is not compared
    if (a->facts.special || !a->facts.exact() || elementOf(*a).isF64())
      return;
    Facts facts = anything(type);
    facts.special = false;
    facts.looseZero = a->facts.looseZero;
    keep(triton::FpToFpOp::create(builder, location, type, a->value,
                                  triton::RoundingModeAttr::get(&context, triton::RoundingMode::NearestEven)),
         facts);
  } else if (to > from) {
    keep(create("arith.extf", a->value, type), a->facts);
  } else if (to < from) {
    auto facts = rounded(type, a->facts);
    if (!facts)
      return;
    bool towardZero = a->facts.exact() && elementOf(*a).isF32() && random.chance(25);
    if (towardZero) // never beyond the largest finite number unless infinite before
      keep(triton::FpToFpOp::create(builder, location, type, a->value,
                                    triton::RoundingModeAttr::get(&context, triton::RoundingMode::TowardZero)),
           *facts);
    else
      keep(create("arith.truncf", a->value, type), *facts);
  }
}

void Generator::addFloatIntegerConversion() {
  if (random.chance(50)) {
    auto a = choose([](const Entry &e) { return elementOf(e).isInteger(); });
    if (!a)
      return;
    Type type = withElement(a->type(), randomFloatType());
    bool isUnsigned = a->facts.low >= 0 || elementOf(*a).isInteger(1) || random.chance(30);
    Facts facts = a->facts;
    if (isUnsigned && facts.low < 0)
      facts = Facts{0, std::ldexp(1.0, int(elementOf(*a).getIntOrFloatBitWidth()))};
    if (auto converted = rounded(type, facts))
      keep(create(isUnsigned ? "arith.uitofp" : "arith.sitofp", a->value, type), *converted);
    return;
  }
  auto a = choose([](const Entry &e) { return isArithmeticFloat(elementOf(e)) && e.facts.exact(); });
  if (!a)
    return;
  Type target = randomIntegerType();
  Value source = a->value;
  double low = -100, high = 100;
  bool isUnsigned = random.chance(30);
  if (isUnsigned)
    low = 0;
  if (a->facts.special || a->facts.low < low || a->facts.high > high)
    source = clamp(source, low, high);
  else {
    low = a->facts.low;
    high = a->facts.high;
  }
  keep(create(isUnsigned ? "arith.fptoui" : "arith.fptosi", source, withElement(a->type(), target)),
       Facts{std::floor(low), std::ceil(high)});
}

// Bits of a computed NaN and of an undetermined zero are open: such values are not taken apart.
void Generator::addBitcast() {
  auto a = choose([](const Entry &e) {
    Type element = elementOf(e);
    return element.isIntOrFloat() && !element.isInteger(1) && e.facts.exact() && !e.facts.special && !e.facts.looseZero;
  });
  if (!a)
    return;
  Type element = elementOf(*a), target;
  switch (element.getIntOrFloatBitWidth()) {
  case 16:
    target = element.isInteger() ? (random.chance(50) ? Type(builder.getF16Type()) : builder.getBF16Type())
                                 : builder.getIntegerType(16);
    break;
  case 32:
    target = element.isInteger() ? Type(builder.getF32Type()) : builder.getI32Type();
    break;
  case 64:
    target = element.isInteger() ? Type(builder.getF64Type()) : builder.getI64Type();
    break;
  default:
    target = element.isInteger() ? randomFp8Type() : Type(builder.getIntegerType(8));
  }
  Type type = withElement(a->type(), target);
  keep(create(random.chance(50) ? "tt.bitcast" : "arith.bitcast", a->value, type), anything(type));
}
