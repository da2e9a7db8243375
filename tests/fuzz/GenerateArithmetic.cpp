// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elementwise integer and floating-point arithmetic, comparisons and selects, with the facts of each result.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tests/fuzz/Generator.h"
#include <cmath>

using namespace mlir;
using namespace heddle;
using namespace heddle::fuzz;

static bool isWideInteger(Type type) {
  return type.isInteger() && !type.isInteger(1);
}
static bool isArithmeticFloat(Type type) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() > 8;
}

//===-- Integers -------------------------------------------------------------------------------------------------===//

static Facts integerFacts(StringRef op, Type type, const Facts &a, const Facts &b) {
  if (op == "arith.addi")
    return integers(type, a.low + b.low, a.high + b.high);
  if (op == "arith.subi")
    return integers(type, a.low - b.high, a.high - b.low);
  if (op == "arith.muli") {
    double bound = a.magnitude() * b.magnitude();
    return integers(type, -bound, bound);
  }
  if (op == "arith.minsi" || op == "arith.maxsi")
    return join(a, b);
  if (op == "arith.andi" && (a.low >= 0 || b.low >= 0))
    return {0, a.low >= 0 && b.low >= 0 ? std::min(a.high, b.high) : a.low >= 0 ? a.high : b.high};
  return anything(type);
}

Entry Generator::integerBinary(const Entry &a, const Entry &b) {
  static const std::vector<std::string> ops = {
      "arith.addi",  "arith.addi",  "arith.subi",  "arith.muli",  "arith.muli",  "arith.andi", "arith.ori",
      "arith.xori",  "arith.minsi", "arith.maxsi", "arith.minui", "arith.maxui", "arith.shli", "arith.shrui",
      "arith.shrsi", "arith.divsi", "arith.remsi", "arith.divui", "arith.remui", "tt.mulhiui"};
  std::string op = random.pick(ops);
  Type type = a.type();
  unsigned width = elementOf(a).getIntOrFloatBitWidth();
  Value right = b.value;
  Facts rightFacts = b.facts;
  if (StringRef(op).starts_with("arith.sh")) { // a shift stays below the width
    right = boundedIndex(b, width);
    rightFacts = Facts{0, double(width - 1)};
  } else if (StringRef(op).starts_with("arith.div") || StringRef(op).starts_with("arith.rem")) { // 1, 3, ..., 63
    Value low = create("arith.andi", {right, constantInteger(type, 62)}, type);
    right = create("arith.ori", {low, constantInteger(type, 1)}, type);
    rightFacts = Facts{1, 63};
  } else if (op == "tt.mulhiui" && width < 32) {
    op = "arith.muli";
  }
  return keep(create(op, {a.value, right}, type), integerFacts(op, type, a.facts, rightFacts));
}

void Generator::addIntegerArithmetic() {
  auto a = chooseTile(isWideInteger);
  if (!a) {
    Type element = randomIntegerType();
    a = operand(commonShape(), element);
  }
  Entry b = operandLike(*a);
  integerBinary(*a, b);
}

void Generator::addScalarArithmetic() {
  Type element = random.chance(70)   ? Type(builder.getI32Type())
                 : random.chance(50) ? randomIntegerType()
                                     : randomFloatType();
  Entry a = operand({}, element);
  Entry b = operand({}, element);
  if (element.isInteger())
    a = integerBinary(a, b);
  else if (auto result = floatBinary(a, b))
    a = *result;
  if (random.chance(50)) // broadcast to a tile
    keep(splat(a.value, commonShape()), a.facts);
}

void Generator::addIntegerUnary() {
  auto a = chooseTile(isWideInteger);
  if (!a)
    return;
  Facts facts = a->facts;
  Facts absolute = facts.low > anything(a->type()).low ? Facts{0, facts.magnitude()} : anything(a->type());
  keep(create("math.absi", a->value, a->type()), absolute);
}

//===-- Floating point -------------------------------------------------------------------------------------------===//

// The range and error before rounding; nothing where an inexact operand would be amplified without bound.
std::optional<Facts> Generator::binaryFloatFacts(StringRef op, const Entry &a, const Entry &b) {
  const Facts &x = a.facts, &y = b.facts;
  Facts facts;
  facts.special = x.special || y.special;
  facts.looseZero = x.looseZero || y.looseZero;
  facts.integral = x.integral && y.integral;
  if (op == "arith.addf" || op == "arith.subf") {
    bool add = op == "arith.addf";
    facts.low = add ? x.low + y.low : x.low - y.high;
    facts.high = add ? x.high + y.high : x.high - y.low;
    facts.error = x.error + y.error;
    auto isProduct = [](Value value) {
      return value.getDefiningOp() && value.getDefiningOp()->getName().getStringRef() == "arith.mulf";
    };
    if (options.contraction && (isProduct(a.value) || isProduct(b.value)))
      facts.error += (x.magnitude() + y.magnitude()) * std::ldexp(1.0, 1 - precisionOf(a.type()));
  } else if (op == "arith.mulf") {
    double bound = x.magnitude() * y.magnitude();
    facts.low = -bound;
    facts.high = bound;
    facts.error = x.magnitude() * y.error + y.magnitude() * x.error + x.error * y.error;
  } else if (op == "arith.divf" || op == "tt.precise_divf" || op == "arith.remf") {
    if (!x.exact() || !y.exact() || y.looseZero)
      return std::nullopt;
    facts = anything(a.type());
    facts.looseZero = x.looseZero;
    if (op == "arith.divf" && options.approximateDivision)
      return std::nullopt;
  } else { // the four kinds of minimum and maximum: a result within both errors; of two zeros either may come
    facts = join(x, y);
    facts.looseZero = true;
  }
  if (facts.terminal() || (facts.error > 0 && (x.special || y.special)))
    return std::nullopt;
  return facts;
}

std::optional<Entry> Generator::floatBinary(const Entry &a, const Entry &b) {
  static const std::vector<std::string> ops = {"arith.addf",     "arith.addf",    "arith.subf",     "arith.mulf",
                                               "arith.mulf",     "arith.maxnumf", "arith.minnumf",  "arith.maximumf",
                                               "arith.minimumf", "arith.divf",    "tt.precise_divf"};
  std::string op = random.pick(ops);
  if (op == "tt.precise_divf" && !elementOf(a).isF32())
    op = "arith.divf";
  if (a.facts.terminal() || b.facts.terminal())
    return std::nullopt;
  auto facts = binaryFloatFacts(op, a, b);
  if (facts)
    facts = rounded(a.type(), *facts);
  if (!facts)
    return std::nullopt;
  return keep(create(op, {a.value, b.value}, a.type()), *facts);
}

void Generator::addFloatArithmetic() {
  auto a = chooseTile(isArithmeticFloat);
  if (!a) {
    Type element = randomFloatType();
    a = operand(commonShape(), element);
  }
  Entry b = operandLike(*a);
  floatBinary(*a, b);
}

void Generator::addRemainder() {
  auto a = chooseTile(isArithmeticFloat);
  if (!a)
    return;
  Entry b = operandLike(*a);
  if (auto facts = binaryFloatFacts("arith.remf", *a, b))
    keep(create("arith.remf", {a->value, b.value}, a->type()), *facts);
}

void Generator::addFloatUnary() {
  auto a = chooseTile(isArithmeticFloat);
  if (!a)
    return;
  const Facts &x = a->facts;
  Type type = a->type();
  double m = x.magnitude();
  switch (random.below(7)) {
  case 0:
    keep(create("arith.negf", a->value, type), Facts{-x.high, -x.low, x.error, x.integral, x.special, x.looseZero});
    break;
  case 1: // a wrong sign of a zero disappears
    keep(create("math.absf", a->value, type), Facts{0, m, x.error, x.integral, x.special, false});
    break;
  case 2:
    if (x.exact())
      keep(create(random.chance(50) ? "math.floor" : "math.ceil", a->value, type),
           Facts{std::floor(x.low), std::ceil(x.high), 0, true, x.special, x.looseZero});
    break;
  case 3: {
    if (!x.exact() || options.approximateDivision)
      break;
    bool precise = elementOf(*a).isF32() && random.chance(50);
    Facts facts = anything(type);
    facts.looseZero = x.looseZero;
    keep(create(precise ? "tt.precise_sqrt" : "math.sqrt", a->value, type), facts);
    break;
  }
  case 4: {
    Entry b = operandLike(*a);
    Entry c = operandLike(*a);
    if (!x.exact() || !b.facts.exact() || !c.facts.exact())
      break;
    Facts facts = anything(type);
    facts.looseZero = x.looseZero || b.facts.looseZero || c.facts.looseZero;
    keep(create("math.fma", {a->value, b.value, c.value}, type), facts);
    break;
  }
  default: { // brings any exact value, NaN and infinities too, into a small range
    double low = double(random.between(-20, 0)), high = double(random.between(1, 20));
    bool propagate = random.chance(30);
    keep(clamp(a->value, low, high, propagate), Facts{low, high, x.error, x.integral, propagate && x.special, true});
  }
  }
}

// Transcendental functions: a result within a few units in the last place of the largest result, and what an error of
// the argument grows to.
void Generator::addFunction() {
  struct Function {
    const char *name;
    double low, high; ///< the argument is clamped to this first
    double largest;   ///< of the result's magnitude
    double slope;     ///< largest derivative on the range
  };
  static const std::vector<Function> table = {
      {"math.exp", -20, 4, 54.6, 54.6},     {"math.exp2", -24, 6, 64, 45},    {"math.log", 0.25, 1000, 6.91, 4},
      {"math.log2", 0.25, 1000, 9.97, 5.8}, {"math.sin", -20, 20, 1, 1},      {"math.cos", -20, 20, 1, 1},
      {"math.erf", -4, 4, 1, 1.13},         {"math.rsqrt", 0.25, 1000, 2, 4}, {"math.sqrt", 0.25, 1000, 31.7, 1}};
  auto a = chooseTile(isArithmeticFloat);
  if (!a || a->facts.terminal())
    return;
  const Function &function = random.pick(table);
  Type type = a->type();
  Value argument = a->value;
  if (a->facts.special || a->facts.low < function.low || a->facts.high > function.high)
    argument = clamp(argument, function.low, function.high);
  double units = 16 * std::ldexp(1.0, -precisionOf(type)) * function.largest;
  Facts facts{-function.largest, function.largest, units + a->facts.error * function.slope, false, false, true};
  if (auto result = rounded(type, facts))
    keep(create(function.name, argument, type), *result);
}

//===-- Comparisons ----------------------------------------------------------------------------------------------===//

void Generator::addCompareSelect() {
  auto a = choose([](const Entry &e) {
    Type element = elementOf(e);
    return isa<RankedTensorType>(e.type()) && e.facts.exact() && (isArithmeticFloat(element) || element.isInteger());
  });
  if (!a)
    return;
  Entry b = exactOperand(shapeOf(*a), elementOf(*a));
  Value condition;
  if (elementOf(*a).isInteger()) {
    int64_t predicate = elementOf(*a).isInteger(1) ? random.below(2) : random.below(10);
    condition = arith::CmpIOp::create(builder, location, arith::CmpIPredicate(predicate), a->value, b.value);
  } else {
    int64_t predicate = random.between(1, 14);
    condition = arith::CmpFOp::create(builder, location, arith::CmpFPredicate(predicate), a->value, b.value);
  }
  keep(condition, Facts{-1, 0});
  if (random.chance(30)) { // combine with another mask
    static const std::vector<std::string> ops = {"arith.andi", "arith.ori", "arith.xori"};
    Entry other = operand(shapeOf(*a), builder.getI1Type());
    std::string op = random.pick(ops);
    condition = keep(create(op, {condition, other.value}, condition.getType()), Facts{-1, 0}).value;
  }
  auto left = choose([&](const Entry &e) { return isa<RankedTensorType>(e.type()) && shapeOf(e) == shapeOf(*a); });
  auto right = choose([&](const Entry &e) { return e.type() == left->type(); });
  Facts facts = join(left->facts, right->facts);
  // A scalar condition picks a whole tile.
  if (random.chance(15))
    condition = operand({}, builder.getI1Type()).value;
  keep(create("arith.select", {condition, left->value, right->value}, left->type()), facts);
}
