// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Live registers of small programs, counted by hand.
#include "simulator/analysis/LiveRegisters.h"
#include "simulator/decode/TestAssembler.h"
#include <gmock/gmock.h>

namespace heddle::simulator {
namespace {

using testing::ElementsAre;

std::vector<uint32_t> vectorCounts(const std::string &text) {
  std::vector<uint8_t> bytes = assemble("gfx942", text);
  std::vector<uint32_t> counts;
  for (const LiveCount &count : countLiveRegisters(readMachineCode("gfx942", bytes, 0, 0)))
    counts.push_back(count.vector);
  return counts;
}

TEST(LiveRegisters, FromTheWriteToTheLastRead) {
  EXPECT_THAT(vectorCounts(R"(
    v_mov_b32 v1, 1
    v_mov_b32 v2, 2
    v_add_u32 v3, v1, v2
    global_store_dword v0, v3, s[0:1]
    s_endpgm
  )"),
              ElementsAre(1, 2, 3, 2, 0))
      << "v0 is live from the start";
}

TEST(LiveRegisters, AroundALoop) {
  EXPECT_THAT(vectorCounts(R"(
    v_mov_b32 v1, 0
  loop:
    v_add_u32 v1, v1, v0
    s_sub_u32 s0, s0, 1
    s_cmp_eq_u32 s0, 0
    s_cbranch_scc0 loop
    global_store_dword v2, v1, s[2:3]
    s_endpgm
  )"),
              ElementsAre(2, 3, 3, 3, 3, 2, 0))
      << "v0 and v1 are read again by the next iteration, v2 after the loop";
}

TEST(LiveRegisters, WideOperandsAndWhatAnInstructionReadsOfItsResult) {
  EXPECT_THAT(vectorCounts(R"(
    global_load_dwordx4 v[4:7], v0, s[0:1]
    s_waitcnt vmcnt(0)
    v_fmac_f32 v4, v5, v6
    global_store_dword v0, v4, s[0:1]
    s_endpgm
  )"),
              ElementsAre(1, 4, 4, 2, 0));
}

TEST(LiveRegisters, NothingOfNothing) {
  EXPECT_THAT(countLiveRegisters(MachineCode()), testing::IsEmpty());
}

} // namespace
} // namespace heddle::simulator
