// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The last step before PTX: loads that choose between their own address and zeros become loads under a predicate.
#pragma once

namespace llvm {
class Module;
}

namespace heddle {

/// Replaces each `load (select bit, pointer, @heddle_zeros)`, which the lowering writes for a load with a mask, by
/// `@bit ld.global` into a register that holds zero, or what is chosen instead of the loaded value. Nothing is left to
/// choose an address for, and neighbours share a base with their offsets in the instructions. LLVM has no such
/// instruction of its own, and all that comes before this step understands the select. Then the zeros are dropped.
void predicateLoads(llvm::Module &module);

} // namespace heddle
