// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiles the steps of a plan, loads them, and launches them in order.
#include "kernels/Prepared.h"
#include "runtime/Launch.h"
#include "support/Error.h"
#include <fmt/format.h>

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

Prepared::Prepared(std::shared_ptr<Device> device, const LibraryKernel &kernel, CallRequest request,
                   const CompileOptions &options)
    : device(std::move(device)) {
  request.chip = &this->device->chip();
  checked = checkCall(kernel, request);
  planned = planCall(kernel, checked);
  load(compilePlan(planned, this->device->chip(), options));
}

Prepared::Prepared(std::shared_ptr<Device> device, Call call, Plan plan,
                   const std::vector<std::shared_ptr<const Package>> &packages)
    : device(std::move(device)), checked(std::move(call)), planned(std::move(plan)) {
  load(packages);
}

void Prepared::load(const std::vector<std::shared_ptr<const Package>> &packages) {
  for (const auto &package : packages)
    loaded.push_back(package ? Kernel{device->loadModule(*package)} : Kernel{});
  for (const NamedArray &array : planned.temporaries)
    temporaries[array.name] = device->allocate(uint64_t(array.type.sizeBytes()), array.name);
}

void Prepared::launch(Stream &stream, const std::map<std::string, uint64_t> &addresses, double timeoutSeconds) const {
  auto addressOf = [&](const std::string &name) {
    if (auto own = temporaries.find(name); own != temporaries.end())
      return own->second.address();
    auto given = addresses.find(name);
    if (given == addresses.end())
      throw inputError(fmt::format("kernel `{}`: no address of `{}` is given", checked.kernel, name));
    return given->second;
  };
  for (size_t i = 0; i < planned.steps.size(); ++i) {
    const Step &step = planned.steps[i];
    if (!step.fills.empty()) {
      stream.fill(addressOf(step.fills), step.byte, uint64_t(planned.sizeBytes(step.fills)));
      continue;
    }
    Launch launch{.kernel = loaded[i], .grid = step.grid, .timeoutSeconds = timeoutSeconds};
    for (size_t argument = 0; argument < step.arguments.size(); ++argument) {
      const StepArgument &value = step.arguments[argument];
      bool isWide = loaded[i].arguments()[argument].type == "i64";
      if (!value.buffer.empty())
        launch.arguments.push_back(DeviceAddress(addressOf(value.buffer)));
      else
        launch.arguments.push_back(ScalarBits{isWide ? uint64_t(value.value) : uint64_t(uint32_t(value.value))});
    }
    stream.launch(launch);
  }
}

} // namespace heddle::kernels
