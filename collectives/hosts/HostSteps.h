// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inside of a HostCommunicator: what its steps work on, and the steps of each collective.
#pragma once
#include "binary/PeerAbi.h"
#include "collectives/hosts/HostCommunicator.h"
#include "collectives/hosts/LocalFold.h"
#include "runtime/Event.h"
#include "runtime/HostGroup.h"
#include "runtime/ProcessGroup.h"
#include <atomic>
#include <future>

namespace heddle {

struct HostCommunicator::State {
  State(std::unique_ptr<HostGroup> group, Options options);
  ~State();

  /// Bytes of this rank's memory that go to, or come from, the rank of its rail on another host.
  struct Move {
    int host;
    uint64_t address, bytes;
  };
  /// Puts an exchange into the stream `rail`.
  void exchange(const std::vector<Move> &out, const std::vector<Move> &in, uint64_t what);
  int reservedUnits() const; ///< which kernels of the transport find free
  Stream &nodeStream() { return node->stream(layout.local()); }
  void requireGoing();
  [[noreturn]] void throwFirst(const Error &error);
  Error withSilentRanks(const Error &error);
  std::optional<Error> leftError() const;
  bool isIdleWithin(double seconds);
  HostModel measure();

  std::unique_ptr<HostGroup> group;
  Options options;
  const HostLayout layout;
  HostModel model;
  std::shared_ptr<Device> device;
  bool isHost = false;                   ///< the device's addresses are those of this process
  ProcessGroup *nodeProcesses = nullptr; ///< the node's
  std::unique_ptr<Communicator> node;
  std::unique_ptr<LocalFold> fold;
  std::unique_ptr<Stream> rail;
  PeerError nodeError{};               ///< as it was when the latest exchange began
  std::atomic<bool> failed = false;    ///< nothing runs any more
  std::atomic<bool> ownFailed = false; ///< a step of this rank's calls has failed
  std::atomic<bool> hasLeft = false;   ///< this rank has
  uint64_t launches = 0;
  static constexpr size_t mostInFlight = 32;
  std::shared_ptr<Event> finished[mostInFlight]; ///< after the call of this number, modulo that many
  std::shared_ptr<Event> given, latest;          ///< what a caller's stream has so far, and what it waits for
  std::vector<std::unique_ptr<Operation>> operations;

private:
  void agreeOnModel() const;
  void othersChanged();
  double measuredExchange(size_t bytes);
  void checkNode() const;
  void guardExchange(const std::function<void()> &work);
  void exchangeOnStream(const std::vector<Move> &out, const std::vector<Move> &in, uint64_t what);
  std::future<void> ending; ///< ends the waits of kernels, once
};

class HostCommunicator::Operation {
public:
  HostPlan plan;
  std::string key;
  uint64_t hash = 0;

  // ---- by makeMemory and prepareKernels ----
  static constexpr size_t slots = 3; ///< chunks that are in flight at once
  static constexpr size_t stages = 3;
  struct Kernels {
    Communicator::Operation *reduce = nullptr, *gather = nullptr; ///< of a chunk, by its elements
  };
  std::vector<std::pair<int64_t, Kernels>> ofChunks;
  Communicator::Operation *ofRest = nullptr;  ///< all-reduce of what is left
  Communicator::Operation *ofHosts = nullptr; ///< the others: of one host's block
  struct Slot {
    Buffer partial, received, gathered;
    std::shared_ptr<Event> computed[stages], exchanged[stages];
  };
  std::vector<Slot> memory;
  std::vector<std::shared_ptr<Event>> computed, exchanged; ///< host by host
};

/// As HostCommunicator::needsOf.
HostCommunicator::Needs needsOf(const HostCommunicator::State &state, const HostPlan &plan);
/// Memory, events and kernels of this rank alone.
void makeMemory(HostCommunicator::State &state, HostCommunicator::Operation &operation);
/// Kernels of ranks of one host, which prepare them together.
void prepareKernels(HostCommunicator::State &state, HostCommunicator::Operation &operation);
/// Puts one call into the streams.
void runSteps(HostCommunicator::State &state, HostCommunicator::Operation &operation, uint64_t input, uint64_t output);

} // namespace heddle
