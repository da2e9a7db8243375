// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A flag for each byte, in LDS, scratch and global memory, set and read with the requests of waves.
#include "simulator/checks/PoisonMemory.h"
#include "simulator/instructions/LocalTranspose.h"
#include "simulator/instructions/MemoryAccess.h"
#include <algorithm>
#include <bit>
#include <cstring>

namespace heddle::simulator {
namespace {

template <typename Action>
void forBits(uint64_t bits, Action action) {
  for (; bits; bits &= bits - 1)
    action(unsigned(std::countr_zero(bits)));
}

/// The lanes of the request whose word `word` exists.
uint64_t lanesOfWord(const MemoryRequest &request, unsigned word) {
  return request.inRange[std::min(word, mostWordsPerLane - 1)];
}

uint64_t countUnwritten(const uint8_t *flags, size_t size) {
  uint64_t count = 0;
  for (size_t i = 0; i < size; ++i)
    count += flags[i] != UnwrittenBytes::Written;
  return count;
}
bool isAllWritten(const uint8_t *flags, size_t size) {
  uint8_t any = 0;
  for (size_t i = 0; i < size; ++i)
    any |= flags[i];
  return any == UnwrittenBytes::Written;
}

/// The same, of the few bytes of a lane.
bool isLaneWritten(const uint8_t *flags, unsigned size) {
  static_assert(UnwrittenBytes::Written == 0);
  uint64_t any = 0;
  for (; size >= 8; size -= 8, flags += 8) {
    uint64_t some;
    std::memcpy(&some, flags, 8);
    any |= some;
  }
  if (size >= 4) {
    uint32_t some;
    std::memcpy(&some, flags, 4);
    any |= some;
    size -= 4, flags += 4;
  }
  for (; size; --size)
    any |= *flags++;
  return !any;
}

/// The same of 4, 8 or 16 bytes of each lane, wherever they are.
template <unsigned bytes>
bool areAllWritten(const uint8_t *flags, const uint64_t *addresses) {
  using Flags = uint8_t __attribute__((ext_vector_type(bytes)));
  Flags any = 0;
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    Flags some;
    std::memcpy(&some, flags + addresses[lane], bytes);
    any |= some;
  }
  uint64_t words[2] = {};
  std::memcpy(words, &any, bytes);
  return !(words[0] | words[1]);
}

bool hasWholeLanes(const MemoryRequest &request) {
  for (unsigned word = 1; word < (request.bytes + 3u) / 4; ++word)
    if (request.inRange[word] != request.inRange[0])
      return false;
  return true;
}

} // namespace

bool CarriedPoison::any() const {
  for (const PoisonRow &row : words)
    if (row.lanes())
      return true;
  return std::any_of(std::begin(scalars), std::end(scalars), [](uint32_t bits) { return bits != 0; });
}

uint32_t CarriedPoison::bitsOf(unsigned word, unsigned lane) const {
  for (const PartialWord &part : partial)
    if (part.word == word && part.lane == lane)
      return part.bits;
  return words[word].bitsOf(lane);
}

void CarriedPoison::transpose(const Instruction &instruction) {
  if (instruction.mnemonic.find("_tr_b") == std::string::npos)
    return;
  Row bits[mostWordsPerLane];
  for (unsigned word = 0; word < mostWordsPerLane; ++word)
    for (unsigned lane = 0; lane < waveLanes; ++lane)
      bits[word][lane] = bitsOf(word, lane);
  transposeLanes(instruction.mnemonic, bits);
  partial.clear();
  for (unsigned word = 0; word < mostWordsPerLane; ++word) {
    words[word] = {};
    for (unsigned lane = 0; lane < waveLanes; ++lane) {
      words[word].addBits(lane, bits[word][lane]);
      if (bits[word][lane] != words[word].bitsOf(lane))
        partial.push_back({uint8_t(word), uint8_t(lane), bits[word][lane]});
    }
  }
}

/// Flat addresses lead to LDS and scratch by their apertures.
PoisonMemory::Place PoisonMemory::find(Wave &wave, Space space, unsigned lane, uint64_t address, unsigned size,
                                       bool makes) {
  if (space == Space::Flat) {
    bool isLds = address - sharedAperture < apertureSizeBytes,
         isScratch = address - privateAperture < apertureSizeBytes;
    space = isLds ? Space::Lds : isScratch ? Space::Scratch : Space::Global;
    address -= isLds ? sharedAperture : isScratch ? privateAperture : 0;
  }
  if (space == Space::Lds)
    return address < lds.flags.size() ? Place{lds.flags.data() + address, &lds} : Place{};
  if (space == Space::Scratch) {
    uint64_t offset = lane * wave.scratchBytes + address;
    return offset < scratch.flags.size() ? Place{scratch.flags.data() + offset, &scratch} : Place{};
  }
  auto *allocation = const_cast<Allocation *>(global.around(address, false));
  if (!allocation)
    return {};
  std::shared_ptr<UnwrittenBytes> &unwritten = allocation->unwritten;
  if (!unwritten && makes)
    unwritten = std::make_shared<UnwrittenBytes>(allocation->sizeBytes, UnwrittenBytes::Written);
  uint64_t offset = address - allocation->base;
  size = unsigned(std::min<uint64_t>(size, allocation->sizeBytes - offset + UnwrittenBytes::bytesBehind));
  if (!unwritten || (!makes && unwritten->areWritten(offset, size)))
    return {};
  if (isApart)
    throw Fault("reads what nothing has written, which needs its turn");
  return {unwritten->flagsOf(offset, size), nullptr, allocation};
}

bool PoisonMemory::Row::areWritten() const {
  return bytes ? isAllWritten(flags, size) : !unwritten || unwritten->areWritten(offset, size);
}

void PoisonMemory::Row::setWritten() {
  if (unwritten)
    unwritten->setWritten(offset, size);
  if (!bytes)
    return;
  bytes->count -= countUnwritten(flags, size);
  std::memset(flags, UnwrittenBytes::Written, size);
}

PoisonMemory::Row PoisonMemory::findRow(const MemoryRequest &request, unsigned piece) {
  uint64_t missing = 0;
  Row row;
  row.size = size_t(request.bytes) * waveLanes;
  for (unsigned word = 0; word < (request.bytes + 3u) / 4; ++word)
    missing |= ~request.inRange[word];
  if (missing || !request.isRow)
    return row;
  uint64_t first = request.address[0] + request.pieceOffset[piece];
  if (request.space == Space::Lds && first <= lds.flags.size() && row.size <= lds.flags.size() - first) {
    row.found = true;
    row.flags = lds.flags.data() + first;
    row.bytes = &lds;
  } else if (request.space == Space::Global)
    if (const Allocation *allocation = global.around(first, false);
        allocation && allocation->contains(first, row.size)) {
      row.found = true;
      row.unwritten = allocation->unwritten.get();
      row.offset = first - allocation->base;
    }
  return row;
}

bool PoisonMemory::isClean(Space space) const {
  return (space == Space::Lds && lds.count == 0) || (space == Space::Scratch && scratch.count == 0);
}

/// Whether all lanes read one buffer all of which is written.
bool PoisonMemory::isWrittenBuffer(const MemoryRequest &request) {
  uint64_t lanes = request.inRange[0];
  if (request.space != Space::Global || !lanes)
    return false;
  const Allocation *allocation = global.around(request.address[std::countr_zero(lanes)], false);
  return allocation && !allocation->unwritten && allocation->sizeBytes >= request.bytes &&
         allWithin(request, lanes, allocation->base, allocation->sizeBytes - request.bytes);
}

/// Whether all that the lanes read in LDS is written; false also where that takes a closer look.
bool PoisonMemory::areLanesWritten(const MemoryRequest &request, unsigned piece) const {
  if (request.space != Space::Lds)
    return false;
  uint64_t bits = 0; // no address is greater
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    bits |= request.address[lane];
  const uint8_t *flags = lds.flags.data() + request.pieceOffset[piece];
  if (request.inRange[0] == allLanes && bits + request.pieceOffset[piece] + request.bytes <= lds.flags.size())
    switch (request.bytes) {
    case 4:
      return areAllWritten<4>(flags, request.address);
    case 8:
      return areAllWritten<8>(flags, request.address);
    case 16:
      return areAllWritten<16>(flags, request.address);
    }
  bool all = true;
  for (uint64_t rest = request.inRange[0]; rest && all; rest &= rest - 1) {
    uint64_t address = request.address[std::countr_zero(rest)] + request.pieceOffset[piece];
    all = address + request.bytes <= lds.flags.size() && isLaneWritten(lds.flags.data() + address, request.bytes);
  }
  return all;
}

/// Bytes of LDS are written with what is not poison. False where there is more to keep than flags.
bool PoisonMemory::setLdsWritten(uint64_t address, unsigned size) {
  if (address + size > lds.flags.size() || !lds.partial.empty())
    return false;
  uint8_t *flags = lds.flags.data() + address;
  if (size > 16 ? isAllWritten(flags, size) : isLaneWritten(flags, size))
    return true;
  lds.count -= countUnwritten(flags, size);
  std::memset(flags, UnwrittenBytes::Written, size);
  return true;
}

UnwrittenRead PoisonMemory::read(Wave &wave, const MemoryRequest &request, CarriedPoison &carried) {
  UnwrittenRead first;
  if (isClean(request.space) || isWrittenBuffer(request))
    return first;
  for (unsigned piece = 0; piece < request.pieces; ++piece) {
    if (Row row = findRow(request, piece); row.found && row.areWritten())
      continue;
    if (areLanesWritten(request, piece))
      continue;
    forBits(request.inRange[0], [&](unsigned lane) {
      uint64_t address = request.address[lane] + request.pieceOffset[piece];
      Place place = find(wave, request.space, lane, address, request.bytes, false);
      if (!place.flags)
        return;
      for (unsigned byte = 0; byte < request.bytes; ++byte) {
        unsigned at = piece * request.bytes + byte;
        bool exists = request.pieces > 1 || lanesOfWord(request, byte / 4) >> lane & 1;
        if (!exists || !place.flags[byte])
          continue;
        carried.words[at / 4].bytes[at % 4] |= uint64_t(1) << lane;
        if (first.lane < 0)
          first = {int(lane), place.bytes, place.allocation, address + byte,
                   place.flags[byte] == UnwrittenBytes::Copied};
      }
      for (unsigned byte = 0; byte + 4 <= request.bytes && place.bytes && !place.bytes->partial.empty(); byte += 4)
        readPartial({place.flags + byte, place.bytes, nullptr}, (piece * request.bytes + byte) / 4, lane, carried);
    });
  }
  return first;
}

/// The poison of a word whose flags begin at `place`, when it is not of whole bytes.
void PoisonMemory::readPartial(const Place &place, unsigned word, unsigned lane, CarriedPoison &carried) {
  uint32_t bits = carried.words[word].bitsOf(lane);
  for (unsigned byte = 0; byte < 4; ++byte)
    if (auto found = place.bytes->partial.find(uint64_t(place.flags - place.bytes->flags.data()) + byte);
        found != place.bytes->partial.end())
      bits &= uint32_t(found->second) << (8 * byte) | ~(0xFFu << (8 * byte));
  if (bits != carried.words[word].bitsOf(lane))
    carried.partial.push_back({uint8_t(word), uint8_t(lane), bits});
}

UnwrittenRead PoisonMemory::readScalars(const MemoryRequest &request, CarriedPoison &carried) {
  UnwrittenRead first;
  forBits(request.lanes, [&](unsigned word) {
    uint64_t address = request.address[0] + 4 * word;
    const Allocation *allocation = global.around(address, false);
    if (!allocation || !allocation->unwritten)
      return;
    uint64_t offset = address - allocation->base;
    for (unsigned byte = 0; byte < 4; ++byte)
      if (uint8_t flag = allocation->unwritten->at(offset + byte); flag != UnwrittenBytes::Written) {
        carried.scalars[word] |= 0xFFu << (8 * byte);
        if (!first.allocation)
          first = {-1, nullptr, allocation, address + byte, flag == UnwrittenBytes::Copied};
      }
  });
  return first;
}

/// `poison`: which bits of the byte are.
void PoisonMemory::put(Place &place, unsigned index, uint8_t poison, PoisonOrigin origin) {
  uint8_t &flag = place.flags[index];
  bool isPoison = poison, isPartial = isPoison && poison != 0xFF;
  if (place.bytes && (isPartial || !place.bytes->partial.empty())) {
    uint64_t offset = uint64_t(&flag - place.bytes->flags.data());
    place.bytes->partial.erase(offset);
    if (isPartial)
      place.bytes->partial[offset] = poison;
  }
  if (place.bytes)
    place.bytes->count += uint64_t(isPoison) - uint64_t(flag != UnwrittenBytes::Written);
  flag = isPoison ? UnwrittenBytes::Copied : UnwrittenBytes::Written;
  if (!isPoison)
    return;
  if (place.bytes && !place.bytes->copied)
    place.bytes->copied = origin;
  if (place.allocation && !place.allocation->unwritten->firstStore && !firstCopy)
    firstCopy = place.allocation;
}

void PoisonMemory::writePiece(Wave &wave, const MemoryRequest &request, const CarriedPoison *carried, unsigned lane,
                              unsigned piece) {
  bool isPoison = false;
  unsigned first = piece * request.bytes;
  for (unsigned byte = 0; carried && byte < request.bytes; ++byte)
    isPoison |= carried->words[(first + byte) / 4].bytes[(first + byte) % 4] >> lane & 1;
  uint64_t address = request.address[lane] + request.pieceOffset[piece];
  Place place = find(wave, request.space, lane, address, request.bytes, isPoison);
  if (!place.flags)
    return;
  for (unsigned byte = 0; byte < request.bytes; ++byte) {
    unsigned at = first + byte;
    if (request.pieces > 1 || lanesOfWord(request, byte / 4) >> lane & 1)
      put(place, byte, isPoison ? uint8_t(carried->bitsOf(at / 4, lane) >> (8 * (at % 4))) : 0,
          carried ? carried->origin : 0);
  }
}

void PoisonMemory::writeScalars(Wave &wave, const MemoryRequest &request, const CarriedPoison *carried) {
  forBits(request.lanes, [&](unsigned word) {
    uint32_t poison = carried ? carried->scalars[word] : 0;
    Place place = find(wave, Space::Global, 0, request.address[0] + 4 * word, 4, poison);
    for (unsigned byte = 0; byte < 4 && place.flags; ++byte)
      put(place, byte, uint8_t(poison >> (8 * byte)), carried ? carried->origin : 0);
  });
}

void PoisonMemory::write(Wave &wave, const MemoryRequest &request, const CarriedPoison *carried) {
  if (!carried && isClean(request.space))
    return;
  if (request.isScalar())
    return writeScalars(wave, request, carried);
  if (!carried && isWrittenBuffer(request))
    return;
  bool isPlain = !carried && request.space == Space::Lds && (request.pieces > 1 || hasWholeLanes(request));
  for (unsigned piece = 0; piece < request.pieces; ++piece) {
    if (isPlain && lds.partial.empty() && areLanesWritten(request, piece))
      continue;
    Row row;
    if (!carried && lds.partial.empty())
      row = findRow(request, piece);
    if (!row.found)
      forBits(request.inRange[0], [&](unsigned lane) {
        if (!isPlain || !setLdsWritten(request.address[lane] + request.pieceOffset[piece], request.bytes))
          writePiece(wave, request, carried, lane, piece);
      });
    else
      row.setWritten();
  }
}

void PoisonMemory::writeLds(const MemoryRequest &request, const CarriedPoison *carried) {
  if (!carried && lds.count == 0)
    return;
  bool isRow = request.lanes == allLanes && request.ldsStride == 4 * request.words;
  if (!carried && isRow && setLdsWritten(request.ldsBase, waveLanes * request.ldsStride))
    return;
  forBits(request.lanes, [&](unsigned lane) {
    uint64_t first = uint64_t(request.ldsBase) + lane * request.ldsStride;
    if (!carried && setLdsWritten(first, 4u * request.words))
      return;
    for (unsigned byte = 0; byte < 4u * request.words; ++byte) {
      uint64_t address = first + byte;
      Place place{lds.flags.data() + address, &lds, nullptr};
      if (address < lds.flags.size())
        put(place, 0, carried ? uint8_t(carried->bitsOf(byte / 4, lane) >> (8 * (byte % 4))) : 0,
            carried ? carried->origin : 0);
    }
  });
}

} // namespace heddle::simulator
