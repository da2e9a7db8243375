// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scalar instructions of one source. Source: AMD Instinct MI300 (CDNA3) Instruction Set Architecture, SOP1.
#include "simulator/instructions/Families.h"
#include "simulator/instructions/ScalarFrame.h"

namespace heddle::simulator {
namespace {

using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;
using i64 = int64_t;

/// Bit position, or -1.
template <typename T>
i32 findLowest(T value) {
  return value ? std::countr_zero(value) : -1;
}
template <typename T>
i32 findHighestFromTop(T value) {
  return value ? std::countl_zero(value) : -1;
}
/// How many bits from the top equal the sign, or -1 when all do.
template <typename T>
i32 findSignChange(T value) {
  using U = std::make_unsigned_t<T>;
  return findHighestFromTop(U(value < 0 ? ~value : value));
}
template <typename T>
T reverseBits(T value) {
  if constexpr (sizeof(T) == 8)
    return __builtin_bitreverse64(value);
  else
    return __builtin_bitreverse32(value);
}
/// A bit for every four whose any bit is set: in all four of them, or packed together.
u64 wholeQuads(u64 value) {
  u64 any = (value | value >> 1 | value >> 2 | value >> 3) & 0x1111111111111111;
  return any * 15;
}
u64 packQuads(u64 value) {
  u64 quads = 0;
  for (unsigned quad = 0; quad < 16; ++quad)
    quads |= u64((value >> (4 * quad) & 15) != 0) << quad;
  return quads;
}

/// Old EXEC is the result; the new one is made of the source and the old one.
template <auto combine>
u64 saveExec(u64 source, Wave &wave) {
  u64 old = wave.exec();
  wave.setExec(combine(source, old));
  wave.scc = wave.exec() != 0;
  return old;
}
template <auto combine>
u64 writeExec(u64 source, Wave &wave) {
  wave.setExec(combine(source, wave.exec()));
  wave.scc = wave.exec() != 0;
  return wave.exec();
}

void addMoves(InstructionTable &table) {
  table.add(scalarRow<[](u32 a) { return a; }>("s_mov_b32"));
  table.add(scalarRow<[](u64 a) { return a; }>("s_mov_b64"));
  table.add({.mnemonic = "s_cmov_b32",
             .execute =
                 [](Wave &wave, const Instruction &instruction) {
                   if (wave.scc)
                     writeUniform32(wave, instruction.operands[0], readUniform32(wave, instruction.operands[1]));
                 },
             .types = allOf(DataType::B32),
             .implicit = readsScc | readsDestination});
  table.add({.mnemonic = "s_cmov_b64",
             .execute =
                 [](Wave &wave, const Instruction &instruction) {
                   if (wave.scc)
                     writeUniform64(wave, instruction.operands[0], readUniform64(wave, instruction.operands[1]));
                 },
             .types = allOf(DataType::B64),
             .implicit = readsScc | readsDestination});
}

void addBitCounts(InstructionTable &table) {
  table.add(scalarRow<[](u32 a, Wave &w) { return withScc(w, ~a); }>("s_not_b32", writesScc));
  table.add(scalarRow<[](u64 a, Wave &w) { return withScc(w, ~a); }>("s_not_b64", writesScc));
  table.add(scalarRow<[](u32 a, Wave &w) { return withScc(w, u32(wholeQuads(a))); }>("s_wqm_b32", writesScc));
  table.add(scalarRow<[](u64 a, Wave &w) { return withScc(w, wholeQuads(a)); }>("s_wqm_b64", writesScc));
  table.add(scalarRow<[](u32 a, Wave &w) { return withScc(w, u32(packQuads(a))); }>("s_quadmask_b32", writesScc));
  table.add(scalarRow<[](u64 a, Wave &w) { return withScc(w, packQuads(a)); }>("s_quadmask_b64", writesScc));
  table.add(scalarRow<reverseBits<u32>>("s_brev_b32"));
  table.add(scalarRow<reverseBits<u64>>("s_brev_b64"));
  table.add(scalarRow<[](u32 a, Wave &w) { return withScc(w, u32(std::popcount(~a))); }>("s_bcnt0_i32_b32", writesScc));
  table.add(scalarRow<[](u64 a, Wave &w) { return withScc(w, u32(std::popcount(~a))); }>("s_bcnt0_i32_b64", writesScc));
  table.add(scalarRow<[](u32 a, Wave &w) { return withScc(w, u32(std::popcount(a))); }>("s_bcnt1_i32_b32", writesScc));
  table.add(scalarRow<[](u64 a, Wave &w) { return withScc(w, u32(std::popcount(a))); }>("s_bcnt1_i32_b64", writesScc));
  table.add(scalarRow<[](u32 a) { return findLowest(~a); }>("s_ff0_i32_b32"));
  table.add(scalarRow<[](u64 a) { return findLowest(~a); }>("s_ff0_i32_b64"));
  table.add(scalarRow<findLowest<u32>>("s_ff1_i32_b32"));
  table.add(scalarRow<findLowest<u64>>("s_ff1_i32_b64"));
  table.add(scalarRow<findHighestFromTop<u32>>("s_flbit_i32_b32"));
  table.add(scalarRow<findHighestFromTop<u64>>("s_flbit_i32_b64"));
  table.add(scalarRow<findSignChange<i32>>("s_flbit_i32"));
  table.add(scalarRow<findSignChange<i64>>("s_flbit_i32_i64"));
  table.add(scalarRow<[](u32 a) { return i32(int8_t(a)); }>("s_sext_i32_i8"));
  table.add(scalarRow<[](u32 a) { return i32(int16_t(a)); }>("s_sext_i32_i16"));
  table.add(scalarRow<[](u32 a, Wave &w) { return withScc(w, i32(a) < 0 ? -a : a); }>("s_abs_i32", writesScc));
}

/// The destination's old value is their second source.
template <typename T, bool set>
void setBit(Wave &wave, const Instruction &instruction) {
  T bit = T(1) << (readUniform32(wave, instruction.operands[1]) & (sizeof(T) * 8 - 1));
  T old = readScalar<T>(wave, instruction.operands[0]);
  writeScalar<T>(wave, instruction.operands[0], set ? old | bit : old & ~bit);
}

void addExecMasks(InstructionTable &table) {
  constexpr uint16_t implicit = writesScc | readsExec | writesExec;
  table.add(scalarRow<saveExec<[](u64 s, u64 e) { return s & e; }>>("s_and_saveexec_b64", implicit));
  table.add(scalarRow<saveExec<[](u64 s, u64 e) { return s | e; }>>("s_or_saveexec_b64", implicit));
  table.add(scalarRow<saveExec<[](u64 s, u64 e) { return s ^ e; }>>("s_xor_saveexec_b64", implicit));
  table.add(scalarRow<saveExec<[](u64 s, u64 e) { return s & ~e; }>>("s_andn2_saveexec_b64", implicit));
  table.add(scalarRow<saveExec<[](u64 s, u64 e) { return s | ~e; }>>("s_orn2_saveexec_b64", implicit));
  table.add(scalarRow<saveExec<[](u64 s, u64 e) { return ~(s & e); }>>("s_nand_saveexec_b64", implicit));
  table.add(scalarRow<saveExec<[](u64 s, u64 e) { return ~(s | e); }>>("s_nor_saveexec_b64", implicit));
  table.add(scalarRow<saveExec<[](u64 s, u64 e) { return ~(s ^ e); }>>("s_xnor_saveexec_b64", implicit));
  table.add(scalarRow<saveExec<[](u64 s, u64 e) { return ~s & e; }>>("s_andn1_saveexec_b64", implicit));
  table.add(scalarRow<saveExec<[](u64 s, u64 e) { return ~s | e; }>>("s_orn1_saveexec_b64", implicit));
  table.add(scalarRow<writeExec<[](u64 s, u64 e) { return ~s & e; }>>("s_andn1_wrexec_b64", implicit));
  table.add(scalarRow<writeExec<[](u64 s, u64 e) { return s & ~e; }>>("s_andn2_wrexec_b64", implicit));
}

void addJumps(InstructionTable &table) {
  table.add(scalarRow<[](Wave &w) { return w.pc; }>("s_getpc_b64"));
  table.add(scalarRow<[](u64 target, Wave &w) { w.pc = target; }>("s_setpc_b64"));
  table.add(scalarRow<[](u64 target, Wave &w) { return std::exchange(w.pc, target); }>("s_swappc_b64"));
}

} // namespace

void addScalarUnary(InstructionTable &table) {
  addMoves(table);
  addBitCounts(table);
  addExecMasks(table);
  addJumps(table);
  OperandTypes words = allOf(DataType::B32);
  table.add({.mnemonic = "s_bitset0_b32", .execute = setBit<u32, false>, .types = words, .implicit = readsDestination});
  table.add({.mnemonic = "s_bitset1_b32", .execute = setBit<u32, true>, .types = words, .implicit = readsDestination});
  table.add({.mnemonic = "s_bitset0_b64", .execute = setBit<u64, false>, .types = words, .implicit = readsDestination});
  table.add({.mnemonic = "s_bitset1_b64", .execute = setBit<u64, true>, .types = words, .implicit = readsDestination});
}

} // namespace heddle::simulator
