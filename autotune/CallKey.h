// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The key of a call of a library kernel on a device: Key.h says its parts.
#pragma once
#include "autotune/Key.h"
#include "kernels/LibraryKernel.h"
#include "runtime/Device.h"

namespace heddle::autotune {

/// What the call runs on, in the words of a key.
struct KeyPlace {
  std::string device, driver, clock;
};
/// `clock` is `events`, `host` or `estimate`; `isCold`: caches are emptied before each call.
KeyPlace placeOf(const Device &device, bool isCold);

Key keyOf(const kernels::LibraryKernel &kernel, const kernels::CallRequest &request, const KeyPlace &place);

/// Hash of the programs that the definition writes for its example: another text is another kernel. Positions in its
/// source do not count. Throws Error{Internal} for a kernel whose example is none.
std::string versionOf(const kernels::LibraryKernel &kernel);

/// `heddle 0.1.0, LLVM 22.1.8`
std::string compilerVersion();

} // namespace heddle::autotune
