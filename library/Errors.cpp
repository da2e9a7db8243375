// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "library/Errors.h"
#include <fmt/format.h>
#include <memory>
#include <new>

namespace heddle {
namespace {

/// By pointer, so that a thread has little static storage of the library.
Error &lastError() {
  static thread_local const auto owned = std::make_unique<Error>(ErrorClass::Input, "");
  return *owned;
}

} // namespace

heddle_status keepError(std::exception_ptr thrown) noexcept {
  try {
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
  return lastError().what();
}

size_t heddle_error_note_count(void) {
  return lastError().notes.size();
}

const char *heddle_error_note(size_t index) {
  const auto &notes = lastError().notes;
  return index < notes.size() ? notes[index].c_str() : nullptr;
}
