// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations on complex arrays are read as operations on their real and imaginary parts, so that after the parser a
// complex array is only made of two real ones (`complex`), passed on, and taken apart (`real`, `imag`).
#include "frontend/hlo/ReadComplex.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <numbers>
#include <utility>

namespace heddle::hlo {

DType partType(DType type) {
  return type == DType::C64 ? DType::F32 : type == DType::C128 ? DType::F64 : type;
}

namespace {

bool hasComplex(const Shape &shape) {
  return shape.isArray() ? isComplex(shape.type) : std::ranges::any_of(shape.elements, hasComplex);
}

/// The shape of one part.
Shape partShape(const Shape &shape) {
  Shape part = shape;
  if (shape.isArray())
    part.type = partType(shape.type);
  for (Shape &element : part.elements)
    element = partShape(element);
  return part;
}

/// What the root does not need but parameters: complex numbers that were made and taken apart.
void removeUnused(Computation &computation) {
  std::vector<Instruction> &all = computation.instructions;
  std::vector<bool> isNeeded(all.size());
  isNeeded[size_t(computation.root)] = true;
  for (size_t i = all.size(); i-- > 0;)
    for (int operand : isNeeded[i] ? all[i].operands : std::vector<int>())
      isNeeded[size_t(operand)] = true;
  std::vector<int> moved(all.size(), -1);
  std::vector<Instruction> kept;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!isNeeded[i] && all[i].opcode != Opcode::Parameter)
      continue;
    moved[i] = int(kept.size());
    kept.push_back(std::move(all[i]));
    Instruction &instruction = kept.back();
    instruction.index = moved[i];
    for (int &operand : instruction.operands)
      operand = moved[size_t(operand)];
  }
  for (Instruction &instruction : kept) {
    std::erase_if(instruction.users, [&](int user) { return moved[size_t(user)] < 0; });
    for (int &user : instruction.users)
      user = moved[size_t(user)];
  }
  for (int &parameter : computation.parameters)
    parameter = moved[size_t(parameter)];
  computation.root = moved[size_t(computation.root)];
  all = std::move(kept);
}

} // namespace

//===-- Parts ----------------------------------------------------------------------------------------------------===//

int InstructionParser::partOf(int value, Opcode which, Location location) {
  const Instruction &whole = computation.instructions[size_t(value)];
  if (!isComplex(whole.shape.type))
    return which == Opcode::Real ? value : filled(value, 0, location);
  if (whole.opcode == Opcode::Complex)
    return whole.operands[which == Opcode::Real ? 0 : 1];
  auto [found, isNew] = parts.try_emplace({value, which}, -1);
  if (isNew)
    found->second = apply(which, {value}, location);
  return found->second;
}

int InstructionParser::filled(int like, double value, Location location) {
  DType type = partType(shapeOf(like).type);
  std::vector<int64_t> sizes = shapeOf(like).dimensions;
  Instruction constant;
  constant.opcode = Opcode::Constant;
  constant.literal.assign(reinterpret_cast<const char *>(&value), sizeof value);
  Shape wide = Shape::scalar(DType::F64);
  int made = append(std::move(constant), location, &wide);
  if (type != DType::F64)
    made = convert(made, type, location);
  return sizes.empty() ? made : broadcast(made, {}, sizes, location);
}

ComplexParts InstructionParser::partsOf(int value, Location location) {
  int real = partOf(value, Opcode::Real, location);
  return {real, partOf(value, Opcode::Imag, location)};
}

/// The operation on the real parts of its complex operands, then on the imaginary ones.
int InstructionParser::applyToParts(const Instruction &instruction, Location location, const Shape *declared) {
  std::optional<Shape> part;
  if (declared)
    part = partShape(*declared);
  int made[2];
  for (int i = 0; i < 2; ++i) {
    Instruction copy = instruction;
    copy.name.clear();
    for (int &operand : copy.operands)
      if (isComplex(shapeOf(operand).type))
        operand = partOf(operand, i ? Opcode::Imag : Opcode::Real, location);
      else if (isFloating(shapeOf(operand).type)) // which is no index
        cursor.fail(location,
                    fmt::format("'{}' takes complex arrays and one of {}", opcodeName(instruction.opcode),
                                formatShapePlain(shapeOf(operand))),
                    {"make it complex: complex(x, zeros)"});
    made[i] = append(std::move(copy), location, part ? &*part : nullptr);
  }
  if (shapeOf(made[0]).isArray())
    return apply(Opcode::Complex, {made[0], made[1]}, location);
  std::vector<int> elements;
  for (int64_t i = 0; i < int64_t(shapeOf(made[0]).elements.size()); ++i) {
    int real = element(made[0], i, location), imaginary = element(made[1], i, location);
    elements.push_back(apply(Opcode::Complex, {real, imaginary}, location));
  }
  return apply(Opcode::Tuple, std::move(elements), location);
}

//===-- Which operations -----------------------------------------------------------------------------------------===//

std::optional<int> InstructionParser::appendComplex(const Instruction &instruction, Location location,
                                                    const Shape *declared) {
  bool makes = declared && hasComplex(*declared);
  bool takes = std::ranges::any_of(instruction.operands, [&](int operand) {
    return shapeOf(operand).isArray() && isComplex(shapeOf(operand).type);
  });
  if (!makes && !takes)
    return std::nullopt;
  if (std::string wrong = wrongOperandCount(instruction.opcode, instruction.operands.size()); !wrong.empty())
    cursor.fail(location, wrong);
  switch (opcodeClass(instruction.opcode)) {
  case OpcodeClass::Structure:
    return std::nullopt;
  case OpcodeClass::Source:
    return instruction.opcode == Opcode::Constant ? std::optional(complexConstant(instruction, *declared, location))
                                                  : std::nullopt;
  case OpcodeClass::Movement:
    if (declared && !makes) // a bitcast
      return complexElementwise(instruction, location, declared);
    return applyToParts(instruction, location, declared);
  case OpcodeClass::Collective:
    return complexCollective(instruction, location, declared);
  case OpcodeClass::Contraction:
    return instruction.opcode == Opcode::Dot ? complexDot(instruction, location, declared)
                                             : complexReduce(instruction, location);
  default:
    return complexElementwise(instruction, location, declared);
  }
}

int InstructionParser::complexConstant(const Instruction &constant, const Shape &shape, Location location) {
  Shape part = partShape(shape);
  auto bytes = size_t(elementSizeBytes(part.type));
  int made[2];
  for (size_t i = 0; i < 2; ++i) {
    Instruction one;
    one.opcode = Opcode::Constant;
    for (size_t at = i * bytes; at + bytes <= constant.literal.size(); at += 2 * bytes)
      one.literal.append(constant.literal, at, bytes);
    made[i] = append(std::move(one), location, &part);
  }
  return apply(Opcode::Complex, {made[0], made[1]}, location);
}

int InstructionParser::complexDot(const Instruction &dot, Location location, const Shape *declared) {
  ComplexParts left = partsOf(dot.operands[0], location), right = partsOf(dot.operands[1], location);
  std::optional<Shape> part;
  if (declared)
    part = partShape(*declared);
  auto of = [&](int a, int b) {
    Instruction one = dot;
    one.name.clear();
    one.operands = {a, b};
    return append(std::move(one), location, part ? &*part : nullptr);
  };
  int real = apply(Opcode::Subtract, {of(left.real, right.real), of(left.imaginary, right.imaginary)}, location);
  int imaginary = apply(Opcode::Add, {of(left.real, right.imaginary), of(left.imaginary, right.real)}, location);
  return apply(Opcode::Complex, {real, imaginary}, location);
}

/// A computation has two parameters for each complex one of `region`, and two results for each complex one.
int InstructionParser::complexReduce(const Instruction &reduction, Location location) {
  const Computation region = context.module.computation(reduction.calledComputation); // a new one may move it
  std::vector<Shape> scalars;
  for (size_t i = 0; i < region.parameters.size(); ++i) {
    Shape shape = region.parameter(i).shape;
    scalars.insert(scalars.end(), shape.isArray() && isComplex(shape.type) ? 2 : 1, partShape(shape));
  }
  auto body = [&](InstructionParser &parser, const std::vector<int> &parameters) {
    std::vector<int> arguments, results;
    for (size_t i = 0, next = 0; i < region.parameters.size(); ++i) {
      int argument = parameters[next++];
      if (isComplex(region.parameter(i).shape.type))
        argument = parser.apply(Opcode::Complex, {argument, parameters[next++]}, location);
      arguments.push_back(argument);
    }
    for (int result : parser.applyToArrays(region, arguments, location)) {
      results.push_back(parser.partOf(result, Opcode::Real, location));
      if (isComplex(parser.shapeOf(result).type))
        results.push_back(parser.partOf(result, Opcode::Imag, location));
    }
    return results;
  };
  Instruction made = reduction;
  made.name.clear();
  made.operands.clear();
  std::vector<bool> isOfTwo;
  for (int operand : reduction.operands) {
    isOfTwo.push_back(isComplex(shapeOf(operand).type));
    made.operands.push_back(partOf(operand, Opcode::Real, location));
    if (isOfTwo.back())
      made.operands.push_back(partOf(operand, Opcode::Imag, location));
  }
  made.calledComputation = addComputation(region.name, scalars, body, location);
  removeUnused(context.module.computations[size_t(made.calledComputation)]);
  int tuple = append(std::move(made), location);
  std::vector<int> results;
  for (size_t i = 0, next = 0; i < isOfTwo.size() / 2; ++i) {
    results.push_back(element(tuple, int64_t(next++), location));
    if (isOfTwo[i])
      results.back() = apply(Opcode::Complex, {results.back(), element(tuple, int64_t(next++), location)}, location);
  }
  return results.size() == 1 ? results[0] : apply(Opcode::Tuple, std::move(results), location);
}

int InstructionParser::complexCollective(const Instruction &collective, Location location, const Shape *declared) {
  Instruction made = collective;
  bool allComplex =
      std::ranges::all_of(collective.operands, [&](int operand) { return isComplex(shapeOf(operand).type); });
  if (collective.asynchronous || !allComplex)
    cursor.fail(
        location,
        fmt::format("'{}' of complex arrays with a -start and a -done, or with real ones as well, is not supported",
                    opcodeName(collective.opcode)),
        {"write the operation without -start, of complex arrays only"});
  if (made.calledComputation >= 0) {
    const Computation &region = context.module.computation(made.calledComputation);
    const Instruction &root = region.rootInstruction();
    auto adds = [&](int part) {
      const Instruction &sum = region.operand(root, size_t(part));
      Opcode wanted = part == 0 ? Opcode::Real : Opcode::Imag;
      if (sum.opcode != Opcode::Add || sum.operands[0] == sum.operands[1])
        return false;
      return region.operand(sum, 0).opcode == wanted && region.operand(sum, 1).opcode == wanted;
    };
    bool isSum = region.parameters.size() == 2 && root.opcode == Opcode::Complex && adds(0) && adds(1) &&
                 region.instructions.size() == 9;
    if (!isSum)
      cursor.fail(location,
                  fmt::format("'{}' of complex arrays reduces with computation '{}', which is not their sum",
                              opcodeName(collective.opcode), region.name),
                  {"sum complex arrays, or reduce their real and imaginary parts"});
    DType type = partType(shapeOf(collective.operands[0]).type);
    auto body = [&](InstructionParser &parser, const std::vector<int> &parameters) {
      return std::vector<int>{parser.apply(Opcode::Add, parameters, location)};
    };
    made.calledComputation = addComputation("sum", {Shape::scalar(type), Shape::scalar(type)}, body, location);
  }
  return applyToParts(made, location, declared);
}

//===-- Element by element ---------------------------------------------------------------------------------------===//

/// Arithmetic on real arrays.
class InstructionParser::Arithmetic {
public:
  Arithmetic(InstructionParser &parser, Location location) : parser(parser), location(location) {}

  int add(int a, int b) { return of(Opcode::Add, a, b); }
  int subtract(int a, int b) { return of(Opcode::Subtract, a, b); }
  int multiply(int a, int b) { return of(Opcode::Multiply, a, b); }
  int divide(int a, int b) { return of(Opcode::Divide, a, b); }
  int of(Opcode opcode, int a) { return parser.apply(opcode, {a}, location); }
  int of(Opcode opcode, int a, int b) { return parser.apply(opcode, {a, b}, location); }
  int select(int bit, int yes, int no) { return parser.apply(Opcode::Select, {bit, yes, no}, location); }
  int number(int like, double value) { return parser.filled(like, value, location); }
  int compare(int a, CompareDirection direction, int b) { return parser.compare(a, direction, b, location); }
  int isZero(int a) { return compare(a, CompareDirection::Equal, number(a, 0)); }

  ComplexParts select(int bit, ComplexParts yes, ComplexParts no) {
    return {select(bit, yes.real, no.real), select(bit, yes.imaginary, no.imaginary)};
  }
  /// Of a tall thin triangle too, and without overflow.
  int absolute(ComplexParts z) {
    auto [most, squared] = scaled(z);
    return select(isPlain(most), multiply(most, of(Opcode::Sqrt, add(number(most, 1), squared))), most);
  }
  int logarithmOfAbsolute(ComplexParts z) {
    auto [most, squared] = scaled(z);
    int rest = multiply(number(most, 0.5), of(Opcode::LogPlusOne, squared)), whole = of(Opcode::Log, most);
    return select(isPlain(most), add(whole, rest), whole);
  }
  ComplexParts multiply(ComplexParts a, ComplexParts b) {
    return {subtract(multiply(a.real, b.real), multiply(a.imaginary, b.imaginary)),
            add(multiply(a.real, b.imaginary), multiply(a.imaginary, b.real))};
  }
  /// Smith's: by the larger part of the divisor first.
  ComplexParts divide(ComplexParts a, ComplexParts b) {
    int isReal = compare(of(Opcode::Abs, b.real), CompareDirection::GreaterOrEqual, of(Opcode::Abs, b.imaginary));
    int large = select(isReal, b.real, b.imaginary), small = select(isReal, b.imaginary, b.real);
    int first = select(isReal, a.real, a.imaginary), second = select(isReal, a.imaginary, a.real);
    int ratio = divide(small, large), divisor = add(large, multiply(small, ratio));
    int real = divide(add(first, multiply(second, ratio)), divisor);
    int imaginary = divide(subtract(second, multiply(first, ratio)), divisor);
    imaginary = select(isReal, imaginary, of(Opcode::Negate, imaginary));
    int none = number(real, 0), infinite = number(real, std::numeric_limits<double>::infinity());
    int isFinite = of(Opcode::IsFinite, of(Opcode::Maximum, of(Opcode::Abs, a.real), of(Opcode::Abs, a.imaginary)));
    int most = of(Opcode::Maximum, of(Opcode::Abs, b.real), of(Opcode::Abs, b.imaginary)); // NaN where one is
    int vanishes = of(Opcode::And, isFinite, compare(most, CompareDirection::Equal, infinite));
    ComplexParts made = select(vanishes, {none, none}, {real, imaginary});
    return select(isZero(large), {divide(a.real, b.real), divide(a.imaginary, b.real)}, made);
  }
  ComplexParts exponential(ComplexParts z) {
    int size = of(Opcode::Exponential, z.real);
    int rise = select(isZero(z.imaginary), z.imaginary, multiply(size, of(Opcode::Sine, z.imaginary)));
    return {select(isZero(z.imaginary), size, multiply(size, of(Opcode::Cosine, z.imaginary))), rise};
  }
  ComplexParts exponentialMinusOne(ComplexParts z) {
    int half = of(Opcode::Sine, multiply(z.imaginary, number(z.imaginary, 0.5)));
    int down = multiply(number(half, -2), multiply(half, half)); // cos - 1
    int less = of(Opcode::ExponentialMinusOne, z.real);
    return {add(multiply(less, of(Opcode::Cosine, z.imaginary)), down), exponential(z).imaginary};
  }
  ComplexParts logarithm(ComplexParts z) { return {logarithmOfAbsolute(z), of(Opcode::Atan2, z.imaginary, z.real)}; }
  ComplexParts logarithmPlusOne(ComplexParts z) {
    int next = add(z.real, number(z.real, 1));
    int squares = add(multiply(z.real, add(z.real, number(z.real, 2))), multiply(z.imaginary, z.imaginary));
    int near = multiply(number(next, 0.5), of(Opcode::LogPlusOne, squares));
    int most = of(Opcode::Maximum, of(Opcode::Abs, z.real), of(Opcode::Abs, z.imaginary));
    int isNear = compare(most, CompareDirection::Less, number(most, 0.5));
    return {select(isNear, near, logarithmOfAbsolute({next, z.imaginary})), of(Opcode::Atan2, z.imaginary, next)};
  }
  ComplexParts squareRoot(ComplexParts z) {
    int half = number(z.real, 0.5);
    int root = of(Opcode::Sqrt, add(multiply(of(Opcode::Abs, z.real), half), multiply(absolute(z), half)));
    // Not infinity by infinity.
    int other = select(of(Opcode::IsFinite, z.imaginary), divide(z.imaginary, add(root, root)), z.imaginary);
    int isLeft = compare(z.real, CompareDirection::Less, number(z.real, 0));
    // -0 is below the cut.
    int angle = of(Opcode::Atan2, z.imaginary, z.real), down = compare(angle, CompareDirection::Less, number(angle, 0));
    ComplexParts made =
        select(isLeft, {of(Opcode::Abs, other), select(down, of(Opcode::Negate, root), root)}, {root, other});
    return select(isZero(root), {root, z.imaginary}, made);
  }
  ComplexParts power(ComplexParts z, ComplexParts by) {
    ComplexParts made = exponential(multiply(by, logarithm(z)));
    int none = number(z.real, 0), one = number(z.real, 1);
    auto isNone = [&](ComplexParts each) { return of(Opcode::And, isZero(each.real), isZero(each.imaginary)); };
    int isReal = of(Opcode::And, isZero(by.imaginary), compare(by.real, CompareDirection::GreaterOrEqual, none));
    return select(of(Opcode::And, isNone(z), isReal), {select(isNone(by), one, none), none}, made);
  }
  /// sinh and cosh.
  std::pair<int, int> hyperbolic(int a) {
    int half = number(a, 0.5), less = of(Opcode::ExponentialMinusOne, a), whole = add(less, number(a, 1));
    int isLarge = compare(of(Opcode::Abs, a), CompareDirection::Greater, number(a, 1));
    int back = of(Opcode::Exponential, of(Opcode::Negate, a)), forth = of(Opcode::Exponential, a);
    int small = multiply(half, add(less, divide(less, whole)));
    return {select(isLarge, multiply(half, subtract(forth, back)), small), multiply(half, add(forth, back))};
  }
  ComplexParts sine(ComplexParts z) {
    auto [sinh, cosh] = hyperbolic(z.imaginary);
    return {multiply(of(Opcode::Sine, z.real), cosh), multiply(of(Opcode::Cosine, z.real), sinh)};
  }
  ComplexParts cosine(ComplexParts z) {
    auto [sinh, cosh] = hyperbolic(z.imaginary);
    return {multiply(of(Opcode::Cosine, z.real), cosh), of(Opcode::Negate, multiply(of(Opcode::Sine, z.real), sinh))};
  }
  /// (sinh 2a + i sin 2b) / (cosh 2a + cos 2b), beyond 20 its limit.
  ComplexParts hyperbolicTangent(ComplexParts z) {
    int edge = number(z.real, 20),
        real = parser.apply(Opcode::Clamp, {of(Opcode::Negate, edge), z.real, edge}, location);
    auto [sinh, cosh] = hyperbolic(real);
    int sine = of(Opcode::Sine, z.imaginary), cosine = of(Opcode::Cosine, z.imaginary);
    int divisor = add(multiply(sinh, sinh), multiply(cosine, cosine));
    return {divide(multiply(sinh, cosh), divisor), divide(multiply(sine, cosine), divisor)};
  }

private:
  /// The larger part and the square of the other one's share of it.
  std::pair<int, int> scaled(ComplexParts z) {
    int a = of(Opcode::Abs, z.real), b = of(Opcode::Abs, z.imaginary);
    int most = of(Opcode::Maximum, a, b), share = divide(of(Opcode::Minimum, a, b), most);
    return {most, multiply(share, share)};
  }
  /// Neither 0 nor infinite: what scaled() divides by.
  int isPlain(int most) {
    int isNotZero = compare(most, CompareDirection::NotEqual, number(most, 0));
    return of(Opcode::And, isNotZero, of(Opcode::IsFinite, most));
  }

  InstructionParser &parser;
  Location location;
};

int InstructionParser::complexElementwise(const Instruction &instruction, Location location, const Shape *declared) {
  Arithmetic real(*this, location);
  const std::vector<int> &operands = instruction.operands;
  auto of = [&](size_t number) { return partsOf(operands[number], location); };
  auto complex = [&](ComplexParts made) { return apply(Opcode::Complex, {made.real, made.imaginary}, location); };
  auto inTurn = [&] { return applyToParts(instruction, location, declared); };
  if (opcodeClass(instruction.opcode) == OpcodeClass::Binary || instruction.opcode == Opcode::Compare)
    if (!shapeOf(operands[0]).sameAs(shapeOf(operands[1])))
      cursor.fail(location,
                  fmt::format("'{}' takes operands of one shape, got {} and {}", opcodeName(instruction.opcode),
                              formatShapePlain(shapeOf(operands[0])), formatShapePlain(shapeOf(operands[1]))));
  switch (instruction.opcode) {
  case Opcode::Complex:
  case Opcode::Real:
  case Opcode::Imag: {
    const Instruction &whole = computation.instructions[size_t(operands[0])];
    if (instruction.opcode != Opcode::Complex && whole.opcode == Opcode::Complex)
      return whole.operands[instruction.opcode == Opcode::Real ? 0 : 1];
    Instruction made = instruction;
    made.index = int(computation.instructions.size());
    check(location, made, declared);
    computation.instructions.push_back(std::move(made));
    return computation.instructions.back().index;
  }
  case Opcode::Copy:
  case Opcode::Negate:
  case Opcode::Add:
  case Opcode::Subtract:
  case Opcode::Select:
    return inTurn();
  case Opcode::Convert: {
    if (!declared || !declared->isArray() || !isComplex(declared->type))
      break;
    ComplexParts from = of(0);
    DType type = partType(declared->type);
    int first = convert(from.real, type, location);
    bool wasComplex = isComplex(shapeOf(operands[0]).type);
    return complex({first, wasComplex ? convert(from.imaginary, type, location) : filled(first, 0, location)});
  }
  case Opcode::Abs:
    return real.absolute(of(0));
  case Opcode::Sign: {
    ComplexParts z = of(0);
    int size = real.absolute(z), none = real.isZero(size);
    return complex(real.select(none, z, {real.divide(z.real, size), real.divide(z.imaginary, size)}));
  }
  case Opcode::Compare: {
    bool isEqual = instruction.direction == CompareDirection::Equal;
    if (!isEqual && instruction.direction != CompareDirection::NotEqual)
      break;
    ComplexParts a = of(0), b = of(1);
    return real.of(isEqual ? Opcode::And : Opcode::Or, real.compare(a.real, instruction.direction, b.real),
                   real.compare(a.imaginary, instruction.direction, b.imaginary));
  }
  case Opcode::Multiply:
    return complex(real.multiply(of(0), of(1)));
  case Opcode::Divide:
    return complex(real.divide(of(0), of(1)));
  case Opcode::Power:
    return complex(real.power(of(0), of(1)));
  case Opcode::Exponential:
    return complex(real.exponential(of(0)));
  case Opcode::ExponentialMinusOne:
    return complex(real.exponentialMinusOne(of(0)));
  case Opcode::Log:
    return complex(real.logarithm(of(0)));
  case Opcode::LogPlusOne:
    return complex(real.logarithmPlusOne(of(0)));
  case Opcode::Sqrt:
    return complex(real.squareRoot(of(0)));
  case Opcode::Rsqrt:
  case Opcode::Logistic: {
    ComplexParts z = of(0), one = {filled(z.real, 1, location), filled(z.real, 0, location)};
    if (instruction.opcode == Opcode::Rsqrt)
      return complex(real.divide(one, real.squareRoot(z)));
    // Of what is not above 0, so that the exponential does not overflow: 1 / (1 + e^-z), or e^z / (1 + e^z).
    int isLeft = real.compare(z.real, CompareDirection::Less, one.imaginary);
    ComplexParts negated = {real.of(Opcode::Negate, z.real), real.of(Opcode::Negate, z.imaginary)};
    ComplexParts power = real.exponential(real.select(isLeft, z, negated));
    return complex(real.divide(real.select(isLeft, power, one), {real.add(power.real, one.real), power.imaginary}));
  }
  case Opcode::Cbrt: {
    ComplexParts z = of(0);
    return complex(real.power(z, {filled(z.real, 1.0 / 3, location), filled(z.real, 0, location)}));
  }
  case Opcode::Sine:
    return complex(real.sine(of(0)));
  case Opcode::Cosine:
    return complex(real.cosine(of(0)));
  case Opcode::Tanh:
    return complex(real.hyperbolicTangent(of(0)));
  case Opcode::Tan: { // -i tanh(iz)
    ComplexParts z = of(0), made = real.hyperbolicTangent({real.of(Opcode::Negate, z.imaginary), z.real});
    return complex({made.imaginary, real.of(Opcode::Negate, made.real)});
  }
  default:
    break;
  }
  cursor.fail(location, fmt::format("'{}' of complex arrays is not supported", opcodeName(instruction.opcode)),
              {"docs/hlo.md lists what is computed of them; `real` and `imag` give their parts"});
}

} // namespace heddle::hlo
