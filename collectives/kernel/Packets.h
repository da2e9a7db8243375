// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements of any size as words, the data of packets, and back.
#pragma once
#include "frontend/tile/TileWriter.h"

namespace heddle {

/// The words of a tile, of 32 or 64 bits: one tile of as many as its bytes need, or of 32 bits for elements of 8 bytes
/// two, low halves first.
llvm::SmallVector<mlir::Value, 2> toWords(tile::TileWriter &writer, mlir::Value tile, unsigned wordBits);
mlir::Value fromWords(tile::TileWriter &writer, llvm::ArrayRef<mlir::Value> words, mlir::Type element);

} // namespace heddle
