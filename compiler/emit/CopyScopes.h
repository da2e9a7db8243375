// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Alias scopes for copies straight to LDS. LLVM knows of such a copy as a load that also writes LDS, and before an
// access to LDS that may be to what a copy writes it waits for all copies in flight. The accesses of our kernels are
// proven to be ordered with copies by explicit waits and barriers (verify-hazards), and say that they do not alias.
#pragma once

namespace llvm {
class Module;
}

namespace heddle {

/// Gives copies straight to LDS an alias scope, and all other accesses to LDS its opposite. For AMD, before the
/// optimiser.
void separateCopies(llvm::Module &module);

} // namespace heddle
