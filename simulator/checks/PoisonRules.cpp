// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One function for each kind of instruction, on bits of values and bits of poison.
#include "simulator/checks/PoisonRules.h"
#include <unordered_map>

namespace heddle::simulator {

uint64_t poisonOfTable(uint8_t table, const PoisonBits &a, const PoisonBits &b, const PoisonBits &c) {
  uint64_t canBe[2] = {0, 0};
  auto matches = [](const PoisonBits &source, bool one) {
    return source.poison | (one ? source.value : ~source.value);
  };
  for (unsigned index = 0; index < 8; ++index)
    canBe[table >> index & 1] |= matches(a, index & 4) & matches(b, index & 2) & matches(c, index & 1);
  return canBe[0] & canBe[1];
}

namespace {

using Sources = const PoisonBits (&)[mostRuleSources];
constexpr uint64_t all = ~uint64_t(0);

template <uint8_t table>
uint64_t boolean(Sources s) {
  return poisonOfTable(table, s[0], s[1], s[2]);
}
constexpr uint8_t tableAnd = 0xC0, tableOr = 0xFC, tableXor = 0x3C, tableXnor = 0xC3, tableNot = 0x0F,
                  tableAndNot = 0x30, tableOrNot = 0xF3, tableNand = 0x3F, tableNor = 0x03;

PoisonBits orOf(const PoisonBits &a, const PoisonBits &b) {
  return {poisonOfTable(tableOr, a, b, {}), a.value | b.value};
}

uint64_t copy(Sources s) {
  return s[0].poison;
}

// Shifts of `bits` bits; the amount is source `amount` and the value the other one.

template <unsigned bits, unsigned amount>
uint64_t shiftLeft(Sources s) {
  return s[amount].poison ? all : s[1 - amount].poison << (s[amount].value & (bits - 1));
}
template <unsigned bits, unsigned amount>
uint64_t shiftRight(Sources s) {
  uint64_t mask = all >> (64 - bits);
  return s[amount].poison ? all : (s[1 - amount].poison & mask) >> (s[amount].value & (bits - 1));
}
template <unsigned bits, unsigned amount>
uint64_t shiftRightSigned(Sources s) {
  if (s[amount].poison)
    return all;
  return uint64_t(int64_t(s[1 - amount].poison << (64 - bits)) >> (64 - bits) >> (s[amount].value & (bits - 1)));
}
uint64_t shiftLeftOr(Sources s) {
  if (s[1].poison)
    return all;
  unsigned amount = s[1].value & 31;
  return orOf({s[0].poison << amount, s[0].value << amount}, s[2]).poison;
}
template <unsigned unit, unsigned mask>
uint64_t align(Sources s) {
  if (s[2].poison)
    return all;
  return (s[0].poison << 32 | (s[1].poison & 0xFFFFFFFF)) >> (unit * (s[2].value & mask));
}

// Sums and products: a bit decides those at its place and above.

constexpr uint64_t upward(uint64_t poison) {
  return poison ? ~((poison & -poison) - 1) : 0;
}
uint64_t sum(Sources s) {
  return upward(s[0].poison | s[1].poison | s[2].poison);
}
template <unsigned amount> // s_lshlN_add
uint64_t shiftedSum(Sources s) {
  return upward(s[0].poison << amount | s[1].poison);
}
uint64_t shiftThenAdd(Sources s) {
  return s[1].poison ? all : upward(s[0].poison << (s[1].value & 31) | s[2].poison);
}
uint64_t addThenShift(Sources s) {
  return s[2].poison ? all : upward(s[0].poison | s[1].poison) << (s[2].value & 31);
}
uint64_t sum24(Sources s) {
  return upward(((s[0].poison | s[1].poison) & 0xFFFFFF) | s[2].poison);
}

// Fields.

uint64_t extractField(Sources s) {
  if (s[1].poison & 31 || s[2].poison & 31)
    return all;
  return s[0].poison >> (s[1].value & 31) & ((uint64_t(1) << (s[2].value & 31)) - 1);
}
uint64_t extractFieldSigned(Sources s) {
  uint64_t field = extractField(s);
  unsigned width = s[2].value & 31;
  bool isSignPoison = width && field >> (width - 1) & 1;
  return isSignPoison ? field | all << width : field;
}
/// Offset in the low bits, width from bit 16.
template <unsigned bits, bool isSigned>
uint64_t extractScalarField(Sources s) {
  if (s[1].poison)
    return all;
  unsigned offset = s[1].value & (bits - 1), width = s[1].value >> 16 & 127;
  uint64_t mask = width >= 64 ? all : (uint64_t(1) << width) - 1;
  uint64_t field = (s[0].poison & all >> (64 - bits)) >> offset & mask;
  bool isSignPoison = isSigned && width && width <= 64 && field >> (width - 1) & 1;
  return isSignPoison ? field | ~mask : field;
}
template <unsigned bits>
uint64_t extendSign(Sources s) {
  return uint64_t(int64_t(s[0].poison << (64 - bits)) >> (64 - bits));
}
uint64_t reverse32(Sources s) {
  return __builtin_bitreverse32(uint32_t(s[0].poison));
}
uint64_t reverse64(Sources s) {
  return __builtin_bitreverse64(s[0].poison);
}
template <unsigned bits>
uint64_t testBit(Sources s) {
  return s[1].poison & (bits - 1) || s[0].poison >> (s[1].value & (bits - 1)) & 1 ? all : 0;
}

// Bytes and halves.

uint64_t permuteBytes(Sources s) {
  uint64_t bytes = s[0].poison << 32 | (s[1].poison & 0xFFFFFFFF), result = 0;
  for (unsigned byte = 0; byte < 4; ++byte) {
    unsigned selector = s[2].value >> (8 * byte) & 0xFF;
    bool isPoison = s[2].poison >> (8 * byte) & 0xFF;
    if (selector < 8)
      isPoison |= (bytes >> (8 * selector) & 0xFF) != 0;
    else if (selector < 12)
      isPoison |= bytes >> (16 * (selector - 8) + 15) & 1;
    result |= uint64_t(isPoison ? 0xFF : 0) << (8 * byte);
  }
  return result;
}

/// The lower and the upper half of each source, as taken.
template <unsigned lowShift, unsigned highShift>
uint64_t packHalves(Sources s) {
  return (s[0].poison >> lowShift & 0xFFFF) | (s[1].poison >> highShift & 0xFFFF) << 16;
}

uint64_t any(const PoisonBits &source, uint64_t mask, uint64_t result) {
  return source.poison & mask ? result : 0;
}
/// Two values become a part of the result each; what stands in the third source counts for both.
template <unsigned partBits>
uint64_t convertPair(Sources s) {
  constexpr uint64_t part = (uint64_t(1) << partBits) - 1;
  return any(s[0], all, part) | any(s[1], all, part << partBits) | any(s[2], all, all);
}
/// The two parts of one value, of `from` bits each, become parts of `to` bits; the second source counts for both.
template <unsigned from, unsigned to>
uint64_t convertParts(Sources s) {
  constexpr uint64_t part = to == 32 ? 0xFFFFFFFF : (uint64_t(1) << to) - 1, source = (uint64_t(1) << from) - 1;
  return any(s[0], source, part) | any(s[0], source << from, part << to) | any(s[1], all, all) | any(s[2], all, all);
}
template <unsigned byte>
uint64_t convertByte(Sources s) {
  return any(s[0], uint64_t(0xFF) << (8 * byte), all);
}
/// Only 24 bits of the factors count.
uint64_t multiply24(Sources s) {
  constexpr uint64_t low = 0xFFFFFF;
  return any(s[0], low, all) | any(s[1], low, all) | any(s[2], all, all);
}

/// The third source chooses: one bit.
uint64_t select(Sources s) {
  if (s[2].poison & 1)
    return s[0].poison | s[1].poison || s[0].value != s[1].value ? all : 0;
  return s[2].value & 1 ? s[1].poison : s[0].poison;
}
uint64_t selectReversed(Sources s) {
  return select({s[1], s[0], s[2]});
}

const std::unordered_map<std::string_view, PoisonRule> &rules() {
  static const std::unordered_map<std::string_view, PoisonRule> table = {
      {"v_mov_b32", copy},
      {"v_mov_b64", copy},
      {"v_accvgpr_read_b32", copy},
      {"v_accvgpr_write_b32", copy},
      {"v_accvgpr_mov_b32", copy},
      {"v_cndmask_b32", select},
      {"v_perm_b32", permuteBytes},
      {"v_pack_b32_f16", packHalves<0, 0>},
      {"v_and_b32", boolean<tableAnd>},
      {"v_or_b32", boolean<tableOr>},
      {"v_xor_b32", boolean<tableXor>},
      {"v_xnor_b32", boolean<tableXnor>},
      {"v_not_b32", boolean<tableNot>},
      {"v_and_or_b32", boolean<0xEA>},
      {"v_or3_b32", boolean<0xFE>},
      {"v_bfi_b32", boolean<0xCA>},
      {"v_lshlrev_b32", shiftLeft<32, 0>},
      {"v_lshrrev_b32", shiftRight<32, 0>},
      {"v_ashrrev_i32", shiftRightSigned<32, 0>},
      {"v_lshlrev_b64", shiftLeft<64, 0>},
      {"v_lshrrev_b64", shiftRight<64, 0>},
      {"v_ashrrev_i64", shiftRightSigned<64, 0>},
      {"v_lshlrev_b16", shiftLeft<16, 0>},
      {"v_lshrrev_b16", shiftRight<16, 0>},
      {"v_ashrrev_i16", shiftRightSigned<16, 0>},
      {"v_lshl_or_b32", shiftLeftOr},
      {"v_add_u32", sum},
      {"v_add_i32", sum},
      {"v_sub_u32", sum},
      {"v_sub_i32", sum},
      {"v_subrev_u32", sum},
      {"v_add_u16", sum},
      {"v_add_i16", sum},
      {"v_sub_u16", sum},
      {"v_sub_i16", sum},
      {"v_subrev_u16", sum},
      {"v_add3_u32", sum},
      {"v_add_co_u32", sum},
      {"v_sub_co_u32", sum},
      {"v_subrev_co_u32", sum},
      {"v_addc_co_u32", sum},
      {"v_subb_co_u32", sum},
      {"v_subbrev_co_u32", sum},
      {"v_mul_lo_u32", sum},
      {"v_mul_lo_u16", sum},
      {"v_mad_u64_u32", sum},
      {"v_mad_i64_i32", sum},
      {"v_mad_u16", sum},
      {"v_mad_i16", sum},
      {"s_add_u32", sum},
      {"s_add_i32", sum},
      {"s_sub_u32", sum},
      {"s_sub_i32", sum},
      {"s_addc_u32", sum},
      {"s_subb_u32", sum},
      {"s_addk_i32", sum},
      {"s_mul_i32", sum},
      {"s_mulk_i32", sum},
      {"v_lshl_add_u32", shiftThenAdd},
      {"v_lshl_add_u64", shiftThenAdd},
      {"v_add_lshl_u32", addThenShift},
      {"s_lshl1_add_u32", shiftedSum<1>},
      {"s_lshl2_add_u32", shiftedSum<2>},
      {"s_lshl3_add_u32", shiftedSum<3>},
      {"s_lshl4_add_u32", shiftedSum<4>},
      {"v_alignbit_b32", align<1, 31>},
      {"v_alignbyte_b32", align<8, 3>},
      {"v_bfe_u32", extractField},
      {"v_bfe_i32", extractFieldSigned},
      {"v_bfrev_b32", reverse32},
      {"v_cvt_f32_ubyte0", convertByte<0>},
      {"v_cvt_f32_ubyte1", convertByte<1>},
      {"v_cvt_f32_ubyte2", convertByte<2>},
      {"v_cvt_f32_ubyte3", convertByte<3>},
      {"v_cvt_f32_fp8", convertByte<0>},
      {"v_cvt_f32_bf8", convertByte<0>},
      {"v_cvt_pk_f32_fp8", convertParts<8, 32>},
      {"v_cvt_pk_f32_bf8", convertParts<8, 32>},
      {"v_sat_pk_u8_i16", convertParts<16, 8>},
      {"v_mul_i32_i24", sum24},
      {"v_mul_u32_u24", sum24},
      {"v_mul_hi_i32_i24", multiply24},
      {"v_mul_hi_u32_u24", multiply24},
      {"v_mad_i32_i24", sum24},
      {"v_mad_u32_u24", sum24},
      {"s_mov_b32", copy},
      {"s_mov_b64", copy},
      {"s_cmov_b32", select}, // of the destination and the source
      {"s_cmov_b64", select},
      {"s_cmovk_i32", select},
      {"s_cselect_b32", selectReversed},
      {"s_cselect_b64", selectReversed},
      {"s_and_b32", boolean<tableAnd>},
      {"s_and_b64", boolean<tableAnd>},
      {"s_or_b32", boolean<tableOr>},
      {"s_or_b64", boolean<tableOr>},
      {"s_xor_b32", boolean<tableXor>},
      {"s_xor_b64", boolean<tableXor>},
      {"s_andn2_b32", boolean<tableAndNot>},
      {"s_andn2_b64", boolean<tableAndNot>},
      {"s_orn2_b32", boolean<tableOrNot>},
      {"s_orn2_b64", boolean<tableOrNot>},
      {"s_nand_b32", boolean<tableNand>},
      {"s_nand_b64", boolean<tableNand>},
      {"s_nor_b32", boolean<tableNor>},
      {"s_nor_b64", boolean<tableNor>},
      {"s_xnor_b32", boolean<tableXnor>},
      {"s_xnor_b64", boolean<tableXnor>},
      {"s_not_b32", boolean<tableNot>},
      {"s_not_b64", boolean<tableNot>},
      {"s_lshl_b32", shiftLeft<32, 1>},
      {"s_lshl_b64", shiftLeft<64, 1>},
      {"s_lshr_b32", shiftRight<32, 1>},
      {"s_lshr_b64", shiftRight<64, 1>},
      {"s_ashr_i32", shiftRightSigned<32, 1>},
      {"s_ashr_i64", shiftRightSigned<64, 1>},
      {"s_bfe_u32", extractScalarField<32, false>},
      {"s_bfe_i32", extractScalarField<32, true>},
      {"s_bfe_u64", extractScalarField<64, false>},
      {"s_bfe_i64", extractScalarField<64, true>},
      {"s_brev_b32", reverse32},
      {"s_brev_b64", reverse64},
      {"s_sext_i32_i8", extendSign<8>},
      {"s_sext_i32_i16", extendSign<16>},
      {"s_pack_ll_b32_b16", packHalves<0, 0>},
      {"s_pack_lh_b32_b16", packHalves<0, 16>},
      {"s_pack_hh_b32_b16", packHalves<16, 16>},
      {"s_bitcmp0_b32", testBit<32>},
      {"s_bitcmp1_b32", testBit<32>},
      {"s_bitcmp0_b64", testBit<64>},
      {"s_bitcmp1_b64", testBit<64>},
      // EXEC is the second source.
      {"s_and_saveexec_b64", boolean<tableAnd>},
      {"s_or_saveexec_b64", boolean<tableOr>},
      {"s_xor_saveexec_b64", boolean<tableXor>},
      {"s_andn2_saveexec_b64", boolean<tableAndNot>},
      {"s_orn2_saveexec_b64", boolean<tableOrNot>},
      {"s_nand_saveexec_b64", boolean<tableNand>},
      {"s_nor_saveexec_b64", boolean<tableNor>},
      {"s_xnor_saveexec_b64", boolean<tableXnor>},
      {"s_andn1_saveexec_b64", boolean<0x0C>},
      {"s_orn1_saveexec_b64", boolean<0xCF>},
      {"s_andn1_wrexec_b64", boolean<0x0C>},
      {"s_andn2_wrexec_b64", boolean<tableAndNot>},
  };
  return table;
}

/// Conversions of pairs, by the parts of their names.
PoisonRule pairRuleOf(std::string_view name) {
  bool isScaled = name.starts_with("v_cvt_scalef32_pk_");
  std::string_view types = name.substr(isScaled ? 18 : name.starts_with("v_cvt_pk_") ? 9 : 0);
  bool toByte = types.starts_with("fp8_") || types.starts_with("bf8_");
  bool fromByte = types.ends_with("_fp8") || types.ends_with("_bf8");
  if (isScaled)
    return toByte && types.ends_with("f32")       ? convertPair<8>
           : toByte                               ? convertParts<16, 8>
           : fromByte && types.starts_with("f32") ? convertParts<8, 32>
           : fromByte                             ? convertParts<8, 16>
                                                  : nullptr;
  if (name.starts_with("v_cvt_pkrtz_") || name.starts_with("v_cvt_pknorm_"))
    return convertPair<16>;
  if (name.starts_with("v_cvt_pk_") && !types.starts_with("u8_"))
    return toByte ? convertPair<8> : convertPair<16>;
  return nullptr;
}

} // namespace

PoisonRule poisonRuleOf(std::string_view mnemonic) {
  auto found = rules().find(mnemonic);
  return found != rules().end() ? found->second : pairRuleOf(mnemonic);
}

} // namespace heddle::simulator
