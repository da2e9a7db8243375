// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same amount of memory on each device of a group, at addresses that every member can use.
#pragma once
#include "runtime/Device.h"
#include <memory>
#include <string>
#include <vector>

namespace heddle {

/// Uncached unless one says otherwise, because its members talk to each other in it. Zeroed, and the zeros have
/// arrived, when the constructor returns. Freed with the object: nothing may use it then.
class SymmetricMemory {
public:
  /// One buffer of `sizeBytes` for each of `devices` (a device may appear twice). Throws as Device::allocate and
  /// requirePeerAccess do; then nothing stays allocated.
  SymmetricMemory(const std::vector<std::shared_ptr<Device>> &devices, uint64_t sizeBytes, const std::string &name,
                  Caching caching = Caching::Uncached);

  const Buffer &of(int rank) const { return buffers[size_t(rank)]; }
  uint64_t address(int rank) const { return buffers[size_t(rank)].address(); }

private:
  std::vector<Buffer> buffers;
};

} // namespace heddle
