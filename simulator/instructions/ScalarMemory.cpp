// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads into scalar registers, the clocks, and what the scalar cache is told. Source: AMD Instinct MI300 (CDNA3)
// Instruction Set Architecture, SMEM.
#include "simulator/instructions/Families.h"
#include "simulator/instructions/InstructionTable.h"
#include "simulator/memory/MemoryPort.h"

namespace heddle::simulator {
namespace {

void landScalars(Wave &wave, MemoryRequest &request) {
  std::memcpy(wave.s + request.destination, request.scalarData, request.words * 4);
}

void sampleScalars(Wave &wave, MemoryRequest &request) {
  for (unsigned word = 0; word < request.words; ++word) {
    uint64_t address = request.address[0] + 4 * word;
    request.scalarData[word] = 0;
    if (!(request.lanes >> word & 1))
      continue;
    if (wave.memory->isDirect())
      std::memcpy(&request.scalarData[word], wave.memory->global.at(address, 4, false), 4);
    else
      wave.memory->read(wave, request, address, 4, &request.scalarData[word]);
  }
}

/// `s2`, `0x10` or `s2 offset:0x10`, in bytes.
uint64_t scalarOffset(const Wave &wave, const Instruction &instruction) {
  uint64_t offset = uint64_t(int64_t(instruction.modifiers.offset));
  const Operand &operand = instruction.operands[2];
  if (operand.kind == Operand::Kind::Constant)
    return offset + uint64_t(int64_t(int32_t(operand.constant))); // 21 bits, signed
  return offset + readUniform32(wave, operand);
}

template <unsigned words>
void loadScalars(Wave &wave, const Instruction &instruction) {
  MemoryRequest request;
  request.sample = sampleScalars;
  request.land = landScalars;
  request.instruction = &instruction;
  request.kind = RequestKind::Load;
  request.space = Space::Global;
  request.bytes = 4;
  request.queues = MemoryRequest::Scalar;
  request.words = words;
  request.destination = instruction.operands[0].index;
  request.lanes = (uint64_t(1) << words) - 1;
  // The two low bits of an address are dropped.
  request.address[0] = (readUniform64(wave, instruction.operands[1]) + scalarOffset(wave, instruction)) & ~uint64_t(3);
  wave.memory->issue(wave, request);
}

/// The base is a buffer descriptor: words beyond its records are 0.
template <unsigned words>
void loadScalarsFromBuffer(Wave &wave, const Instruction &instruction) {
  MemoryRequest request;
  const uint32_t *descriptor = wave.s + instruction.operands[1].index;
  uint64_t base = descriptor[0] | uint64_t(descriptor[1] & 0xffff) << 32;
  uint64_t stride = descriptor[1] >> 16 & 0x3fff, records = descriptor[2];
  uint64_t size = stride ? stride * records : records, offset = scalarOffset(wave, instruction) & ~uint64_t(3);
  request.sample = sampleScalars;
  request.land = landScalars;
  request.instruction = &instruction;
  request.kind = RequestKind::Load;
  request.space = Space::Global;
  request.bytes = 4;
  request.queues = MemoryRequest::Scalar;
  request.words = words;
  request.destination = instruction.operands[0].index;
  request.lanes = 0;
  for (unsigned word = 0; word < words; ++word)
    request.lanes |= uint64_t(offset + 4 * word + 4 <= size) << word;
  request.address[0] = base + offset;
  wave.memory->issue(wave, request);
}

/// A virtual clock that advances with what waves have executed.
void readClock(Wave &wave, const Instruction &instruction) {
  MemoryRequest request;
  request.sample = [](Wave &wave, MemoryRequest &request) {
    uint64_t ticks = wave.memory->now(wave);
    std::memcpy(request.scalarData, &ticks, sizeof ticks);
  };
  request.land = landScalars;
  request.instruction = &instruction;
  request.queues = MemoryRequest::Scalar;
  request.words = 2;
  request.destination = instruction.operands[0].index;
  wave.memory->issue(wave, request);
}

void doNothing(Wave &, const Instruction &) {}

} // namespace

void addScalarMemory(InstructionTable &table) {
  auto add = [&](std::string_view mnemonic, Execute execute, uint8_t destinations = 1) {
    table.add({.mnemonic = mnemonic, .execute = execute, .types = allOf(DataType::I32), .destinations = destinations});
  };
  add("s_load_dword", loadScalars<1>);
  add("s_load_dwordx2", loadScalars<2>);
  add("s_load_dwordx4", loadScalars<4>);
  add("s_load_dwordx8", loadScalars<8>);
  add("s_load_dwordx16", loadScalars<16>);
  add("s_buffer_load_dword", loadScalarsFromBuffer<1>);
  add("s_buffer_load_dwordx2", loadScalarsFromBuffer<2>);
  add("s_buffer_load_dwordx4", loadScalarsFromBuffer<4>);
  add("s_buffer_load_dwordx8", loadScalarsFromBuffer<8>);
  add("s_buffer_load_dwordx16", loadScalarsFromBuffer<16>);
  add("s_memtime", readClock);
  add("s_memrealtime", readClock);
  add("s_dcache_inv", doNothing, 0);
  add("s_dcache_wb", doNothing, 0);
  add("s_dcache_inv_vol", doNothing, 0);
  add("s_dcache_wb_vol", doNothing, 0);
}

} // namespace heddle::simulator
