// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which line of the source an instruction comes from, for the code object's line table: `heddle check`, `heddle
// inspect` and debuggers read it. Nothing of it is loaded onto a device.
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace heddle {

/// Gives `kernel`, an `llvm.func` of `module`, a debug scope, and each operation in it the innermost position that its
/// location carries. Without any position there is no line table. `text` is the input's name: the file of what has no
/// other position than that in the text.
void addLineTable(mlir::ModuleOp module, llvm::StringRef kernel, llvm::StringRef text, llvm::StringRef producer);

} // namespace heddle
