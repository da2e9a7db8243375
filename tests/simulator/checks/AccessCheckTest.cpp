// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where single accesses lead: what the range of a descriptor cuts, masks or claims too much of, and addresses that are
// no multiples of what is moved.
#include "CheckedProgram.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace heddle::simulator {
namespace {

/// s[4:7] is a descriptor of the memory, v2 the lane's number times 4, and what else `text` says.
std::string bounds(uint32_t records, const std::string &text) {
  CheckedProgram program(only(Check::Bounds));
  Allocation &other = program.system.home.allocate(4096, "other");
  program.wave->s[12] = uint32_t(other.base - program.memory->base);
  program.run("s_mov_b32 s4, s0\ns_and_b32 s5, s1, 0xffff\ns_mov_b32 s7, 0x27000\n"
              "s_mov_b32 s6, " +
              std::to_string(records) + "\n" + text);
  return program.summary();
}

const std::string masked = "v_cmp_gt_u32 vcc, 128, v2\nv_cndmask_b32 v3, -1, v2, vcc\n"; // lanes below 32

TEST(Bounds, MasksAreMeant) {
  std::string farAway = "v_bfrev_b32 v4, 1\nv_cmp_gt_u32 vcc, 128, v2\nv_cndmask_b32 v3, v4, v2, vcc\n";
  for (uint32_t records : {256u, 128u, 0u, 4096u, 0x7ffffffeu})
    for (const char *use : {"buffer_load_dword v10, v3, s[4:7], 0 offen", "buffer_store_dword v2, v3, s[4:7], 0 offen",
                            "buffer_load_dwordx4 v[10:13], v3, s[4:7], 0 offen",
                            "buffer_load_ushort v10, v3, s[4:7], 0 "
                            "offen offset:2"}) {
      bool isCut = records == 128 && std::string(use).find("x4") != std::string::npos;
      EXPECT_EQ(bounds(records, farAway + use).empty(), !isCut) << records << ", " << use;
    }
  // Every lane beyond the range.
  EXPECT_EQ(bounds(0, "buffer_load_dwordx4 v[10:13], v2, s[4:7], 0 offen"), "");
}

TEST(Bounds, AnAccessThatTheRangeCuts) {
  std::string cut =
                  "an access is in part beyond the range of its descriptor: a range that ends where an access does, or "
                  "narrower accesses at its end",
              quads = "v_lshlrev_b32 v3, 2, v2\n";
  for (const char *use :
       {"buffer_load_dwordx4 v[10:13], v3, s[4:7], 0 offen", "buffer_store_dwordx4 v[10:13], v3, s[4:7], 0 offen",
        "buffer_load_dwordx2 v[10:11], v3, s[4:7], 0 offen",
        "s_mov_b32 m0, 0\nbuffer_load_dwordx4 v3, s[4:7], 0 offen lds"}) {
    std::string chip = std::string(use).find("lds") == std::string::npos ? "gfx942" : "gfx950";
    for (uint32_t records : {1024u, 512u, 500u}) {
      CheckedProgram program(only(Check::Bounds), Policy::Earliest, chip);
      program.run("s_mov_b32 s4, s0\ns_and_b32 s5, s1, 0xffff\ns_mov_b32 s7, 0x27000\ns_mov_b32 s6, " +
                  std::to_string(records) + "\n" + quads + use);
      EXPECT_EQ(program.summary(), records == 500 ? cut : "") << use;
    }
  }
  EXPECT_EQ(bounds(127, "buffer_load_ushort v10, v2, s[4:7], 0 offen offset:2"), cut);
  EXPECT_EQ(bounds(127, "buffer_load_ubyte v10, v2, s[4:7], 0 offen offset:2"), "");
}

TEST(Bounds, TheRangeOfAnotherBuffer) {
  std::string leaves =
      "an access within the range of its descriptor leaves the buffer in which the descriptor begins: ";
  std::string use = "v_add_u32 v3, s12, v2\nbuffer_load_dword v10, v3, s[4:7], 0 offen\n";
  EXPECT_EQ(bounds(0x7ffffffe, use), leaves + "a range of at most 4096 bytes, which the buffer has after the "
                                              "descriptor's base");
  EXPECT_EQ(bounds(4096, use), "");
  EXPECT_EQ(bounds(0x7ffffffe, "s_add_u32 s4, s4, 256\n" + use),
            leaves + "a range of at most 3840 bytes, which the buffer has after the descriptor's base");
  // The other buffer's own descriptor.
  EXPECT_EQ(bounds(0x7ffffffe, "s_add_u32 s4, s4, s12\nbuffer_load_dword v10, v2, s[4:7], 0 offen\n"), "");
}

/// It counts for the range.
TEST(Bounds, TheOffsetOfAllLanes) {
  std::string use = "s_mov_b32 s8, 256\nbuffer_load_dwordx2 v[10:11], v2, s[4:7], s8 offen";
  for (uint32_t records : {516u, 256u, 0u})
    EXPECT_EQ(bounds(records, use), "") << records;
  EXPECT_NE(bounds(260, use), "");
}

TEST(Bounds, Report) {
  CheckedProgram program(only(Check::Bounds));
  program.run("s_mov_b32 s4, s0\ns_and_b32 s5, s1, 0xffff\ns_mov_b32 s6, 28\ns_mov_b32 s7, 0x27000\n");
  program.repeat("buffer_load_dwordx2 v[10:11], v2, s[4:7], 0 offen", 2);
  EXPECT_EQ(program.report(),
            fmt::format("error: an access is in part beyond the range of its descriptor (bounds)\n"
                        "  read   pc 0x18  buffer_load_dwordx2 v[10:11], v2, s[4:7], 0 offen  workgroup 0,0,0 wave 0 "
                        "lane 6   bytes 0x18..0x1f after its base\n"
                        "  note   the descriptor's range: 28 bytes from byte 0 of `memory`, 4096 bytes at 0x{:x}\n"
                        "  needs  a range that ends where an access does, or narrower accesses at its end\n"
                        "  severity high: it does not depend on time\n"
                        "  seen   2 times\n",
                        program.memory->base));
}

// ---- Alignment ----

CheckSet bothAlignments() {
  CheckSet checks = only(Check::Misaligned);
  checks.add(Check::MisalignedSlow);
  return checks;
}

std::string misaligned(const std::string &text, CheckSet checks = bothAlignments()) {
  CheckedProgram program(checks);
  program.run("s_mov_b32 s4, s0\ns_and_b32 s5, s1, 0xffff\ns_movk_i32 s6, 0x1000\ns_mov_b32 s7, 0x27000\n" + text);
  return program.summary();
}

struct Access {
  const char *text; ///< without an offset
  unsigned demanded, stride;
};

TEST(Misaligned, WhatEachInstructionDemands) {
  // v3 is the lane's number times the stride.
  constexpr Access accesses[] = {
      {"ds_read_u16 v10, v3", 2, 2},
      {"ds_write_b16 v3, v10", 2, 2},
      {"ds_read_b32 v10, v3", 4, 4},
      {"ds_read_b64 v[10:11], v3", 8, 8},
      {"ds_write_b64 v3, v[10:11]", 8, 8},
      {"ds_read_b96 v[10:12], v3", 16, 16},
      {"ds_read_b128 v[10:13], v3", 16, 16},
      {"ds_write_b128 v3, v[10:13]", 16, 16},
      {"global_load_ushort v10, v3, s[0:1]", 2, 2},
      {"global_load_dword v10, v3, s[0:1]", 4, 4},
      {"global_load_dwordx4 v[10:13], v3, s[0:1]", 4, 4},
      {"global_store_dwordx2 v3, v[10:11], s[0:1]", 4, 4},
      {"buffer_load_ushort v10, v3, s[4:7], 0 offen", 2, 2},
      {"buffer_load_dword v10, v3, s[4:7], 0 offen", 4, 4},
      {"buffer_store_dwordx4 v[10:13], v3, s[4:7], 0 offen", 4, 4},
      {"scratch_load_dword v10, off, off", 4, 0},
  };
  for (const Access &access : accesses) {
    std::string places =
        fmt::format("s_mov_b64 exec, 0xff\nv_lshrrev_b32 v3, 2, v2\nv_mul_u32_u24 v3, {}, v3\n", access.stride);
    EXPECT_EQ(misaligned(places + access.text), "") << access.text;
    for (unsigned offset = 1; offset <= access.demanded; offset *= 2) {
      std::string text = places + access.text + fmt::format(" offset:{}", offset);
      std::string expected = fmt::format("at an address that is no multiple of {}: addresses that are multiples of {}, "
                                         "or accesses of fewer bytes",
                                         access.demanded, access.demanded);
      std::string found = misaligned(text);
      if (offset < access.demanded)
        EXPECT_TRUE(found.ends_with(expected)) << text << "\n" << found;
      else
        EXPECT_EQ(found, "") << text;
    }
  }
}

TEST(Misaligned, PairsDemandWhatEachOfThemMoves) {
  std::string fours = "v_mov_b32 v3, v2\n", odd = "v_add_u32 v3, 2, v2\n";
  EXPECT_EQ(misaligned(fours + "ds_read2_b32 v[10:11], v3 offset1:3"), "");
  EXPECT_NE(misaligned(odd + "ds_read2_b32 v[10:11], v3 offset1:3"), "");
  EXPECT_NE(misaligned(fours + "ds_read2_b64 v[10:13], v3 offset1:3"), "");
  EXPECT_EQ(misaligned("v_lshlrev_b32 v3, 1, v2\nds_write2_b64 v3, v[10:11], v[12:13] offset1:3"), "");
}

TEST(Misaligned, InactiveAndMaskedLanesDoNotCount) {
  std::string lastIsOdd = "v_cmp_eq_u32 vcc, 252, v2\nv_addc_co_u32 v3, vcc, 0, v2, vcc\n";
  EXPECT_NE(misaligned(lastIsOdd + "global_load_dword v10, v3, s[0:1]"), "");
  EXPECT_EQ(misaligned(lastIsOdd + "s_bitset0_b32 exec_hi, 31\nglobal_load_dword v10, v3, s[0:1]"), "");
  std::string masked = "v_mov_b32 v3, -1\n";
  EXPECT_EQ(misaligned(masked + "buffer_load_dword v10, v3, s[4:7], 0 offen"), "");
}

TEST(Misaligned, ScalarLoads) {
  std::string expected =
      "4 bytes are accessed at an address that is no multiple of 4: addresses that are multiples of 4, "
      "or accesses of fewer bytes";
  EXPECT_EQ(misaligned("s_load_dwordx4 s[12:15], s[0:1], 0x4"), "");
  EXPECT_EQ(misaligned("s_load_dword s12, s[0:1], 0x2"), expected);
  EXPECT_EQ(misaligned("s_mov_b32 s9, 6\ns_load_dwordx2 s[12:13], s[0:1], s9"), expected);
  EXPECT_EQ(misaligned("s_or_b32 s0, s0, 1\ns_load_dword s12, s[0:1], 0x0"), expected);
  EXPECT_EQ(misaligned("s_mov_b32 s9, 6\ns_buffer_load_dword s12, s[4:7], s9"), expected);
}

TEST(Misaligned, WrongOrSlow) {
  CheckSet wrong = only(Check::Misaligned), slow = only(Check::MisalignedSlow);
  std::string odd = "v_or_b32 v3, 1, v2\n";
  for (const char *access : {"ds_read_b32 v10, v3", "ds_write_b64 v3, v[10:11]", "global_load_dword v10, v3, s[0:1]",
                             "global_store_short v3, v10, s[0:1]"}) {
    EXPECT_EQ(misaligned(odd + access, wrong), "") << access;
    EXPECT_NE(misaligned(odd + access, slow), "") << access;
  }
  for (const char *access : {"s_load_dword s12, s[0:1], 0x2", "buffer_load_dword v10, v3, s[4:7], 0 offen"}) {
    EXPECT_NE(misaligned(odd + access, wrong), "") << access;
    EXPECT_EQ(misaligned(odd + access, slow), "") << access;
  }
}

TEST(Misaligned, Report) {
  CheckedProgram program(only(Check::MisalignedSlow));
  program.run("ds_read_b64 v[10:11], v2");
  EXPECT_EQ(program.report(), "error: 8 bytes are accessed at an address that is no multiple of 8 (misaligned-slow)\n"
                              "  read   pc 0x0  ds_read_b64 v[10:11], v2                  workgroup 0,0,0 wave 0 lane "
                              "1   LDS 0x4\n"
                              "  needs  addresses that are multiples of 8, or accesses of fewer bytes\n"
                              "  severity low: the result is right, and takes longer\n");
}

// ---- Atomic operations and memory ----

std::string lostUpdate(const std::string &use, Placement placement, int owner) {
  CheckedProgram program(only(Check::LostUpdate));
  program.system.addDevice({});
  program.memory->placement = placement;
  program.memory->owner = owner;
  program.run("v_mov_b32 v4, 0\nv_mov_b32 v5, 0\nv_mov_b32 v6, 0\nv_mov_b32 v7, 0\n" + use);
  return program.summary();
}

TEST(LostUpdate, SumsOfFloatsForAllDevicesWhereMemoryIsNotOrdinary) {
  struct Memory {
    Placement placement;
    int owner;
    std::string name;
  };
  for (const Memory &memory :
       {Memory{Placement::FineGrained, 0, "fine-grained memory"}, Memory{Placement::Uncached, 0, "uncached memory"},
        Memory{Placement::Normal, hostOwner, "memory of the host"},
        Memory{Placement::Normal, 1, "memory of another device"}}) {
    std::string lost = "an atomic operation for all devices may be lost in " + memory.name +
                       ": a loop of compare-and-swaps, or ordinary memory of the device";
    for (std::string use : {"pk_add_f16 v[0:1], v4, off", "pk_add_bf16 v[0:1], v4, off", "add_f32 v[0:1], v4, off",
                            "umax v[0:1], v4, off", "or v[0:1], v4, off"}) {
      EXPECT_EQ(lostUpdate("global_atomic_" + use + " sc1", memory.placement, memory.owner), lost) << use;
      EXPECT_EQ(lostUpdate("global_atomic_" + use, memory.placement, memory.owner), "") << use << ", on one device";
    }
    for (std::string use : {"add v[0:1], v4, off", "swap v[0:1], v4, off", "cmpswap v[0:1], v[4:5], off"})
      EXPECT_EQ(lostUpdate("global_atomic_" + use + " sc1", memory.placement, memory.owner), "") << use;
  }
  EXPECT_EQ(lostUpdate("global_atomic_add_f32 v[0:1], v4, off sc1", Placement::Normal, 0), "");
}

} // namespace
} // namespace heddle::simulator
