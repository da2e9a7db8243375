// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What policies and schedules are called.
#include "api/SimulatedKernel.h"
#include "support/Suggest.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle {

using namespace simulator;

namespace {

constexpr std::pair<const char *, Policy> policies[] = {{"earliest", Policy::Earliest},
                                                        {"latest", Policy::Latest},
                                                        {"reordered", Policy::Reordered},
                                                        {"random", Policy::Random}};
constexpr std::pair<const char *, Schedule> schedules[] = {{"run-to-block", Schedule::RunToBlock},
                                                           {"round-robin", Schedule::RoundRobin},
                                                           {"leap-frog", Schedule::LeapFrog},
                                                           {"frozen", Schedule::Frozen},
                                                           {"random", Schedule::Random}};

template <typename Table>
std::vector<std::string> namesOf(const Table &table) {
  std::vector<std::string> names;
  for (const auto &[name, value] : table)
    names.emplace_back(name);
  return names;
}

template <typename Table>
auto lookUp(const Table &table, const std::string &option, const std::string &given) {
  for (const auto &[name, value] : table)
    if (given == name)
      return value;
  std::vector<std::string> known = namesOf(table), notes;
  if (std::string close = closestName(given, known); !close.empty())
    notes.push_back(fmt::format("the closest is `{}`", close));
  notes.push_back(fmt::format("`{}` takes `{}`", option, fmt::join(known, "`, `")));
  throw inputError(fmt::format("there is no {} `{}`", option.substr(2), given), notes);
}

} // namespace

Policy parsePolicy(const std::string &name) {
  return lookUp(policies, "--policy", name);
}
Schedule parseSchedule(const std::string &name) {
  return lookUp(schedules, "--schedule", name);
}
std::vector<std::string> simulationPolicies() {
  return namesOf(policies);
}
std::vector<std::string> simulationSchedules() {
  return namesOf(schedules);
}

} // namespace heddle
