// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The LLVM IR of one thread, from its text to the kernel in it.
#pragma once
#include <llvm/IR/Module.h>
#include <memory>
#include <string>
#include <string_view>

namespace heddle::threads {

/// Throws Error{Internal} with the line that does not parse: the text is what the compiler printed.
std::unique_ptr<llvm::Module> parseCode(const std::string &text, llvm::LLVMContext &context);

/// Throws Error{Input} when the module defines no such function.
const llvm::Function &findKernel(const llvm::Module &module, std::string_view name);

} // namespace heddle::threads
