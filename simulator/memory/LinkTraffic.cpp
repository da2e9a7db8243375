// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sorts the bytes of each request by the device that owns them, and closes a window after so many.
#include "simulator/memory/LinkTraffic.h"
#include "simulator/memory/AddressSpace.h"
#include "simulator/memory/MemoryRequest.h"
#include <algorithm>
#include <array>

namespace heddle::simulator {
namespace {

constexpr unsigned mostOwners = 64;

/// The bytes of a request by the device in whose memory they lie.
class BytesByOwner {
public:
  explicit BytesByOwner(const AddressSpace &space) : space(space) {}

  void add(uint64_t address, uint64_t bytes) {
    if (!recent || !recent->contains(address, 1))
      recent = space.owner(address);
    if (recent && recent->owner >= 0 && unsigned(recent->owner) < mostOwners)
      counts[unsigned(recent->owner)] += bytes;
  }
  std::array<uint64_t, mostOwners> counts = {};

private:
  const AddressSpace &space;
  const Allocation *recent = nullptr;
};

} // namespace

void LinkTraffic::count(const AddressSpace &space, unsigned device, const MemoryRequest &request) {
  bool isGlobal = request.isScalar() || request.space == Space::Global || request.space == Space::Flat;
  if (!isGlobal || !(request.readsMemory() || request.writesMemory()))
    return;
  BytesByOwner owners(space);
  forGlobalWords(request, [&](uint64_t address, unsigned bytes) { owners.add(address, bytes); });
  for (unsigned owner = 0; owner < mostOwners; ++owner) {
    if (owner == device || !owners.counts[owner])
      continue;
    if (request.readsMemory())
      add(owner, device, owners.counts[owner]);
    if (request.writesMemory())
      add(device, owner, owners.counts[owner]);
  }
}

void LinkTraffic::add(unsigned from, unsigned to, uint64_t bytes) {
  Link &link = byPair[{from, to}];
  link.bytes += bytes;
  ++link.requests;
  link.windows.resize(window + 1);
  link.windows[window] += bytes;
  inWindow += bytes;
  if (inWindow >= windowSize)
    endWindow();
}

void LinkTraffic::endWindow() {
  inWindow = 0;
  if (++window < mostWindows)
    return;
  for (auto &[pair, link] : byPair) {
    link.windows.resize(mostWindows);
    for (size_t i = 0; i < mostWindows / 2; ++i)
      link.windows[i] = link.windows[2 * i] + link.windows[2 * i + 1];
    link.windows.resize(mostWindows / 2);
  }
  window = mostWindows / 2;
  windowSize *= 2;
}

} // namespace heddle::simulator
