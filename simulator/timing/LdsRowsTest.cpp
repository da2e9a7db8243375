// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cycles of LDS, counted by hand.
#include "simulator/timing/LdsRows.h"
#include <gtest/gtest.h>

namespace heddle::simulator {
namespace {

template <typename Address>
LdsRows rowsOf(unsigned bytes, Address address, const char *chipName = "gfx942", RequestKind kind = RequestKind::Load,
               uint64_t lanes = allLanes) {
  MemoryRequest request;
  request.kind = kind;
  request.space = Space::Lds;
  request.bytes = uint8_t(bytes);
  request.lanes = lanes;
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    request.address[lane] = address(lane);
  const Chip &chip = lookupChip(chipName);
  return ldsRowsOf(request, timingOf(chip), unsigned(chip.sharedMemoryBanks));
}

auto stride(unsigned bytes) {
  return [bytes](unsigned lane) { return uint64_t(lane) * bytes; };
}

void expect(LdsRows rows, unsigned cycles, unsigned conflicts) {
  EXPECT_EQ(rows.cycles, cycles);
  EXPECT_EQ(rows.conflictCycles, conflicts);
}

TEST(LdsRows, ContiguousLanesHaveNoConflicts) {
  expect(rowsOf(4, stride(4)), 2, 0); // 256 bytes, 128 a cycle
  expect(rowsOf(8, stride(8)), 4, 0);
  expect(rowsOf(16, stride(16)), 8, 0);
  expect(rowsOf(16, stride(16), "gfx942", RequestKind::Store), 8, 0);
  expect(rowsOf(16, stride(16), "gfx950"), 4, 0); // 256 bytes a cycle
  expect(rowsOf(16, stride(16), "gfx950", RequestKind::Store), 8, 0);
}

TEST(LdsRows, StridesOfWords) {
  expect(rowsOf(4, stride(8)), 4, 2);               // two words in every second bank
  expect(rowsOf(4, stride(12)), 2, 0);              // odd strides reach all banks
  expect(rowsOf(4, stride(128)), 64, 62);           // 32 words of one bank, twice
  expect(rowsOf(4, stride(128), "gfx950"), 32, 31); // 64 lanes on two banks
}

TEST(LdsRows, EqualWordsAreReadOnce) {
  expect(rowsOf(4, stride(0)), 2, 0);
  expect(rowsOf(4, [](unsigned lane) { return lane / 2 * 4; }), 2, 0);
  expect(rowsOf(2, stride(2)), 2, 0);
  expect(rowsOf(4, stride(0), "gfx942", RequestKind::Atomic), 64, 62); // each is done by itself
}

/// Rows of 64 bytes put eight lanes on two banks' starts, rows of 80 on eight.
TEST(LdsRows, WideReadsOfColumns) {
  expect(rowsOf(16, stride(64)), 32, 24);
  expect(rowsOf(16, stride(80)), 8, 0);
  expect(rowsOf(16, stride(128)), 64, 56);
}

/// Lanes 0 to 3 and 20 to 23 are one group of ds_read_b128, lanes 0 to 7 one of ds_write_b128.
TEST(LdsRows, GroupsOfWideAccesses) {
  auto perRead = [](unsigned lane) { return lane < 4 ? lane * 16 : lane >= 20 && lane < 24 ? (lane - 16) * 16 : 0u; };
  uint64_t group = 0xf0000f;
  expect(rowsOf(16, perRead, "gfx942", RequestKind::Load, group), 1, 0);
  expect(rowsOf(16, perRead, "gfx942", RequestKind::Store, group), 2, 0);
  expect(rowsOf(16, stride(16), "gfx942", RequestKind::Store, 0xff), 1, 0);
  expect(rowsOf(16, stride(16), "gfx942", RequestKind::Load, 0xff), 2, 0);
}

TEST(LdsRows, PairsTakeBothPieces) {
  MemoryRequest request;
  request.kind = RequestKind::Load;
  request.space = Space::Lds;
  request.bytes = 4;
  request.pieces = 2;
  request.pieceOffset[1] = 1024;
  request.lanes = allLanes;
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    request.address[lane] = lane * 4;
  expect(ldsRowsOf(request, timingOf(lookupChip("gfx942")), 32), 4, 0);
}

} // namespace
} // namespace heddle::simulator
