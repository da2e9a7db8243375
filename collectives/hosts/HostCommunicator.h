// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives of ranks on several hosts: the kernels of a Communicator within each host, a Transport between hosts, and
// a kernel that folds what the transport brought, in the order of the hosts. So the bits depend on how many ranks a
// host has, and on nothing else.
#pragma once
#include "collectives/Communicator.h"
#include "collectives/hosts/HostPlan.h"
#include <functional>
#include <memory>
#include <optional>

namespace heddle {

class HostGroup;
class ProcessGroup;

class HostCommunicator {
public:
  struct Options {
    double deadlineSeconds = 30; ///< of the waits of one kernel, and of one exchange between hosts
    std::shared_ptr<const KernelSource> kernels = compiledKernels();
    std::optional<HostModel> model; ///< measured when it is not given; the same on all ranks
    int reservedUnits = 0;          ///< as for makePlanBeside
  };
  /// Collective: every process makes one. Measures the transport, unless a model is given. Throws Error{Input} on every
  /// rank for models that differ, and Error{Environment} as HostGroup::agree.
  HostCommunicator(std::unique_ptr<HostGroup> group, Options options);
  /// Leaves the group, and waits for this rank's own work only; exchanges that run are ended.
  ~HostCommunicator();

  const HostGroup &group() const;
  const HostModel &model() const; ///< the same on all ranks
  int computeUnits() const;
  Stream &stream();
  const std::shared_ptr<Device> &device() const;
  const ProcessGroup &node() const;  ///< the processes of this host
  void setStepSeconds(double value); ///< how long preparing waits for other ranks; the same on all, while none prepares

  /// A plan with what its steps need: kernels, protocol memory and memory for what the transport brings.
  class Operation;
  /// The same object for an equal plan. Collective, but for what was prepared before: the ranks compare their plans,
  /// and when they differ, every rank gets Error{Input} with the plans of both sides. Throws as
  /// `check`.
  Operation &prepare(const HostPlan &plan);

  /// Throws Error{Input} for parts larger than Transport::mostBytes.
  void check(const HostPlan &plan) const;

  /// As HostGroup::agree.
  std::vector<std::string> agree(const std::function<std::string()> &work);

  /// What preparing a plan takes on this rank; not collective, allocates nothing.
  struct Needs {
    uint64_t memoryBytes = 0; ///< what operations share is counted in each
    int blocks = 0;           ///< of the kernel that has the most; 0: there is nothing to do
  };
  Needs needsOf(const HostPlan &plan) const;

  /// Puts the collective into this rank's streams; returns at once, unless 32 calls are in flight. Dense arrays, as for
  /// Communicator::launch; they may be one memory as there. Every rank launches the same operations in the same order.
  /// A stream of the caller's, when one is given, is waited for first and waits for the call. Throws Error{Input} for a
  /// stream that is being captured, what the streams throw, and Error{Environment} after a failure.
  void launch(Operation &operation, uint64_t input, uint64_t output, Stream *stream = nullptr);

  /// Work of others takes part in the order of the calls, as Communicator::follow and Communicator::mark.
  void follow(Stream &stream);
  void mark(Stream &stream);

  /// Waits for this rank's work. Throws Error{Environment} when a step of it failed, on every rank of every host: what
  /// failed, and which rank. The group has failed for good then.
  void synchronize();

  /// As Communicator::failure, groupError and leave.
  std::optional<Error> failure();
  std::optional<Error> groupError() const;
  void leave();

  /// What each rank gave. Collective.
  std::vector<std::string> gather(const std::string &mine, double seconds);
  /// Ends all waits and exchanges of all ranks.
  void abort(const std::string &reason);

  struct State; ///< HostSteps.h

private:
  std::unique_ptr<State> state;
};

} // namespace heddle
