// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of plans from bundles, which `heddle package collectives` has made.
#pragma once
#include "binary/Bundle.h"
#include "collectives/KernelSource.h"
#include <memory>
#include <mutex>
#include <vector>

namespace heddle {

class BundledKernels : public KernelSource {
public:
  /// `others` has the kernels that no bundle has.
  explicit BundledKernels(std::shared_ptr<const KernelSource> others) : others(std::move(others)) {}

  /// Of two bundles that have a kernel, that of the first counts.
  void add(std::shared_ptr<const Bundle> bundle);

  /// Also throws Error{Environment} where the bundle's kernel expects another layout of the protocol's memory than this
  /// version of Heddle makes.
  Package kernelOf(const Plan &plan) const override;

private:
  std::shared_ptr<const KernelSource> others;
  mutable std::mutex mutex;
  std::vector<std::shared_ptr<const Bundle>> bundles;
};

} // namespace heddle
