// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The module around its instructions: header, tables of source places, computations.
#include "frontend/hlo/Parser.h"
#include "frontend/hlo/ParseGroups.h"
#include "frontend/hlo/ParseInstruction.h"
#include "frontend/hlo/ParseShape.h"
#include <fmt/format.h>

namespace heddle::hlo {
namespace {

/// `(name: shape, ...) -> shape` before the body of a computation.
struct Signature {
  Location location;
  std::vector<Shape> parameters;
  Shape result;
};

class ModuleParser {
public:
  ModuleParser(std::string_view text, const std::string &fileName, const ParseOptions &options)
      : cursor(text, fileName), context{cursor, module, {}} {
    module.fileName = fileName;
    module.replicaCount = options.replicaCount;
    module.partitionCount = options.partitionCount;
    wantedDevices = options.deviceCount;
  }

  Module parse() {
    parseHeader();
    while (!cursor.atEnd())
      if (!skipSourceTable())
        parseComputation();
    if (module.computations.empty())
      cursor.failHere("the module has no computation");
    if (module.entry < 0)
      module.entry = int(module.computations.size()) - 1;
    return std::move(module);
  }

private:
  void parseHeader();
  int64_t parseCount(const char *what);
  bool skipSourceTable();
  void parseComputation();
  Signature parseSignature();
  void parseBody(Computation &computation);
  void collectParameters(Computation &computation);
  void checkSignature(const Computation &computation, const Signature &signature);

  Cursor cursor;
  Module module;
  int64_t wantedDevices = 0; ///< ParseOptions::deviceCount
  ParseContext context;
};

int64_t ModuleParser::parseCount(const char *what) {
  Location location = cursor.here();
  int64_t count = cursor.integer();
  if (count < 1 || count > mostDevices)
    cursor.fail(location, fmt::format("{}={} is not between 1 and {}", what, count, mostDevices));
  return count;
}

void ModuleParser::parseHeader() {
  Location location = cursor.here();
  if (cursor.peekWord() != "HloModule")
    cursor.fail(location, "expects 'HloModule' and the name of the module");
  cursor.accept("HloModule");
  module.name = cursor.name("the name of the module");
  bool namesReplicas = false;
  while (cursor.accept(",")) {
    std::string name(cursor.word("an attribute of the module"));
    cursor.expect("=");
    if (name == "replica_count") {
      module.replicaCount = parseCount("replica_count");
      namesReplicas = true;
    } else if (name == "num_partitions") {
      module.partitionCount = parseCount("num_partitions");
    } else {
      module.carried.push_back({name, cursor.rawValue()});
    }
  }
  if (!namesReplicas && module.partitionCount > 0 && wantedDevices % module.partitionCount == 0 && wantedDevices)
    module.replicaCount = wantedDevices / module.partitionCount;
  if (module.replicaCount < 1 || module.partitionCount < 1 || module.replicaCount > mostDevices ||
      module.partitionCount > mostDevices || module.deviceCount() > mostDevices)
    cursor.fail(location, fmt::format("{} replicas of {} partitions; {} devices are the most", module.replicaCount,
                                      module.partitionCount, mostDevices));
}

/// XLA prints the source places that metadata refers to between the header and the computations.
bool ModuleParser::skipSourceTable() {
  std::string_view word = cursor.peekWord();
  bool table = word == "FileNames" || word == "FunctionNames" || word == "FileLocations" || word == "StackFrames";
  char next = cursor.peekBehindWord();
  if (!table || next == '{' || next == '(')
    return false;
  cursor.word("a table");
  while (cursor.peek() >= '0' && cursor.peek() <= '9') {
    cursor.integer();
    cursor.rawValue();
  }
  return true;
}

Signature ModuleParser::parseSignature() {
  Signature signature;
  signature.location = cursor.here();
  cursor.expect("(");
  if (!cursor.accept(")")) {
    do {
      cursor.name("the name of a parameter");
      cursor.expect(":");
      signature.parameters.push_back(parseShape(cursor));
    } while (cursor.accept(","));
    cursor.expect(")");
  }
  cursor.expect("->");
  signature.result = parseShape(cursor);
  return signature;
}

void ModuleParser::parseBody(Computation &computation) {
  Location opened = cursor.here();
  cursor.expect("{");
  InstructionParser parser(context, computation);
  int last = -1;
  while (!cursor.accept("}")) {
    Location location = cursor.here();
    if (cursor.atEnd())
      cursor.fail(opened, fmt::format("the body of computation '{}' is not closed", computation.name));
    bool root = cursor.peekWord() == "ROOT" && cursor.peekBehindWord() != '=';
    if (root)
      cursor.accept("ROOT");
    last = parser.parseInstruction();
    if (root && computation.root >= 0)
      cursor.fail(location, fmt::format("computation '{}' has a second ROOT", computation.name));
    if (root)
      computation.root = last;
  }
  if (last < 0)
    cursor.fail(opened, fmt::format("computation '{}' has no instruction", computation.name));
  if (computation.root < 0)
    computation.root = last;
  parser.finish();
}

void ModuleParser::collectParameters(Computation &computation) {
  for (const Instruction &instruction : computation.instructions)
    if (instruction.opcode == Opcode::Parameter)
      computation.parameters.push_back(-1);
  for (const Instruction &instruction : computation.instructions) {
    if (instruction.opcode != Opcode::Parameter)
      continue;
    int64_t number = instruction.parameterNumber, count = int64_t(computation.parameters.size());
    if (number < 0 || number >= count)
      cursor.fail(instruction.location,
                  fmt::format("parameter {} of computation '{}', which has {}", number, computation.name, count),
                  {"parameters are numbered from 0 without gaps"});
    int &place = computation.parameters[size_t(number)];
    if (place >= 0)
      cursor.fail(instruction.location, fmt::format("parameter {} is defined twice", number));
    place = instruction.index;
  }
}

void ModuleParser::checkSignature(const Computation &computation, const Signature &signature) {
  if (signature.parameters.size() != computation.parameters.size())
    cursor.fail(signature.location,
                fmt::format("computation '{}' is declared with {} parameters, its body has {}", computation.name,
                            signature.parameters.size(), computation.parameters.size()));
  for (size_t i = 0; i < signature.parameters.size(); ++i)
    if (!signature.parameters[i].sameAs(computation.parameter(i).shape))
      cursor.fail(signature.location, fmt::format("parameter {} is declared as {}, the body makes it {}", i,
                                                  formatShapePlain(signature.parameters[i]),
                                                  formatShapePlain(computation.parameter(i).shape)));
  const Shape &result = computation.rootInstruction().shape;
  if (!signature.result.sameAs(result))
    cursor.fail(signature.location, fmt::format("the result is declared as {}, the root makes it {}",
                                                formatShapePlain(signature.result), formatShapePlain(result)));
}

void ModuleParser::parseComputation() {
  Computation computation;
  computation.location = cursor.here();
  char next = cursor.peekBehindWord();
  bool entry = cursor.peekWord() == "ENTRY" && next != '{' && next != '(';
  if (entry)
    cursor.accept("ENTRY");
  computation.name = cursor.name("the name of a computation");
  std::optional<Signature> signature;
  if (cursor.peek() == '(')
    signature = parseSignature();
  parseBody(computation);
  while (cursor.accept(",")) { // such as execution_thread
    cursor.word("an attribute of the computation");
    cursor.expect("=");
    cursor.rawValue();
  }
  collectParameters(computation);
  if (signature)
    checkSignature(computation, *signature);
  int index = int(module.computations.size());
  if (!context.computationNames.emplace(computation.name, index).second)
    cursor.fail(computation.location, fmt::format("the computation '{}' is defined twice", computation.name));
  if (entry && module.entry >= 0)
    cursor.fail(computation.location, fmt::format("a second ENTRY, '{}'; the first is '{}'", computation.name,
                                                  module.entryComputation().name));
  if (entry)
    module.entry = index;
  module.computations.push_back(std::move(computation));
}

} // namespace

Module parseModule(std::string_view text, const std::string &fileName, const ParseOptions &options) {
  return ModuleParser(text, fileName, options).parse();
}

} // namespace heddle::hlo
