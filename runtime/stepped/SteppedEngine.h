// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What drivers have in common whose devices are a program: streams are queues of commands, and nothing runs until
// a host thread waits. Then all queues go on by turns, in the order of their making, until what is waited for has
// happened, so that equal calls give equal runs. A driver adds its memory and what a launch is.
#pragma once
#include "runtime/Allocations.h"
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace heddle {

class SteppedEvent;

/// A launch whose turn has come.
class SteppedLaunch {
public:
  virtual ~SteppedLaunch() = default;
  virtual bool isDone() const = 0;
  virtual void finish() = 0; ///< after its end; throws its error
};

/// Something a stream does. Bodies run under the engine's lock, host functions without it.
struct SteppedCommand {
  enum class Kind { Work, Launch, HostFunction, Record, Wait };
  Kind kind = Kind::Work;
  std::function<void()> before = nullptr; ///< runs also when the command is skipped after an error
  std::function<void()> body = nullptr;   ///< all but launches
  std::function<bool()> ready = nullptr;  ///< waits: whether the stream may go on
  std::function<std::unique_ptr<SteppedLaunch>()> start = nullptr; ///< launches
};

/// The engine's half of a stream.
struct SteppedQueue {
  std::string device; ///< its name
  unsigned ordinal = 0;
  std::deque<SteppedCommand> commands;
  std::unique_ptr<SteppedLaunch> running;
  std::thread::id hostFunction; ///< the thread that runs one, or none
  std::exception_ptr error;     ///< the first

  bool runsHostFunction() const { return hostFunction != std::thread::id(); }
  bool isIdle() const { return commands.empty() && !running && !runsHostFunction(); }
};

/// Safe to use from several threads: one of those that wait runs the turns, and between turns others may call.
class SteppedEngine {
public:
  using Guard = std::unique_lock<std::mutex>;
  virtual ~SteppedEngine();

  virtual void open(SteppedQueue &queue);
  virtual void close(SteppedQueue &queue); ///< when it is idle
  /// With the lock held.
  virtual void push(const Guard &, SteppedQueue &queue, SteppedCommand command);
  /// Lets all queues go on until `reached`, which is asked under the lock.
  void runUntil(const std::function<bool()> &reached);
  void runOneTurn(); ///< for those who ask again and again whether something has happened
  /// Waits for the stream and throws its error.
  void synchronize(SteppedQueue &queue);
  Guard lock();

  // ---- Memory: live buffers, and those that work of before may still use ----

  void checkRange(const char *operation, uint64_t address, uint64_t sizeBytes);
  /// Out of the table at once; releaseMemory when nothing is queued or running. Returns its size. Not for those who
  /// hold the lock.
  uint64_t free(uint64_t address) noexcept;

  /// For a command's body: the bytes of device memory that a copy or fill by the stream reads or changes.
  virtual uint8_t *access(SteppedQueue &queue, const char *what, uint64_t address, uint64_t sizeBytes, bool writes) = 0;
  virtual uint64_t nanoseconds() = 0; ///< the devices' own clock
  virtual void recordReached(SteppedQueue &, SteppedEvent &) {}
  virtual void waitIsOver(SteppedQueue &, SteppedEvent &) {}
  virtual void hostHasWaited(SteppedQueue &) {} ///< until the stream was idle

protected:
  /// All launches that run go on for a while; each whose end has come is done then. False when none of them will ever
  /// go on unless another host thread does something.
  virtual bool runLaunches(Guard &guard) = 0;
  /// How long other host threads still have when nothing has gone on for `waited` seconds.
  virtual double secondsLeft(double waited) const = 0;
  /// After runLaunches() was false, and no thread acted in time: launches whose time is up are done then, with an
  /// error; where none can, all of them.
  virtual void giveUp(double waited) = 0;
  virtual void releaseMemory(uint64_t address) = 0;
  virtual void launchEnded(SteppedQueue &) {}
  virtual void becameIdle() {} ///< nothing is queued or running

  bool anyRunning() const;
  /// Whether only the calling thread could put work into streams.
  bool isAlone();
  /// Waits until another host thread did something: true. The lock is open meanwhile; for runLaunches().
  bool waitForArrival(Guard &guard, double seconds);

  void keep(Allocation allocation);
  void releaseRetired(); ///< if nothing uses it

  std::mutex mutex;
  std::vector<SteppedQueue *> queues;

private:
  uint64_t retire(uint64_t address);
  bool advance(SteppedQueue &queue);
  bool runHostFunction(Guard &guard);
  bool startHostFunction();
  void takeTurns(const std::function<bool()> &reached, bool blocks);
  void turn(Guard &guard, bool blocks);
  void waitForOthers(Guard &guard, bool blocks);
  void endLaunches();
  void dropSpent(Guard &guard);

  std::condition_variable changed;                                 ///< commands came, or were run
  bool alone = false;                                              ///< the thread that steps is the only one
  bool stepping = false;                                           ///< some thread runs a turn
  bool starting = false;                                           ///< a thread for a host function is starting
  std::atomic<int> entering{0};                                    ///< threads that want the lock
  uint64_t arrivals = 0;                                           ///< what others have done up to now
  std::optional<std::chrono::steady_clock::time_point> stuckSince; ///< when nothing went on for the first time
  std::vector<SteppedCommand> spent;
  std::vector<std::unique_ptr<SteppedLaunch>> ended;
  std::mutex memoryMutex; ///< for what follows; inside `mutex`
  AllocationMap live;
  std::vector<uint64_t> retired;
};

} // namespace heddle
