// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Masks that no buffer keeps become branches around their accesses.
#pragma once
#include "compiler/accesses/GlobalAccess.h"

namespace heddle {

/// Stores of one mask with nothing but computations between them are all in a branch if one of them is, or if LDS is
/// read for them alone.
void joinStores(llvm::MutableArrayRef<GlobalAccess> accesses);

/// Moves the accesses that are to be in branches, in their order, into those. Consecutive accesses whose lanes have one
/// mask share its branch; in it, each mask of the wave has a branch of its own.
void writeBranches(llvm::ArrayRef<GlobalAccess> accesses);

} // namespace heddle
