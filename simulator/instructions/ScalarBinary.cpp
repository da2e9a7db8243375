// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scalar instructions of two sources. Source: AMD Instinct MI300 (CDNA3) Instruction Set Architecture, SOP2.
#include "simulator/instructions/Families.h"
#include "simulator/instructions/ScalarFrame.h"

namespace heddle::simulator {
namespace {

using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;
using i64 = int64_t;

u32 addWithCarry(u32 a, u32 b, u32 carry, Wave &wave) {
  u64 sum = u64(a) + b + carry;
  wave.scc = sum >> 32;
  return u32(sum);
}
u32 subtractWithBorrow(u32 a, u32 b, u32 borrow, Wave &wave) {
  wave.scc = u64(a) < u64(b) + borrow;
  return a - b - borrow;
}
i32 addSigned(i32 a, i32 b, Wave &wave) {
  i32 sum;
  wave.scc = __builtin_add_overflow(a, b, &sum);
  return sum;
}
i32 subtractSigned(i32 a, i32 b, Wave &wave) {
  i32 difference;
  wave.scc = __builtin_sub_overflow(a, b, &difference);
  return difference;
}
template <typename T>
T selectBy(bool takesFirst, T a, T b, Wave &wave) {
  wave.scc = takesFirst;
  return takesFirst ? a : b;
}
template <unsigned amount>
u32 shiftAndAdd(u32 a, u32 b, Wave &wave) {
  u64 sum = (u64(a) << amount) + b;
  wave.scc = sum >> 32 != 0;
  return u32(sum);
}
/// Fields are given by offset (low bits) and width (from bit 16).
template <typename T>
T extractField(T value, u32 field, Wave &wave) {
  constexpr unsigned bits = sizeof(T) * 8;
  unsigned offset = field & (bits - 1), width = field >> 16 & 127;
  if (width == 0)
    return withScc(wave, T(0));
  if (offset + width >= bits)
    return withScc(wave, T(value >> offset));
  using U = std::make_unsigned_t<T>;
  return withScc(wave, T(T(U(value) << (bits - offset - width)) >> (bits - width)));
}

void addArithmetic(InstructionTable &table) {
  table.add(scalarRow<[](u32 a, u32 b, Wave &w) { return addWithCarry(a, b, 0, w); }>("s_add_u32", writesScc));
  table.add(scalarRow<[](u32 a, u32 b, Wave &w) { return subtractWithBorrow(a, b, 0, w); }>("s_sub_u32", writesScc));
  table.add(scalarRow<[](u32 a, u32 b, Wave &w) { return addWithCarry(a, b, w.scc, w); }>("s_addc_u32",
                                                                                          readsScc | writesScc));
  table.add(scalarRow<[](u32 a, u32 b, Wave &w) { return subtractWithBorrow(a, b, w.scc, w); }>("s_subb_u32",
                                                                                                readsScc | writesScc));
  table.add(scalarRow<addSigned>("s_add_i32", writesScc));
  table.add(scalarRow<subtractSigned>("s_sub_i32", writesScc));
  table.add(scalarRow<[](i32 a, i32 b, Wave &w) { return selectBy(a < b, a, b, w); }>("s_min_i32", writesScc));
  table.add(scalarRow<[](u32 a, u32 b, Wave &w) { return selectBy(a < b, a, b, w); }>("s_min_u32", writesScc));
  table.add(scalarRow<[](i32 a, i32 b, Wave &w) { return selectBy(a > b, a, b, w); }>("s_max_i32", writesScc));
  table.add(scalarRow<[](u32 a, u32 b, Wave &w) { return selectBy(a > b, a, b, w); }>("s_max_u32", writesScc));
  table.add(scalarRow<[](u32 a, u32 b) { return a * b; }>("s_mul_i32"));
  table.add(scalarRow<[](u32 a, u32 b) { return u32(u64(a) * b >> 32); }>("s_mul_hi_u32"));
  table.add(scalarRow<[](i32 a, i32 b) { return i32(i64(a) * b >> 32); }>("s_mul_hi_i32"));
  table.add(scalarRow<shiftAndAdd<1>>("s_lshl1_add_u32", writesScc));
  table.add(scalarRow<shiftAndAdd<2>>("s_lshl2_add_u32", writesScc));
  table.add(scalarRow<shiftAndAdd<3>>("s_lshl3_add_u32", writesScc));
  table.add(scalarRow<shiftAndAdd<4>>("s_lshl4_add_u32", writesScc));
  table.add(scalarRow<[](i32 a, i32 b, Wave &w) {
    i64 difference = i64(a) - b;
    return withScc(w, u32(difference < 0 ? -difference : difference));
  }>("s_absdiff_i32", writesScc));
}

void addBits(InstructionTable &table) {
  table.add(scalarRow<[](u32 a, u32 b, Wave &w) { return withScc(w, a & b); }>("s_and_b32", writesScc));
  table.add(scalarRow<[](u64 a, u64 b, Wave &w) { return withScc(w, a & b); }>("s_and_b64", writesScc));
  table.add(scalarRow<[](u32 a, u32 b, Wave &w) { return withScc(w, a | b); }>("s_or_b32", writesScc));
  table.add(scalarRow<[](u64 a, u64 b, Wave &w) { return withScc(w, a | b); }>("s_or_b64", writesScc));
  table.add(scalarRow<[](u32 a, u32 b, Wave &w) { return withScc(w, a ^ b); }>("s_xor_b32", writesScc));
  table.add(scalarRow<[](u64 a, u64 b, Wave &w) { return withScc(w, a ^ b); }>("s_xor_b64", writesScc));
  table.add(scalarRow<[](u32 a, u32 b, Wave &w) { return withScc(w, a & ~b); }>("s_andn2_b32", writesScc));
  table.add(scalarRow<[](u64 a, u64 b, Wave &w) { return withScc(w, a & ~b); }>("s_andn2_b64", writesScc));
  table.add(scalarRow<[](u32 a, u32 b, Wave &w) { return withScc(w, a | ~b); }>("s_orn2_b32", writesScc));
  table.add(scalarRow<[](u64 a, u64 b, Wave &w) { return withScc(w, a | ~b); }>("s_orn2_b64", writesScc));
  table.add(scalarRow<[](u32 a, u32 b, Wave &w) { return withScc(w, ~(a & b)); }>("s_nand_b32", writesScc));
  table.add(scalarRow<[](u64 a, u64 b, Wave &w) { return withScc(w, ~(a & b)); }>("s_nand_b64", writesScc));
  table.add(scalarRow<[](u32 a, u32 b, Wave &w) { return withScc(w, ~(a | b)); }>("s_nor_b32", writesScc));
  table.add(scalarRow<[](u64 a, u64 b, Wave &w) { return withScc(w, ~(a | b)); }>("s_nor_b64", writesScc));
  table.add(scalarRow<[](u32 a, u32 b, Wave &w) { return withScc(w, ~(a ^ b)); }>("s_xnor_b32", writesScc));
  table.add(scalarRow<[](u64 a, u64 b, Wave &w) { return withScc(w, ~(a ^ b)); }>("s_xnor_b64", writesScc));
}

void addShifts(InstructionTable &table) {
  table.add(scalarRow<[](u32 a, u32 b, Wave &w) { return withScc(w, a << (b & 31)); }>("s_lshl_b32", writesScc));
  table.add(scalarRow<[](u64 a, u32 b, Wave &w) { return withScc(w, a << (b & 63)); }>("s_lshl_b64", writesScc));
  table.add(scalarRow<[](u32 a, u32 b, Wave &w) { return withScc(w, a >> (b & 31)); }>("s_lshr_b32", writesScc));
  table.add(scalarRow<[](u64 a, u32 b, Wave &w) { return withScc(w, a >> (b & 63)); }>("s_lshr_b64", writesScc));
  table.add(scalarRow<[](i32 a, u32 b, Wave &w) { return withScc(w, a >> (b & 31)); }>("s_ashr_i32", writesScc));
  table.add(scalarRow<[](i64 a, u32 b, Wave &w) { return withScc(w, a >> (b & 63)); }>("s_ashr_i64", writesScc));
  table.add(scalarRow<extractField<u32>>("s_bfe_u32", writesScc));
  table.add(scalarRow<extractField<i32>>("s_bfe_i32", writesScc));
  table.add(scalarRow<extractField<u64>>("s_bfe_u64", writesScc));
  table.add(scalarRow<extractField<i64>>("s_bfe_i64", writesScc));
  table.add(scalarRow<[](u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); }>("s_bfm_b32"));
  table.add(scalarRow<[](u32 a, u32 b) { return ((u64(1) << (a & 63)) - 1) << (b & 63); }>("s_bfm_b64"));
  table.add(scalarRow<[](u32 a, u32 b) { return (a & 0xffff) | b << 16; }>("s_pack_ll_b32_b16"));
  table.add(scalarRow<[](u32 a, u32 b) { return (a & 0xffff) | (b & 0xffff0000); }>("s_pack_lh_b32_b16"));
  table.add(scalarRow<[](u32 a, u32 b) { return a >> 16 | (b & 0xffff0000); }>("s_pack_hh_b32_b16"));
}

} // namespace

void addScalarBinary(InstructionTable &table) {
  addArithmetic(table);
  addBits(table);
  addShifts(table);
  table.add(scalarRow<[](u32 a, u32 b, Wave &w) { return w.scc ? a : b; }>("s_cselect_b32", readsScc));
  table.add(scalarRow<[](u64 a, u64 b, Wave &w) { return w.scc ? a : b; }>("s_cselect_b64", readsScc));
}

} // namespace heddle::simulator
