// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names of values in a module, and what a reduction region does.
#include "frontend/hlo/Hlo.h"
#include <algorithm>
#include <set>

namespace heddle::hlo {

bool GatherDimensions::isLeftOut(int64_t dimension) const {
  return std::ranges::find(collapsed, dimension) != collapsed.end() ||
         std::ranges::find(operandBatch, dimension) != operandBatch.end();
}

const char *compareDirectionName(CompareDirection direction) {
  constexpr const char *names[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
  return names[size_t(direction)];
}

const char *reductionKindName(ReductionKind kind) {
  constexpr const char *names[] = {"add", "multiply", "minimum", "maximum", "and", "or"};
  return names[size_t(kind)];
}

const Instruction *Computation::find(std::string_view instructionName) const {
  for (const Instruction &instruction : instructions)
    if (instruction.name == instructionName)
      return &instruction;
  return nullptr;
}

std::optional<ReductionKind> reductionKindOf(const Computation &computation) {
  if (computation.parameters.size() != 2)
    return std::nullopt;
  const Instruction &root = computation.rootInstruction();
  std::set<int> parameters(computation.parameters.begin(), computation.parameters.end());
  if (std::set<int>(root.operands.begin(), root.operands.end()) != parameters || !root.shape.isScalar())
    return std::nullopt;
  bool logical = root.shape.type == DType::Pred;
  switch (root.opcode) {
  case Opcode::Add:
    return logical ? ReductionKind::Or : ReductionKind::Add;
  case Opcode::Multiply:
    return logical ? ReductionKind::And : ReductionKind::Multiply;
  case Opcode::Minimum:
    return logical ? ReductionKind::And : ReductionKind::Minimum;
  case Opcode::Maximum:
    return logical ? ReductionKind::Or : ReductionKind::Maximum;
  case Opcode::And:
    return ReductionKind::And;
  case Opcode::Or:
    return ReductionKind::Or;
  default:
    return std::nullopt;
  }
}

} // namespace heddle::hlo
