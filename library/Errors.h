// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What went wrong in a call of the C interface: the status that it returns, and each thread's last error.
#pragma once
#include "include/heddle.h"
#include "support/Error.h"
#include <exception>
#include <string>

namespace heddle {

/// Keeps the exception for heddle_error_text, and returns its status.
heddle_status keepError(std::exception_ptr thrown) noexcept;

/// The body of a function of the C interface: nothing is thrown out of it.
template <typename Body>
heddle_status guarded(const Body &body) noexcept {
  try {
    body();
    return HEDDLE_OK;
  } catch (...) {
    return keepError(std::current_exception());
  }
}

/// Throws Error{Input} for a null pointer; `parameter` is its name, `purpose` what it should point to.
void requirePointer(const void *pointer, const char *parameter, const char *purpose);

} // namespace heddle
