// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The orders in which lanes are served, and the words of each group by bank.
#include "simulator/timing/LdsRows.h"

namespace heddle::simulator {
namespace {

constexpr unsigned mostBanks = 64;

/// The order in which ds_read_b128 serves lanes. Eight at a time are published: 0 to 3 with 20 to 23, 8 to 11 with 28
/// to 31, and so on; the other half of the wave likewise. Where LDS serves 16 at a time it is assumed to take those two
/// groups together, which are the ones without conflicts when lanes are contiguous.
unsigned laneOfWideRead(unsigned place) {
  constexpr unsigned firsts[8] = {0, 20, 8, 28, 4, 16, 12, 24};
  return (place & 32) + firsts[(place & 31) / 4] + place % 4;
}

/// Cycles of the lanes at `first` and after it in the order of service.
class Group {
public:
  explicit Group(unsigned banks) : banks(std::min(banks, mostBanks)) {}
  void add(uint32_t word) { words[count++] = word; }
  /// Equal words are read once for all lanes; an atomic operation is done once for each.
  unsigned cycles(bool merges) {
    std::sort(words, words + count);
    unsigned each[mostBanks] = {}, most = 0;
    for (unsigned i = 0; i < count; ++i)
      if (!merges || i == 0 || words[i] != words[i - 1])
        most = std::max(most, ++each[words[i] % banks]);
    count = 0;
    return most;
  }

private:
  uint32_t words[waveLanes * mostWordsPerLane];
  unsigned count = 0, banks;
};

} // namespace

LdsRows ldsRowsOf(const MemoryRequest &request, const TimingModel &model, unsigned banks) {
  unsigned words = (request.bytes + 3u) / 4,
           bytesPerCycle =
               unsigned(request.kind == RequestKind::Load ? model.ldsReadBytesPerCycle : model.ldsWriteBytesPerCycle);
  unsigned lanesPerCycle = std::max(1u, bytesPerCycle / 4 / std::bit_ceil(std::max(words, 1u)));
  bool isWideRead = request.kind == RequestKind::Load && request.bytes == 16;
  Group group(banks);
  LdsRows rows;
  for (unsigned piece = 0; piece < request.pieces; ++piece)
    for (unsigned first = 0; first < waveLanes; first += lanesPerCycle) {
      bool isActive = false;
      for (unsigned place = first; place < std::min(first + lanesPerCycle, waveLanes); ++place) {
        unsigned lane = isWideRead ? laneOfWideRead(place) : place;
        if (!(request.lanes >> lane & 1))
          continue;
        isActive = true;
        uint64_t address = request.address[lane] + (request.pieces > 1 ? request.pieceOffset[piece] : 0);
        for (unsigned word = 0; word < words; ++word)
          group.add(uint32_t(address / 4 + word));
      }
      unsigned cycles = group.cycles(request.kind != RequestKind::Atomic);
      rows.cycles += cycles;
      rows.conflictCycles += cycles - isActive;
    }
  return rows;
}

} // namespace heddle::simulator
