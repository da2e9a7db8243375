// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes LLVM's debug information from the locations of operations: one scope for each source file and function.
#include "compiler/pipeline/LineTables.h"
#include "compiler/pipeline/Diagnostics.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace heddle {
namespace {

class Scopes {
public:
  Scopes(LLVM::LLVMFuncOp function, FileLineColLoc start, StringRef text, StringRef producer)
      : context(function.getContext()), text(text) {
    file = fileOf(start.getFilename());
    auto unit = LLVM::DICompileUnitAttr::get(distinct(), llvm::dwarf::DW_LANG_Python, file,
                                             StringAttr::get(context, producer), /*isOptimized=*/true,
                                             LLVM::DIEmissionKind::LineTablesOnly, LLVM::DINameTableKind::None);
    StringAttr name = function.getNameAttr();
    auto type = LLVM::DISubroutineTypeAttr::get(context, llvm::dwarf::DW_CC_normal, {});
    auto flags = LLVM::DISubprogramFlags::Definition | LLVM::DISubprogramFlags::Optimized;
    subprogram = LLVM::DISubprogramAttr::get(context, distinct(), unit, file, name, name, file, start.getLine(),
                                             start.getLine(), flags, type, {}, {});
  }

  Location ofFunction(FileLineColLoc start) { return FusedLoc::get(context, {start}, subprogram); }

  /// As `location`, but one position in one file. What has none keeps none.
  Location of(Location location) {
    Location &made = known.try_emplace(location, UnknownLoc::get(context)).first->second;
    auto position = innermost(location);
    if (!isa<UnknownLoc>(made) || !position)
      return made;
    LLVM::DIFileAttr other = fileOf(position->getFilename());
    return made = other == file
                      ? Location(*position)
                      : FusedLoc::get(context, {*position},
                                      LLVM::DILexicalBlockFileAttr::get(subprogram, other, /*discriminator=*/0));
  }

private:
  // Where the text lies is no matter of the kernel: its package is the same from any folder.
  LLVM::DIFileAttr fileOf(StringAttr name) {
    StringRef path = name == text ? llvm::sys::path::filename(text) : name.getValue();
    return LLVM::DIFileAttr::get(context, path, "");
  }
  DistinctAttr distinct() { return DistinctAttr::create(UnitAttr::get(context)); }

  MLIRContext *context;
  StringRef text;
  LLVM::DIFileAttr file;
  LLVM::DISubprogramAttr subprogram;
  DenseMap<Location, Location> known;
};

} // namespace

void addLineTable(ModuleOp module, StringRef kernel, StringRef text, StringRef producer) {
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(kernel);
  auto start = function ? innermost(function.getLoc()) : std::nullopt;
  if (!start)
    return;
  Scopes scopes(function, *start, text, producer);
  function.getBody().walk([&](Operation *op) { op->setLoc(scopes.of(op->getLoc())); });
  function->setLoc(scopes.ofFunction(*start));
}

} // namespace heddle
