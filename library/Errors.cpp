// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The last error of a thread outlives its handles, and is freed when the thread ends, in any order of destructors.
#include "library/Errors.h"
#include <fmt/format.h>
#include <new>
#include <utility>

namespace heddle {
namespace {

/// A thread's last error. No destructor: functions that run while a thread or the process ends (atexit) may fail too.
struct LastError {
  Error *error;         ///< null before the first
  const char *fallback; ///< in its place where there is no memory for it, else null
};
thread_local constinit LastError last = {nullptr, nullptr};

/// Frees a thread's last error when the thread ends. What fails after that is never freed.
struct LastErrorOwner {
  ~LastErrorOwner() { delete std::exchange(last.error, nullptr); }
};

/// The error of this thread, to be replaced. Throws std::bad_alloc.
Error &lastError() {
  static thread_local const LastErrorOwner owner;
  (void)&owner; // its constructor registers the destructor
  if (!last.error)
    last.error = new Error(ErrorClass::Input, "");
  return *last.error;
}

} // namespace

heddle_status keepError(std::exception_ptr thrown) noexcept {
  try {
    last.fallback = "out of memory";
    Error &kept = lastError();
    try {
      std::rethrow_exception(thrown);
    } catch (const Error &error) {
      kept = error;
    } catch (const std::bad_alloc &) {
      kept = environmentError("out of memory");
    } catch (const std::exception &error) {
      kept = internalError(error.what());
    } catch (...) {
      kept = internalError("an unknown exception");
    }
    last.fallback = nullptr;
    return heddle_status(kept.kind);
  } catch (...) { // no memory for the text
    return HEDDLE_ENVIRONMENT;
  }
}

void requirePointer(const void *pointer, const char *parameter, const char *purpose) {
  if (!pointer)
    throw inputError(fmt::format("`{}` is null, and {} is wanted", parameter, purpose));
}

} // namespace heddle

using namespace heddle;

const char *heddle_error_text(void) {
  return last.fallback ? last.fallback : last.error ? last.error->what() : "";
}

size_t heddle_error_note_count(void) {
  return last.fallback || !last.error ? 0 : last.error->notes.size();
}

const char *heddle_error_note(size_t index) {
  return index < heddle_error_note_count() ? last.error->notes[index].c_str() : nullptr;
}
