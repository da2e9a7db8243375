// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the compiler can read and which passes it has, for drivers that build their own context.
#pragma once

namespace mlir {
class DialectRegistry;
}

namespace heddle {

/// Registers every dialect that input text may use: `tt`, arith, math, scf, cf, ub, gpu (barriers), llvm (assumptions),
/// and those between the levels (vector, memref).
void registerInputDialects(mlir::DialectRegistry &registry);

/// Registers Heddle's passes and the general ones that pass tests use (canonicalize, cse, ...) by name.
void registerPasses();

} // namespace heddle
