// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A cache that keeps what it has for as long as nobody tells it to let go, and knows byte by byte what is there and
// what is newer than the memory behind it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace heddle::simulator {

inline constexpr uint64_t lineBytes = 128;

/// A bit for each byte of a line.
struct ByteMask {
  std::array<uint64_t, 2> bits = {0, 0};

  /// `size` bytes from `offset`; both lie inside the line.
  static ByteMask of(unsigned offset, unsigned size);
  static ByteMask all() { return {{~uint64_t(0), ~uint64_t(0)}}; }
  bool any() const { return bits[0] | bits[1]; }
  bool isAll() const { return (bits[0] & bits[1]) == ~uint64_t(0); }
  ByteMask operator~() const { return {{~bits[0], ~bits[1]}}; }
  ByteMask operator&(const ByteMask &other) const { return {{bits[0] & other.bits[0], bits[1] & other.bits[1]}}; }
  ByteMask operator|(const ByteMask &other) const { return {{bits[0] | other.bits[0], bits[1] | other.bits[1]}}; }
  bool covers(const ByteMask &other) const { return !(other & ~*this).any(); }
};

/// Copies the bytes of a line that `mask` names.
void copyMasked(uint8_t *destination, const uint8_t *source, const ByteMask &mask);

struct CacheLine {
  uint64_t address = 0;    ///< of its first byte
  uint32_t generation = 0; ///< of the cache, when `valid` was true
  ByteMask valid, dirty;   ///< dirty bytes are valid
  bool isListed = false;   ///< among those that the cache will clean
  alignas(64) uint8_t bytes[lineBytes];
};

/// Lines that stay where they are, many to an allocation.
class CacheLines {
public:
  CacheLine &operator[](std::size_t index) { return chunks[index / linesPerChunk][index % linesPerChunk]; }
  CacheLine &emplace_back() {
    if (count == chunks.size() * linesPerChunk) // their bytes count for nothing until they are valid
      chunks.push_back(std::make_unique_for_overwrite<CacheLine[]>(linesPerChunk));
    return (*this)[count++];
  }
  std::size_t size() const { return count; }
  void clear() {
    chunks.clear();
    count = 0;
  }

private:
  static constexpr std::size_t linesPerChunk = 64;
  std::vector<std::unique_ptr<CacheLine[]>> chunks;
  std::size_t count = 0;
};

class Cache {
public:
  /// The line if any of its bytes is valid, else null.
  CacheLine *find(uint64_t address) {
    CacheLine *line = lookup(address);
    return line && line->valid.any() ? line : nullptr;
  }
  /// The line, made when there is none.
  CacheLine &get(uint64_t address);
  /// Call before the first byte of a line becomes dirty.
  void makeDirty(CacheLine &line, const ByteMask &mask) {
    if (!line.isListed)
      dirtyLines.push_back(&line);
    line.isListed = true;
    line.dirty = line.dirty | mask;
    line.valid = line.valid | mask;
  }
  /// Forgets every byte that is not dirty.
  void dropClean() { ++generation; }
  /// Calls `action(line)` for each line with dirty bytes; they are clean, and still valid, when it returns.
  template <typename Action>
  void cleanAll(Action action) {
    std::vector<CacheLine *> lines = std::move(dirtyLines);
    dirtyLines.clear();
    for (CacheLine *line : lines)
      cleanOne(*line, action);
  }
  /// The same for one of them; `choice` is any number.
  template <typename Action>
  void cleanAny(uint64_t choice, Action action) {
    if (dirtyLines.empty())
      return;
    std::swap(dirtyLines[choice % dirtyLines.size()], dirtyLines.back());
    CacheLine *line = dirtyLines.back();
    dirtyLines.pop_back();
    cleanOne(*line, action);
  }
  /// Forgets everything, dirty or not.
  void clear();
  std::size_t size() const { return lines.size(); }
  std::size_t listedCount() const { return dirtyLines.size(); } ///< lines to clean; some may be clean already

private:
  CacheLine *lookup(uint64_t address);
  void grow();
  template <typename Action>
  void cleanOne(CacheLine &line, Action action) {
    refresh(line);
    line.isListed = false;
    if (!line.dirty.any()) // a store to a wider scope may have written them through
      return;
    action(line);
    line.dirty = {};
  }
  void refresh(CacheLine &line) {
    if (line.generation != generation) {
      line.valid = line.dirty;
      line.generation = generation;
    }
  }

  // Open addressing: places in `lines` plus one, 0 for none.
  std::vector<uint32_t> slots;
  CacheLines lines;
  std::vector<CacheLine *> dirtyLines;
  uint32_t generation = 0;
};

} // namespace heddle::simulator
