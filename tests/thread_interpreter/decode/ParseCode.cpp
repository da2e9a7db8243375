// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parses the text with LLVM, and finds the one kernel.
#include "tests/thread_interpreter/decode/ParseCode.h"
#include "support/Error.h"
#include <fmt/format.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Support/SourceMgr.h>

using namespace heddle;

std::unique_ptr<llvm::Module> threads::parseCode(const std::string &text, llvm::LLVMContext &context) {
  llvm::SMDiagnostic problem;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, problem, context);
  if (!module)
    throw internalError(fmt::format("the code of a thread does not parse: {}: {}", problem.getMessage().str(),
                                    problem.getLineContents().str()));
  return module;
}

const llvm::Function &threads::findKernel(const llvm::Module &module, std::string_view name) {
  const llvm::Function *kernel = module.getFunction(name);
  if (!kernel || kernel->isDeclaration())
    throw inputError(fmt::format("the module defines no function '{}'", name));
  return *kernel;
}
