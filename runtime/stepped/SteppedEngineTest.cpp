// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Host functions of an engine that runs nothing else: whose errors they are, and which threads run them.
#include "runtime/stepped/SteppedEngine.h"
#include "runtime/drivers/host/HostThreads.h"
#include "support/TestError.h"
#include <future>

using namespace heddle;

namespace {

class HostFunctionsOnly : public SteppedEngine {
public:
  uint8_t *access(SteppedQueue &, const char *, uint64_t, uint64_t, bool) override { return nullptr; }
  uint64_t nanoseconds() override { return 0; }

protected:
  bool runLaunches(Guard &) override { return false; }
  double secondsLeft(double) const override { return 0; }
  void giveUp(double) override {}
  void releaseMemory(uint64_t) override {}
};

struct SteppedHostFunctions : testing::Test {
  SteppedHostFunctions() { engine.open(queue), engine.open(other); }
  ~SteppedHostFunctions() override {
    startableHostThreads = -1;
    for (SteppedQueue *each : {&queue, &other}) {
      engine.runUntil([&] { return each->isIdle(); });
      engine.close(*each);
    }
  }
  void push(SteppedQueue &to, std::function<void()> body, std::function<void()> before = nullptr) {
    SteppedCommand command;
    command.kind = SteppedCommand::Kind::HostFunction;
    command.before = std::move(before);
    command.body = std::move(body);
    engine.push(engine.lock(), to, std::move(command));
  }

  HostFunctionsOnly engine;
  SteppedQueue queue, other;
};

TEST_F(SteppedHostFunctions, WhatIsDoneBeforeMayFail) {
  bool ran = false;
  push(queue, [&] { ran = true; }, [] { throw inputError("before"); });
  EXPECT_EQ(messageOf([&] { engine.synchronize(queue); }), "before");
  EXPECT_FALSE(ran);
  push(queue, [&] { ran = true; });
  engine.synchronize(queue);
  EXPECT_TRUE(ran);
}

/// Each question may find that the thread of the one before has not come yet.
TEST_F(SteppedHostFunctions, QuestionsMakeOneThreadForEach) {
  std::promise<void> go;
  std::shared_future<void> gone = go.get_future().share();
  startableHostThreads = 2;
  for (SteppedQueue *each : {&queue, &other})
    push(*each, [gone] { gone.wait(); });
  for (int i = 0; i < 1000; ++i)
    engine.runOneTurn();
  EXPECT_FALSE(queue.isIdle() && other.isIdle());
  go.set_value();
  engine.synchronize(queue);
  engine.synchronize(other);
}

TEST_F(SteppedHostFunctions, WithoutAThreadSynchronizeRunsThem) {
  startableHostThreads = 0;
  bool ran = false;
  push(queue, [&] { ran = true; });
  Error error = errorOf([&] { engine.runOneTurn(); });
  EXPECT_EQ(error.kind, ErrorClass::Environment);
  EXPECT_CONTAINS(error.what(), "a host function needs 1 thread more than the ");
  EXPECT_FALSE(ran);
  engine.synchronize(queue);
  EXPECT_TRUE(ran);
}

} // namespace
