// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Moves, bit operations, shifts and counts of one value a lane. Sources: AMD Instinct MI300 (CDNA3) and CDNA4
// Instruction Set Architecture, VOP1, VOP2, VOP3.
#include "simulator/instructions/Families.h"
#include "simulator/instructions/VectorFrame.h"
#include "simulator/numbers/FloatFormats.h"

namespace heddle::simulator {
namespace {

constexpr auto reversedBits = [](uint32_t a) {
  a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
  a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
  a = (a >> 4 & 0x0F0F0F0Fu) | (a & 0x0F0F0F0Fu) << 4;
  return __builtin_bswap32(a);
};

/// One byte of v_perm: 0-3 and 4-7 name bytes of `low` and `high`, 8-11 their signs, 12 zero and the rest ones.
uint32_t permutedByte(uint64_t bytes, uint32_t selector) {
  if (selector < 8)
    return uint32_t(bytes >> (8 * selector)) & 0xFF;
  if (selector < 12)
    return bytes >> (16 * (selector - 8) + 15) & 1 ? 0xFF : 0;
  return selector == 12 ? 0 : 0xFF;
}

constexpr auto permuteBytes = [](uint32_t high, uint32_t low, uint32_t selectors) {
  uint64_t bytes = uint64_t(high) << 32 | low;
  uint32_t result = 0;
  for (unsigned byte = 0; byte < 4; ++byte)
    result |= permutedByte(bytes, selectors >> (8 * byte) & 0xFF) << (8 * byte);
  return result;
};

constexpr auto leadingSigns = [](int32_t value) {
  uint32_t differing = uint32_t(value ^ (value >> 31));
  return differing ? uint32_t(__builtin_clz(differing)) : ~0u;
};

constexpr auto extractSigned = [](int32_t value, uint32_t offset, uint32_t width) {
  width &= 31;
  auto field = uint32_t(value >> (offset & 31));
  return width ? int32_t(field << (32 - width)) >> (32 - width) : 0;
};

/// The truth table `table`, whose index has a's bit highest.
void executeBitwise3(Wave &wave, const Instruction &instruction, bool halves) {
  Rows storage[3], result;
  const uint32_t *sources[3];
  DataType type = halves ? DataType::B16 : DataType::B32;
  for (unsigned k = 0; k < 3; ++k) {
    Source source{readRow(wave, instruction.operands[k + 1], 0, storage[k].low)};
    applySourceModifiers(wave, instruction, k + 1, k, type, source, storage[k]);
    sources[k] = source.low;
  }
  uint32_t chosen[8];
  for (unsigned index = 0; index < 8; ++index)
    chosen[index] = instruction.modifiers.bitop3 >> index & 1 ? ~0u : 0;
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    uint32_t a = sources[0][lane], b = sources[1][lane], c = sources[2][lane];
    auto pick = [c](uint32_t zero, uint32_t one) { return (zero & ~c) | (one & c); };
    uint32_t a0 = (pick(chosen[0], chosen[1]) & ~b) | (pick(chosen[2], chosen[3]) & b);
    uint32_t a1 = (pick(chosen[4], chosen[5]) & ~b) | (pick(chosen[6], chosen[7]) & b);
    uint32_t value = (a0 & ~a) | (a1 & a);
    result.low[lane] = halves ? value & 0xFFFF : value;
  }
  uint64_t lanes = applyResultModifiers(wave, instruction, type, result);
  writeRow(wave.v[instruction.operands[0].index], result.low, lanes);
}

void executeBitwise3Whole(Wave &wave, const Instruction &instruction) {
  executeBitwise3(wave, instruction, false);
}
void executeBitwise3Halves(Wave &wave, const Instruction &instruction) {
  executeBitwise3(wave, instruction, true);
}

void executeSwap(Wave &wave, const Instruction &instruction) {
  Row first;
  std::memcpy(first, wave.v[instruction.operands[0].index], sizeof first);
  writeRow(wave, instruction.operands[0], 0, wave.v[instruction.operands[1].index]);
  writeRow(wave, instruction.operands[1], 0, first);
}

void addMoves(InstructionTable &table) {
  table.add(laneRow<[](uint32_t a) { return a; }>("v_mov_b32"));
  table.add(laneRow<[](uint64_t a) { return a; }>("v_mov_b64"));
  for (const char *name : {"v_accvgpr_read_b32", "v_accvgpr_write_b32", "v_accvgpr_mov_b32"})
    table.add(laneRow<[](uint32_t a) { return a; }>(name));
  table.add(laneRow<[](uint32_t a, uint32_t b, bool c) { return c ? b : a; }>("v_cndmask_b32"));
  table.add({.mnemonic = "v_swap_b32",
             .execute = executeSwap,
             .modified = executeSwap,
             .types = allOf(DataType::B32),
             .destinations = 2,
             .implicit = readsDestination});
  table.add(laneRow<permuteBytes>("v_perm_b32"));
  table.add(laneRow<[](uint16_t a, uint16_t b) { return uint32_t(b) << 16 | a; }>("v_pack_b32_f16"));
}

void addBitwise(InstructionTable &table) {
  table.add(laneRow<[](uint32_t a, uint32_t b) { return a & b; }>("v_and_b32"));
  table.add(laneRow<[](uint32_t a, uint32_t b) { return a | b; }>("v_or_b32"));
  table.add(laneRow<[](uint32_t a, uint32_t b) { return a ^ b; }>("v_xor_b32"));
  table.add(laneRow<[](uint32_t a, uint32_t b) { return ~(a ^ b); }>("v_xnor_b32"));
  table.add(laneRow<[](uint32_t a) { return ~a; }>("v_not_b32"));
  table.add(laneRow<[](uint32_t a, uint32_t b, uint32_t c) { return (a & b) | c; }>("v_and_or_b32"));
  table.add(laneRow<[](uint32_t a, uint32_t b, uint32_t c) { return a | b | c; }>("v_or3_b32"));
  table.add(laneRow<[](uint32_t a, uint32_t b, uint32_t c) { return (a & b) | (~a & c); }>("v_bfi_b32"));
  InstructionRow whole{.mnemonic = "v_bitop3_b32",
                       .execute = executeBitwise3Whole,
                       .modified = executeBitwise3Whole,
                       .types = allOf(DataType::B32),
                       .chips = ChipSet::Gfx950};
  InstructionRow halves{.mnemonic = "v_bitop3_b16",
                        .execute = executeBitwise3Halves,
                        .modified = executeBitwise3Halves,
                        .types = allOf(DataType::B16),
                        .implicit = keepsHighHalf,
                        .chips = ChipSet::Gfx950};
  table.add(whole);
  table.add(halves);
}

void addShifts(InstructionTable &table) {
  table.add(laneRow<[](uint32_t amount, uint32_t value) { return value << (amount & 31); }>("v_lshlrev_b32"));
  table.add(laneRow<[](uint32_t amount, uint32_t value) { return value >> (amount & 31); }>("v_lshrrev_b32"));
  table.add(laneRow<[](uint32_t amount, int32_t value) { return value >> (amount & 31); }>("v_ashrrev_i32"));
  table.add(laneRow<[](uint32_t amount, uint64_t value) { return value << (amount & 63); }>("v_lshlrev_b64"));
  table.add(laneRow<[](uint32_t amount, uint64_t value) { return value >> (amount & 63); }>("v_lshrrev_b64"));
  table.add(laneRow<[](uint32_t amount, int64_t value) { return value >> (amount & 63); }>("v_ashrrev_i64"));
  table.add(laneRow<[](uint16_t amount, uint16_t value) { return uint16_t(value << (amount & 15)); }>("v_lshlrev_b16"));
  table.add(laneRow<[](uint16_t amount, uint16_t value) { return uint16_t(value >> (amount & 15)); }>("v_lshrrev_b16"));
  table.add(laneRow<[](uint16_t amount, int16_t value) { return int16_t(value >> (amount & 15)); }>("v_ashrrev_i16"));
  table.add(laneRow<[](uint32_t a, uint32_t b, uint32_t c) { return (a << (b & 31)) | c; }>("v_lshl_or_b32"));
  table.add(laneRow<[](uint32_t a, uint32_t b, uint32_t c) { return uint32_t((uint64_t(a) << 32 | b) >> (c & 31)); }>(
      "v_alignbit_b32"));
  table.add(
      laneRow<[](uint32_t a, uint32_t b, uint32_t c) { return uint32_t((uint64_t(a) << 32 | b) >> (8 * (c & 3))); }>(
          "v_alignbyte_b32"));
}

void addFields(InstructionTable &table) {
  table.add(laneRow<[](uint32_t value, uint32_t offset, uint32_t width) {
    return value >> (offset & 31) & ((1u << (width & 31)) - 1);
  }>("v_bfe_u32"));
  table.add(laneRow<extractSigned>("v_bfe_i32"));
  table.add(laneRow<[](uint32_t width, uint32_t offset) { return ((1u << (width & 31)) - 1) << (offset & 31); }>(
      "v_bfm_b32"));
  table.add(laneRow<reversedBits>("v_bfrev_b32"));
  table.add(laneRow<[](uint32_t a) { return a ? uint32_t(__builtin_clz(a)) : ~0u; }>("v_ffbh_u32"));
  table.add(laneRow<leadingSigns>("v_ffbh_i32"));
  table.add(laneRow<[](uint32_t a) { return a ? uint32_t(__builtin_ctz(a)) : ~0u; }>("v_ffbl_b32"));
  table.add(laneRow<[](uint32_t a, uint32_t b) { return uint32_t(__builtin_popcount(a)) + b; }>("v_bcnt_u32_b32"));
  // Bits of the mask that belong to lanes below this one, in the lower and in the upper 32 lanes.
  table.add(laneRow<[](uint32_t mask, uint32_t sum, LaneIndex lane) {
    uint32_t below = lane.value < 32 ? (1u << lane.value) - 1 : ~0u;
    return uint32_t(__builtin_popcount(mask & below)) + sum;
  }>("v_mbcnt_lo_u32_b32"));
  table.add(laneRow<[](uint32_t mask, uint32_t sum, LaneIndex lane) {
    uint32_t below = lane.value < 32 ? 0 : (1u << (lane.value - 32)) - 1;
    return uint32_t(__builtin_popcount(mask & below)) + sum;
  }>("v_mbcnt_hi_u32_b32"));
  InstructionRow random = laneRow<[](uint32_t state) { return nextRandom(state); }>("v_prng_b32");
  random.chips = ChipSet::Gfx950;
  table.add(random);
}

} // namespace

void addVectorBits(InstructionTable &table) {
  addMoves(table);
  addBitwise(table);
  addShifts(table);
  addFields(table);
}

} // namespace heddle::simulator
