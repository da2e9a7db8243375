// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// compile() for a module that was made in memory, by the C++ builder.
#pragma once
#include "compiler/pipeline/Compile.h"
#include "mlir/IR/BuiltinOps.h"

namespace heddle {

/// As compile(); `module` is not changed. Its context must not be in use by another thread.
CompileResult compileModule(mlir::ModuleOp module, const std::string &name, const CompileOptions &options);

} // namespace heddle
