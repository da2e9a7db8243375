// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations on complex arrays are read as operations on their real and imaginary parts, so that after the parser a
// complex array is only made of two real ones (`complex`), passed on, and taken apart (`real`, `imag`).
#include "frontend/hlo/ReadComplex.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
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

} // namespace heddle::hlo
