// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements of 8 and 16 bits that lie in 32-bit registers, for PTX. LLVM takes such a register apart into registers of
// 16 bits, which ptxas keeps in one 32-bit register each and puts together again by `prmt`.
#pragma once

namespace llvm {
class Module;
}

namespace heddle {

/// Lets `cvt` make two FP8 numbers at once where both go to one word, and makes f32 of the bf16 in a word by a shift or
/// a mask of the word. Two bytes that are extended to 16 bits become a word by one `prmt`, and what is masked in such a
/// word and gets constant bits is one `lop3`.
void usePackedWords(llvm::Module &module);

} // namespace heddle
