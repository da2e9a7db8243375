// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sorted entries that copies share until one of them changes. They change with every atomic operation, so blocks that
// are free are kept for the next ones.
#include "simulator/checks/Knowledge.h"
#include <algorithm>
#include <bit>
#include <new>

namespace heddle::simulator {

using Entry = Knowledge::Entry;

// ---- Blocks ----

/// Of this thread. It is plain data, which is there until the thread is gone: static objects may give blocks back after
/// what has a destructor is destroyed.
struct Knowledge::FreeBlocks {
  static constexpr unsigned classCount = 16;
  Block *first[classCount];
  size_t bytes;
  bool isClosed;

  /// Gives all of them back at the thread's end.
  struct Closing {
    ~Closing();
  };
  static FreeBlocks &get();
};

Knowledge::FreeBlocks &Knowledge::FreeBlocks::get() {
  static thread_local FreeBlocks blocks = {};
  static thread_local Closing closing;
  (void)closing;
  return blocks;
}

Knowledge::FreeBlocks::Closing::~Closing() {
  FreeBlocks &blocks = FreeBlocks::get();
  blocks.isClosed = true;
  for (Block *&first : blocks.first)
    while (first)
      ::operator delete(std::exchange(first, first->next));
}

static constexpr unsigned least = 3; // 8 entries

size_t Knowledge::Block::sizeBytes() const {
  return sizeof(Block) + (sizeof(Entry) << (sizeClass + least));
}

size_t Knowledge::freeBytes() {
  return FreeBlocks::get().bytes;
}

Knowledge::Block *Knowledge::Block::take(size_t count) {
  unsigned sizeClass = std::max<unsigned>(least, unsigned(std::bit_width(count - 1))) - least;
  FreeBlocks &free = FreeBlocks::get();
  void *memory = nullptr;
  if (sizeClass < FreeBlocks::classCount && free.first[sizeClass]) {
    memory = std::exchange(free.first[sizeClass], free.first[sizeClass]->next);
    free.bytes -= static_cast<Block *>(memory)->sizeBytes();
  } else {
    memory = ::operator new(sizeof(Block) + (sizeof(Entry) << (sizeClass + least)));
  }
  Block *block = new (memory) Block;
  block->sizeClass = sizeClass;
  block->count = uint32_t(count);
  return block;
}

void Knowledge::Block::give(Block *block) {
  FreeBlocks &free = FreeBlocks::get();
  size_t bytes = block->sizeBytes();
  if (free.isClosed || block->sizeClass >= FreeBlocks::classCount || free.bytes + bytes > mostFreeBytes)
    return ::operator delete(block);
  free.bytes += bytes;
  block->next = std::exchange(free.first[block->sizeClass], block);
}

// ---- Entries ----

uint32_t Knowledge::epochOf(uint32_t id) const {
  std::span<const Entry> mine = entries();
  auto found = std::lower_bound(mine.begin(), mine.end(), id,
                                [](const Entry &entry, uint32_t wanted) { return entry.id < wanted; });
  return found != mine.end() && found->id == id ? found->epoch : 0;
}

namespace {

struct Difference {
  size_t missing = 0; ///< ids
  bool isNewer = false;
};

/// What `b` says that `a` does not.
Difference differenceOf(std::span<const Entry> a, std::span<const Entry> b) {
  Difference difference;
  auto mine = a.begin();
  for (const Entry &entry : b) {
    while (mine != a.end() && mine->id < entry.id)
      ++mine;
    if (mine == a.end() || mine->id != entry.id)
      ++difference.missing;
    else
      difference.isNewer |= mine++->epoch < entry.epoch;
  }
  return difference;
}

} // namespace

void Knowledge::join(std::span<const Entry> sorted) {
  std::span<const Entry> mine = entries();
  Difference difference = differenceOf(mine, sorted);
  if (!difference.missing && !difference.isNewer)
    return;
  if (!difference.missing && block->references == 1) {
    Entry *place = block->entries();
    for (const Entry &entry : sorted) {
      while (place->id < entry.id)
        ++place;
      place->epoch = std::max(place->epoch, entry.epoch);
    }
    return;
  }
  Knowledge joined;
  joined.block = Block::take(mine.size() + difference.missing);
  Entry *out = joined.block->entries();
  auto a = mine.begin();
  for (const Entry &entry : sorted) {
    while (a != mine.end() && a->id < entry.id)
      *out++ = *a++;
    if (a != mine.end() && a->id == entry.id)
      *out++ = {entry.id, std::max(a++->epoch, entry.epoch)};
    else
      *out++ = entry;
  }
  std::copy(a, mine.end(), out);
  std::swap(block, joined.block);
}

std::vector<Entry> Knowledge::of(const std::function<bool(uint32_t wave)> &isWanted) const {
  std::vector<Entry> found;
  for (const Entry &entry : entries())
    if (entry.id != endedLaunches && isWanted(entry.id / streamCount))
      found.push_back(entry);
  return found;
}

void Knowledge::join(const Knowledge &other) {
  if (!other.block || other.block == block)
    return;
  if (!block)
    *this = other;
  else
    join(other.entries());
}

} // namespace heddle::simulator
