// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scalar stores and atomic operations under the policy that completes them as late as it may, with caches that keep
// what they have; and instructions that VSKIP skips.
#include "simulator/decode/TestAssembler.h"
#include "simulator/instructions/HardwareRegisters.h"
#include "simulator/memory/MemoryPort.h"
#include "simulator/state/Fault.h"
#include "simulator/state/Workgroup.h"
#include "tests/simulator/checks/AssembledKernel.h"
#include <gtest/gtest.h>

namespace heddle::simulator {
namespace {

/// s[0:1] is the address of `memory`, whose words are 1000 + i; s4 and up are 100 + their number; v[0:1] of each lane
/// is the address too.
class ScalarStores : public testing::Test {
protected:
  ScalarStores() : device(system.addDevice({})), port(system, {.policy = Policy::Latest, .direct = false}) {
    memory = &system.home.allocate(4096, "memory");
    for (uint32_t i = 0; i < 1024; ++i)
      std::memcpy(memory->bytes.get() + 4 * i, &(word = 1000 + i), 4);
    wave->unit = device.units[0].get();
    wave->memory = &port;
    wave->pending = &pending;
    wave->workgroup = &group;
    wave->setScalar64(0, memory->base);
    for (unsigned i = 4; i < 100; ++i)
      wave->s[i] = 100 + i;
    for (unsigned lane = 0; lane < waveLanes; ++lane)
      wave->v[0][lane] = uint32_t(memory->base), wave->v[1][lane] = uint32_t(memory->base >> 32);
  }
  void run(const std::string &text) {
    programs.push_back(std::make_unique<std::vector<Instruction>>(decodeText("gfx942", text)));
    for (const Instruction &instruction : *programs.back()) {
      wave->current = &instruction;
      instruction.execute(*wave, instruction);
    }
  }
  /// What a vector load finds.
  uint32_t loaded(unsigned index) {
    run("global_load_dword v9, v[0:1], off offset:" + std::to_string(4 * index) + " sc1\ns_waitcnt vmcnt(0)");
    return wave->v[9][0];
  }

  MemorySystem system;
  Device &device;
  MemoryPort port;
  Allocation *memory;
  PendingRequests pending;
  Workgroup group;
  std::unique_ptr<Wave> wave = makeTestWave();
  std::vector<std::unique_ptr<std::vector<Instruction>>> programs;
  uint32_t word = 0;
};

TEST_F(ScalarStores, StayInTheScalarCacheUntilItIsWrittenBack) {
  run("s_store_dwordx2 s[4:5], s[0:1], 0x8\ns_waitcnt lgkmcnt(0)");
  EXPECT_EQ(loaded(2), 1002u);
  run("s_load_dwordx4 s[8:11], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)");
  EXPECT_EQ(wave->s[9], 1001u);
  EXPECT_EQ(wave->s[10], 104u);
  EXPECT_EQ(wave->s[11], 105u);
  run("s_dcache_inv\ns_dcache_wb\ns_waitcnt lgkmcnt(0)");
  EXPECT_EQ(loaded(1), 1001u);
  EXPECT_EQ(loaded(2), 104u);
  EXPECT_EQ(loaded(3), 105u);
}

TEST_F(ScalarStores, WriteBackComesAfterEarlierStores) {
  run("s_store_dwordx4 s[4:7], s[0:1], 0x80\ns_dcache_wb\ns_waitcnt lgkmcnt(0)");
  EXPECT_EQ(loaded(32), 104u);
  EXPECT_EQ(loaded(35), 107u);
}

TEST_F(ScalarStores, WithGlcPassTheScalarCacheBy) {
  run("s_load_dword s8, s[0:1], 0x10\ns_waitcnt lgkmcnt(0)");
  run("s_store_dword s4, s[0:1], 0x14 glc\ns_waitcnt lgkmcnt(0)");
  EXPECT_EQ(loaded(5), 104u);
  run("v_mov_b32 v9, 7\nglobal_store_dword v[0:1], v9, off offset:16 sc1\ns_waitcnt vmcnt(0)");
  run("s_load_dword s8, s[0:1], 0x10\ns_load_dword s9, s[0:1], 0x10 glc\ns_waitcnt lgkmcnt(0)");
  EXPECT_EQ(wave->s[8], 1004u) << "the scalar cache hears of no store";
  EXPECT_EQ(wave->s[9], 7u);
}

TEST_F(ScalarStores, OfBuffersEndAtTheRange) {
  run("s_mov_b32 s20, s0\ns_mov_b32 s21, s1\ns_mov_b32 s22, 8\ns_mov_b32 s23, 0\n"
      "s_buffer_store_dwordx4 s[4:7], s[20:23], 0x0 glc\ns_waitcnt lgkmcnt(0)");
  EXPECT_EQ(loaded(1), 105u);
  EXPECT_EQ(loaded(2), 1002u);
  run("s_buffer_atomic_add s4, s[20:23], 0x4\ns_buffer_atomic_add s5, s[20:23], 0x8 glc\ns_waitcnt lgkmcnt(0)");
  EXPECT_EQ(loaded(1), 209u);
  EXPECT_EQ(loaded(2), 1002u);
  EXPECT_EQ(wave->s[5], 0u);
}

TEST_F(ScalarStores, AtomicsReturnTheOldValueWithGlc) {
  run("s_atomic_add s4, s[0:1], 0x0 glc\ns_atomic_add s5, s[0:1], 0x4\n"
      "s_mov_b32 s7, 1002\ns_atomic_cmpswap s[6:7], s[0:1], 0x8 glc");
  EXPECT_EQ(wave->s[4], 104u) << "as long as nothing waits";
  run("s_waitcnt lgkmcnt(0)");
  EXPECT_EQ(wave->s[4], 1000u);
  EXPECT_EQ(wave->s[5], 105u);
  EXPECT_EQ(wave->s[6], 1002u);
  EXPECT_EQ(loaded(0), 1104u);
  EXPECT_EQ(loaded(1), 1106u);
  EXPECT_EQ(loaded(2), 106u);
  run("s_mov_b32 s4, 1104\ns_atomic_inc s4, s[0:1], 0x0 glc\ns_waitcnt lgkmcnt(0)");
  EXPECT_EQ(wave->s[4], 1104u);
  EXPECT_EQ(loaded(0), 0u);
  run("s_mov_b32 s4, 5\ns_atomic_dec s4, s[0:1], 0x0\ns_waitcnt lgkmcnt(0)");
  EXPECT_EQ(loaded(0), 5u);
}

TEST_F(ScalarStores, AtomicsOf64Bits) {
  run("s_atomic_swap_x2 s[4:5], s[0:1], 0x10 glc\ns_waitcnt lgkmcnt(0)");
  EXPECT_EQ(wave->s[4], 1004u);
  EXPECT_EQ(wave->s[5], 1005u);
  EXPECT_EQ(loaded(4), 104u);
  EXPECT_EQ(loaded(5), 105u);
  run("s_atomic_cmpswap_x2 s[8:11], s[0:1], 0x10\ns_waitcnt lgkmcnt(0)");
  EXPECT_EQ(loaded(4), 104u) << "not what was expected";
  EXPECT_THROW(run("s_atomic_add_x2 s[4:5], s[0:1], 0x4\ns_waitcnt lgkmcnt(0)"), Fault);
}

SkipEffect skipEffectOf(const std::string &text) {
  return simulator::skipEffectOf(decodeText("gfx942", text).front());
}

TEST(Skip, BitOfMode) {
  auto wave = makeTestWave();
  wave->s[0] = 4;
  executeText(*wave, "s_setvskip s0, 2");
  EXPECT_TRUE(wave->mode & skipMode);
  executeText(*wave, "s_setvskip s0, 3");
  EXPECT_FALSE(wave->mode & skipMode);
}

TEST(Skip, WhatConstantsSay) {
  EXPECT_EQ(skipEffectOf("s_setvskip s0, 2"), SkipEffect::MaySet);
  EXPECT_EQ(skipEffectOf("s_setvskip -1, 0"), SkipEffect::MaySet);
  EXPECT_EQ(skipEffectOf("s_setvskip 0, 0"), SkipEffect::Clears);
  EXPECT_EQ(skipEffectOf("s_setreg_b32 hwreg(HW_REG_MODE, 0, 8), s0"), SkipEffect::None);
  EXPECT_EQ(skipEffectOf("s_setreg_b32 hwreg(HW_REG_MODE), s0"), SkipEffect::MaySet);
  EXPECT_EQ(skipEffectOf("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 24, 8), 0xf"), SkipEffect::Clears);
  EXPECT_EQ(skipEffectOf("v_nop"), SkipEffect::None);
}

/// Neither memory nor counters nor checks hear of what is skipped.
TEST(Skip, VectorInstructions) {
  AssembledKernel kernel({"s_setvskip 1, 0\nv_mov_b32 v0, 7\nglobal_store_dword v[2:3], v0, off\n"
                          "global_load_dword v20, v[2:3], off\nv_mov_b32 v21, v20\nds_write_b32 v1, v20\nv_nop\n"
                          "s_mov_b32 s10, 3\ns_setvskip 0, 0\nv_mov_b32 v22, s10\n"
                          "global_store_dword v[2:3], v22, off offset:256\n"});
  forEachRun([&](SimulationOptions options) {
    options.checks = parseChecks("default");
    SimulationReport report = kernel.run(options);
    EXPECT_FALSE(report.error) << report.error->what();
    EXPECT_TRUE(report.findings.empty()) << report.findings.front().text();
    EXPECT_EQ(kernel.word(0), 0u);
    EXPECT_EQ(kernel.word(64), 3u);
  });
  SimulationReport direct = kernel.run({});
  EXPECT_FALSE(direct.error);
  EXPECT_EQ(kernel.word(0), 0u);
}

} // namespace
} // namespace heddle::simulator
