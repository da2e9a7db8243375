// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What policies and schedules are called, in options, settings and reports.
#include "simulator/machine/Machine.h"
#include "support/Suggest.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::simulator {
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

template <typename Value, size_t count>
Value parse(const std::pair<const char *, Value> (&table)[count], const char *one, const char *all,
            const std::string &given) {
  std::vector<std::string> known, notes;
  for (const auto &[name, value] : table) {
    if (given == name)
      return value;
    known.emplace_back(name);
  }
  if (std::string close = closestName(given, known); !close.empty())
    notes.push_back(fmt::format("the closest is `{}`", close));
  notes.push_back(fmt::format("the {} are `{}`", all, fmt::join(known, "`, `")));
  throw inputError(fmt::format("there is no {} `{}`", one, given), notes);
}

template <typename Value, size_t count>
std::string find(const std::pair<const char *, Value> (&table)[count], Value wanted) {
  for (const auto &[name, value] : table)
    if (value == wanted)
      return name;
  return "";
}

} // namespace

Policy parsePolicy(const std::string &name) {
  return parse(policies, "policy", "policies", name);
}
Schedule parseSchedule(const std::string &name) {
  return parse(schedules, "schedule", "schedules", name);
}
std::string nameOf(Policy policy) {
  return find(policies, policy);
}
std::string nameOf(Schedule schedule) {
  return find(schedules, schedule);
}

} // namespace heddle::simulator
