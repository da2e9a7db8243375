// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The last step before PTX: LLVM's masked loads and stores of global memory become instructions under a predicate,
// which LLVM does not have.
#pragma once

namespace llvm {
class Module;
}

namespace heddle {

/// Writes `@bit ld.global` into a register that holds what is read where the bit is not set, and `@bit st.global`.
/// Nothing after this step moves the inline assembly that it leaves.
void predicateAccesses(llvm::Module &module);

} // namespace heddle
