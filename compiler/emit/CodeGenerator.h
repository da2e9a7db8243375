// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LLVM IR to the code of a target: a relocatable object for an x86-64 processor or a chip of AMD, PTX for a chip of
// NVIDIA. Every way in which LLVM fails becomes an Error{Internal}.
#pragma once
#include "binary/Package.h"
#include "compiler/emit/HostProcessor.h"
#include "compiler/emit/TargetMachines.h"
#include "llvm/IR/PassManager.h"
#include <memory>
#include <string>

namespace llvm {
class Module;
class PassBuilder;
class TargetMachine;
} // namespace llvm

namespace heddle {

struct Chip;

/// Emits modules for one target. All functions throw Error{Internal} and leave `module` unusable when they do.
class CodeGenerator {
public:
  /// `level`: 0 no optimisation, 1 and 2 the short pipeline, 3 LLVM's own -O3.
  static std::unique_ptr<CodeGenerator> forHost(const HostProcessor &processor, int level);
  static std::unique_ptr<CodeGenerator> forNvidia(const Chip &chip, int level);
  static std::unique_ptr<CodeGenerator> forAmd(const Chip &chip, int level);
  ~CodeGenerator();

  /// Gives `module` the target's triple, data layout and function attributes. Needed once, before the others.
  void prepare(llvm::Module &module) const;
  /// Runs the level's optimiser pipeline, or `passes` (LLVM's textual notation) when that is not empty.
  void optimize(llvm::Module &module, const std::string &passes = "") const;
  using PassFiller = llvm::function_ref<void(llvm::PassBuilder &builder, llvm::ModulePassManager &manager)>;
  /// Runs the passes that `fill` adds, which may ask for what LLVM knows of the target; `step` names them in errors.
  void run(llvm::Module &module, const char *step, PassFiller fill) const;
  /// Which limits `module`, as it is emitted, is beyond; most are beyond none.
  std::vector<PackageLimit> limitsOf(const llvm::Module &module) const;
  /// The bytes of an ELF object; not for PTX, which is text. Changes `module`: nothing may follow.
  std::string object(llvm::Module &module) const;
  /// Assembly text; `module` stays as it is.
  std::string assembly(const llvm::Module &module) const;

private:
  CodeGenerator(std::string triple, std::string processor, std::string features, int level);

  void runStep(llvm::Module &module, const char *step, llvm::function_ref<void()> action) const;
  std::string emitFile(llvm::Module &module, bool asText) const;

  MachineKey key;
  int vectorBits = 0; ///< of the host; 0: the target has no such notion
  std::unique_ptr<llvm::TargetMachine> machine;
  mutable bool failed = false; ///< a step did: the machine is not used again
};

/// Makes LLVM's back ends known to it, once.
void initializeTargets();

/// LLVM IR as text.
std::string printModule(const llvm::Module &module);

} // namespace heddle
