// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One element-wise HLO operation on tiles. In registers pred is i1, an integer its signless type, and a float itself;
// 16-bit floats are computed in f32 and 8-bit ones too, each operation rounding once, as HLO defines its operations.
#pragma once
#include "frontend/hlo/Hlo.h"
#include "frontend/tile/TileWriter.h"

namespace heddle::program {

/// How elements of the type travel in tile code.
mlir::Type registerType(mlir::MLIRContext &context, hlo::DType type);

/// `operands` are scalars or tiles of one size; `types` their element types. Throws Error{Internal} for an opcode that
/// is not element-wise.
mlir::Value elementwise(tile::TileWriter &writer, const hlo::Instruction &instruction,
                        llvm::ArrayRef<mlir::Value> operands, llvm::ArrayRef<hlo::DType> types);

/// The value in another type, as HLO's convert: to integers toward zero and saturated with NaN as 0, to floats rounded
/// to nearest even, to pred `!= 0`.
mlir::Value convertElement(tile::TileWriter &writer, mlir::Value value, hlo::DType from, hlo::DType to);

/// Between registers and memory: pred is a byte there.
mlir::Value fromMemory(tile::TileWriter &writer, mlir::Value value, hlo::DType type);
mlir::Value toMemory(tile::TileWriter &writer, mlir::Value value, hlo::DType type);

} // namespace heddle::program
