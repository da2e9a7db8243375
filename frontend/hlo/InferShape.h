// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The result shape of an instruction from its operands and attributes, and everything that must hold for it.
#pragma once
#include "frontend/hlo/Hlo.h"
#include "support/Error.h"

namespace heddle::hlo {

/// An instruction whose operands, attributes and called computations are complete.
struct ShapeQuery {
  const Module &module;
  const Computation &computation;
  const Instruction &instruction;
  const Shape *declared; ///< as the text has it; null when it has none

  size_t operandCount() const { return instruction.operands.size(); }
  const Shape &operand(size_t number) const { return computation.operand(instruction, number).shape; }
  /// An operand that must be an array.
  const Shape &arrayOperand(size_t number) const;
  const char *opcode() const { return opcodeName(instruction.opcode); }
  /// The declared shape of an operation that says nothing about it itself; must be an array.
  const Shape &needDeclaredArray() const;
  void checkDimension(int64_t dimension, const Shape &shape) const;
  void checkUniqueDimensions(const std::vector<int64_t> &dimensions, const Shape &shape) const;
};

/// Sets the shape of `instruction`, and the reduction kind of a collective. Throws Error{Input} without a location.
void checkInstruction(const Module &module, const Computation &computation, Instruction &instruction,
                      const Shape *declared);

// One for each family; they throw as above.
Shape inferElementwise(const ShapeQuery &query);
Shape inferMovement(const ShapeQuery &query);
Shape inferContraction(const ShapeQuery &query);
Shape inferStructure(const ShapeQuery &query);
/// `note` receives the group size and dimension that made the result.
Shape inferCollective(const ShapeQuery &query, std::string &note);
ReductionKind checkedReduction(const ShapeQuery &query);

} // namespace heddle::hlo
