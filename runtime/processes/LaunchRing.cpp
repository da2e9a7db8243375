// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lock-free reads and writes of the pages: the last launches of each rank, as a number and a hash.
#include "runtime/processes/LaunchRing.h"
#include "runtime/processes/Sockets.h"
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

namespace heddle {

struct LaunchRing::Page {
  std::atomic<uint64_t> count;
  std::atomic<uint32_t> failed;
  uint32_t unused;
  struct Entry {
    std::atomic<uint64_t> number, hash; ///< number 0: is being written
  } entries[length];
};

LaunchRing::LaunchRing(Neighbours &neighbours, double seconds) : own(neighbours.rank()) {
  static_assert(std::atomic<uint64_t>::is_always_lock_free && sizeof(Page) == 16 + 16 * length);
  FileDescriptor file = createMemoryFile("heddle-launches", sizeof(Page));
  FileMapping mine(file, sizeof(Page), /*writable=*/true);
  // From here on no process can map it for writing. Kernels before 5.1 do not know this seal.
  (void)::fcntl(file.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE);
  std::vector<Neighbours::Message> messages = neighbours.exchange("launches", {file.get()}, seconds);
  for (int rank = 0; rank < neighbours.size(); ++rank) {
    if (rank == own) {
      mappings.push_back(std::move(mine));
    } else {
      Neighbours::Message &message = messages[size_t(rank)];
      if (message.bytes != "launches" || message.files.size() != 1)
        throw environmentError(neighbours.describe(rank) + " did not send the page of its launches");
      checkMemoryFile(message.files[0], sizeof(Page), neighbours.describe(rank));
      mappings.emplace_back(message.files[0], sizeof(Page), /*writable=*/false);
    }
    pages.push_back(static_cast<Page *>(mappings.back().address()));
  }
}

// Each rank first writes its own launch and then reads those of the others, in one order of all these accesses: of two
// that differ at least one sees it.
void LaunchRing::record(uint64_t number, uint64_t hash) {
  Page::Entry &entry = pages[size_t(own)]->entries[number % length];
  entry.number.store(0);
  entry.hash.store(hash);
  entry.number.store(number);
  pages[size_t(own)]->count.store(number);
}

std::optional<LaunchRing::Difference> LaunchRing::differenceAt(uint64_t number, uint64_t hash) const {
  for (int rank = 0; rank < int(pages.size()); ++rank) {
    const Page::Entry &entry = pages[size_t(rank)]->entries[number % length];
    if (rank == own || entry.number.load() != number)
      continue;
    uint64_t theirs = entry.hash.load();
    if (theirs != hash && entry.number.load() == number)
      return Difference{rank, theirs};
  }
  return std::nullopt;
}

uint64_t LaunchRing::countOf(int rank) const {
  return pages[size_t(rank)]->count.load();
}

void LaunchRing::fail() {
  pages[size_t(own)]->failed.store(1);
}

int LaunchRing::failedRank() const {
  for (int rank = 0; rank < int(pages.size()); ++rank)
    if (rank != own && pages[size_t(rank)]->failed.load())
      return rank;
  return -1;
}

} // namespace heddle
