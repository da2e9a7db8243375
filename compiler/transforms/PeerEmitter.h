// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tile code that the expansion of the `peer` dialect shares: fields of the group's record, addresses in the memory of
// other ranks, and the error record.
#pragma once
#include "compiler/dialects/peer/Peer.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace heddle::peer {

/// What the error record says of a failed wait. Each is a scalar or has the shape of `failed`.
struct Failure {
  mlir::Value failed;         ///< i1
  mlir::Value peer;           ///< i32
  mlir::Value expected, seen; ///< i64
};

class PeerEmitter {
public:
  /// Emits before `op`; `group` is its pointer to a PeerGroup.
  PeerEmitter(mlir::Operation *op, mlir::Value group) : b(op->getLoc(), op), group(group) {}

  mlir::ImplicitLocOpBuilder b;

  mlir::Value i32(int64_t value);
  mlir::Value i64(int64_t value);
  /// `value` in the shape of `like`: splat when `value` is a scalar and `like` a tile.
  mlir::Value inShapeOf(mlir::Value value, mlir::Value like);
  /// pointer + offset elements; either may be a scalar beside a tile.
  mlir::Value offset(mlir::Value pointer, mlir::Value elements);

  /// The 64-bit field of the group at this byte offset.
  mlir::Value field(int64_t offsetBytes);
  mlir::Value rank(); ///< i32
  /// The group's limit, small enough to add to a clock.
  mlir::Value limit();
  /// `pointer` as it lies in the memory of `rank` (i32).
  mlir::Value address(mlir::Value pointer, mlir::Value rank);
  /// Claims the rank's error record for the first failed element and writes it; nothing is written where none failed.
  void writeError(const Failure &failure, mlir::Value deadline, mlir::Value tag);

private:
  mlir::Value arena(mlir::Value rank);

  mlir::Value group;
};

} // namespace heddle::peer
