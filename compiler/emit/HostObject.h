// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LLVM IR to a relocatable object for an x86-64 processor. Every way in which LLVM fails becomes an Error{Internal}.
#pragma once
#include "compiler/emit/HostProcessor.h"
#include <memory>
#include <string>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace heddle {

/// Emits modules for one processor. All functions throw Error{Internal} and leave `module` unusable when they do.
class HostCodeGenerator {
public:
  /// `level`: 0 no optimisation, 1 and 2 the short pipeline, 3 LLVM's own -O3.
  HostCodeGenerator(const HostProcessor &processor, int level);
  ~HostCodeGenerator();

  /// Gives `module` the target's triple, data layout and function attributes. Needed once, before the others.
  void prepare(llvm::Module &module) const;
  /// Runs the level's optimiser pipeline, or `passes` (LLVM's textual notation) when that is not empty.
  void optimize(llvm::Module &module, const std::string &passes = "") const;
  /// The bytes of an ELF object. Changes `module`: nothing may follow.
  std::string object(llvm::Module &module) const;
  /// Assembly text; `module` stays as it is.
  std::string assembly(const llvm::Module &module) const;

private:
  HostProcessor processor;
  int level;
  std::unique_ptr<llvm::TargetMachine> machine;
};

/// Makes LLVM's x86-64 back end known to it, once.
void initializeHostTarget();

/// LLVM IR as text.
std::string printModule(const llvm::Module &module);

} // namespace heddle
