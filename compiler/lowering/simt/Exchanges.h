// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What takes an exchange among the threads of a block, written as memory objects: a `simt.alloc scratch`, a store, a
// load. Barriers between them are not made here (InsertBarriers.h). After these functions no operation but accesses of
// memory objects needs shared memory.
#pragma once
#include "compiler/layout/WarpConversion.h"
#include "compiler/lowering/simt/GlobalOrder.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace heddle::simt {

class GpuTarget;

//===-- Passes ---------------------------------------------------------------------------------------------------===//

/// Replaces each `simt.convert_layout` whose elements change their warp, or move within one in a way that shuffles and
/// swaps of lanes do not do (layout::WarpConversion), by an exchange through memory without bank conflicts, in parts
/// where that memory would be larger than needed.
void lowerConversions(mlir::ModuleOp module, const GpuTarget &target);
/// Replaces reductions and scans along axes that several warps share by those of each warp, an exchange, and those of
/// each thread.
void lowerReductions(mlir::ModuleOp module, BlockShape block);
/// Replaces histograms, gathers, matmuls without an instruction and prints; gives the results of atomic operations and
/// of loads that all threads must agree on to the threads that have not done them. An error where a part of a matmul
/// does not fit into shared memory.
mlir::LogicalResult lowerExchanges(mlir::ModuleOp module, const GpuTarget &target, int warps);

//===-- Common to them -------------------------------------------------------------------------------------------===//

/// How the target converts without memory; nothing where that takes some.
std::optional<layout::WarpConversion> conversionInWarp(ConvertLayoutOp op, const GpuTarget &target);

/// How many bits of the lanes along the axis share the elements that a reduction leaves, so that the fewest
/// instructions do. `staysShared`: they need not give each other their shares.
int lanesThatShare(const layout::LinearLayout &layout, int axis, bool staysShared);

/// Scratch memory for a tile of this shape and element type.
mlir::Value makeScratch(mlir::ImplicitLocOpBuilder &b, llvm::ArrayRef<int64_t> shape, mlir::Type element,
                        const layout::LinearLayout &layout);
/// A tile through row-major scratch memory: what the owners of its elements hold, in all threads.
mlir::Value exchange(mlir::ImplicitLocOpBuilder &b, mlir::Value tile);
/// A scalar that one thread has, in all.
mlir::Value exchangeScalar(mlir::ImplicitLocOpBuilder &b, mlir::Value scalar, BlockShape block);
/// Whether nothing reads results of `op` but stores to memory objects, which owners do. Scalars go there as splats.
bool isForExchange(mlir::Operation *op);

} // namespace heddle::simt
