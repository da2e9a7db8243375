// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a wave issues between its matrix instructions. LLVM 22's scheduler puts copies to LDS where the text has them,
// before all that reads LDS: the path from L2 takes a copy in 16 cycles, and what stands behind a copy waits for it.
// The matrix units could work meanwhile.
#pragma once

namespace llvm {
class Module;
}

namespace heddle {

struct TimingModel;

/// In the blocks that are loops of their own, between barriers and other effects: groups of matrix instructions that
/// take about twice the latency of LDS, each after reads for the next group and after as many copies and loads as the
/// path takes in that time. Loops without copies only in blocks of one warp for each SIMD. In
/// chains of matmuls (attention) of more warps, matrix instructions have a higher priority than what is between them.
/// `warps` of a block.
void orderMatmuls(llvm::Module &module, const TimingModel &model, int warps);

} // namespace heddle
