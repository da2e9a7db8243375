// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrix instructions done from registers to registers against the way that does all of them, bit for bit. Where the
// processor lacks what the first one needs there is only the second, which the tests of instructions then cover.
#include "simulator/instructions/MatrixDirect.h"
#include "simulator/state/Wave.h"
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <random>

namespace heddle::simulator {
namespace {

using enum MatrixElement;

Operand vectorOperand(unsigned index, unsigned words) {
  Operand operand;
  operand.kind = Operand::Kind::Vector;
  operand.index = uint16_t(index);
  operand.words = uint8_t(words);
  return operand;
}

Operand constant(uint32_t value) {
  Operand operand;
  operand.kind = Operand::Kind::Constant;
  operand.constant = value;
  return operand;
}

class MatrixDirectTest : public testing::Test {
protected:
  /// Any bits, and often small numbers, zeros and infinities of the formats.
  uint32_t anyWord() {
    static constexpr uint32_t special[] = {0, 0x80808080, 0x7F7F7F7F, 0x7F807F80, 0x00010001, 0x7C007C00, 0xFFFFFFFF};
    return random() % 16 ? uint32_t(random()) : special[random() % std::size(special)];
  }
  /// C at the place of D, elsewhere, over a part of D, or a number.
  Operand anyC(unsigned words) {
    switch (random() % 4) {
    case 0:
      return vectorOperand(64, words);
    case 1:
      return vectorOperand(128, words);
    case 2:
      return vectorOperand(66, words);
    default:
      return constant(random() % 2 ? 0 : 0x3F800000);
    }
  }
  Instruction anyInstruction(const MatrixInstruction &matrix) {
    unsigned resultWords = matrix.shape.m * matrix.shape.n / waveLanes;
    Instruction instruction;
    instruction.operands[0] = vectorOperand(64, resultWords);
    unsigned a = random() % 4 ? 0 : 65; // D may lie where A or B is
    instruction.operands[1] = vectorOperand(a, 8);
    instruction.operands[2] = vectorOperand(random() % 8 ? 16 : 68, 8);
    instruction.operands[3] = anyC(resultWords);
    uint32_t scale = scalesAreNear1 ? 0x7F7F7F7F : 0x40000000; // 0x7F is 1
    instruction.operands[4] = random() % 4 ? vectorOperand(32, 1) : constant(scale);
    instruction.operands[5] = random() % 4 ? vectorOperand(33, 1) : constant(scale);
    instruction.modifiers.opSel = uint8_t(random() % 4);
    instruction.modifiers.opSelHi = uint8_t(random() % 4);
    if (matrix.kind != MatrixKind::Dense) {
      static constexpr uint8_t codes[] = {0, 1, 4, 4, 2};
      instruction.modifiers.cbsz = codes[random() % 5];
      instruction.modifiers.blgp = random() % 4 ? instruction.modifiers.cbsz : codes[random() % 5];
    }
    return instruction;
  }
  /// Whether it was done directly.
  bool compare(const MatrixInstruction &matrix) {
    for (unsigned row = 0; row < 192; ++row)
      for (uint32_t &word : before->v[row])
        word = anyWord();
    for (unsigned row = 32; row < 34 && scalesAreNear1; ++row)
      for (uint32_t &word : before->v[row]) {
        uint8_t bytes[4];
        for (uint8_t &byte : bytes)
          byte = uint8_t(127 - 60 + random() % 123);
        std::memcpy(&word, bytes, 4);
      }
    if (oneScaleIsFar)
      before->v[32 + random() % 2][random() % waveLanes] = random() % 2 ? 0x01010101 : 0xFDFDFDFD;
    std::memset(before->s, 0, sizeof before->s);
    before->mode = 0xF0;
    *plain = *before, *direct = *before;
    Instruction instruction = anyInstruction(matrix);
    multiplyPlainly(*plain, instruction, matrix);
    bool isDirect = multiplyDirectly(*direct, instruction, matrix);
    const Wave &expected = isDirect ? *plain : *before;
    for (unsigned row = 0; row < 192; ++row)
      EXPECT_EQ(std::memcmp(expected.v[row], direct->v[row], sizeof(Row)), 0)
          << "v" << row << " of " << unsigned(matrix.shape.m) << "x" << unsigned(matrix.shape.k) << " element "
          << unsigned(matrix.a) << " kind " << unsigned(matrix.kind) << " cbsz " << unsigned(instruction.modifiers.cbsz)
          << " blgp " << unsigned(instruction.modifiers.blgp);
    return isDirect;
  }
  std::unique_ptr<Wave> before = std::make_unique<Wave>(), plain = std::make_unique<Wave>(),
                        direct = std::make_unique<Wave>();
  std::mt19937 random{11};
  bool scalesAreNear1 = false; ///< 2^-60 to 2^62: those of rows are multiplied by 1/4
  bool oneScaleIsFar = false;  ///< of them
};

bool hasDirectWay() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vnni");
}

TEST_F(MatrixDirectTest, sameBits) {
  if (!hasDirectWay())
    GTEST_SKIP() << "the processor lacks AVX-512 or its 8-bit dot products";
  const MatrixInstruction all[] = {
      {{16, 16, 16}, BF16, BF16},
      {{16, 16, 32}, BF16, BF16},
      {{32, 32, 8}, BF16, BF16},
      {{32, 32, 16}, BF16, BF16},
      {{16, 16, 16}, F16, F16},
      {{16, 16, 32}, F16, F16},
      {{32, 32, 8}, F16, F16},
      {{32, 32, 16}, F16, F16},
      {{16, 16, 32}, I8, I8},
      {{32, 32, 16}, I8, I8},
      {{16, 16, 64}, I8, I8},
      {{32, 32, 32}, I8, I8},
      {{16, 16, 32}, Fp8, Bf8},
      {{32, 32, 16}, Bf8, Fp8},
      {{16, 16, 32}, Fp8Fnuz, Bf8Fnuz},
      {{32, 32, 16}, Bf8Fnuz, Fp8Fnuz},
      {{16, 16, 128}, Fp8, Fp8, MatrixKind::Formats},
      {{32, 32, 64}, Fp8, Fp8, MatrixKind::Formats},
      {{16, 16, 128}, Fp8, Fp8, MatrixKind::Scaled},
      {{32, 32, 64}, Fp8, Fp8, MatrixKind::Scaled},
  };
  for (const MatrixInstruction &matrix : all) {
    unsigned done = 0;
    for (int round = 0; round < 100; ++round)
      done += compare(matrix);
    EXPECT_GT(done, 0u) << "element " << unsigned(matrix.a);
  }
}

/// Then fp4 is scaled in f32, always; with one scale of another size it may be in f64.
TEST_F(MatrixDirectTest, sameBitsWithScalesNear1) {
  if (!hasDirectWay())
    GTEST_SKIP() << "the processor lacks AVX-512 or its 8-bit dot products";
  scalesAreNear1 = true;
  for (bool isFar : {false, true}) {
    oneScaleIsFar = isFar;
    unsigned done = 0;
    for (int round = 0; round < 400; ++round) {
      done += compare({{16, 16, 128}, Fp4, Fp4, MatrixKind::Scaled});
      done += compare({{32, 32, 64}, Fp4, Fp4, MatrixKind::Scaled});
    }
    EXPECT_GT(done, 100u) << isFar;
  }
}

TEST_F(MatrixDirectTest, othersAreLeft) {
  EXPECT_FALSE(compare({{32, 32, 1, 2}, F32, F32}));
  EXPECT_FALSE(compare({{4, 4, 4, 16}, I8, I8}));
  EXPECT_FALSE(compare({{16, 16, 4}, F64, F64}));
}

} // namespace
} // namespace heddle::simulator
