// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A request of a library kernel, with texts in place of arrays, becomes a call with typed arrays.
#pragma once
#include "api/KernelLibrary.h"
#include "kernels/RunOnce.h"

namespace heddle {

inline constexpr std::string_view kernelPrefix = "kernel:";

/// Of `kernel:NAME`. Throws Error{Input} with the closest name.
const kernels::LibraryKernel &libraryKernelOf(const std::string &input);

/// A request whose arrays have types, and the contents of those that were given.
/// The extents of `M=128,K=512`. Throws Error{Input} for text that is ill-formed and an extent that is given twice.
std::map<std::string, int64_t> readShape(const std::string &shape);

struct BoundCall {
  const kernels::LibraryKernel &kernel;
  kernels::CallRequest request;
  kernels::HostArrays given;
};
/// Throws Error{Input} for values that are ill-formed or do not fit the kernel's arguments.
BoundCall bindLibraryCall(const LibraryRequest &request, const Chip &chip);

struct PlannedLibraryCall {
  kernels::Call call;
  kernels::Plan plan;
  std::string tuned; ///< where the request asks for it: which entry it is, or that there is none
};
/// For a chip that need not be here. Throws as bindLibraryCall and kernels::planCall.
PlannedLibraryCall planLibraryCall(const LibraryRequest &request, const std::string &target);

} // namespace heddle
