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
}
