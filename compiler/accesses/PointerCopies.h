// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies straight to LDS of AMD's chips whose lanes have whole addresses: what a mask forbids, and what LLVM 22 gets
// wrong.
#pragma once
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"

namespace heddle {

/// Writes the instruction for `call` of `llvm.amdgcn.global.load.lds`, and the wait for LDS operations that it needs.
/// `bit` (null: all): lanes where it is not set copy zeros. The copies before it in its block have been written.
void copyByPointer(llvm::IRBuilder<> &b, llvm::IntrinsicInst &call, llvm::Value *bit);

} // namespace heddle
