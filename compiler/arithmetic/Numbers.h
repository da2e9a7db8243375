// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an operation on one element means: the table "Numbers" of docs/host.md, written in arith, math, scf and LLVM's
// intrinsics: one definition for all lowerings, so that no target gives another result. It knows values, not tiles:
// each operand is a scalar or a vector of elements, which the result then is too.
//
// Floating-point formats under 32 bits ("narrow") travel as their bits, in integers of their width.
#pragma once
#include "mlir/IR/Builders.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace heddle::arithmetic {

/// A floating-point type of fewer than 32 bits.
bool isNarrowFloat(mlir::Type type);
/// Whether all lowerings have code for an operation of the math dialect (docs/triton-ir.md has the list).
bool isKnownMath(mlir::Operation *op);
/// `scalar`, or a vector of it if `shape` is a vector.
mlir::Type like(mlir::Type scalar, mlir::Value shape);

/// Emits at the insertion point of a builder, which must outlive it. Costs nothing: make one where it is needed.
class Numbers {
public:
  Numbers(mlir::OpBuilder &builder, mlir::Location loc) : b(builder), loc(loc) {}
  explicit Numbers(mlir::ImplicitLocOpBuilder &builder) : Numbers(builder, builder.getLoc()) {}

  mlir::Value constantLike(mlir::Type scalar, int64_t value, mlir::Value shape); ///< truncated to the width
  mlir::Value constantLike(double value, mlir::Value shape, mlir::Type scalar);
  /// `op`, with its flags and other properties, on `operands`; the result is `scalarResult` or a vector of it.
  mlir::Value cloneOn(mlir::Operation *op, mlir::ValueRange operands, mlir::Type scalarResult);

  //===-- NarrowFormats.cpp: floating-point formats --------------------------------------------------------------===//
  mlir::Value widen(mlir::Value bits, mlir::Type from); ///< narrow bits to f32; f32 and f64 unchanged
  /// f32 or f64 to narrow bits, rounded once; fp8 saturates.
  mlir::Value narrow(mlir::Value wide, mlir::Type to, bool towardZero = false);
  /// Between any two formats, each as it travels.
  mlir::Value convertFloat(mlir::Value value, mlir::Type from, mlir::Type to, bool towardZero = false);

  //===-- Floats.cpp: f32 and f64 --------------------------------------------------------------------------------===//
  /// x * y + z of f32 values that came from a narrow format, as f64: `narrow` makes of it what one rounding would.
  mlir::Value fusedToOdd(mlir::Value x, mlir::Value y, mlir::Value z);
  mlir::Value extremum(bool largest, mlir::Value x, mlir::Value y); ///< maxnumf or minnumf
  mlir::Value remainder(mlir::Value x, mlir::Value y);              ///< remf of two f32 or two f64, always as f64
  mlir::Value copySign(mlir::Value magnitude, mlir::Value sign);

  //===-- Integers.cpp -------------------------------------------------------------------------------------------===//
  /// `op` is an arith.divsi, divui, remsi or remui; it gives the kind and the flags, not the operands.
  mlir::Value divide(mlir::Operation *op, mlir::Value a, mlir::Value d);
  /// `op` is an arith.shli, shrsi or shrui.
  mlir::Value shift(mlir::Operation *op, mlir::Value a, mlir::Value amount);
  mlir::Value multiplyHigh(mlir::Value a, mlir::Value c); ///< upper half of the unsigned product
  /// `a` is of the format `from`, as it travels; `to` is an integer type.
  mlir::Value floatToInt(mlir::Value a, mlir::Type from, mlir::Type to, bool isSigned);
  /// To any format; a narrow one as its bits.
  mlir::Value intToFloat(mlir::Value a, mlir::Type to, bool isSigned);

private:
  mlir::Value roundToOdd(mlir::Value f64);
  mlir::Value narrowToBf16(mlir::Value f32);
  mlir::Value narrowToFp8(mlir::Value f32, mlir::Type to);
  mlir::Value widenFp8(mlir::Value bits, mlir::Type from);
  mlir::Value divideNarrow(mlir::Operation *op, mlir::Value a, mlir::Value d);

  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace heddle::arithmetic
