// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One element-wise HLO operation on tiles. In registers pred is i1, an integer its signless type, and a float itself;
// 16-bit floats are computed in f32 and 8-bit ones too, each operation rounding once, as HLO defines its operations.
#pragma once
#include "frontend/hlo/Hlo.h"
#include "frontend/tile/TileWriter.h"

namespace heddle::program {

/// `operands` are scalars or tiles of one size; `types` their element types. Throws Error{Internal} for an opcode that
/// is not element-wise.
mlir::Value elementwise(tile::TileWriter &writer, const hlo::Instruction &instruction,
                        llvm::ArrayRef<mlir::Value> operands, llvm::ArrayRef<hlo::DType> types);

} // namespace heddle::program
