// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Searches buffers by address, and words errors about them.
#include "runtime/Allocations.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle {
namespace {

std::string describeBuffer(const Allocation &allocation) {
  std::string name = allocation.name.empty() ? fmt::format("the buffer at {:#x}", allocation.address)
                                             : fmt::format("buffer `{}`", allocation.name);
  return fmt::format("{} of {} bytes", name, allocation.sizeBytes);
}

const char *plural(uint64_t count) {
  return count == 1 ? "" : "s";
}

} // namespace

Error outOfMemory(const std::string &device, const std::string &buffer, uint64_t askedBytes, uint64_t availableBytes,
                  std::vector<std::string> notes, const char *kind) {
  return environmentError(fmt::format("{}: out of memory: buffer{} asks for {} bytes{}, {} are available", device,
                                      buffer.empty() ? "" : " `" + buffer + "`", askedBytes, kind, availableBytes),
                          std::move(notes));
}

void AdoptedMemory::remove(uint64_t address, uint64_t sizeBytes) {
  auto found = std::find_if(ranges.begin(), ranges.end(), [&](const Allocation &each) {
    return each.address == address && each.sizeBytes == sizeBytes;
  });
  if (found != ranges.end())
    ranges.erase(found);
}

AllocationMap AdoptedMemory::joinedTo(AllocationMap own) const {
  if (ranges.empty())
    return own;
  own.insert(own.end(), ranges.begin(), ranges.end());
  std::sort(own.begin(), own.end(), [](const Allocation &a, const Allocation &b) { return a.address < b.address; });
  AllocationMap joined;
  for (Allocation &each : own) {
    Allocation *before = joined.empty() ? nullptr : &joined.back();
    if (before && each.address < before->address + before->sizeBytes)
      before->sizeBytes = std::max(before->sizeBytes, each.address - before->address + each.sizeBytes);
    else
      joined.push_back(std::move(each));
  }
  return joined;
}

const Allocation *findAllocation(const AllocationMap &map, uint64_t address, uint64_t sizeBytes) {
  auto after = std::upper_bound(map.begin(), map.end(), address,
                                [](uint64_t value, const Allocation &each) { return value < each.address; });
  if (after == map.begin())
    return nullptr;
  const Allocation &candidate = *std::prev(after);
  return candidate.holds(address, sizeBytes) ? &candidate : nullptr;
}

const Allocation *nearestAllocation(const AllocationMap &map, uint64_t address) {
  auto distance = [&](const Allocation &each) -> double {
    uint64_t end = each.address + each.sizeBytes;
    if (address < each.address)
      return 16.0 * double(each.address - address);
    return address < end ? -1 : double(address - end);
  };
  auto nearest = std::min_element(map.begin(), map.end(),
                                  [&](const Allocation &a, const Allocation &b) { return distance(a) < distance(b); });
  return nearest == map.end() ? nullptr : &*nearest;
}

std::string describeAddress(const AllocationMap &map, uint64_t address) {
  const Allocation *nearest = nearestAllocation(map, address);
  if (!nearest)
    return "there are no buffers";
  uint64_t end = nearest->address + nearest->sizeBytes;
  if (address < nearest->address)
    return fmt::format("{} byte{} before {}", nearest->address - address, plural(nearest->address - address),
                       describeBuffer(*nearest));
  if (address >= end)
    return fmt::format("{} byte{} past the end of {}", address - end, plural(address - end), describeBuffer(*nearest));
  return fmt::format("at byte {} of {}", address - nearest->address, describeBuffer(*nearest));
}

const Allocation &requireAllocation(const AllocationMap &map, const char *operation, uint64_t address,
                                    uint64_t sizeBytes) {
  if (const Allocation *found = findAllocation(map, address, sizeBytes))
    return *found;
  if (const Allocation *holder = findAllocation(map, address, 0))
    throw inputError(fmt::format("{}: {} bytes from byte {} on do not fit {}", operation, sizeBytes,
                                 address - holder->address, describeBuffer(*holder)));
  throw inputError(fmt::format("{}: address {:#x} lies in no live buffer", operation, address),
                   {"it is " + describeAddress(map, address)});
}

} // namespace heddle
