// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel's interface as its package describes it: the same for every target.
#pragma once
#include "binary/Package.h"
#include "mlir/IR/BuiltinOps.h"

namespace heddle {

/// The arguments of the one public tt.func of `module`, which are pointers and scalars: earlier phases refuse others.
std::vector<PackageArgument> describeArguments(mlir::ModuleOp module);
/// The numbers of the pointers with `tt.pointer_range` of 32 bits: all accesses through them lie within 2 GiB from
/// there.
std::vector<unsigned> smallArguments(mlir::ModuleOp module);

} // namespace heddle
