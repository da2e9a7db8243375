// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LLVM 22's machine sinking moves a load past a barrier, into the branch in which alone its value is used: the fence
// and the barrier of AMD's chips have side effects, but it asks only for stores and calls (tests/cli/amd.test tells
// when it no longer does). After the barrier, another wave may have overwritten what is loaded.
#pragma once

namespace llvm {
class Module;
}

namespace heddle {

/// Puts before each barrier that follows such a load what machine sinking takes for a store, and what is no
/// instruction.
void keepLoadsBeforeBarriers(llvm::Module &module);

} // namespace heddle
