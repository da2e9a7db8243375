// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Waits for groups of copies as waits for instructions, which is what AMD's chips count.
#pragma once
#include "compiler/dialects/simt/Simt.h"
#include "compiler/lowering/simt/Exchanges.h"

namespace heddle::simt {

/// Says on each wait for groups how many instructions of copies may be in flight after it: on no path are more issued
/// since the youngest group that must be over. Other instructions that the chip counts make the wait longer, never
/// shorter. Waits that name instructions already stay. For chips that count instructions; run when nothing moves copies
/// or waits any more.
void countWaits(mlir::ModuleOp module, BlockShape block);

} // namespace heddle::simt
