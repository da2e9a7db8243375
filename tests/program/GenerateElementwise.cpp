// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Element-wise instructions. Basic operations round once and give the same bits everywhere; the functions have errors,
// and what is discontinuous is applied to exact values only.
#include "tests/program/ModuleGenerator.h"
#include <algorithm>
#include <cmath>

namespace heddle::program::testing {

bool ModuleGenerator::unaryExact() {
  int value = pickAny();
  if (value < 0)
    return false;
  Shape shape = shapeOf(value);
  Facts facts = factsOf(value);
  std::vector<const char *> opcodes = {"copy"};
  if (shape.type == DType::Pred) {
    opcodes = {"not", "copy"};
  } else if (hlo::isFloating(shape.type)) {
    opcodes = {"abs", "negate", "copy"};
    if (facts.error == 0)
      opcodes = {"abs", "negate", "sign", "floor", "ceil", "round-nearest-afz", "round-nearest-even", "is-finite"};
  } else {
    opcodes = {"not", "popcnt", "count-leading-zeros", "negate", "sign", "abs"};
  }
  std::string opcode = random.pick(opcodes);
  if (opcode == "is-finite")
    shape.type = DType::Pred;
  if (opcode == "sign")
    facts.magnitude = 1;
  facts.magnitude += opcode == "floor" || opcode == "ceil" || opcode.starts_with("round");
  shape.writtenLayout.reset();
  return tryEmit(shape, opcode + "($0)", {value}, facts);
}

bool ModuleGenerator::transcendental() {
  if (exact())
    return false;
  int value = pickFloat(false);
  if (value < 0)
    return false;
  Shape shape = Shape::array(shapeOf(value).type, shapeOf(value).dimensions);
  DType type = shape.type;
  Facts facts = factsOf(value);
  double unit = (type == DType::F64 ? 40 : 8) * roundoff(type);
  auto plusOne = [&] { // 1 + |x|
    int magnitude = emit(shape, "abs($0)", {value}, facts), one = scalar(type, 1);
    int ones = shape.isScalar() ? one : emit(shape, "broadcast($0), dimensions={}", {one}, {1, 0, false});
    facts.magnitude += 1;
    facts.error += facts.error > 0 ? 2 * roundoff(type) * facts.magnitude : 0;
    value = emit(shape, "add($0, $1)", {magnitude, ones}, facts);
  };
  if (facts.magnitude > 100 && random.chance(70)) {
    if (facts.error > 0 && facts.error > 4)
      return false;
    value = clamped(value, 8);
    facts = factsOf(value);
  }
  double magnitude = facts.magnitude;
  switch (random.below(9)) {
  case 0:
    if (magnitude > 8)
      return false;
    magnitude = std::exp(magnitude);
    return tryEmit(shape, random.chance(70) ? "exponential($0)" : "exponential-minus-one($0)", {value},
                   {magnitude, (1.7 * facts.error + unit) * magnitude, facts.nan});
  case 1: {
    static const std::vector<const char *> opcodes = {"tanh", "logistic", "erf"};
    return tryEmit(shape, std::string(random.pick(opcodes)) + "($0)", {value},
                   {1, 1.2 * facts.error + unit, facts.nan});
  }
  case 2:
    if (magnitude > 100)
      return false;
    return tryEmit(shape, random.chance(50) ? "sine($0)" : "cosine($0)", {value}, {1, facts.error + unit, facts.nan});
  case 3:
    if (magnitude > 1e4)
      return false;
    plusOne();
    return tryEmit(shape, random.chance(50) ? "log($0)" : "log-plus-one($0)", {value},
                   {magnitude, facts.error + unit * std::max(1.0, magnitude), facts.nan});
  case 4:
    if (magnitude > 1e4)
      return false;
    plusOne();
    return tryEmit(shape, random.chance(50) ? "sqrt($0)" : "rsqrt($0)", {value},
                   {magnitude, facts.error + unit * std::max(1.0, magnitude), facts.nan});
  case 5:
    if (facts.error > 0 || magnitude > 1e4)
      return false;
    return tryEmit(shape, "cbrt($0)", {value}, {magnitude + 1, unit * (magnitude + 1), facts.nan});
  case 6:
    if (magnitude > 8 && facts.error > 0)
      return false;
    if (magnitude > 1.4)
      value = clamped(value, 1.25);
    return tryEmit(shape, "tan($0)", {value}, {6, 36 * facts.error + 6 * unit, facts.nan});
  case 7: {
    if (facts.error > 0 || magnitude > 8)
      return false;
    plusOne();
    int exponent = valueOf(type, shape.dimensions, true);
    double power = factsOf(exponent).magnitude;
    if (power > 4)
      return false;
    magnitude = std::pow(magnitude + 1, power);
    return tryEmit(
        shape, "power($0, $1)", {value, exponent},
        {magnitude, (type == DType::F64 ? 4000 : 8) * roundoff(type) * magnitude, facts.nan || factsOf(exponent).nan});
  }
  default: {
    int other = valueOf(type, shape.dimensions, true);
    if (facts.error > 0)
      return false;
    return tryEmit(shape, "atan2($0, $1)", {value, other}, {3.2, 4 * unit, true});
  }
  }
}

bool ModuleGenerator::binary() {
  int left = pickAny(exact());
  if (left < 0)
    return false;
  Shape shape = Shape::array(shapeOf(left).type, shapeOf(left).dimensions);
  DType type = shape.type;
  bool floating = hlo::isFloating(type);
  std::vector<const char *> opcodes = {"add", "subtract", "multiply", "maximum", "minimum"};
  if (type == DType::Pred)
    opcodes = {"add", "multiply", "maximum", "minimum", "and", "or", "xor"};
  else if (!floating)
    opcodes = {"add",
               "subtract",
               "multiply",
               "maximum",
               "minimum",
               "and",
               "or",
               "xor",
               "shift-left",
               "shift-right-logical",
               "shift-right-arithmetic",
               "divide",
               "remainder",
               "power"};
  else if (isExact(left))
    opcodes.insert(opcodes.end(), {"divide", "remainder"});
  std::string opcode = random.pick(opcodes);
  bool needsExact = exact() || opcode == "divide" || opcode == "remainder";
  int right = valueOf(type, shape.dimensions, needsExact && floating);
  if (random.chance(30) && opcode != "remainder")
    std::swap(left, right);
  Facts x = factsOf(left), y = factsOf(right), result;
  result.nan = x.nan || y.nan;
  result.error = x.error + y.error;
  if (opcode == "multiply") {
    result.magnitude = x.magnitude * y.magnitude;
    if (result.error > 0)
      result.error = x.error * (y.magnitude + y.error) + y.error * x.magnitude;
  } else if (opcode == "divide") {
    result = {INFINITY, 0, true};
  } else if (opcode == "remainder") {
    result = {x.magnitude, 0, true};
  } else if (opcode == "maximum" || opcode == "minimum") {
    result.magnitude = std::max(x.magnitude, y.magnitude);
    result.error = std::max(x.error, y.error);
  } else {
    result.magnitude = x.magnitude + y.magnitude;
  }
  if (result.error > 0 && floating)
    result.error += 2 * roundoff(type) * result.magnitude + 0x1p-24;
  if (floating && type == DType::F64 && result.error > 0)
    result.error -= 0x1p-24;
  if (std::isnan(result.error) || std::isnan(result.magnitude))
    return false;
  return tryEmit(shape, opcode + "($0, $1)", {left, right}, result);
}

bool ModuleGenerator::comparison() {
  int left = pickAny(true);
  if (left < 0)
    return false;
  Shape shape = Shape::array(shapeOf(left).type, shapeOf(left).dimensions);
  int right = valueOf(shape.type, shape.dimensions, true);
  static const std::vector<const char *> directions = {"EQ", "NE", "LT", "LE", "GT", "GE"};
  bool total = hlo::isFloating(shape.type) && !factsOf(left).nan && !factsOf(right).nan && random.chance(20);
  std::string code =
      fmt::format("compare($0, $1), direction={}{}", random.pick(directions), total ? ", type=TOTALORDER" : "");
  shape.type = DType::Pred;
  return tryEmit(shape, code, {left, right}, {});
}

bool ModuleGenerator::selection() {
  int yes = pickAny(exact());
  if (yes < 0)
    return false;
  Shape shape = Shape::array(shapeOf(yes).type, shapeOf(yes).dimensions);
  int no = valueOf(shape.type, shape.dimensions, exact());
  int which = valueOf(DType::Pred, random.chance(80) ? shape.dimensions : Dimensions{}, true);
  Facts x = factsOf(yes), y = factsOf(no);
  return tryEmit(shape, "select($0, $1, $2)", {which, yes, no},
                 {std::max(x.magnitude, y.magnitude), std::max(x.error, y.error), x.nan || y.nan});
}

bool ModuleGenerator::clampOrConvert() {
  int value = pickAny(exact());
  if (value < 0)
    return false;
  Shape shape = Shape::array(shapeOf(value).type, shapeOf(value).dimensions);
  Facts facts = factsOf(value);
  if (shape.type != DType::Pred && random.chance(40)) {
    if (hlo::isFloating(shape.type)) {
      clamped(value, random.chance(50) ? 2.5 : 8);
      return true;
    }
    int low = randomScalar(shape.type), high = valueOf(shape.type, shape.dimensions, true);
    return tryEmit(shape, "clamp($0, $1, $2)", {low, value, high}, {});
  }
  DType to = randomType(), from = shape.type;
  if (facts.error > 0 && !hlo::isFloating(to))
    return false;
  shape.type = to;
  double rounding = hlo::isFloating(to) ? roundoff(to) * 2 * facts.magnitude + (to == DType::F16 ? 0x1p-23 : 0) : 0;
  if (!hlo::isFloating(from))
    facts = {from == DType::Pred ? 1 : std::ldexp(1.0, hlo::bitWidth(from)), 0, false};
  else if (facts.error > 0)
    facts.error += rounding;
  return tryEmit(shape, "convert($0)", {value}, facts);
}

bool ModuleGenerator::bitcastConvert() {
  int value = pick([&](int id) { return shapeOf(id).type != DType::Pred && isExact(id) && !factsOf(id).nan; });
  if (value < 0)
    return false;
  Shape shape = Shape::array(shapeOf(value).type, shapeOf(value).dimensions);
  static const std::vector<DType> integers = {DType::S32, DType::U32, DType::S8, DType::U8, DType::U16, DType::S64};
  DType to = random.pick(integers);
  int from = hlo::bitWidth(shape.type), bits = hlo::bitWidth(to);
  if (from > bits)
    shape.dimensions.push_back(from / bits);
  if (from < bits) {
    if (shape.dimensions.empty() || shape.dimensions.back() != bits / from)
      return false;
    shape.dimensions.pop_back();
  }
  shape.type = to;
  return shape.rank() <= 4 && tryEmit(shape, "bitcast-convert($0)", {value}, {});
}

} // namespace heddle::program::testing
