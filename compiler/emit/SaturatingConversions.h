// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AMD's conversions to integers of 32 bits saturate and give 0 for NaN (CDNA 3 Instruction Set Architecture,
// V_CVT_I32_F32), which LLVM 22 does not use: its code for `llvm.fptosi.sat` compares and selects after them.
#pragma once

namespace llvm {
class Module;
}

namespace heddle {

/// Writes saturating conversions as plain ones, whose machine instruction is the same. For LLVM's optimiser these are
/// undefined out of range: nothing but code generation may follow.
void usePlainConversions(llvm::Module &module);

} // namespace heddle
