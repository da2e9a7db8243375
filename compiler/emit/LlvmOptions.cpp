// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A lock between code generation, which needs our options, and LLD, which resets them.
#include "compiler/emit/LlvmOptions.h"
#include "llvm/Support/CommandLine.h"
#include <mutex>

using namespace heddle;

static std::shared_mutex &optionsMutex() {
  static std::shared_mutex mutex;
  return mutex;
}

void heddle::setLlvmOptions() {
  auto set = [](const char *name, const char *value) {
    if (llvm::cl::Option *option = llvm::cl::getRegisteredOptions().lookup(name)) {
      option->reset(); // it may be given once
      option->addOccurrence(0, name, value);
    }
  };
  // Pointers to shared memory have 32 bits: half the registers.
  set("nvptx-short-ptr", "true");
  // Accumulators that are one phi (AccumulatorVectors.h) would be taken apart again.
  set("amdgpu-codegenprepare-break-large-phis", "false");
  // What LLVM moved to another block has no line any more: none in the table either, not that of the preceding
  // instruction.
  set("use-unknown-locations", "Enable");
}

std::shared_lock<std::shared_mutex> heddle::keepLlvmOptions() {
  return std::shared_lock(optionsMutex());
}

void heddle::withLld(llvm::function_ref<void()> link) {
  std::unique_lock lock(optionsMutex());
  link();
  setLlvmOptions();
}
