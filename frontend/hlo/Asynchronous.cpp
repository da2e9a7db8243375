// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each family declares its start differently: all-reduce as its result, all-gather, collective-permute and copy as
// (operand, result, ...), the generic form as ((operands), result, ...).
#include "frontend/hlo/Asynchronous.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle::hlo {
namespace {

Shape joined(const std::vector<Shape> &shapes) {
  return shapes.size() == 1 ? shapes[0] : Shape::tuple(shapes);
}

bool isDedicated(Opcode opcode) {
  return opcode == Opcode::Copy || opcode == Opcode::AllReduce || opcode == Opcode::AllGather ||
         opcode == Opcode::CollectivePermute;
}

} // namespace

std::optional<OpcodeWord> findOpcodeWord(std::string_view word) {
  if (auto opcode = findOpcode(word))
    return OpcodeWord{AsyncRole::None, opcode, false};
  constexpr std::pair<std::string_view, AsyncRole> suffixes[] = {
      {"-start", AsyncRole::Start}, {"-update", AsyncRole::Update}, {"-done", AsyncRole::Done}};
  for (auto [suffix, role] : suffixes) {
    if (!word.ends_with(suffix) || isRefusedOpcode(word))
      continue;
    std::string_view base = word.substr(0, word.size() - suffix.size());
    if (base == "async")
      return OpcodeWord{role, std::nullopt, false};
    auto opcode = findOpcode(base);
    if (opcode && !(isDedicated(*opcode) && role == AsyncRole::Update) && opcodeClass(*opcode) != OpcodeClass::Source)
      return OpcodeWord{role, opcode, isDedicated(*opcode)};
  }
  return std::nullopt;
}

Shape resultOfStart(const OpcodeWord &word, const std::string &text, const Shape &declared,
                    const std::vector<Shape> &operands) {
  if (word.opcode == Opcode::AllReduce)
    return declared;
  Shape expected = word.dedicated ? joined(operands) : Shape::tuple(operands);
  if (declared.isTuple() && declared.elements.size() >= 2 && declared.elements[0].sameAs(expected))
    return declared.elements[1];
  throw inputError(
      fmt::format("the shape of '{}' is written as {}; expects a tuple that begins with its operands {} and "
                  "its result",
                  text, formatShapePlain(declared), formatShapePlain(expected)));
}

void inlineWrapped(const Module &module, Instruction &call) {
  const Computation &wrapped = module.computation(call.calledComputation);
  const Instruction &root = wrapped.rootInstruction();
  bool trivial = isCollective(root.opcode) && wrapped.instructions.size() == wrapped.parameters.size() + 1;
  if (!trivial || call.operands.size() != wrapped.parameters.size())
    return;
  Instruction inlined = root;
  inlined.name = call.name;
  inlined.index = call.index;
  inlined.location = call.location;
  inlined.users.clear();
  inlined.operands.clear();
  for (int operand : root.operands)
    inlined.operands.push_back(call.operands[size_t(wrapped.instructions[size_t(operand)].parameterNumber)]);
  for (const CarriedAttribute &attribute : call.carried)
    if (std::none_of(inlined.carried.begin(), inlined.carried.end(),
                     [&](const CarriedAttribute &other) { return other.name == attribute.name; }))
      inlined.carried.push_back(attribute);
  call = std::move(inlined);
}

} // namespace heddle::hlo
