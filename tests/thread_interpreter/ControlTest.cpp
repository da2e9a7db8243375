// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Branches, loops, calls, memory bounds, and spin waits between ranks.
#include "support/Error.h"
#include "support/TestError.h"
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

TEST(Control, AddressOutsideNamesThreadAndInstruction) {
  TestKernel kernel(vectorAdd);
  std::vector<float> a(200), b(200), c(190);
  Report report = kernel.run(2, 128, {kernel.buffer(a), kernel.buffer(b), kernel.buffer(c, "c"), 200});
  EXPECT_NE(report.error.find("store float %z"), std::string::npos) << report.error;
  EXPECT_NE(report.error.find("thread 62 of block (1, 0, 0)"), std::string::npos) << report.error;
  EXPECT_NE(report.error.find("760 bytes behind the begin of 'c'"), std::string::npos) << report.error;
}

TEST(Control, MisalignedAccess) {
  TestKernel kernel(vectorAdd);
  std::vector<float> a(200), b(200), c(200);
  Report report = kernel.run(1, 32, {kernel.buffer(a) + 2, kernel.buffer(b), kernel.buffer(c), 8});
  EXPECT_NE(report.error.find("is not a multiple of 4"), std::string::npos) << report.error;
}

// The loop's length depends on the lane, its value goes round through two phi nodes that exchange.
TEST(Control, DivergentLoopsAndCalls) {
  TestKernel kernel(R"(
define internal i32 @twice(i32 %x, i1 %really) {
  br i1 %really, label %yes, label %no
yes:
  %y = mul i32 %x, 2
  ret i32 %y
no:
  ret i32 %x
}
define ptx_kernel void @kernel(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  br label %loop
loop:
  %i = phi i32 [ 0, %0 ], [ %next, %latch ]
  %a = phi i32 [ 1, %0 ], [ %b, %latch ]
  %b = phi i32 [ 100, %0 ], [ %a, %latch ]
  %more = icmp ult i32 %i, %tid
  br i1 %more, label %latch, label %end
latch:
  %next = add i32 %i, 1
  br label %loop
end:
  %odd = trunc i32 %tid to i1
  %doubled = call i32 @twice(i32 %a, i1 %odd)
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  switch i32 %tid, label %store [ i32 3, label %special  i32 40, label %special ]
special:
  br label %store
store:
  %value = phi i32 [ %doubled, %end ], [ 7, %special ]
  store i32 %value, ptr addrspace(1) %p
  ret void
})");
  std::vector<uint32_t> out(64);
  Report report = kernel.run(1, 64, {kernel.buffer(out)});
  EXPECT_TRUE(report.clean()) << report.text();
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], i == 3 || i == 40 ? 7u : i % 2 ? 200u : 1u) << i;
}

TEST(Control, MemoryIntrinsicsAndAggregates) {
  TestKernel kernel(R"(
%pair = type { i8, [2 x i32], float }
declare void @llvm.memcpy.p0.p1.i64(ptr, ptr addrspace(1), i64, i1)
declare void @llvm.memset.p1.i64(ptr addrspace(1), i8, i64, i1)
define ptx_kernel void @kernel(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %local = alloca %pair
  call void @llvm.memcpy.p0.p1.i64(ptr %local, ptr addrspace(1) %in, i64 16, i1 false)
  call void @llvm.memset.p1.i64(ptr addrspace(1) %out, i8 7, i64 16, i1 false)
  %p = load %pair, ptr %local
  %x = extractvalue %pair %p, 1, 1
  %y = add i32 %x, 1
  %q = insertvalue %pair %p, i32 %y, 1, 0
  store %pair %q, ptr addrspace(1) %out
  ret void
})");
  std::vector<uint32_t> in = {0x11223344, 5, 6, 7}, out(4);
  Report report = kernel.run(1, 1, {kernel.buffer(in), kernel.buffer(out)});
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(out, (std::vector<uint32_t>{0x07070744, 7, 6, 7}));
}

TEST(Control, BlockOfAnotherSizeThanDemanded) {
  TestKernel kernel("define ptx_kernel void @kernel() \"nvvm.reqntid\"=\"128\" {\n  ret void\n}");
  EXPECT_TRUE(kernel.run(1, 128, {}).clean());
  EXPECT_THROW(kernel.run(1, 64, {}), Error);
}

static const char *signalOther = R"(
define ptx_kernel void @kernel(ptr addrspace(1) %mine, ptr addrspace(1) %theirs, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %send, label %wait
send:
  store atomic i32 5, ptr addrspace(1) %theirs syncscope("") release, align 4
  br label %spin
spin:
  %seen = load atomic i32, ptr addrspace(1) %mine acquire, align 4
  %done = icmp eq i32 %seen, 5
  br i1 %done, label %wait, label %spin
wait:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  %flag = load i32, ptr addrspace(1) %mine
  store i32 %flag, ptr addrspace(1) %p
  ret void
})";

TEST(Control, RanksWaitForEachOther) {
  TestKernel kernel(signalOther);
  std::vector<uint32_t> flags(2), out(128);
  uint64_t flag = kernel.buffer(flags, "flags"), results = kernel.buffer(out, "out");
  std::vector<Launch> ranks = {{{1}, {64}, 0, {flag, flag + 4, results}},
                               {{1}, {64}, 0, {flag + 4, flag, results + 256}}};
  Report report = kernel.interpreter->run(ranks);
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(out, std::vector<uint32_t>(128, 5));
}

TEST(Control, WaitForNobody) {
  TestKernel kernel(signalOther, {.mostSteps = 100'000});
  std::vector<uint32_t> flags(2), out(128);
  uint64_t flag = kernel.buffer(flags, "flags");
  Report report = kernel.run(1, 64, {flag, flag + 4, kernel.buffer(out)});
  EXPECT_NE(report.error.find("no progress"), std::string::npos) << report.error;
  EXPECT_NE(report.error.find("63 threads"), std::string::npos) << report.error;
}

// A lane that spins for another one of its own warp: the other gets its turn, wherever its code lies.
static std::string spinInsideTheWarp(const char *choice) {
  return std::string(R"(
define ptx_kernel void @kernel(ptr addrspace(1) %flag) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = icmp eq i32 %tid, 0
)") + choice +
         R"(
spin:
  %seen = load atomic i32, ptr addrspace(1) %flag acquire, align 4
  %done = icmp eq i32 %seen, 1
  br i1 %done, label %end, label %spin
send:
  store atomic i32 1, ptr addrspace(1) %flag release, align 4
  br label %end
end:
  ret void
})";
}

TEST(Control, LanesOfOneWarpWaitForEachOther) {
  for (const char *choice : {"br i1 %first, label %spin, label %send", "br i1 %first, label %send, label %spin"}) {
    TestKernel kernel(spinInsideTheWarp(choice), {.mostSteps = 100'000});
    std::vector<uint32_t> flag(1);
    Report report = kernel.run(1, 32, {kernel.buffer(flag)});
    EXPECT_TRUE(report.clean()) << report.text();
  }
}

// Half of the warp waits for all; the other half works a while and exits, which ends the wait.
static std::string exitWhileOthersWait(const char *choice) {
  return std::string(R"(
declare void @llvm.nvvm.bar.warp.sync(i32)
define ptx_kernel void @kernel(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %low = icmp ult i32 %tid, 16
)") + choice +
         R"(
wait:
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  store i32 1, ptr addrspace(1) %out
  ret void
work:
  %i = phi i32 [ 0, %0 ], [ %next, %work ]
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 20
  br i1 %more, label %work, label %done
done:
  ret void
})";
}

TEST(Control, ExitEndsTheWaitOfOthers) {
  for (const char *choice : {"br i1 %low, label %wait, label %work", "br i1 %low, label %work, label %wait"}) {
    TestKernel kernel(exitWhileOthersWait(choice));
    std::vector<uint32_t> out(1);
    Report report = kernel.run(1, 32, {kernel.buffer(out)});
    EXPECT_TRUE(report.clean()) << report.text();
    EXPECT_EQ(out[0], 1u);
  }
}

static std::string refusal(const std::string &body) {
  try {
    TestKernel kernel(body);
    kernel.run(1, 32, {});
  } catch (const Error &error) {
    return error.what();
  }
  return "none";
}

TEST(Control, UnknownIsRefusedByItsText) {
  EXPECT_NE(refusal(R"(
declare i32 @llvm.nvvm.sad.i(i32, i32, i32)
define void @kernel() {
  %x = call i32 @llvm.nvvm.sad.i(i32 1, i32 2, i32 3)
  ret void
})")
                .find("unknown intrinsic 'llvm.nvvm.sad.i'"),
            std::string::npos);
  EXPECT_NE(refusal("define void @kernel() {\n  call void asm sideeffect \"bogus $0;\", \"r\"(i32 1)\n  ret void\n}")
                .find("unknown inline assembly 'bogus $0;'"),
            std::string::npos);
  EXPECT_NE(refusal("declare void @outside()\ndefine void @kernel() {\n  call void @outside()\n  ret void\n}")
                .find("unknown external function 'outside'"),
            std::string::npos);
  EXPECT_NE(refusal("define void @kernel() {\n  %x = add i128 1, 2\n  ret void\n}").find("add i128 1, 2"),
            std::string::npos);
}

TEST(Control, InlineAssembly) {
  TestKernel kernel(R"(
declare void @llvm.assume(i1)
define ptx_kernel void @kernel(ptr addrspace(1) %from, ptr addrspace(1) %to) {
  %all = call { i32, i32, i32, i32 } asm sideeffect "ld.relaxed.sys.global.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l"(ptr addrspace(1) %from)
  %x = extractvalue { i32, i32, i32, i32 } %all, 0
  %y = extractvalue { i32, i32, i32, i32 } %all, 3
  call void asm sideeffect "st.relaxed.sys.global.v4.b32 [$0], {$1, $2, $3, $4};", "l,r,r,r,r"(ptr addrspace(1) %to, i32 %y, i32 %x, i32 %x, i32 9)
  call void asm sideeffect "\0A\09 own   $0;\0A", "r"(i32 %x)
  %t = call i64 asm sideeffect "mov.u64 \09$0, %globaltimer;", "=l"()
  %some = icmp ne i64 %t, 0
  call void @llvm.assume(i1 %some)
  ret void
})");
  unsigned calls = 0;
  kernel.interpreter->define("own $0;", [&](LaneCall &call) { calls += call.operands[0]; });
  std::vector<uint32_t> from = {1, 2, 3, 4}, to(4);
  Report report = kernel.run(1, 1, {kernel.buffer(from), kernel.buffer(to)});
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(to, (std::vector<uint32_t>{4, 1, 1, 9}));
  EXPECT_EQ(calls, 1u);
}

// Of a buffer that ends inside a word an atomic operation may reach the rest, which is 0, but not change it.
TEST(Control, AtomicsAtTheEndOfABuffer) {
  auto after = [](const std::string &expected, const std::string &next, const std::string &operation) {
    TestKernel kernel("define ptx_kernel void @kernel(ptr addrspace(1) %p) {\n  " + operation + "i32 " + expected +
                      ", i32 " + next + (operation.starts_with("cmpxchg") ? " monotonic monotonic" : ")") +
                      "\n  ret void\n}");
    std::vector<uint8_t> bytes = {1, 2, 3, 77};
    kernel.interpreter->addMemory(bytes.data(), 3, "three");
    Report report = kernel.run(1, 1, {reinterpret_cast<uint64_t>(bytes.data())});
    EXPECT_EQ(bytes[3], 77);
    return report.clean() ? std::to_string(bytes[0]) : report.error;
  };
  const std::string was = "197121", changed = "197129", beyond = "16974337"; // 0x030201, 0x030209, 0x1030201
  for (const std::string operation :
       {"cmpxchg ptr addrspace(1) %p, ",
        "%x = call i32 asm sideeffect \"atom.relaxed.gpu.global.cas.b32 $0, [$1], $2, $3;\", "
        "\"=r,l,r,r,~{memory}\"(ptr addrspace(1) %p, "}) {
    EXPECT_EQ(after(was, changed, operation), "9");
    EXPECT_EQ(after(changed, was, operation), "1");
    EXPECT_NE(after(was, beyond, operation).find("0 bytes behind the begin of 'three', which has 3"),
              std::string::npos);
  }
}

TEST(Control, AccessesUnderAPredicate) {
  TestKernel kernel(R"(
define ptx_kernel void @kernel(ptr addrspace(1) %from, ptr addrspace(1) %to) {
  %two = call { i32, i32 } asm sideeffect "@$3 ld.global.v2.b32 {$0, $1}, [$2];", "=r,=r,l,b,0,1"(ptr addrspace(1) %from, i1 true, i32 8, i32 9)
  %none = call i32 asm sideeffect "@!$2 ld.global.b32 $0, [$1];", "=r,l,b,0"(ptr addrspace(1) null, i1 true, i32 7)
  %seen = call i64 asm sideeffect "@$2 ld.relaxed.sys.global.b64 $0, [$1];", "=r,l,b,0"(ptr addrspace(1) %from, i1 true, i64 0)
  %unseen = call i64 asm sideeffect "@$2 ld.relaxed.sys.global.b64 $0, [$1];", "=r,l,b,0"(ptr addrspace(1) null, i1 false, i64 3)
  %sum = add i64 %seen, %unseen
  %six = trunc i64 %sum to i32
  %x = extractvalue { i32, i32 } %two, 0
  %y = extractvalue { i32, i32 } %two, 1
  call void asm sideeffect "@!$0 st.global.v4.b32 [$1], {$2, $3, $4, $5};", "b,l,r,r,r,r"(i1 false, ptr addrspace(1) %to, i32 %y, i32 %x, i32 %none, i32 %six)
  call void asm sideeffect "@$0 st.global.b32 [$1], $2;", "b,l,r"(i1 false, ptr addrspace(1) null, i32 1)
  %second = call i32 asm sideeffect "@$2 ld.global.b32 $0, [$1+4];", "=r,l,b,0"(ptr addrspace(1) %from, i1 true, i32 7)
  call void asm sideeffect "@$0 st.global.b32 [$1+16], $2;", "b,l,r"(i1 true, ptr addrspace(1) %to, i32 %second)
  ret void
})");
  std::vector<uint32_t> from = {1, 2}, to(5);
  Report report = kernel.run(1, 1, {kernel.buffer(from), kernel.buffer(to)});
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(to, (std::vector<uint32_t>{2, 1, 7, 4, 2}));
}

static const char *maskedCopy = R"(
declare <2 x i32> @llvm.masked.load.v2i32.p1(ptr addrspace(1), <2 x i1>, <2 x i32>)
declare void @llvm.masked.store.v2i32.p1(<2 x i32>, ptr addrspace(1), <2 x i1>)
define ptx_kernel void @kernel(ptr addrspace(1) %from, ptr addrspace(1) %to, i32 %loads, i32 %stores) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %l = icmp slt i32 %t, %loads
  %s = icmp slt i32 %t, %stores
  %l1 = insertelement <2 x i1> poison, i1 %l, i32 0
  %s1 = insertelement <2 x i1> poison, i1 %s, i32 0
  %ls = shufflevector <2 x i1> %l1, <2 x i1> poison, <2 x i32> zeroinitializer
  %ss = shufflevector <2 x i1> %s1, <2 x i1> poison, <2 x i32> SECOND
  %p = getelementptr <2 x i32>, ptr addrspace(1) %from, i32 %t
  %q = getelementptr <2 x i32>, ptr addrspace(1) %to, i32 %t
  %v = call <2 x i32> @llvm.masked.load.v2i32.p1(ptr addrspace(1) align 8 %p, <2 x i1> %ls, <2 x i32> <i32 8, i32 9>)
  call void @llvm.masked.store.v2i32.p1(<2 x i32> %v, ptr addrspace(1) align 8 %q, <2 x i1> %ss)
  ret void
})";

static std::string maskedCopyWith(const std::string &second) {
  std::string text = maskedCopy;
  return text.replace(text.find("SECOND"), 6, second);
}

// What a mask forbids may lie outside of everything.
TEST(Control, MaskedAccesses) {
  TestKernel kernel(maskedCopyWith("zeroinitializer"));
  std::vector<uint32_t> from = {1, 2, 3, 4}, to(6, 77);
  uint64_t source = kernel.buffer(from, "source"), target = kernel.buffer(to, "target");
  Report report = kernel.run(1, 32, {source, target, 2, 3});
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(to, (std::vector<uint32_t>{1, 2, 3, 4, 8, 9}));
  EXPECT_NE(kernel.run(1, 32, {source, target, 3, 3}).error.find("behind the begin of 'source'"), std::string::npos);
  EXPECT_NE(kernel.run(1, 32, {source, target, 2, 4}).error.find("behind the begin of 'target'"), std::string::npos);
}

TEST(Control, ElementsOfOneAccessHaveOneMask) {
  EXPECT_NE(refusal(maskedCopyWith("<i32 0, i32 1>")).find("whose elements have several masks"), std::string::npos);
}

TEST(Control, AtomicsByInlineAssembly) {
  TestKernel kernel(R"(
define ptx_kernel void @kernel(ptr addrspace(1) %counter, ptr addrspace(1) %sum, ptr addrspace(1) %lock) {
  %old = call i32 asm sideeffect "atom.relaxed.gpu.global.add.u32 $0, [$1], $2;", "=r,l,r,~{memory}"(ptr addrspace(1) %counter, i32 2)
  %h = call i16 asm sideeffect "atom.acq_rel.sys.global.add.noftz.f16 $0, [$1], $2;", "=h,l,h,~{memory}"(ptr addrspace(1) %sum, i16 15360)
  %c = call i32 asm sideeffect "atom.acquire.gpu.global.cas.b32 $0, [$1], $2, $3;", "=r,l,r,r,~{memory}"(ptr addrspace(1) %lock, i32 0, i32 1)
  ret void
})");
  std::vector<uint32_t> counter(1), lock(1);
  std::vector<uint16_t> sum(1);
  Report report = kernel.run(2, 64, {kernel.buffer(counter), kernel.buffer(sum), kernel.buffer(lock)});
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(counter[0], 256u);
  EXPECT_EQ(sum[0], 0x5800u); // 128
  EXPECT_EQ(lock[0], 1u);
}

TEST(Control, TextThatHoldsNoKernel) {
  EXPECT_EQ(messageOf([] { TestKernel("define void @other() {\n  ret void\n}"); }),
            "the module defines no function 'kernel'");
  EXPECT_EQ(messageOf([] { TestKernel("declare void @kernel()"); }), "the module defines no function 'kernel'");
  EXPECT_CONTAINS(messageOf([] { TestKernel("define void @kernel() {\n  return\n}"); }),
                  "the code of a thread does not parse: expected instruction opcode:   return");
}

//===-- Groups of warps ------------------------------------------------------------------------------------------===//

// Warps 1 and 2 combine predicates at barrier 3; warp 0 takes no part.
static const char *namedReductions = R"(
declare i1 @llvm.nvvm.barrier.cta.red.or.aligned.count(i32, i32, i1)
declare i1 @llvm.nvvm.barrier.cta.red.and.aligned.count(i32, i32, i1)
declare i32 @llvm.nvvm.barrier.cta.red.popc.aligned.count(i32, i32, i1)
declare void @llvm.nvvm.setmaxnreg.inc.sync.aligned.u32(i32 immarg)
declare void @llvm.nvvm.setmaxnreg.dec.sync.aligned.u32(i32 immarg)
define ptx_kernel void @kernel(ptr addrspace(1) %out, i32 %limit) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %takesPart = icmp ugt i32 %tid, 31
  br i1 %takesPart, label %reduce, label %leave
leave:
  call void @llvm.nvvm.setmaxnreg.dec.sync.aligned.u32(i32 40)
  ret void
reduce:
  call void @llvm.nvvm.setmaxnreg.inc.sync.aligned.u32(i32 232)
  %is = icmp ult i32 %tid, %limit
  %any = call i1 @llvm.nvvm.barrier.cta.red.or.aligned.count(i32 3, i32 64, i1 %is)
  %all = call i1 @llvm.nvvm.barrier.cta.red.and.aligned.count(i32 3, i32 64, i1 %is)
  %count = call i32 @llvm.nvvm.barrier.cta.red.popc.aligned.count(i32 3, i32 64, i1 %is)
  %anyWord = select i1 %any, i32 1000, i32 0
  %allWord = select i1 %all, i32 10000, i32 0
  %part = add i32 %anyWord, %allWord
  %sum = add i32 %part, %count
  %at = sub i32 %tid, 32
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %at
  store i32 %sum, ptr addrspace(1) %to
  ret void
})";

TEST(Control, NamedBarriersReduce) {
  TestKernel kernel(namedReductions);
  for (auto [limit, expected] : {std::pair(32u, 0u), {33u, 1001u}, {95u, 1063u}, {96u, 11064u}}) {
    std::vector<uint32_t> out(64);
    Report report = kernel.run(1, 96, {kernel.buffer(out), limit});
    EXPECT_TRUE(report.clean()) << report.text();
    EXPECT_EQ(out, std::vector<uint32_t>(64, expected));
  }
}

TEST(Control, RegistersOfAWarpGroupComeInSteps) {
  for (const char *wrong : {"44", "28"}) {
    std::string text = namedReductions;
    text.replace(text.find("i32 40"), 6, std::string("i32 ") + wrong);
    std::vector<uint32_t> out(64);
    TestKernel kernel(text);
    EXPECT_CONTAINS(kernel.run(1, 96, {kernel.buffer(out), 32}).error,
                    wrong + std::string(" registers; 24 to 256 in steps of 8 are possible"));
  }
}
