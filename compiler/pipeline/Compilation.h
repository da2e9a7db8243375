// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What travels through the phases, and the shape of the table's rows.
#pragma once
#include "binary/Package.h"
#include "compiler/emit/HostObject.h"
#include "compiler/lowering/host/TileToHost.h"
#include "compiler/pipeline/Compile.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace heddle {

/// Which IR a phase leaves, and so which member of Compilation holds it.
enum class Level {
  Tile,    ///< module: tt and friends
  Vector,  ///< module: loops over vectors, LLVM memory operations
  LlvmIr,  ///< module until it is translated, then llvmModule
  Binary,  ///< object, then package
};
const char *levelName(Level level);

/// One compilation. Declaration order is destruction order reversed: IR dies before its context.
struct Compilation {
  std::string text; ///< the input
  std::string name; ///< of the input, for messages
  CompileOptions options;
  HostProcessor processor;
  std::unique_ptr<mlir::MLIRContext> ownContext; ///< null for a module that was made in memory
  mlir::MLIRContext *context = nullptr;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  host::LoweredKernel kernel;
  std::unique_ptr<llvm::LLVMContext> llvmContext;
  std::unique_ptr<llvm::Module> llvmModule;
  std::unique_ptr<HostCodeGenerator> generator;
  std::string assembly; ///< of the object; made only when somebody will read it
  std::string object;
  Package package;

  /// Whether what `phase` leaves is dumped or printed.
  bool wantsText(const std::string &phase) const;
};

/// A row of the table. A phase is either a list of passes or a function.
struct Phase {
  const char *name;
  Level level;
  const char *sentence;
  const char *passes;
  mlir::LogicalResult (*run)(Compilation &compilation);
  /// Whose fault an error diagnostic is: the input's, or ours.
  bool blamesInput;
  /// What can no longer occur when the phase has run: operation names, or dialects with a dot at the end.
  std::vector<const char *> absent;
};

const std::vector<Phase> &hostPhases();

/// The row with this name or short name (`asm` is `object`); null when there is none.
const Phase *findPhase(const std::string &name);

} // namespace heddle
