// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which device may address the memory of which: asked of the driver once for every pair, then remembered.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace heddle {

class Device;

class PeerAccess {
public:
  /// `ask(from, to)` is called once for each ordered pair of different devices.
  PeerAccess(int deviceCount, const std::function<bool(int from, int to)> &ask);

  /// True for a device and itself. An ordinal that the driver does not have is false, with a warning.
  bool allowed(int from, int to) const;
  /// The warnings so far, each once.
  std::vector<std::string> warnings() const;

private:
  bool knows(int ordinal) const;

  int count;
  std::vector<bool> matrix;
  mutable std::vector<std::string> complaints;
};

/// Throws Error{Environment} naming the first pair of devices where one cannot address the other's memory; devices of
/// different drivers never can.
void requirePeerAccess(const std::vector<std::shared_ptr<Device>> &devices);

} // namespace heddle
