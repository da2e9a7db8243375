// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Buffers that end inside a word: atomic operations of one or two bytes are made of whole words, which reach beyond.
#include "CheckedProgram.h"
#include "simulator/state/Fault.h"
#include <gtest/gtest.h>

namespace heddle::simulator {
namespace {

const std::string swap = "global_atomic_cmpswap v10, v2, v[4:5], s[0:1] sc0",
                  addPair = "global_atomic_pk_add_f16 v2, v4, s[0:1]";

/// One lane, v2 is 0 and s[0:1] the address of a buffer of a few bytes; of a compare-and-swap v4 is what comes, v5 what
/// is expected.
class EndOfBuffer {
public:
  EndOfBuffer(uint64_t sizeBytes, Policy policy, bool isDirect, bool isInitialised = true)
      : program(only(Check::Uninitialised), policy), direct(program.system, {}) {
    buffer = &program.system.home.allocate(sizeBytes, "buffer");
    buffer->initialised = isInitialised;
    if (isDirect)
      program.wave->memory = &direct;
    program.wave->setScalar64(0, buffer->base);
    program.run("s_mov_b64 exec, 1\nv_mov_b32 v2, 0");
  }
  EndOfBuffer &run(uint32_t data, const std::string &text) {
    program.system.beginKernel(program.device);
    program.run("v_mov_b32 v4, " + std::to_string(data) + "\nv_mov_b32 v5, 0");
    program.run(text + "\ns_waitcnt vmcnt(0)");
    program.system.endKernel(program.device);
    return *this;
  }
  /// What the program is told; "" when nothing is wrong.
  std::string faultOf(uint32_t data, const std::string &text) {
    try {
      run(data, text);
      return "";
    } catch (const Fault &fault) {
      EXPECT_EQ(fault.lane, 0);
      return fault.what();
    }
  }

  CheckedProgram program;
  MemoryPort direct;
  Allocation *buffer;
};

template <typename Action>
void inEachWay(Action action) {
  for (Policy policy : {Policy::Earliest, Policy::Latest})
    for (bool isDirect : {false, true})
      action(policy, isDirect);
}

TEST(EndOfBuffer, IsReachedByWordsThatChangeNothingBehindIt) {
  inEachWay([](Policy policy, bool isDirect) {
    EndOfBuffer two(2, policy, isDirect), three(3, policy, isDirect), six(6, policy, isDirect);
    two.run(0x1234, swap);
    EXPECT_EQ(two.buffer->bytes[0] | two.buffer->bytes[1] << 8, 0x1234);
    EXPECT_EQ(two.program.wave->v[10][0], 0u);
    three.run(0x561234, swap);
    EXPECT_EQ(three.buffer->bytes[2], 0x56);
    six.run(0x80003c00, addPair + " offset:4"); // 1, and -0 after it
    EXPECT_EQ(six.buffer->bytes[4] | six.buffer->bytes[5] << 8, 0x3c00);
  });
}

TEST(EndOfBuffer, IsNotForWhatChangesBytesBehindIt) {
  inEachWay([](Policy policy, bool isDirect) {
    EndOfBuffer two(2, policy, isDirect), three(3, policy, isDirect);
    EXPECT_EQ(two.faultOf(0x11234, swap), "writes 4 bytes at 0x700000101000, outside every allocation");
    EXPECT_EQ(two.faultOf(0x3c003c00, addPair), "writes 4 bytes at 0x700000101000, outside every allocation");
    EXPECT_EQ(two.buffer->bytes[0], 0);
    EXPECT_EQ(two.buffer->bytes[2], 0);
    EXPECT_NE(three.faultOf(0x1000000, swap), "");
  });
}

TEST(EndOfBuffer, IsTheEndForAllElse) {
  inEachWay([](Policy policy, bool isDirect) {
    EndOfBuffer two(2, policy, isDirect), six(6, policy, isDirect);
    EXPECT_NE(two.faultOf(0, "global_load_dword v10, v2, s[0:1]"), "");
    EXPECT_NE(two.faultOf(0, "global_store_dword v2, v4, s[0:1]"), "");
    EXPECT_NE(two.faultOf(0, addPair + " offset:4"), ""); // all of the word lies past the end
    EXPECT_NE(six.faultOf(0, "global_atomic_add_x2 v2, v[4:5], s[0:1]"), "");
    six.buffer->writable = false;
    EXPECT_EQ(six.faultOf(0, addPair), "writes 4 bytes of read-only memory at 0x700000101000");
  });
}

/// Bytes past the end are 0, which is no value that nothing has written.
TEST(EndOfBuffer, HasNoUnwrittenBytesBehindIt) {
  const std::string decide = "\ns_waitcnt vmcnt(0)\nv_readfirstlane_b32 s8, v10\ns_cmp_eq_u32 s8, 0\ns_cbranch_scc1 1";
  for (Policy policy : {Policy::Earliest, Policy::Latest}) {
    EndOfBuffer written(2, policy, false, false), unwritten(2, policy, false, false);
    written.run(0x1234, "global_store_short v2, v5, s[0:1]\n" + swap + decide);
    EXPECT_EQ(written.program.report(), "");
    EXPECT_EQ(written.program.system.home.countUnwritten(written.buffer->base, 2), 0u);
    unwritten.run(0x1234, swap + decide);
    EXPECT_NE(unwritten.program.report().find("byte 0 of `buffer`, 2 bytes"), std::string::npos)
        << unwritten.program.report();
  }
}

} // namespace
} // namespace heddle::simulator
