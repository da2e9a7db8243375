// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Linux: /proc/meminfo, and the limit of control groups of version 2, which a container sees at the root of its own.
#include "support/SystemMemory.h"
#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <unistd.h>

namespace heddle {
namespace {

/// The number that the file begins with; none for a missing file, or for `max`.
std::optional<uint64_t> numberIn(const char *path) {
  std::ifstream file(path);
  uint64_t number = 0;
  return file >> number ? std::optional<uint64_t>(number) : std::nullopt;
}

uint64_t groupAvailableBytes() {
  auto limit = numberIn("/sys/fs/cgroup/memory.max"), used = numberIn("/sys/fs/cgroup/memory.current");
  if (!limit || !used)
    return std::numeric_limits<uint64_t>::max();
  return *limit - std::min(*limit, *used);
}

} // namespace

uint64_t physicalMemoryBytes() {
  return uint64_t(::sysconf(_SC_PHYS_PAGES)) * uint64_t(::sysconf(_SC_PAGESIZE));
}

uint64_t availableMemoryBytes() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  uint64_t kibibytes = 0, available = 0;
  while (file >> key >> kibibytes) {
    std::getline(file, unit);
    if (key == "MemAvailable:" || key == "SwapFree:")
      available += kibibytes * 1024;
  }
  if (!available)
    available = uint64_t(::sysconf(_SC_AVPHYS_PAGES)) * uint64_t(::sysconf(_SC_PAGESIZE));
  return std::min(available, groupAvailableBytes());
}

} // namespace heddle
