// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LLVM 22's scheduler after register allocation takes what waits for a load for ready. Where the next load's address
// needs a cycle or two more, as a mask does between its comparison and its use, it has such an instruction go first:
// the second load then begins when the first one has come.
#pragma once

namespace llvm {
class Module;
}

namespace heddle {

/// In blocks without matrix instructions, puts loads of global memory that wait for nothing else in a group, after what
/// they need and before what else there is, which stays after them.
void groupLoads(llvm::Module &module);

} // namespace heddle
