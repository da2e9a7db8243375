// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All devices of the threads driver: their memory, their streams, and the machine that runs their kernels by turns.
// Nothing runs until somebody waits; then all streams go on until what is waited for has happened.
#pragma once
#include "binary/Package.h"
#include "runtime/Allocations.h"
#include "runtime/Launch.h"
#include "tests/thread_interpreter/Schedule.h"
#include "tests/threads_driver/ThreadsDriver.h"
#include <deque>
#include <exception>
#include <mutex>

namespace heddle::threads {

/// Something a stream does.
struct Command {
  enum class Kind { Work, Launch, Record, Wait };
  Kind kind = Kind::Work;
  std::function<void()> body = nullptr;   ///< work, records
  std::function<bool()> ready = nullptr;  ///< waits: whether the stream may go on
  std::unique_ptr<Rank> launch = nullptr; ///< launches
  Known known = nullptr;                  ///< what the host knew at the call
};

struct Queue {
  std::string device;
  unsigned ordinal = 0;
  std::deque<Command> commands;
  Rank *running = nullptr; ///< of the machine
  std::exception_ptr error;
  HostAgent agent;
  std::vector<uint32_t> slots; ///< of the blocks of its launches

  bool isIdle() const { return commands.empty() && !running; }
};

class Engine {
public:
  static Engine &shared();

  uint64_t allocate(uint64_t sizeBytes, const std::string &name, const std::string &device);
  void free(uint64_t address) noexcept;
  void checkRange(const char *operation, uint64_t address, uint64_t sizeBytes);

  /// The kernel of a package that was compiled in this process.
  std::shared_ptr<const Program> load(const Package &package);
  void keepCode(const Package &package, const std::string &llvmIr);
  void setCodeChange(CodeChange change);

  void open(Queue &queue);
  void close(Queue &queue); ///< when it is idle
  void push(Queue &queue, Command command);
  /// Lets all streams go on until `reached`.
  void runUntil(const std::function<bool()> &reached);
  /// Waits for the stream; throws its error, or else what was found.
  void synchronize(Queue &queue);

  /// A copy or fill by the stream whose turn it is.
  void access(Queue &queue, const char *what, uint64_t address, uint64_t bytes, Access access);
  Known knowledgeOf(Queue &queue);
  void learn(Queue &queue, const Known &known);
  void hostLearns(const Known &known);
  uint64_t nanoseconds();

  void setSchedule(Policy policy, uint64_t seed);
  std::vector<Finding> takeFindings();
  std::recursive_mutex &lock() { return mutex; }

private:
  Engine();
  bool advance(Queue &queue);
  bool advanceAll();
  void startLaunch(Queue &queue, std::unique_ptr<Rank> rank);
  void endLaunches();
  void freeRetired();
  void dropPrograms(); ///< that nobody has loaded
  void changeRanges(const std::function<void()> &change);
  std::shared_ptr<Program> decode(const std::string &llvmIr, const std::string &entry);

  std::recursive_mutex mutex;
  Machine machine;
  DeviceOrder order;
  AllocationMap live;                                                  ///< by address
  std::vector<std::pair<uint64_t, std::unique_ptr<uint8_t[]>>> memory; ///< address, owner
  std::vector<uint64_t> retired;                                       ///< freed, and perhaps in use
  std::map<std::string, std::string> codes;                            ///< LLVM IR by the hash of the binary
  std::map<std::string, std::shared_ptr<Program>> programs;
  std::vector<std::shared_ptr<Program>> replaced; ///< of another code change
  CodeChange codeChange;
  std::vector<Queue *> queues;
  Known hostKnown;
  bool scheduleIsSet = false;
  uint64_t quietTimes = 0; ///< how often nothing ran
};

} // namespace heddle::threads
