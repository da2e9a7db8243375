// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Words of Triton's dialects that the parser does not know, because they are of other chips.
#pragma once
#include "chips/Chip.h"
#include "llvm/ADT/StringRef.h"

namespace heddle {

/// What to write instead in text for a chip, by the parser's message and the word at its place in the text; empty where
/// the message is about no such word.
llvm::StringRef adviceOnForeignWord(const Chip &chip, llvm::StringRef message, llvm::StringRef word);

} // namespace heddle
