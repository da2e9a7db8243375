// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads into scalar registers, and the clocks. Source: AMD Instinct MI300 (CDNA3)
// Instruction Set Architecture, SMEM.
#include "simulator/instructions/ScalarMemory.h"
#include "simulator/instructions/Families.h"
#include "simulator/instructions/InstructionTable.h"

namespace heddle::simulator {
namespace {

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
  request.scope = scalarScope(instruction);
  request.destination = instruction.operands[0].index;
  request.lanes = (uint64_t(1) << words) - 1;
  request.address[0] = scalarAddress(wave, instruction);
  wave.memory->issue(wave, request);
}

/// The base is a buffer descriptor: words beyond its records are 0.
template <unsigned words>
void loadScalarsFromBuffer(Wave &wave, const Instruction &instruction) {
  MemoryRequest request;
  ScalarRange range(wave, instruction);
  request.sample = sampleScalars;
  request.land = landScalars;
  request.instruction = &instruction;
  request.kind = RequestKind::Load;
  request.space = Space::Global;
  request.bytes = 4;
  request.queues = MemoryRequest::Scalar;
  request.words = words;
  request.scope = scalarScope(instruction);
  request.destination = instruction.operands[0].index;
  request.lanes = range.words(words);
  request.address[0] = range.base + range.offset;
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
}

} // namespace heddle::simulator
