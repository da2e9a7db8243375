// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a communicator has the kernels of its plans from: compiled when they are wanted, or packages made beforehand. A
// communicator knows no compiler.
#pragma once
#include "binary/Package.h"
#include "collectives/Plan.h"
#include <memory>

namespace heddle {

class KernelSource {
public:
  virtual ~KernelSource() = default;
  /// The kernel of a plan, for its target; called by several threads. Throws Error{Environment} where there is none.
  virtual Package kernelOf(const Plan &plan) const = 0;
};

/// Compiles; of the library HeddleCollectives, which has the compiler.
std::shared_ptr<const KernelSource> compiledKernels();

} // namespace heddle
