// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes the parts of a key from a bound call and its device, with the classes of strides and alignments.
#include "autotune/CallKey.h"
#include "autotune/Space.h"
#include "compiler/pipeline/Inspect.h"
#include "runtime/Driver.h"
#include "support/Error.h"
#include "support/Hash.h"
#include "support/Knobs.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mutex>

namespace heddle::autotune {

using namespace kernels;

namespace {

/// The text without what says where it was written.
std::string withoutPositions(const std::string &text) {
  std::string result;
  for (size_t start = 0; start < text.size();) {
    size_t end = std::min(text.find('\n', start), text.size());
    std::string line = text.substr(start, end - start);
    start = end + 1;
    if (line.starts_with("#loc"))
      continue;
    result += line.substr(0, line.find(" loc(")) + "\n";
  }
  return result;
}

std::string strideClass(const ArrayType &array) {
  std::string text;
  for (size_t axis = 0; axis < array.shape.size(); ++axis) {
    int64_t stride = array.stride(axis);
    text += fmt::format("{}{}", text.empty() ? "" : "|", stride == 1 ? "1" : stride % 16 == 0 ? "16" : "any");
  }
  return text.empty() ? "-" : text;
}

} // namespace

KeyPlace placeOf(const Device &device, bool isCold) {
  const Chip &chip = device.chip();
  std::string description = device.description(), version = device.driver().description();
  KeyPlace place;
  place.device = description.substr(0, description.find(", "));
  if (chip.vendor == Vendor::Host) // threads are the host's multiprocessors
    place.device += fmt::format(", {} threads", hostThreads());
  else if (chip.simulated != InstructionSet::None && device.driver().isVirtual())
    place.device = "simulated " + chip.name;
  else
    place.device += fmt::format(", {} units", device.computeUnits());
  place.driver = version.empty() ? "-" : version.substr(0, version.find(" in ")); // without the library's path
  place.clock = chip.vendor == Vendor::Host ? "host" : device.driver().isVirtual() ? "estimate" : "events";
  if (isCold && place.clock != "estimate")
    place.clock += "-cold";
  return place;
}

Key keyOf(const LibraryKernel &kernel, const CallRequest &request, const KeyPlace &place) {
  Call call = checkCall(kernel, request);
  Configuration types, strides, extents, options, fixed;
  for (const auto &[name, array] : call.inputs) {
    types[name] = elementTypeName(array.type);
    strides[name] = strideClass(array);
  }
  for (const auto &[name, value] : call.extents)
    extents[name] = std::to_string(value);
  std::vector<std::string> tunable = tunableNames(kernel);
  auto isTunable = [&](const std::string &name) {
    return std::find(tunable.begin(), tunable.end(), name) != tunable.end();
  };
  for (const auto &[name, value] : call.options)
    if (!isTunable(name))
      options[name] = value;
  for (const auto &[name, value] : request.options)
    if (isTunable(name))
      fixed[name] = value;
  return Key({{"kernel", kernel.name},
              {"kernel_version", versionOf(kernel)},
              {"compiler", compilerVersion()},
              {"chip", call.chip->name},
              {"device", place.device},
              {"driver", place.driver},
              {"clock", place.clock},
              {"types", textOf(types)},
              {"strides", textOf(strides)},
              {"alignment", "16"},
              {"extents", textOf(extents)},
              {"options", options.empty() ? "-" : textOf(options)},
              {"fixed", fixed.empty() ? "-" : textOf(fixed)}});
}

std::string versionOf(const LibraryKernel &kernel) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  std::lock_guard lock(mutex);
  std::string &version = known[kernel.name];
  if (!version.empty())
    return version;
  std::string text;
  try {
    CallRequest request;
    request.inputs = arraysOfShape(kernel, kernel.tuning.example, ElementType::BF16);
    request.options = kernel.tuning.exampleOptions;
    std::vector<Configuration> configurations = {{}};
    for (const TuningVariant &variant : kernel.tuning.variants)
      configurations.push_back(variant.options);
    for (const Configuration &configuration : configurations) {
      Call call = checkCall(kernel, configured(request, configuration));
      for (const Step &step : planCall(kernel, call).steps)
        text += step.fills.empty() ? withoutPositions(step.text) : "fill\n";
    }
  } catch (const Error &error) {
    throw internalError(
        fmt::format("the example that kernel `{}` declares for tuning is refused: {}", kernel.name, error.what()));
  }
  return version = hashHex(text).substr(0, 8);
}

std::string compilerVersion() {
  return fmt::format("heddle {}, LLVM {}", HEDDLE_VERSION, llvmVersion());
}

} // namespace heddle::autotune
