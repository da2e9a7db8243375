// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrix instructions as values: shape, element formats, and where each element lies. Sources: CDNA 3 manual, 7.1.4
// (layout formulas), 7.1.6 (broadcasts), 7.5 (sparse); CDNA 4 manual, 7.2 (block scales).
#pragma once
#include "simulator/instructions/InstructionTable.h"

namespace heddle::simulator {

enum class MatrixElement : uint8_t { F64, F32, Xf32, F16, BF16, I8, Fp8, Bf8, Fp8Fnuz, Bf8Fnuz, Fp6, Bf6, Fp4 };

constexpr unsigned bitsOf(MatrixElement element) {
  switch (element) {
  case MatrixElement::F64:
    return 64;
  case MatrixElement::F32:
  case MatrixElement::Xf32:
    return 32;
  case MatrixElement::F16:
  case MatrixElement::BF16:
    return 16;
  case MatrixElement::Fp6:
  case MatrixElement::Bf6:
    return 6;
  case MatrixElement::Fp4:
    return 4;
  default:
    return 8;
  }
}

/// D = A B + C for each of `blocks` blocks; A is m x k, B k x n.
struct MatrixShape {
  uint8_t m, n, k, blocks = 1;
};

enum class MatrixKind : uint8_t {
  Dense,
  Sparse,  ///< of four consecutive elements of A's row two are there, and C is the destination
  Formats, ///< f8f6f4: cbsz and blgp name the formats of A and B
  Scaled,  ///< f8f6f4 with a scale for each 32 elements along k
};

struct MatrixInstruction {
  MatrixShape shape;
  MatrixElement a, b;
  MatrixKind kind = MatrixKind::Dense;
};

/// Where an element of A or B lies: `outer` is its row in A or its column in B.
struct OperandPlace {
  unsigned outer, k, block;
};
/// What lane `lane` holds as its item number `item`. `outerSize` is m for A and n for B; `run` items of a lane follow
/// each other along k. 8-bit elements of f8f6f4 lie in runs of 16: only so do they line up with 4- and 6-bit ones of
/// the other operand, which Triton's mixed-precision dot relies on. B of a sparse product lies in runs of 16 bytes:
/// only so are the row sums of AITER's `fmha_v4_fwd` sums of rows, and AMD's emulator rocjitsu has it so.
OperandPlace operandPlace(const MatrixShape &shape, unsigned outerSize, unsigned lane, unsigned item, unsigned run);

/// Where an element of C and D lies.
struct ResultPlace {
  unsigned lane, item;
};
ResultPlace resultPlace(const MatrixShape &shape, bool isDouble, unsigned row, unsigned column, unsigned block);

/// The lanes from which A and B are read when cbsz and abid, or blgp, broadcast some of them.
unsigned broadcastLaneOfA(unsigned lane, unsigned cbsz, unsigned abid);
unsigned broadcastLaneOfB(unsigned lane, unsigned blgp);

/// Which byte of the scale's register counts for A (`number` 0) or B (1): op_sel is its low bit, op_sel_hi the high
/// one.
unsigned scaleByte(const Modifiers &modifiers, unsigned number);

/// Executes the instruction for a wave; EXEC has no say.
void multiplyMatrices(Wave &wave, const Instruction &instruction, const MatrixInstruction &matrix);
/// The same by one way for all of them, which every processor has.
void multiplyPlainly(Wave &wave, const Instruction &instruction, const MatrixInstruction &matrix);

} // namespace heddle::simulator
