// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LDS reads that transpose (gfx950). The CDNA 4 manual says only that a matrix is transposed; which one is taken from
// rocRoller's tests on such chips (TransposeLoadsTest) and from Triton's lowering of `ds_read_tr`, which agree: what 16
// lanes read, one lane after the other, is a matrix with rows of 16 elements, and each of the lanes gets a column.
// rocjitsu has other groups for 4, 6 and 8 bits.
#include "simulator/instructions/LocalTranspose.h"
#include "simulator/instructions/Families.h"
#include "simulator/instructions/MemoryAccess.h"

namespace heddle::simulator {
namespace {

constexpr unsigned lanesOfMatrix = 16, columns = 16;

/// The element number `item` of the words of a lane.
uint32_t elementAt(const Row *data, unsigned bits, unsigned lane, unsigned item) {
  unsigned bit = item * bits, word = bit / 32;
  uint64_t pair = data[word][lane];
  if (bit % 32 + bits > 32) // 6 bits on both sides of a word's end
    pair |= uint64_t(data[word + 1][lane]) << 32;
  return uint32_t(pair >> bit % 32) & ((1u << bits) - 1);
}

template <unsigned bits, unsigned words>
void transpose(Row *data) {
  constexpr unsigned perLane = 32 * words / bits;
  uint32_t transposed[words + 1][waveLanes] =
      {}; // one more: the last element of 6 bits is written with what follows it
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    unsigned firstLane = lane / lanesOfMatrix * lanesOfMatrix, column = lane % lanesOfMatrix;
    for (unsigned row = 0; row < perLane; ++row) {
      unsigned place = row * columns + column, bit = row * bits;
      uint64_t element = elementAt(data, bits, firstLane + place / perLane, place % perLane);
      transposed[bit / 32][lane] |= uint32_t(element << bit % 32);
      transposed[bit / 32 + 1][lane] |= uint32_t(element << bit % 32 >> 32);
    }
  }
  std::memcpy(data, transposed, words * sizeof(Row));
}

template <unsigned bits, unsigned words>
void sampleTransposed(Wave &wave, MemoryRequest &request) {
  sampleLoad<Space::Lds, AccessForm{.bytes = 4 * words}>(wave, request);
  transpose<bits, words>(request.data);
}

/// The manual wants every lane active and addresses that are multiples of the data's size; 96 bits need multiples of 16
/// bytes (rocRoller).
template <unsigned bits, unsigned words>
void readTransposed(Wave &wave, const Instruction &instruction) {
  constexpr uint32_t alignment = words == 3 ? 16 : 4 * words;
  if (instruction.modifiers.gds)
    throw Fault("uses global data share, which this chip does not have");
  if (wave.exec() != allLanes)
    throw Fault("reads a transposed matrix with inactive lanes");
  MemoryRequest request;
  request.instruction = &instruction;
  request.kind = RequestKind::Load;
  request.space = Space::Lds;
  request.scope = Scope::Workgroup;
  request.bytes = 4 * words;
  request.queues = MemoryRequest::Lds;
  request.lanes = allLanes;
  const uint32_t *lanes = wave.v[instruction.operands[1].index];
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    request.address[lane] = uint32_t(lanes[lane] + uint32_t(instruction.modifiers.offset));
    if (request.address[lane] % alignment) {
      Fault fault("reads a transposed matrix at an LDS address that is no multiple of " + std::to_string(alignment));
      fault.lane = int(lane);
      throw fault;
    }
  }
  setAllInRange(request);
  request.sample = sampleTransposed<bits, words>;
  request.land = landRegisters<AccessForm{.bytes = 4 * words}>;
  request.words = words;
  request.destination = instruction.operands[0].index;
  wave.memory->issue(wave, request);
}

} // namespace

void transposeLanes(std::string_view mnemonic, Row (&words)[mostWordsPerLane]) {
  if (mnemonic == "ds_read_b64_tr_b16")
    transpose<16, 2>(words);
  else if (mnemonic == "ds_read_b64_tr_b8")
    transpose<8, 2>(words);
  else if (mnemonic == "ds_read_b64_tr_b4")
    transpose<4, 2>(words);
  else if (mnemonic == "ds_read_b96_tr_b6")
    transpose<6, 3>(words);
}

void addLocalTranspose(InstructionTable &table) {
  auto add = [&](const char *mnemonic, Execute execute) {
    table.add({.mnemonic = mnemonic, .execute = execute, .types = allOf(DataType::B32), .chips = ChipSet::Gfx950});
  };
  add("ds_read_b64_tr_b16", readTransposed<16, 2>);
  add("ds_read_b64_tr_b8", readTransposed<8, 2>);
  add("ds_read_b64_tr_b4", readTransposed<4, 2>);
  add("ds_read_b96_tr_b6", readTransposed<6, 3>);
}

} // namespace heddle::simulator
