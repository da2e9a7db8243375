// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cuda/CudaGraph.h"

namespace heddle {

void CudaErrors::keep(std::exception_ptr error) {
  std::lock_guard lock(mutex);
  if (!first)
    first = std::move(error);
}

bool CudaErrors::failed() const {
  std::lock_guard lock(mutex);
  return first != nullptr;
}

std::exception_ptr CudaErrors::take() {
  std::lock_guard lock(mutex);
  return std::exchange(first, nullptr);
}

void CudaHostCall::run(void *pointer) {
  auto &call = *static_cast<CudaHostCall *>(pointer);
  insideCudaHostFunction() = true;
  try {
    if (call.isCopy || !call.errors->failed())
      call.function();
  } catch (...) {
    call.errors->keep(std::current_exception());
  }
  insideCudaHostFunction() = false;
  call.done = true; // the caller's thread may free it from here on
}

void CudaWork::forgetDone() {
  while (!calls.empty() && calls.front()->done)
    calls.pop_front();
}

void CudaWork::abandonCalls() {
  for (auto &call : calls)
    if (!call->done)
      (void)call.release();
}

CudaGraph::State::~State() {
  if (!handle)
    return;
  const CudaContext &context = device->context();
  context.gate.soon([&context, handle = handle] { context.giveBack(context.api.graphExecDestroy, handle); });
}

} // namespace heddle
