// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same amount of memory on each device of a group, at addresses that every member can use.
#pragma once
#include "runtime/Device.h"
#include "runtime/processes/Neighbours.h"
#include <memory>
#include <string>
#include <vector>

namespace heddle {

class ProcessGroup;

/// Uncached unless one says otherwise, because its members talk to each other in it. Zeroed, and the zeros have
/// arrived, when the constructor returns. Freed with the object: nothing of this process may use it then.
class SymmetricMemory {
public:
  /// One buffer of `sizeBytes` for each of `devices` (a device may appear twice). Throws as Device::allocate and
  /// requirePeerAccess do; then nothing stays allocated.
  SymmetricMemory(const std::vector<std::shared_ptr<Device>> &devices, uint64_t sizeBytes, const std::string &name,
                  Caching caching = Caching::Uncached);
  /// Collective: one buffer of this process's device, and those of the other ranks as this device addresses them. An
  /// error of one rank is thrown on all.
  SymmetricMemory(ProcessGroup &group, uint64_t sizeBytes, const std::string &name, Caching caching, SharingKind kind);
  SymmetricMemory(ProcessGroup &group, uint64_t sizeBytes, const std::string &name,
                  Caching caching = Caching::Uncached);
  SymmetricMemory(const SymmetricMemory &) = delete;
  ~SymmetricMemory();

  const Buffer &of(int rank) const { return buffers[size_t(rank)]; }
  uint64_t address(int rank) const { return buffers[size_t(rank)].address(); }

  /// Collective, before the object of a group of processes goes, when no rank uses the memory any more: for ways of
  /// sharing in which memory must not be freed while others have it. Without it that memory is left to the end of the
  /// process. Throws as Neighbours::barrier.
  void release(ProcessGroup &group);

private:
  Buffer importFrom(ProcessGroup &group, int rank, Neighbours::Message &message, const ExportedMemory &mine,
                    const std::string &name) const;
  void leaveOwn() noexcept; ///< what others may have mapped and must not be freed

  std::vector<Buffer> buffers;
  SharingKind kind = SharingKind::MemoryFile;
  int ownRank = -1;      ///< in a group of processes
  bool released = false; ///< no other process has it any more
};

} // namespace heddle
