// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of strided tensors: what block pointers and descriptors have in common.
#pragma once
#include "compiler/dialects/triton/Triton.h"
#include "tests/reference/Program.h"
#include <optional>

namespace heddle::reference {

/// Loads and stores through a block pointer. A dimension named in `checked` is bounded by the tensor's shape: beyond it
/// a load gives the padding (undefined bits when there is none) and a store does nothing.
Tile loadBlock(Program &program, const Tile &pointer, llvm::ArrayRef<int32_t> checked,
               std::optional<triton::PaddingOption> padding);
void storeBlock(Program &program, const Tile &pointer, const Tile &value, llvm::ArrayRef<int32_t> checked);

} // namespace heddle::reference
