// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Races in device memory between ranks: which ways of passing a message order what came before it.
#include "tests/thread_interpreter/TestKernel.h"

using namespace heddle::threads;

namespace {

/// Rank 0 stores data, then a flag; rank 1 waits for the flag, then loads the data.
struct Passing {
  std::string sends, receives;
  std::string meets = ""; ///< before the flag on rank 0, and after it on rank 1
  uint32_t threads = 1;   ///< the last one stores and loads the data, the first one sends and waits
  Policy policy = Policy::RoundRobin;
};

std::string kernelText(const Passing &passing) {
  return R"(
define ptx_kernel void @kernel(i32 %rank, ptr addrspace(1) %data, ptr addrspace(1) %flag, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %last = sub i32 %size, 1
  %isLast = icmp eq i32 %tid, %last
  %isFirst = icmp eq i32 %tid, 0
  %sends = icmp eq i32 %rank, 0
  br i1 %sends, label %send, label %receive
send:
  br i1 %isLast, label %put, label %putDone
put:
  store i32 42, ptr addrspace(1) %data
  br label %putDone
putDone:
)" + passing.meets +
         R"(
  br i1 %isFirst, label %signal, label %end
signal:
)" + passing.sends +
         R"(
  br label %end
receive:
  br i1 %isFirst, label %poll, label %met
poll:
)" + passing.receives +
         R"(
  %more = icmp eq i32 %seen, 0
  br i1 %more, label %poll, label %polled
polled:
  br label %met
met:
)" + passing.meets +
         R"(
  br i1 %isLast, label %get, label %end
get:
  %value = load i32, ptr addrspace(1) %data
  store i32 %value, ptr addrspace(1) %out
  br label %end
end:
  ret void
}
)";
}

Report pass(const Passing &passing, uint32_t *value = nullptr) {
  Options options;
  options.deviceRaces = true;
  options.policy = passing.policy;
  TestKernel kernel(kernelText(passing), options);
  std::vector<uint32_t> data(1), flag(1), out(1);
  uint64_t dataAt = kernel.buffer(data, "data"), flagAt = kernel.buffer(flag, "flag"),
           outAt = kernel.buffer(out, "out");
  std::vector<Launch> ranks;
  for (uint64_t rank : {0, 1})
    ranks.push_back({{1}, {passing.threads}, 0, {rank, dataAt, flagAt, outAt}});
  Report report = kernel.interpreter->run(ranks);
  if (value)
    *value = out[0];
  return report;
}

const char *const release = "store atomic i32 1, ptr addrspace(1) %flag release, align 4",
                  *const relaxed = "store atomic i32 1, ptr addrspace(1) %flag monotonic, align 4",
                  *const acquire = "%seen = load atomic i32, ptr addrspace(1) %flag acquire, align 4",
                  *const peek = "%seen = load atomic i32, ptr addrspace(1) %flag monotonic, align 4",
                  *const meet = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)";

TEST(DeviceOrder, AReleaseThatIsAcquired) {
  uint32_t value = 0;
  Report report = pass({release, acquire}, &value);
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(value, 42u);
}

TEST(DeviceOrder, RelaxedOnEitherSideIsARace) {
  for (const Passing &passing : {Passing{relaxed, acquire}, {release, peek}, {relaxed, peek}})
    for (Policy policy : {Policy::RoundRobin, Policy::Random, Policy::OneAhead}) {
      Passing each = passing;
      each.policy = policy;
      Report report = pass(each);
      EXPECT_TRUE(report.error.empty()) << report.error;
      ASSERT_EQ(report.findings.size(), 1u) << report.text();
      EXPECT_EQ(report.findings[0].kind, FindingKind::DeviceRace);
      EXPECT_NE(report.findings[0].message.find(
                    "race at byte 0 of 'data' in device memory: `store i32 42, ptr addrspace(1) %data, align 4` by "
                    "thread 0 of block (0, 0, 0) of rank 0, then `%value = load i32"),
                std::string::npos)
          << report.text();
    }
}

TEST(DeviceOrder, AFenceInFrontOfARelaxedStoreReleases) {
  std::string fence = "fence release\n";
  EXPECT_TRUE(pass({fence + relaxed, acquire}).clean());
  EXPECT_TRUE(pass({fence + relaxed, std::string(peek) + "\n  fence acquire"}).clean());
  EXPECT_FALSE(pass({std::string(relaxed) + "\n fence release", acquire}).clean());
  EXPECT_FALSE(pass({"fence syncscope(\"block\") release\n" + std::string(relaxed), acquire}).clean());
}

TEST(DeviceOrder, AScopeThatDoesNotReachTheOtherRank) {
  EXPECT_FALSE(
      pass({"store atomic i32 1, ptr addrspace(1) %flag syncscope(\"device\") release, align 4", acquire}).clean());
  EXPECT_FALSE(
      pass({release, "%seen = load atomic i32, ptr addrspace(1) %flag syncscope(\"block\") acquire, align 4"}).clean());
}

TEST(DeviceOrder, AnAtomicOfInlineAssembly) {
  std::string exchange = "call i32 asm sideeffect \"atom.acq_rel.sys.global.cas.b32 $0, [$1], $2, $3;\", "
                         "\"=r,l,r,r,~{memory}\"(ptr addrspace(1) %flag, i32 0, i32 1)";
  EXPECT_TRUE(pass({"%old = " + exchange, acquire}).clean());
  exchange.replace(exchange.find("acq_rel"), 7, "relaxed");
  EXPECT_FALSE(pass({"%old = " + exchange, acquire}).clean());
}

TEST(DeviceOrder, ABarrierOrdersTheThreadsOfABlock) {
  Passing passing{release, acquire, meet, 64};
  EXPECT_TRUE(pass(passing).clean()) << pass(passing).text();
  passing.meets = "";
  EXPECT_TRUE(pass(passing).has(FindingKind::DeviceRace));
}

// The flag comes only when the rank that sends it has had its turn; no turn is for ever.
TEST(DeviceOrder, ARankThatPollsDoesNotKeepTheOtherFromRunning) {
  for (uint64_t seed : {0, 1}) { // either rank is ahead
    Options options;
    options.policy = Policy::OneAhead;
    options.seed = seed;
    TestKernel kernel(kernelText({release, acquire}), options);
    std::vector<uint32_t> data(1), flag(1), out(1);
    uint64_t dataAt = kernel.buffer(data), flagAt = kernel.buffer(flag), outAt = kernel.buffer(out);
    Report report = kernel.interpreter->run(
        std::vector<Launch>{{{1}, {1}, 0, {0, dataAt, flagAt, outAt}}, {{1}, {1}, 0, {1, dataAt, flagAt, outAt}}});
    EXPECT_TRUE(report.clean()) << report.text();
    EXPECT_EQ(out[0], 42u);
  }
}

} // namespace
