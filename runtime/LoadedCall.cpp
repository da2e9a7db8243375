// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads the packages of a call, each once, and launches its steps in order.
#include "runtime/LoadedCall.h"
#include "support/Error.h"
#include <fmt/format.h>

namespace heddle {

LoadedCall::LoadedCall(std::shared_ptr<Device> device, BundleCall call,
                       const std::vector<std::shared_ptr<const Package>> &packages)
    : device(std::move(device)), theCall(std::move(call)) {
  std::map<size_t, Kernel> loaded;
  for (const BundleStep &step : theCall.steps) {
    if (!step.fills.empty()) {
      kernels.push_back(Kernel{});
      continue;
    }
    auto found = loaded.find(step.package);
    if (found == loaded.end())
      found = loaded.emplace(step.package, Kernel{this->device->loadModule(*packages.at(step.package))}).first;
    kernels.push_back(found->second);
  }
  for (const BundleArray &array : theCall.temporaries)
    temporaries[array.name] = this->device->allocate(array.sizeBytes, array.name);
}

uint64_t LoadedCall::addressOf(const std::string &name, const std::map<std::string, uint64_t> &addresses) const {
  if (auto own = temporaries.find(name); own != temporaries.end())
    return own->second.address();
  auto given = addresses.find(name);
  if (given == addresses.end())
    throw inputError(fmt::format("kernel `{}`: no address of `{}` is given", theCall.kernel, name));
  return given->second;
}

void LoadedCall::launch(Stream &stream, const std::map<std::string, uint64_t> &addresses, double timeoutSeconds) const {
  for (size_t i = 0; i < theCall.steps.size(); ++i) {
    const BundleStep &step = theCall.steps[i];
    if (!step.fills.empty()) {
      stream.fill(addressOf(step.fills, addresses), step.byte, theCall.findArray(step.fills)->sizeBytes);
      continue;
    }
    Launch launch{.kernel = kernels[i], .grid = step.grid, .timeoutSeconds = timeoutSeconds};
    for (size_t argument = 0; argument < step.arguments.size(); ++argument) {
      const BundleArgument &value = step.arguments[argument];
      bool isWide = kernels[i].arguments()[argument].type == "i64";
      if (!value.array.empty())
        launch.arguments.push_back(DeviceAddress(addressOf(value.array, addresses)));
      else
        launch.arguments.push_back(ScalarBits{isWide ? uint64_t(value.value) : uint64_t(uint32_t(value.value))});
    }
    stream.launch(launch);
  }
}

} // namespace heddle
