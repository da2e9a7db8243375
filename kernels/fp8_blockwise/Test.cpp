// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks that fit and blocks that the edge cuts, on every device, against the plain reference.
#include "kernels/TestCalls.h"
#include <cmath>

using namespace heddle;
using namespace heddle::kernels;

TEST(Fp8Blockwise, all_blocks_whole_and_partial) {
  for (const char *block : {"1x128", "128x1", "128x128"})
    expectReference({.kernel = "fp8_blockwise",
                     .extents = {{"M", 144}, {"K", 150}},
                     .options = {{"block", block}, {"lines", "16"}},
                     .change = [](HostArrays &inputs) {
                       HostArray &x = inputs.at("x");
                       for (int64_t k = 0; k < 150; ++k)
                         x.set({3, k}, 0);
                       x.set({130, 140}, std::nan(""));
                     }});
}
