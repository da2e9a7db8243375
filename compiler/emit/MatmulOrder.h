// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a wave issues between its matrix instructions. LLVM 22's scheduler leaves copies to LDS where the text has them,
// before all reads of LDS. The path from L2 takes a copy in 16 cycles, and the reads after the copies wait for them,
// while the matrix units have no work.
#pragma once

namespace llvm {
class Module;
}

namespace heddle {

struct TimingModel;

/// In loops that are one block, between barriers and other effects: makes groups of matrix instructions that take about
/// twice the latency of LDS. Before each group come the reads for the next one, and as many copies and loads as the
/// path from L2 serves while a group is executed. In chains of matmuls (attention) of more warps than SIMDs, matrix
/// instructions get a higher priority than what is between them, unless the function sets priorities. Loops without
/// copies in blocks of more warps than SIMDs stay as they are. In a stage of a warp pipeline that reads what it
/// multiplies, reads and copies come between single matrix instructions, as many as LDS and the path from L2 serve
/// meanwhile, and the last group of matrix instructions stands after the barrier that ends the stage. `warps` of a
/// block.
void orderMatmuls(llvm::Module &module, const TimingModel &model, int warps);

} // namespace heddle
