// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A group of devices with one stream each, and what collectives on them share: protocol memory, deadlines, errors. All
// devices are of this process, or each is of a process of its own.
#pragma once
#include "collectives/KernelSource.h"
#include "collectives/Plan.h"
#include "collectives/Window.h"
#include "runtime/Device.h"
#include "runtime/Launch.h"
#include "support/Error.h"
#include <atomic>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

class Device;
class Event;
struct CollectiveGroups;
class LaunchRing;
class ProcessGroup;
class Stream;
class SymmetricMemory;

/// Rank r is device r of the list; the streams belong to the communicator alone. One thread may launch for all ranks,
/// or one thread for each. Every rank launches the same operations in the same order; a rank that does not is told at
/// its launch, and the waits of the others are ended. After an error the communicator has failed for good: make a new
/// one.
class Communicator {
public:
  static constexpr double maxDeadlineSeconds = 1e6;
  struct Options {
    double deadlineSeconds = 30; ///< how long the waits of one launch may last together
    std::shared_ptr<const KernelSource> kernels = compiledKernels();
  };

  /// Throws Error{Input} for no device or more than maxWorldSize, Error{Environment} when two of them do not reach each
  /// other.
  explicit Communicator(std::vector<std::shared_ptr<Device>> devices, Options options);
  explicit Communicator(std::vector<std::shared_ptr<Device>> devices) : Communicator(std::move(devices), Options()) {}
  /// On streams of the caller's, one per device, which outlive the communicator; two communicators may share streams,
  /// since each has protocol memory of its own, when all ranks put their collectives into them in one order.
  Communicator(std::vector<std::shared_ptr<Device>> devices, std::vector<Stream *> streams, Options options);
  /// Of processes, of which each has one rank and launches for that rank alone. Collective, as `prepare`: every process
  /// makes one. A process that dies, leaves or aborts ends the waits of all others, and launches are refused then.
  explicit Communicator(std::unique_ptr<ProcessGroup> processes, Options options);
  /// Ends all waits, then waits for the streams. Of processes: leaves the group; does not wait for the others.
  ~Communicator();

  int ranks() const { return rankCount; }
  int computeUnits() const; ///< for PlanOptions: of the device that has the fewest
  /// The ranks whose devices are of this process: all, or the one of a group of processes. Others are an Error{Input}.
  std::vector<int> localRanks() const;
  Stream &stream(int rank) { return *streams[localIndex(rank)]; }
  const std::shared_ptr<Device> &device(int rank) const { return devices[localIndex(rank)]; }
  const ProcessGroup *processes() const { return processGroup.get(); } ///< null for a group of one process

  /// A plan with its kernel on every device and protocol memory of its own.
  class Operation;
  /// The same object for an equal plan of the same name (in messages; empty: describe(collective)). Allocates, and asks
  /// Options::kernels; not to be called while the operation runs. Of processes: collective, except for what was
  /// prepared before; an error of one rank is thrown on all, and the group may go on. Throws Error{Input} with the
  /// plans of both when two ranks differ, and for direct algorithms, whose addresses mean nothing in another process
  /// unless they are in windows.
  /// Operations share protocol memory only with those of an equal `memory`: what does not come in the order of the
  /// streams, such as replays of a graph beside other calls, has to have its own.
  /// With `windows` the operands are in these, at any offset, and of processes a plan with PlanOptions::direct and
  /// windows may have a direct algorithm; ranks that give different windows get an Error{Input} with the keys of both.
  Operation &prepare(const Plan &plan, const std::string &name = "", const std::string &memory = "",
                     const OperandWindows &windows = {});
  /// An operation whose kernel was made from `plan` with other operands (see kernel/CollectiveKernel.h); `name` is for
  /// messages. A new object each time.
  Operation &prepare(const Plan &plan, const Package &kernel, const std::string &name);

  // ---- Windows (Window.h), in CommunicatorWindows.cpp ----

  /// Memory of the device of `rank`, a rank of this process, that can be registered as a window. Not collective. Throws
  /// as Device::allocate.
  Buffer allocate(int rank, uint64_t sizeBytes, const std::string &name = "");
  /// Collective: `sizeBytes` of memory of each rank, which all others map; `addresses` are those of the ranks of this
  /// process. It is of `allocate`, or memory of any origin that the driver can export: of CUDA what cuMemAlloc and
  /// cuMemCreate gave, at any offset; of the host only what `allocate` gave. Throws Error{Input} on all ranks for
  /// memory that is freed or cannot be exported on one of them, and with both values for sizes that differ; then
  /// nothing is registered. As prepare for ranks that do not come, and for those that do something else.
  Window &registerWindow(const std::vector<uint64_t> &addresses, uint64_t sizeBytes, const std::string &name = "");
  /// Collective, as registerWindow: waits for this group's work, and returns when the memory may be freed: no rank uses
  /// it, nor has it mapped by a handle (SharingKind). Graphs with collectives in the window must have run. After a
  /// failure of the group, which is thrown, this rank has let go of the memory of the others. Without it the window
  /// ends with the communicator. Throws Error{Input} for a window of another group, and for one that was deregistered.
  void deregister(Window &window);

  /// Puts the collective into the stream of `rank`; returns at once. `operands` are the arguments after the
  /// protocol's: input and output for a plain kernel. Their memory outlives the work of all ranks' streams, not only of
  /// this one: a direct algorithm reaches into the operands of its peers, and after a wait that failed a late peer may
  /// still do so when this rank's stream is done. synchronize() waits for all streams. Throws Error{Input} for a rank
  /// or an operation that the group does not have, an operand outside of its window, a window that is no more, when
  /// another rank launched something else at this place of the order, and what the stream throws; either of the latter
  /// ends the waits of the others and fails the group.
  void launch(Operation &operation, int rank, const std::vector<LaunchArgument> &operands);
  /// The same into a stream of the caller's, which may be capturing. Launches of a rank come in the order of the calls,
  /// whatever their streams: each stream waits for the one of before. Those that are captured wait for launches of the
  /// same capture only, so they need operations with `memory` of their own. Graphs run their launches in the order in
  /// which they are launched themselves, the same on all ranks.
  /// `capture` is the stream's captureId, where the caller has asked for it.
  void launch(Operation &operation, int rank, const std::vector<LaunchArgument> &operands, Stream &stream,
              std::optional<uint64_t> capture = std::nullopt);

  /// Work of others on the ranks' data, as of another library, takes part in that order: `follow` before it is put into
  /// the stream, `mark` after. Without effect on streams that are being captured.
  void follow(int rank, Stream &stream);
  void mark(int rank, Stream &stream);

  /// After the streams have been waited for: throws `streamError`, with failed waits as notes, or else what synchronize
  /// throws for failed waits, when no rank is at work any more.
  void check(std::exception_ptr streamError = nullptr);

  /// Waits for all streams. Throws Error{Environment} when a wait of some rank failed: the message names the
  /// collective, the rank, the missing peer, the block, and the epochs.
  void synchronize();

  /// What synchronize would throw for waits that have failed so far, without waiting for any work; null for none. That
  /// another process is gone or has left is no failure of this rank while it has no launch that waits for it; that it
  /// has ended the group, is.
  std::optional<Error> failure();
  std::optional<Error> waitFailure(); ///< the same of this rank's waits alone

  /// What has ended the group, though no work of this rank may have failed: also a process that has left, without which
  /// nothing can run any more. Null for none; asks no device.
  std::optional<Error> groupError() const;

  /// Of processes: this rank launches no more, and says so to the others, of which those that wait for it get an error.
  /// Waits for this rank's own work for two seconds, and aborts when it is not done then. Without effect after a
  /// failure.
  void leave();

  /// In the device memory of a rank of this process: the PeerError (binary/PeerAbi.h) of its first wait that failed, of
  /// state Free until then. What follows in the rank's streams may look at it before it passes results on.
  uint64_t errorAddress(int rank) const;

  /// Asks all waits to end now; those launches fail, and the group has failed for good.
  void abort();
  /// Of processes, with the words that the others get.
  void abort(const std::string &reason);

private:
  static constexpr size_t rememberedLaunches = 4096;
  struct Control;
  struct Protocol;
  void checkOptions() const;
  void makeStreams();
  size_t localIndex(int rank) const;
  std::string deviceName(int rank) const;
  int numberOf(int rank) const; ///< for people, in a group of which this one is a part
  std::unique_ptr<SymmetricMemory> symmetricMemory(uint64_t sizeBytes, const char *name, Caching caching) const;
  void together(const std::function<void()> &work) const;
  void agreeOn(const Plan &plan, const std::string &key, const OperandWindows &given = {}) const;
  void agreeOnStep(const std::string &step, const std::function<void()> &check) const;
  void importWindow(Window &window) const;
  void checkWindows(const OperandWindows &given) const;
  std::vector<Buffer> describeWindows(const Protocol &protocol, const OperandWindows &given) const;
  void checkOperands(const Operation &operation, int rank, const std::vector<LaunchArgument> &operands) const;
  std::shared_ptr<Protocol> makeProtocol(const Plan &plan, const std::function<Package()> &kernel);
  void loadKernels(Protocol &protocol, const std::function<Package()> &kernel) const;
  CollectiveGroups groupsOf(const Protocol &protocol, int rank) const;
  void writeGroups(const Buffer &into, const CollectiveGroups &groups, int rank) const;
  Operation &add(const Plan &plan, const std::string &name, const std::string &key, std::shared_ptr<Protocol> protocol);
  void checkRanks(const Plan &plan) const;
  void checkOrder(const Operation &operation, int rank);
  Error differenceError(const Operation &mine, const Operation *theirs, uint64_t number, int rank,
                        const std::string &who) const;
  std::optional<Error> errorOfOthers() const;
  std::optional<Error> leftError(uint64_t number) const;
  bool isIdleWithin(double seconds);
  void checkProcesses(const Operation &operation, uint64_t number);
  void endLocalWaits();
  void processesChanged();
  void tellProcesses(const std::exception_ptr &streamError, std::vector<std::string> &reports);
  void launchInto(Operation &operation, int rank, const std::vector<LaunchArgument> &operands, Stream *stream,
                  std::optional<uint64_t> capture);
  void start(Operation &operation, int rank, const std::vector<LaunchArgument> &operands, Stream &stream);
  struct Target;
  void waitForLatest(size_t local, const Target &target);
  void markLatest(size_t local, const Target &target);
  std::exception_ptr waitForStreams() const;
  std::string failureReport(int rank);
  std::vector<std::string> failureReports();

  // Of this process, by rank - firstRank: devices, streams, control, launched, and the members of a Protocol.
  std::unique_ptr<ProcessGroup> processGroup; ///< null for one process
  std::vector<std::shared_ptr<Device>> devices;
  const int firstRank, rankCount;
  std::vector<std::unique_ptr<Stream>> owned;
  std::vector<Stream *> streams;
  std::vector<std::unique_ptr<Stream>> service; ///< for what must not wait for a collective
  Options options;
  struct Latest;
  std::vector<Latest> latest;               ///< launch of each rank of this process
  std::unique_ptr<SymmetricMemory> control; ///< Control of each rank
  std::unique_ptr<LaunchRing> ring;         ///< of processes
  std::atomic<bool> othersChanged = false;  ///< a process has left, or the group of processes has failed
  std::vector<std::unique_ptr<Operation>> operations;
  std::vector<std::unique_ptr<Window>> windows; ///< by number; under `preparing`
  std::mutex preparing, mutex;                  ///< taken in this order
  std::deque<const Operation *> order;          ///< the launches so far, by their number less `forgotten`
  size_t forgotten = 0;
  std::vector<size_t> launched;
  bool failed = false;
};

class Communicator::Operation {
public:
  const Plan &plan() const { return thePlan; }
  const std::string &name() const { return theName; }

private:
  friend class Communicator;
  bool areWindowsOpen() const {
    return !windows.areGiven() || (windows.input->isRegistered() && windows.output->isRegistered());
  }
  const Communicator *group = nullptr;
  Plan thePlan;
  std::string theName, key;
  uint64_t hash = 0; ///< of plan, name and windows, the same in every process
  OperandWindows windows;
  std::vector<Buffer> groups; ///< CollectiveGroups by rank of this process, of operands in windows; else the protocol's
  std::shared_ptr<Protocol> protocol; ///< shared by the operations of one kernelKey; null when there is nothing to do
};

} // namespace heddle
