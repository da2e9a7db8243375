// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// conditional is read as calls of all branches and selects, so that nothing after the parser knows it. A branch with a
// loop, which may not end for other inputs, is a loop of one trip or none.
#include "frontend/hlo/Matrices.h"
#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <utility>

namespace heddle::hlo {

// For each branch but the last a pred that chooses it. An index that is no branch's chooses the last.
std::vector<int> InstructionParser::selectorsOf(const Definition &definition, const Instruction &conditional,
                                                size_t branches) {
  int selector = conditional.operands.empty() ? -1 : conditional.operands[0];
  Shape shape = selector < 0 ? Shape() : computation.instructions[size_t(selector)].shape;
  bool isPred = shape.sameAs(Shape::scalar(DType::Pred)) && branches == 2;
  if (branches == 0 || conditional.operands.size() != branches + 1 ||
      (!isPred && !shape.sameAs(Shape::scalar(DType::S32))))
    cursor.fail(
        definition.location,
        fmt::format("'conditional' takes a pred for two branches, or an s32, and an operand for each branch; it has {} "
                    "operands and {} branches",
                    conditional.operands.size(), branches));
  if (isPred)
    return {selector};
  std::vector<int> selectors;
  for (size_t branch = 0; branch + 1 < branches; ++branch) {
    Instruction number, compare;
    auto value = int32_t(branch);
    number.opcode = Opcode::Constant;
    number.literal.assign(reinterpret_cast<const char *>(&value), sizeof value);
    compare.opcode = Opcode::Compare;
    compare.operands = {selector, append(std::move(number), definition.location, &shape)};
    selectors.push_back(append(std::move(compare), definition.location));
  }
  return selectors;
}

/// `seen`: computations without one.
static bool hasLoop(const Module &module, int number, std::set<int> &seen) {
  if (!seen.insert(number).second)
    return false;
  return std::ranges::any_of(module.computation(number).instructions, [&](const Instruction &instruction) {
    bool calls = instruction.opcode == Opcode::Call || instruction.opcode == Opcode::Fusion;
    return instruction.opcode == Opcode::While || (calls && hasLoop(module, instruction.calledComputation, seen));
  });
}

int InstructionParser::zerosOf(const Shape &shape, Location location) {
  Instruction made;
  if (shape.isTuple()) {
    made.opcode = Opcode::Tuple;
    for (const Shape &element : shape.elements)
      made.operands.push_back(zerosOf(element, location));
    return append(std::move(made), location);
  }
  if (!shape.isArray()) {
    made.opcode = Opcode::AfterAll;
    return append(std::move(made), location);
  }
  Shape scalar = Shape::scalar(shape.type);
  made.opcode = Opcode::Constant;
  made.literal.assign(size_t(elementSizeBytes(shape.type)), '\0');
  int zero = append(std::move(made), location, &scalar);
  return shape.isScalar() ? zero : broadcast(zero, {}, shape.dimensions, location);
}

int InstructionParser::callOnlyIf(int chosen, const Instruction &call, Location location) {
  const Shape result = context.module.computation(call.calledComputation).rootInstruction().shape;
  Matrices matrices{*this, location};
  auto isChosen = [](Matrices &m, int number, const std::vector<int> &state) {
    return m.compare(number, CompareDirection::Less, state[0]);
  };
  auto step = [&](Matrices &m, int, const std::vector<int> &state) {
    Instruction inside = call;
    inside.operands = {state[1]};
    return std::vector<int>{state[0], state[1], m.parser.append(std::move(inside), location)};
  };
  return matrices.loopWhile({convert(chosen, DType::S32, location), call.operands[0], zerosOf(result, location)},
                            isChosen, step)[2];
}

InstructionParser::Binding InstructionParser::finishConditional(Definition &definition,
                                                                const Instruction &conditional) {
  std::vector<int> branches = context.attributes.branches, results;
  std::vector<int> selectors = selectorsOf(definition, conditional, branches.size());
  auto isChosen = [&](size_t branch) { // the last one, where no other is
    if (branch < selectors.size())
      return selectors[branch];
    int isOther = selectors[0];
    for (size_t other = 1; other < selectors.size(); ++other)
      isOther = apply(Opcode::Or, {isOther, selectors[other]}, definition.location);
    return apply(Opcode::Not, {isOther}, definition.location);
  };
  for (size_t branch = 0; branch < branches.size(); ++branch) {
    Instruction call;
    call.opcode = Opcode::Call;
    call.operands = {conditional.operands[branch + 1]};
    call.calledComputation = branches[branch];
    std::set<int> seen;
    bool isAlone = selectors.empty() || !hasLoop(context.module, branches[branch], seen);
    results.push_back(isAlone ? append(std::move(call), definition.location)
                              : callOnlyIf(isChosen(branch), call, definition.location));
  }
  Shape shape = shapeOf(results[0]);
  for (size_t branch = 1; branch < results.size(); ++branch)
    if (!shapeOf(results[branch]).sameAs(shape))
      cursor.fail(definition.location, fmt::format("branches of 'conditional' give {} and {}", formatShapePlain(shape),
                                                   formatShapePlain(shapeOf(results[branch]))));
  // The result, or element `number` of it, of each branch, of which one is selected.
  auto selected = [&](std::optional<int64_t> number) {
    std::vector<int> values = results;
    for (int &value : values)
      if (number) {
        Instruction element;
        element.opcode = Opcode::GetTupleElement;
        element.operands = {value};
        element.tupleIndex = *number;
        value = append(std::move(element), definition.location);
      }
    Instruction select;
    select.opcode = Opcode::Copy; // of a single branch
    select.operands = {values.back()};
    for (size_t branch = selectors.size(); branch-- > 0;) {
      int otherwise = branch + 1 == selectors.size() ? values.back() : append(select, definition.location);
      select.opcode = Opcode::Select;
      select.operands = {selectors[branch], values[branch], otherwise};
    }
    return select;
  };
  Instruction result;
  if (shape.isTuple()) {
    result.opcode = Opcode::Tuple;
    for (size_t i = 0; i < shape.elements.size(); ++i)
      result.operands.push_back(append(selected(int64_t(i)), definition.location));
  } else {
    result = selected(std::nullopt);
  }
  return finishAs(definition, conditional, std::move(result));
}

} // namespace heddle::hlo
