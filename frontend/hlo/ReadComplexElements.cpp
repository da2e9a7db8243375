// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Element-wise operations on complex arrays as arithmetic on their parts, in forms that neither overflow nor lose
// digits where the result does not.
#include "frontend/hlo/ReadComplex.h"
#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <utility>

namespace heddle::hlo {

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
    // Infinite by finite is infinite in the direction that the infinite parts have; finite by infinite is 0.
    int none = number(real, 0), infinite = number(real, std::numeric_limits<double>::infinity());
    auto direction = [&](int part) { return select(isInfinite(part), of(Opcode::Sign, part), none); };
    int c = direction(a.real), d = direction(a.imaginary);
    ComplexParts endless = {multiply(infinite, add(multiply(c, b.real), multiply(d, b.imaginary))),
                            multiply(infinite, subtract(multiply(d, b.real), multiply(c, b.imaginary)))};
    ComplexParts made = select(of(Opcode::And, isInfinite(a), isFinite(b)), endless, {real, imaginary});
    made = select(of(Opcode::And, isFinite(a), isInfinite(b)), {none, none}, made);
    return select(isZero(large), {divide(a.real, b.real), divide(a.imaginary, b.real)}, made);
  }
  ComplexParts exponential(ComplexParts z) {
    int size = of(Opcode::Exponential, z.real);
    int rise = multiplyUnlessZero(of(Opcode::Sine, z.imaginary), size);
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
    int half = number(z.real, 0.5), one = number(z.real, 1);
    // A quarter of a large number, whose absolute value may overflow, and twice its root.
    double limit = parser.shapeOf(z.real).type == DType::F32 ? double(std::numeric_limits<float>::max())
                                                             : std::numeric_limits<double>::max();
    int most = of(Opcode::Maximum, of(Opcode::Abs, z.real), of(Opcode::Abs, z.imaginary));
    int isLarge = compare(most, CompareDirection::Greater, number(z.real, limit / 4));
    int down = select(isLarge, number(z.real, 0.25), one), up = select(isLarge, number(z.real, 2), one);
    ComplexParts low = {multiply(z.real, down), multiply(z.imaginary, down)};
    int square = add(multiply(of(Opcode::Abs, low.real), half), multiply(absolute(low), half));
    int root = multiply(of(Opcode::Sqrt, square), up);
    // Not infinity by infinity.
    int other = select(of(Opcode::IsFinite, z.imaginary), divide(z.imaginary, add(root, root)), z.imaginary);
    int isLeft = compare(z.real, CompareDirection::Less, number(z.real, 0));
    // -0 is below the cut.
    int angle = of(Opcode::Atan2, z.imaginary, z.real);
    int isBelow = compare(angle, CompareDirection::Less, number(angle, 0));
    ComplexParts made =
        select(isLeft, {of(Opcode::Abs, other), select(isBelow, of(Opcode::Negate, root), root)}, {root, other});
    return select(isZero(root), {root, z.imaginary}, made);
  }
  ComplexParts power(ComplexParts z, ComplexParts by) {
    ComplexParts made = exponential(multiply(by, logarithm(z)));
    int none = number(z.real, 0), one = number(z.real, 1);
    auto isNone = [&](ComplexParts each) { return of(Opcode::And, isZero(each.real), isZero(each.imaginary)); };
    int isReal = of(Opcode::And, isZero(by.imaginary), compare(by.real, CompareDirection::Greater, none));
    made = select(of(Opcode::And, isNone(z), isReal), {none, none}, made);
    return select(isNone(by), {one, none}, made); // also of NaN
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
    return {multiplyUnlessZero(of(Opcode::Sine, z.real), cosh), multiply(of(Opcode::Cosine, z.real), sinh)};
  }
  ComplexParts cosine(ComplexParts z) {
    auto [sinh, cosh] = hyperbolic(z.imaginary);
    int sine = multiplyUnlessZero(of(Opcode::Sine, z.real), sinh);
    return {multiply(of(Opcode::Cosine, z.real), cosh), of(Opcode::Negate, sine)};
  }
  /// (sinh 2a + i sin 2b) / (cosh 2a + cos 2b), beyond 20 its limit.
  ComplexParts hyperbolicTangent(ComplexParts z) {
    int edge = number(z.real, 20);
    int real = parser.apply(Opcode::Clamp, {of(Opcode::Negate, edge), z.real, edge}, location);
    int angle = select(isInfinite(z.real), number(z.real, 0), z.imaginary); // which may be infinite as well
    auto [sinh, cosh] = hyperbolic(real);
    int sine = of(Opcode::Sine, angle), cosine = of(Opcode::Cosine, angle);
    int divisor = add(multiply(sinh, sinh), multiply(cosine, cosine));
    return {divide(multiply(sinh, cosh), divisor), divide(multiply(sine, cosine), divisor)};
  }
  ComplexParts logistic(ComplexParts z) {
    ComplexParts one = this->one(z);
    // Of what is not above 0, so that the exponential does not overflow: 1 / (1 + e^-z), or e^z / (1 + e^z).
    int isLeft = compare(z.real, CompareDirection::Less, one.imaginary);
    ComplexParts power = exponential(select(isLeft, z, {of(Opcode::Negate, z.real), of(Opcode::Negate, z.imaginary)}));
    return divide(select(isLeft, power, one), {add(power.real, one.real), power.imaginary});
  }
  ComplexParts reciprocalSquareRoot(ComplexParts z) { return divide(one(z), squareRoot(z)); }
  ComplexParts cubicRoot(ComplexParts z) { return power(z, {number(z.real, 1.0 / 3), number(z.real, 0)}); }
  /// -i tanh(iz)
  ComplexParts tangent(ComplexParts z) {
    ComplexParts made = hyperbolicTangent({of(Opcode::Negate, z.imaginary), z.real});
    return {made.imaginary, of(Opcode::Negate, made.real)};
  }
  ComplexParts sign(ComplexParts z) {
    int size = absolute(z);
    return select(isZero(size), z, {divide(z.real, size), divide(z.imaginary, size)});
  }

  /// What makes a complex array of one; null for other operations.
  using OfOne = ComplexParts (Arithmetic::*)(ComplexParts);
  static OfOne find(Opcode opcode) {
    static constexpr std::pair<Opcode, OfOne> all[] = {
        {Opcode::Exponential, &Arithmetic::exponential},
        {Opcode::ExponentialMinusOne, &Arithmetic::exponentialMinusOne},
        {Opcode::Log, &Arithmetic::logarithm},
        {Opcode::LogPlusOne, &Arithmetic::logarithmPlusOne},
        {Opcode::Sqrt, &Arithmetic::squareRoot},
        {Opcode::Rsqrt, &Arithmetic::reciprocalSquareRoot},
        {Opcode::Cbrt, &Arithmetic::cubicRoot},
        {Opcode::Logistic, &Arithmetic::logistic},
        {Opcode::Sine, &Arithmetic::sine},
        {Opcode::Cosine, &Arithmetic::cosine},
        {Opcode::Tan, &Arithmetic::tangent},
        {Opcode::Tanh, &Arithmetic::hyperbolicTangent},
        {Opcode::Sign, &Arithmetic::sign},
    };
    const auto *found = std::ranges::find(all, opcode, &std::pair<Opcode, OfOne>::first);
    return found == std::end(all) ? nullptr : found->second;
  }

private:
  ComplexParts one(ComplexParts like) { return {number(like.real, 1), number(like.real, 0)}; }
  int isInfinite(int a) {
    int infinite = number(a, std::numeric_limits<double>::infinity());
    return compare(of(Opcode::Abs, a), CompareDirection::Equal, infinite);
  }
  int isInfinite(ComplexParts z) { return of(Opcode::Or, isInfinite(z.real), isInfinite(z.imaginary)); }
  int isFinite(ComplexParts z) {
    return of(Opcode::And, of(Opcode::IsFinite, z.real), of(Opcode::IsFinite, z.imaginary));
  }
  /// 0 where `a` is 0, also when `b` is infinite.
  int multiplyUnlessZero(int a, int b) { return select(isZero(a), a, multiply(a, b)); }
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
  if (auto compute = Arithmetic::find(instruction.opcode))
    return complex((real.*compute)(of(0)));
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
  default:
    break;
  }
  cursor.fail(location, fmt::format("'{}' of complex arrays is not supported", opcodeName(instruction.opcode)),
              {"docs/hlo.md lists what is computed of them; `real` and `imag` give their parts"});
}

} // namespace heddle::hlo
