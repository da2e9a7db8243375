// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The dialects of TTGIR text besides `tt`: `ttg` (tiles with layouts, memory objects), `amdg` (buffer accesses),
// `ttng` (Hopper's warp groups, barrier objects, bulk copies) and `gluon` (layouts to be chosen). Source: the text that
// Triton 3.9 prints.
#pragma once
#include "compiler/dialects/triton/Triton.h"

#include "compiler/dialects/ttg/TritonGpuEnums.h.inc"

#include "compiler/dialects/ttg/AmdGpuDialect.h.inc"
#include "compiler/dialects/ttg/GluonDialect.h.inc"
#include "compiler/dialects/ttg/NvidiaGpuDialect.h.inc"
#include "compiler/dialects/ttg/TritonGpuDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/dialects/ttg/GluonAttributes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/dialects/ttg/TritonGpuAttributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "compiler/dialects/ttg/TritonGpuTypes.h.inc"

namespace heddle::triton::gpu {

/// Attributes of a module of TTGIR; a module of plain Triton IR has none of them.
inline constexpr llvm::StringLiteral numWarpsAttribute = "ttg.num-warps";
inline constexpr llvm::StringLiteral numCtasAttribute = "ttg.num-ctas";
inline constexpr llvm::StringLiteral threadsPerWarpAttribute = "ttg.threads-per-warp";
inline constexpr llvm::StringLiteral targetAttribute = "ttg.target"; ///< `hip:gfx950`

/// Whether the attribute describes shared memory; other encodings are of tiles in registers.
bool isSharedEncoding(mlir::Attribute encoding);
/// Axes that the encoding of a tile or memory object is of; nothing where it fits any number.
std::optional<int64_t> rankOf(mlir::Attribute encoding);
/// Whether the compiler has yet to choose the layout: `#gluon.auto_encoding`, `#gluon.coalesced_encoding`, or a slice
/// of one of them.
bool isUnresolved(mlir::Attribute encoding);

/// Warps that execute what stands in this region: those of a partition, or the kernel's.
int warpsIn(mlir::Region *region, int kernelWarps);

} // namespace heddle::triton::gpu

namespace heddle::triton::amdg {
/// Of a matmul: which registers hold its accumulators, `"a"` or `"v"`. A hint.
inline constexpr llvm::StringLiteral registerClassAttribute = "amdg.cd_regclass";
/// Of a border after a stage of a warp pipeline, and of the region of one: its label. As Triton spells them.
inline constexpr llvm::StringLiteral stageBorderAttribute = "triton.warp_pipeline.border",
                                     stageRegionAttribute = "triton.warp_pipeline.stage";
/// i32 in the shape and layout of a tile.
mlir::Type offsetTypeOf(mlir::Type tile);
/// i1 in the shape and layout of a tile.
mlir::Type maskTypeFor(mlir::Type tile);
/// The text with `amdg.schedule_fence` for each `rocdl.sched.barrier` whose mask is words, in code, not in strings or
/// comments. Lines and columns stay.
std::string renameScheduleBarriers(llvm::StringRef text);
/// The kinds of instructions that may be moved over a scheduling barrier, as the mask of `llvm.amdgcn.sched.barrier`:
/// `mask` has words with `|` between them, or the number itself. Nothing for a word that names no kind, and for a
/// number above 4095.
std::optional<uint32_t> scheduleKinds(llvm::StringRef mask);
/// A message about such an operation, with the name that the text has.
std::string nameScheduleBarriers(llvm::StringRef message);
} // namespace heddle::triton::amdg

#define GET_OP_CLASSES
#include "compiler/dialects/ttg/TritonGpuOps.h.inc"
