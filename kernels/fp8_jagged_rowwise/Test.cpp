// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Both jagged kernels: groups of any sizes, and the faults that such kernels have had elsewhere (docs/kernels.md).
#include "kernels/TestCalls.h"
#include <cmath>

using namespace heddle;
using namespace heddle::kernels;

namespace {

const char *const both[] = {"fp8_jagged_rowwise", "fp8_jagged_colwise"};

/// Groups that end at `ends`; beside them `other` rows or columns.
TestCall jagged(const char *kernel, const std::vector<int64_t> &ends, int64_t other,
                ElementType offsets = ElementType::I32) {
  bool rowwise = std::string(kernel) == both[0];
  TestCall call{.kernel = kernel, .extents = {{rowwise ? "M" : "N", other}, {"K", ends.back()}, {"G", ends.size()}}};
  call.options = rowwise ? std::map<std::string, std::string>{{"block_k", "64"}, {"block_m", "4"}}
                         : std::map<std::string, std::string>{{"block_k", "32"}, {"block_n", "16"}};
  call.arrange = [=](auto &arrays) { arrays.at("offs").type = offsets; };
  call.change = [=](HostArrays &inputs) {
    HostArray &offs = inputs.at("offs");
    for (size_t g = 0; g < ends.size(); ++g)
      storeInt(offsets, ends[g], offs.bytes.data() + offs.offset({int64_t(g)}));
    inputs.at("x").set({1, 5}, std::nan(""));
  };
  return call;
}

} // namespace

// Sizes 0, 1, below and above a tile, equal to one, not multiples of 16; 19 rows or columns are no multiple of a tile,
// so the last block would write the next group's scales if its mask counted from the block's first one.
TEST(Fp8Jagged, groups_of_any_sizes) {
  for (const char *kernel : both) {
    expectReference(jagged(kernel, {0, 1, 1, 38, 102, 102, 301}, 19));
    expectReference(jagged(kernel, {32, 32, 160, 224}, 21, ElementType::I64)); // all multiples of 16
  }
}

// Groups of one part and of three, empty ones between them and at the end, and groups that are all in one tile; whole
// multiples of 16 and not.
TEST(Fp8Jagged, parts_of_groups) {
  for (const std::vector<int64_t> &ends : std::vector<std::vector<int64_t>>{
           {0, 1, 1, 38, 102, 102, 401, 401}, {32, 32, 160, 544}, {300, 300}, {16, 32, 48, 48}}) {
    TestCall call = jagged(both[1], ends, 19);
    call.options = {{"method", "cooperative"}, {"shared_k", "128"}, {"shared_n", "16"}};
    expectReference(call);
  }
}

// A tile that were as high as the average group would lose rows of the largest: one of 300, the others empty.
TEST(Fp8Jagged, one_group_has_everything) {
  for (const char *kernel : both)
    expectReference(jagged(kernel, {0, 0, 300, 300, 300, 300, 300, 300}, 16));
}

TEST(Fp8Jagged, any_stride) {
  TestCall rowwise = jagged(both[0], {7, 90}, 19), colwise = jagged(both[1], {48, 96}, 19);
  rowwise.arrange = [](auto &arrays) { arrays.at("x").strides = {1, 19}; };
  colwise.arrange = [](auto &arrays) { arrays.at("x").strides = {1, 96}; };
  expectReference(rowwise);
  expectReference(colwise);
}

TEST(Fp8Jagged, offsets_that_are_wrong) {
  for (const char *kernel : both) {
    auto with = [&](std::vector<int64_t> ends, const char *check = "false") {
      TestCall call = jagged(kernel, {16, 32}, 4);
      call.options["check"] = check;
      auto change = call.change;
      call.change = [=](HostArrays &inputs) {
        change(inputs);
        HostArray &offs = inputs.at("offs");
        for (size_t g = 0; g < ends.size(); ++g)
          storeInt(ElementType::I32, ends[g], offs.bytes.data() + offs.offset({int64_t(g)}));
      };
      return messageOf([&] { expectReference(call); });
    };
    EXPECT_CONTAINS(with({40, 32}, "true"), "offs decreases, or passes the end");
    EXPECT_CONTAINS(with({40, 32}), "offs[0] is 40, and must be from 0, where the group before it ends, to 32");
    EXPECT_CONTAINS(with({16, 8}), "offs[1] is 8, and must be from 16");
    EXPECT_CONTAINS(with({8, 16}), "the last group ends at 16, and the axis at 32");
  }
  CallRequest none;
  none.inputs = {{"x", {ElementType::F32, {4, 8}}}, {"offs", {ElementType::I32, {0}}}};
  EXPECT_CONTAINS(refusal(both[0], none), "`offs` has 0 groups, and K = 8");
  none.inputs["offs"] = {ElementType::I32, {2}, {2}};
  EXPECT_CONTAINS(refusal(both[0], none), "and must be dense");
}
