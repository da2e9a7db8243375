// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Branches, loops, calls, memory bounds, and spin waits between ranks.
#include "support/Error.h"
#include "tests/thread_interpreter/TestKernel.h"
#include <numeric>

using namespace heddle;
using namespace heddle::threads;

static const char *vectorAdd = R"(
define ptx_kernel void @kernel(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c, i32 %n) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %base = mul i32 %ctaid, %ntid
  %i = add i32 %base, %tid
  %inside = icmp slt i32 %i, %n
  br i1 %inside, label %body, label %end
body:
  %pa = getelementptr float, ptr addrspace(1) %a, i32 %i
  %pb = getelementptr float, ptr addrspace(1) %b, i32 %i
  %pc = getelementptr float, ptr addrspace(1) %c, i32 %i
  %x = load float, ptr addrspace(1) %pa
  %y = load float, ptr addrspace(1) %pb
  %z = fadd float %x, %y
  store float %z, ptr addrspace(1) %pc
  br label %end
end:
  ret void
})";

TEST(Control, VectorAddWithATail) {
  TestKernel kernel(vectorAdd);
  constexpr uint32_t n = 200;
  std::vector<float> a(n), b(n), c(n);
  std::iota(a.begin(), a.end(), 0.0f);
  std::iota(b.begin(), b.end(), 0.5f);
  Report report = kernel.run(2, 128, {kernel.buffer(a), kernel.buffer(b), kernel.buffer(c), n});
  EXPECT_TRUE(report.clean()) << report.text();
  for (uint32_t i = 0; i < n; ++i)
    EXPECT_EQ(c[i], a[i] + b[i]);
}
