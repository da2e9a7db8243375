// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The matrix instructions that kernels use most, for processors with AVX-512 and its 8-bit dot products: from registers
// to registers, without the plain matrices of MatrixMultiply.cpp in between, and with the same bits.
#pragma once
#include "simulator/instructions/MatrixMultiply.h"

namespace heddle::simulator {

/// Executes the instruction, or returns false and changes nothing: other processors, rare shapes, formats and
/// modifiers.
bool multiplyDirectly(Wave &wave, const Instruction &instruction, const MatrixInstruction &matrix);

} // namespace heddle::simulator
