// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Expert weights with contiguous rows and with contiguous columns, against the plain reference.
#include "kernels/TestCalls.h"

using namespace heddle;
using namespace heddle::kernels;

TEST(Fp8Colwise3d, columns_contiguous_or_not) {
  TestCall call{.kernel = "fp8_colwise_3d", .extents = {{"E", 3}, {"K", 208}, {"N", 24}}};
  expectReference(call);
  call.arrange = [](auto &arrays) { arrays.at("x").strides = {7000, 1, 230}; }; // gaps between columns and experts
  expectReference(call);
  call.arrange = [](auto &arrays) { arrays.at("x").strides = {}; };
  expectReference(call);
}
