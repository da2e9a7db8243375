// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The -start, -update and -done forms of an operation. A start and its done become the operation itself, at the place
// of the start; the names of the updates and of the done become names of that instruction.
#pragma once
#include "frontend/hlo/Hlo.h"
#include "support/Error.h"

namespace heddle::hlo {

enum class AsyncRole { None, Start, Update, Done };

/// What the word before the operands says.
struct OpcodeWord {
  AsyncRole role = AsyncRole::None;
  std::optional<Opcode> opcode; ///< nothing for async-start, async-update and async-done
  bool dedicated = false;       ///< all-reduce, all-gather and collective-permute have start forms of their own
};

/// Nothing when the word is no operation that is read.
std::optional<OpcodeWord> findOpcodeWord(std::string_view word);

/// The result in the shape that a start declares. `operands` are their shapes. Throws Error{Input} without a location.
Shape resultOfStart(const OpcodeWord &word, const std::string &text, const Shape &declared,
                    const std::vector<Shape> &operands);

/// Makes a call of a computation that holds one operation on its parameters that operation itself; leaves other calls.
void inlineWrapped(const Module &module, Instruction &call);

} // namespace heddle::hlo
