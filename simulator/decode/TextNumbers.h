// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers in the text of instructions.
#pragma once
#include "simulator/state/Operand.h"
#include <string_view>

namespace heddle::simulator {

/// Decimal or hexadecimal, the whole of `text`.
bool parseInteger(std::string_view text, int64_t &value);

/// The bits that an operand of `type` gets from `8`, `-1`, `0x3ff` or `1.0`.
bool parseConstant(std::string_view text, DataType type, uint64_t &bits);

} // namespace heddle::simulator
