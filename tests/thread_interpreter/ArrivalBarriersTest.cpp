// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mbarriers: what their phases order, what their arrivals do not, and what ends a run.
#include "support/TestError.h"
#include "tests/thread_interpreter/TestKernel.h"
#include <numeric>

using namespace heddle;
using namespace heddle::threads;

// What all kernels below call. An elected operation is one of the first lane alone.
static const char *operations = R"(
declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
declare void @llvm.nvvm.mbarrier.inval.shared(ptr addrspace(3))
declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))
declare void @llvm.nvvm.cp.async.mbarrier.arrive.noinc.shared(ptr addrspace(3))
declare void @llvm.nvvm.cp.async.mbarrier.arrive.shared(ptr addrspace(3))
declare i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3), i32)
declare void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.wait.all()
declare void @llvm.nvvm.bar.warp.sync(i32)
define internal i1 @isFirstLane() {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = and i32 %tid, 31
  %first = icmp eq i32 %lane, 0
  ret i1 %first
}
define internal void @arrive(ptr addrspace(3) %object) {
  %state = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) %object)
  ret void
}
define internal void @arriveElected(ptr addrspace(3) %object) {
  %first = call i1 @isFirstLane()
  br i1 %first, label %act, label %end
act:
  call void @arrive(ptr addrspace(3) %object)
  br label %end
end:
  ret void
}
define internal void @wait(ptr addrspace(3) %object, i32 %parity) {
  br label %poll
poll:
  %done = call i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3) %object, i32 %parity)
  br i1 %done, label %end, label %poll
end:
  ret void
}
define internal void @waitElected(ptr addrspace(3) %object, i32 %parity) {
  %first = call i1 @isFirstLane()
  br i1 %first, label %act, label %end
act:
  call void @wait(ptr addrspace(3) %object, i32 %parity)
  br label %end
end:
  ret void
}
)";

static std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  EXPECT_EQ(text.find(from, at + 1), std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// Warp 0 writes a tile for each step, warp 1 reads it, each lane the next one's word, and gives it back.
static const char *ring = R"(
@full = internal addrspace(3) global i64 undef, align 8
@empty = internal addrspace(3) global i64 undef, align 8
@tile = internal addrspace(3) global [32 x i32] undef, align 16
define ptx_kernel void @kernel(ptr addrspace(1) %out, i32 %steps) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = and i32 %tid, 31
  %isFirst = icmp eq i32 %tid, 0
  br i1 %isFirst, label %begin, label %begun
begin:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @full, i32 32)
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @empty, i32 32)
  br label %begun
begun:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %produces = icmp ult i32 %tid, 32
  br i1 %produces, label %produce, label %consume
produce:
  %i = phi i32 [ 0, %begun ], [ %i1, %produce ]
  %i1 = add i32 %i, 1
  %used = and i32 %i1, 1
  call void @wait(ptr addrspace(3) @empty, i32 %used)
  %hundreds = mul i32 %i, 100
  %x = add i32 %hundreds, %lane
  %mine = getelementptr i32, ptr addrspace(3) @tile, i32 %lane
  store i32 %x, ptr addrspace(3) %mine
  ; written
  call void @arrive(ptr addrspace(3) @full)
  %moreTiles = icmp ult i32 %i1, %steps
  br i1 %moreTiles, label %produce, label %end
consume:
  %j = phi i32 [ 0, %begun ], [ %j1, %consume ]
  %sum = phi i32 [ 0, %begun ], [ %total, %consume ]
  %j1 = add i32 %j, 1
  %parity = and i32 %j, 1
  call void @wait(ptr addrspace(3) @full, i32 %parity)
  ; waited
  %next = xor i32 %lane, 1
  %theirs = getelementptr i32, ptr addrspace(3) @tile, i32 %next
  %y = load i32, ptr addrspace(3) %theirs
  %total = add i32 %sum, %y
  ; read
  call void @arrive(ptr addrspace(3) @empty)
  %moreReads = icmp ult i32 %j1, %steps
  br i1 %moreReads, label %consume, label %store
store:
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %lane
  store i32 %total, ptr addrspace(1) %to
  br label %end
end:
  ret void
})";

static constexpr uint32_t steps = 5;

static Report runRing(const std::string &text, std::vector<uint32_t> &out, Options options = {}) {
  TestKernel kernel(operations + text, options);
  out.assign(32, 0);
  return kernel.run(1, 64, {kernel.buffer(out), steps});
}

static void expectClean(const std::string &text) {
  std::vector<uint32_t> out, expected(32);
  for (uint32_t lane = 0; lane < 32; ++lane)
    expected[lane] = steps * (lane ^ 1) + 100 * (steps * (steps - 1) / 2);
  for (unsigned quantum : {4u, 256u}) {
    Options options;
    options.quantum = quantum;
    Report report = runRing(text, out, options);
    EXPECT_TRUE(report.clean()) << report.text();
    EXPECT_EQ(out, expected);
  }
}

static void expectRace(const std::string &text) {
  std::vector<uint32_t> out;
  Options options;
  options.quantum = 4; // the warps take turns inside a phase
  Report report = runRing(text, out, options);
  EXPECT_TRUE(report.has(FindingKind::SharedRace)) << report.text();
}

static const std::string waitFull = "call void @wait(ptr addrspace(3) @full, i32 %parity)";
static const std::string waitEmpty = "call void @wait(ptr addrspace(3) @empty, i32 %used)";
static const std::string arriveFull = "call void @arrive(ptr addrspace(3) @full)";
static const std::string arriveEmpty = "call void @arrive(ptr addrspace(3) @empty)";

TEST(ArrivalBarriers, ProducerAndConsumer) {
  expectClean(ring);
  expectRace(replaced(ring, waitFull, ""));
  expectRace(replaced(ring, waitEmpty, ""));
  // What follows an arrival is not released by it.
  expectRace(
      replaced(replaced(ring, arriveFull, ""), "; written", arriveFull + "\n  store i32 %x, ptr addrspace(3) %mine"));
}

TEST(ArrivalBarriers, MissingArrival) {
  std::vector<uint32_t> out;
  Report report = runRing(replaced(ring, "@full, i32 32)", "@full, i32 33)"), out);
  EXPECT_TRUE(report.has(FindingKind::BarrierFault)) << report.text();
  EXPECT_CONTAINS(report.error, "threads wait for others that never come");
  EXPECT_CONTAINS(report.error, "32 threads of block (0, 0, 0) wait at the mbarrier at byte 0 of shared memory, whose "
                                "phase 0 has 32 of 33 arrivals");
  report = runRing(replaced(ring, arriveEmpty, ""), out);
  EXPECT_CONTAINS(report.error, "the mbarrier at byte 8 of shared memory, whose phase 0 has 0 of 32 arrivals");
}

// Within a phase it is an error; after the phase, the order of execution decides which phase it counts in.
TEST(ArrivalBarriers, DoubleArrival) {
  std::vector<uint32_t> out;
  std::string twice = replaced(ring, arriveFull, arriveFull + "\n  " + arriveFull);
  Report report = runRing(twice, out);
  EXPECT_TRUE(report.has(FindingKind::BarrierFault)) << report.text();
  EXPECT_CONTAINS(report.text(),
                  "thread 0 of block (0, 0, 0) at the mbarrier at byte 0 of shared memory, whose phase 1 "
                  "has 0 of 32 arrivals: nothing orders it after the arrival of thread 1 in phase 0");
  EXPECT_CONTAINS(
      runRing(replaced(twice, "@full, i32 32)", "@full, i32 64)"), out).error,
      "the thread arrives a second time at the mbarrier at byte 0 of shared memory, whose phase 0 has 32 of "
      "64 arrivals");
}

// A lane that arrives, or waits, for its warp needs a bar.warp.sync before it, or after.
TEST(ArrivalBarriers, ElectedLanes) {
  std::string sync = "call void @llvm.nvvm.bar.warp.sync(i32 -1)";
  std::string elected = replaced(ring, arriveFull, replaced(arriveFull, "@arrive", "@arriveElected"));
  elected = replaced(elected, arriveEmpty, replaced(arriveEmpty, "@arrive", "@arriveElected"));
  elected = replaced(elected, waitFull, replaced(waitFull, "@wait", "@waitElected"));
  elected = replaced(replaced(elected, "@full, i32 32)", "@full, i32 1)"), "@empty, i32 32)", "@empty, i32 1)");
  auto withSync = [&](std::string text, std::initializer_list<const char *> places) {
    for (const char *place : places)
      text = replaced(text, place, sync);
    return text;
  };
  expectClean(withSync(elected, {"; written", "; waited", "; read"}));
  expectRace(withSync(elected, {"; waited", "; read"}));
  expectRace(withSync(elected, {"; written", "; read"}));
  expectRace(withSync(elected, {"; written", "; waited"}));
}

// Each thread copies 16 bytes to each of two stages and reads what a thread of the other warp copied.
static const char *copies = R"(
@full0 = internal addrspace(3) global i64 undef, align 8
@full1 = internal addrspace(3) global i64 undef, align 8
@stages = internal addrspace(3) global [2048 x i8] undef, align 16
define ptx_kernel void @kernel(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %isFirst = icmp eq i32 %tid, 0
  br i1 %isFirst, label %begin, label %begun
begin:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @full0, i32 64)
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @full1, i32 64)
  br label %begun
begun:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %near = xor i32 %tid, 33
  %mine0 = mul i32 %tid, 16
  %mine1 = add i32 %mine0, 1024
  %theirs0 = mul i32 %near, 16
  %theirs1 = add i32 %theirs0, 1024
  %g0 = getelementptr i8, ptr addrspace(1) %in, i32 %mine0
  %g1 = getelementptr i8, ptr addrspace(1) %in, i32 %mine1
  %s0 = getelementptr i8, ptr addrspace(3) @stages, i32 %mine0
  %s1 = getelementptr i8, ptr addrspace(3) @stages, i32 %mine1
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %s0, ptr addrspace(1) %g0)
  call void @llvm.nvvm.cp.async.mbarrier.arrive.noinc.shared(ptr addrspace(3) @full0)
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %s1, ptr addrspace(1) %g1)
  call void @llvm.nvvm.cp.async.mbarrier.arrive.noinc.shared(ptr addrspace(3) @full1)
  ; begun
  call void @wait(ptr addrspace(3) @full0, i32 0)
  %r0 = getelementptr i8, ptr addrspace(3) @stages, i32 %theirs0
  %x0 = load i32, ptr addrspace(3) %r0
  call void @wait(ptr addrspace(3) @full1, i32 0)
  %r1 = getelementptr i8, ptr addrspace(3) @stages, i32 %theirs1
  %x1 = load i32, ptr addrspace(3) %r1
  %sum = add i32 %x0, %x1
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  store i32 %sum, ptr addrspace(1) %to
  ret void
})";

TEST(ArrivalBarriers, CopiesThatArrive) {
  std::vector<uint32_t> in(512), out, expected(64);
  std::iota(in.begin(), in.end(), 1);
  for (uint32_t thread = 0; thread < 64; ++thread)
    expected[thread] = in[(thread ^ 33) * 4] + in[256 + (thread ^ 33) * 4];
  auto run = [&](const std::string &text) {
    TestKernel kernel(operations + text);
    out.assign(64, 0);
    return kernel.run(1, 64, {kernel.buffer(in), kernel.buffer(out)});
  };
  std::string wait0 = "call void @wait(ptr addrspace(3) @full0, i32 0)", wait1 = replaced(wait0, "@full0", "@full1");
  // As it is; with data that landed before the phase was complete; and the later phase covers the earlier copies.
  for (const std::string &text :
       {std::string(copies), replaced(copies, "; begun", "call void @llvm.nvvm.cp.async.wait.all()"),
        replaced(copies, wait0, "call void @wait(ptr addrspace(3) @full1, i32 0) ; early")}) {
    Report report = run(text);
    EXPECT_TRUE(report.clean()) << report.text();
    EXPECT_EQ(out, expected);
  }
  // The phase is complete when some threads read, but no thread has waited for it.
  for (const std::string &wait : {wait0, wait1}) {
    Report report = run(replaced(copies, wait, ""));
    EXPECT_TRUE(report.has(FindingKind::CopyInFlight) || report.has(FindingKind::SharedRace)) << report.text();
  }
  // A thread's own copies are in flight too.
  Report report = run(replaced(replaced(copies, wait0, ""), "%near = xor i32 %tid, 33", "%near = xor i32 %tid, 0"));
  EXPECT_TRUE(report.has(FindingKind::CopyInFlight)) << report.text();
  // An ordinary arrival says nothing of copies.
  report = run(replaced(copies, "@llvm.nvvm.cp.async.mbarrier.arrive.noinc.shared(ptr addrspace(3) @full1)",
                        "@arrive(ptr addrspace(3) @full1)"));
  EXPECT_TRUE(report.has(FindingKind::CopyInFlight)) << report.text();
}

// Without `noinc` the arrival of the copies is counted in: the threads' own arrivals make up the phase.
TEST(ArrivalBarriers, CopiesThatCountThemselvesIn) {
  std::vector<uint32_t> in(512), out, expected(64);
  std::iota(in.begin(), in.end(), 1);
  for (uint32_t thread = 0; thread < 64; ++thread)
    expected[thread] = in[(thread ^ 33) * 4] + in[256 + (thread ^ 33) * 4];
  auto run = [&](const std::string &full1) {
    std::string noinc = "call void @llvm.nvvm.cp.async.mbarrier.arrive.noinc.shared(ptr addrspace(3) @full1)";
    TestKernel kernel(operations + replaced(copies, noinc, full1));
    out.assign(64, 0);
    return kernel.run(1, 64, {kernel.buffer(in), kernel.buffer(out)});
  };
  std::string count = "call void @llvm.nvvm.cp.async.mbarrier.arrive.shared(ptr addrspace(3) @full1)\n  ",
              arrive = "call void @arrive(ptr addrspace(3) @full1)\n  ";
  for (const std::string &text : {count + arrive, count + count + arrive}) {
    Report report = run(text);
    EXPECT_TRUE(report.clean()) << report.text();
    EXPECT_EQ(out, expected);
  }
  // It is no arrival itself, and the phase may end before one that comes after the thread's own.
  Report report = run(count);
  EXPECT_FALSE(report.error.empty() && report.clean()) << report.text();
  report = run(arrive + count);
  EXPECT_TRUE(report.has(FindingKind::BarrierFault)) << report.text();
}

TEST(ArrivalBarriers, Faults) {
  std::vector<uint32_t> out;
  auto faultOf = [&](const std::string &from, const std::string &to) {
    return runRing(replaced(ring, from, to), out).error;
  };
  std::string initFull = "call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @full, i32 32)";
  EXPECT_CONTAINS(faultOf(initFull, ""), "no mbarrier is initialised at byte 0 of shared memory, and 1 elsewhere");
  EXPECT_CONTAINS(faultOf("@full, i32 32)", "@full, i32 0)"), "an mbarrier of 0 arrivals; it has 1 to 1048575");
  EXPECT_CONTAINS(faultOf(initFull, initFull + "\n  " + initFull),
                  "init for 32 arrivals, but thread 0 initialised the mbarrier at byte 0");
  EXPECT_CONTAINS(
      faultOf("; written", "store i32 %x, ptr addrspace(3) @empty"),
      "an ordinary access to bytes 8 to 11 of shared memory, of which 8 to 15 are an mbarrier that thread 0 "
      "initialised for 32 arrivals");
  EXPECT_CONTAINS(faultOf(waitFull, "call void @wait(ptr addrspace(3) @full, i32 %j)"), "the parity is 2");
  EXPECT_CONTAINS(faultOf("; written", "call void @llvm.nvvm.mbarrier.inval.shared(ptr addrspace(3) @full)"),
                  "32 threads wait, and 0 arrivals have copies in flight, at the mbarrier at byte 0");
}

// The threads that use an object are ordered after its init, the one that invalidates it after all uses. Then its bytes
// are ordinary memory.
TEST(ArrivalBarriers, BeginAndEndOfAnObject) {
  std::string text = R"(
@object = internal addrspace(3) global i64 undef, align 8
define ptx_kernel void @kernel() {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %isFirst = icmp eq i32 %tid, 0
  br i1 %isFirst, label %begin, label %begun
begin:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @object, i32 64)
  br label %begun
begun:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  call void @arrive(ptr addrspace(3) @object)
  call void @wait(ptr addrspace(3) @object, i32 0)
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br i1 %isFirst, label %finish, label %end
finish:
  call void @llvm.nvvm.mbarrier.inval.shared(ptr addrspace(3) @object)
  store i64 7, ptr addrspace(3) @object
  br label %end
end:
  ret void
})";
  TestKernel kernel(operations + text);
  EXPECT_TRUE(kernel.run(1, 64, {}).clean());
  for (unsigned removed : {0u, 1u}) {
    kernel.interpreter->removeBarrier(removed);
    Report report = kernel.run(1, 64, {});
    EXPECT_TRUE(report.has(FindingKind::SharedRace)) << report.text();
    EXPECT_CONTAINS(report.text(), removed ? "mbarrier.inval.shared" : "mbarrier.arrive.shared");
    kernel.interpreter->restoreBarriers();
  }
}

// Warp 1 waits for what warp 0 wrote after it arrived at the barrier of the block, which hands it on to warp 2.
TEST(ArrivalBarriers, OrderGoesOnThroughBarriers) {
  TestKernel kernel(operations + std::string(R"(
@full = internal addrspace(3) global i64 undef, align 8
@tile = internal addrspace(3) global [32 x i32] undef, align 16
declare void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32, i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.count(i32, i32)
define ptx_kernel void @kernel(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = and i32 %tid, 31
  %warp = lshr i32 %tid, 5
  %next = xor i32 %lane, 1
  %mine = getelementptr i32, ptr addrspace(3) @tile, i32 %lane
  %theirs = getelementptr i32, ptr addrspace(3) @tile, i32 %next
  %isFirst = icmp eq i32 %tid, 0
  br i1 %isFirst, label %begin, label %begun
begin:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @full, i32 32)
  br label %begun
begun:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  switch i32 %warp, label %read [ i32 0, label %write  i32 1, label %pass ]
write:
  call void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32 1, i32 96)
  store i32 %tid, ptr addrspace(3) %mine
  call void @arrive(ptr addrspace(3) @full)
  ret void
pass:
  call void @waitElected(ptr addrspace(3) @full, i32 0)
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 96)
  ret void
read:
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 96)
  %x = load i32, ptr addrspace(3) %theirs
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %lane
  store i32 %x, ptr addrspace(1) %to
  ret void
})"));
  std::vector<uint32_t> out(32);
  Report report = kernel.run(1, 96, {kernel.buffer(out)});
  EXPECT_TRUE(report.clean()) << report.text();
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(out[lane], lane ^ 1);
}

// The same order holds in device memory.
TEST(ArrivalBarriers, DeviceMemory) {
  std::string text = replaced(ring, "; written",
                              "%g = getelementptr i32, ptr addrspace(1) %out, i32 %lane\n"
                              "  store i32 %x, ptr addrspace(1) %g");
  text = replaced(text, "; waited",
                  "%h = getelementptr i32, ptr addrspace(1) %out, i32 %next\n"
                  "  %z = load i32, ptr addrspace(1) %h");
  text = replaced(replaced(text, "  %next = xor i32 %lane, 1\n", ""), "%parity = and",
                  "%next = xor i32 %lane, 1\n  %parity = and");
  Options options;
  options.deviceRaces = true;
  options.quantum = 4;
  auto hasRace = [&](const std::string &text) {
    std::vector<uint32_t> out;
    return runRing(text, out, options).has(FindingKind::DeviceRace);
  };
  // The last store of all is by the thread whose neighbour alone reads the word.
  text = replaced(text, "store i32 %total, ptr addrspace(1) %to", "");
  EXPECT_FALSE(hasRace(text));
  EXPECT_TRUE(hasRace(replaced(text, waitFull, "")));
  EXPECT_TRUE(hasRace(replaced(text, waitEmpty, "")));
}
