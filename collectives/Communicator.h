// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A group of devices with one stream each, and what collectives on them share: protocol memory, deadlines, errors.
#pragma once
#include "collectives/Plan.h"
#include "runtime/Device.h"
#include "runtime/Launch.h"
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace heddle {

class Device;
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
  };

  /// Throws Error{Input} for no device or more than maxWorldSize, Error{Environment} when two of them do not reach each
  /// other.
  explicit Communicator(std::vector<std::shared_ptr<Device>> devices, Options options);
  explicit Communicator(std::vector<std::shared_ptr<Device>> devices) : Communicator(std::move(devices), Options()) {}
  /// On streams of the caller's, one per device, which outlive the communicator; two communicators may share streams,
  /// since each has protocol memory of its own, when all ranks put their collectives into them in one order.
  Communicator(std::vector<std::shared_ptr<Device>> devices, std::vector<Stream *> streams, Options options);
  /// Ends all waits, then waits for the streams.
  ~Communicator();

  int ranks() const { return int(devices.size()); }
  int computeUnits() const { return fewestComputeUnits(devices); } ///< for PlanOptions
  Stream &stream(int rank) { return *streams[size_t(rank)]; }
  const std::shared_ptr<Device> &device(int rank) const { return devices[size_t(rank)]; }

  /// A plan with its kernel on every device and protocol memory of its own.
  class Operation;
  /// The same object for an equal plan of the same name (in messages; empty: describe(collective)). Allocates and
  /// compiles; not to be called while the operation runs.
  Operation &prepare(const Plan &plan, const std::string &name = "");
  /// An operation whose kernel was made from `plan` with other operands (see kernel/CollectiveKernel.h); `name` is for
  /// messages. A new object each time.
  Operation &prepare(const Plan &plan, const Package &kernel, const std::string &name);

  /// Puts the collective into the stream of `rank`; returns at once. `operands` are the arguments behind the
  /// protocol's: input and output for a plain kernel. Their memory outlives the work of all ranks' streams, not only of
  /// this one: a direct algorithm reaches into the operands of its peers, and after a wait that failed a late peer may
  /// still do so when this rank's stream is done. synchronize() waits for all streams. Throws Error{Input} for a rank
  /// or an operation that the group does not have, when another rank launched something else at this place of the
  /// order, and what the stream throws; either of the latter ends the waits of the others and fails the group.
  void launch(Operation &operation, int rank, const std::vector<LaunchArgument> &operands);

  /// After the streams have been waited for: throws `streamError`, with failed waits as notes, or else what synchronize
  /// throws for failed waits, when no rank is at work any more.
  void check(std::exception_ptr streamError = nullptr);

  /// Waits for all streams. Throws Error{Environment} when a wait of some rank failed: the message names the
  /// collective, the rank, the missing peer, the block, and the epochs.
  void synchronize();

  /// Asks all waits to end now; those launches fail, and the group has failed for good.
  void abort();

private:
  static constexpr size_t rememberedLaunches = 4096;
  struct Control;
  struct Protocol;
  std::shared_ptr<Protocol> makeProtocol(const Plan &plan, const Package &kernel);
  Operation &add(const Plan &plan, const std::string &name, std::shared_ptr<Protocol> protocol);
  void checkRanks(const Plan &plan) const;
  void checkOrder(const Operation &operation, int rank);
  void start(Operation &operation, int rank, const std::vector<LaunchArgument> &operands);
  std::string failureReport(int rank);
  std::vector<std::string> failureReports();

  std::vector<std::shared_ptr<Device>> devices;
  std::vector<std::unique_ptr<Stream>> owned;
  std::vector<Stream *> streams;
  std::vector<std::unique_ptr<Stream>> service; ///< by rank, for what must not queue behind a collective
  Options options;
  std::unique_ptr<SymmetricMemory> control; ///< Control of each rank
  std::vector<std::unique_ptr<Operation>> operations;
  std::mutex preparing, mutex;         ///< taken in this order
  std::deque<const Operation *> order; ///< the launches so far, by their number less `forgotten`
  size_t forgotten = 0;
  std::vector<size_t> launched; ///< by rank
  bool failed = false;
};

class Communicator::Operation {
public:
  const Plan &plan() const { return thePlan; }
  const std::string &name() const { return theName; }

private:
  friend class Communicator;
  const Communicator *group = nullptr;
  Plan thePlan;
  std::string theName, key;
  std::shared_ptr<Protocol> protocol; ///< shared by the operations of one kernelKey; null when there is nothing to do
};

} // namespace heddle
