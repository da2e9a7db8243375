// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What HLO computes of floating values and the tile level has no operation for, made of those it has: expm1, power,
// atan2, ... Exact cases (zeros, infinities, NaN) are those of C's functions.
#pragma once
#include "frontend/tile/TileWriter.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace heddle::program {

/// Functions of floating values in one type, f32 or f64.
class RealFunctions {
public:
  explicit RealFunctions(tile::TileWriter &writer) : w(writer) {}

  mlir::Value number(double value, mlir::Value like) {
    return w.constant(mlir::getElementTypeOrSelf(like.getType()), value, like);
  }
  mlir::Value add(mlir::Value x, mlir::Value y) { return w.binary<mlir::arith::AddFOp>(x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return w.binary<mlir::arith::SubFOp>(x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return w.binary<mlir::arith::MulFOp>(x, y); }
  mlir::Value div(mlir::Value x, mlir::Value y) { return w.binary<mlir::arith::DivFOp>(x, y); }
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value x, mlir::Value y) {
    mlir::Value left = w.like(x, y), right = w.like(y, x);
    return mlir::arith::CmpFOp::create(w.b, predicate, left, right);
  }
  template <class Op>
  mlir::Value apply(mlir::Value x) {
    return Op::create(w.b, x);
  }
  mlir::Value abs(mlir::Value x) { return apply<mlir::math::AbsFOp>(x); }
  mlir::Value negate(mlir::Value x) { return apply<mlir::arith::NegFOp>(x); }
  mlir::Value copySign(mlir::Value magnitude, mlir::Value sign) {
    return mlir::math::CopySignOp::create(w.b, magnitude, sign);
  }

  /// `compute` in f64, rounded back to the type of `x`: for functions that are made of others and lose digits.
  mlir::Value inDouble(mlir::Value x, llvm::function_ref<mlir::Value(mlir::Value)> compute);
  mlir::Value inDouble(mlir::Value x, mlir::Value y, llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> compute);

  mlir::Value expm1(mlir::Value x);
  mlir::Value log1p(mlir::Value x);
  mlir::Value logistic(mlir::Value x);
  mlir::Value tangent(mlir::Value x);
  mlir::Value cubeRoot(mlir::Value x);
  mlir::Value sign(mlir::Value x);
  mlir::Value power(mlir::Value x, mlir::Value y);
  mlir::Value atan2(mlir::Value y, mlir::Value x);

private:
  mlir::Value arcTangentOfSmall(mlir::Value t);
  tile::TileWriter &w;
};

} // namespace heddle::program
