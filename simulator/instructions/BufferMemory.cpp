// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Buffer instructions: a descriptor in four scalar registers, with a range check. Source: AMD Instinct MI300 (CDNA3)
// and CDNA4 Instruction Set Architecture, "Vector Memory Buffer Instructions"; the range rules are those that
// https://github.com/ROCm/rocm-systems/pull/10928 matched to gfx950.
#include "simulator/instructions/BufferDescriptor.h"
#include "simulator/instructions/Families.h"
#include "simulator/instructions/VectorMemory.h"

namespace heddle::simulator {
namespace {

/// Operands: data, address, descriptor, offset of all lanes.
struct BufferStyle {
  static constexpr Space space = Space::Global;
  static constexpr uint8_t queues = MemoryRequest::Vector;
  static constexpr bool loadsToLds = true;
  static constexpr Places load = {.destination = 0, .address = 1}, store = {.data = 0, .address = 1},
                          atomic = {.data = 0, .address = 1},
                          atomicReturning = {.destination = 0, .data = 0, .address = 1};

  static void resolve(Wave &wave, const Instruction &instruction, unsigned place, unsigned bytes,
                      MemoryRequest &request) {
    const Modifiers &modifiers = instruction.modifiers;
    const Operand &address = instruction.operands[place];
    BufferDescriptor descriptor(wave.s + instruction.operands[place + 1].index);
    if (descriptor.swizzles || descriptor.addsLane || descriptor.type != 0)
      throw Fault("uses a buffer descriptor that swizzles, adds the lane or is of another type than 0, which the "
                  "simulator does not have");
    uint64_t uniform = readUniform32(wave, instruction.operands[place + 2]);
    const uint32_t *index = modifiers.idxen ? wave.v[address.index] : nullptr;
    const uint32_t *offset = modifiers.offen ? wave.v[address.index + modifiers.idxen] : nullptr;
    bool isStructured = modifiers.idxen && descriptor.stride;
    uint64_t kept = bytes < 4 ? ~uint64_t(0) : ~uint64_t(3);
    uint64_t last[waveLanes], greatest = 0; // what has to lie below the number of records
    for (unsigned lane = 0; lane < waveLanes; ++lane) {
      uint32_t laneOffset = (offset ? offset[lane] : 0) + uint32_t(modifiers.offset); // wraps at 32 bits
      uint64_t laneIndex = index ? index[lane] : 0;
      uint64_t inBuffer = uniform + laneOffset;
      request.address[lane] = (descriptor.base + descriptor.stride * laneIndex + inBuffer) & kept;
      last[lane] = isStructured ? laneIndex : inBuffer + std::min(bytes, 4u) - 1;
      greatest = std::max(greatest, last[lane]);
    }
    for (unsigned word = 0; word < (bytes + 3) / 4; ++word) {
      uint64_t behind = isStructured ? 0 : 4 * word, inside = allLanes;
      if (greatest + behind >= descriptor.records) {
        inside = 0;
        for (unsigned lane = 0; lane < waveLanes; ++lane)
          inside |= uint64_t(last[lane] + behind < descriptor.records) << lane;
      }
      request.inRange[word] = inside & request.lanes;
    }
  }
};

/// Writes back or invalidates caches: the memory port does it, and it counts in vmcnt.
template <RequestKind kind>
void maintainCaches(Wave &wave, const Instruction &instruction) {
  MemoryRequest request;
  beginRequest<BufferStyle>(wave, instruction, kind, 0, request);
  request.sample = [](Wave &, MemoryRequest &) {};
  wave.memory->issue(wave, request);
}

} // namespace

void addBufferMemory(InstructionTable &table) {
  VectorMemoryRows<BufferStyle> rows(table, "buffer_");
  rows.addLoadsAndStores();
  rows.addAtomics(ChipSet::Gfx950);
  rows.addRow("wbl2", maintainCaches<RequestKind::WriteBack>, 0);
  rows.addRow("inv", maintainCaches<RequestKind::Invalidate>, 0);
}

} // namespace heddle::simulator
