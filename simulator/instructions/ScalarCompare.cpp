// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scalar comparisons, which set SCC, and instructions with a 16-bit immediate. Source: AMD Instinct MI300 (CDNA3)
// Instruction Set Architecture, SOPC and SOPK.
#include "simulator/instructions/Families.h"
#include "simulator/instructions/HardwareRegisters.h"
#include "simulator/instructions/ScalarFrame.h"

namespace heddle::simulator {
namespace {

using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;

template <typename T, auto compare>
void compareRegisters(T a, T b, Wave &wave) {
  wave.scc = compare(a, b);
}
/// With the immediate, sign- or zero-extended as T is signed or not.
template <typename T, auto compare>
void compareImmediate(Wave &wave, const Instruction &instruction) {
  T immediate = std::is_signed_v<T> ? T(int16_t(instruction.immediate)) : T(instruction.immediate);
  wave.scc = compare(readScalar<T>(wave, instruction.operands[0]), immediate);
}

/// One relation of the four forms: i32 and u32, with a register and with the immediate.
struct Names {
  std::string_view i32, u32, immediateI32, immediateU32;
};
template <auto compare>
void addRelation(InstructionTable &table, const Names &names) {
  table.add(scalarRow<compareRegisters<i32, compare>>(names.i32, writesScc));
  table.add(scalarRow<compareRegisters<u32, compare>>(names.u32, writesScc));
  OperandTypes types = allOf(DataType::B32);
  table.add({.mnemonic = names.immediateI32,
             .execute = compareImmediate<i32, compare>,
             .types = types,
             .destinations = 0,
             .implicit = writesScc});
  table.add({.mnemonic = names.immediateU32,
             .execute = compareImmediate<u32, compare>,
             .types = types,
             .destinations = 0,
             .implicit = writesScc});
}

void moveImmediate(Wave &wave, const Instruction &instruction) {
  writeUniform32(wave, instruction.operands[0], u32(i32(int16_t(instruction.immediate))));
}
void moveImmediateIf(Wave &wave, const Instruction &instruction) {
  if (wave.scc)
    moveImmediate(wave, instruction);
}
void addImmediate(Wave &wave, const Instruction &instruction) {
  i32 sum;
  wave.scc = __builtin_add_overflow(i32(readUniform32(wave, instruction.operands[0])),
                                    i32(int16_t(instruction.immediate)), &sum);
  writeUniform32(wave, instruction.operands[0], u32(sum));
}
void multiplyImmediate(Wave &wave, const Instruction &instruction) {
  u32 factor = u32(i32(int16_t(instruction.immediate)));
  writeUniform32(wave, instruction.operands[0], readUniform32(wave, instruction.operands[0]) * factor);
}
void callRelative(Wave &wave, const Instruction &instruction) {
  writeUniform64(wave, instruction.operands[0], wave.pc);
  wave.pc += u64(int64_t(int16_t(instruction.immediate)) * 4);
}

/// The immediate names a field: register 5:0, first bit 10:6, width - 1 in 15:11.
struct Field {
  explicit Field(uint16_t immediate)
      : id(immediate & 63), first(immediate >> 6 & 31), mask(u32((u64(2) << (immediate >> 11)) - 1)) {}
  unsigned id, first;
  u32 mask;
};
void getRegister(Wave &wave, const Instruction &instruction) {
  Field field(instruction.immediate);
  writeUniform32(wave, instruction.operands[0], readHardwareRegister(wave, field.id) >> field.first & field.mask);
}
void setField(Wave &wave, const Instruction &instruction, u32 value) {
  Field field(instruction.immediate);
  u32 mask = field.mask << field.first;
  writeHardwareRegister(wave, field.id, (readHardwareRegister(wave, field.id) & ~mask) | (value << field.first & mask));
}
void setRegister(Wave &wave, const Instruction &instruction) {
  setField(wave, instruction, readUniform32(wave, instruction.operands[1]));
}
void setRegisterImmediate(Wave &wave, const Instruction &instruction) {
  setField(wave, instruction, u32(instruction.encoding >> 32));
}

} // namespace

void addScalarCompare(InstructionTable &table) {
  addRelation<[](auto a, auto b) { return a == b; }>(
      table, {"s_cmp_eq_i32", "s_cmp_eq_u32", "s_cmpk_eq_i32", "s_cmpk_eq_u32"});
  addRelation<[](auto a, auto b) { return a != b; }>(
      table, {"s_cmp_lg_i32", "s_cmp_lg_u32", "s_cmpk_lg_i32", "s_cmpk_lg_u32"});
  addRelation<[](auto a, auto b) { return a > b; }>(table,
                                                    {"s_cmp_gt_i32", "s_cmp_gt_u32", "s_cmpk_gt_i32", "s_cmpk_gt_u32"});
  addRelation<[](auto a, auto b) { return a >= b; }>(
      table, {"s_cmp_ge_i32", "s_cmp_ge_u32", "s_cmpk_ge_i32", "s_cmpk_ge_u32"});
  addRelation<[](auto a, auto b) { return a < b; }>(table,
                                                    {"s_cmp_lt_i32", "s_cmp_lt_u32", "s_cmpk_lt_i32", "s_cmpk_lt_u32"});
  addRelation<[](auto a, auto b) { return a <= b; }>(
      table, {"s_cmp_le_i32", "s_cmp_le_u32", "s_cmpk_le_i32", "s_cmpk_le_u32"});
  table.add(scalarRow<[](u64 a, u64 b, Wave &w) { w.scc = a == b; }>("s_cmp_eq_u64", writesScc));
  table.add(scalarRow<[](u64 a, u64 b, Wave &w) { w.scc = a != b; }>("s_cmp_lg_u64", writesScc));
  table.add(scalarRow<[](u32 a, u32 b, Wave &w) { w.scc = !(a >> (b & 31) & 1); }>("s_bitcmp0_b32", writesScc));
  table.add(scalarRow<[](u32 a, u32 b, Wave &w) { w.scc = a >> (b & 31) & 1; }>("s_bitcmp1_b32", writesScc));
  table.add(scalarRow<[](u64 a, u32 b, Wave &w) { w.scc = !(a >> (b & 63) & 1); }>("s_bitcmp0_b64", writesScc));
  table.add(scalarRow<[](u64 a, u32 b, Wave &w) { w.scc = a >> (b & 63) & 1; }>("s_bitcmp1_b64", writesScc));
  OperandTypes types = allOf(DataType::B32);
  table.add({.mnemonic = "s_movk_i32", .execute = moveImmediate, .types = types});
  table.add(
      {.mnemonic = "s_cmovk_i32", .execute = moveImmediateIf, .types = types, .implicit = readsScc | readsDestination});
  table.add(
      {.mnemonic = "s_addk_i32", .execute = addImmediate, .types = types, .implicit = writesScc | readsDestination});
  table.add({.mnemonic = "s_mulk_i32", .execute = multiplyImmediate, .types = types, .implicit = readsDestination});
  table.add({.mnemonic = "s_call_b64", .execute = callRelative, .types = types});
  table.add({.mnemonic = "s_getreg_b32", .execute = getRegister, .types = types});
  table.add({.mnemonic = "s_setreg_b32", .execute = setRegister, .types = types, .destinations = 0});
  table.add({.mnemonic = "s_setreg_imm32_b32", .execute = setRegisterImmediate, .types = types, .destinations = 0});
}

} // namespace heddle::simulator
