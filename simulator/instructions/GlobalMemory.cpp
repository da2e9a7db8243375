// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Global, flat and scratch instructions. Source: AMD Instinct MI300 (CDNA3) and CDNA4 Instruction Set Architecture,
// "Flat Memory Instructions".
#include "simulator/instructions/Families.h"
#include "simulator/instructions/VectorMemory.h"

namespace heddle::simulator {
namespace {

uint64_t laneAddress(const Wave &wave, const Operand &address, unsigned lane) {
  return wave.v[address.index][lane] | uint64_t(wave.v[address.index + 1][lane]) << 32;
}

/// Operands in the order of these three: destination, address, data, base.
struct FlatPlaces {
  static constexpr bool loadsToLds = false; // other instructions do that
  static constexpr Places load = {.destination = 0, .address = 1}, store = {.data = 1, .address = 0},
                          atomic = {.data = 1, .address = 0},
                          atomicReturning = {.destination = 0, .data = 2, .address = 1};
};

/// Where the base stands: after the address, or after the data that follow it.
const Operand &baseOf(const Instruction &instruction) {
  return instruction.operands[instruction.operandCount - 1];
}

/// A 64-bit address of each lane, or a scalar base with a 32-bit offset of each lane.
struct GlobalStyle : FlatPlaces {
  static constexpr Space space = Space::Global;
  static constexpr uint8_t queues = MemoryRequest::Vector;
  static void resolve(Wave &wave, const Instruction &instruction, unsigned place, unsigned, MemoryRequest &request) {
    const Operand &address = instruction.operands[place], &base = baseOf(instruction);
    uint64_t offset = uint64_t(int64_t(instruction.modifiers.offset));
    if (base.kind == Operand::Kind::Scalar) {
      offset += wave.scalar64(base.index);
      const uint32_t *lanes = wave.v[address.index];
      for (unsigned lane = 0; lane < waveLanes; ++lane)
        request.address[lane] = offset + lanes[lane];
    } else
      for (unsigned lane = 0; lane < waveLanes; ++lane)
        request.address[lane] = offset + laneAddress(wave, address, lane);
    setAllInRange(request);
  }
};

struct FlatStyle : FlatPlaces {
  static constexpr Space space = Space::Flat;
  static constexpr uint8_t queues = MemoryRequest::Vector | MemoryRequest::Lds;
  static void resolve(Wave &wave, const Instruction &instruction, unsigned place, unsigned, MemoryRequest &request) {
    uint64_t offset = uint64_t(int64_t(instruction.modifiers.offset));
    for (unsigned lane = 0; lane < waveLanes; ++lane)
      request.address[lane] = offset + laneAddress(wave, instruction.operands[place], lane);
    setAllInRange(request);
  }
};

/// Offsets in a lane's scratch: of each lane, of all, or both.
struct ScratchStyle : FlatPlaces {
  static constexpr Space space = Space::Scratch;
  static constexpr uint8_t queues = MemoryRequest::Vector;
  static void resolve(Wave &wave, const Instruction &instruction, unsigned place, unsigned, MemoryRequest &request) {
    const Operand &address = instruction.operands[place], &base = baseOf(instruction);
    uint32_t offset = uint32_t(instruction.modifiers.offset);
    if (base.kind == Operand::Kind::Scalar)
      offset += wave.s[base.index];
    for (unsigned lane = 0; lane < waveLanes; ++lane)
      request.address[lane] = offset + (address.isVector() ? wave.v[address.index][lane] : 0);
    setAllInRange(request);
  }
};

} // namespace

void addGlobalMemory(InstructionTable &table) {
  VectorMemoryRows<GlobalStyle> global(table, "global_");
  global.addLoadsAndStores();
  global.addAtomics();
  global.addRow("load_lds_ubyte", executeLoadToLds<GlobalStyle, AccessForm{.bytes = 1}>, 0, readsM0);
  global.addRow("load_lds_sbyte", executeLoadToLds<GlobalStyle, AccessForm{.bytes = 1, .signExtend = true}>, 0,
                readsM0);
  global.addRow("load_lds_ushort", executeLoadToLds<GlobalStyle, AccessForm{.bytes = 2}>, 0, readsM0);
  global.addRow("load_lds_sshort", executeLoadToLds<GlobalStyle, AccessForm{.bytes = 2, .signExtend = true}>, 0,
                readsM0);
  global.addRow("load_lds_dword", executeLoadToLds<GlobalStyle, AccessForm{.bytes = 4}>, 0, readsM0);
  global.addRow("load_lds_dwordx3", executeLoadToLds<GlobalStyle, AccessForm{.bytes = 12}>, 0, readsM0,
                ChipSet::Gfx950);
  global.addRow("load_lds_dwordx4", executeLoadToLds<GlobalStyle, AccessForm{.bytes = 16}>, 0, readsM0,
                ChipSet::Gfx950);
  VectorMemoryRows<FlatStyle> flat(table, "flat_");
  flat.addLoadsAndStores();
  flat.addAtomics();
  VectorMemoryRows<ScratchStyle> scratch(table, "scratch_");
  scratch.addLoadsAndStores();
}

} // namespace heddle::simulator
