// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An instruction is checked as soon as it is read, so that a wrong one is reported where it stands.
#include "frontend/hlo/ParseInstruction.h"
#include "frontend/hlo/InferShape.h"
#include "frontend/hlo/ParseShape.h"
#include "support/Suggest.h"
#include <algorithm>
#include <fmt/format.h>
#include <string_view>

namespace heddle::hlo {

static constexpr int deepestInlineOperand = 32;

// Operations that are read as several others (Read*.cpp).
const InstructionParser::WrittenOut *InstructionParser::findWrittenOut(std::string_view text) {
  static constexpr WrittenOut all[] = {
      {"add-dependency", &InstructionParser::finishAddDependency},
      {"conditional", &InstructionParser::finishConditional},
      {"get-dimension-size", &InstructionParser::finishDimensionSize},
      {"reduce-window", &InstructionParser::finishReduceWindow},
      {"select-and-scatter", &InstructionParser::finishSelectAndScatter},
      {"convolution", &InstructionParser::finishConvolution},
      {"sort", &InstructionParser::finishSort},
      {"topk", &InstructionParser::finishTop},
      {"scatter", &InstructionParser::finishScatter},
      {"map", &InstructionParser::finishMap},
      {"reduce-precision", &InstructionParser::finishReducePrecision},
      {"rng-bit-generator", &InstructionParser::finishRandomBits},
      {"cholesky", &InstructionParser::finishCholesky},
      {"triangular-solve", &InstructionParser::finishTriangularSolve},
      {"custom-call", &InstructionParser::finishCustomCall},
      {"fft", &InstructionParser::finishFourier},
  };
  auto found = std::ranges::find(all, text, &WrittenOut::name);
  return found == std::end(all) ? nullptr : found;
}

int InstructionParser::parseInstruction() {
  Location location = cursor.here();
  std::string name = cursor.name("an instruction");
  if (names.contains(name))
    cursor.fail(location, fmt::format("the name '{}' is defined twice", name.substr(0, 60)),
                {"names are unique in a computation"});
  cursor.expect("=");
  Binding binding = parseDefinition(name, location, 0);
  names.emplace(name, binding);
  return binding.index;
}

OpcodeWord InstructionParser::parseOpcode(Definition &definition) {
  Location location = cursor.here();
  definition.text = cursor.word("an opcode");
  if (auto word = findOpcodeWord(definition.text))
    return *word;
  if (findWrittenOut(definition.text))
    return {AsyncRole::None, Opcode::Call, false};
  std::vector<std::string> known, notes;
  for (Opcode opcode : allOpcodes())
    known.push_back(opcodeName(opcode));
  std::string nearest = closestName(definition.text, known);
  if (!nearest.empty() && !isRefusedOpcode(definition.text))
    notes.push_back(fmt::format("did you mean '{}'?", nearest));
  notes.push_back("docs/hlo.md lists the operations that are read");
  std::string shown = definition.text.substr(0, 60);
  cursor.fail(location,
              isRefusedOpcode(definition.text) ? fmt::format("'{}' is not supported", shown)
                                               : fmt::format("unknown opcode '{}'", shown),
              notes);
}

InstructionParser::Binding InstructionParser::parseDefinition(const std::string &name, Location location, int depth) {
  Definition definition{name, location, std::nullopt, "", {}};
  if (standsAtShape(cursor))
    definition.declared = parseShape(cursor);
  definition.word = parseOpcode(definition);
  if (definition.word.role == AsyncRole::Update || definition.word.role == AsyncRole::Done)
    return parseSecondHalf(definition);
  Instruction instruction;
  instruction.name = name;
  instruction.location = location;
  instruction.opcode = definition.word.opcode.value_or(Opcode::Call);
  parseOperands(definition, instruction, depth);
  const WrittenOut *writtenOut = findWrittenOut(definition.text);
  context.writtenOut = writtenOut != nullptr;
  context.attributes = {};
  parseAttributes(context, instruction, depth ? AttributePlace::Operand : AttributePlace::Instruction);
  if (!context.attributes.branches.empty() && definition.text != "conditional" && definition.text != "custom-call")
    cursor.fail(location, fmt::format("'{}' has no branches", definition.text), {"'conditional' has"});
  if (writtenOut)
    return (this->*writtenOut->finish)(definition, instruction);
  if (!instruction.dimensions.empty() && instruction.opcode == Opcode::Call)
    cursor.fail(location, fmt::format("'{}' has no dimensions", definition.text));
  if (!context.attributes.window.empty() || !context.attributes.labels.empty())
    cursor.fail(location, fmt::format("'{}' has no window", definition.text),
                {"'reduce-window', 'select-and-scatter' and 'convolution' have"});
  if (context.attributes.select >= 0 || context.attributes.scatter >= 0)
    cursor.fail(location, fmt::format("'{}' has no select and no scatter", definition.text),
                {"'select-and-scatter' has"});
  bool isOfPred = std::ranges::all_of(instruction.operands, [&](int operand) {
    return shapeOf(operand).isArray() && shapeOf(operand).type == DType::Pred;
  });
  if (instruction.opcode == Opcode::Dot && isOfPred)
    return finishDotOfPred(definition, std::move(instruction));
  Opcode opcode = instruction.opcode;
  bool reduces = opcode == Opcode::Reduce || opcode == Opcode::AllReduce || opcode == Opcode::ReduceScatter;
  if (reduces && instruction.calledComputation >= 0)
    instruction.calledComputation = regionOf(instruction, location);
  return finishDefinition(definition, std::move(instruction));
}

int InstructionParser::append(Instruction instruction, Location location, const Shape *declared) {
  if (auto made = appendComplex(instruction, location, declared))
    return *made;
  instruction.location = location;
  instruction.index = int(computation.instructions.size());
  check(location, instruction, declared);
  computation.instructions.push_back(std::move(instruction));
  return computation.instructions.back().index;
}

void InstructionParser::parseOperands(const Definition &definition, Instruction &instruction, int depth) {
  Location opened = cursor.here();
  cursor.expect("(");
  if (instruction.opcode == Opcode::Parameter) {
    instruction.parameterNumber = cursor.integer();
  } else if (instruction.opcode == Opcode::Constant) {
    if (!definition.declared)
      cursor.fail(definition.location, "the shape of 'constant' cannot be inferred; write it");
    instruction.literal = parseLiteral(cursor, *definition.declared);
  } else if (cursor.peek() != ')') {
    do
      instruction.operands.push_back(parseOperand(depth));
    while (cursor.accept(","));
  }
  if (cursor.atEnd())
    cursor.fail(opened, "this '(' is not closed");
  cursor.expect(")");
}

const InstructionParser::Binding &InstructionParser::lookUp(const std::string &name, Location location) {
  auto found = names.find(name);
  if (found != names.end())
    return found->second;
  std::vector<std::string> known, notes = {"an operand is defined earlier in its computation"};
  if (names.size() < 1000)
    for (const auto &[other, binding] : names)
      known.push_back(other);
  std::sort(known.begin(), known.end());
  std::string nearest = closestName(name, known);
  if (!nearest.empty())
    notes.insert(notes.begin(), fmt::format("did you mean '{}'?", nearest));
  cursor.fail(location, fmt::format("there is no instruction '{}'", name.substr(0, 60)), notes);
}

int InstructionParser::parseOperand(int depth) {
  Location location = cursor.here();
  std::optional<Shape> shape;
  size_t start = cursor.offset();
  if (standsAtShape(cursor))
    shape = parseShape(cursor);
  Binding binding;
  if (cursor.peek() != '%' && cursor.peekBehindWord() == '(') {
    if (depth == deepestInlineOperand)
      cursor.fail(location, fmt::format("operands are nested more than {} deep", deepestInlineOperand));
    cursor.moveTo(start); // the shape belongs to the definition
    binding = parseDefinition("", location, depth + 1);
  } else {
    binding = lookUp(cursor.name("an operand"), location);
  }
  if (binding.started) {
    const Started &start = started.at(binding.index);
    cursor.fail(location, fmt::format("'{}' is the result of '{}'; only its -done may use it", start.name, start.text));
  }
  const Shape &actual = computation.instructions[size_t(binding.index)].shape;
  if (shape && !shape->sameAs(actual))
    cursor.fail(location, fmt::format("the operand is written as {}, its definition makes it {}",
                                      formatShapePlain(*shape), formatShapePlain(actual)));
  return binding.index;
}

int InstructionParser::parseStartedOperand(const Definition &definition) {
  Location opened = cursor.here();
  cursor.expect("(");
  Location location = cursor.here();
  if (standsAtShape(cursor))
    parseShape(cursor);
  std::string name = cursor.name("an operand");
  Binding binding = lookUp(name, location);
  if (cursor.atEnd())
    cursor.fail(opened, "this '(' is not closed");
  cursor.expect(")");
  const Instruction &operand = computation.instructions[size_t(binding.index)];
  if (!binding.started)
    cursor.fail(location, fmt::format("the operand of '{}' must be a start, '{}' is '{}'", definition.text, name,
                                      opcodeName(operand.opcode)));
  const Started &start = started.at(binding.index);
  bool matches = definition.word.opcode
                     ? definition.word.opcode == operand.opcode && definition.word.dedicated == start.word.dedicated
                     : !start.word.dedicated;
  if (!matches)
    cursor.fail(location,
                fmt::format("'{}' does not match its operand '{}', which is '{}'", definition.text, name, start.text));
  return binding.index;
}

InstructionParser::Binding InstructionParser::parseSecondHalf(const Definition &definition) {
  int index = parseStartedOperand(definition);
  Instruction ignored;
  ignored.opcode = Opcode::Call;
  ignored.location = definition.location;
  parseAttributes(context, ignored, AttributePlace::SecondHalf);
  Started &start = started.at(index);
  if (start.done)
    cursor.fail(definition.location, fmt::format("'{}' of '{}' comes after its done", definition.text, start.name));
  bool update = definition.word.role == AsyncRole::Update;
  const Shape &expected = update ? start.declared : computation.instructions[size_t(index)].shape;
  if (definition.declared && !definition.declared->sameAs(expected))
    cursor.fail(definition.location,
                fmt::format("the shape of '{}' is written as {}, its start '{}' makes it {}", definition.text,
                            formatShapePlain(*definition.declared), start.name, formatShapePlain(expected)));
  start.done = !update;
  return {index, update};
}

void InstructionParser::check(Location location, Instruction &instruction, const Shape *declared) {
  located(location, [&] { checkInstruction(context.module, computation, instruction, declared); });
}

InstructionParser::Binding InstructionParser::finishDefinition(Definition &definition, Instruction instruction) {
  bool start = definition.word.role == AsyncRole::Start;
  std::optional<Shape> declared = definition.declared;
  if (start) {
    if (!declared)
      cursor.fail(definition.location, fmt::format("the shape of '{}' cannot be inferred; write it", definition.text));
    std::vector<Shape> operands;
    for (int operand : instruction.operands)
      operands.push_back(computation.instructions[size_t(operand)].shape);
    declared = located(definition.location,
                       [&] { return resultOfStart(definition.word, definition.text, *declared, operands); });
    instruction.asynchronous = true;
  }
  if (auto made = appendComplex(instruction, definition.location, declared ? &*declared : nullptr)) {
    Instruction &last = computation.instructions[size_t(*made)];
    if (declared && !declared->sameAs(last.shape))
      cursor.fail(definition.location,
                  fmt::format("the shape of '{}' is written as {}, its operands make it {}", definition.text,
                              formatShapePlain(*declared), formatShapePlain(last.shape)));
    if (last.name.empty()) {
      last.name = definition.name;
      last.carried = instruction.carried;
    }
    return {*made, false};
  }
  instruction.index = int(computation.instructions.size());
  check(definition.location, instruction, declared ? &*declared : nullptr);
  if (start && !definition.word.opcode) {
    Shape shape = instruction.shape;
    inlineWrapped(context.module, instruction);
    instruction.shape = shape;
    instruction.asynchronous = true;
  }
  if (start)
    started[instruction.index] = {definition.text, definition.name, definition.word, definition.location,
                                  *definition.declared};
  int index = instruction.index;
  computation.instructions.push_back(std::move(instruction));
  return {index, start};
}

void InstructionParser::nameInlineOperands() {
  for (Instruction &instruction : computation.instructions) {
    if (!instruction.name.empty())
      continue;
    std::string base = fmt::format("{}.in-place", opcodeName(instruction.opcode));
    std::string name = base;
    for (int number = 1; names.contains(name); ++number)
      name = fmt::format("{}.{}", base, number);
    names[name] = {instruction.index, false};
    instruction.name = name;
  }
}

void InstructionParser::finish() {
  for (const auto &[index, start] : started)
    if (!start.done)
      cursor.fail(start.location, fmt::format("'{}' ('{}') has no done", start.name, start.text),
                  {"the result of an asynchronous operation exists after its -done"});
  nameInlineOperands();
  for (Instruction &instruction : computation.instructions)
    for (int operand : instruction.operands) {
      std::vector<int> &users = computation.instructions[size_t(operand)].users;
      if (users.empty() || users.back() != instruction.index)
        users.push_back(instruction.index);
    }
}

} // namespace heddle::hlo
