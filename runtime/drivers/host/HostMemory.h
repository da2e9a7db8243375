// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory of all host devices: one ordered table of live allocations, because any device may address another's, as
// GPUs of one host do. It answers bounds checks, names buffers in messages, and frees only what no queued work can use.
#pragma once
#include "runtime/Allocations.h"
#include "support/FileDescriptor.h"
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace heddle {

using HostAllocation = Allocation;
using HostMap = AllocationMap;

class HostMemory {
public:
  static HostMemory &shared();

  /// 64-byte aligned, between pages that cannot be touched: a kernel that runs past an end crashes there and is
  /// reported, before it damages anything else. Throws Error{Environment} when the machine cannot give it.
  uint64_t allocate(uint64_t sizeBytes, const std::string &name, const std::string &device);
  /// The same of memory in a file without a name, which other processes can map. It begins on a page.
  uint64_t allocateShared(uint64_t sizeBytes, const std::string &name, const std::string &device);
  /// A descriptor of that file. Throws Error{Input} for other memory.
  FileDescriptor fileOf(uint64_t address);
  /// The same of the allocation that holds the range: the descriptor, its size and the range's offset in it. Throws
  /// Error{Input} for a range that no live allocation holds, for memory of no file, and for that of another process.
  struct FileRange {
    FileDescriptor file;
    uint64_t sizeBytes, offset;
  };
  FileRange fileOfRange(uint64_t address, uint64_t sizeBytes);
  /// Memory of another process. Throws Error{Environment} for a file that is not as allocateShared makes it, or
  /// smaller.
  uint64_t map(const FileDescriptor &file, uint64_t sizeBytes, const std::string &name, const std::string &device);
  /// Takes the allocation out of the table at once and gives its memory back when no ticket of before is open.
  /// Returns its size in bytes; 0 for memory of another process.
  uint64_t free(uint64_t address) noexcept;

  void adopt(HostAllocation allocation);                     ///< memory of others
  void leave(uint64_t address, uint64_t sizeBytes) noexcept; ///< no longer

  std::shared_ptr<const HostMap> snapshot();
  /// `12 bytes past the end of buffer `x` of 4096 bytes`, or that no buffer is near.
  std::string describeAddress(uint64_t address);
  /// Throws Error{Input} `copy: ...` when the range does not lie inside one live allocation.
  void checkRange(const char *operation, uint64_t address, uint64_t sizeBytes);

  /// Queued or running work; memory freed while it is open stays until it is closed.
  class Ticket {
  public:
    Ticket();
    Ticket(const Ticket &) = delete;
    ~Ticket();

  private:
    uint64_t number;
  };

private:
  struct Retired {
    uint64_t before; ///< tickets below this number may still use it
    uint64_t address;
    uint64_t sizeBytes;
  };
  /// Memory in a file, of this process or, `imported`, of another.
  struct SharedFile {
    FileDescriptor file;
    bool imported;
  };
  uint64_t add(HostAllocation allocation);
  uint64_t addShared(FileDescriptor file, bool imported, HostAllocation allocation);
  uint64_t openTicket();
  void closeTicket(uint64_t number);

  std::mutex mutex;
  std::map<uint64_t, HostAllocation> live;
  std::map<uint64_t, SharedFile> files; ///< of those that have one
  AdoptedMemory adopted;
  std::shared_ptr<const HostMap> latest; ///< null after a change
  std::set<uint64_t> openTickets;
  uint64_t nextTicket = 1;
  std::vector<Retired> retired;
};

} // namespace heddle
