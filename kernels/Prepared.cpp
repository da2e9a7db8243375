// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiles the steps of a plan, and gives them to the runtime in the form that bundles have.
#include "kernels/Prepared.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::kernels {

std::vector<std::shared_ptr<const Package>> compilePlan(const Plan &plan, const Chip &chip, CompileOptions options) {
  options.chip = &chip;
  std::vector<std::shared_ptr<const Package>> packages;
  for (const Step &step : plan.steps) {
    if (!step.fills.empty()) {
      packages.push_back(nullptr);
      continue;
    }
    options.warps = step.warps;
    packages.push_back(std::make_shared<const Package>(compile(step.text, step.name, options).package));
  }
  return packages;
}

static std::vector<BundleArray> bundleArraysOf(const std::vector<NamedArray> &arrays) {
  std::vector<BundleArray> all;
  for (const NamedArray &array : arrays) {
    all.push_back(
        {array.name, elementTypeName(array.type.type), array.type.shape, {}, uint64_t(array.type.sizeBytes())});
    for (size_t axis = 0; axis < array.type.shape.size(); ++axis)
      all.back().strides.push_back(array.type.stride(axis));
  }
  return all;
}

BundleCall bundleCallOf(const Call &call, const Plan &plan) {
  BundleCall bundled{call.kernel, call.chip->name, call.options, {}, {}, {}, {}};
  for (const auto &[name, extent] : call.extents)
    bundled.choices[name] = std::to_string(extent);
  for (const auto &[name, tile] : call.tiles)
    bundled.choices[name] = std::to_string(tile);
  std::vector<NamedArray> inputs;
  for (const auto &[name, type] : call.inputs) {
    inputs.push_back({name, type});
    bundled.choices[name] = elementTypeName(type.type) +
                            (type.isDense() ? "" : fmt::format(" with strides {}", fmt::join(type.strides, ",")));
  }
  bundled.inputs = bundleArraysOf(inputs);
  bundled.results = bundleArraysOf(plan.results);
  bundled.temporaries = bundleArraysOf(plan.temporaries);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step &step = plan.steps[i];
    BundleStep launch{step.fills, step.byte, i, step.grid, {}};
    for (const StepArgument &argument : step.arguments)
      launch.arguments.push_back({argument.buffer, argument.value});
    bundled.steps.push_back(std::move(launch));
  }
  return bundled;
}

Prepared::Prepared(std::shared_ptr<Device> device, const LibraryKernel &kernel, CallRequest request,
                   const CompileOptions &options) {
  request.chip = &device->chip();
  checked = checkCall(kernel, request);
  planned = planCall(kernel, checked);
  std::vector<std::shared_ptr<const Package>> packages = compilePlan(planned, device->chip(), options);
  loaded.emplace(std::move(device), bundleCallOf(checked, planned), packages);
}

Prepared::Prepared(std::shared_ptr<Device> device, Call call, Plan plan,
                   const std::vector<std::shared_ptr<const Package>> &packages)
    : checked(std::move(call)), planned(std::move(plan)) {
  loaded.emplace(std::move(device), bundleCallOf(checked, planned), packages);
}

} // namespace heddle::kernels
