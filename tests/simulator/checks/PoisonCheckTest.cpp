// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What nothing has written: where it must not decide, each with the write that makes it right, and how instructions
// carry it.
#include "CheckedProgram.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

namespace heddle::simulator {
namespace {

const std::string branch = "what nothing has written decides a branch",
                  jump = "what nothing has written is where a jump goes",
                  address = "what nothing has written is an address",
                  descriptor = "what nothing has written is in a buffer descriptor",
                  exec = "what nothing has written becomes EXEC",
                  m0 = "what nothing has written is in M0, which is read",
                  shared = "what nothing has written is stored where other waves look for it",
                  changed = "what nothing has written is changed by an atomic operation";

struct Case {
  const char *name;
  std::string write; ///< makes it right
  std::string use, finding;
};
void PrintTo(const Case &tested, std::ostream *stream) {
  *stream << tested.name;
}

const std::string makeDescriptor =
    "s_mov_b32 s4, s0\ns_and_b32 s5, s1, 0xffff\ns_movk_i32 s6, 0x1000\ns_mov_b32 s7, s40\n";

const Case cases[] = {
    {"BranchOnScc", "s_mov_b32 s40, 0", "s_cmp_eq_u32 s40, 0\ns_cbranch_scc1 1", branch},
    {"BranchOnACarry", "s_mov_b32 s40, 0", "s_add_u32 s8, s40, 1\ns_cbranch_scc1 1", branch},
    {"BranchOnABit", "s_mov_b32 s40, 0", "s_bitcmp1_b32 s40, 3\ns_cbranch_scc1 1", branch},
    {"BranchOnVcc", "v_mov_b32 v10, 0", "v_cmp_gt_u32 vcc, v10, v2\ns_cbranch_vccnz 1", branch},
    {"BranchOnVccAsItWas", "s_mov_b64 vcc, 0", "s_cbranch_vccz 1", branch},
    {"BranchOnSccAsItWas", "s_cmp_eq_u32 s0, s0", "s_cbranch_scc0 1", branch},
    {"Jump", "s_getpc_b64 s[40:41]", "s_setpc_b64 s[40:41]", jump},
    {"GlobalAddress", "v_mov_b32 v10, 0", "global_load_dword v11, v10, s[0:1]", address},
    {"StoreAddress", "v_mov_b32 v10, 0", "global_store_dword v10, v2, s[0:1]", address},
    {"LdsAddress", "v_mov_b32 v10, 0", "ds_read_b32 v11, v10", address},
    {"LdsWriteAddress", "v_mov_b32 v10, 0", "ds_write_b32 v10, v2", address},
    {"ScratchAddress", "v_mov_b32 v10, 0", "scratch_load_dword v11, v10, off", address},
    {"ScalarAddress", "s_mov_b32 s40, 0", "s_load_dword s8, s[0:1], s40", address},
    {"Descriptor", "s_mov_b32 s40, 0", makeDescriptor + "buffer_load_dword v11, v2, s[4:7], 0 offen", descriptor},
    {"ScalarDescriptor", "s_mov_b32 s40, 0", makeDescriptor + "s_buffer_load_dword s8, s[4:7], 0x0", descriptor},
    {"Exec", "s_mov_b64 s[40:41], -1", "s_mov_b64 exec, s[40:41]", exec},
    {"SavedExec", "s_mov_b64 s[40:41], -1", "s_and_saveexec_b64 s[8:9], s[40:41]", exec},
    {"ExecFromACompare", "v_mov_b32 v10, 0", "v_cmpx_eq_u32 vcc, v10, v2", exec},
    {"LdsBaseInM0", "s_mov_b32 s40, 0", "s_mov_b32 m0, s40\ns_nop 0\nglobal_load_lds_dword v[0:1], off", m0},
    {"IndexInM0", "s_mov_b32 s40, 0", "s_set_gpr_idx_on s40, gpr_idx(SRC0)\nv_mov_b32 v3, v2", m0},
    {"Atomic", "v_mov_b32 v10, 0", "global_atomic_add v[0:1], v10, off", shared},
    {"LdsAtomic", "v_mov_b32 v10, 0", "ds_write_b32 v2, v2\nds_add_u32 v2, v10", shared},
    {"AtomicSumOfNothing", "ds_write_b32 v2, v2", "ds_add_u32 v2, v2\ns_waitcnt lgkmcnt(0)", changed},
    {"ComparedWithNothing", "ds_write_b32 v2, v2", "ds_cmpst_b32 v2, v2, v2\ns_waitcnt lgkmcnt(0)", changed},
    {"ExchangedFirst", "ds_wrxchg_rtn_b32 v12, v2, v2", "ds_add_u32 v2, v2\ns_waitcnt lgkmcnt(0)", changed},
    {"StoreForTheDevice", "v_mov_b32 v10, 0", "global_store_dword v[0:1], v10, off sc1", shared},
};

class Uninitialised : public testing::TestWithParam<Case> {};

TEST_P(Uninitialised, IsFoundWhereItDecides) {
  for (Policy policy : {Policy::Earliest, Policy::Latest}) {
    const Case &tested = GetParam();
    CheckedProgram good(only(Check::Uninitialised), policy), bad(only(Check::Uninitialised), policy);
    good.run(tested.write).run(tested.use);
    bad.run(tested.use);
    EXPECT_EQ(good.report(), "") << "policy " << int(policy);
    EXPECT_EQ(bad.summary(), tested.finding) << "policy " << int(policy);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Uninitialised, testing::ValuesIn(cases),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(UninitialisedReport, NamesTheRegister) {
  CheckedProgram program(only(Check::Uninitialised));
  program.run("v_mov_b32_e32 v11, v10\ns_mov_b64 exec, 6\nglobal_load_dword v12, v11, s[0:1]");
  EXPECT_EQ(program.report(),
            "error: what nothing has written is an address (uninitialised)\n"
            "  access pc 0x8  global_load_dword v12, v11, s[0:1]        workgroup 0,0,0 wave 0 lane 1\n"
            "  from   v10, which nothing has written since the wave began\n"
            "  severity high: it does not depend on time\n");
}

TEST(UninitialisedReport, NamesThePlaceInLds) {
  for (Policy policy : {Policy::Earliest, Policy::Latest}) {
    CheckedProgram program(only(Check::Uninitialised), policy);
    program.run("s_mov_b64 exec, 0xf\nds_write_b32 v2, v2\ns_mov_b64 exec, -1\nds_read_b32 v10, v2\n"
                "s_waitcnt lgkmcnt(0)\nv_readlane_b32 s8, v10, 3\ns_cmp_eq_u32 s8, 0\ns_cbranch_scc1 1");
    EXPECT_EQ(program.report(), "");
    program.run("v_readlane_b32 s8, v10, 4\ns_cmp_eq_u32 s8, 0\ns_cbranch_scc1 1");
    EXPECT_EQ(program.report(),
              "error: what nothing has written decides a branch (uninitialised)\n"
              "  branch pc 0x38  s_cbranch_scc1 1                          workgroup 0,0,0 wave 0\n"
              "  from   pc 0x10  ds_read_b32 v10, v2                       workgroup 0,0,0 wave 0 lane 4   LDS 0x10, "
              "which nothing has written\n"
              "  severity high: it does not depend on time\n");
  }
}

const std::string useOfV10 = "\ns_waitcnt vmcnt(0) lgkmcnt(0)\nv_readfirstlane_b32 s8, v10\ns_cmp_eq_u32 s8, 0\n"
                             "s_cbranch_scc1 1";

TEST(UninitialisedReport, NamesThePlaceInABuffer) {
  for (Policy policy : {Policy::Earliest, Policy::Latest}) {
    CheckedProgram program(only(Check::Uninitialised), policy);
    program.memory->initialised = false;
    program.run("global_load_dword v10, v[0:1], off offset:8" + useOfV10);
    EXPECT_EQ(program.report(),
              "error: what nothing has written decides a branch (uninitialised)\n"
              "  branch pc 0x14  s_cbranch_scc1 1                          workgroup 0,0,0 wave 0\n"
              "  from   pc 0x0  global_load_dword v10, v[0:1], off offset:8  workgroup 0,0,0 wave 0 lane 0   byte 8 "
              "of `memory`, 4096 bytes at 0x700000000000, which nothing has written\n"
              "  severity high: it does not depend on time\n");
    CheckedProgram written(only(Check::Uninitialised), policy);
    written.memory->initialised = false;
    written.run("global_store_dword v[0:1], v2, off offset:8\nglobal_load_dword v10, v[0:1], off offset:8" + useOfV10);
    EXPECT_EQ(written.report(), "");
  }
}

TEST(UninitialisedReport, ScratchAndScalarLoads) {
  CheckedProgram program(only(Check::Uninitialised));
  program.run("scratch_load_dword v10, off, off offset:4" + useOfV10);
  EXPECT_EQ(program.summary(), branch);
  CheckedProgram written(only(Check::Uninitialised));
  written.run("scratch_store_dword off, v2, off offset:4\nscratch_load_dword v10, off, off offset:4" + useOfV10);
  EXPECT_EQ(written.report(), "");
  CheckedProgram scalar(only(Check::Uninitialised));
  scalar.memory->initialised = false;
  scalar.run("s_load_dwordx2 s[8:9], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_cmp_eq_u64 s[8:9], 0\ns_cbranch_scc0 1");
  EXPECT_EQ(scalar.summary(), branch);
}

TEST(UninitialisedReport, NamesTheRegisterThatWasStoredBefore) {
  for (const char *way :
       {"ds_write_b32 v2, v33\nds_read_b32 v10, v2",
        "global_store_dword v[0:1], v33, off\nglobal_load_dword v10, v[0:1], off",
        "scratch_store_dword off, v33, off\nscratch_load_dword v10, off, off", "ds_bpermute_b32 v10, v2, v33",
        "ds_swizzle_b32 v10, v33 offset:swizzle(BITMASK_PERM,\"0000p\")"}) {
    CheckedProgram program(only(Check::Uninitialised));
    program.run(way + useOfV10);
    EXPECT_NE(program.report().find("from   v33, which nothing has written since the wave began"), std::string::npos)
        << way << "\n"
        << program.report();
  }
}

TEST(UninitialisedBuffer, IsCounted) {
  CheckedProgram program(only(Check::Uninitialised));
  AddressSpace &home = program.system.home;
  program.memory->initialised = false;
  EXPECT_EQ(home.countUnwritten(program.memory->base, 4096), 4096u);
  program.run("global_store_dword v[0:1], v2, off\nglobal_store_short v[0:1], v33, off offset:256");
  EXPECT_EQ(home.countUnwritten(program.memory->base, 4096), 4096u - 256);
  EXPECT_EQ(home.countUnwritten(program.memory->base, 256), 0u);
  ASSERT_TRUE(program.memory->unwritten->firstStore);
  EXPECT_EQ(program.memory->unwritten->firstStore->text(),
            "  store  pc 0x8  global_store_short v[0:1], v33, off offset:256  workgroup 0,0,0 wave 0");
  EXPECT_EQ(program.report(), ""); // only stored
  AddressSpace::setWritten(*program.memory);
  EXPECT_EQ(home.countUnwritten(program.memory->base, 4096), 0u);
}

/// Blocks whose bytes are alike and those that have flags of their own say what one flag for each byte says.
TEST(UninitialisedBuffer, IsThatOfEveryByte) {
  constexpr uint64_t size = 1500;
  for (uint8_t first : {UnwrittenBytes::Written, UnwrittenBytes::Never}) {
    UnwrittenBytes bytes(size, first);
    std::vector<uint8_t> flags(size, first);
    std::mt19937 random(1);
    for (unsigned round = 0; round < 2000; ++round) {
      uint64_t offset = random() % size, length = 1 + random() % (random() % 2 ? 8 : size - offset);
      length = std::min(length, size - offset);
      if (random() % 4 == 0) // what a row of lanes stores
        offset = offset / 256 * 256, length = std::min<uint64_t>(256, size - offset);
      if (uint8_t *changed = random() % 3 == 0 ? bytes.flagsOf(offset, length) : nullptr) {
        uint8_t flag = random() % 3;
        changed[length / 2] = flags[offset + length / 2] = flag;
      } else if (random() % 3 == 0) {
        bytes.setWritten(offset, length);
        std::fill_n(flags.begin() + ptrdiff_t(offset), length, uint8_t(UnwrittenBytes::Written));
      }
      auto begin = flags.begin() + ptrdiff_t(offset), end = begin + ptrdiff_t(length);
      uint64_t written = uint64_t(std::count(begin, end, uint8_t(UnwrittenBytes::Written)));
      ASSERT_EQ(bytes.countUnwritten(offset, length), length - written) << round;
      ASSERT_EQ(bytes.areWritten(offset, length), written == length) << round;
      ASSERT_EQ(bytes.at(offset), flags[offset]) << round;
    }
    EXPECT_TRUE(bytes.areWritten(size, UnwrittenBytes::bytesBehind));
  }
}

//===-- How instructions carry it --------------------------------------------------------------------------------===//

/// v10 is poison, v11 in its upper half and v12 in its lowest byte; v13 is 0x01020304, s40 poison.
struct Carried {
  const char *text;
  unsigned bytes; ///< of v3 in lane 5, that are poison
};

const Carried carried[] = {
    {"v_mov_b32 v3, v10", 15},
    {"v_mov_b32 v3, s40", 15},
    {"v_mov_b32 v3, v11", 12},
    {"v_not_b32 v3, v12", 1},
    {"v_and_b32 v3, 0xff00, v10", 2},
    {"v_and_b32 v3, v2, v10", 1}, // 20
    {"v_or_b32 v3, 0xffff, v10", 12},
    {"v_xor_b32 v3, v11, v12", 13},
    {"v_and_or_b32 v3, v10, 15, v11", 13},
    {"v_bfi_b32 v3, 1, v10, v2", 1},
    {"v_lshlrev_b32 v3, 8, v12", 2},
    {"v_lshrrev_b32 v3, 16, v11", 3},
    {"v_ashrrev_i32 v3, 16, v11", 15},
    {"v_lshlrev_b32 v3, v10, v2", 15},
    {"v_lshl_or_b32 v3, v12, 16, v12", 5},
    {"v_bfe_u32 v3, v11, 0, 16", 0},
    {"v_bfe_u32 v3, v11, 8, 16", 2},
    {"v_bfe_i32 v3, v12, 4, 4", 15},
    {"v_alignbit_b32 v3, v12, v11, 16", 7},
    {"v_perm_b32 v3, v12, v11, v13", 7}, // bytes 4, 3, 2, 1 of v12 over v11
    {"v_perm_b32 v3, v12, v13, v13", 1},
    {"v_cndmask_b32 v3, v10, v2, vcc", 0}, // VCC has bit 5
    {"v_cndmask_b32 v3, v2, v10, vcc", 15},
    {"v_cndmask_b32 v3, v2, v13, s[40:41]", 15},
    {"v_add_u32 v3, v11, v2", 12},
    {"v_add_u32 v3, v12, v2", 15},
    {"v_mul_lo_u32 v3, v11, v13", 12},
    {"v_add_f32 v3, v11, v2", 15},
    {"v_fmac_f32 v3, v2, v2", 15}, // its old value
    {"v_add_f16 v3, v11, v2", 0},
    {"v_mov_b32 v3, 0\nv_fma_f16 v3, v11, v2, v2 op_sel:[1,0,0,0]", 3},
    {"v_pk_add_f16 v3, v11, v2", 12},
    {"v_pk_add_f16 v3, v11, v2 op_sel:[1,0] op_sel_hi:[0,1]", 3},
    {"v_pack_b32_f16 v3, v2, v12", 4},
    {"v_cvt_pkrtz_f16_f32 v3, v2, v10", 12},
    {"v_cvt_f32_f16 v3, v11", 0},
    {"v_cvt_f32_ubyte1 v3, v12", 0},
    {"v_cvt_f32_ubyte0 v3, v12", 15},
    {"v_mov_b32_sdwa v3, v11 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1", 3},
    {"v_mov_b32_sdwa v3, v12 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_0", 4},
    {"v_mov_b32 v3, 0\nv_mov_b32_sdwa v3, v10 dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:DWORD", 4},
    {"v_mov_b32 v3, 0\nv_mov_b32_dpp v3, v10 row_shr:1 row_mask:0xf bank_mask:0xf", 15},
    {"v_mov_b32 v3, 0\nv_mov_b32_dpp v3, v10 row_shr:6 row_mask:0xf bank_mask:0xf", 0}, // lane 5 has no source
    {"v_mov_b32 v4, 0\nv_writelane_b32 v4, s40, 4\nv_mov_b32_dpp v3, v4 row_shr:1 row_mask:0xf bank_mask:0xf", 15},
    {"v_mov_b32 v4, 0\nv_writelane_b32 v4, s40, 5\nv_mov_b32 v3, v4", 15},
    {"v_mov_b32 v4, 0\nv_writelane_b32 v4, s40, 6\nv_mov_b32 v3, v4", 0},
    {"v_readlane_b32 s8, v12, 7\nv_mov_b32 v3, s8", 1},
    {"v_cmp_eq_u32 vcc, v10, v2\nv_cndmask_b32 v3, 1, 2, vcc", 15},
    {"v_mov_b32 v3, 0\ns_mov_b64 exec, 0x10\nv_mov_b32 v3, v10", 0},
    {"v_mov_b32 v4, 0\nv_mov_b32 v3, v10\nv_swap_b32 v3, v4", 0},
    {"v_accvgpr_write_b32 a0, v12\nv_accvgpr_read_b32 v3, a0", 1},
    {"s_and_b32 s8, s40, 0xff0000\nv_mov_b32 v3, s8", 4},
    {"s_lshl_b32 s8, s40, 24\nv_mov_b32 v3, s8", 8},
    {"s_cmp_eq_u32 s0, s0\ns_cselect_b32 s8, s0, s40\nv_mov_b32 v3, s8", 0},
    {"s_pack_ll_b32_b16 s8, s0, s40\nv_mov_b32 v3, s8", 12},
    {"global_store_dword v[0:1], v11, off\nglobal_load_dword v3, v[0:1], off\ns_waitcnt vmcnt(0)", 12},
    {"ds_write_b32 v2, v12\nds_read_u16 v3, v2\ns_waitcnt lgkmcnt(0)", 1},
    {"ds_write_b32 v2, v11\nds_read_u16 v3, v2\ns_waitcnt lgkmcnt(0)", 0},
    {"ds_write_b32 v2, v12\nds_read_i8 v3, v2\ns_waitcnt lgkmcnt(0)", 15},
    {"v_mov_b32 v3, 0\nds_write_b32 v2, v12\nds_read_u16_d16_hi v3, v2\ns_waitcnt lgkmcnt(0)", 4},
    {"ds_write_b16_d16_hi v2, v11\nds_read_u16 v3, v2\ns_waitcnt lgkmcnt(0)", 3},
    {"ds_write2_b32 v2, v13, v12 offset0:0 offset1:64\nds_read2_b32 v[2:3], v2 offset0:0 offset1:64\n"
     "s_waitcnt lgkmcnt(0)",
     1},
};

TEST(UninitialisedBytes, AreCarried) {
  for (const Carried &tested : carried) {
    CheckedProgram program(only(Check::Uninitialised));
    program.run("v_lshlrev_b32 v11, 16, v10\nv_and_b32 v12, 0xff, v10\nv_mov_b32 v13, 0x01020304\ns_mov_b64 vcc, 32");
    for (unsigned lane = 0; lane < waveLanes; ++lane)
      program.wave->v[13][lane] = 0x01020304;
    program.run(tested.text);
    const PoisonRow &row = program.wave->checks->poison.registers->rows[3];
    unsigned bytes = 0;
    for (unsigned byte = 0; byte < 4; ++byte)
      bytes |= unsigned(row.bytes[byte] >> 5 & 1) << byte;
    EXPECT_EQ(bytes, tested.bytes) << tested.text;
    EXPECT_EQ(program.report(), "") << tested.text;
  }
}

/// Lane 5 of 16 lanes holds elements 20 to 23 of 16 bits: row 1, columns 4 to 7.
TEST(UninitialisedBytes, MoveWithTheElementsThatATransposingReadMoves) {
  auto isFound = [](unsigned word, unsigned lane, const char *mask) {
    CheckedProgram program(only(Check::Uninitialised), Policy::Earliest, "gfx950");
    program.run("v_lshlrev_b32 v3, 1, v2\nv_mov_b32 v4, 0\nv_mov_b32 v5, 0\ns_mov_b64 exec, 0xffffffffffffffdf\n"
                "ds_write_b64 v3, v[4:5]\ns_mov_b64 exec, -1\nds_read_b64_tr_b16 v[10:11], v3\ns_waitcnt lgkmcnt(0)\n");
    program.run("v_readlane_b32 s8, v" + std::to_string(10 + word) + ", " + std::to_string(lane) +
                "\ns_and_b32 s8, s8, " + mask + "\ns_cbranch_scc1 0");
    return !program.report().empty();
  };
  for (unsigned lane = 0; lane < 20; ++lane) {
    EXPECT_EQ(isFound(0, lane, "0xffff0000"), lane >= 4 && lane < 8) << lane;
    EXPECT_FALSE(isFound(0, lane, "0xffff")) << lane;
    EXPECT_FALSE(isFound(1, lane, "-1")) << lane;
  }
}

TEST(UninitialisedBytes, OfMatrixProducts) {
  CheckedProgram program(only(Check::Uninitialised));
  const PoisonRegisters *registers = nullptr;
  std::string clear;
  for (int row = 4; row < 12; ++row)
    clear += "v_mov_b32 v" + std::to_string(row) + ", 0\n";
  program.run(clear);
  registers = program.wave->checks->poison.registers.get();
  program.run("v_mfma_f32_16x16x16_f16 v[12:15], v[4:5], v[6:7], v[8:11]");
  EXPECT_EQ(registers->rows[12].lanes(), 0u);
  program.run("s_mov_b64 exec, 2\nv_mov_b32 v9, v40\ns_mov_b64 exec, -1\n"
              "v_mfma_f32_16x16x16_f16 v[12:15], v[4:5], v[6:7], v[8:11]");
  EXPECT_EQ(registers->rows[12].lanes(), 0u);
  EXPECT_EQ(registers->rows[13].lanes(), 2u);
  program.run("v_mov_b32 v4, v40\nv_mfma_f32_16x16x16_f16 v[12:15], v[4:5], v[6:7], 0");
  EXPECT_EQ(registers->rows[12].lanes(), allLanes);
}

/// Of a scale's register one byte counts.
TEST(UninitialisedBytes, OfScales) {
  CheckedProgram program(only(Check::Uninitialised), Policy::Earliest, "gfx950");
  std::string clear;
  for (int row = 4; row < 26; ++row)
    clear += "v_mov_b32 v" + std::to_string(row) + ", 0\n";
  program.run(clear + "s_mov_b32 s2, 0xffffff\nv_bfi_b32 v24, s2, 0, v40");
  const PoisonRegisters *registers = program.wave->checks->poison.registers.get();
  ASSERT_EQ(registers->rows[24].bytes[3], allLanes);
  ASSERT_EQ(registers->rows[24].bytes[2], 0u);
  std::string product = "v_mfma_scale_f32_16x16x128_f8f6f4 v[26:29], v[4:11], v[12:19], v[20:23], v24, v25 ";
  program.run(product + "op_sel_hi:[1,0,0]"); // byte 2
  EXPECT_EQ(registers->rows[26].lanes(), 0u);
  program.run(product + "op_sel:[1,0,0] op_sel_hi:[1,0,0]"); // byte 3
  EXPECT_EQ(registers->rows[26].lanes(), allLanes);
}

/// A bit that is known to be set settles a branch, and lanes that are masked off do not count.
TEST(UninitialisedNone, WhereKnownBitsDecide) {
  CheckedProgram program(only(Check::Uninitialised));
  program.run("v_mov_b32 v11, 4\nv_writelane_b32 v11, s40, 7\nv_cmp_eq_u32 vcc, v11, v2\ns_cbranch_vccnz 1\n"
              "s_mov_b64 exec, 0xf\ns_and_b64 vcc, exec, vcc\ns_cbranch_vccz 1\n"
              "s_and_saveexec_b64 s[8:9], vcc\ns_mov_b64 exec, 0xf\n"
              "s_or_b32 s8, s40, 1\ns_cbranch_scc0 1\ns_and_b32 s8, s40, 0\ns_cbranch_scc0 1");
  EXPECT_EQ(program.report(), "");
}

/// Masks of lanes are spilled to lanes of vector registers, and those elsewhere: half of a byte stays half of it.
TEST(UninitialisedNone, InOtherBitsOfASpilledMask) {
  CheckedProgram program(only(Check::Uninitialised));
  program.run("s_and_b32 s8, s40, 0xf0\nv_writelane_b32 v20, s8, 3\nv_accvgpr_write_b32 a0, v20\n"
              "v_accvgpr_read_b32 v21, a0\nscratch_store_dword off, v21, off\nscratch_load_dword v22, off, off\n"
              "s_waitcnt vmcnt(0)\nv_readlane_b32 s9, v22, 3\ns_and_b32 s10, s9, 15\ns_cbranch_scc1 1");
  EXPECT_EQ(program.report(), "");
  program.run("s_and_b32 s10, s9, 16\ns_cbranch_scc1 1");
  EXPECT_EQ(program.summary(), branch);
  CheckedProgram overwritten(only(Check::Uninitialised));
  overwritten.run("s_and_b32 s8, s40, 0xf0\nv_writelane_b32 v20, s8, 3\nv_mov_b32 v20, v21\nv_readlane_b32 s9, v20, 3\n"
                  "s_and_b32 s10, s9, 15\ns_cbranch_scc1 1");
  EXPECT_EQ(overwritten.summary(), branch);
}

TEST(UninitialisedNone, WhereItIsOnlyStored) {
  CheckedProgram program(only(Check::Uninitialised));
  program.run("global_store_dword v[0:1], v10, off\nglobal_store_dword v[0:1], v10, off sc0\nds_write_b32 v2, v10\n"
              "scratch_store_dword off, v10, off sc0 sc1");
  EXPECT_EQ(program.report(), "");
}

TEST(UninitialisedNone, InLanesThatAreInactive) {
  CheckedProgram program(only(Check::Uninitialised));
  program.run("s_mov_b64 exec, 3\nv_mov_b32 v10, 0\nglobal_load_dword v11, v10, s[0:1]\nds_write_b32 v10, v2\n"
              "global_atomic_add v10, v10, s[0:1]");
  EXPECT_EQ(program.report(), "");
}

} // namespace
} // namespace heddle::simulator
