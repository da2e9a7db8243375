// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans calls of the library's kernels for chips that need not be here, and compiles them into a bundle.
#include "api/Bundles.h"
#include "api/LibraryCall.h"
#include "kernels/Prepared.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace heddle {
namespace {

using namespace kernels;

std::set<std::string> extentsOf(const LibraryKernel &kernel) {
  std::set<std::string> names;
  for (const Parameter &parameter : kernel.inputs)
    names.insert(parameter.extents.begin(), parameter.extents.end());
  return names;
}

std::set<std::string> namesOf(const std::string &shape) {
  std::set<std::string> names;
  for (const auto &[name, extent] : readShape(shape))
    names.insert(name);
  return names;
}

struct WantedCall {
  const LibraryKernel *kernel;
  std::string shape;
};

std::vector<WantedCall> callsOf(const KernelBundleRequest &request) {
  std::vector<const LibraryKernel *> kernels;
  for (const std::string &name : request.kernels)
    kernels.push_back(&lookupKernel(name));
  if (kernels.empty())
    kernels = allKernels();
  std::vector<WantedCall> calls;
  for (const LibraryKernel *kernel : kernels) {
    size_t before = calls.size();
    for (const std::string &shape : request.shapes)
      if (namesOf(shape) == extentsOf(*kernel))
        calls.push_back({kernel, shape});
    if (calls.size() == before && !request.kernels.empty())
      throw inputError(fmt::format("kernel `{}`: no `--shape` gives its extents {}", kernel->name,
                                   fmt::join(extentsOf(*kernel), ", ")),
                       {"each of its calls has a shape of its own: `--shape` may come several times"});
  }
  for (const std::string &shape : request.shapes)
    if (std::none_of(calls.begin(), calls.end(), [&](const WantedCall &call) { return call.shape == shape; }))
      throw inputError(fmt::format("`--shape {}` gives the extents of none of the kernels", shape),
                       {"`heddle run kernel:NAME` prints the extents of a kernel's arrays"});
  return calls;
}

void addCall(Bundle &bundle, const LibraryRequest &request, const std::string &target, const BundleProgress &progress) {
  PlannedLibraryCall planned = planLibraryCall(request, target);
  if (progress && request.tuned)
    progress(planned.tuned);
  BundleCall call = bundleCallOf(planned.call, planned.plan);
  if (bundle.hasCall(call)) // targets, kernels or shapes that are given twice
    return;
  std::vector<std::shared_ptr<const Package>> packages = compilePlan(planned.plan, *planned.call.chip, request.options);
  const std::vector<Parameter> &parameters = lookupKernel(planned.call.kernel).inputs;
  std::ranges::sort(call.inputs, {}, [&](const BundleArray &array) {
    return std::ranges::find(parameters, array.name, &Parameter::name) - parameters.begin();
  });
  for (size_t i = 0; i < call.steps.size(); ++i)
    if (packages[i])
      call.steps[i].package = bundle.add(*packages[i]);
  bundle.calls.push_back(std::move(call));
}

} // namespace

void requireBundleTargets(const std::vector<std::string> &targets) {
  if (targets.empty())
    throw inputError("no target", {"name chips by `--for`, as in `--for sm_90,gfx942,host`"});
  for (const std::string &target : targets)
    lookupChip(target);
}

Bundle bundleKernels(const KernelBundleRequest &request, const BundleProgress &progress) {
  requireBundleTargets(request.targets);
  Bundle bundle;
  bundle.producer = "heddle " + version();
  if (request.shapes.empty())
    throw inputError("no shape", {"give the extents of each call by `--shape`, as in `--shape M=16640,K=5120`"});
  std::vector<WantedCall> calls = callsOf(request);
  for (const std::string &target : request.targets)
    for (const WantedCall &wanted : calls) {
      if (progress)
        progress(fmt::format("{} {} for {}", wanted.kernel->name, wanted.shape, target));
      LibraryRequest call = request.call;
      call.kernel = std::string(kernelPrefix) + wanted.kernel->name;
      call.shape = wanted.shape;
      addCall(bundle, call, target, progress);
    }
  return bundle;
}

} // namespace heddle
