// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All devices of the threads driver: their memory, their streams, and the machine that runs their kernels by turns.
// Nothing runs until a host thread waits; then all streams go on until what is waited for has happened.
#pragma once
#include "binary/Package.h"
#include "runtime/stepped/SteppedStream.h"
#include "tests/thread_interpreter/Schedule.h"
#include "tests/threads_driver/ThreadsDriver.h"
#include <map>

namespace heddle::threads {

struct ThreadsQueue : SteppedQueue {
  HostAgent agent;
  std::vector<uint32_t> slots; ///< of the blocks of its launches
};

class ThreadsEvent : public SteppedEvent {
public:
  using SteppedEvent::SteppedEvent;
  void synchronize() const override;
  Known known; ///< under the engine's lock
};

class Engine : public SteppedEngine {
public:
  static Engine &shared();

  uint64_t allocate(uint64_t sizeBytes, const std::string &name, const std::string &device);

  /// The kernel of a package for threadsChip().
  std::shared_ptr<const Program> load(const Package &package);
  void setCodeChange(CodeChange change);

  void open(SteppedQueue &queue) override;
  void close(SteppedQueue &queue) override;
  void push(const Guard &guard, SteppedQueue &queue, SteppedCommand command) override;
  std::unique_ptr<SteppedLaunch> startLaunch(ThreadsQueue &queue, std::unique_ptr<Rank> rank);

  uint8_t *access(SteppedQueue &queue, const char *what, uint64_t address, uint64_t sizeBytes, bool writes) override;
  uint64_t nanoseconds() override { return machine.nanoseconds(); }
  void recordReached(SteppedQueue &queue, SteppedEvent &event) override;
  void waitIsOver(SteppedQueue &queue, SteppedEvent &event) override;
  void hostHasWaited(SteppedQueue &queue) override;
  void hostLearns(const Known &known); ///< with the lock held

  void setSchedule(Policy policy, uint64_t seed);
  std::vector<Finding> takeFindings();

protected:
  bool runLaunches(Guard &guard) override;
  double secondsLeft(double) const override { return 0; }
  void giveUp(double) override {} // the machine itself ends what waits for ever
  void releaseMemory(uint64_t address) override;

private:
  class Running;
  Engine();
  Known knowledgeOf(ThreadsQueue &queue);
  void learn(ThreadsQueue &queue, const Known &known);
  void endLaunch(ThreadsQueue &queue, Rank &rank);
  std::vector<Finding> removeFindings();
  void dropPrograms(); ///< that no thread has loaded
  void changeRanges(const std::function<void()> &change);
  std::shared_ptr<Program> decode(const std::string &llvmIr, const std::string &entry);

  Machine machine;
  DeviceOrder order;
  std::vector<std::pair<uint64_t, std::unique_ptr<uint8_t[]>>> memory; ///< address, owner
  std::map<std::string, std::shared_ptr<Program>> programs;            ///< by the hash of the binary
  std::vector<std::shared_ptr<Program>> replaced;                      ///< of another code change
  CodeChange codeChange;
  Known hostKnown;
  bool scheduleIsSet = false;
  uint64_t quietTimes = 0; ///< how often nothing ran
};

} // namespace heddle::threads
