// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums that are exact have the same bits for every group size and split along K.
#include "kernels/TestCalls.h"

using namespace heddle;
using namespace heddle::kernels;

/// Small integers, of which every sum is exact in f16 and bf16: so results have the same bits in any order.
static void makeExact(HostArrays &inputs) {
  for (auto &[name, array] : inputs)
    for (int64_t i = 0; i < array.type.shape[0]; ++i)
      for (int64_t j = 0; j < array.type.shape[1]; ++j)
        if (name == "a")
          array.set({i, j}, (i * 5 + j * 7) % 13 == 0 ? (j % 3 ? 1 : -1) : 0);
        else if (name == "scales")
          array.set({i, j}, (i + j) % 2 ? 1 : 0.5);
        else if (name == "zeros")
          array.set({i, j}, double((i * 3 + j) % 8));
}

// Parts of the sum begin within groups, groups are smaller and larger than a tile, and no extent is a multiple of one.
TEST(Int4Matmul, any_group_size_and_split) {
  struct {
    int64_t groups;
    const char *splits, *sum, *transposed;
    ElementType type;
  } cases[] = {{9, "3", "reduction", "false", ElementType::F16},
               {2, "3", "atomic", "false", ElementType::F16},
               {1, "1", "reduction", "true", ElementType::BF16},
               {6, "2", "atomic", "true", ElementType::BF16}};
  for (const auto &each : cases) {
    bool isTransposed = each.transposed == std::string("true");
    TestCall call{
        .kernel = "int4_matmul",
        .extents = {{"M", 9}, {"inner", isTransposed ? 72 : 144}, {"K/2", 72}, {"N", 72}, {"K/G", each.groups}},
        .options = {{"splits", each.splits}, {"sum", each.sum}, {"transposed", each.transposed}},
        .type = each.type,
        .change = makeExact};
    if (each.groups == 2)
      call.arrange = [](auto &arrays) { arrays.at("b").type = ElementType::I8; };
    expectReference(call);
  }
}

// Warps take tiles of the sum of their own. With groups of whole tiles, and extents that are multiples of tiles,
// nothing is masked and both halves of a byte become numbers at once.
TEST(Int4Matmul, parts_of_the_sum_in_a_block) {
  struct {
    int64_t rows, pairs, columns, groups;
    const char *parts, *splits;
    ElementType type, weights;
  } cases[] = {{3, 256, 64, 8, "4", "1", ElementType::F16, ElementType::I8},
               {9, 256, 64, 2, "8", "2", ElementType::F16, ElementType::UI8},
               {5, 200, 40, 25, "4", "1", ElementType::F16, ElementType::UI8},
               {9, 256, 64, 8, "4", "1", ElementType::BF16, ElementType::I8},
               {40, 64, 32, 2, "4", "1", ElementType::F16, ElementType::UI8}};
  for (const auto &each : cases)
    expectReference({.kernel = "int4_matmul",
                     .extents = {{"M", each.rows},
                                 {"inner", 2 * each.pairs},
                                 {"K/2", each.pairs},
                                 {"N", each.columns},
                                 {"K/G", each.groups}},
                     .options = {{"parts", each.parts}, {"block_n", "32"}, {"splits", each.splits}},
                     .type = each.type,
                     .arrange = [&](auto &arrays) { arrays.at("b").type = each.weights; },
                     .change = makeExact});
}

// Blocks that are given larger than those that take parts of the sum have one.
TEST(Int4Matmul, given_blocks_of_few_rows) {
  for (const char *given : {"block_n", "block_m"})
    expectReference({.kernel = "int4_matmul",
                     .extents = {{"M", 3}, {"inner", 128}, {"K/2", 64}, {"N", 130}, {"K/G", 2}},
                     .options = {{given, "128"}},
                     .type = ElementType::F16,
                     .arrange = [](auto &arrays) { arrays.at("b").type = ElementType::UI8; },
                     .change = makeExact});
}

TEST(Int4Matmul, refusals) {
  CallRequest request;
  ElementType f16 = ElementType::F16;
  request.inputs = {
      {"a", {f16, {4, 64}}}, {"b", {ElementType::UI8, {32, 8}}}, {"scales", {f16, {3, 8}}}, {"zeros", {f16, {3, 8}}}};
  EXPECT_CONTAINS(refusal("int4_matmul", request), "K = 64 is no multiple of the 3 rows of `scales`");
  request.inputs["zeros"] = {ElementType::BF16, {3, 8}};
  EXPECT_CONTAINS(refusal("int4_matmul", request), "`a` has elements of f16, and `zeros` of bf16");
  request.inputs["scales"] = request.inputs["zeros"] = {f16, {2, 8}};
  request.inputs["a"] = {f16, {4, 8}};
  EXPECT_CONTAINS(refusal("int4_matmul", request), "`a` has 8 columns, and K = 64");
  request.inputs["a"] = {f16, {4, 64}};
  request.inputs["scales"] = request.inputs["zeros"] = {f16, {2, 8}};
  request.options = {{"parts", "4"}, {"block_n", "128"}};
  EXPECT_CONTAINS(refusal("int4_matmul", request), "`parts` is 4 with blocks of 8 x 128");
}
