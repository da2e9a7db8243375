// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An open hash table of lines with masks of valid and dirty bytes.
#include "simulator/memory/Cache.h"
#include <cstring>

namespace heddle::simulator {

ByteMask ByteMask::of(unsigned offset, unsigned size) {
  auto below = [](unsigned end) { return end >= 64 ? ~uint64_t(0) : (uint64_t(1) << end) - 1; };
  unsigned end = offset + size;
  return {{below(end) & ~below(offset), end > 64 ? below(end - 64) & ~below(offset > 64 ? offset - 64 : 0) : 0}};
}

void copyMasked(uint8_t *destination, const uint8_t *source, const ByteMask &mask) {
  if (mask.isAll()) {
    std::memcpy(destination, source, lineBytes);
    return;
  }
  for (unsigned half = 0; half < 2; ++half)
    for (uint64_t rest = mask.bits[half]; rest; rest &= rest - 1) {
      unsigned byte = 64 * half + unsigned(__builtin_ctzll(rest));
      destination[byte] = source[byte];
    }
}

/// Eight adjacent lines have eight adjacent slots.
static uint32_t hash(uint64_t address) {
  uint64_t line = address / lineBytes;
  return uint32_t((line / 8) * 0x9e3779b97f4a7c15u >> 32) / 8 * 8 | (line % 8);
}

CacheLine *Cache::lookup(uint64_t address) {
  if (slots.empty())
    return nullptr;
  uint32_t hashed = hash(address);
  size_t last = slots.size() - 1; // a power of two
  for (size_t at = hashed & last; slots[at].place; at = (at + 1) & last)
    if (slots[at].hash == hashed)
      if (CacheLine &line = lines[slots[at].place - 1]; line.address == address) {
        refresh(line);
        return &line;
      }
  return nullptr;
}

void Cache::grow() {
  std::vector<Slot> old(slots.empty() ? 64 : 2 * slots.size());
  old.swap(slots);
  size_t last = slots.size() - 1;
  for (const Slot &slot : old) {
    size_t at = slot.hash & last;
    while (slot.place && slots[at].place)
      at = (at + 1) & last;
    if (slot.place)
      slots[at] = slot;
  }
}

CacheLine &Cache::get(uint64_t address) {
  if (2 * (lines.size() + 1) > slots.size())
    grow();
  uint32_t hashed = hash(address);
  size_t last = slots.size() - 1, at = hashed & last;
  for (; slots[at].place; at = (at + 1) & last)
    if (slots[at].hash == hashed)
      if (CacheLine &line = lines[slots[at].place - 1]; line.address == address) {
        refresh(line);
        return line;
      }
  CacheLine &line = lines.emplace_back();
  line.address = address;
  line.generation = generation;
  slots[at] = {uint32_t(lines.size()), hashed};
  return line;
}

void Cache::takeOver(CacheLine &line) {
  const uint8_t *borrowed = line.borrows() ? line.bytes : nullptr;
  if (!line.own)
    line.own = lines.makeBytes();
  if (borrowed && line.generation == generation)
    std::memcpy(line.own, borrowed, lineBytes);
  line.bytes = line.own;
}

void Cache::clear() {
  slots.clear();
  lines.clear();
  lent.clear();
  dirtyLines.clear();
}

void Cache::keepLent(uint64_t address, uint64_t end, const uint8_t *bytes) {
  if (lent.size() == 0)
    return;
  lent.take(address / lineBytes, (end + lineBytes - 1) / lineBytes, generation, [&](uint64_t number, bool isValid) {
    CacheLine &line = get(number * lineBytes);
    if (isValid)
      borrow(line, bytes + (number * lineBytes - address));
  });
}

} // namespace heddle::simulator
