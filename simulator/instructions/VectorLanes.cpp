// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions that move values between lanes or between a lane and a scalar register. Sources: AMD Instinct
// MI300 (CDNA3) and CDNA4 Instruction Set Architecture, VOP1, VOP3.
#include "simulator/instructions/Families.h"
#include "simulator/instructions/InstructionTable.h"
#include "simulator/instructions/LaneMoves.h"
#include "simulator/memory/MemoryPort.h"
#include <bit>

namespace heddle::simulator {
namespace {

/// Of the first active lane; of lane 0 where none is.
void executeReadFirstLane(Wave &wave, const Instruction &instruction) {
  uint64_t active = wave.exec();
  unsigned lane = active ? unsigned(std::countr_zero(active)) : 0;
  writeUniform32(wave, instruction.operands[0], wave.v[instruction.operands[1].index][lane]);
}

void executeReadLane(Wave &wave, const Instruction &instruction) {
  unsigned lane = readUniform32(wave, instruction.operands[2]) % waveLanes;
  writeUniform32(wave, instruction.operands[0], wave.v[instruction.operands[1].index][lane]);
}

void executeWriteLane(Wave &wave, const Instruction &instruction) {
  unsigned lane = readUniform32(wave, instruction.operands[2]) % waveLanes;
  wave.v[instruction.operands[0].index][lane] = readUniform32(wave, instruction.operands[1]);
}

template <unsigned width>
void executeSwapRows(Wave &wave, const Instruction &instruction) {
  Row first, second;
  swapRows(width, wave.v[instruction.operands[0].index], wave.v[instruction.operands[1].index], first, second);
  writeRow(wave, instruction.operands[0], 0, first);
  writeRow(wave, instruction.operands[1], 0, second);
}

/// The result lands when the wave waits for it, as that of an LDS read.
template <typename Move>
void issueMove(Wave &wave, const Instruction &instruction, Move move) {
  MemoryRequest request;
  request.instruction = &instruction;
  request.queues = MemoryRequest::Lds;
  request.lanes = wave.exec();
  request.destination = instruction.operands[0].index;
  move(request.data[0]);
  request.sample = [](Wave &, MemoryRequest &) {};
  request.land = [](Wave &wave, MemoryRequest &request) {
    writeRow(wave.v[request.destination], request.data[0], request.lanes);
  };
  wave.memory->issue(wave, request);
}

void executePermuteBackward(Wave &wave, const Instruction &instruction) {
  issueMove(wave, instruction, [&](Row &result) {
    permuteBackward(wave.v[instruction.operands[1].index], uint32_t(instruction.modifiers.offset),
                    wave.v[instruction.operands[2].index], wave.exec(), result);
  });
}

void executePermuteForward(Wave &wave, const Instruction &instruction) {
  issueMove(wave, instruction, [&](Row &result) {
    permuteForward(wave.v[instruction.operands[1].index], uint32_t(instruction.modifiers.offset),
                   wave.v[instruction.operands[2].index], wave.exec(), result);
  });
}

void executeSwizzle(Wave &wave,
                    const Instruction &instruction) { // the text has the pattern by name, the encoding in bits
  issueMove(wave, instruction, [&](Row &result) {
    swizzle(instruction.immediate, wave.v[instruction.operands[1].index], wave.exec(), result);
  });
}

} // namespace

void addVectorLanes(InstructionTable &table) {
  auto add = [&table](const char *name, Execute execute, uint8_t destinations, uint16_t implicit, ChipSet chips) {
    table.add({.mnemonic = name,
               .execute = execute,
               .modified = execute,
               .types = allOf(DataType::B32),
               .destinations = destinations,
               .implicit = implicit,
               .chips = chips});
  };
  add("v_readfirstlane_b32", executeReadFirstLane, 1, 0, ChipSet::Both);
  add("v_readlane_b32", executeReadLane, 1, ignoresExec, ChipSet::Both);
  add("v_writelane_b32", executeWriteLane, 1, ignoresExec | readsDestination, ChipSet::Both);
  add("ds_bpermute_b32", executePermuteBackward, 1, 0, ChipSet::Both);
  add("ds_permute_b32", executePermuteForward, 1, 0, ChipSet::Both);
  add("ds_swizzle_b32", executeSwizzle, 1, 0, ChipSet::Both);
  add("v_permlane16_swap_b32", executeSwapRows<16>, 2, readsDestination, ChipSet::Gfx950);
  add("v_permlane32_swap_b32", executeSwapRows<32>, 2, readsDestination, ChipSet::Gfx950);
}

} // namespace heddle::simulator
