// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keeps what work refers to until it has run, and the first error of its host functions.
#include "runtime/drivers/gpu/GpuGraph.h"

namespace heddle {

void GpuErrors::keep(std::exception_ptr error) {
  std::lock_guard lock(mutex);
  if (!first)
    first = std::move(error);
}

bool GpuErrors::failed() const {
  std::lock_guard lock(mutex);
  return first != nullptr;
}

std::exception_ptr GpuErrors::take() {
  std::lock_guard lock(mutex);
  return std::exchange(first, nullptr);
}

void GpuHostCall::run(void *pointer) {
  auto &call = *static_cast<GpuHostCall *>(pointer);
  insideGpuHostFunction() = true;
  try {
    if (call.isCopy || !call.errors->failed())
      call.function();
  } catch (...) {
    call.errors->keep(std::current_exception());
  }
  insideGpuHostFunction() = false;
  call.done = true; // the caller's thread may free it from here on
}

void GpuWork::forgetDone() {
  while (!calls.empty() && calls.front()->done)
    calls.pop_front();
}

void GpuWork::abandonCalls() {
  for (auto &call : calls)
    if (!call->done)
      (void)call.release();
}

GpuGraph::State::~State() {
  if (!handle)
    return;
  const GpuContext &context = device->context();
  context.gate.soon([&context, handle = handle] { context.giveBack(context.api.graphExecDestroy, handle); });
}

} // namespace heddle
