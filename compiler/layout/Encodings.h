// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Constructors of the layouts that have names. Distributed ones map (register, lane, warp) to the coordinates of a tile
// of `shape` (powers of two): outputs Dim0 ... in this order, of exactly the sizes of `shape`; what is larger than the
// tile becomes copies (zero bases of lanes and warps; registers are left out), what is smaller repeats in registers.
// Shared ones map (offset) to coordinates. Source: DESIGN's fact sheet on layouts; PTX ISA and the CDNA manuals for
// matrix instructions.
#pragma once
#include "compiler/layout/LinearLayout.h"
#include <cstdint>
#include <vector>

namespace heddle::layout {

using Shape = std::vector<int64_t>;
using Order = std::vector<int>; ///< axes, the fastest first
Order rowMajor(size_t rank);    ///< the last axis first

/// sizePerThread, lanes and warps along each axis, distributed in `order`.
LinearLayout blocked(const Shape &shape, const Shape &sizePerThread, const Shape &lanesPerWarp, const Shape &warps,
                     const Order &order);
/// Lanes and warps dealt out along `order` so that contiguous elements are in adjacent lanes.
LinearLayout defaultBlocked(const Shape &shape, const Shape &sizePerThread, const Order &order, int64_t lanes,
                            int64_t warps);
/// How defaultBlocked distributes them.
struct ThreadSplit {
  Shape lanes, warps; ///< along each axis
};
ThreadSplit splitThreads(const Shape &shape, const Shape &sizePerThread, const Order &order, int64_t lanes,
                         int64_t warps);
/// With the positions along `axis` in runs of registers, then lanes, then warps, as scans want them.
LinearLayout blockedAlong(const Shape &shape, int axis, int64_t lanes, int64_t warps);
/// With `pack` row-major contiguous elements in each thread.
LinearLayout blockedByPacks(const Shape &shape, int64_t pack, int64_t lanes, int64_t warps);
/// Accumulators of mma.sync m16n8: a warp holds 16 x 8 of the last two axes. `warps` along each axis of the tile.
LinearLayout mmaAccumulator(const Shape &shape, const Shape &warps);
/// Accumulators of wgmma m64nN: `instructionN` columns of an instruction.
LinearLayout wgmmaAccumulator(const Shape &shape, const Shape &warps, int64_t instructionN);
/// Operand 0 of wgmma in registers, [.., M, K]; `warps` are those of the accumulator tile, K has all of its axis.
LinearLayout wgmmaOperand(const Shape &shape, const Shape &warps, int64_t kWidth);
/// Operand 0 (A, [.., M, K]) or 1 (B, [.., K, N]) of mma.sync; kWidth elements of a register pair along K: 32 / bits,
/// or more to read more at once. `warps` are those of the accumulator tile.
LinearLayout mmaOperand(const Shape &shape, const Shape &warps, int operand, int64_t kWidth);

/// Results of CDNA's MFMA of M x N per instruction, wave64.
LinearLayout mfmaAccumulator(const Shape &shape, const Shape &warps, int64_t instructionM, int64_t instructionN,
                             bool transposed, int elementBits = 32, const Shape &tilesPerWarp = {1, 1});
LinearLayout mfmaOperand(const Shape &shape, const Shape &warps, int operand, int64_t kWidth, int64_t instructionM,
                         int64_t instructionN, const Shape &tilesPerWarp = {1, 1});
/// The scales of an operand of MFMA with scales, [.., M or N, blocks along K]: a lane has that of its row or column and
/// of the block of its number among the lanes of that row. `instructionSize`: M and N of the instruction.
LinearLayout mfmaScale(const Shape &shape, const Shape &warps, int operand, int64_t instructionSize,
                       const Shape &tilesPerWarp = {1, 1});

/// Shared memory, offset -> coordinates: columns of a row xor'ed by the row's phase, in groups of `vec` elements.
LinearLayout swizzledShared(const Shape &shape, int64_t vec, int64_t perPhase, int64_t maxPhase, const Order &order);
/// The same with the phase xor'ed by the number of the row's block of perPhase * maxPhase rows, modulo maxPhase.
LinearLayout rotatingShared(const Shape &shape, int64_t vec, int64_t perPhase, int64_t maxPhase, const Order &order);
/// What wgmma and bulk tensor copies read: core matrices of 8 rows, swizzled over `swizzleBytes` (0, 32, 64, 128).
LinearLayout nvmmaShared(const Shape &shape, int64_t swizzleBytes, int elementBits, bool transposed);

} // namespace heddle::layout
