// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the kernel of a plan by the plan's key.
#include "collectives/BundledKernels.h"
#include "support/Error.h"
#include <fmt/format.h>

namespace heddle {

void BundledKernels::add(std::shared_ptr<const Bundle> bundle) {
  std::lock_guard lock(mutex);
  bundles.push_back(std::move(bundle));
}

Package BundledKernels::kernelOf(const Plan &plan) const {
  std::string key = kernelKey(plan), layout = layoutKey(plan);
  std::unique_lock lock(mutex);
  for (const auto &bundle : bundles)
    if (const BundleCollective *found = bundle->findCollective(plan.target, key)) {
      if (found->layout != layout)
        throw environmentError(
            fmt::format("the bundle's kernel for {} is of {}, and does not fit this version: {}",
                        describe(plan.collective), bundle->producer, key),
            {fmt::format("its memory: {}; here: {}", found->layout, layout), "make the bundle again by this version"});
      return *bundle->packages[found->package];
    }
  lock.unlock();
  return others->kernelOf(plan);
}

} // namespace heddle
