// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tile code for programs that generate kernels: types and shapes are values here, where the C++ builder
// (frontend/build) has them as C++ types. Values are one-dimensional tiles or scalars; in a binary operation a scalar
// is splat.
#pragma once
#include "compiler/dialects/triton/Triton.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/OwningOpRef.h"
#include "support/ElementType.h"

namespace heddle::tile {

/// The dialects that generated kernels use, loaded.
void loadDialects(mlir::MLIRContext &context);

/// The type of elements in registers and memory; i1 is stored as i8 of 0 and 1, and travels as i8.
mlir::Type storageType(mlir::MLIRContext &context, ElementType type);

class TileWriter {
public:
  TileWriter(mlir::MLIRContext &context) : b(mlir::UnknownLoc::get(&context), &context) {}

  mlir::ImplicitLocOpBuilder b;

  //===-- The kernel ---------------------------------------------------------------------------------------------===//
  struct Argument {
    std::string name;
    mlir::Type type;
    int divisibility = 1; ///< of a pointer's address or of an integer; launches check it
  };
  /// A module with the public function `name`; writing goes on in its body. Its arguments are the values returned.
  llvm::SmallVector<mlir::Value> begin(const std::string &name, llvm::ArrayRef<Argument> arguments);
  /// Ends the function; the module is the caller's.
  mlir::OwningOpRef<mlir::ModuleOp> end();
  mlir::Type pointerTo(mlir::Type element);

  //===-- Scalars and tiles --------------------------------------------------------------------------------------===//
  mlir::Value i32(int64_t value);
  mlir::Value i64(int64_t value);
  mlir::Value boolean(bool value);
  /// A constant of any integer or floating type, in the shape of `like`.
  mlir::Value constant(mlir::Type element, double value, mlir::Value like = {});
  mlir::Value splat(mlir::Value scalar, int64_t size);
  mlir::Value like(mlir::Value value, mlir::Value shape); ///< splat when `value` is a scalar and `shape` a tile
  mlir::Value range(int64_t size);                        ///< 0, 1, ..., size - 1 as i64
  static int64_t sizeOf(mlir::Value value);               ///< elements; 1 of a scalar

  mlir::Value add(mlir::Value x, mlir::Value y) { return binary<mlir::arith::AddIOp>(x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return binary<mlir::arith::SubIOp>(x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return binary<mlir::arith::MulIOp>(x, y); }
  mlir::Value divide(mlir::Value x, mlir::Value y) { return binary<mlir::arith::DivUIOp>(x, y); } ///< unsigned
  mlir::Value modulo(mlir::Value x, mlir::Value y) { return binary<mlir::arith::RemUIOp>(x, y); } ///< unsigned
  mlir::Value bitAnd(mlir::Value x, mlir::Value y) { return binary<mlir::arith::AndIOp>(x, y); }
  mlir::Value bitOr(mlir::Value x, mlir::Value y) { return binary<mlir::arith::OrIOp>(x, y); }
  mlir::Value shiftLeft(mlir::Value x, mlir::Value y) { return binary<mlir::arith::ShLIOp>(x, y); }
  mlir::Value shiftRight(mlir::Value x, mlir::Value y) { return binary<mlir::arith::ShRUIOp>(x, y); }
  mlir::Value negate(mlir::Value bits); ///< logical not of i1
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value x, mlir::Value y);
  mlir::Value less(mlir::Value x, mlir::Value y) { return compare(mlir::arith::CmpIPredicate::slt, x, y); }
  mlir::Value equal(mlir::Value x, mlir::Value y) { return compare(mlir::arith::CmpIPredicate::eq, x, y); }
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  mlir::Value extend(mlir::Value x, unsigned bits);   ///< zero-extends integers
  mlir::Value truncate(mlir::Value x, unsigned bits); ///< integers
  mlir::Value bitcast(mlir::Value x, mlir::Type element);
  /// The same tile, of which each thread of a GPU has so many contiguous elements, or as many as there are for each.
  /// `span`: of a tile with one dimension, a warp has what it would have if each of its threads had so many.
  mlir::Value arranged(mlir::Value tile, int64_t neighbours, int64_t span = 0);
  mlir::Value any(mlir::Value bits); ///< whether some element of a tile of i1 holds

  template <class Op>
  mlir::Value binary(mlir::Value x, mlir::Value y) {
    mlir::Value left = like(x, y), right = like(y, x);
    return Op::create(b, left, right);
  }

  //===-- Memory -------------------------------------------------------------------------------------------------===//
  mlir::Value offset(mlir::Value pointer, mlir::Value elements); ///< either may be a scalar beside a tile
  /// `mask` may be null; masked-off elements are zero.
  mlir::Value load(mlir::Value pointer, mlir::Value mask = {}, bool isVolatile = false);
  /// `streams`: past the caches, for data that nothing reads soon.
  void store(mlir::Value pointer, mlir::Value value, mlir::Value mask = {}, bool streams = false);

  //===-- Control ------------------------------------------------------------------------------------------------===//
  using Values = llvm::SmallVector<mlir::Value>;
  /// For i from 0 below `count` (i64): `body(i, carried)` returns the next values.
  Values forLoop(mlir::Value count, Values carried, llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body);
  /// While `condition` of what is carried holds, `body` makes the next.
  Values whileLoop(Values carried, llvm::function_ref<mlir::Value(mlir::ValueRange)> condition,
                   llvm::function_ref<Values(mlir::ValueRange)> body);
  void ifThen(mlir::Value condition, llvm::function_ref<void()> body);
  Values ifElse(mlir::Value condition, mlir::TypeRange types, llvm::function_ref<Values()> yes,
                llvm::function_ref<Values()> no);

private:
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace heddle::tile
