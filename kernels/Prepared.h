// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A planned call, compiled and loaded on a device: launch it any number of times, also into a graph.
#pragma once
#include "compiler/pipeline/Compile.h"
#include "kernels/LibraryKernel.h"
#include "runtime/LoadedCall.h"
#include <optional>

namespace heddle::kernels {

/// The packages of a plan's launches, in order; null for a fill. `options` has all but the target and the warps.
std::vector<std::shared_ptr<const Package>> compilePlan(const Plan &plan, const Chip &chip,
                                                        CompileOptions options = {});

/// The call and its plan as a bundle has them, for programs without the compiler; the inputs by name. Steps number the
/// packages of compilePlan.
BundleCall bundleCallOf(const Call &call, const Plan &plan);

class Prepared {
public:
  /// Compiles for the device's chip, and allocates the temporaries. Throws as planCall and compile.
  Prepared(std::shared_ptr<Device> device, const LibraryKernel &kernel, CallRequest request,
           const CompileOptions &options = {});

  /// Loads what was compiled before: `packages` are those of compilePlan for the plan and the device's chip.
  Prepared(std::shared_ptr<Device> device, Call call, Plan plan,
           const std::vector<std::shared_ptr<const Package>> &packages);

  const Call &call() const { return checked; }
  const Plan &plan() const { return planned; }
  /// As LoadedCall::launch.
  void launch(Stream &stream, const std::map<std::string, uint64_t> &addresses, double timeoutSeconds = 0) const {
    loaded->launch(stream, addresses, timeoutSeconds);
  }

private:
  Call checked;
  Plan planned;
  std::optional<LoadedCall> loaded; ///< always there once it is constructed
};

} // namespace heddle::kernels
