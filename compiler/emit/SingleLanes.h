// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LLVM 22's back end of x86 narrows what a masked store writes (`trunc` and store in one instruction, AVX-512), and
// makes a scalar store of one whose constant mask has a single lane, but of the element as it was before it was
// narrowed: it overwrites the elements that follow. So such stores become scalar ones before.
#pragma once

namespace llvm {
class Module;
} // namespace llvm

namespace heddle {

/// Replaces masked stores whose mask is a constant with a single lane by stores of that element.
void storeSingleLanes(llvm::Module &module);

} // namespace heddle
