// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Everything about a launch that can be wrong before any device sees it.
#include "runtime/Launch.h"
#include "support/ElementType.h"
#include "support/Error.h"
#include <fmt/format.h>
#include <limits>

namespace heddle {
namespace {

constexpr int64_t largestGrid = std::numeric_limits<int32_t>::max();

uint64_t valueOf(const LaunchArgument &argument) {
  return std::visit([](const auto &either) { return either.value; }, argument);
}

void checkGrid(const Launch &launch) {
  const auto &[x, y, z] = launch.grid;
  for (int64_t dimension : launch.grid)
    if (dimension < 1 || dimension > largestGrid)
      throw inputError(fmt::format("kernel `{}`: grid {} x {} x {}: each dimension must be from 1 to {}",
                                   launch.kernel.package().kernel, x, y, z, largestGrid));
  if (x * y > largestGrid || x * y * z > largestGrid)
    throw inputError(fmt::format("kernel `{}`: grid {} x {} x {} has more than {} program instances",
                                 launch.kernel.package().kernel, x, y, z, largestGrid));
}

void checkTimeLimit(const Launch &launch) {
  constexpr double most = 1e6;
  if (launch.timeoutSeconds != 0 && !(launch.timeoutSeconds > 0 && launch.timeoutSeconds <= most))
    throw inputError(fmt::format("kernel `{}`: a time limit of {} s: it must be above 0 and at most {:.0f}",
                                 launch.kernel.package().kernel, launch.timeoutSeconds, most));
}

std::string listNames(const std::vector<PackageArgument> &arguments, size_t from) {
  std::string names;
  for (size_t i = from; i < arguments.size(); ++i)
    names += fmt::format("{}`{}`", names.empty() ? "" : ", ", arguments[i].name);
  return names;
}

void checkCount(const Launch &launch) {
  const auto &wanted = launch.kernel.arguments();
  size_t given = launch.arguments.size();
  if (given == wanted.size())
    return;
  std::string which = given < wanted.size() ? "missing " + listNames(wanted, given)
                                            : fmt::format("the last {} are extra", given - wanted.size());
  std::vector<std::string> notes;
  if (!wanted.empty())
    notes.push_back("its arguments are " + listNames(wanted, 0));
  throw inputError(fmt::format("kernel `{}` takes {} arguments and got {}: {}", launch.kernel.package().kernel,
                               wanted.size(), given, which),
                   notes);
}

/// For messages alone: it takes longer than the checks.
std::string nameOf(const Launch &launch, const PackageArgument &argument) {
  return fmt::format("kernel `{}`: argument `{}`", launch.kernel.package().kernel, argument.name);
}

/// `wanted.divisibility` is at least 1.
void checkDivisibility(const Launch &launch, const PackageArgument &wanted, uint64_t value) {
  if (wanted.divisibility <= 1)
    return;
  if (wanted.pointer) {
    if (value % uint64_t(wanted.divisibility) != 0)
      throw inputError(
          fmt::format("{}: address {:#x} is not a multiple of {} bytes, as the kernel was compiled to expect",
                      nameOf(launch, wanted), value, wanted.divisibility));
    return;
  }
  auto type = findElementType(wanted.type);
  if (!type || isFloat(*type))
    return;
  int64_t number = loadInt(*type, &value);
  if (number % wanted.divisibility != 0)
    throw inputError(fmt::format("{}: {} is not a multiple of {}, as the kernel was compiled to expect",
                                 nameOf(launch, wanted), number, wanted.divisibility));
}

void checkArgument(const Launch &launch, size_t index) {
  const PackageArgument &wanted = launch.kernel.arguments()[index];
  bool pointer = std::holds_alternative<DeviceAddress>(launch.arguments[index]);
  if (pointer != wanted.pointer)
    throw inputError(fmt::format("{} is a {}, and a {} was given", nameOf(launch, wanted),
                                 wanted.pointer ? "pointer to " + wanted.type : "scalar of type " + wanted.type,
                                 pointer ? "buffer" : "scalar"));
  uint64_t value = valueOf(launch.arguments[index]);
  if (!pointer)
    if (auto type = findElementType(wanted.type)) {
      int bits = *type == ElementType::I1 ? 1 : int(8 * elementSizeBytes(*type));
      if (bits < 64 && value >> bits)
        throw inputError(fmt::format("{}: bits {:#x} are wider than {}", nameOf(launch, wanted), value, wanted.type));
    }
  checkDivisibility(launch, wanted, value);
}

} // namespace

void checkLaunch(const Launch &launch) {
  if (!launch.kernel.module)
    throw internalError("a launch names no kernel");
  checkGrid(launch);
  checkTimeLimit(launch);
  checkCount(launch);
  for (size_t i = 0; i < launch.arguments.size(); ++i)
    checkArgument(launch, i);
}

std::vector<uint64_t> argumentSlots(const Launch &launch) {
  std::vector<uint64_t> slots;
  slots.reserve(launch.arguments.size() + 1); // a driver adds one
  for (const LaunchArgument &argument : launch.arguments)
    slots.push_back(valueOf(argument));
  return slots;
}

} // namespace heddle
