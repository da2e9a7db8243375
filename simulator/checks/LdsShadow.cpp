// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/checks/LdsShadow.h"

namespace heddle::simulator {

void LdsShadow::start(uint32_t bytes, uint32_t waveCount) {
  ldsBytes = bytes;
  waves = waveCount;
  size_t words = (bytes + 3) / 4;
  writers.assign(words, {});
  reads.assign(words * waves, 0);
  atomics.clear();
  splits.clear();
  clockOf.clear();
  clocks.clear();
  conflicts.clear();
}

size_t LdsShadow::splitInBytes(size_t word) {
  if (splits.empty())
    splits.resize((ldsBytes + 3) / 4);
  if (splits[word])
    return splits[word];
  size_t first = writers.size();
  splits[word] = uint32_t(first);
  for (unsigned byte = 0; byte < 4; ++byte) {
    Writer writer = writers[word];
    writer.value = writer.value >> 8 * byte & 0xff;
    writers.push_back(writer);
    for (std::vector<uint32_t> *epochs : {&reads, &atomics})
      if (!epochs->empty())
        for (uint32_t wave = 0; wave < waves; ++wave)
          epochs->push_back((*epochs)[word * waves + wave]);
  }
  return first;
}

void LdsShadow::add(const LdsConflict &conflict) {
  for (LdsConflict &known : conflicts)
    if (known.stream == conflict.stream && known.access == conflict.access) {
      if (conflict.epoch > known.epoch)
        known = conflict;
      return;
    }
  conflicts.push_back(conflict);
}

void LdsShadow::checkReads(const LdsOperation &operation, unsigned lane, size_t cell, uint32_t address,
                           unsigned bytes) {
  const uint32_t *epochs = &reads[cell * waves];
  for (uint32_t wave = 0; wave < waves; ++wave) {
    if (epochs[wave] >> 1 <= operation.over.over[wave])
      continue;
    // What reads one place over and over until an atomic operation changes it has been synchronised by that.
    bool uniform = epochs[wave] & 1;
    if (operation.access == LdsAccess::Atomic && uniform)
      continue;
    add({.access = LdsAccess::Read,
         .stream = wave,
         .epoch = epochs[wave] >> 1,
         .address = address,
         .bytes = bytes,
         .lane = int(lane),
         .earlierUniform = uniform});
  }
}

void LdsShadow::checkAtomics(const LdsOperation &operation, unsigned lane, size_t cell, uint32_t address,
                             unsigned bytes) {
  const uint32_t *epochs = &atomics[cell * waves];
  for (uint32_t wave = 0; wave < waves; ++wave)
    if (epochs[wave] > operation.over.over[wave])
      add({.access = LdsAccess::Atomic,
           .stream = wave,
           .epoch = epochs[wave],
           .address = address,
           .bytes = bytes,
           .lane = int(lane)});
}

/// `value` is what it stores; a byte's is in the low bits.
template <LdsAccess access>
void LdsShadow::touchCell(const LdsOperation &operation, unsigned lane, size_t cell, uint32_t address, unsigned bytes,
                          const uint32_t *value) {
  Writer &writer = writers[cell];
  if (writer.epoch > operation.over.over[writer.stream]) [[unlikely]]
    add({.access = writer.stream >= mostGroupWaves ? LdsAccess::Load : LdsAccess::Write,
         .stream = writer.stream,
         .epoch = writer.epoch,
         .address = address,
         .bytes = bytes,
         .lane = int(lane),
         .earlierLane = writer.lane,
         .earlierUniform = writer.uniform,
         .sameValue = access == LdsAccess::Write && writer.hasValue && value && writer.value == *value});
  // Loads of a flag's value are atomic or not: the instruction is the same.
  if (access != LdsAccess::Atomic && !atomics.empty() && !(access == LdsAccess::Read && operation.uniform))
    checkAtomics(operation, lane, cell, address, bytes);
  if constexpr (access == LdsAccess::Read) {
    reads[cell * waves + operation.wave] = operation.epoch << 1 | operation.uniform;
    return;
  }
  checkReads(operation, lane, cell, address, bytes);
  if constexpr (access == LdsAccess::Atomic)
    atomics[cell * waves + operation.wave] = operation.epoch;
  else
    writer = {.epoch = operation.epoch,
              .stream = uint8_t(access == LdsAccess::Load ? loadStream(operation.wave) : operation.wave),
              .lane = uint8_t(lane),
              .uniform = operation.uniform,
              .hasValue = value != nullptr,
              .value = value ? *value : 0};
}

template <LdsAccess access>
void LdsShadow::touchAs(const LdsOperation &operation, unsigned lane, uint32_t address, unsigned bytes,
                        const uint32_t *data) {
  if (access == LdsAccess::Atomic && atomics.empty())
    atomics.resize(writers.size() * waves);
  if (!(address & 3) && !(bytes & 3) && splits.empty()) {
    for (unsigned word = 0; word < bytes / 4; ++word)
      touchCell<access>(operation, lane, address / 4 + word, address + 4 * word, 4,
                        data ? data + word * waveLanes : data);
    return;
  }
  for (unsigned byte = 0; byte < bytes; ++byte) {
    uint32_t at = address + byte, word = at / 4, value = 0;
    if (data)
      value = data[byte / 4 * waveLanes] >> 8 * (byte & 3);
    if (!(at & 3) && byte + 4 <= bytes && !(byte & 3) && (splits.empty() || !splits[word])) {
      touchCell<access>(operation, lane, word, at, 4, data ? &value : nullptr);
      byte += 3;
      continue;
    }
    value &= 0xff;
    touchCell<access>(operation, lane, splitInBytes(word) + (at & 3), at, 1, data ? &value : nullptr);
  }
}

void LdsShadow::touch(const LdsOperation &operation, unsigned lane, uint64_t address, unsigned bytes,
                      const uint32_t *data) {
  if (address >= ldsBytes || bytes > ldsBytes - address)
    return;
  switch (operation.access) {
  case LdsAccess::Read:
    return touchAs<LdsAccess::Read>(operation, lane, uint32_t(address), bytes, data);
  case LdsAccess::Write:
    return touchAs<LdsAccess::Write>(operation, lane, uint32_t(address), bytes, data);
  case LdsAccess::Atomic:
    return touchAs<LdsAccess::Atomic>(operation, lane, uint32_t(address), bytes, data);
  case LdsAccess::Load:
    return touchAs<LdsAccess::Load>(operation, lane, uint32_t(address), bytes, data);
  }
}

bool LdsShadow::hasAtomicAfter(uint64_t address, uint32_t wave, uint32_t epoch) const {
  if (address >= ldsBytes || atomics.empty())
    return false;
  size_t cell = splits.empty() || !splits[address / 4] ? address / 4 : splits[address / 4] + (address & 3);
  return atomics[cell * waves + wave] > epoch;
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
