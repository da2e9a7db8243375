// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asks LLVM's DWARF reader, to which a damaged table is as good as none.
#include "simulator/decode/SourceLines.h"
#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"

namespace heddle::simulator {
namespace {

/// A damaged table is as good as none.
void ignore(llvm::Error error) {
  llvm::consumeError(std::move(error));
}

using FileNames = llvm::DILineInfoSpecifier::FileLineInfoKind;

/// `context` may be null.
std::optional<llvm::DILineInfo> lineInfo(llvm::DWARFContext *context, uint64_t address, FileNames names) {
  if (!context)
    return std::nullopt;
  std::optional<llvm::DILineInfo> line =
      context->getLineInfoForAddress({address, llvm::object::SectionedAddress::UndefSection},
                                     llvm::DILineInfoSpecifier(names, llvm::DINameKind::None));
  if (!line || line->Line == 0 || line->FileName == llvm::DILineInfo::BadString)
    return std::nullopt;
  return line;
}

} // namespace

std::string SourcePlace::text() const {
  std::string text = file + ":" + std::to_string(line);
  return column ? text + ":" + std::to_string(column) : text;
}

struct SourceLines::State {
  std::string file;
  std::unique_ptr<llvm::object::ObjectFile> object;
  std::unique_ptr<llvm::DWARFContext> context;
};

SourceLines::SourceLines(std::string file) : state(std::make_unique<State>()) {
  state->file = std::move(file);
  auto object = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(state->file, "code object"));
  if (!object) {
    ignore(object.takeError());
    return;
  }
  state->object = std::move(*object);
  state->context = llvm::DWARFContext::create(*state->object, llvm::DWARFContext::ProcessDebugRelocations::Process,
                                              nullptr, "", ignore, ignore);
}
SourceLines::~SourceLines() = default;

std::optional<SourcePlace> SourceLines::find(uint64_t address) const {
  std::optional<llvm::DILineInfo> line = lineInfo(state->context.get(), address, FileNames::BaseNameOnly);
  if (!line)
    return std::nullopt;
  // What debug information calls a base name is a whole path where the compiler was given one.
  return SourcePlace{line->FileName.substr(line->FileName.rfind('/') + 1), line->Line, line->Column};
}

std::string SourceLines::pathAt(uint64_t address) const {
  std::optional<llvm::DILineInfo> line = lineInfo(state->context.get(), address, FileNames::AbsoluteFilePath);
  return line ? line->FileName : "";
}

std::string SourceLines::lineAt(uint64_t address) const {
  std::optional<SourcePlace> place = find(address);
  if (!place)
    return "";
  place->column = 0;
  return place->text();
}

} // namespace heddle::simulator
