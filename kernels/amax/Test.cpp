// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// amax and fp8_tensorwise, which stands on it.
#include "kernels/TestCalls.h"
#include <cmath>

using namespace heddle;
using namespace heddle::kernels;

// 1025 elements: of the last block all but one are masked, and must count as 0. All numbers are below 2^-20, so that
// anything else would show.
TEST(Amax, masked_elements_count_as_nothing) {
  for (const char *method : {"atomic", "reduction"})
    expectReference({.kernel = "amax",
                     .extents = {{"M", 5}, {"N", 205}},
                     .options = {{"method", method}, {"block", "1024"}},
                     .change = [](HostArrays &inputs) {
                       HostArray &x = inputs.at("x");
                       for (int64_t m = 0; m < 5; ++m)
                         for (int64_t n = 0; n < 205; ++n)
                           x.set({m, n}, x.get({m, n}) * 0x1p-21);
                     }});
}

TEST(Amax, tensorwise_in_both_orders) {
  for (const char *nan : {"propagate", "ignore"})
    expectReference({.kernel = "fp8_tensorwise",
                     .extents = {{"M", 70}, {"N", 50}},
                     .options = {{"layout", "both"}, {"nan", nan}, {"block", "1024"}, {"block_n", "32"}},
                     .type = ElementType::F32,
                     .change = [](HostArrays &inputs) { inputs.at("x").set({1, 1}, std::nan("")); }});
  expectReference({.kernel = "fp8_tensorwise",
                   .extents = {{"M", 64}, {"N", 80}},
                   .options = {{"layout", "transposed"}, {"method", "reduction"}, {"pow2", "true"}}});
  CallRequest strided;
  strided.inputs["x"] = {ElementType::BF16, {8, 16}, {1, 8}};
  EXPECT_CONTAINS(refusal("fp8_tensorwise", strided), "`x` is bf16[8,16] with strides [1,8], and must be dense");
}
