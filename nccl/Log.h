// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the drop-in says on standard error: faults always, who served which call with HEDDLE_NCCL_LOG=calls.
#pragma once

namespace heddle::dropin {

/// One line, whole also beside other processes' lines.
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);

bool logsCalls(); ///< HEDDLE_NCCL_LOG is `calls`

} // namespace heddle::dropin
