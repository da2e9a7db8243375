// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asks the driver for each pair, keeps the answers, and names the pair that is refused.
#include "runtime/PeerAccess.h"
#include "runtime/Device.h"
#include "runtime/Driver.h"
#include "support/Error.h"
#include <algorithm>
#include <map>
#include <mutex>

namespace heddle {

PeerAccess::PeerAccess(int deviceCount, const std::function<bool(int from, int to)> &ask)
    : count(std::max(0, deviceCount)), matrix(size_t(count) * size_t(count)) {
  for (int from = 0; from < count; ++from)
    for (int to = 0; to < count; ++to)
      matrix[size_t(from * count + to)] = from == to || ask(from, to);
}

bool PeerAccess::knows(int ordinal) const {
  if (ordinal >= 0 && ordinal < count)
    return true;
  std::string complaint = "peer access asked for device " + std::to_string(ordinal) + ", but the driver has " +
                          std::to_string(count) + " devices";
  if (std::find(complaints.begin(), complaints.end(), complaint) == complaints.end())
    complaints.push_back(complaint);
  return false;
}

bool PeerAccess::allowed(int from, int to) const {
  bool known = knows(from);
  known = knows(to) && known;
  return known && matrix[size_t(from * count + to)];
}

std::vector<std::string> PeerAccess::warnings() const {
  return complaints;
}

static bool mayAddress(const Device &from, const Device &to) {
  static std::mutex mutex;
  static std::map<std::string, PeerAccess> known;
  if (from.driver().name() != to.driver().name())
    return false;
  std::lock_guard<std::mutex> lock(mutex);
  Driver &driver = from.driver();
  auto found = known.find(driver.name());
  if (found == known.end())
    found = known
                .emplace(driver.name(),
                         PeerAccess(driver.deviceCount(), [&](int a, int b) { return driver.canAccessPeer(a, b); }))
                .first;
  return found->second.allowed(from.ordinal(), to.ordinal());
}

void requirePeerAccess(const std::vector<std::shared_ptr<Device>> &devices) {
  for (const auto &from : devices)
    for (const auto &to : devices)
      if (!mayAddress(*from, *to))
        throw environmentError("device `" + from->name() + "` cannot address the memory of device `" + to->name() + "`",
                               {"the devices of a group are of one driver and reach each other's memory"});
}

} // namespace heddle
