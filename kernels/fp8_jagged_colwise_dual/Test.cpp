// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two matrices in one launch: the results of fp8_jagged_colwise of each, and what is refused.
#include "kernels/TestCalls.h"
#include <cmath>

using namespace heddle;
using namespace heddle::kernels;

namespace {

TestCall dual(const std::vector<int64_t> &ends, int64_t N1, int64_t N2, ElementType offsets = ElementType::I32) {
  return {.kernel = "fp8_jagged_colwise_dual",
          .extents = {{"K", ends.back()}, {"N1", N1}, {"N2", N2}, {"G", ends.size()}},
          .options = {{"block_k", "32"}, {"block_n", "16"}},
          .arrange = [=](auto &arrays) { arrays.at("offs").type = offsets; },
          .change =
              [=](HostArrays &inputs) {
                HostArray &offs = inputs.at("offs");
                for (size_t g = 0; g < ends.size(); ++g)
                  storeInt(offsets, ends[g], offs.bytes.data() + offs.offset({int64_t(g)}));
                if (N2 > 5)
                  inputs.at("x2").set({1, 5}, std::nan(""));
              }};
}

} // namespace

// Groups of any sizes; the matrices have other numbers of tiles, of which the last ones are not whole, either may be
// the wider, and one may have no column.
TEST(Fp8JaggedDual, groups_and_widths_of_any_sizes) {
  expectReference(dual({0, 1, 1, 38, 102, 102}, 19, 53));
  expectReference(dual({32, 32, 96, 128}, 40, 7, ElementType::I64));
  expectReference(dual({0, 48}, 0, 21));
  expectReference(dual({0, 48}, 21, 0));
}

TEST(Fp8JaggedDual, parts_of_groups) {
  for (TestCall call : {dual({0, 1, 1, 38, 102, 202}, 19, 53), dual({32, 32, 96, 256}, 40, 7, ElementType::I64),
                        dual({0, 48}, 0, 21), dual({0, 48}, 21, 0)}) {
    call.options = {{"method", "cooperative"}, {"shared_k", "128"}, {"shared_n", "16"}};
    expectReference(call);
  }
}

TEST(Fp8JaggedDual, types_and_strides_of_each) {
  TestCall call = dual({7, 90}, 19, 24);
  call.options["dtype"] = "f8E5M2";
  call.arrange = [](auto &arrays) {
    arrays.at("x1").type = ElementType::F32;
    arrays.at("x1").strides = {1, 90};
  };
  expectReference(call);
}

// The bits of the kernel for one matrix, for each of both.
TEST(Fp8JaggedDual, results_are_those_of_two_calls) {
  TestCall both = dual({5, 64}, 20, 20);
  both.change = [change = both.change](HostArrays &inputs) {
    change(inputs);
    inputs.at("x2").bytes = inputs.at("x1").bytes;
  };
  HostArrays results = expectReference(both);
  TestCall one{
      .kernel = "fp8_jagged_colwise", .extents = {{"K", 64}, {"N", 20}, {"G", 2}}, .change = [](HostArrays &inputs) {
        for (int64_t g = 0; g < 2; ++g)
          inputs.at("offs").bytes[size_t(4 * g)] = char(g ? 64 : 5);
        for (int i = 1; i < 4; ++i)
          inputs.at("offs").bytes[size_t(i)] = inputs.at("offs").bytes[size_t(4 + i)] = 0;
      }};
  HostArrays single = expectReference(one);
  for (const char *suffix : {"1", "2"}) {
    EXPECT_EQ(results.at(std::string("q") + suffix).bytes, single.at("q").bytes);
    EXPECT_EQ(results.at(std::string("scales") + suffix).bytes, single.at("scales").bytes);
  }
}

TEST(Fp8JaggedDual, what_is_wrong) {
  TestCall checked = dual({40, 32}, 8, 8);
  EXPECT_CONTAINS(messageOf([&] { expectReference(checked); }), "offs[0] is 40, and must be from 0");
  checked.options["check"] = "true";
  EXPECT_CONTAINS(messageOf([&] { expectReference(checked); }), "offs decreases, or passes the end");
  CallRequest request;
  request.inputs = {
      {"x1", {ElementType::F32, {4, 8}}}, {"x2", {ElementType::F32, {5, 8}}}, {"offs", {ElementType::I32, {1}}}};
  EXPECT_CONTAINS(refusal("fp8_jagged_colwise_dual", request),
                  "`x2` is [5,8], where K = 5, but another array has K = 4");
}
