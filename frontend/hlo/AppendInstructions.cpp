// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small instructions that the parser adds itself, for operations that it reads as several others (Read*.cpp).
#include "frontend/hlo/ParseInstruction.h"
#include <utility>

namespace heddle::hlo {

int InstructionParser::reshape(int value, const std::vector<int64_t> &dimensions, Location location) {
  Instruction instruction;
  instruction.opcode = Opcode::Reshape;
  instruction.operands = {value};
  Shape shape = Shape::array(computation.instructions[size_t(value)].shape.type, dimensions);
  return append(std::move(instruction), location, &shape);
}

int InstructionParser::convert(int value, DType type, Location location) {
  Instruction instruction;
  instruction.opcode = Opcode::Convert;
  instruction.operands = {value};
  Shape shape = Shape::array(type, shapeOf(value).dimensions);
  return append(std::move(instruction), location, &shape);
}

int InstructionParser::iota(const std::vector<int64_t> &sizes, int64_t dimension, Location location) {
  Instruction instruction;
  instruction.opcode = Opcode::Iota;
  instruction.iotaDimension = dimension;
  Shape shape = Shape::array(DType::S32, sizes);
  return append(std::move(instruction), location, &shape);
}

int InstructionParser::compare(int left, CompareDirection direction, int right, Location location, bool totalOrder) {
  Instruction instruction;
  instruction.opcode = Opcode::Compare;
  instruction.operands = {left, right};
  instruction.direction = direction;
  instruction.totalOrder = totalOrder;
  return append(std::move(instruction), location);
}

int InstructionParser::constant(const std::vector<int64_t> &values, Location location) {
  Instruction instruction;
  instruction.opcode = Opcode::Constant;
  instruction.literal.assign(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(int64_t));
  Shape shape = Shape::array(DType::S64, {int64_t(values.size())});
  return append(std::move(instruction), location, &shape);
}

int InstructionParser::number(int64_t value, DType type, Location location) {
  Instruction instruction;
  instruction.opcode = Opcode::Constant;
  instruction.literal.assign(reinterpret_cast<const char *>(&value), sizeof value);
  Shape shape = Shape::scalar(DType::S64);
  int made = append(std::move(instruction), location, &shape);
  return type == DType::S64 ? made : convert(made, type, location);
}

int InstructionParser::contract(int left, int64_t leftDimension, int right, int64_t rightDimension, Location location) {
  Instruction dot;
  dot.opcode = Opcode::Dot;
  dot.operands = {left, right};
  dot.dot.lhsContracting = {leftDimension};
  dot.dot.rhsContracting = {rightDimension};
  return append(std::move(dot), location);
}

int InstructionParser::apply(Opcode opcode, std::vector<int> operands, Location location) {
  Instruction instruction;
  instruction.opcode = opcode;
  instruction.operands = std::move(operands);
  return append(std::move(instruction), location);
}

} // namespace heddle::hlo
