// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shared memory: races, bytes that no thread wrote, barriers that are needed or never complete, asynchronous copies.
#include "tests/thread_interpreter/TestKernel.h"
#include <numeric>

using namespace heddle::threads;

static const char *transpose = R"(
@tile = internal addrspace(3) global [256 x i32] undef, align 16
define ptx_kernel void @kernel(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %row = lshr i32 %tid, 4
  %column = and i32 %tid, 15
  %scaled = shl i32 %column, 4
  %turned = or i32 %scaled, %row
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %tid
  %x = load i32, ptr addrspace(1) %from
  %write = getelementptr i32, ptr addrspace(3) @tile, i32 %tid
  store i32 %x, ptr addrspace(3) %write
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %read = getelementptr [256 x i32], ptr addrspace(3) @tile, i32 0, i32 %turned
  %generic = addrspacecast ptr addrspace(3) %read to ptr
  %y = load i32, ptr %generic
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  store i32 %y, ptr addrspace(1) %to
  ret void
})";

TEST(Shared, TransposeNeedsItsBarrier) {
  TestKernel kernel(transpose);
  std::vector<uint32_t> in(256), out(256);
  std::iota(in.begin(), in.end(), 0);
  std::vector<uint64_t> arguments = {kernel.buffer(in), kernel.buffer(out)};
  Report report = kernel.run(1, 256, arguments);
  EXPECT_TRUE(report.clean()) << report.text();
  for (uint32_t i = 0; i < 256; ++i)
    EXPECT_EQ(out[i], i % 16 * 16 + i / 16);

  EXPECT_EQ(kernel.interpreter->barrierCount(), 1u);
  kernel.interpreter->removeBarrier(0);
  report = kernel.run(1, 256, arguments);
  EXPECT_TRUE(report.has(FindingKind::SharedRace)) << report.text();
  EXPECT_TRUE(report.has(FindingKind::UnwrittenShared)) << report.text();
  EXPECT_NE(report.text().find("`store i32 %x, ptr addrspace(3) %write"), std::string::npos) << report.text();
  kernel.interpreter->restoreBarriers();
  EXPECT_TRUE(kernel.run(1, 256, arguments).clean());
}

// Written, read by the neighbour, written again: the last write races with the read when the second barrier is gone.
static const char *writeAfterRead = R"(
@tile = internal addrspace(3) global [64 x i16] undef, align 16
define ptx_kernel void @kernel(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %other = xor i32 %tid, 63
  %x = trunc i32 %tid to i16
  %y = add i16 %x, 1
  %mine = getelementptr i16, ptr addrspace(3) @tile, i32 %tid
  %theirs = getelementptr i16, ptr addrspace(3) @tile, i32 %other
  store i16 %x, ptr addrspace(3) %mine
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %z = load i16, ptr addrspace(3) %theirs
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  store i16 %y, ptr addrspace(3) %mine
  %to = getelementptr i16, ptr addrspace(1) %out, i32 %tid
  store i16 %z, ptr addrspace(1) %to
  ret void
})";

TEST(Shared, WriteAfterRead) {
  for (int removed = -1; removed < 2; ++removed) {
    TestKernel kernel(writeAfterRead);
    if (removed >= 0)
      kernel.interpreter->removeBarrier(removed);
    std::vector<uint16_t> out(64);
    Report report = kernel.run(1, 64, {kernel.buffer(out)});
    EXPECT_EQ(report.has(FindingKind::SharedRace), removed >= 0) << report.text();
    EXPECT_EQ(report.has(FindingKind::UnwrittenShared), removed == 0) << report.text();
  }
}

// Inside one warp bar.warp.sync orders; without it, lanes race although they run in lockstep here.
static std::string warpExchange(bool synchronised) {
  return std::string(R"(
@tile = internal addrspace(3) global [32 x i32] undef
declare void @llvm.nvvm.bar.warp.sync(i32)
define ptx_kernel void @kernel(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %other = xor i32 %tid, 1
  %mine = getelementptr i32, ptr addrspace(3) @tile, i32 %tid
  %theirs = getelementptr i32, ptr addrspace(3) @tile, i32 %other
  store i32 %tid, ptr addrspace(3) %mine
)") + (synchronised ? "  call void @llvm.nvvm.bar.warp.sync(i32 -1)\n" : "") +
         R"(
  %x = load i32, ptr addrspace(3) %theirs
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  store i32 %x, ptr addrspace(1) %to
  ret void
})";
}

TEST(Shared, WarpSynchronousOrder) {
  for (bool synchronised : {true, false}) {
    TestKernel kernel(warpExchange(synchronised));
    std::vector<uint32_t> out(32);
    Report report = kernel.run(1, 32, {kernel.buffer(out)});
    EXPECT_EQ(report.clean(), synchronised) << report.text();
    EXPECT_EQ(report.has(FindingKind::SharedRace), !synchronised) << report.text();
    for (uint32_t i = 0; i < 32; ++i)
      EXPECT_EQ(out[i], i ^ 1);
  }
}

static std::string earlyExit(const char *kind) {
  return std::string("define ptx_kernel void @kernel() {\n") +
         R"(
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %some = icmp ult i32 %tid, 40
  br i1 %some, label %a, label %b
a:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
b:
)" + kind +
         "  ret void\n}";
}

TEST(Shared, BarrierThatOthersNeverReach) {
  TestKernel exits(earlyExit(""));
  Report report = exits.run(1, 64, {});
  EXPECT_TRUE(report.has(FindingKind::BarrierFault)) << report.text();
  EXPECT_NE(report.error.find("24 of 64 threads"), std::string::npos) << report.error;

  TestKernel diverges(earlyExit("  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n"));
  EXPECT_TRUE(diverges.run(1, 64, {}).has(FindingKind::BarrierFault)); // one warp is at both
}

// Producers arrive, consumers wait; both count 64 threads. The order is only one way.
TEST(Shared, NamedBarriersWithArrive) {
  TestKernel kernel(R"(
@tile = internal addrspace(3) global [32 x i32] undef
declare void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32, i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.count(i32, i32)
define ptx_kernel void @kernel(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = and i32 %tid, 31
  %p = getelementptr i32, ptr addrspace(3) @tile, i32 %lane
  %produces = icmp ult i32 %tid, 32
  br i1 %produces, label %produce, label %consume
produce:
  store i32 %tid, ptr addrspace(3) %p
  call void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32 1, i32 64)
  ret void
consume:
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 64)
  %x = load i32, ptr addrspace(3) %p
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %lane
  store i32 %x, ptr addrspace(1) %to
  ret void
})");
  std::vector<uint32_t> out(32), expected(32);
  std::iota(expected.begin(), expected.end(), 0);
  Report report = kernel.run(1, 64, {kernel.buffer(out)});
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(out, expected);
}

// A ring of two stages; each thread copies 16 bytes a step and reads its neighbour's after the wait and the barrier.
static std::string ring(unsigned pending) {
  return R"(
@ring = external addrspace(3) global [0 x i8], align 16
declare void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.cp.async.wait.group(i32 immarg)
define ptx_kernel void @kernel(ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %steps) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %near = xor i32 %tid, 33
  %mine = mul i32 %tid, 16
  %theirs = mul i32 %near, 16
  %p0 = getelementptr i8, ptr addrspace(3) @ring, i32 %mine
  %g0 = getelementptr i8, ptr addrspace(1) %in, i32 %mine
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %p0, ptr addrspace(1) %g0)
  call void @llvm.nvvm.cp.async.commit.group()
  br label %loop
loop:
  %i = phi i32 [ 0, %0 ], [ %next, %loop ]
  %sum = phi i32 [ 0, %0 ], [ %total, %loop ]
  %next = add i32 %i, 1
  %inside = icmp ult i32 %next, %steps
  %clamped = select i1 %inside, i32 %next, i32 0
  %gstep = mul i32 %clamped, 1024
  %goff = add i32 %gstep, %mine
  %g = getelementptr i8, ptr addrspace(1) %in, i32 %goff
  %slot = and i32 %next, 1
  %sstep = mul i32 %slot, 1024
  %soff = add i32 %sstep, %mine
  %s = getelementptr i8, ptr addrspace(3) @ring, i32 %soff
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %s, ptr addrspace(1) %g)
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.wait.group(i32 )" +
         std::to_string(pending) + R"()
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %now = and i32 %i, 1
  %rstep = mul i32 %now, 1024
  %roff = add i32 %rstep, %theirs
  %r = getelementptr i8, ptr addrspace(3) @ring, i32 %roff
  %x = load <4 x i32>, ptr addrspace(3) %r, align 16
  %part = call i32 @llvm.vector.reduce.add.v4i32(<4 x i32> %x)
  %total = add i32 %sum, %part
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br i1 %inside, label %loop, label %end
end:
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  store i32 %total, ptr addrspace(1) %to
  ret void
})";
}

TEST(Shared, AsyncCopyRing) {
  constexpr uint32_t steps = 5;
  std::vector<uint32_t> in(steps * 256), expected(64);
  std::iota(in.begin(), in.end(), 1);
  for (uint32_t thread = 0; thread < 64; ++thread)
    for (uint32_t step = 0; step < steps; ++step)
      for (uint32_t i = 0; i < 4; ++i)
        expected[thread] += in[step * 256 + (thread ^ 33) * 4 + i];

  TestKernel right(ring(1));
  std::vector<uint32_t> out(64);
  Report report = right.run(1, 64, {right.buffer(in), right.buffer(out), steps}, 2048);
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(out, expected);

  TestKernel wrong(ring(2));
  report = wrong.run(1, 64, {wrong.buffer(in), wrong.buffer(out), steps}, 2048);
  EXPECT_TRUE(report.has(FindingKind::CopyInFlight)) << report.text();
  EXPECT_NE(out, expected); // the data were not there yet

  for (unsigned barrier : {0u, 1u}) {
    TestKernel unordered(ring(1));
    unordered.interpreter->removeBarrier(barrier);
    report = unordered.run(1, 64, {unordered.buffer(in), unordered.buffer(out), steps}, 2048);
    EXPECT_TRUE(report.has(FindingKind::SharedRace) || report.has(FindingKind::CopyInFlight)) << report.text();
  }
}
