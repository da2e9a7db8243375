// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where an address leads, global memory, LDS or scratch, and the faults of those that lead nowhere.
#include "simulator/instructions/MemoryAccess.h"
#include "simulator/state/Apertures.h"
#include "simulator/state/Fault.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle::simulator {

uint8_t *scratchBytesAt(Wave &wave, unsigned lane, uint64_t offset, unsigned size) {
  if (offset >= wave.scratchBytes || size > wave.scratchBytes - offset)
    throw Fault(fmt::format("accesses {} bytes at offset {} of its scratch, which has {} bytes", size, int64_t(offset),
                            wave.scratchBytes));
  return wave.scratch.data() + lane * wave.scratchBytes + offset;
}

uint8_t *ldsBytesAt(Wave &wave, uint64_t offset, unsigned size) {
  std::vector<uint8_t> &lds = wave.workgroup->lds;
  constexpr uint64_t firstNegative = uint64_t(1) << 31; // of the 32 bits that an address of LDS has
  if (offset >= firstNegative && offset <= UINT32_MAX)
    throw Fault(fmt::format("accesses {} bytes at offset {} of LDS, which begins at 0", size, int32_t(offset)));
  if (offset >= lds.size() || size > lds.size() - offset)
    throw Fault(
        fmt::format("accesses {} bytes at offset {} of LDS, of which the workgroup has {} bytes", size, offset,
                    lds.size()),
        {"an index beyond a memory object, or LDS that the kernel does not declare, which `--lds BYTES` gives"});
  return lds.data() + offset;
}

uint8_t *flatBytesAt(Wave &wave, unsigned lane, uint64_t address, unsigned size, bool writes) {
  if (address - sharedAperture < apertureSizeBytes)
    return ldsBytesAt(wave, address - sharedAperture, size);
  if (address - privateAperture < apertureSizeBytes)
    return scratchBytesAt(wave, lane, address - privateAperture, size);
  return wave.memory->global.at(address, size, writes);
}

const uint8_t *LineReader::at(uint64_t address, unsigned size) {
  if (address >= first && address + size <= end)
    return bytes + (address - first);
  // As much of the line as the buffer has; the first lane whose access is outside gets the fault.
  const Allocation *allocation = wave.memory->global.around(address, false);
  uint64_t line = address & ~(lineBytes - 1);
  first = address, end = address + size;
  if (allocation && end <= line + lineBytes) {
    first = std::max(line, allocation->base);
    end = std::min(line + lineBytes, allocation->base + allocation->sizeBytes);
    if (address + size > end)
      first = address, end = address + size;
  }
  wave.memory->read(wave, request, first, unsigned(end - first), bytes);
  return bytes + (address - first);
}

uint8_t *LineWriter::at(uint64_t address, unsigned count) {
  bool joins = size && address == first + size && size + count <= lineBytes;
  if (!joins) {
    flush();
    first = address;
  }
  size += count;
  wave.memory->global.at(address, count, true); // the fault is this lane's
  return bytes + (address - first);
}

void LineWriter::flush() {
  if (size)
    wave.memory->write(wave, request, first, size, bytes);
  size = 0;
}

} // namespace heddle::simulator
