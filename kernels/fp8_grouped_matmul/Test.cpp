// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Grouped matmuls with groups of any sizes along rows and along the sum. Sums that are exact have the same bits on
// every device.
#include "kernels/TestCalls.h"

using namespace heddle;
using namespace heddle::kernels;

namespace {

/// Small integers and scales that are powers of two: every step is exact.
void makeExact(HostArrays &inputs, bool forward) {
  for (const char *name : {"left", "right"}) {
    HostArray &array = inputs.at(name);
    const std::vector<int64_t> &shape = array.type.shape;
    for (int64_t i = 0; i < array.type.elements() / shape.back(); ++i)
      for (int64_t k = 0; k < shape.back(); ++k) {
        double value = (i * 5 + k * 7) % 11 < 4 ? double((i + k) % 5 - 2) : 0;
        shape.size() == 3 ? array.set({i / shape[1], i % shape[1], k}, value) : array.set({i, k}, value);
      }
  }
  for (const char *name : {"left_scales", "right_scales"}) {
    HostArray &array = inputs.at(name);
    for (int64_t i = 0; i < array.type.elements(); ++i) {
      float scale = i % 3 == 0 ? 0.5f : i % 3 == 1 ? 2 : 1;
      storeDouble(ElementType::F32, forward ? 1 / scale : scale, array.bytes.data() + 4 * i);
    }
  }
}

struct Shape {
  int64_t M, N, K;
};

TestCall matmul(bool ofRows, const Shape &shape, const std::vector<int64_t> &ends, ElementType type,
                std::map<std::string, std::string> options = {}) {
  bool forward = options.count("scales") && options.at("scales") == "forward";
  options.insert({{"block_m", "16"}, {"block_n", "64"}, {"dtype", "f32"}});
  return {.kernel = ofRows ? "fp8_grouped_matmul_2d_3d" : "fp8_grouped_matmul_2d_2d",
          .extents = {{"M", shape.M}, {"N", shape.N}, {"K", shape.K}, {"G", ends.size()}},
          .options = options,
          .type = type,
          .change = [=](HostArrays &inputs) {
            makeExact(inputs, forward);
            HostArray &offs = inputs.at("offs");
            for (size_t g = 0; g < ends.size(); ++g)
              storeInt(offs.type.type, ends[g], offs.bytes.data() + offs.offset({int64_t(g)}));
          }};
}

const ElementType allTypes[] = {ElementType::F8E4M3FN, ElementType::F8E4M3FNUZ, ElementType::F8E5M2,
                                ElementType::F8E5M2FNUZ};

} // namespace

// Empty groups, groups of one row, of a whole tile and beyond; rows after the last group; extents that are no tiles.
TEST(Fp8GroupedMatmul, groups_of_rows_of_any_sizes) {
  for (ElementType type : allTypes)
    expectReference(matmul(true, {53, 70, 72}, {0, 1, 1, 17, 33, 50, 50}, type));
  TestCall wide = matmul(true, {40, 64, 80}, {8, 40}, ElementType::F8E5M2, {{"scales", "forward"}, {"block_k", "128"}});
  wide.arrange = [](auto &arrays) {
    arrays.at("offs").type = ElementType::I64;
    arrays.at("left").strides = {1, 40};
    arrays.at("right").strides = {64 * 80, 1, 64};
  };
  expectReference(wide);
}

// More groups than are searched at once, and tiles of 64 rows, which warp groups multiply.
TEST(Fp8GroupedMatmul, many_groups_and_high_tiles) {
  std::vector<int64_t> ends;
  for (int64_t g = 0, end = 0; g < 67; ++g)
    ends.push_back(end += g % 2);
  expectReference(matmul(true, {33, 16, 32}, ends, ElementType::F8E4M3FN));
  expectReference(matmul(true, {150, 64, 128}, {70, 150}, ElementType::F8E4M3FN, {{"block_m", "64"}}));
}

TEST(Fp8GroupedMatmul, groups_of_the_sum_of_any_sizes) {
  for (ElementType type : allTypes)
    expectReference(matmul(false, {19, 70, 200}, {0, 1, 1, 65, 192, 192}, type));
  TestCall aligned =
      matmul(false, {32, 64, 160}, {32, 160}, ElementType::F8E4M3FN, {{"scales", "forward"}, {"dtype", "bf16"}});
  aligned.arrange = [](auto &arrays) {
    arrays.at("offs").type = ElementType::I64;
    arrays.at("left").strides = {1, 32};
  };
  expectReference(aligned);
  expectReference(matmul(false, {64, 64, 256}, {112, 256}, ElementType::F8E4M3FN, {{"block_m", "64"}}));
}

// Fast sums of small integers are exact everywhere. Larger tiles are chosen only for warp groups.
TEST(Fp8GroupedMatmul, fast_sums) {
  for (bool ofRows : {true, false}) {
    std::vector<int64_t> ends = ofRows ? std::vector<int64_t>{70, 150} : std::vector<int64_t>{112, 256};
    TestCall fast = matmul(ofRows, {150, 256, 256}, ends, ElementType::F8E4M3FN, {{"sums", "fast"}});
    expectReference(fast);
    fast.options.erase("block_m"), fast.options.erase("block_n");
    expectReference(fast);
    const LibraryKernel &kernel = lookupKernel(fast.kernel);
    for (const Chip *chip : {&hostChip, &sm90Chip, &gfx942Chip, &gfx950Chip}) {
      CallRequest request{chip, arraysOfShape(kernel, fast.extents, fast.type), fast.options};
      bool isLarge = planCall(kernel, checkCall(kernel, request)).steps[0].text.find("x256xf32>") != std::string::npos;
      EXPECT_EQ(isLarge, chip->warpGroupMatmuls) << chip->name;
    }
  }
}

TEST(Fp8GroupedMatmul, what_is_wrong) {
  for (bool ofRows : {true, false}) {
    auto with = [&](std::vector<int64_t> ends, const char *check) {
      TestCall call = matmul(ofRows, {32, 16, 32}, ends, ElementType::F8E4M3FN, {{"check", check}});
      return messageOf([&] { expectReference(call); });
    };
    EXPECT_CONTAINS(with({40, 32}, "true"), "offs decreases, or passes the end");
    EXPECT_CONTAINS(with({40, 32}, "false"), "offs[0] is 40, and must be from 0");
    EXPECT_CONTAINS(with({16, 8}, "false"), "offs[1] is 8, and must be from 16");
    TestCall mixed = matmul(ofRows, {32, 16, 32}, {16, 32}, ElementType::F8E4M3FN);
    mixed.arrange = [](auto &arrays) { arrays.at("right").type = ElementType::F8E5M2; };
    EXPECT_CONTAINS(messageOf([&] { expectReference(mixed); }),
                    "`left` has elements of f8E4M3FN, and `right` of f8E5M2: they must be the same");
  }
}
