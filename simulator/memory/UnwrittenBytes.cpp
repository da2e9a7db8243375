// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A flag for each block until it is written in part, then one for each byte.
#include "simulator/memory/UnwrittenBytes.h"
#include <algorithm>
#include <cstring>

namespace heddle::simulator {
namespace {

/// Calls `action(block, begin, end)` for the part of the bytes in each block.
template <typename Action>
void forBlocks(uint64_t offset, uint64_t size, uint64_t blockBytes, Action action) {
  for (uint64_t end = offset + size; offset < end;) {
    uint64_t block = offset / blockBytes, last = std::min(end, (block + 1) * blockBytes);
    action(block, offset, last);
    offset = last;
  }
}

} // namespace

UnwrittenBytes::UnwrittenBytes(uint64_t sizeBytes, uint8_t flag)
    : blocks((sizeBytes + bytesBehind) / blockBytes + 1, flag),
      flags(std::make_unique_for_overwrite<uint8_t[]>(blocks.size() * blockBytes)) {
  setWritten(sizeBytes, bytesBehind);
}

bool UnwrittenBytes::areWritten(uint64_t offset, uint64_t size) const {
  uint8_t any = 0;
  forBlocks(offset, size, blockBytes, [&](uint64_t block, uint64_t begin, uint64_t end) {
    any |= blocks[block] == Mixed ? 0 : blocks[block];
    for (; blocks[block] == Mixed && begin < end; ++begin)
      any |= flags[begin];
  });
  return any == Written;
}

uint64_t UnwrittenBytes::countUnwritten(uint64_t offset, uint64_t size) const {
  uint64_t count = 0;
  forBlocks(offset, size, blockBytes, [&](uint64_t block, uint64_t begin, uint64_t end) {
    if (blocks[block] != Mixed)
      count += blocks[block] == Written ? 0 : end - begin;
    else
      count += end - begin - uint64_t(std::count(&flags[begin], &flags[0] + end, uint8_t(Written)));
  });
  return count;
}

void UnwrittenBytes::setWritten(uint64_t offset, uint64_t size) {
  forBlocks(offset, size, blockBytes, [&](uint64_t block, uint64_t begin, uint64_t end) {
    if (end - begin == blockBytes)
      blocks[block] = Written;
    else if (blocks[block] != Written)
      std::memset(flagsOf(begin, end - begin), Written, end - begin);
  });
}

uint8_t *UnwrittenBytes::flagsOf(uint64_t offset, uint64_t size) {
  forBlocks(offset, size, blockBytes, [&](uint64_t block, uint64_t, uint64_t) {
    if (blocks[block] == Mixed)
      return;
    std::memset(&flags[block * blockBytes], blocks[block], blockBytes);
    blocks[block] = Mixed;
  });
  return &flags[offset];
}

} // namespace heddle::simulator
