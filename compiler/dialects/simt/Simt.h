// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The `simt` dialect: layouts as encodings of tile types, and operations between them.
#pragma once
#include "compiler/dialects/triton/Triton.h"
#include "compiler/layout/LinearLayout.h"
#include "mlir/IR/TensorEncoding.h"

#include "compiler/dialects/simt/SimtDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/dialects/simt/SimtAttributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "compiler/dialects/simt/SimtTypes.h.inc"

namespace heddle::simt {

/// Of a module: the chip and the warps of a block that its layouts are for (a string, an i64).
inline constexpr llvm::StringLiteral targetAttribute = "simt.target";
inline constexpr llvm::StringLiteral warpsAttribute = "simt.warps";
/// Of a function: of a unit's registers its code takes so many at most that this number of blocks can live there.
inline constexpr llvm::StringLiteral residentBlocksAttribute = "simt.resident_blocks";
/// Of a partition's function, besides its warps (`warpsAttribute`): its first warp in the block, and the registers that
/// a thread asks for.
inline constexpr llvm::StringLiteral firstWarpAttribute = "simt.first_warp", registersAttribute = "simt.registers";
/// Warps that execute a function, in a block of `otherwise` unless it says so.
int warpsOf(mlir::Operation *function, int otherwise);
/// Whether it is the function of a partition.
bool isPartition(mlir::Operation *function);
/// Of `tt.reshape`: so many contiguous elements are in each thread, and the elements of so many contiguous elements in
/// one warp.
inline constexpr llvm::StringLiteral contiguousAttribute = "simt.contiguous";
inline constexpr llvm::StringLiteral spanAttribute = "simt.span";
/// Of `scf.for`: the second of its two dependent matmuls is to run in the next iteration, and its right operand stays
/// in a ring until then. pipeline-loops does that, where its tiles are copied to rings, and takes the attribute away.
inline constexpr llvm::StringLiteral defersSecondAttribute = "simt.defers_second";
/// Of `scf.for`, in trials of defer-matmuls: its second matmul is one of the iteration before.
inline constexpr llvm::StringLiteral deferredAttribute = "simt.deferred";

/// The layout of a tile of this level. Asserts that it has one.
const layout::LinearLayout &layoutOf(mlir::Type type);
/// Whether `type` is a tile with a layout.
bool hasLayout(mlir::Type type);
/// `tile` with a layout in place of whatever it has.
mlir::RankedTensorType withLayout(mlir::RankedTensorType tile, const layout::LinearLayout &layout);
/// Registers that each thread holds of a tile, one for a scalar, two for a memory object.
int64_t registersOf(mlir::Type type);
/// What a register adds to the coordinates of its element.
llvm::SmallVector<int64_t> coordinatesOfRegister(const layout::LinearLayout &layout, int64_t reg);
/// Whether lanes and warps add the same coordinates in both.
bool placeThreadsAlike(const layout::LinearLayout &a, const layout::LinearLayout &b);

/// How far addresses of global memory are contiguous, as far as their analysis tells: elements along one axis of the
/// tile, of which an access takes no more.
struct AccessWidth {
  int axis = 0;
  int64_t elements = 1;
};
/// The lowest registers that are contiguous along the axis, `most` at most.
int64_t contiguousRegisters(const layout::LinearLayout &layout, AccessWidth width, int64_t most);

/// Where a memory object begins: chips read the rows of swizzled tiles by the bits of their addresses. Small objects
/// that no bulk copy or warp-group MMA accesses may begin elsewhere (leastAlignment).
inline constexpr int64_t memoryAlignment = 1024;
/// For a memory object of so many bytes that only threads access: a power of two from 16 to memoryAlignment.
int64_t leastAlignment(int64_t bytes);
/// And scratch memory, whose rows nothing swizzles.
inline constexpr int64_t scratchAlignment = 16;

/// (offset, part) -> coordinates of a tile that lies row-major, `depth` elements along `axis` at a time.
layout::LinearLayout rowMajorParts(llvm::ArrayRef<int64_t> shape, int axis, int64_t depth);
inline layout::LinearLayout rowMajor(llvm::ArrayRef<int64_t> shape) {
  return rowMajorParts(shape, -1, 1);
}

//===-- Matmuls with scales --------------------------------------------------------------------------------------===//

inline constexpr int64_t scaledBlock = 32;    ///< elements along K with one scale
inline constexpr int64_t scaledRunBytes = 16; ///< contiguous along K in a lane (mfmaOperand's kWidth of bytes)
enum class MatrixSide { A, B, D };
/// Whether operand or result `tile`, or the scales of an operand, lie where the instruction of `simt.dot_scaled` reads
/// or leaves them in threads that have these results.
bool liesForInstruction(MatrixAttr instruction, mlir::RankedTensorType tile, mlir::RankedTensorType results,
                        MatrixSide side, bool isScale);

/// How a matrix lies that groups of warps multiply: stripes of rows of `swizzleBytes`, or of 16 bytes.
struct OperandLayout {
  bool columnMajor;     ///< the first axis is contiguous
  int64_t swizzleBytes; ///< 32, 64, 128; 0: rows of 16 bytes, not swizzled
  int64_t stripeBytes;  ///< of all rows
};
/// Nothing when it lies otherwise.
std::optional<OperandLayout> operandLayout(SharedType ring);
/// Whether a tile in registers lies as groups of warps read the left operand of a product with such a sum.
bool liesAsLeftOperand(mlir::RankedTensorType left, mlir::RankedTensorType sum);

} // namespace heddle::simt

#define GET_OP_CLASSES
#include "compiler/dialects/simt/SimtOps.h.inc"
