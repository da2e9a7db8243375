// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies from global memory straight to shared memory, as AMD's chips do them: by one instruction a warp writes
// contiguous bytes, lane after lane, from one address on that all its lanes share. How a copy is made of such
// instructions, or why it cannot be, and how many may be in flight after a wait.
#pragma once
#include "compiler/lowering/simt/GlobalOrder.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace heddle::simt {

class GpuTarget;

struct DirectCopy {
  int64_t elements = 0; ///< that a lane moves by one instruction
  /// (register, warp) -> offset of what the warp's first lane writes.
  layout::LinearLayout first;
  /// (register, lane, warp) -> the lane that has the address of what this lane writes; where the memory is swizzled
  /// lanes take each other's.
  layout::LinearLayout source;
  bool usesOtherLanes = false;
};

/// The instructions for a copy of a tile of `addresses`, contiguous for at most `elements` registers, to `memory`: the
/// widest that the chip has; nothing, and `why`, with a rule of docs/gfx9-code.md, where there are none.
std::optional<DirectCopy> planDirectCopy(const layout::LinearLayout &addresses, SharedType memory, int64_t elements,
                                         const GpuTarget &target, std::string &why);

/// Whether what is at the start of `memory`, a memory object or views of one, lies at a multiple of `span` elements; a
/// warp writes that many at once.
bool beginsAtSpan(mlir::Value memory, int64_t span);
std::string ruleOfParts(int64_t span); ///< what to say where it does not

/// How many instructions each thread executes for certain to copy what `op` (an async copy) copies: 0 where some may
/// skip them.
int64_t instructionsOfCopy(mlir::Operation *op, BlockShape block);

} // namespace heddle::simt
