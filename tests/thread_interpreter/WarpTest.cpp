// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shuffles, votes and reductions of warps and blocks, and atomic counters.
#include "tests/thread_interpreter/TestKernel.h"
#include <numeric>

using namespace heddle::threads;

static const char *blockSum = R"(
@parts = internal addrspace(3) global [32 x float] undef
declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)
define internal float @warpSum(float %x) {
  br label %loop
loop:
  %distance = phi i32 [ 16, %0 ], [ %half, %loop ]
  %sum = phi float [ %x, %0 ], [ %next, %loop ]
  %other = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %sum, i32 %distance, i32 31)
  %next = fadd float %sum, %other
  %half = lshr i32 %distance, 1
  %done = icmp eq i32 %half, 0
  br i1 %done, label %end, label %loop
end:
  ret float %next
}
define ptx_kernel void @kernel(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %base = mul i32 %ctaid, %ntid
  %i = add i32 %base, %tid
  %from = getelementptr float, ptr addrspace(1) %in, i32 %i
  %x = load float, ptr addrspace(1) %from
  %warp = lshr i32 %tid, 5
  %lane = and i32 %tid, 31
  %mine = call float @warpSum(float %x)
  %part = getelementptr float, ptr addrspace(3) @parts, i32 %warp
  %leads = icmp eq i32 %lane, 0
  br i1 %leads, label %put, label %meet
put:
  store float %mine, ptr addrspace(3) %part
  br label %meet
meet:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %warps = lshr i32 %ntid, 5
  %first = icmp ult i32 %tid, 32
  br i1 %first, label %finish, label %end
finish:
  %holds = icmp ult i32 %lane, %warps
  br i1 %holds, label %get, label %have
get:
  %mypart = getelementptr float, ptr addrspace(3) @parts, i32 %lane
  %y = load float, ptr addrspace(3) %mypart
  br label %have
have:
  %z = phi float [ 0.0, %finish ], [ %y, %get ]
  %all = call float @warpSum(float %z)
  br i1 %leads, label %store, label %end
store:
  %to = getelementptr float, ptr addrspace(1) %out, i32 %ctaid
  store float %all, ptr addrspace(1) %to
  br label %end
end:
  ret void
})";

TEST(Warp, BlockReduction) {
  TestKernel kernel(blockSum);
  std::vector<float> in(3 * 256), out(3);
  std::iota(in.begin(), in.end(), 1.0f);
  Report report = kernel.run(3, 256, {kernel.buffer(in), kernel.buffer(out)});
  EXPECT_TRUE(report.clean()) << report.text();
  for (int block = 0; block < 3; ++block)
    EXPECT_EQ(out[block], std::accumulate(&in[block * 256], &in[block * 256] + 256, 0.0f));
  kernel.interpreter->removeBarrier(0);
  EXPECT_TRUE(kernel.run(3, 256, {kernel.buffer(in), kernel.buffer(out)}).has(FindingKind::SharedRace));
}

/// Stores what the calls give in lane order: out[i * 32 + lane].
static std::string perLane(const std::string &declarations, const std::vector<std::string> &calls) {
  std::string text = declarations + R"(
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
define ptx_kernel void @kernel(ptr addrspace(1) %out) {
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %odd = trunc i32 %lane to i1
  %value = add i32 %lane, 100
)";
  for (size_t i = 0; i < calls.size(); ++i) {
    std::string n = std::to_string(i);
    text += "  %r" + n + " = " + calls[i] + "\n  %w" + n + " = add i32 0, %r" + n + "\n  %i" + n +
            " = add i32 %lane, " + std::to_string(i * 32) + "\n  %p" + n +
            " = getelementptr i32, ptr addrspace(1) %out, i32 %i" + n + "\n  store i32 %w" + n +
            ", ptr addrspace(1) %p" + n + "\n";
  }
  return text + "  ret void\n}";
}

TEST(Warp, Shuffles) {
  std::string up = "call i32 @llvm.nvvm.shfl.sync.up.i32(i32 -1, i32 %value, i32 3, i32 0)",
              down = "call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %value, i32 3, i32 31)",
              segments =
                  "call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %value, i32 3, i32 6175)", // 0x181f: 8 lanes
      idx = "call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %value, i32 5, i32 31)";
  TestKernel kernel(perLane("declare i32 @llvm.nvvm.shfl.sync.up.i32(i32, i32, i32, i32)\n"
                            "declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32)\n"
                            "declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)\n",
                            {up, down, segments, idx}));
  std::vector<uint32_t> out(128);
  Report report = kernel.run(1, 32, {kernel.buffer(out)});
  EXPECT_TRUE(report.clean()) << report.text();
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(out[lane], 100 + (lane < 3 ? lane : lane - 3));
    EXPECT_EQ(out[32 + lane], 100 + (lane > 28 ? lane : lane + 3));
    EXPECT_EQ(out[64 + lane], 100 + (lane % 8 > 4 ? lane : lane + 3));
    EXPECT_EQ(out[96 + lane], 105u);
  }
}

// The p forms say whether the source lane was in range.
TEST(Warp, ShuffleWithPredicate) {
  TestKernel kernel(R"(
declare { float, i1 } @llvm.nvvm.shfl.sync.down.f32p(i32, float, i32, i32)
define ptx_kernel void @kernel(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %x = uitofp i32 %tid to float
  %both = call { float, i1 } @llvm.nvvm.shfl.sync.down.f32p(i32 -1, float %x, i32 1, i32 31)
  %y = extractvalue { float, i1 } %both, 0
  %ok = extractvalue { float, i1 } %both, 1
  %z = select i1 %ok, float %y, float -1.0
  %p = getelementptr float, ptr addrspace(1) %out, i32 %tid
  store float %z, ptr addrspace(1) %p
  ret void
})");
  std::vector<float> out(32);
  Report report = kernel.run(1, 32, {kernel.buffer(out)});
  EXPECT_TRUE(report.clean()) << report.text();
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(out[lane], lane == 31 ? -1.0f : float(lane + 1));
}

TEST(Warp, VotesAndReductions) {
  TestKernel kernel(perLane("declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)\n"
                            "declare i32 @llvm.nvvm.redux.sync.add(i32, i32)\n"
                            "declare i32 @llvm.nvvm.redux.sync.max(i32, i32)\n"
                            "declare i32 @llvm.nvvm.barrier.cta.red.popc.aligned.all(i32, i1)\n",
                            {"call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %odd)",
                             "call i32 @llvm.nvvm.redux.sync.add(i32 %value, i32 -1)",
                             "call i32 @llvm.nvvm.redux.sync.max(i32 %value, i32 -1)",
                             "call i32 @llvm.nvvm.barrier.cta.red.popc.aligned.all(i32 0, i1 %odd)"}));
  std::vector<uint32_t> out(128);
  Report report = kernel.run(1, 32, {kernel.buffer(out)});
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(out[7], 0xaaaaaaaau);
  EXPECT_EQ(out[32 + 7], 32u * 100 + 31 * 16);
  EXPECT_EQ(out[64 + 7], 131u);
  EXPECT_EQ(out[96 + 7], 16u);
}

// Lanes below 16 shuffle among themselves and then reach for a lane of the others.
TEST(Warp, ShuffleFromAnInactiveLane) {
  const char *text = R"(
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
define ptx_kernel void @kernel(i32 %source) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %low = icmp ult i32 %tid, 16
  br i1 %low, label %shuffle, label %end
shuffle:
  %x = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 65535, i32 %tid, i32 %source, i32 31)
  br label %end
end:
  ret void
})";
  EXPECT_TRUE(TestKernel(text).run(1, 32, {3}).clean());
  Report report = TestKernel(text).run(1, 32, {20});
  EXPECT_TRUE(report.has(FindingKind::InactiveLane));
  EXPECT_NE(report.text().find("reads lane 20"), std::string::npos) << report.text();
}

// A member mask names lanes that never come.
TEST(Warp, ShuffleWaitsForItsMembers) {
  Report report = TestKernel(R"(
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
define ptx_kernel void @kernel() {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %low = icmp ult i32 %tid, 16
  br i1 %low, label %shuffle, label %other
shuffle:
  %x = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %tid, i32 0, i32 31)
  br label %end
other:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %end
end:
  ret void
})")
                      .run(1, 32, {});
  EXPECT_TRUE(report.has(FindingKind::BarrierFault)) << report.text();
}

TEST(Warp, AtomicCounts) {
  TestKernel kernel(R"(
@count = internal addrspace(3) global i32 undef
define ptx_kernel void @kernel(ptr addrspace(1) %total, ptr addrspace(1) %sum, ptr addrspace(1) %ticket) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %clear, label %ready
clear:
  store i32 0, ptr addrspace(3) @count
  br label %ready
ready:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %a = atomicrmw add ptr addrspace(3) @count, i32 1 monotonic
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %x = uitofp i32 %tid to float
  %b = atomicrmw fadd ptr addrspace(1) %sum, float %x monotonic
  br i1 %first, label %add, label %end
add:
  %n = load i32, ptr addrspace(3) @count
  %c = atomicrmw add ptr addrspace(1) %total, i32 %n acq_rel
  %pair = cmpxchg ptr addrspace(1) %ticket, i64 0, i64 77 acq_rel monotonic
  br label %end
end:
  ret void
})");
  std::vector<uint32_t> total(1);
  std::vector<float> sum(1);
  std::vector<uint64_t> ticket(1);
  Report report = kernel.run(3, 100, {kernel.buffer(total), kernel.buffer(sum), kernel.buffer(ticket)});
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(total[0], 300u);
  EXPECT_EQ(sum[0], 3 * 4950.0f);
  EXPECT_EQ(ticket[0], 77u);
}
