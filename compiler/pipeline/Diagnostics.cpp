// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the innermost source position of a location, and drops what MLIR adds to a message.
#include "compiler/pipeline/Diagnostics.h"
#include "compiler/dialects/ttg/TritonGpu.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/OperationSupport.h"
#include "support/Suggest.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SourceMgr.h"
#include <optional>

using namespace mlir;

namespace heddle {

std::optional<FileLineColLoc> innermost(Location location) {
  if (auto file = dyn_cast<FileLineColLoc>(location))
    return file;
  if (auto range = dyn_cast<FileLineColRange>(location))
    return FileLineColLoc::get(range.getFilename(), range.getStartLine(), range.getStartColumn());
  if (auto named = dyn_cast<NameLoc>(location))
    return innermost(named.getChildLoc());
  if (auto call = dyn_cast<CallSiteLoc>(location)) {
    auto callee = innermost(call.getCallee());
    return callee ? callee : innermost(call.getCaller());
  }
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (auto found = innermost(part))
        return found;
  return std::nullopt;
}

namespace {

std::string format(FileLineColLoc location) {
  return location.getFilename().str() + ":" + std::to_string(location.getLine()) + ":" +
         std::to_string(location.getColumn());
}

/// Where inlined code was called, outermost last.
void noteCallers(Location location, std::vector<std::string> &notes) {
  if (auto named = dyn_cast<NameLoc>(location))
    return noteCallers(named.getChildLoc(), notes);
  auto call = dyn_cast<CallSiteLoc>(location);
  if (!call || !innermost(call.getCallee()))
    return;
  if (auto caller = innermost(call.getCaller()))
    notes.push_back(format(*caller) + ": called from here");
  noteCallers(call.getCaller(), notes);
}

/// The operation's name when the message begins with one: `'tt.dot' ...`.
StringRef operationOf(StringRef message) {
  if (!message.consume_front("'"))
    return "";
  return message.take_until([](char c) { return c == '\''; });
}

/// MLIR says "'tt.dot' op operands"; the `op` says nothing.
std::string withoutOpWord(std::string message) {
  size_t quote = message.find("' op ");
  if (!message.empty() && message[0] == '\'' && quote != std::string::npos && quote == message.find('\'', 1))
    message.erase(quote + 1, 3);
  return message;
}

} // namespace

std::string formatLocation(Location location) {
  auto found = innermost(location);
  return found ? format(*found) : "";
}

DiagnosticCollection::DiagnosticCollection(MLIRContext *context, const std::string &text, const std::string &name)
    : context(context), text(text), name(name), handler(context, [this](Diagnostic &diagnostic) {
        if (!busy)
          collect(diagnostic);
      }) {}

void DiagnosticCollection::collect(Diagnostic &diagnostic) {
  Message message;
  std::string said = withoutOpWord(StringRef(diagnostic.str()).rtrim().str());
  std::string place = formatLocation(diagnostic.getLocation());
  if (place.empty())
    place = name;
  std::string shown = triton::amdg::nameScheduleBarriers(said);
  message.text = place.empty() ? shown : place + ": " + shown;
  noteCallers(diagnostic.getLocation(), message.notes);
  bool isError = diagnostic.getSeverity() == DiagnosticSeverity::Error;
  if (isError) {
    noteTextPosition(diagnostic.getLocation(), said, message.notes);
    noteClosestOperation(said, message.notes);
  }
  for (Diagnostic &note : diagnostic.getNotes()) {
    std::string at = formatLocation(note.getLocation());
    std::string text = note.str();
    text = text.substr(0, text.find(" ; for more info")); // MLIR's advice is for its own users
    message.notes.push_back((at.empty() || at == place ? "" : at + ": ") + withoutOpWord(text));
  }
  // Code that was repeated (a prefetched loop) is spoken of once.
  bool isRemark = diagnostic.getSeverity() == DiagnosticSeverity::Remark;
  std::vector<Message> &messages = isError ? errors : isRemark ? remarks : warnings;
  if (isError || llvm::none_of(messages, [&](const Message &other) { return other.text == message.text; }))
    messages.push_back(std::move(message));
}

/// When the operation's position is one in the kernel's source: reads the text once more, remembering where each
/// operation stands, and adds the line of the text. Only on the way to an error, so it costs a good kernel nothing.
void DiagnosticCollection::noteTextPosition(Location location, const std::string &message,
                                            std::vector<std::string> &notes) {
  auto wanted = innermost(location);
  StringRef operation = operationOf(message);
  if (text.empty() || !wanted || wanted->getFilename() == name || operation.empty())
    return;
  busy = true;
  llvm::SourceMgr sources;
  std::string readable = triton::amdg::renameScheduleBarriers(text);
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(readable, name), llvm::SMLoc());
  AsmParserState positions;
  Block block;
  ParserConfig config(context, /*verifyAfterParse=*/false);
  if (succeeded(parseAsmSourceFile(sources, &block, config, &positions)))
    for (const AsmParserState::OperationDefinition &definition : positions.getOpDefs())
      if (definition.op->getName().getStringRef() == operation && innermost(definition.op->getLoc()) == wanted) {
        auto [line, column] = sources.getLineAndColumn(definition.loc.Start);
        notes.push_back(name + ":" + std::to_string(line) + ":" + std::to_string(column) + ": in the IR text");
        break;
      }
  busy = false;
}

/// For a misspelt operation the closest one of its dialect.
void DiagnosticCollection::noteClosestOperation(const std::string &message, std::vector<std::string> &notes) {
  StringRef rest = message;
  bool isUnknown = rest.contains("' is unknown") && rest.consume_front("custom op '");
  if (!isUnknown && !rest.consume_front("unregistered operation '"))
    return;
  auto [dialect, given] = rest.take_until([](char c) { return c == '\''; }).split('.');
  std::vector<std::string> known;
  for (RegisteredOperationName operation : context->getRegisteredOperations())
    if (operation.getDialectNamespace() == dialect)
      known.push_back(operation.getStringRef().drop_front(dialect.size() + 1).str());
  if (std::string closest = closestName(given.str(), known); !closest.empty())
    notes.push_back("the closest operation is `" + dialect.str() + "." + closest + "`");
}

} // namespace heddle
