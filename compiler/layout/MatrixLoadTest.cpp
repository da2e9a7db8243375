// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrix loads against the fragment table of the PTX ISA, and the bank conflicts of the shared layouts they read.
#include "compiler/layout/MatrixLoad.h"
#include "compiler/layout/Swizzle.h"
#include "compiler/layout/TestLayout.h"

using namespace heddle::layout;

namespace {

struct Operand {
  Shape shape;
  int number; ///< 0 or 1
  Order order;
  int bits;
};

std::vector<Operand> operands() {
  std::vector<Operand> all;
  for (int bits : {8, 16, 32})
    for (int64_t longSide : {64, 128, 256})
      for (int64_t k : {32, 64, 128})
        for (int number : {0, 1})
          for (Order order : {Order{0, 1}, Order{1, 0}})
            all.push_back({number ? Shape{k, longSide} : Shape{longSide, k}, number, order, bits});
  return all;
}

LinearLayout wanted(const Operand &operand) {
  return mmaOperand(operand.shape, {2, 2}, operand.number, 32 / operand.bits)
      .invertAndCompose(matrixShared(operand.shape, operand.bits, operand.order));
}

bool alongK(const Operand &operand) {
  return operand.order[0] == (operand.number ? 0 : 1);
}

/// The same with 16 bytes of each row in the low registers.
LinearLayout rowAccess(const LinearLayout &rows, int bits, const std::vector<int> &without) {
  LinearLayout::Input registers{Dim::Register, {}};
  for (int64_t element = 1; element < 128 / bits; element *= 2)
    registers.bases.push_back({element});
  std::vector<LinearLayout::Input> inputs = rows.inputs();
  for (LinearLayout::Input &input : inputs)
    if (input.dim == Dim::Register) {
      for (size_t bit = 0; bit < input.bases.size(); ++bit)
        if (std::find(without.begin(), without.end(), int(bit)) == without.end())
          registers.bases.push_back(input.bases[bit]);
      input = registers;
    }
  return LinearLayout(inputs, rows.outputs());
}

} // namespace

TEST(MatrixLoad, found_where_the_instruction_can) {
  for (const Operand &operand : operands())
    EXPECT_EQ(findMatrixLoad(wanted(operand), operand.bits).has_value(), alongK(operand) || operand.bits == 16);
}

// Thread T gets of matrix j row T / 4, word T % 4; or, transposed, column T / 4, rows 2 (T % 4) and the next.
TEST(MatrixLoad, gives_every_thread_its_elements) {
  for (const Operand &operand : operands()) {
    LinearLayout offsets = wanted(operand);
    std::optional<MatrixLoad> load = findMatrixLoad(offsets, operand.bits);
    if (!load)
      continue;
    int64_t within = load->wordElements - 1;
    int64_t first = int64_t(1) << load->matrixBits[0], second = int64_t(1) << load->matrixBits[1];
    for (int64_t warp = 0; warp < 4; ++warp)
      for (int64_t reg = 0; reg < offsets.inputSize(Dim::Register); ++reg)
        for (int64_t lane = 0; lane < 32; ++lane) {
          int64_t matrix = (reg & first ? 1 : 0) + (reg & second ? 2 : 0), group = reg & ~(within | first | second);
          int64_t element = reg & within;
          int64_t row = load->transposed ? 2 * (lane % 4) + element : lane / 4;
          int64_t column = load->transposed ? lane / 4 : load->wordElements * (lane % 4) + element;
          int64_t start =
              load->rows.applyFlat({{Dim::Register, group}, {Dim::Lane, 8 * matrix + row}, {Dim::Warp, warp}});
          ASSERT_EQ(start % (4 * load->wordElements), 0);
          ASSERT_EQ(start + column, offsets.applyFlat({{Dim::Register, reg}, {Dim::Lane, lane}, {Dim::Warp, warp}}));
        }
  }
}

TEST(MatrixLoad, rows_lie_in_different_banks) {
  for (const Operand &operand : operands()) {
    std::optional<MatrixLoad> load = findMatrixLoad(wanted(operand), operand.bits);
    if (!load)
      continue;
    std::vector<int> without = {load->matrixBits[0], load->matrixBits[1]};
    for (int bit = 0; 1 << bit < load->wordElements; ++bit)
      without.push_back(bit);
    EXPECT_EQ(countConflicts(rowAccess(load->rows, operand.bits, without), operand.bits, 128 / operand.bits), 0);
  }
}

TEST(MatrixLoad, copies_of_16_bytes_meet_no_bank_twice) {
  for (const Operand &operand : operands()) {
    LinearLayout shared = matrixShared(operand.shape, operand.bits, operand.order);
    ASSERT_TRUE(shared.isInvertible());
    Shape size(2, 1);
    size[size_t(operand.order[0])] = 128 / operand.bits;
    LinearLayout registers = defaultBlocked(operand.shape, size, operand.order, 32, 4);
    EXPECT_EQ(countConflicts(registers.invertAndCompose(shared), operand.bits, 128 / operand.bits), 0);
  }
}

TEST(MatrixLoad, small_tiles_have_a_layout) {
  for (int bits : {8, 16, 32, 64})
    for (int64_t rows : {1, 4, 16})
      for (int64_t columns : {1, 4, 16})
        for (Order order : {Order{0, 1}, Order{1, 0}})
          EXPECT_TRUE(matrixShared({rows, columns}, bits, order).isInvertible());
}
