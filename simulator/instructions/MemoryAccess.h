// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What all vector memory instructions share: the forms of data that they move, how a request finds its bytes, and how
// data reach registers. Families differ in how they compute addresses.
#pragma once
#include "simulator/instructions/InstructionTable.h"
#include "simulator/memory/MemoryPort.h"
#include "simulator/state/Apertures.h"
#include "simulator/state/Fault.h"
#include "simulator/state/Workgroup.h"

namespace heddle::simulator {

/// What one lane moves.
struct AccessForm {
  uint8_t bytes = 4;       ///< 1, 2, 4, 8, 12 or 16
  bool signExtend = false; ///< of 1 or 2 bytes into a register
  bool keepsOther = false; ///< 16 bits of the register change, the others stay (d16)
  bool high = false;       ///< those 16 bits are the upper ones; of a store, they are what is stored
  constexpr unsigned words() const { return (bytes + 3u) / 4; }
};

uint8_t *flatBytesAt(Wave &wave, unsigned lane, uint64_t address, unsigned size, bool writes);
uint8_t *scratchBytesAt(Wave &wave, unsigned lane, uint64_t offset, unsigned size);
uint8_t *ldsBytesAt(Wave &wave, uint64_t offset, unsigned size);

/// The bytes of one lane's address in `space`. Throws Fault, with the lane, for addresses that are nowhere.
inline uint8_t *bytesAt(Wave &wave, Space space, unsigned lane, uint64_t address, unsigned size, bool writes) {
  try {
    switch (space) {
    case Space::None:
      break;
    case Space::Global:
      return wave.memory->global.at(address, size, writes);
    case Space::Lds:
      return ldsBytesAt(wave, address, size);
    case Space::Scratch:
      return scratchBytesAt(wave, lane, address, size);
    case Space::Flat:
      return flatBytesAt(wave, lane, address, size, writes);
    }
  } catch (Fault &fault) {
    fault.lane = int(lane);
    throw;
  }
  __builtin_unreachable();
}

/// Calls `action(lane)` for each bit.
template <typename Action>
void forLanes(uint64_t lanes, Action action) {
  if (lanes == allLanes) {
    for (unsigned lane = 0; lane < waveLanes; ++lane)
      action(lane);
    return;
  }
  for (; lanes; lanes &= lanes - 1)
    action(unsigned(std::countr_zero(lanes)));
}

/// Where all lanes of a request find their bytes at once, if they do; else each has to ask for itself.
struct CommonPlace {
  bool found = false;
  uintptr_t base = 0; ///< what to add to an address
  uint64_t laneStride = 0;
  uint8_t *at(uint64_t address, unsigned lane) const {
    return reinterpret_cast<uint8_t *>(base + address + lane * laneStride);
  }
};

/// Whether the address of each of the lanes is within `most` of `base`.
inline bool allWithin(const MemoryRequest &request, uint64_t lanes, uint64_t base, uint64_t most) {
  uint64_t outside = 0;
  if (lanes == allLanes)
    for (unsigned lane = 0; lane < waveLanes; ++lane)
      outside |= request.address[lane] - base > most;
  else
    for (unsigned lane = 0; lane < waveLanes; ++lane)
      outside |= (request.address[lane] - base > most) & lanes >> lane;
  return !(outside & 1);
}

/// `reach` is how far from its address a lane's last byte ends.
template <Space space>
CommonPlace findCommonPlace(Wave &wave, const MemoryRequest &request, uint64_t lanes, uint64_t reach, bool writes) {
  if (!lanes)
    return {};
  CommonPlace place;
  uint64_t first = 0, size;
  if constexpr (space == Space::Lds) {
    place.base = uintptr_t(wave.workgroup->lds.data());
    size = wave.workgroup->lds.size();
  } else if constexpr (space == Space::Scratch) {
    place.base = uintptr_t(wave.scratch.data());
    place.laneStride = size = wave.scratchBytes;
  } else { // flat addresses of LDS and of scratch lie in no allocation
    const Allocation *allocation = wave.memory->global.around(request.address[std::countr_zero(lanes)], writes);
    if (!allocation)
      return {};
    first = allocation->base;
    place.base = uintptr_t(allocation->bytes.get()) - uintptr_t(first);
    size = allocation->bytesFor(writes);
  }
  place.found = reach <= size && allWithin(request, lanes, first, size - reach);
  return place;
}

/// Where a lane's read-modify-write of aligned bytes is done.
template <Space space>
uint8_t *placeToChange(Wave &wave, const MemoryRequest &request, unsigned lane, unsigned size) {
  uint64_t address = request.address[lane];
  bool isGlobal = space == Space::Global || (space == Space::Flat && !isOnChip(address));
  if (!isGlobal)
    return bytesAt(wave, space, lane, address, size, true);
  try {
    return wave.memory->change(wave, request, address, size);
  } catch (Fault &fault) {
    fault.lane = int(lane);
    throw;
  }
}

template <AccessForm form>
uint32_t widen(uint32_t bits) {
  if constexpr (form.bytes == 1)
    return form.signExtend ? uint32_t(int32_t(int8_t(bits))) : bits & 0xff;
  else
    return form.signExtend ? uint32_t(int32_t(int16_t(bits))) : bits & 0xffff;
}

/// Whether for each lane all words are in range, or none.
template <unsigned words>
bool isWhole(const MemoryRequest &request) {
  bool whole = true;
  for (unsigned word = 1; word < words; ++word)
    whole &= request.inRange[word] == request.inRange[0];
  return whole;
}

/// What lanes read of global memory through the caches: a line is looked up once for adjacent lanes.
class LineReader {
public:
  LineReader(Wave &wave, const MemoryRequest &request) : wave(wave), request(request) {}
  /// The bytes at `address`, until the next call.
  const uint8_t *at(uint64_t address, unsigned size);

private:
  Wave &wave;
  const MemoryRequest &request;
  uint64_t first = 0, end = 0; ///< of what is in `bytes`
  uint8_t bytes[lineBytes];
};

/// What lanes write to it: adjacent lanes go together.
class LineWriter {
public:
  LineWriter(Wave &wave, const MemoryRequest &request) : wave(wave), request(request) {}
  /// Where to put what belongs to `address`.
  uint8_t *at(uint64_t address, unsigned size);
  void flush();

private:
  Wave &wave;
  const MemoryRequest &request;
  uint64_t first = 0;
  unsigned size = 0;
  uint8_t bytes[lineBytes];
};

/// Whether the lanes' `size` bytes lie side by side, all in one buffer.
inline bool lieInOneBuffer(const Wave &wave, const MemoryRequest &request, unsigned size, bool writes) {
  if (!request.isRow || size != request.bytes)
    return false;
  uint64_t first = request.address[0];
  const Allocation *allocation = wave.memory->global.around(first, writes);
  return allocation && allocation->allows(first, waveLanes * size, writes);
}

/// forPlaces of all lanes, side by side: one access of the caches for each line.
template <typename Action>
void forCachedRow(Wave &wave, const MemoryRequest &request, unsigned size, bool writes, Action action) {
  alignas(64) uint8_t row[waveLanes * 4 * mostWordsPerLane];
  if (!writes)
    wave.memory->read(wave, request, request.address[0], waveLanes * size, row);
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    action(lane, row + lane * size);
  if (writes)
    wave.memory->write(wave, request, request.address[0], waveLanes * size, row);
}

/// forPlaces, and forPieces, through the caches.
template <Space space, typename Action>
void forCachedPlaces(Wave &wave, const MemoryRequest &request, uint64_t lanes, unsigned offset, unsigned size,
                     bool writes, Action action) {
  if (space == Space::Global && !writes && !wave.memory->speculation() && wave.unit)
    if (uintptr_t origin = wave.memory->system.readLent(*wave.unit, request, lanes, offset, size))
      return forLanes(
          lanes, [&](unsigned lane) { action(lane, reinterpret_cast<uint8_t *>(origin + request.address[lane])); });
  if (lanes == allLanes && !offset && lieInOneBuffer(wave, request, size, writes))
    return forCachedRow(wave, request, size, writes, action);
  LineReader reader(wave, request);
  LineWriter writer(wave, request);
  unsigned current = 0;
  try {
    forLanes(lanes, [&](unsigned lane) {
      current = lane;
      uint64_t address = request.address[lane] + offset;
      if (space == Space::Flat && isOnChip(address))
        action(lane, flatBytesAt(wave, lane, address, size, writes));
      else if (writes)
        action(lane, writer.at(address, size));
      else // nothing writes through it
        action(lane, const_cast<uint8_t *>(reader.at(address, size)));
    });
    writer.flush();
  } catch (Fault &fault) {
    if (fault.lane < 0)
      fault.lane = int(current);
    throw;
  }
}

template <Space space>
bool goesThroughCaches(const Wave &wave) {
  if constexpr (space == Space::Global || space == Space::Flat)
    return !wave.memory->isDirect();
  return false;
}

/// Calls `action(lane, bytes)` with the place of `size` bytes at `offset` from each lane's address.
template <Space space, typename Action>
void forPieces(Wave &wave, const MemoryRequest &request, uint64_t lanes, unsigned offset, unsigned size, bool writes,
               Action action) {
  if (goesThroughCaches<space>(wave))
    return forCachedPlaces<space>(wave, request, lanes, offset, size, writes, action);
  forLanes(lanes, [&](unsigned lane) {
    action(lane, bytesAt(wave, space, lane, request.address[lane] + offset, size, writes));
  });
}

/// Calls `action(lane, bytes)` with the place of each lane's `size` bytes.
template <Space space, typename Action>
void forPlaces(Wave &wave, const MemoryRequest &request, uint64_t lanes, unsigned size, bool writes, Action action) {
  Speculation *speculation = space == Space::Global && !writes ? wave.memory->speculation() : nullptr;
  if (!speculation && goesThroughCaches<space>(wave))
    return forCachedPlaces<space>(wave, request, lanes, 0, size, writes, action);
  constexpr bool strided = space == Space::Scratch;
  CommonPlace common = findCommonPlace<space>(wave, request, lanes, size, writes);
  if (speculation && !(common.found && speculation->readsHome(request, lanes, size)))
    return forCachedPlaces<space>(wave, request, lanes, 0, size, writes, action);
  if (common.found)
    forLanes(lanes, [&](unsigned lane) { action(lane, common.at(request.address[lane], strided ? lane : 0)); });
  else
    forLanes(lanes,
             [&](unsigned lane) { action(lane, bytesAt(wave, space, lane, request.address[lane], size, writes)); });
}

/// Reads each lane's bytes into the request's data; words that are not in range become 0.
template <Space space, AccessForm form>
void sampleLoad(Wave &wave, MemoryRequest &request) {
  constexpr unsigned words = form.words();
  for (unsigned word = 0; word < words; ++word)
    if (request.inRange[word] != allLanes)
      std::memset(request.data[word], 0, sizeof(Row));
  if constexpr (form.bytes < 4)
    forPlaces<space>(wave, request, request.inRange[0], form.bytes, false, [&](unsigned lane, const uint8_t *place) {
      uint32_t bits = 0;
      std::memcpy(&bits, place, form.bytes);
      request.data[0][lane] = widen<form>(bits);
    });
  else if (isWhole<words>(request))
    forPlaces<space>(wave, request, request.inRange[0], form.bytes, false, [&](unsigned lane, const uint8_t *place) {
      uint32_t value[words];
      std::memcpy(value, place, form.bytes);
      for (unsigned word = 0; word < words; ++word)
        request.data[word][lane] = value[word];
    });
  else
    for (unsigned word = 0; word < words; ++word)
      forPieces<space>(wave, request, request.inRange[word], 4 * word, 4, false,
                       [&](unsigned lane, const uint8_t *place) { std::memcpy(&request.data[word][lane], place, 4); });
}

template <Space space, AccessForm form>
void sampleStore(Wave &wave, MemoryRequest &request) {
  constexpr unsigned words = form.words();
  if (form.bytes < 4 || isWhole<words>(request))
    forPlaces<space>(wave, request, request.inRange[0], form.bytes, true, [&](unsigned lane, uint8_t *place) {
      uint32_t value[words];
      for (unsigned word = 0; word < words; ++word)
        value[word] = request.data[word][lane];
      std::memcpy(place, value, form.bytes);
    });
  else
    for (unsigned word = 0; word < words; ++word)
      forPieces<space>(wave, request, request.inRange[word], 4 * word, 4, true,
                       [&](unsigned lane, uint8_t *place) { std::memcpy(place, &request.data[word][lane], 4); });
}

/// Data into registers, in the lanes that were active at issue.
template <AccessForm form>
void landRegisters(Wave &wave, MemoryRequest &request) {
  if constexpr (form.keepsOther) {
    uint32_t *destination = wave.v[request.destination];
    forLanes(request.lanes, [&](unsigned lane) {
      uint32_t bits = request.data[0][lane] & 0xffff, old = destination[lane];
      destination[lane] = form.high ? bits << 16 | (old & 0xffff) : bits | (old & 0xffff0000);
    });
  } else
    for (unsigned word = 0; word < form.words(); ++word)
      writeRow(wave.v[request.destination + word], request.data[word], request.lanes);
}

/// The data operand of a store or an atomic into the request.
template <AccessForm form>
void gatherData(const Wave &wave, const Operand &operand, MemoryRequest &request) {
  for (unsigned word = 0; word < form.words(); ++word)
    if (form.high)
      for (unsigned lane = 0; lane < waveLanes; ++lane)
        request.data[word][lane] = wave.v[operand.index + word][lane] >> 16;
    else
      std::memcpy(request.data[word], wave.v[operand.index + word], sizeof(Row));
}

/// All words of all active lanes exist, as far as the instruction can tell.
inline void setAllInRange(MemoryRequest &request) {
  for (uint64_t &lanes : request.inRange)
    lanes = request.lanes;
}

} // namespace heddle::simulator
