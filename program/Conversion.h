// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements in registers and in memory, and HLO's conversions between element types.
#pragma once
#include "frontend/hlo/Hlo.h"
#include "frontend/tile/TileWriter.h"

namespace heddle::program {

/// How elements of the type travel in tile code.
mlir::Type registerType(mlir::MLIRContext &context, hlo::DType type);

/// `element`, or a tile of it in the shape of `value`.
mlir::Type shaped(mlir::Type element, mlir::Value value);

/// One of the floating-point formats of at most 8 bits.
bool isFp8(hlo::DType type);

/// The value in another type, as HLO's convert: to integers toward zero and saturated with NaN as 0, to floats rounded
/// to nearest even, to pred `!= 0`.
mlir::Value convertElement(tile::TileWriter &writer, mlir::Value value, hlo::DType from, hlo::DType to);

/// Between registers and memory: pred is a byte there, and so are the types of NarrowTypes.h.
mlir::Value fromMemory(tile::TileWriter &writer, mlir::Value value, hlo::DType type);
mlir::Value toMemory(tile::TileWriter &writer, mlir::Value value, hlo::DType type);

} // namespace heddle::program
