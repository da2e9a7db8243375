// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the HEDDLE_NCCL variables and refuses values that are none.
#include "nccl/Settings.h"
#include "include/heddle.h"
#include "nccl/Log.h"
#include <charconv>
#include <cstdlib>

namespace heddle::dropin {
namespace {

std::string valueOf(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

template <typename Number>
void read(const char *name, Number least, Number most, Number &place, std::string &whyNot) {
  std::string text = valueOf(name);
  if (text.empty())
    return;
  Number value{};
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most)) {
    whyNot = std::string(name) + " is `" + text + "`, and a number from " + std::to_string(least) + " to " +
             std::to_string(most) + " is wanted";
    say("%s: NCCL makes all calls", whyNot.c_str());
    return;
  }
  place = value;
}

Settings readSettings() {
  Settings made;
  read<int64_t>("HEDDLE_NCCL_BYTES", 0, int64_t(1) << 40, made.mostBytes, made.whyNot);
  read<double>("HEDDLE_NCCL_DEADLINE", 0.001, 1e6, made.deadline, made.whyNot);
  read<double>("HEDDLE_NCCL_SETUP", 0.001, 1e6, made.setupSeconds, made.whyNot);
  read<int>("HEDDLE_NCCL_RESERVE", 0, 1024, made.reservedUnits, made.whyNot);
  if (std::string driver = valueOf("HEDDLE_NCCL_DEVICE"); !driver.empty())
    made.driver = driver;
  for (const char *name : {"NCCL_ALGO", "NCCL_PROTO"})
    if (!valueOf(name).empty())
      made.whyNot = std::string(name) + " is set";
  made.text = std::to_string(HEDDLE_INTERFACE_VERSION) + " " + std::to_string(made.mostBytes) + " " +
              std::to_string(made.reservedUnits) + " " + made.driver;
  return made;
}

} // namespace

const Settings &settings() {
  static const Settings &made = *new Settings(readSettings()); // threads ask while the process ends
  return made;
}

} // namespace heddle::dropin
