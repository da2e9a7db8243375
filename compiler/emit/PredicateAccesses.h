// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The last step before PTX: accesses to global memory that a mask allows become instructions under a predicate, which
// LLVM does not have.
#pragma once

namespace llvm {
class Module;
}

namespace heddle {

/// Replaces `load (select bit, pointer, @heddle_zeros)`, which the lowering writes for a load with a mask, by
/// `@bit ld.global` into a register that holds zero, or what is chosen instead of the loaded value; no address is left
/// to choose, and neighbours share one. Blocks that only store under a bit become part of the one before, with
/// `@bit st.global`: the optimiser moves computations into such blocks, each of which then is a branch that lanes take
/// apart. What comes before this step understands selects and branches; nothing moves the inline assembly it leaves.
void predicateAccesses(llvm::Module &module);

} // namespace heddle
