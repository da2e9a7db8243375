// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A planned call, compiled and loaded on a device: launch it any number of times, also into a graph.
#pragma once
#include "compiler/pipeline/Compile.h"
#include "kernels/LibraryKernel.h"
#include "runtime/Device.h"
#include "runtime/Stream.h"

namespace heddle::kernels {

/// The packages of a plan's launches, in order; null for a fill. `options` has all but the target and the warps.
std::vector<std::shared_ptr<const Package>> compilePlan(const Plan &plan, const Chip &chip,
                                                        CompileOptions options = {});

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
  /// Puts the steps into a stream of the device. `addresses` are those of the inputs and results, by name; launches of
  /// one object share its temporaries, so they must be in one stream, or ordered by events. Throws Error{Input} for a
  /// missing name, and as Stream::launch. `timeoutSeconds` is Launch's, of each launch.
  void launch(Stream &stream, const std::map<std::string, uint64_t> &addresses, double timeoutSeconds = 0) const;

private:
  void load(const std::vector<std::shared_ptr<const Package>> &packages);

  std::shared_ptr<Device> device;
  Call checked;
  Plan planned;
  std::vector<Kernel> loaded; ///< for each step; without a module for a fill
  std::map<std::string, Buffer> temporaries;
};

} // namespace heddle::kernels
