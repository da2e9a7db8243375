// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What tiles of scaled elements are as numbers: formats and scales of OCP Microscaling (MX) 1.0, in f32, which holds
// all elements, all scales and all their products but those beyond its range.
#pragma once
#include "compiler/dialects/triton/Triton.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace heddle {

/// Operations that change the shape of a tile. Where tiles have layouts, theirs follow (compiler/lowering/ttg_to_simt).
class TileShapes {
public:
  using Builder = mlir::ImplicitLocOpBuilder;
  virtual ~TileShapes() = default;
  /// A new last axis with an element of each.
  virtual mlir::Value join(Builder &b, mlir::Value first, mlir::Value second) const;
  /// `axis` and the next one are swapped.
  virtual mlir::Value exchange(Builder &b, mlir::Value tile, int64_t axis) const;
  virtual mlir::Value reshape(Builder &b, mlir::Value tile, llvm::ArrayRef<int64_t> shape) const;
  /// The type of exchange().
  virtual mlir::RankedTensorType exchanged(mlir::RankedTensorType tile, int64_t axis) const;
  /// A tile of `wanted`, of the elements along `axis` each several times, one after the other.
  virtual mlir::Value repeat(Builder &b, mlir::Value tile, int64_t axis, mlir::RankedTensorType wanted) const;
};

/// One side of a product.
struct ScaledTile {
  mlir::Value tile, scale; ///< `scale` may be null
  triton::ScaleDotElemType format;
  int64_t packedAxis, sumAxis; ///< the axis along which e2m1 is packed, and that of K
};

class ScaledTiles {
public:
  ScaledTiles(mlir::ImplicitLocOpBuilder &builder, const TileShapes &shapes) : builder(builder), shapes(shapes) {}

  /// Of bytes, two e2m1 each along `axis`, the lower half first.
  mlir::Value unpack(mlir::Value bytes, int64_t axis);
  /// The e2m1 nearest to each f32, ties to the even one, as bytes of four bits. What is larger than 6, and NaN, is 6.
  mlir::Value toE2M1(mlir::Value values);
  /// Of any format but e2m3 and e3m2.
  mlir::Value elements(const ScaledTile &side);
  /// Of E8M0 in i8, or of floats.
  mlir::Value scales(mlir::Value scale);
  /// The elements times their scales, which lie as (rows, groups along K) for both sides.
  mlir::Value product(const ScaledTile &side);
  /// Whether bf16 holds the products: its 8 bits hold those of an element and of a scale of E8M0 or f8, and two tiles
  /// those of f16.
  static bool fitsBf16(const ScaledTile &side);
  /// The tile of bf16, or the two, whose sum product() is, but for what is below 2^-133.
  llvm::SmallVector<mlir::Value, 3> partsInBf16(const ScaledTile &side);

private:
  mlir::Type single(mlir::Value tile);
  mlir::Value integers(mlir::Value like, int64_t value);
  mlir::Value fromE2M1(mlir::Value nibbles);

  mlir::ImplicitLocOpBuilder &builder;
  const TileShapes &shapes;
};

/// Both sides of `op`; an error, at its place, for what is not multiplied.
struct ScaledSides {
  ScaledTile a, b;
};
mlir::FailureOr<ScaledSides> sidesOf(triton::DotScaledOp op);

} // namespace heddle
