// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What waves stored to global memory, for as long as there is room: to tell, when two stores race, whether both stored
// the same. Written once a store and read only for a race.
#pragma once
#include "simulator/memory/MemoryRequest.h"
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace heddle::simulator {

class StoredValues {
public:
  /// Beyond it the oldest are forgotten.
  static constexpr size_t mostBytes = 32 << 20;

  /// Which store: the wave's number, and the number that the wave gave it.
  struct Key {
    uint32_t wave = 0, stream = 0, epoch = 0;
    bool operator==(const Key &) const = default;
  };
  void clear();
  void add(const Key &key, const MemoryRequest &request);
  /// The byte that a lane of it stored at an address. Empty when the store is forgotten, or another address.
  std::optional<uint8_t> byteAt(const Key &key, unsigned lane, uint64_t address) const;

private:
  struct Hash {
    size_t operator()(const Key &key) const {
      return (uint64_t(key.wave) << 34 ^ uint64_t(key.epoch) << 2 ^ key.stream) * 0x9e3779b97f4a7c15u >> 16;
    }
  };
  /// Words follow: of each active lane one after the other. Where the lanes are no row, their addresses before them.
  struct Header {
    Key key;
    uint32_t bytes = 0, words = 0;
    uint64_t lanes = 0, first = 0;
    bool isRow = false;
  };
  using Chunk = std::vector<uint32_t>;
  static constexpr size_t chunkWords = 1 << 18;
  struct Place {
    size_t chunk, word;
  };

  static size_t wordsOf(const Header &header);
  void forgetOldest();

  std::deque<Chunk> chunks;
  size_t firstChunk = 0; ///< number of the oldest
  std::unordered_map<Key, Place, Hash> places;
};

} // namespace heddle::simulator
