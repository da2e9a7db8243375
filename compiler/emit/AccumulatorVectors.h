// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Accumulators of matrix instructions lie in contiguous registers, but a loop carries the elements of a tile one by
// one: LLVM 22's register allocator would have to join what was taken apart, and where most registers are in use it
// copies and spills accumulators in each iteration. Narrow elements of operands have registers in common likewise.
#pragma once

namespace llvm {
class Instruction;
class Module;
} // namespace llvm

namespace heddle {

/// A matrix instruction of AMD's chips.
bool isMatrixInstruction(const llvm::Instruction &instruction);

/// Makes one phi of a register of the phis that take its parts of 8 or 16 bits, as of an operand that a loop carries:
/// LLVM 22 would take the register apart and put it together again in each iteration. For AMD, after the optimiser.
void keepRegistersWhole(llvm::Module &module);

/// Makes one phi of the phis that take the elements of a matrix instruction's result. For AMD, after the optimiser.
void keepAccumulatorsWhole(llvm::Module &module);

/// Accumulates in AGPRs where a loop carries more accumulators than half of the VGPRs that instructions can name, and
/// a thread of a block of so many may have both. After keepAccumulatorsWhole.
void accumulateInAgprs(llvm::Module &module, int threads);

} // namespace heddle
