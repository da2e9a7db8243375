// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// When registers and LDS get what memory operations bring, under the policy that completes them as late as it may.
#include "simulator/decode/TestAssembler.h"
#include "simulator/memory/MemoryPort.h"
#include "simulator/state/Apertures.h"
#include "simulator/state/Fault.h"
#include "simulator/state/Workgroup.h"
#include <gtest/gtest.h>

namespace heddle::simulator {
namespace {

/// A wave whose lane i has the address of word i of `memory` (words 1000 + i) in v[0:1] and i * 4 in v2. v10 and up
/// are 7.
class MemoryOrder : public testing::Test {
protected:
  explicit MemoryOrder(Policy policy = Policy::Latest)
      : device(system.addDevice({})), port(system, {.policy = policy, .direct = false}), wave(makeTestWave()) {
    memory = &system.home.allocate(4096, "memory");
    wave->unit = device.units[0].get();
    group.lds.resize(1024);
    wave->memory = &port;
    wave->pending = &pending;
    wave->workgroup = &group;
    for (uint32_t i = 0; i < 1024; ++i)
      std::memcpy(memory->bytes.get() + 4 * i, &(word = 1000 + i), 4);
    for (uint32_t lane = 0; lane < waveLanes; ++lane) {
      uint64_t address = memory->base + 4 * lane;
      wave->v[0][lane] = uint32_t(address), wave->v[1][lane] = uint32_t(address >> 32), wave->v[2][lane] = 4 * lane;
      for (unsigned row = 10; row < 100; ++row)
        wave->v[row][lane] = 7;
    }
    wave->setScalar64(0, memory->base);
  }
  void run(const std::string &text) {
    // What waits for a wait keeps a pointer to its instruction.
    programs.push_back(std::make_unique<std::vector<Instruction>>(decodeText("gfx942", text)));
    for (const Instruction &instruction : *programs.back()) {
      wave->current = &instruction;
      instruction.execute(*wave, instruction);
    }
  }
  uint32_t lds(uint32_t offset) {
    std::memcpy(&word, group.lds.data() + offset, 4);
    return word;
  }

  MemorySystem system;
  Device &device;
  Allocation *memory;
  MemoryPort port;
  PendingRequests pending;
  Workgroup group;
  std::unique_ptr<Wave> wave;
  std::vector<std::unique_ptr<std::vector<Instruction>>> programs;
  uint32_t word = 0;
};

TEST_F(MemoryOrder, CountedWaitsCompleteTheOldest) {
  run("global_load_dword v10, v[0:1], off\nglobal_load_dword v11, v[0:1], off offset:256");
  EXPECT_EQ(wave->v[10][3], 7u);
  run("s_waitcnt vmcnt(1)");
  EXPECT_EQ(wave->v[10][3], 1003u);
  EXPECT_EQ(wave->v[11][3], 7u);
  run("s_waitcnt lgkmcnt(0)");
  EXPECT_EQ(wave->v[11][3], 7u);
  run("s_waitcnt vmcnt(0)");
  EXPECT_EQ(wave->v[11][3], 1067u);
}

TEST_F(MemoryOrder, StoresAndCacheOperationsCount) {
  run("global_load_dword v10, v[0:1], off\nglobal_store_dword v[0:1], v2, off offset:512\nbuffer_wbl2 sc1\nbuffer_inv "
      "sc1");
  run("s_waitcnt vmcnt(4)");
  EXPECT_EQ(wave->v[10][0], 7u);
  run("s_waitcnt vmcnt(3)");
  EXPECT_EQ(wave->v[10][0], 1000u);
}

TEST_F(MemoryOrder, AFullCounterCompletesTheOldest) {
  run("global_load_dword v10, v[0:1], off");
  for (int i = 0; i < 62; ++i)
    run("global_load_dword v11, v[0:1], off");
  EXPECT_EQ(wave->v[10][0], 7u);
  run("global_load_dword v12, v[0:1], off");
  EXPECT_EQ(wave->v[10][0], 1000u);
}

TEST_F(MemoryOrder, LdsReadsOfAWaveSeeItsWritesInOrder) {
  run("ds_write_b32 v2, v2 offset:8\nds_read_b32 v10, v2 offset:8\nds_write_b32 v2, v10 offset:8");
  EXPECT_EQ(wave->v[10][5], 7u);
  EXPECT_EQ(lds(8 + 20), 0u);
  run("s_waitcnt lgkmcnt(2)");
  EXPECT_EQ(lds(8 + 20), 20u);
  EXPECT_EQ(wave->v[10][5], 7u);
  run("s_waitcnt lgkmcnt(1)");
  EXPECT_EQ(wave->v[10][5], 20u);
  run("s_waitcnt lgkmcnt(0)");
  EXPECT_EQ(lds(8 + 20), 7u); // the source was read at issue, and then it still had its old value
}

TEST_F(MemoryOrder, ScalarLoadsNeedACountOfZero) {
  wave->s[8] = 7;
  run("s_load_dword s8, s[0:1], 0x10\ns_waitcnt lgkmcnt(1)");
  EXPECT_EQ(wave->s[8], 7u);
  run("s_waitcnt lgkmcnt(0)");
  EXPECT_EQ(wave->s[8], 1004u);
}

TEST_F(MemoryOrder, FlatLoadsNeedBothCounters) {
  run("flat_load_dword v10, v[0:1]\ns_waitcnt vmcnt(0)");
  EXPECT_EQ(wave->v[10][1], 7u);
  run("s_waitcnt lgkmcnt(0)");
  EXPECT_EQ(wave->v[10][1], 1001u);
}

TEST_F(MemoryOrder, LoadsToLdsLandAtTheirWait) {
  wave->s[m0Register] = 64;
  wave->setExec(0xff);
  run("global_load_lds_dword v[0:1], off offset:4");
  EXPECT_EQ(lds(68), 0u);
  run("s_waitcnt lgkmcnt(0)");
  EXPECT_EQ(lds(68), 0u);
  run("s_waitcnt vmcnt(0)");
  EXPECT_EQ(lds(68), 1001u); // the offset counts on both sides
  EXPECT_EQ(lds(68 + 7 * 4), 1008u);
  EXPECT_EQ(lds(68 + 8 * 4), 0u); // an inactive lane
}

TEST_F(MemoryOrder, InactiveLanesKeepTheirValueAndTouchNothing) {
  wave->setExec(1);
  wave->v[1][5] = 0; // no address
  run("global_load_dwordx2 v[10:11], v[0:1], off\ns_waitcnt vmcnt(0)");
  EXPECT_EQ(wave->v[11][0], 1001u);
  EXPECT_EQ(wave->v[10][5], 7u);
}

TEST_F(MemoryOrder, HalvesOfRegisters) {
  run("global_load_short_d16_hi v10, v[0:1], off\nds_write_b32 v2, v2\nds_read_u8_d16 v11, v2\ns_waitcnt vmcnt(0) "
      "lgkmcnt(0)");
  EXPECT_EQ(wave->v[10][2], 1002u << 16 | 7);
  EXPECT_EQ(wave->v[11][2], 8u);
}

TEST_F(MemoryOrder, TwoLdsElementsOfANegativeAddress) {
  run("v_add_u32 v12, 0xfffffc00, v2\nds_write2st64_b32 v12, v2, v10 offset0:5 offset1:4\nds_read2_b32 v[20:21], v2 "
      "offset0:64 offset1:0\ns_waitcnt lgkmcnt(0)");
  EXPECT_EQ(wave->v[20][2], 8u); // at 256 + 8
  EXPECT_EQ(wave->v[21][2], 7u);
}

TEST_F(MemoryOrder, TwoLdsElements) {
  run("ds_write2st64_b32 v2, v2, v10 offset0:1 offset1:2\nds_read2_b64 v[20:23], v2 offset0:32 offset1:33\ns_waitcnt "
      "lgkmcnt(0)");
  EXPECT_EQ(wave->v[20][2], 8u); // at 256 + 8
  EXPECT_EQ(wave->v[21][2], 12u);
  EXPECT_EQ(wave->v[23][2], 20u);
  EXPECT_EQ(lds(512), 7u);
}

TEST_F(MemoryOrder, LdsAtomicsGoLaneAfterLane) {
  for (uint32_t &lane : wave->v[2])
    lane = 16;
  run("ds_add_rtn_u32 v10, v2, v10\nds_inc_rtn_u32 v11, v2, v11\ns_waitcnt lgkmcnt(0)");
  EXPECT_EQ(wave->v[10][0], 0u);
  EXPECT_EQ(wave->v[10][63], 63 * 7u);
  EXPECT_EQ(wave->v[11][0], 64 * 7u); // above its limit: back to 0
  EXPECT_EQ(wave->v[11][8], 7u);
}

TEST_F(MemoryOrder, ComparedExchangeOrdersItsOperandsByFamily) {
  wave->setExec(1);
  wave->v[20][0] = 5, wave->v[21][0] = 1000; // global: new value, then the one to compare with
  run("global_atomic_cmpswap v10, v[0:1], v[20:21], off sc0\ns_waitcnt vmcnt(0)");
  EXPECT_EQ(wave->v[10][0], 1000u);
  system.endKernel(device); // writes back where the device has it
  std::memcpy(&word, memory->bytes.get(), 4);
  EXPECT_EQ(word, 5u);
  wave->v[20][0] = 0, wave->v[21][0] = 9; // LDS: the one to compare with, then the new value
  run("ds_cmpst_rtn_b32 v10, v2, v20, v21\ns_waitcnt lgkmcnt(0)");
  EXPECT_EQ(lds(0), 9u);
}

TEST_F(MemoryOrder, FaultsNameTheLane) {
  wave->v[1][9] = 1;
  try {
    run("global_load_dword v10, v[0:1], off\ns_nop 0\ns_waitcnt vmcnt(0)");
    FAIL() << "no fault";
  } catch (const Fault &fault) {
    EXPECT_EQ(fault.lane, 9);
    EXPECT_EQ(fault.wave, wave.get());
    EXPECT_EQ(fault.instruction->mnemonic, "global_load_dword");
  }
  wave->v[2][60] = 2000;
  EXPECT_THROW(run("ds_read_b32 v10, v2\ns_waitcnt lgkmcnt(0)"), Fault);
  wave->v[1][9] = wave->v[1][8];
  wave->v[0][3] += 2;
  EXPECT_THROW(run("global_atomic_add v[0:1], v2, off\ns_waitcnt vmcnt(0)"), Fault);
}

TEST_F(MemoryOrder, FlatAddressesOfLds) {
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    wave->v[0][lane] = lane * 8, wave->v[1][lane] = uint32_t(sharedAperture >> 32);
  run("flat_store_dword v[0:1], v2\ns_waitcnt vmcnt(0) lgkmcnt(0)");
  EXPECT_EQ(lds(5 * 8), 20u);
}

} // namespace
} // namespace heddle::simulator
