// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Private stores over shared memory, the ranges read and written, and whether a second workgroup touched them.
#include "simulator/memory/Speculation.h"
#include "simulator/state/Fault.h"
#include <algorithm>
#include <bit>
#include <cstring>

namespace heddle::simulator {

void Speculation::begin(AddressSpace &memory) {
  view = &memory;
  reads.clear(), writes.clear(), changes.clear();
  stored.clear();
}

void Speculation::note(std::vector<Reach> &reaches, const Reach &reach) {
  for (Reach &each : reaches)
    if (each.buffer == reach.buffer) {
      each.first = std::min(each.first, reach.first);
      each.end = std::max(each.end, reach.end);
      return;
    }
  reaches.push_back(reach);
}

const Allocation &Speculation::holder(uint64_t address, unsigned size, bool writes) {
  view->at(address, size, writes); // throws when there is none
  return *view->around(address, writes);
}

void Speculation::read(uint64_t address, unsigned size, void *out) {
  const Allocation &buffer = holder(address, size, false);
  Reach reach{buffer.base, address, address + size};
  note(reads, reach);
  if (std::any_of(changes.begin(), changes.end(), [&](const Reach &changed) { return changed.meets(reach); }))
    throw Fault("reads what it has changed, which needs its turn");
  std::memcpy(out, buffer.bytes.get() + (address - buffer.base), size);
  if (stored.size() == 0)
    return;
  for (uint64_t line = address & ~(lineBytes - 1); line < address + size; line += lineBytes) {
    const CacheLine *own = stored.find(line);
    uint64_t first = std::max(line, address), end = std::min(line + lineBytes, address + size);
    if (!own)
      continue;
    ByteMask wanted = own->dirty & ByteMask::of(unsigned(first - line), unsigned(end - first));
    for (uint64_t at = first; wanted.any() && at < end; ++at)
      if (unsigned byte = unsigned(at - line); wanted.bits[byte / 64] >> byte % 64 & 1)
        static_cast<uint8_t *>(out)[at - address] = own->bytes[byte];
  }
}

void Speculation::write(uint64_t address, unsigned size, const void *in) {
  const Allocation &buffer = holder(address, size, true);
  note(writes, {buffer.base, address, address + size});
  for (uint64_t at = address, end = address + size; at < end;) {
    uint64_t line = at & ~(lineBytes - 1);
    unsigned part = unsigned(std::min(end, line + lineBytes) - at);
    CacheLine &own = stored.get(line);
    std::memcpy(stored.ownBytes(own) + (at - line), static_cast<const uint8_t *>(in) + (at - address), part);
    stored.makeDirty(own, ByteMask::of(unsigned(at - line), part));
    at += part;
  }
}

void Speculation::changeLater(const MemoryRequest &request) {
  for (uint64_t rest = request.inRange[0]; rest; rest &= rest - 1) {
    uint64_t address = request.address[std::countr_zero(rest)];
    const Allocation *buffer = view->around(address, true);
    if (address % request.bytes || !buffer || !buffer->allows(address, request.bytes, true))
      throw Fault("is at fault, which needs its turn");
    Reach reach{buffer->base, address, address + request.bytes};
    note(writes, reach);
    note(changes, reach);
  }
}

bool Speculation::hasWritten(uint64_t address, unsigned size) const {
  return std::any_of(writes.begin(), writes.end(),
                     [&](const Reach &written) { return written.first < address + size && address < written.end; });
}

bool Speculation::readsChanged(AddressSpace &home) const {
  return std::any_of(reads.begin(), reads.end(), [&](const Reach &read) {
    const Allocation *buffer = home.around(read.first, false);
    return buffer && buffer->changed.meets(read.first, read.end);
  });
}

bool Speculation::readsHome(const MemoryRequest &request, uint64_t lanes, unsigned size) {
  if (!lanes)
    return true;
  uint64_t first = ~uint64_t(0), last = 0;
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    bool isActive = lanes >> lane & 1;
    first = std::min(first, isActive ? request.address[lane] : first);
    last = std::max(last, isActive ? request.address[lane] : last);
  }
  Reach reach{view->around(first, false)->base, first, last + size};
  if (std::any_of(writes.begin(), writes.end(), [&](const Reach &written) { return written.meets(reach); }))
    return false;
  note(reads, reach);
  return true;
}

bool Speculation::readsFrom(const Speculation &other) const {
  for (const Reach &read : reads)
    for (const Reach &written : other.writes)
      if (read.meets(written))
        return true;
  return false;
}

void Speculation::commit(AddressSpace &home) {
  stored.cleanAll([&](CacheLine &line) {
    const Allocation *buffer = home.owner(line.address);
    if (buffer && buffer->contains(line.address, lineBytes))
      return copyMasked(buffer->bytes.get() + (line.address - buffer->base), line.bytes, line.dirty);
    for (unsigned byte = 0; byte < lineBytes; ++byte) // where a buffer begins or ends
      if (line.dirty.bits[byte / 64] >> byte % 64 & 1)
        *home.at(line.address + byte, 1, true) = line.bytes[byte];
  });
}

} // namespace heddle::simulator
