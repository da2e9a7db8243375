// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sm_90 kernels of collectives on threads devices, which need no GPU: every algorithm under each policy of turns,
// and planted faults of their memory order. Each fault has to be found, whatever the bits of the result are.
#include "collectives/kernel/CompileKernel.h"
#include "support/TestError.h"
#include "tests/multi_device/Cases.h"
#include "tests/multi_device/FirstEpoch.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace heddle;
using namespace heddle::testing;

namespace {

std::vector<std::shared_ptr<Device>> threadsDevices(int ranks) {
  threads::useThreadsDriver();
  return openDevices("threads", firstOrdinals(ranks));
}

/// One warp or two of a block, since most of what may go wrong is between blocks and ranks.
PlanOptions small(const Algorithm *algorithm, int blocks, int warps) {
  PlanOptions options;
  options.algorithm = algorithm->name;
  options.blocks = blocks, options.tileElements = 64, options.tilesPerRound = 1, options.warps = warps;
  return options;
}

struct ThreadsDevices : ::testing::Test {
  ~ThreadsDevices() override { threads::setCodeChange(nullptr); }
};

// Sizes without divisor, several rounds, or for Lamport's packets several tiles; several calls one after the other
// without waiting.
void expectRightByTurns(const Algorithm *algorithm, int ranks, ElementType type, threads::Policy policy, uint64_t seed,
                        const Placement &placement, PacketForm packets = PacketForm::LL) {
  threads::setSchedule(policy, seed);
  GroupFromEpoch late(threadsDevices(ranks), (uint64_t(1) << 32) - 3);
  Communicator &communicator = late.communicator;
  bool isLamport = packets == PacketForm::Lamport;
  int64_t inner = (algorithm->slices ? ranks : 1) * (isLamport ? 1200 : 200) + 13;
  PlanOptions cut = small(algorithm, 2, 2);
  cut.packets = packets;
  if (isLamport)
    cut.tileElements = cut.warps * 32 * 8 / elementSizeBytes(type), cut.tilesPerRound = 32;
  Plan plan = makePlan(makeCollective(algorithm->kinds[0], ranks, 1, inner, type), threads::threadsChip(), cut);
  std::vector<std::unique_ptr<CheckedRun>> runs;
  for (uint64_t call = 0; call < (isLamport ? 4 : 2); ++call)
    runs.push_back(std::make_unique<CheckedRun>(communicator, plan, 2 * seed + call, placement));
  for (const auto &run : runs)
    for (int rank = ranks; rank-- > 0;)
      run->launch(rank);
  communicator.synchronize();
  for (const auto &run : runs)
    run->expectRight();
}

TEST_F(ThreadsDevices, EveryAlgorithmOfTwoToFourRanks) {
  const std::vector<ElementType> types = {ElementType::F32, ElementType::BF16, ElementType::I8, ElementType::F64};
  using threads::Policy;
  uint64_t number = 0;
  for (const Algorithm *algorithm : allAlgorithms()) {
    const ElementType type = types[number % types.size()];
    for (int ranks : {2, 3, 4}) {
      SCOPED_TRACE(std::string(algorithm->name) + " of " + std::to_string(ranks) + " ranks");
      // One ahead of all the others, and one that comes when all the others wait: the seed is the first, and each has
      // its turn.
      for (uint64_t first = 0; first < uint64_t(ranks); ++first)
        expectRightByTurns(algorithm, ranks, type, Policy::OneAhead, first, {});
      expectRightByTurns(algorithm, ranks, type, Policy::Random, number, {1, 3, false});
      expectRightByTurns(algorithm, ranks, type, Policy::Random, number + 100, {0, 0, true});
    }
    ++number;
  }
}

TEST_F(ThreadsDevices, PacketsOfLamportsForm) {
  using threads::Policy;
  uint64_t number = 0;
  for (const Algorithm *algorithm :
       {&oneShotPackets, &twoShotPackets, &scatterPackets, &gatherPackets, &exchangePackets})
    for (ElementType type : {ElementType::F32, ElementType::BF16, ElementType::I64})
      for (int ranks : {2, 3}) {
        SCOPED_TRACE(std::string(algorithm->name) + " of " + std::to_string(ranks) + " ranks");
        for (uint64_t first = 0; first < uint64_t(ranks); ++first)
          expectRightByTurns(algorithm, ranks, type, Policy::OneAhead, first, {}, PacketForm::Lamport);
        expectRightByTurns(algorithm, ranks, type, Policy::Random, number++, {1, 3, false}, PacketForm::Lamport);
        expectRightByTurns(algorithm, ranks, type, Policy::Random, number++, {0, 0, true}, PacketForm::Lamport);
      }
}

TEST_F(ThreadsDevices, EightRanks) {
  for (const Algorithm *algorithm : {&twoShotPackets, &gatherPush, &exchangeDirect}) {
    threads::Policy policy = algorithm == &gatherPush ? threads::Policy::OneAhead : threads::Policy::Random;
    expectRightByTurns(algorithm, 8, ElementType::F32, policy, 5, {});
  }
}

//===-- Planted faults -------------------------------------------------------------------------------------------===//

using Change = bool (*)(llvm::Instruction &instruction); ///< whether it is one to change; it has been changed then

/// Stores that tell another rank: those with release order of an epoch, not of the state of the error record.
bool relaxStores(llvm::Instruction &instruction) {
  auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
  if (!store || store->getOrdering() != llvm::AtomicOrdering::Release ||
      !store->getValueOperand()->getType()->isIntegerTy(64))
    return false;
  store->setOrdering(llvm::AtomicOrdering::Monotonic);
  return true;
}
bool relaxLoads(llvm::Instruction &instruction) {
  auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
  if (!load || load->getOrdering() != llvm::AtomicOrdering::Acquire)
    return false;
  load->setOrdering(llvm::AtomicOrdering::Monotonic);
  return true;
}
/// A release that reaches the own device only.
bool narrowStores(llvm::Instruction &instruction) {
  auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
  if (!store || store->getOrdering() != llvm::AtomicOrdering::Release)
    return false;
  store->setSyncScopeID(instruction.getContext().getOrInsertSyncScopeID("device"));
  return true;
}

TEST_F(ThreadsDevices, CodeWithoutItsKernelIsRefused) {
  std::shared_ptr<Device> device = threadsDevices(1)[0];
  Package package =
      compileKernel(makePlan(makeCollective(CollectiveKind::AllGather, 2, 1, 64), threads::threadsChip()));
  threads::setCodeChange([&](llvm::Module &module) { module.getFunction(package.entry)->setName("another"); });
  EXPECT_EQ(messageOf([&] { device->loadModule(package); }), "the module defines no function '" + package.entry + "'");
  threads::setCodeChange(nullptr);
  EXPECT_TRUE(device->loadModule(package));
}

bool isBarrier(const llvm::Instruction &instruction) {
  auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call && (call->getCalledFunction()->getName().contains("barrier.cta.sync") ||
                  call->getCalledFunction()->getName().contains("barrier.cta.red"));
}

/// What is found when the kernels of the plan run after the change; empty when nothing is.
std::string findingsAfter(const Plan &plan, const threads::CodeChange &change, threads::Policy policy) {
  threads::setCodeChange(change);
  threads::setSchedule(policy, 0);
  std::string text;
  {
    Communicator communicator(threadsDevices(plan.collective.ranks));
    for (uint64_t call = 0; call < 2; ++call) {
      CheckedRun run(communicator, plan, call);
      try {
        run.run();
      } catch (const Error &error) {
        text += error.what() + std::string("\n");
        break;
      }
    }
  }
  for (const threads::Finding &finding : threads::takeFindings())
    text += finding.message + "\n";
  return text;
}

threads::CodeChange each(Change change) {
  return [=](llvm::Module &module) {
    int changed = 0;
    for (llvm::Function &function : module)
      for (llvm::Instruction &instruction : llvm::instructions(function))
        changed += change(instruction);
    EXPECT_GT(changed, 0);
  };
}

// Signals that order nothing let every algorithm with a barrier read what no rank has published.
TEST_F(ThreadsDevices, SignalsThatOrderNothingAreFound) {
  for (const Algorithm *algorithm : allAlgorithms()) {
    if (algorithm->barriers == 0)
      continue;
    Plan plan =
        makePlan(makeCollective(algorithm->kinds[0], 2, 1, 150), threads::threadsChip(), small(algorithm, 1, 2));
    ASSERT_EQ(findingsAfter(plan, nullptr, threads::Policy::RoundRobin), "") << algorithm->name;
    // Who only reads from peers releases nothing but that inputs may be overwritten, and each call here has its own.
    bool onlyReads = algorithm == &gatherDirectPull || algorithm == &scatterDirect;
    for (Change change : {relaxStores, relaxLoads, narrowStores}) {
      SCOPED_TRACE(algorithm->name);
      if (!onlyReads || change == relaxLoads)
        expectContains(findingsAfter(plan, each(change), threads::Policy::RoundRobin), "race at byte");
    }
  }
}

/// Leaves out what says which word an escape stands for: 0 or 1, in a second inbox.
bool isMeaning(const llvm::Instruction &instruction) {
  auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
  return store && store->isAtomic() && llvm::isa<llvm::ZExtInst>(store->getValueOperand());
}

TEST_F(ThreadsDevices, MeaningsThatDoNotCome) {
  PlanOptions cut = small(&gatherPackets, 1, 2);
  cut.packets = PacketForm::Lamport, cut.tileElements = cut.warps * 32 * 2, cut.tilesPerRound = 8;
  Plan plan =
      makePlan(makeCollective(CollectiveKind::AllGather, 2, 1, 150, ElementType::I32), threads::threadsChip(), cut);
  ASSERT_EQ(findingsAfter(plan, nullptr, threads::Policy::RoundRobin), "");
  auto leaveOut = [](llvm::Module &module) {
    std::vector<llvm::Instruction *> found;
    for (llvm::Function &function : module)
      for (llvm::Instruction &instruction : llvm::instructions(function))
        if (isMeaning(instruction))
          found.push_back(&instruction);
    EXPECT_FALSE(found.empty());
    for (llvm::Instruction *instruction : found)
      instruction->eraseFromParent();
  };
  // The first call has no such words; of the second one a thread misses the other's.
  std::string findings = findingsAfter(plan, leaveOut, threads::Policy::RoundRobin);
  expectContains(findings, "launch 2: rank ");
  expectContains(findings, " waited ");
}

/// The barriers of the block that lie next to the signals in the text: the last one before the first release, or the
/// two after the last acquire (each is an or over the threads, of whether a peer was missing).
void eraseBarriers(llvm::Module &module, bool inFront) {
  std::vector<llvm::Instruction *> before, after;
  bool signalled = false;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
      auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
      signalled |= store && store->getOrdering() == llvm::AtomicOrdering::Release;
      if (load && load->getOrdering() == llvm::AtomicOrdering::Acquire)
        after.clear();
      if (isBarrier(instruction))
        (signalled ? after : before).push_back(&instruction);
    }
  ASSERT_GE(before.size(), 1u);
  ASSERT_GE(after.size(), 2u);
  std::vector<llvm::Instruction *> victims = {before.back()};
  if (!inFront)
    victims = {after[0], after[1]};
  for (llvm::Instruction *victim : victims) {
    if (!victim->getType()->isVoidTy()) // the or over the threads becomes each thread's own bit
      victim->replaceAllUsesWith(victim->getOperand(1));
    victim->eraseFromParent();
  }
}

// Without the barrier before, threads publish what others have not stored yet; without those after, threads read
// what another one has waited for.
TEST_F(ThreadsDevices, SignalsWithoutTheBarriersAroundThem) {
  for (const Algorithm *algorithm : {&oneShotPull, &gatherPush, &permutePull}) {
    Plan plan =
        makePlan(makeCollective(algorithm->kinds[0], 2, 1, 150), threads::threadsChip(), small(algorithm, 1, 2));
    for (bool inFront : {true, false})
      expectContains(findingsAfter(
                         plan, [=](llvm::Module &module) { eraseBarriers(module, inFront); }, threads::Policy::Random),
                     "in device memory: `");
  }
}

//===-- Ranks that do not come -----------------------------------------------------------------------------------===//

TEST_F(ThreadsDevices, ARankThatNeverComes) {
  threads::setSchedule(threads::Policy::Random, 1);
  for (const Algorithm *algorithm : {&oneShotPackets, &twoShotPull, &gatherDirectPush}) {
    Communicator::Options options;
    options.deadlineSeconds = 3600; // of the devices' clock, which jumps forward when all wait
    Communicator communicator(threadsDevices(3), options);
    Plan plan =
        makePlan(makeCollective(algorithm->kinds[0], 3, 1, 100), threads::threadsChip(), small(algorithm, 1, 1));
    CheckedRun run(communicator, plan, 1);
    run.launch(0);
    run.launch(2);
    std::string report = errorOf(ErrorClass::Environment, [&] { communicator.synchronize(); });
    for (const char *rank : {"rank 0 (threads:0) waited ", "rank 2 (threads:2) waited "})
      expectContains(report, rank);
    expectContains(report, "s for rank 1 (threads:1), block 0: expected epoch ");
  }
}

} // namespace
