// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Live buffers by address: which one holds a range, and which one a wrong address was probably meant for. The same
// words for every driver.
#pragma once
#include "support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

struct Allocation {
  uint64_t address;
  uint64_t sizeBytes;
  std::string name;   ///< the buffer's; empty when it has none
  std::string device; ///< `host:0`

  bool holds(uint64_t start, uint64_t size) const {
    return start >= address && size <= sizeBytes && start - address <= sizeBytes - size;
  }
};

/// Error{Environment} `host:0: out of memory: buffer `x` asks for 400 bytes, 100 are available`; `kind` follows the
/// bytes, ` of uncached memory`.
Error outOfMemory(const std::string &device, const std::string &buffer, uint64_t askedBytes, uint64_t availableBytes,
                  std::vector<std::string> notes = {}, const char *kind = "");

/// Allocations at one moment, by address; none overlap.
using AllocationMap = std::vector<Allocation>;

/// Memory of others (Device::adopt): ranges that may overlap, and be there several times.
class AdoptedMemory {
public:
  void add(Allocation allocation) { ranges.push_back(std::move(allocation)); }
  void remove(uint64_t address, uint64_t sizeBytes); ///< one such range
  /// `own` and the ranges here; those that overlap are one, with the name of the first.
  AllocationMap joinedTo(AllocationMap own) const;

private:
  std::vector<Allocation> ranges;
};

/// The allocation that holds the range, or null.
const Allocation *findAllocation(const AllocationMap &map, uint64_t address, uint64_t sizeBytes);

/// The allocation that an access to `address` was probably meant for, or null when there is none: the nearest, where
/// lying before a buffer counts 16 times the distance, because running past an end is the commoner fault.
const Allocation *nearestAllocation(const AllocationMap &map, uint64_t address);

/// `12 bytes past the end of buffer `x` of 4096 bytes`, or that no buffer is near.
std::string describeAddress(const AllocationMap &map, uint64_t address);

/// The allocation that holds the range. Throws Error{Input} `copy: ...` when there is none.
const Allocation &requireAllocation(const AllocationMap &map, const char *operation, uint64_t address,
                                    uint64_t sizeBytes);

} // namespace heddle
