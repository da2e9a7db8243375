// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread's scratch memory and alternate signal stack.
#include "runtime/drivers/host/HostInstance.h"
#include "support/SystemMemory.h"
#include <algorithm>
#include <csignal>
#include <cstdlib>

namespace heddle {

HostThread::HostThread() {
  stack_t existing;
  bool has = ::sigaltstack(nullptr, &existing) == 0 && !(existing.ss_flags & SS_DISABLE);
  if (has) // a sanitizer's
    return;
  constexpr size_t stackBytes = 64 * 1024;
  faultStack = std::malloc(stackBytes);
  stack_t stack = {};
  stack.ss_sp = faultStack;
  stack.ss_size = stackBytes;
  if (faultStack)
    ::sigaltstack(&stack, nullptr);
}

HostThread::~HostThread() {
  if (faultStack) {
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
    std::free(faultStack);
  }
  std::free(scratchMemory);
}

void *HostThread::scratch(uint64_t sizeBytes) {
  if (scratchMemory && sizeBytes <= scratchSize)
    return scratchMemory;
  if (sizeBytes > availableMemoryBytes())
    return nullptr;
  std::free(scratchMemory);
  scratchSize = std::max<uint64_t>((sizeBytes + 63) / 64 * 64, 64);
  scratchMemory = std::aligned_alloc(64, scratchSize);
  if (!scratchMemory)
    scratchSize = 0;
  return scratchMemory;
}

} // namespace heddle
