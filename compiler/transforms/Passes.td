// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes on the tile level that every target shares, and the expansion of math functions that the host needs.
#ifndef HEDDLE_TRANSFORMS_PASSES
#define HEDDLE_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def LoopCarriedOffsets : Pass<"heddle-loop-carried-offsets"> {
  let summary = "carry a scalar offset through a loop instead of a tile that moves as a whole";
  let description = [{
    A tile of pointers or integers that a loop moves by the same amount in every element is its value before the loop
    plus one scalar. The loop then carries the scalar; the tile is formed from it where it is used, so that no tile of
    addresses has to be kept from one iteration to the next. Increments that differ between elements are left alone.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::heddle::triton::TritonDialect"];
}

#endif
