// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LDS reads that transpose do what they are for: B lies in LDS row by row, each lane reads a piece of some rows, and a
// matrix instruction that gets what came back makes the product.
#include "simulator/decode/TestAssembler.h"
#include "simulator/memory/MemoryPort.h"
#include "simulator/numbers/Conversions.h"
#include "simulator/state/Fault.h"
#include "simulator/state/Workgroup.h"
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <random>

namespace heddle::simulator {
namespace {

struct Case {
  std::string read, multiply, modifiers;
  unsigned size, k; ///< of rows of A and of columns of B; of columns of A and of rows of B
  unsigned bits, wordsOfRead;
  unsigned pieceBytes; ///< 16 elements of a row of B take so many bytes of LDS
  FloatFormat format;
};

constexpr unsigned rowAddress = 0, rowA = 8, rowB = 16, rowD = 32;

class TransposedRead {
public:
  explicit TransposedRead(const Case &test) : test(test), a(test.size * test.k), b(test.k * test.size) {
    group.lds.resize(1 << 16);
    wave->memory = &port;
    wave->workgroup = &group;
    for (int &value : a)
      value = int(random() % 5) - 2;
    for (int &value : b)
      value = int(random() % 5) - 2;
  }

  void run() {
    writeB();
    writeA();
    for (unsigned read = 0; read < perLane() / perRead(); ++read)
      readB(read);
    auto range = [](unsigned first, unsigned words) { return fmt::format("v[{}:{}]", first, first + words - 1); };
    unsigned wordsOfOperand = perLane() * test.bits / 32, wordsOfResult = test.size * test.size / waveLanes;
    execute(fmt::format("{} {}, {}, {}, 0 {}", test.multiply, range(rowD, wordsOfResult), range(rowA, wordsOfOperand),
                        range(rowB, wordsOfOperand), test.modifiers));
    check();
  }

private:
  unsigned perLane() const { return test.k * test.size / waveLanes; }
  unsigned perRead() const { return test.wordsOfRead * 32 / test.bits; }
  /// Where the 16 elements of B begin that column `column` of row k is one of.
  unsigned pieceAt(unsigned k, unsigned column) const { return (k * (test.size / 16) + column / 16) * test.pieceBytes; }
  void execute(const std::string &text) { executeText(*wave, text, "gfx950"); }

  static void setBits(uint8_t *bytes, unsigned bit, unsigned count, uint32_t code) {
    for (unsigned i = 0; i < count; ++i, ++bit)
      bytes[bit / 8] = uint8_t((bytes[bit / 8] & ~(1u << bit % 8)) | (code >> i & 1) << bit % 8);
  }

  void writeB() {
    for (unsigned k = 0; k < test.k; ++k)
      for (unsigned column = 0; column < test.size; ++column)
        setBits(&group.lds[pieceAt(k, column)], column % 16 * test.bits, test.bits,
                encodeFloat(test.format, b[k * test.size + column]));
  }

  /// A lane holds a run of k of one row, as every operand of one block does.
  void writeA() {
    for (unsigned lane = 0; lane < waveLanes; ++lane) {
      uint32_t words[8] = {};
      for (unsigned item = 0; item < perLane(); ++item)
        setBits(reinterpret_cast<uint8_t *>(words), item * test.bits, test.bits,
                encodeFloat(test.format, a[lane % test.size * test.k + lane / test.size * perLane() + item]));
      for (unsigned word = 0; word < 8; ++word)
        wave->v[rowA + word][lane] = words[word];
    }
  }

  /// Sixteen lanes together read the rows of which they want one column each.
  void readB(unsigned read) {
    for (unsigned lane = 0; lane < waveLanes; ++lane) {
      unsigned element = lane % 16 * perRead(); // of those of the sixteen lanes
      unsigned k = lane / test.size * perLane() + read * perRead() + element / 16;
      unsigned firstColumn = lane % test.size / 16 * 16;
      wave->v[rowAddress][lane] = pieceAt(k, firstColumn) + element % 16 * test.bits / 8;
    }
    unsigned destination = rowB + read * test.wordsOfRead;
    execute(fmt::format("{} v[{}:{}], v{}", test.read, destination, destination + test.wordsOfRead - 1, rowAddress));
  }

  void check() {
    for (unsigned lane = 0; lane < waveLanes; ++lane)
      for (unsigned item = 0; item < test.size * test.size / waveLanes; ++item) {
        unsigned row = 4 * (lane / test.size) + item % 4 + item / 4 * (4 * waveLanes / test.size);
        float expected = 0;
        for (unsigned k = 0; k < test.k; ++k)
          expected += float(a[row * test.k + k] * b[k * test.size + lane % test.size]);
        ASSERT_EQ(std::bit_cast<float>(wave->v[rowD + item][lane]), expected)
            << test.read << ", " << test.multiply << ": row " << row << ", column " << lane % test.size;
      }
  }

  Case test;
  std::mt19937 random{5};
  std::vector<int> a, b;
  MemorySystem system;
  MemoryPort port{system, {}};
  Workgroup group;
  std::unique_ptr<Wave> wave = makeTestWave();
};

TEST(TransposedReads, FeedMatrixProducts) {
  for (const Case &test : std::vector<Case>{
           {"ds_read_b64_tr_b16", "v_mfma_f32_16x16x16_f16", "", 16, 16, 16, 2, 32, f16},
           {"ds_read_b64_tr_b16", "v_mfma_f32_16x16x32_bf16", "", 16, 32, 16, 2, 32, bf16},
           {"ds_read_b64_tr_b16", "v_mfma_f32_32x32x16_f16", "", 32, 16, 16, 2, 32, f16},
           {"ds_read_b64_tr_b8", "v_mfma_f32_16x16x32_fp8_fp8", "", 16, 32, 8, 2, 16, fp8Ocp},
           {"ds_read_b64_tr_b8", "v_mfma_f32_32x32x16_bf8_bf8", "", 32, 16, 8, 2, 16, bf8Ocp},
           {"ds_read_b64_tr_b4", "v_mfma_f32_16x16x128_f8f6f4", "cbsz:4 blgp:4", 16, 128, 4, 2, 8, fp4},
           {"ds_read_b64_tr_b4", "v_mfma_f32_32x32x64_f8f6f4", "cbsz:4 blgp:4", 32, 64, 4, 2, 8, fp4},
           {"ds_read_b96_tr_b6", "v_mfma_f32_16x16x128_f8f6f4", "cbsz:2 blgp:2", 16, 128, 6, 3, 16, fp6},
           {"ds_read_b96_tr_b6", "v_mfma_f32_32x32x64_f8f6f4", "cbsz:3 blgp:3", 32, 64, 6, 3, 16, bf6},
       })
    TransposedRead(test).run();
}

TEST(TransposedReads, WantAllLanesAndAlignment) {
  MemorySystem system;
  MemoryPort port{system, {}};
  Workgroup group;
  group.lds.resize(1024);
  auto wave = makeTestWave();
  wave->memory = &port;
  wave->workgroup = &group;
  auto read = [&](const char *text) { executeText(*wave, text, "gfx950"); };
  EXPECT_NO_THROW(read("ds_read_b64_tr_b8 v[2:3], v0 offset:8"));
  EXPECT_THROW(read("ds_read_b64_tr_b8 v[2:3], v0 offset:4"), Fault);
  EXPECT_NO_THROW(read("ds_read_b96_tr_b6 v[2:4], v0 offset:16"));
  EXPECT_THROW(read("ds_read_b96_tr_b6 v[2:4], v0 offset:12"), Fault);
  EXPECT_THROW(read("ds_read_b64_tr_b8 v[2:3], v0 offset:1024"), Fault) << "beyond LDS";
  wave->setExec(allLanes - 1);
  EXPECT_THROW(read("ds_read_b64_tr_b8 v[2:3], v0"), Fault);
}

} // namespace
} // namespace heddle::simulator
