// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A window: memory of every rank that the kernels of all ranks reach. Direct algorithms between processes need their
// operands in windows; the term is that of MPI and NCCL.
#pragma once
#include "runtime/Buffer.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace heddle {

/// Made by Communicator::registerWindow, and the communicator's. The memory stays its owner's, at the same place and
/// allocated, for as long as the window is registered.
class Window {
public:
  /// For messages: `window `x`` or `window 3`.
  std::string title() const;
  uint64_t sizeBytes() const { return size; } ///< of each rank
  /// Where the memory of a rank begins, as the devices of this process address it. Undefined when it is no longer
  /// registered.
  uint64_t address(int rank) const { return addresses[size_t(rank)]; }
  bool isRegistered() const { return registered; }

private:
  friend class Communicator;
  friend struct WindowTestAccess;
  /// Whether a range lies in the window's memory of the rank of this process with that index.
  bool holds(size_t local, uint64_t address, uint64_t sizeBytes) const {
    uint64_t start = starts[local];
    return address >= start && sizeBytes <= size && address - start <= size - sizeBytes;
  }

  size_t number = 0; ///< of the group's windows, the same on all ranks
  std::string name;
  uint64_t size = 0;
  std::vector<uint64_t> starts;    ///< by rank of this process, as it addresses it
  std::vector<Buffer> imports;     ///< of processes: the allocations of the others; that of this rank is empty
  std::vector<uint64_t> addresses; ///< by rank
  std::vector<uint64_t> shifts;    ///< by rank: CollectiveGroups::shift of operands in this window
  bool hasHandles = false;         ///< some were imported by a handle, and their owners must not free them before
  bool registered = false;
};

/// Where the operands of a collective are: both in one window, or each in its own; the same on all ranks.
struct OperandWindows {
  const Window *input = nullptr, *output = nullptr; ///< both null: operands are anywhere
  bool areGiven() const { return input || output; }
};

} // namespace heddle
