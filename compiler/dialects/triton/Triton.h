// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The `tt` dialect: types, enumerations, operations, and the few questions every user of the tile level asks of a type.
#pragma once
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/CastInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "compiler/dialects/triton/TritonDialect.h.inc"
#include "compiler/dialects/triton/TritonEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/dialects/triton/TritonAttributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "compiler/dialects/triton/TritonTypes.h.inc"

namespace heddle::triton {

/// A tile has at most this many elements.
inline constexpr int64_t maxTileElements = int64_t(1) << 20;

/// Address spaces that Triton 3.9 names, `!tt.ptr<f32, "constant">`; older text has the numbers.
inline constexpr int descriptorSpace = 0, globalSpace = 1, constantSpace = 4;

/// i1 in the shape of `pointer`, which is a pointer, a tile of pointers or a block pointer.
mlir::Type maskTypeOf(mlir::Type pointer);
/// The pointee type in the shape of `pointer`; the block type for a block pointer.
mlir::Type valueTypeOf(mlir::Type pointer);
/// Whether `type` is a pointer to a tensor block (`!tt.ptr<tensor<...>>`).
bool isBlockPointer(mlir::Type type);
/// For a block pointer `!tt.ptr<tensor<..xT>>` the scalar pointer `!tt.ptr<T>`.
mlir::Type basePointerOf(mlir::Type blockPointer);
/// The element type of a tile or `type` itself; for pointers the pointer type.
mlir::Type elementTypeOf(mlir::Type type);
/// Bits of one element in a register: pointers have 64. 0 for other types.
unsigned elementBits(mlir::Type type);

/// The single public function of `module`; null when there is none or more than one (`count` tells).
class FuncOp;
FuncOp findKernel(mlir::ModuleOp module, int &count);

/// Whether a flag attribute is there and not `false`.
bool isFlagSet(mlir::Attribute flag);

namespace OpTrait {
/// Rules T1 and T2: every tile operand and result has power-of-two dimensions and at most 2^20 elements.
mlir::LogicalResult verifyTileShapes(mlir::Operation *op);
template <typename ConcreteType>
class TileShapes : public mlir::OpTrait::TraitBase<ConcreteType, TileShapes> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) { return verifyTileShapes(op); }
};

/// Rule E1: all operands and results are scalars, or all are tiles of one shape.
mlir::LogicalResult verifySameTileShape(mlir::Operation *op);
template <typename ConcreteType>
class SameTileShape : public mlir::OpTrait::TraitBase<ConcreteType, SameTileShape> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) { return verifySameTileShape(op); }
};
} // namespace OpTrait
} // namespace heddle::triton

#define GET_OP_CLASSES
#include "compiler/dialects/triton/TritonOps.h.inc"
