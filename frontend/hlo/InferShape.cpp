// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What holds for every instruction: operand counts, agreement with the declared shape, bounds; and the instructions
// without operands.
#include "frontend/hlo/InferShape.h"
#include "frontend/hlo/ParseShape.h"
#include <fmt/format.h>
#include <set>

namespace heddle::hlo {
namespace {

void checkOperandCount(const ShapeQuery &query) {
  if (std::string wrong = wrongOperandCount(query.instruction.opcode, query.operandCount()); !wrong.empty())
    throw inputError(wrong);
}

Shape inferIota(const ShapeQuery &query) {
  const Shape &shape = query.needDeclaredArray();
  query.checkDimension(query.instruction.iotaDimension, shape);
  if (shape.type == DType::Pred || isComplex(shape.type))
    throw inputError(fmt::format("'iota' of type {} is not supported", dtypeName(shape.type)));
  return shape;
}

Shape inferSource(const ShapeQuery &query) {
  switch (query.instruction.opcode) {
  case Opcode::Iota:
    return inferIota(query);
  case Opcode::Parameter:
    if (!query.declared)
      throw inputError("the shape of 'parameter' cannot be inferred; write it");
    return *query.declared;
  case Opcode::Constant:
    return query.needDeclaredArray();
  default: // partition-id, replica-id
    return Shape::scalar(DType::U32);
  }
}

Shape infer(const ShapeQuery &query, std::string &note) {
  switch (opcodeClass(query.instruction.opcode)) {
  case OpcodeClass::Source:
    return inferSource(query);
  case OpcodeClass::Unary:
  case OpcodeClass::Binary:
  case OpcodeClass::Elementwise:
    return inferElementwise(query);
  case OpcodeClass::Movement:
    return inferMovement(query);
  case OpcodeClass::Contraction:
    return inferContraction(query);
  case OpcodeClass::Structure:
    return inferStructure(query);
  case OpcodeClass::Collective:
    break;
  }
  return inferCollective(query, note);
}

} // namespace

const Shape &ShapeQuery::arrayOperand(size_t number) const {
  const Shape &shape = operand(number);
  if (!shape.isArray())
    throw inputError(fmt::format("'{}' takes arrays, operand {} is {}", opcode(), number, formatShapePlain(shape)));
  return shape;
}

const Shape &ShapeQuery::needDeclaredArray() const {
  if (!declared)
    throw inputError(fmt::format("the shape of '{}' cannot be inferred; write it", opcode()));
  if (!declared->isArray())
    throw inputError(fmt::format("'{}' makes an array, its shape is {}", opcode(), formatShapePlain(*declared)));
  return *declared;
}

void ShapeQuery::checkDimension(int64_t dimension, const Shape &shape) const {
  if (dimension < 0 || dimension >= shape.rank())
    throw inputError(fmt::format("dimension {} is out of range for rank {}", dimension, shape.rank()),
                     {fmt::format("the shape is {}", formatShapePlain(shape))});
}

void ShapeQuery::checkUniqueDimensions(const std::vector<int64_t> &dimensions, const Shape &shape) const {
  std::set<int64_t> seen;
  for (int64_t dimension : dimensions) {
    checkDimension(dimension, shape);
    if (!seen.insert(dimension).second)
      throw inputError(fmt::format("'{}' names dimension {} twice", opcode(), dimension));
  }
}

void checkInstruction(const Module &module, const Computation &computation, Instruction &instruction,
                      const Shape *declared) {
  ShapeQuery query{module, computation, instruction, declared};
  checkOperandCount(query);
  if (instruction.opcode == Opcode::AllReduce || instruction.opcode == Opcode::ReduceScatter)
    instruction.collective->reduction = checkedReduction(query);
  std::string note;
  Shape expected = infer(query, note);
  if (!boundedSizeBytes(expected))
    throw inputError(fmt::format("the result {} is too large", formatShapePlain(expected)));
  std::vector<std::string> notes;
  if (!note.empty())
    notes.push_back(note);
  if (declared && !declared->sameAs(expected))
    throw inputError(fmt::format("the shape of '{}' is written as {}, its operands make it {}", query.opcode(),
                                 formatShapePlain(*declared), formatShapePlain(expected)),
                     notes);
  instruction.shape = declared ? *declared : expected;
}

} // namespace heddle::hlo
