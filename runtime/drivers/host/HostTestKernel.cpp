// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel of the loader's tests, built as a shared object like the compiler's: out[i] = x[i] + n for the program's
// i.
#include "binary/HostAbi.h"
#include <cmath>

extern "C" __attribute__((visibility("default"))) void addNumber(const heddle::HostProgram *program,
                                                                 const uint64_t *arguments) {
  auto *out = reinterpret_cast<float *>(arguments[0]);
  auto *x = reinterpret_cast<const float *>(arguments[1]);
  int32_t i = program->id[0];
  out[i] = x[i] + std::floor(float(int32_t(arguments[2])));
}
