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

/// Of the first of two matrices, at blocks of other columns and rows than those of the second.
static void plantSpecials3d(HostArrays &inputs) {
  HostArray &x = inputs.at("x");
  double largest[] = {0, 0x1p-149, 0x1p-118 * 1.75, 0x1.fep127, NAN, INFINITY, 448, 449};
  for (int64_t block = 0; block < 8; ++block)
    for (int64_t i = 0; i < 32; ++i)
      for (int64_t k = 0; k < (block < 4 ? 32 : 1); ++k) // of 32x32 one, of 32x1 many
        x.set({0, block % 2 * 32 + i, block / 2 * 32 + k}, i == 7 ? largest[block] : 0);
}

TEST(Mxfp8, experts) {
  for (const char *block : {"32x1", "32x32"})
    for (const char *mode : {"floor", "rceil"}) {
      TestCall call{.kernel = "mxfp8_quantise_3d",
                    .extents = {{"E", 2}, {"M", 64}, {"K", 160}},
                    .options = {{"block", block}, {"mode", mode}, {"block_m", "32"}, {"block_k", "64"}},
                    .type = ElementType::F32,
                    .change = plantSpecials3d};
      if (mode == std::string("rceil"))
        call.arrange = [](auto &arrays) { arrays.at("x").strides = {64 * 160, 1, 64}; };
      expectReference(call);
    }
  // Columns that are no multiple of a tile, and of 32 only where blocks need it.
  expectReference({.kernel = "mxfp8_quantise_3d",
                   .extents = {{"E", 3}, {"M", 96}, {"K", 70}},
                   .options = {{"block_m", "64"}, {"block_k", "32"}, {"dtype", "f8E5M2"}}});
  CallRequest odd;
  odd.inputs["x"] = {ElementType::BF16, {2, 40, 64}};
  EXPECT_CONTAINS(refusal("mxfp8_quantise_3d", odd), "M = 40, and must be a multiple of 32");
  odd.inputs["x"] = {ElementType::BF16, {2, 64, 40}};
  odd.options["block"] = "32x32";
  EXPECT_CONTAINS(refusal("mxfp8_quantise_3d", odd), "K = 40, and must be a multiple of 32");
}

// The bits of the kernel for matrices, of each of them.
TEST(Mxfp8, experts_as_matrices) {
  HostArrays all = expectReference({.kernel = "mxfp8_quantise_3d", .extents = {{"E", 2}, {"M", 64}, {"K", 48}}});
  HostArrays first = expectReference(
      {.kernel = "mxfp8_quantise", .extents = {{"M", 64}, {"K", 48}}, .options = {{"dim", "1"}}}); // the same numbers
  for (const char *name : {"q", "scales"})
    EXPECT_EQ(all.at(name).bytes.substr(0, first.at(name).bytes.size()), first.at(name).bytes);
}

TEST(Mxfp8, dequantise_experts) {
  for (ElementType type : {ElementType::F8E4M3FN, ElementType::F8E5M2})
    expectReference({.kernel = "mxfp8_dequantise_3d",
                     .extents = {{"E", 2}, {"K", 40}, {"M", 64}, {"M/32", 2}},
                     .options = {{"block_k", "32"}, {"block_m", "32"}, {"dtype", "f32"}},
                     .type = type,
                     .change = [](HostArrays &inputs) {
                       for (int64_t k = 0; k < 40; ++k)
                         for (int64_t block = 0; block < 2; ++block)
                           inputs.at("scales").set({block, k, block}, double(block ? 255 - k : k));
                     }});
  CallRequest odd;
  odd.inputs = {{"q", {ElementType::F8E4M3FN, {2, 8, 64}}}, {"scales", {ElementType::UI8, {2, 8, 3}}}};
  EXPECT_CONTAINS(refusal("mxfp8_dequantise_3d", odd), "M = 64, and `scales` has 3 columns");
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
