// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads that feed matrix products in a loop become asynchronous copies to shared memory, made some iterations ahead.
//
// A ring of `stages` tiles holds what is on its way. Before the loop the copies of the first stages - 1 iterations
// begin; iteration i waits for its own, meets the other threads once, begins those of iteration i + stages - 1, into
// the stage that all threads finished reading before they met, and computes. Copies beyond the last iteration are
// masked. When the loop's product is summed by groups of warps and by nothing else, the product of an iteration goes on
// until the next one's has begun, so that the matrix units always have one waiting: threads then meet a second time,
// and copies begin behind that. Only innermost loops that write no memory are changed, and only loads whose addresses
// and masks are arithmetic on the loop's counter and carried scalars, with other = 0 or none, and of whose tile a
// thread has 4 neighbouring bytes or more.
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace heddle::simt {

class GpuTarget;

struct PipelineTarget {
  const GpuTarget &target;
  int warps;  ///< of a block
  int stages; ///< tiles of a ring, where a loop does not say `tt.num_stages`
};

/// Works on the one public tt.func of `module`. A loop with fewer than 2 stages stays as it is. Stages that shared
/// memory has no room for, beside what the passes after this one put there, are left out: these passes are tried on a
/// copy.
mlir::LogicalResult pipelineLoops(mlir::ModuleOp module, const PipelineTarget &to);

} // namespace heddle::simt
