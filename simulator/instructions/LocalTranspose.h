// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What LDS reads that transpose do between lanes, also for a reader that follows what is in their bits.
#pragma once
#include "simulator/memory/MemoryRequest.h"
#include <string_view>

namespace heddle::simulator {

/// Moves the elements of the words that lanes have read to where they land; nothing for other instructions.
void transposeLanes(std::string_view mnemonic, Row (&words)[mostWordsPerLane]);

} // namespace heddle::simulator
