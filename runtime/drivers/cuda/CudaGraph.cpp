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

CudaStaging::CudaStaging(std::shared_ptr<CudaDevice> theDevice) : device(std::move(theDevice)) {
  const CudaContext &context = device->context();
  CudaScope scope(context);
  context.call(context.api.hostAllocate, &start, size_t(sizeBytes), cuda::hostAllocPortable);
}

CudaStaging::~CudaStaging() {
  device->context().memory.release([device = device, start = start] {
    try {
      CudaScope scope(device->context());
      device->context().api.hostFree(start);
    } catch (const Error &) { // the context is lost, and the memory with it
    }
  });
}

CudaGraph::State::~State() {
  if (!handle)
    return;
  device->context().memory.release([device = device, handle = handle] {
    try {
      CudaScope scope(device->context());
      device->context().api.graphExecDestroy(handle);
    } catch (const Error &) { // the context is lost, and the graph with it
    }
  });
}

} // namespace heddle
