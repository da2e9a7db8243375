// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/instructions/MemoryAccess.h"
#include "simulator/state/Apertures.h"
#include "simulator/state/Fault.h"
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
  if (offset >= lds.size() || size > lds.size() - offset)
    throw Fault(fmt::format("accesses {} bytes at offset {} of LDS, of which the workgroup has {} bytes", size, offset,
                            lds.size()),
                {"what a kernel uses beyond what it declares is given with `--lds BYTES`"});
  return lds.data() + offset;
}

uint8_t *flatBytesAt(Wave &wave, unsigned lane, uint64_t address, unsigned size, bool writes) {
  if (address - sharedAperture < apertureSizeBytes)
    return ldsBytesAt(wave, address - sharedAperture, size);
  if (address - privateAperture < apertureSizeBytes)
    return scratchBytesAt(wave, lane, address - privateAperture, size);
  return wave.memory->global.at(address, size, writes);
}

} // namespace heddle::simulator
