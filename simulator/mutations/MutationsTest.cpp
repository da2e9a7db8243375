// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What each mutation makes of instructions of every encoding, as LLVM prints it.
#include "simulator/mutations/Mutations.h"
#include "simulator/decode/TestAssembler.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle::simulator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// `kind: text` of each mutation of the first line.
std::vector<std::string> mutantsOf(const std::string &text, const std::string &chip = "gfx942") {
  std::vector<uint8_t> code = assemble(chip, text);
  uint32_t size = 0;
  std::vector<std::string> texts;
  for (const Mutation &mutation : MutationMaker(chip).of(code, 0, size)) {
    EXPECT_TRUE(mutation.bytes.size() == size || mutation.before.find("; ") != std::string::npos);
    texts.push_back(std::string(infoOf(mutation.kind).name) + ": " + mutation.after);
  }
  return texts;
}

TEST(Mutations, Waits) {
  EXPECT_THAT(mutantsOf("s_waitcnt vmcnt(3) lgkmcnt(0)"),
              ElementsAre("wait-removed: s_nop 0", "vmcnt-weakened: s_waitcnt vmcnt(4) lgkmcnt(0)",
                          "lgkmcnt-weakened: s_waitcnt vmcnt(3) lgkmcnt(1)", "wait-field-dropped: s_waitcnt lgkmcnt(0)",
                          "wait-field-dropped: s_waitcnt vmcnt(3)"));
  EXPECT_THAT(mutantsOf("s_waitcnt vmcnt(15)"),
              ElementsAre("wait-removed: s_nop 0", "vmcnt-weakened: s_waitcnt vmcnt(16)"));
  // One more than the largest is no wait: that mutant is there already.
  EXPECT_THAT(mutantsOf("s_waitcnt vmcnt(62)"), ElementsAre("wait-removed: s_nop 0"));
  EXPECT_THAT(mutantsOf("s_waitcnt lgkmcnt(14)"), ElementsAre("wait-removed: s_nop 0"));
  EXPECT_THAT(mutantsOf("s_waitcnt expcnt(0)"), IsEmpty());
}

TEST(Mutations, BarriersAndCaches) {
  EXPECT_THAT(mutantsOf("s_barrier"), ElementsAre("barrier-removed: s_nop 0"));
  EXPECT_THAT(
      mutantsOf("buffer_wbl2 sc0 sc1"),
      ElementsAre("write-back-removed: s_nop 0", "scope-narrowed: buffer_wbl2 sc1", "scope-narrowed: buffer_wbl2"));
  EXPECT_THAT(mutantsOf("buffer_inv sc1"), ElementsAre("invalidate-removed: s_nop 0", "scope-narrowed: buffer_inv"));
  EXPECT_THAT(mutantsOf("buffer_inv sc0"), ElementsAre("invalidate-removed: s_nop 0"));
}

TEST(Mutations, ScopesAndOffsets) {
  EXPECT_THAT(mutantsOf("global_load_dword v1, v[2:3], off offset:8 sc0 sc1"),
              ElementsAre("scope-narrowed: global_load_dword v1, v[2:3], off offset:8 sc1",
                          "scope-narrowed: global_load_dword v1, v[2:3], off offset:8",
                          "offset-moved: global_load_dword v1, v[2:3], off offset:24 sc0 sc1"));
  EXPECT_THAT(mutantsOf("buffer_store_dword v1, v2, s[4:7], 0 offen sc1"),
              ElementsAre("scope-narrowed: buffer_store_dword v1, v2, s[4:7], 0 offen",
                          "offset-moved: buffer_store_dword v1, v2, s[4:7], 0 offen offset:16 sc1"));
  // sc0 of an atomic operation says that it returns the old value.
  EXPECT_THAT(mutantsOf("global_atomic_add v1, v[2:3], v4, off sc0 sc1"),
              ElementsAre("offset-moved: global_atomic_add v1, v[2:3], v4, off offset:16 sc0 sc1"));
  EXPECT_THAT(mutantsOf("flat_store_dword v[2:3], v1"),
              ElementsAre("offset-moved: flat_store_dword v[2:3], v1 offset:16"));
  EXPECT_THAT(mutantsOf("global_store_dword v[2:3], v1, off offset:-16"),
              ElementsAre("offset-moved: global_store_dword v[2:3], v1, off"));
  EXPECT_THAT(mutantsOf("global_store_dword v[2:3], v1, off offset:4095"),
              ElementsAre("offset-moved: global_store_dword v[2:3], v1, off offset:4079"));
  EXPECT_THAT(mutantsOf("scratch_load_dword v1, off, s3 offset:4"),
              ElementsAre("offset-moved: scratch_load_dword v1, off, s3 offset:20"));
  EXPECT_THAT(mutantsOf("s_load_dwordx4 s[8:11], s[0:1], 0x10"),
              ElementsAre("offset-moved: s_load_dwordx4 s[8:11], s[0:1], 0x20"));
}

TEST(Mutations, OffsetsInLds) {
  EXPECT_THAT(mutantsOf("ds_read_b128 v[0:3], v4 offset:65535"),
              ElementsAre("offset-moved: ds_read_b128 v[0:3], v4 offset:65519"));
  EXPECT_THAT(mutantsOf("ds_read2_b32 v[0:1], v4 offset1:1"),
              ElementsAre("offset-moved: ds_read2_b32 v[0:1], v4 offset0:4 offset1:1"));
  EXPECT_THAT(mutantsOf("ds_write2_b64 v0, v[2:3], v[4:5] offset1:1"),
              ElementsAre("offset-moved: ds_write2_b64 v0, v[2:3], v[4:5] offset0:2 offset1:1"));
  EXPECT_THAT(mutantsOf("ds_read2st64_b32 v[0:1], v4 offset1:1"),
              ElementsAre("offset-moved: ds_read2st64_b32 v[0:1], v4 offset0:1 offset1:1"));
  EXPECT_THAT(mutantsOf("ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,16)"), IsEmpty());
}

TEST(Mutations, Masks) {
  EXPECT_THAT(mutantsOf("s_and_saveexec_b64 s[4:5], vcc\ns_endpgm"),
              ElementsAre("mask-removed: s_mov_b64 s[4:5], exec"));
  EXPECT_THAT(mutantsOf("s_mov_b64 s[4:5], vcc"), IsEmpty());
  EXPECT_THAT(mutantsOf("s_and_b64 exec, exec, vcc\ns_endpgm"), ElementsAre("mask-removed: s_nop 0"));
  // It writes SCC, too: only where nothing reads that.
  EXPECT_THAT(mutantsOf("s_and_b64 exec, exec, vcc\ns_cbranch_scc1 1\ns_endpgm\ns_endpgm"), IsEmpty());
  EXPECT_THAT(mutantsOf("s_and_b64 s[4:5], exec, vcc\ns_endpgm"), IsEmpty());
  EXPECT_THAT(mutantsOf("s_and_b64 exec, s[6:7], s[4:5]\ns_endpgm"), IsEmpty());
  EXPECT_THAT(mutantsOf("s_or_b64 exec, exec, s[4:5]\ns_endpgm"), IsEmpty());
}

TEST(Mutations, LdsBase) {
  EXPECT_THAT(mutantsOf("s_mov_b32 m0, 0x4000"), ElementsAre("m0-moved: s_mov_b32 m0, 0x4100"));
  EXPECT_THAT(mutantsOf("s_movk_i32 m0, 0x100"), ElementsAre("m0-moved: s_movk_i32 m0, 0x200"));
  EXPECT_THAT(mutantsOf("s_add_i32 m0, s3, 0x1000"), ElementsAre("m0-moved: s_add_i32 m0, s3, 0x1100"));
  EXPECT_THAT(mutantsOf("s_add_i32 m0, s3, 16"), ElementsAre("m0-moved: s_add_i32 m0, s3, 64"));
  EXPECT_THAT(mutantsOf("s_add_i32 m0, s3, 64"), ElementsAre("m0-moved: s_add_i32 m0, s3, 32"));
  // Another instruction writes SCC too: only where nothing reads that.
  EXPECT_THAT(mutantsOf("s_mov_b32 m0, s3\ns_endpgm"), ElementsAre("m0-moved: s_add_u32 m0, s3, 64"));
  EXPECT_THAT(mutantsOf("s_mov_b32 m0, s3\ns_cmp_eq_u32 s0, s1\ns_cbranch_scc1 1"),
              ElementsAre("m0-moved: s_add_u32 m0, s3, 64"));
  EXPECT_THAT(mutantsOf("s_mov_b32 m0, s3\ns_nop 0\ns_cbranch_scc1 1\ns_endpgm"), IsEmpty());
  // What a jump out of sight leads to may read it.
  for (const char *jump : {"s_branch 4", "s_cbranch_execz 4", "s_cbranch_vccnz 4", "s_setpc_b64 s[4:5]",
                           "s_swappc_b64 s[30:31], s[4:5]", "s_call_b64 s[30:31], 4"})
    EXPECT_THAT(mutantsOf("s_mov_b32 m0, s3\n" + std::string(jump) + "\ns_endpgm"), IsEmpty()) << jump;
  // All ways are looked at, loops too.
  EXPECT_THAT(mutantsOf("s_mov_b32 m0, s3\ns_cbranch_execz 1\ns_nop 0\ns_endpgm"),
              ElementsAre("m0-moved: s_add_u32 m0, s3, 64"));
  EXPECT_THAT(mutantsOf("s_mov_b32 m0, s3\ns_cbranch_execz 1\ns_endpgm\ns_cselect_b32 s4, 1, 0\ns_endpgm"), IsEmpty());
  EXPECT_THAT(mutantsOf("s_mov_b32 m0, s3\ns_cbranch_execz 1\ns_cselect_b32 s4, 1, 0\ns_endpgm"), IsEmpty());
  EXPECT_THAT(mutantsOf("s_mov_b32 m0, s3\ns_branch 1\ns_cselect_b32 s4, 1, 0\ns_endpgm"),
              ElementsAre("m0-moved: s_add_u32 m0, s3, 64"));
  EXPECT_THAT(mutantsOf("s_mov_b32 m0, s3\ns_cbranch_execz 65534\ns_endpgm"),
              ElementsAre("m0-moved: s_add_u32 m0, s3, 64"));
  EXPECT_THAT(mutantsOf("s_mov_b32 m0, s3\ns_branch 1\ns_cselect_b32 s4, 1, 0\ns_cbranch_execz 65534\ns_endpgm"),
              IsEmpty());
  EXPECT_THAT(mutantsOf("s_mov_b32 m0, s3\ns_cbranch_execz 65533\ns_endpgm"), IsEmpty()); // out of the code
  EXPECT_THAT(mutantsOf("s_mov_b32 s2, s3\ns_endpgm"), IsEmpty());
}

/// Those of the first line that swap instructions; their bytes are decoded again.
std::vector<std::string> movesOf(const std::string &text) {
  std::vector<uint8_t> code = assemble("gfx942", text);
  uint32_t size = 0;
  Decoder decoder("gfx942");
  std::vector<std::string> texts;
  for (const Mutation &mutation : MutationMaker("gfx942").of(code, 0, size)) {
    if (mutation.before.find("; ") == std::string::npos)
      continue;
    std::string all = std::string(infoOf(mutation.kind).name) + ":";
    std::span bytes(reinterpret_cast<const uint8_t *>(mutation.bytes.data()), mutation.bytes.size());
    while (!bytes.empty()) {
      Instruction instruction = decoder.decode(bytes, 0);
      all += " " + instruction.mnemonic;
      bytes = bytes.subspan(instruction.sizeBytes);
    }
    texts.push_back(all);
  }
  return texts;
}

TEST(Mutations, Moves) {
  const std::string wait = "s_waitcnt vmcnt(0)\n", store = "global_store_dword v[2:3], v1, off\n",
                    move = "v_mov_b32 v1, 0\n", load = "global_load_dword v1, v[2:3], off\n", barrier = "s_barrier\n",
                    writeBack = "buffer_wbl2 sc1\n", invalidate = "buffer_inv sc1\n";
  EXPECT_THAT(movesOf(wait + barrier), ElementsAre("wait-late: s_barrier s_waitcnt"));
  EXPECT_THAT(movesOf(wait + store), ElementsAre("wait-late: global_store_dword s_waitcnt"));
  EXPECT_THAT(movesOf(wait + writeBack), ElementsAre("wait-late: buffer_wbl2 s_waitcnt"));
  EXPECT_THAT(movesOf(wait + move + barrier), IsEmpty()); // as if it were gone
  EXPECT_THAT(movesOf("s_waitcnt expcnt(0)\n" + barrier), IsEmpty());
  EXPECT_THAT(movesOf(store + move + writeBack),
              ElementsAre("write-back-early: buffer_wbl2 global_store_dword v_mov_b32"));
  EXPECT_THAT(movesOf(store + store + writeBack), IsEmpty());                              // of the last one
  EXPECT_THAT(movesOf("global_store_dword v[2:3], v1, off sc1\n" + writeBack), IsEmpty()); // which needs none
  EXPECT_THAT(movesOf(invalidate + move + load),
              ElementsAre("invalidate-late: v_mov_b32 global_load_dword buffer_inv"));
  EXPECT_THAT(movesOf(invalidate + store + load), IsEmpty());
  for (const char *between : {"s_cbranch_scc0 4\n", "s_barrier\n", "s_endpgm\n", "s_getpc_b64 s[4:5]\n"}) {
    EXPECT_THAT(movesOf(store + between + writeBack), IsEmpty()) << between;
    EXPECT_THAT(movesOf(invalidate + between + load), IsEmpty()) << between;
  }
}

TEST(Mutations, LoadsThatChangePlaces) {
  const std::string swapped = "loads-swapped: global_load_dword global_load_dwordx2",
                    load = "global_load_dwordx2 v[4:5], v[2:3], off\n";
  EXPECT_THAT(movesOf(load + "global_load_dword v6, v[2:3], off\n"), ElementsAre(swapped));
  EXPECT_THAT(movesOf(load + "buffer_load_dword v6, v7, s[4:7], 0 offen\n"),
              ElementsAre("loads-swapped: buffer_load_dword global_load_dwordx2"));
  EXPECT_THAT(movesOf("ds_read_b32 v1, v2\nds_read_b64 v[4:5], v2\n"),
              ElementsAre("loads-swapped: ds_read_b64 ds_read_b32"));
  EXPECT_THAT(movesOf("global_load_lds_dword v[2:3], off\nglobal_load_lds_dword v[4:5], off offset:1024\n"),
              ElementsAre("loads-swapped: global_load_lds_dword global_load_lds_dword"));
  for (const char *other : {
           "global_load_dword v5, v[2:3], off",         // the same register
           "global_load_dword v6, v[4:5], off",         // an address that the first one brings
           "global_load_dword v3, v[6:7], off",         // another one's address
           "global_load_short_d16 v4, v[2:3], off",     // half of the same register
           "global_load_dword v6, v[2:3], off sc0",     // others may see its order
           "global_load_dword v6, v[2:3], off sc0 sc1", //
           "flat_load_dword v6, v[2:3]",                // two counters
           "ds_read_b32 v6, v2",                        // another counter
           "s_load_dword s4, s[0:1], 0x0",              //
           "global_store_dword v[2:3], v6, off",
           "v_mov_b32 v8, v9\nglobal_load_dword v6, v[2:3], off", // not the next one
       })
    EXPECT_THAT(movesOf(load + other + "\n"), IsEmpty()) << other;
  EXPECT_THAT(movesOf("global_load_lds_dword v[2:3], off\nglobal_load_lds_dword v[4:5], off offset:1020\n"), IsEmpty());
  EXPECT_THAT(movesOf("ds_read_b32 v1, v2\nds_write_b32 v3, v4\n"), IsEmpty());
}

} // namespace
} // namespace heddle::simulator
