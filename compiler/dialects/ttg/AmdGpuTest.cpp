// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A mnemonic that two dialects share is told apart by its operand.
#include "compiler/dialects/ttg/TritonGpu.h"
#include <gtest/gtest.h>

using heddle::triton::amdg::renameScheduleBarriers;

TEST(ScheduleBarriers, WithWordsGetTheNameOfOurOperation) {
  EXPECT_EQ(renameScheduleBarriers("rocdl.sched.barrier none {a = 1}\n  rocdl.sched.barrier mfma_wmma|valu"),
            "amdg.schedule_fence none {a = 1}\n  amdg.schedule_fence mfma_wmma|valu");
}

TEST(ScheduleBarriers, WithNumbersAreTheRocdlDialectsOwn) {
  for (const char *text :
       {"rocdl.sched.barrier 0", "rocdl.sched.barrier", "rocdl.sched.barrier ", "rocdl.s.barrier none"})
    EXPECT_EQ(renameScheduleBarriers(text), text);
}

TEST(ScheduleBarriers, StayInStringsAndComments) {
  for (const char *text : {R"("rocdl.sched.barrier none")", R"("a\"rocdl.sched.barrier none")",
                           R"("a\\\"rocdl.sched.barrier none)", "// rocdl.sched.barrier none", "\"a\\"})
    EXPECT_EQ(renameScheduleBarriers(text), text);
  EXPECT_EQ(renameScheduleBarriers("// \"\nrocdl.sched.barrier none"), "// \"\namdg.schedule_fence none");
  EXPECT_EQ(renameScheduleBarriers(R"("a\\" rocdl.sched.barrier none)"), R"("a\\" amdg.schedule_fence none)");
}
