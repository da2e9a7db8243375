// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Computations of scalars, as reductions, scatters and sorts call them: their operations on arrays, and new ones.
#include "frontend/hlo/ParseInstruction.h"
#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <utility>

namespace heddle::hlo {

int InstructionParser::element(int tuple, int64_t number, Location location) {
  Instruction instruction;
  instruction.opcode = Opcode::GetTupleElement;
  instruction.operands = {tuple};
  instruction.tupleIndex = number;
  return append(std::move(instruction), location);
}

std::vector<int> InstructionParser::applyToArrays(const Computation &region, const std::vector<int> &arguments,
                                                  Location location) {
  std::vector<std::vector<int>> values; // of each instruction, the elements of its result
  std::vector<int64_t> sizes = shapeOf(arguments[0]).dimensions;
  auto applied = [&](const Instruction &instruction) -> std::vector<int> {
    std::vector<int> operands;
    for (int operand : instruction.operands)
      std::ranges::copy(values[size_t(operand)], std::back_inserter(operands));
    Shape shape = instruction.shape;
    switch (instruction.opcode) {
    case Opcode::Parameter: {
      int argument = arguments[size_t(instruction.parameterNumber)];
      if (shape.isScalar() && shape.type != shapeOf(argument).type)
        cursor.fail(location, fmt::format("parameter {} of the computation '{}' is {}, and is given {}",
                                          instruction.parameterNumber, region.name, formatShapePlain(shape),
                                          formatShapePlain(Shape::scalar(shapeOf(argument).type))));
      return {argument};
    }
    case Opcode::Copy:
    case Opcode::Tuple:
      return operands;
    case Opcode::GetTupleElement:
      if (size_t(instruction.tupleIndex) >= operands.size())
        break; // of a parameter that is a tuple
      return {operands[size_t(instruction.tupleIndex)]};
    case Opcode::Call:
    case Opcode::Fusion:
      if (context.module.computation(instruction.calledComputation).parameters.size() != operands.size())
        break;
      return applyToArrays(Computation(context.module.computation(instruction.calledComputation)), operands, location);
    case Opcode::Constant: {
      Instruction copy = instruction;
      copy.name.clear();
      copy.users.clear();
      int value = append(std::move(copy), location, &shape);
      return {sizes.empty() ? value : broadcast(value, {}, sizes, location)};
    }
    default:
      break;
    }
    bool isBitcast = instruction.opcode == Opcode::Bitcast;
    if ((!isElementwise(instruction.opcode) && !isBitcast) || !shape.isScalar())
      cursor.fail(location, fmt::format("`{}` in the computation `{}` is not element-wise",
                                        opcodeName(instruction.opcode), region.name));
    Instruction copy = instruction;
    copy.opcode = isBitcast ? Opcode::BitcastConvert : instruction.opcode;
    copy.name.clear();
    copy.users.clear();
    copy.operands = operands;
    shape = Shape::array(shape.type, sizes);
    return {append(std::move(copy), location, &shape)};
  };
  for (const Instruction &instruction : region.instructions)
    values.push_back(applied(instruction));
  return values[size_t(region.root)];
}

void InstructionParser::checkCombines(const Computation &region, DType type, DType result, std::string_view opcode,
                                      Location location) {
  Shape scalar = Shape::scalar(type), made = Shape::scalar(result);
  if (region.parameters.size() != 2 || !region.parameter(0).shape.sameAs(scalar) ||
      !region.parameter(1).shape.sameAs(scalar) || !region.rootInstruction().shape.sameAs(made))
    cursor.fail(location, fmt::format("computation '{}' does not make {} of two {}, as '{}' needs", region.name,
                                      formatShapePlain(made), formatShapePlain(scalar), opcode));
}

int InstructionParser::addComputation(const std::string &name, const std::vector<Shape> &parameters, const Body &body,
                                      Location location) {
  Computation made;
  made.location = location;
  InstructionParser parser(context, made);
  for (size_t i = 0; i < parameters.size(); ++i) {
    Instruction parameter;
    parameter.opcode = Opcode::Parameter;
    parameter.parameterNumber = int64_t(i);
    made.parameters.push_back(parser.append(std::move(parameter), location, &parameters[i]));
  }
  std::vector<int> results = body(parser, std::vector<int>(made.parameters));
  made.root = results.size() == 1 ? results[0] : parser.apply(Opcode::Tuple, results, location);
  parser.finish();
  int index = int(context.module.computations.size());
  for (int number = 0; made.name.empty() || context.computationNames.contains(made.name); ++number)
    made.name = fmt::format("{}.in-place{}", name, number ? fmt::format(".{}", number) : "");
  context.computationNames.emplace(made.name, index);
  context.module.computations.push_back(std::move(made));
  return index;
}

int InstructionParser::regionOf(const Instruction &reduction, Location location) {
  const Computation region = context.module.computation(reduction.calledComputation); // a new one may move it
  bool isPlain = std::ranges::all_of(region.instructions, [](const Instruction &instruction) {
    Opcode opcode = instruction.opcode;
    return (isElementwise(opcode) && opcode != Opcode::Copy) || opcode == Opcode::Parameter ||
           opcode == Opcode::Constant || opcode == Opcode::Tuple;
  });
  bool isOfScalars = std::ranges::all_of(
      region.parameters, [&](int parameter) { return region.instructions[size_t(parameter)].shape.isScalar(); });
  if (isPlain || !isOfScalars)
    return reduction.calledComputation;
  std::vector<Shape> shapes;
  for (size_t i = 0; i < region.parameters.size(); ++i)
    shapes.push_back(region.parameter(i).shape);
  auto body = [&](InstructionParser &parser, const std::vector<int> &parameters) {
    return parser.applyToArrays(region, parameters, location);
  };
  return addComputation(region.name, shapes, body, location);
}

} // namespace heddle::hlo
