// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A cache that keeps what it has for as long as nothing tells it to let go, and knows byte by byte what is there and
// what is newer than the memory that it caches.
#pragma once
#include "simulator/memory/LentLines.h"
#include "simulator/memory/LinePool.h"
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
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

struct alignas(64) CacheLine {
  uint64_t address = 0;           ///< of its first byte
  const uint8_t *bytes = nullptr; ///< its own ones, or those that it borrows; null when none is valid
  uint8_t *own = nullptr;         ///< null as long as it needs none
  ByteMask valid, dirty;          ///< dirty bytes are valid, and its own
  uint32_t generation = 0;        ///< of the cache, when `valid` was true
  bool isListed = false;          ///< among those that the cache will clean
  bool borrows() const { return bytes != own; }
};

/// Lines that stay where they are, in pieces of a pool.
class CacheLines {
public:
  explicit CacheLines(std::shared_ptr<LinePool> pool) : pool(std::move(pool)) {}
  CacheLines(CacheLines &&) = default;
  CacheLines &operator=(CacheLines &&) = delete;
  ~CacheLines() { clear(); }

  CacheLine &operator[](std::size_t index) { return pieces[index / linesPerPiece][index % linesPerPiece]; }
  CacheLine &emplace_back() {
    if (count == pieces.size() * linesPerPiece)
      pieces.push_back(static_cast<CacheLine *>(pool->take()));
    return *new (&(*this)[count++]) CacheLine;
  }
  /// Memory for the bytes of a line, uninitialised.
  uint8_t *makeBytes() {
    if (bytesUsed == bytePieces.size() * LinePool::pieceBytes)
      bytePieces.push_back(static_cast<uint8_t *>(pool->take()));
    uint8_t *made = bytePieces.back() + bytesUsed % LinePool::pieceBytes;
    bytesUsed += lineBytes;
    return made;
  }
  std::size_t size() const { return count; }
  void clear() {
    for (CacheLine *piece : pieces)
      pool->give(piece);
    for (uint8_t *piece : bytePieces)
      pool->give(piece);
    pieces.clear(), bytePieces.clear();
    count = bytesUsed = 0;
  }

private:
  static constexpr std::size_t linesPerPiece = LinePool::pieceBytes / sizeof(CacheLine);
  static_assert(sizeof(CacheLine) == 64 && LinePool::pieceBytes % lineBytes == 0 &&
                alignof(CacheLine) <= LinePool::alignment && std::is_trivially_destructible_v<CacheLine>);
  std::shared_ptr<LinePool> pool;
  std::vector<CacheLine *> pieces;
  std::vector<uint8_t *> bytePieces;
  std::size_t count = 0, bytesUsed = 0;
};

class Cache {
public:
  /// Caches of one device memory share a pool.
  explicit Cache(std::shared_ptr<LinePool> pool = std::make_shared<LinePool>()) : lines(std::move(pool)) {}

  /// The line if any of its bytes is valid, else null.
  CacheLine *find(uint64_t address) {
    CacheLine *line = lookup(address);
    return line && line->valid.any() ? line : nullptr;
  }
  /// The line, made when there is none.
  CacheLine &get(uint64_t address);
  /// The line's own bytes, to be written: what it borrowed is copied.
  uint8_t *ownBytes(CacheLine &line) {
    if (line.borrows() || !line.own)
      takeOver(line);
    return line.own;
  }
  /// All of a line without dirty bytes is what lies at `bytes`, for as long as that does not change.
  static void borrow(CacheLine &line, const uint8_t *bytes) {
    line.bytes = bytes;
    line.valid = ByteMask::all();
  }
  /// What lies there changes, or goes away.
  void stopBorrowing(const uint8_t *begin, const uint8_t *end) {
    for (std::size_t i = 0; i < lines.size(); ++i)
      if (CacheLine &line = lines[i]; line.borrows() && line.bytes >= begin && line.bytes < end)
        takeOver(line);
  }
  /// Gets lines that nothing writes, by their numbers (LentLines). Those of them that it lacked. find() and get() must
  /// not be asked for such a line before keepLent() was called for it.
  uint64_t addLent(uint64_t group, uint64_t lines) { return lent.add(group, lines, generation); }
  /// Lines in [address, end), which lie at `bytes`, become lines as others are, and borrow their bytes.
  void keepLent(uint64_t address, uint64_t end, const uint8_t *bytes);
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
  std::size_t size() const { return lines.size() + lent.size(); }
  std::size_t listedCount() const { return dirtyLines.size(); } ///< lines to clean; some may be clean already

private:
  /// A place in `lines` plus one, 0 for none, and the address's hash, so that few lines are looked at in vain.
  struct Slot {
    uint32_t place = 0, hash = 0;
  };
  CacheLine *lookup(uint64_t address);
  void grow();
  void takeOver(CacheLine &line);
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

  std::vector<Slot> slots; ///< open addressing
  CacheLines lines;
  LentLines lent;
  std::vector<CacheLine *> dirtyLines;
  uint32_t generation = 0;
};

} // namespace heddle::simulator
