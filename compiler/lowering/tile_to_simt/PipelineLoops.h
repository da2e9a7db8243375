// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Software pipelining of loops over matmuls: what an iteration multiplies is loaded while earlier ones compute.
//
// Considered are innermost loops, and in them loads of tiles that a matmul reads, whose addresses
// and masks are arithmetic on the loop's counter and on carried scalars. How they are prefetched depends on the chip.
//
// Chips whose threads copy each for itself (NVIDIA's; PipelineByThreads.cpp): a ring of `stages` tiles in shared memory
// holds what is in flight. Before the loop the copies of the first stages - 1 iterations begin; iteration i waits for
// its own, takes a barrier, begins the copies of iteration i + stages - 1, into the tile that all threads finished
// reading before the barrier, and computes. Copies beyond the last iteration are masked. When the loop's matmul is one
// of warp groups whose sum nothing else reads, the matmul of an iteration goes on until the next one's has begun, so
// that the matrix units always have one waiting. Its rings have a tile more, which copies are made to meanwhile; where
// that would cost a stage or a second block, threads take a second barrier, and copies begin after it. Of two matmuls
// in a chain the second one goes on in the next iteration (DeferMatmul.h). Where two warp groups multiply, and a block
// has a multiprocessor to itself, producer warps make the copies (ProducerWarps.h).
//
// AMD (PipelineByWarps.cpp): the same with copies of whole waves straight to LDS, where these are wide enough; any
// other tile is loaded to registers an iteration ahead, and stored to LDS at its end if only matmuls read it. The last
// iteration stands after the loop, and loads nothing.
//
// Of each load that a matmul reads, a remark says how it is prefetched or why it is not.
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace heddle::simt {

class GpuTarget;

struct PipelineTarget {
  const GpuTarget &target;
  int warps;  ///< of a block
  int stages; ///< where a loop does not say `tt.num_stages`: tiles are loaded stages - 1 iterations ahead; 0: the
              ///< chip's default
  bool hasProducers = false; ///< loops may have producer warps, where the chip has barrier objects
};

/// Works on the one public tt.func of `module`. A loop with fewer than 2 stages stays as it is. Stages that shared
/// memory has no room for, beside what the passes after this one put there, are left out: these passes are tried on a
/// copy.
mlir::LogicalResult pipelineLoops(mlir::ModuleOp module, const PipelineTarget &to);

} // namespace heddle::simt
