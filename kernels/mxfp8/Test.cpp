// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Both directions and rounding modes on blocks with special numbers, and back.
#include "kernels/TestCalls.h"
#include <cmath>

using namespace heddle;
using namespace heddle::kernels;

/// Blocks of zeros, of subnormal and of the largest numbers, with NaN, with infinity, at and near powers of two.
static void plantSpecials(HostArrays &inputs) {
  HostArray &x = inputs.at("x");
  double largest[] = {0, 0x1p-149, 0x1p-127, 0x1p-118 * 1.75, 0x1.fep127, NAN, INFINITY, 448, 449, 1.75, 2};
  for (int64_t block = 0; block < 11; ++block)
    for (int64_t i = 0; i < 32; ++i)
      x.set({block * 3 + i / 32, i}, i == 7 ? largest[block] : largest[block] == largest[block] ? 0 : 1);
}

TEST(Mxfp8, both_directions_and_modes) {
  for (const char *dim : {"0", "1"})
    for (const char *mode : {"floor", "rceil"})
      expectReference({.kernel = "mxfp8_quantise",
                       .extents = {{"M", 64}, {"K", 96}},
                       .options = {{"dim", dim}, {"mode", mode}, {"block_m", "32"}, {"block_k", "64"}},
                       .type = ElementType::F32,
                       .change = plantSpecials});
  CallRequest odd;
  odd.inputs["x"] = {ElementType::BF16, {8, 40}};
  EXPECT_CONTAINS(refusal("mxfp8_quantise", odd), "K = 40, and must be a multiple of 32");
}

TEST(Mxfp8, dequantise) {
  expectReference({.kernel = "mxfp8_dequantise",
                   .extents = {{"M", 32}, {"K", 64}, {"K/32", 2}},
                   .options = {{"block_k", "64"}},
                   .change = [](HostArrays &inputs) {
                     for (int64_t m = 0; m < 32; ++m) {
                       inputs.at("scales").set({m, 0}, double(m < 3 ? m : 90 + m));
                       inputs.at("scales").set({m, 1}, double(255 - m));
                     }
                   }});
  CallRequest odd;
  odd.inputs = {{"q", {ElementType::F8E4M3FN, {8, 64}}}, {"scales", {ElementType::UI8, {8, 3}}}};
  EXPECT_CONTAINS(refusal("mxfp8_dequantise", odd), "K = 64, and `scales` has 3 columns");
}
