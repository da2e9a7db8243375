// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Handlers for LLVM's aborts, exits and signals, installed only while its code runs.
#include "compiler/emit/Guard.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/ErrorHandling.h"
#include <exception>
#include <mutex>

namespace heddle {
namespace {

thread_local std::string fatalMessage;

/// LLVM's usage errors call exit, its internal ones abort; a handler is asked before either and leaves by longjmp.
void onFatalError(void *, const char *reason, bool) {
  fatalMessage = reason;
  if (llvm::CrashRecoveryContext *recovery = llvm::CrashRecoveryContext::GetCurrent())
    recovery->HandleExit(1);
}

/// Signal handlers and the fatal-error handler belong to the whole process: installed only while they are needed,
/// so that a host kernel that faults later finds the handlers of its own program.
class Handlers {
public:
  Handlers() {
    std::lock_guard lock(mutex());
    if (users()++ == 0) {
      llvm::CrashRecoveryContext::Enable();
      llvm::install_fatal_error_handler(onFatalError);
    }
  }
  ~Handlers() {
    std::lock_guard lock(mutex());
    if (--users() == 0) {
      llvm::remove_fatal_error_handler();
      llvm::CrashRecoveryContext::Disable();
    }
  }

private:
  static std::mutex &mutex() {
    static std::mutex one;
    return one;
  }
  static int &users() {
    static int count = 0;
    return count;
  }
};

} // namespace

std::string runGuarded(llvm::function_ref<void()> action) {
  Handlers handlers;
  fatalMessage.clear();
  std::exception_ptr exception;
  llvm::CrashRecoveryContext recovery;
  bool finished = recovery.RunSafely([&] {
    try {
      action();
    } catch (...) {
      exception = std::current_exception();
    }
  });
  if (exception)
    std::rethrow_exception(exception);
  if (finished)
    return "";
  return fatalMessage.empty() ? "a crash inside the compiler" : fatalMessage;
}

} // namespace heddle
