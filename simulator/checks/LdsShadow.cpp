// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares an access with the last writers and readers of its dwords, which are split in bytes where needed.
#include "simulator/checks/LdsShadow.h"
#include <bit>

namespace heddle::simulator {

void LdsShadow::start(uint32_t bytes, uint32_t waveCount) {
  ldsBytes = bytes;
  waves = waveCount;
  now = 0;
  written.clear();
  writers.clear();
  for (uint32_t wave = 0; wave < waves; ++wave) {
    reads[wave].clear();
    atomics[wave].clear();
  }
  splits.clear();
  clockOf.clear();
  clocks.clear();
  conflicts.clear();
  doubts.clear();
  twins.clear();
  twinCount = lastTwin = 0;
  lastWritten.over.fill(0);
  std::fill(std::begin(lastRead), std::end(lastRead), 0);
}

void LdsShadow::growTo(size_t words) {
  written.resize(words);
  writers.resize(words);
  for (uint32_t wave = 0; wave < waves; ++wave) {
    reads[wave].resize(words);
    if (!atomics[wave].empty())
      atomics[wave].resize(words);
  }
}

/// From here on these places have cells.
void LdsShadow::reach(const LdsPlaces &places) {
  size_t all = (ldsBytes + 3) / 4;
  if (written.size() >= all)
    return;
  uint64_t last = 0;
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    last = std::max(last, places.address[lane] & -(places.lanes >> lane & 1));
  size_t words = (std::min<uint64_t>(last, ldsBytes) + places.bytes + 3) / 4;
  constexpr size_t least = 2048; // of small LDS, nothing is copied
  if (words > written.size())
    growTo(std::min(all, std::max({words, 2 * written.size(), least})));
}

size_t LdsShadow::splitInBytes(size_t word) {
  if (splits.empty()) {
    splits.resize((ldsBytes + 3) / 4);
    growTo(splits.size());
  }
  if (splits[word])
    return splits[word];
  size_t first = writers.size();
  splits[word] = uint32_t(first);
  for (unsigned byte = 0; byte < 4; ++byte) {
    Writer writer = writers[word];
    writer.value = writer.value >> 8 * byte & 0xff;
    writers.push_back(writer);
    written.push_back(written[word]);
    if (auto found = twins.find(word); found != twins.end())
      for (Twin twin : std::vector<Twin>(found->second)) {
        twin.writer.value = twin.writer.value >> 8 * byte & 0xff;
        twins[first + byte].push_back(twin);
        ++twinCount;
      }
    for (uint32_t wave = 0; wave < waves; ++wave) {
      reads[wave].push_back(reads[wave][word]);
      if (!atomics[wave].empty())
        atomics[wave].push_back(atomics[wave][word]);
    }
  }
  return first;
}

void LdsShadow::add(const LdsConflict &conflict) {
  for (LdsConflict &known : conflicts)
    if (known.stream == conflict.stream && known.access == conflict.access && known.sameValue == conflict.sameValue &&
        known.isUnknown == conflict.isUnknown) {
      if (conflict.time > known.time)
        known = conflict;
      return;
    }
  conflicts.push_back(conflict);
}

/// Whether both write, neither is ordered before the other, and they bring the same as far as is known yet.
bool LdsShadow::checkAgainst(const LdsOperation &operation, const Writer &writer, uint32_t time, const Piece &piece) {
  if (time <= operation.before.over[writer.stream])
    return false;
  LdsConflict conflict = {.access = writer.stream >= mostGroupWaves ? LdsAccess::Load : LdsAccess::Write,
                          .stream = writer.stream,
                          .time = time,
                          .address = piece.address,
                          .bytes = piece.bytes,
                          .lane = int(piece.lane),
                          .earlierLane = writer.lane,
                          .earlierUniform = writer.uniform};
  bool bothWrite = operation.access == LdsAccess::Write || operation.access == LdsAccess::Load;
  if (bothWrite && twinCount < mostTwins && !(writer.hasValue && piece.value)) {
    doubts.push_back(
        {conflict, bool(writer.hasValue), piece.value != nullptr, writer.value, piece.value ? *piece.value : 0});
    return true;
  }
  if (bothWrite && twinCount >= mostTwins)
    conflict.isUnknown = true;
  else
    conflict.sameValue = bothWrite && writer.value == *piece.value;
  add(conflict);
  return conflict.sameValue;
}

/// Of a write, whether there are now twins of it.
bool LdsShadow::checkWriter(const LdsOperation &operation, size_t cell, const Piece &piece) {
  Writer writer = writers[cell];
  bool writes = operation.access == LdsAccess::Write || operation.access == LdsAccess::Load;
  std::vector<Twin> kept;
  if (writes && writer.hasTwins)
    if (auto found = twins.find(cell); found != twins.end())
      for (const Twin &twin : found->second)
        if (checkAgainst(operation, twin.writer, twin.time, piece))
          kept.push_back(twin);
  if (checkAgainst(operation, writer, written[cell], piece))
    kept.push_back({writer, written[cell]});
  if (kept.empty())
    return false;
  std::vector<Twin> &place = twins[cell];
  twinCount += kept.size() - place.size();
  place = std::move(kept);
  lastTwin = operation.time;
  return true;
}

void LdsShadow::listReaders(const LdsOperation &operation) {
  readerCount = 0;
  for (uint32_t wave = 0; wave < waves; ++wave)
    if (lastRead[wave] > operation.before.over[wave])
      readers[readerCount++] = wave;
}

void LdsShadow::checkReads(const LdsOperation &operation, size_t cell, const Piece &piece) {
  for (uint32_t i = 0; i < readerCount; ++i) { // what others say of each cell would be the same
    uint32_t wave = readers[i];
    uint32_t time = reads[wave][cell] >> 1;
    bool uniform = reads[wave][cell] & 1;
    // What reads one place over and over until an atomic operation changes it is synchronised by that.
    if (time <= operation.before.over[wave] || (operation.access == LdsAccess::Atomic && uniform))
      continue;
    add({.access = LdsAccess::Read,
         .stream = wave,
         .time = time,
         .address = piece.address,
         .bytes = piece.bytes,
         .lane = int(piece.lane),
         .earlierUniform = uniform});
  }
}

void LdsShadow::checkAtomics(const LdsOperation &operation, size_t cell, const Piece &piece) {
  for (uint32_t wave = 0; wave < waves; ++wave)
    if (atomics[wave][cell] > operation.before.over[wave])
      add({.access = LdsAccess::Atomic,
           .stream = wave,
           .time = atomics[wave][cell],
           .address = piece.address,
           .bytes = piece.bytes,
           .lane = int(piece.lane)});
}

template <LdsAccess access>
void LdsShadow::touchCell(const LdsOperation &operation, size_t cell, const Piece &piece) {
  bool hasTwins = written[cell] > operation.floor && checkWriter(operation, cell, piece);
  // The load of a flag is atomic or not: the instruction is the same.
  if (access != LdsAccess::Atomic && !atomics[0].empty() && !(access == LdsAccess::Read && operation.uniform))
    checkAtomics(operation, cell, piece);
  if constexpr (access == LdsAccess::Read) {
    reads[operation.wave][cell] = operation.time << 1 | operation.uniform;
    return;
  }
  checkReads(operation, cell, piece);
  if constexpr (access == LdsAccess::Atomic) {
    atomics[operation.wave][cell] = operation.time;
    return;
  }
  written[cell] = operation.time;
  writers[cell] = {.stream = uint8_t(access == LdsAccess::Load ? loadStream(operation.wave) : operation.wave),
                   .lane = uint8_t(piece.lane),
                   .uniform = operation.uniform,
                   .hasValue = piece.value != nullptr,
                   .hasTwins = hasTwins,
                   .value = piece.value ? *piece.value : 0};
}

// ---- A whole wave ----

static bool anyAbove(const std::vector<uint32_t> &times, size_t first, size_t count, uint32_t limit) {
  uint32_t above = 0;
  for (const uint32_t *time = &times[first]; count; --count, ++time)
    above |= *time > limit;
  return above;
}

/// Whether all writes, of whatever cell, are over for this operation, and, unless it reads, none has twins: then no
/// cell has to be asked.
bool LdsShadow::areAllWritesOver(const LdsOperation &operation, bool reading) const {
  bool isOpen = !reading && lastTwin;
  for (unsigned stream = 0; stream < lastWritten.over.size(); ++stream) // no early end: vector code
    isOpen |= lastWritten.over[stream] > operation.before.over[stream];
  return !isOpen;
}

/// Whether everything that these cells know is over, for the caller or for this operation.
bool LdsShadow::isQuiet(const LdsOperation &operation, size_t cell, size_t count) const {
  bool reading = operation.access == LdsAccess::Read;
  if (!areAllWritesOver(operation, reading) && anyAbove(written, cell, count, operation.floor))
    for (size_t i = cell; i < cell + count; ++i)
      if (written[i] > operation.before.over[writers[i].stream] || (writers[i].hasTwins && !reading))
        return false;
  for (uint32_t wave = 0; wave < waves; ++wave) {
    uint32_t over = operation.before.over[wave];
    if (over == ~uint32_t(0))
      continue;
    if (!reading && lastRead[wave] > over && anyAbove(reads[wave], cell, count, over << 1 | 1))
      return false;
    if (!atomics[wave].empty() && anyAbove(atomics[wave], cell, count, over))
      return false;
  }
  return true;
}

/// Lanes side by side, in order, with nothing to report: what most instructions do. False when it is not so.
template <LdsAccess access>
bool LdsShadow::touchRow(const LdsOperation &operation, const LdsPlaces &places) {
  if (!places.lanes)
    return false;
  unsigned firstLane = unsigned(std::countr_zero(places.lanes)), lanes = unsigned(std::popcount(places.lanes));
  uint64_t first = places.address[firstLane], differs = places.lanes >> firstLane & (places.lanes >> firstLane) + 1;
  if ((first | places.bytes) & 3 || !splits.empty() || first > ldsBytes || places.bytes * lanes > ldsBytes - first)
    return false;
  if (places.address[firstLane + lanes - 1] - first != (lanes - 1) * places.bytes) // most that differ do so there
    return false;
  for (unsigned lane = 0; lane < lanes; ++lane)
    differs |= places.address[firstLane + lane] - first - lane * places.bytes;
  size_t cell = first / 4, words = places.bytes / 4, count = words * lanes;
  bool isUniform = operation.uniform; // a single lane
  if (differs || !isQuiet(operation, cell, count))
    return false;
  if constexpr (access == LdsAccess::Read)
    std::fill_n(&reads[operation.wave][cell], count, operation.time << 1 | isUniform);
  else if constexpr (access == LdsAccess::Atomic)
    std::fill_n(&atomics[operation.wave][cell], count, operation.time);
  else {
    std::fill_n(&written[cell], count, operation.time);
    uint8_t stream = uint8_t(access == LdsAccess::Load ? loadStream(operation.wave) : operation.wave);
    Writer *writer = &writers[cell];
    std::fill_n(writer, count, Writer{.stream = stream, .uniform = isUniform, .hasValue = places.data != nullptr});
    for (unsigned lane = firstLane; lane < firstLane + lanes; ++lane)
      for (size_t word = 0; word < words; ++word)
        writer[(lane - firstLane) * words + word].lane = uint8_t(lane);
    for (size_t word = 0; word < words && places.data; ++word)
      for (unsigned lane = firstLane; lane < firstLane + lanes; ++lane)
        writer[(lane - firstLane) * words + word].value = places.data[word * waveLanes + lane];
  }
  return true;
}

/// Calls `action(lane, word, cell)` for each word that lanes access, all of them whole.
template <typename Action>
static void forCells(const LdsPlaces &places, Action action) {
  for (uint64_t rest = places.lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    for (unsigned word = 0; word < places.bytes / 4; ++word)
      action(lane, word, size_t(places.address[lane] / 4 + word));
  }
}

/// Calls `action(address)` for each lane.
template <typename Action>
static void forLanes(const LdsPlaces &places, Action action) {
  if (places.lanes == allLanes)
    for (unsigned lane = 0; lane < waveLanes; ++lane)
      action(places.address[lane]);
  else
    for (uint64_t rest = places.lanes; rest; rest &= rest - 1)
      action(places.address[std::countr_zero(rest)]);
}

/// Whether no lane accesses a part of a word, or what is not there.
bool LdsShadow::areWholeWords(const LdsPlaces &places) const {
  uint64_t bits = 0; // no address is greater
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    bits |= places.address[lane] & -(places.lanes >> lane & 1);
  return splits.empty() && !((bits | places.bytes) & 3) && bits <= ldsBytes && places.bytes <= ldsBytes - bits;
}

/// Whether all writes of the cells are over for this operation, and, unless it reads, have no twins.
bool LdsShadow::areOver(const LdsOperation &operation, const LdsPlaces &places, bool reading) const {
  bool all = true;
  forCells(places, [&](unsigned, unsigned, size_t cell) {
    const Writer &writer = writers[cell];
    all &= written[cell] <= operation.before.over[writer.stream] && (reading || !writer.hasTwins);
  });
  return all;
}

/// The latest of the times that `words` cells have where each lane accesses.
template <unsigned words>
static uint32_t latestOf(const std::vector<uint32_t> &times, const LdsPlaces &places) {
  using Times = uint32_t __attribute__((ext_vector_type(words)));
  Times latest = 0;
  const uint32_t *first = times.data();
  forLanes(places, [&](uint64_t address) {
    Times each = 0; // not all of its bytes: of three there are four
    std::memcpy(&each, first + address / 4, 4 * words);
    latest = __builtin_elementwise_max(latest, each);
  });
  return __builtin_reduce_max(latest);
}

/// Writes of whole words, wherever each lane writes, where everything is over that these have seen. False, and nothing
/// is changed, when it is not so.
template <LdsAccess access, unsigned words>
bool LdsShadow::touchQuietWrites(const LdsOperation &operation, const LdsPlaces &places) {
  bool areOverForAll = !lastTwin && latestOf<words>(written, places) <= operation.floor;
  if (!areOverForAll && !areOver(operation, places, false))
    return false;
  for (uint32_t wave = 0; wave < waves; ++wave) {
    uint32_t over = operation.before.over[wave];
    if (lastRead[wave] > over && latestOf<words>(reads[wave], places) > (over << 1 | 1))
      return false;
  }
  Writer writer = {.stream = uint8_t(access == LdsAccess::Load ? loadStream(operation.wave) : operation.wave),
                   .uniform = operation.uniform,
                   .hasValue = places.data != nullptr};
  uint64_t last = ~uint64_t(0);
  for (uint64_t rest = places.lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    uint64_t address = places.address[lane];
    if (std::exchange(last, address) == address) // the first of lanes at one place is named
      continue;
    writer.lane = uint8_t(lane);
    for (unsigned word = 0; word < words; ++word) {
      written[address / 4 + word] = operation.time;
      writer.value = places.data ? places.data[word * waveLanes + lane] : 0;
      writers[address / 4 + word] = writer;
    }
  }
  return true;
}

template <LdsAccess access>
bool LdsShadow::touchQuietWrites(const LdsOperation &operation, const LdsPlaces &places) {
  if (!atomics[0].empty() || !areWholeWords(places))
    return false;
  switch (places.bytes) {
  case 4:
    return touchQuietWrites<access, 1>(operation, places);
  case 8:
    return touchQuietWrites<access, 2>(operation, places);
  case 12:
    return touchQuietWrites<access, 3>(operation, places);
  case 16:
    return touchQuietWrites<access, 4>(operation, places);
  }
  return false;
}

/// Reads of whole words, wherever each lane reads.
template <unsigned words>
void LdsShadow::touchWholeReads(const LdsOperation &operation, const LdsPlaces &places) {
  using Times = uint32_t __attribute__((ext_vector_type(words)));
  uint32_t *read = reads[operation.wave].data();
  const uint32_t *write = written.data();
  Times mark = operation.time << 1 | operation.uniform, latest = 0;
  auto note = [&](uint64_t address) { std::memcpy(read + address / 4, &mark, 4 * words); };
  auto noteAndLook = [&](uint64_t address) {
    Times times; // not all of its bytes: of three there are four
    std::memcpy(&times, write + address / 4, 4 * words);
    latest = __builtin_elementwise_max(latest, times);
    note(address);
  };
  if (areAllWritesOver(operation, true)) {
    forLanes(places, note);
    return;
  }
  forLanes(places, noteAndLook);
  if (__builtin_reduce_max(latest) > operation.floor && !areOver(operation, places, true))
    addRacesOfReads(operation, places);
}

/// False, and nothing is done, where lanes have to be looked at one by one.
bool LdsShadow::touchWholeReads(const LdsOperation &operation, const LdsPlaces &places) {
  if (!atomics[0].empty() || !areWholeWords(places))
    return false;
  switch (places.bytes) {
  case 4:
    touchWholeReads<1>(operation, places);
    return true;
  case 8:
    touchWholeReads<2>(operation, places);
    return true;
  case 12:
    touchWholeReads<3>(operation, places);
    return true;
  case 16:
    touchWholeReads<4>(operation, places);
    return true;
  }
  return false;
}

/// Of reads of whole words that are noted already. Of each stream the youngest write counts, so that the others need no
/// report.
void LdsShadow::addRacesOfReads(const LdsOperation &operation, const LdsPlaces &places) {
  uint32_t youngest[2 * mostGroupWaves];
  std::copy(operation.before.over.begin(), operation.before.over.end(), youngest);
  forCells(places, [&](unsigned lane, unsigned word, size_t cell) {
    uint32_t time = written[cell];
    if (time <= operation.floor || time <= youngest[writers[cell].stream])
      return;
    youngest[writers[cell].stream] = time;
    checkAgainst(operation, writers[cell], time, {lane, uint32_t(places.address[lane]) + 4 * word, 4, nullptr});
  });
}

template <LdsAccess access>
void LdsShadow::touchBytes(const LdsOperation &operation, const LdsPlaces &places, unsigned lane) {
  for (unsigned byte = 0; byte < places.bytes;) {
    uint32_t address = uint32_t(places.address[lane]) + byte, word = address / 4, value = 0;
    if (places.data)
      value = places.data[byte / 4 * waveLanes + lane] >> 8 * (byte & 3);
    bool whole = !((address | byte) & 3) && byte + 4 <= places.bytes && (splits.empty() || !splits[word]);
    value &= whole ? ~0u : 0xff;
    size_t cell = whole ? word : splitInBytes(word) + (address & 3);
    unsigned size = whole ? 4 : 1;
    touchCell<access>(operation, cell, {lane, address, size, places.data ? &value : nullptr});
    byte += size;
  }
}

template <LdsAccess access>
void LdsShadow::touchLane(const LdsOperation &operation, const LdsPlaces &places, unsigned lane) {
  uint64_t address = places.address[lane];
  if (address >= ldsBytes || places.bytes > ldsBytes - address)
    return;
  if ((address | places.bytes) & 3 || !splits.empty())
    return touchBytes<access>(operation, places, lane);
  for (unsigned word = 0; word < places.bytes / 4; ++word)
    touchCell<access>(
        operation, address / 4 + word,
        {lane, uint32_t(address) + 4 * word, 4, places.data ? places.data + word * waveLanes + lane : nullptr});
}

template <LdsAccess access>
void LdsShadow::touchAs(const LdsOperation &operation, const LdsPlaces &places) {
  if (access == LdsAccess::Atomic && atomics[0].empty())
    for (uint32_t wave = 0; wave < waves; ++wave)
      atomics[wave].resize(writers.size());
  if (touchRow<access>(operation, places))
    return;
  if (access == LdsAccess::Read && touchWholeReads(operation, places))
    return;
  if constexpr (access == LdsAccess::Write || access == LdsAccess::Load)
    if (touchQuietWrites<access>(operation, places))
      return;
  listReaders(operation);
  uint64_t last = ~uint64_t(0);
  for (uint64_t rest = places.lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    if (places.address[lane] != last)
      touchLane<access>(operation, places, lane);
    last = places.address[lane];
  }
}

void LdsShadow::touch(const LdsOperation &operation, const LdsPlaces &places) {
  reach(places);
  switch (operation.access) {
  case LdsAccess::Read:
    touchAs<LdsAccess::Read>(operation, places);
    lastRead[operation.wave] = operation.time;
    return;
  case LdsAccess::Write:
    touchAs<LdsAccess::Write>(operation, places);
    lastWritten.over[operation.wave] = operation.time;
    return;
  case LdsAccess::Atomic:
    return touchAs<LdsAccess::Atomic>(operation, places);
  case LdsAccess::Load:
    touchAs<LdsAccess::Load>(operation, places);
    lastWritten.over[loadStream(operation.wave)] = operation.time;
    return;
  }
}

// ---- Locks and flags ----

bool LdsShadow::hasAtomicAfter(uint64_t address, uint32_t wave, uint32_t time) const {
  if (address >= ldsBytes || atomics[wave].empty())
    return false;
  size_t cell = splits.empty() || !splits[address / 4] ? address / 4 : splits[address / 4] + (address & 3);
  return cell < atomics[wave].size() && atomics[wave][cell] > time;
}

LdsClock *LdsShadow::clockAt(uint64_t address) {
  if (clocks.empty() || address >= ldsBytes || !clockOf[address / 4])
    return nullptr;
  return &clocks[clockOf[address / 4] - 1];
}

LdsClock &LdsShadow::makeClockAt(uint64_t address) {
  clockOf.resize((ldsBytes + 3) / 4);
  uint32_t &place = clockOf[address / 4];
  if (!place) {
    clocks.emplace_back();
    place = uint32_t(clocks.size());
  }
  return clocks[place - 1];
}

} // namespace heddle::simulator
