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

/// The same with 16 bytes, or as many bits, of each row in the low registers.
LinearLayout rowAccess(const LinearLayout &rows, int bits, const std::vector<int> &without, int rowBits = 128) {
  LinearLayout::Input registers{Dim::Register, {}};
  for (int64_t element = 1; element < rowBits / bits; element *= 2)
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

//===-- Of CDNA --------------------------------------------------------------------------------------------------===//

namespace {

/// Operands of CDNA's matmuls, of which each lane holds `kWidth` elements along K.
std::vector<Operand> operandsOf64Lanes() {
  std::vector<Operand> all;
  for (int bits : {8, 16})
    for (int64_t longSide : {32, 64, 128, 256})
      for (int64_t k : {32, 64, 128})
        for (int number : {0, 1})
          for (Order order : {Order{0, 1}, Order{1, 0}})
            all.push_back({number ? Shape{k, longSide} : Shape{longSide, k}, number, order, bits});
  return all;
}

/// `bytes`: that a lane holds along K.
LinearLayout wantedOf64Lanes(const Operand &operand, int64_t size, int bytes = 8) {
  LinearLayout wanted = mfmaOperand(operand.shape, {2, 2}, operand.number, bytes * 8 / operand.bits, size, size);
  return wanted.invertAndCompose(alongK(operand) ? copiedShared(operand.shape, operand.bits, operand.order, 64)
                                                 : copiedSharedTransposed(wanted, operand.bits, operand.order, 64));
}

} // namespace

TEST(TransposedRead, found_across_the_rows_of_memory) {
  for (const Operand &operand : operandsOf64Lanes())
    for (int64_t size : {16, 32})
      EXPECT_EQ(findTransposedRead(wantedOf64Lanes(operand, size), operand.bits).has_value(), !alongK(operand));
}

// Of 16 lanes, each reads 64 contiguous bits: rows of 16 elements, one after the other, of which a lane gets a column.
TEST(TransposedRead, gives_every_thread_its_elements) {
  for (const Operand &operand : operandsOf64Lanes()) {
    LinearLayout offsets = wantedOf64Lanes(operand, 16);
    std::optional<TransposedRead> read = findTransposedRead(offsets, operand.bits);
    if (!read)
      continue;
    int64_t perLane = int64_t(1) << read->registerBits;
    ASSERT_EQ(perLane, 64 / operand.bits);
    for (int64_t warp = 0; warp < 4; ++warp)
      for (int64_t reg = 0; reg < offsets.inputSize(Dim::Register); ++reg)
        for (int64_t lane = 0; lane < 64; ++lane) {
          int64_t number = reg % perLane * 16 + lane % 16, reader = lane / 16 * 16 + number / perLane;
          int64_t start =
              read->addresses.applyFlat({{Dim::Register, reg - reg % perLane}, {Dim::Lane, reader}, {Dim::Warp, warp}});
          ASSERT_EQ(start % perLane, 0);
          ASSERT_EQ(start + number % perLane,
                    offsets.applyFlat({{Dim::Register, reg}, {Dim::Lane, lane}, {Dim::Warp, warp}}));
        }
  }
}

TEST(TransposedRead, meets_no_bank_twice) {
  for (const Operand &operand : operandsOf64Lanes())
    for (int bytes : {8, 16}) {
      std::optional<TransposedRead> read = findTransposedRead(wantedOf64Lanes(operand, 16, bytes), operand.bits);
      if (!read)
        continue;
      std::vector<int> without;
      for (int bit = 0; bit < read->registerBits; ++bit)
        without.push_back(bit);
      LinearLayout access = rowAccess(read->addresses, operand.bits, without, 64);
      EXPECT_EQ(countConflicts(access, operand.bits, 64 / operand.bits, 64), 0)
          << operand.shape[0] << "x" << operand.shape[1] << " order " << operand.order[0] << " bits " << operand.bits;
    }
}

TEST(CopiedShared, is_read_along_rows_without_conflicts) {
  for (int banks : {32, 64})
    for (const Operand &operand : operandsOf64Lanes())
      if (alongK(operand)) {
        LinearLayout shared = copiedShared(operand.shape, operand.bits, operand.order, banks);
        ASSERT_TRUE(shared.isInvertible());
        LinearLayout offsets =
            mfmaOperand(operand.shape, {2, 2}, operand.number, 128 / operand.bits, 16, 16).invertAndCompose(shared);
        EXPECT_EQ(countConflicts(offsets, operand.bits, 128 / operand.bits, banks), 0)
            << operand.shape[0] << "x" << operand.shape[1] << " bits " << operand.bits << " banks " << banks;
      }
}

TEST(CopiedShared, small_tiles_have_a_layout) {
  for (int bits : {8, 16, 32, 64})
    for (int64_t rows : {1, 4, 16})
      for (int64_t columns : {1, 4, 16})
        for (Order order : {Order{0, 1}, Order{1, 0}}) {
          EXPECT_TRUE(copiedShared({rows, columns}, bits, order, 64).isInvertible());
          LinearLayout wanted = mfmaOperand({rows, columns}, {1, 1}, 0, 4, 16, 16);
          EXPECT_TRUE(copiedSharedTransposed(wanted, bits, order, 64).isInvertible());
        }
}
