// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Words of Triton's dialects that are of other chips than the text is for.
#pragma once
#include "llvm/ADT/StringRef.h"

namespace heddle::triton::gpu {

/// What to write instead in text for AMD's gfx9 or for sm_90, by a message of the parser or the quoted name of an
/// operation (`'ttng.tc_gen5_mma'`) or an encoding (`` `amd_mfma` ``), and the word at its place in the text; empty
/// where it is about no such word.
llvm::StringRef adviceOnForeignWord(bool isAmd, llvm::StringRef message, llvm::StringRef word = "");

/// The same of tensor descriptors that a kernel makes, and on AMD's gfx9 of all others.
llvm::StringRef adviceOnDescriptor(bool isAmd);

} // namespace heddle::triton::gpu
