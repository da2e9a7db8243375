// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The smallest kernel: masked loads and a masked store.
#include "examples/builder/Kernels.h"
#include "frontend/build/Build.h"

using namespace heddle::build;

Program heddle::examples::vectorAdd() {
  return kernel("vector_add", {aligned("x"), aligned("y"), aligned("out"), "n"},
                [](Pointer<f32> x, Pointer<f32> y, Pointer<f32> out, Scalar<i32> n) {
                  auto i = programId() * 1024 + range<1024>();
                  auto inside = i < n;
                  store(out + i, load(x + i, inside) + load(y + i, inside), inside);
                });
}
