// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An HLO module made ready for a number of devices: its kernels compiled and loaded, its arrays allocated, its groups
// of devices joined by communicators. Nothing here runs; Program.cpp does.
#pragma once
#include "collectives/Communicator.h"
#include "program/Kernels.h"
#include "program/Program.h"
#include "runtime/Device.h"
#include "runtime/Stream.h"
#include <functional>
#include <map>
#include <mutex>

namespace heddle::program {

/// What an array takes in memory.
uint64_t bytesOf(const hlo::Shape &shape);

/// A collective for one size of group.
struct GroupKernel {
  Plan plan;
  StepKernel kernel;
};

/// One group of one collective, on its communicator.
struct GroupCall {
  hlo::DeviceGroup members;  ///< devices in rank order
  const GroupKernel *kernel; ///< null, as the rest, for a group of which no device is of this process
  Communicator *communicator;
  Communicator::Operation *operation;
};

struct CompiledGraph;

/// A step with all that its launches need.
struct CompiledStep {
  Step step;
  StepKernel kernel;                       ///< of a plain kernel
  std::vector<Kernel> loaded;              ///< by device
  std::map<int, GroupKernel> groupKernels; ///< of a collective, by the size of the group
  std::vector<GroupCall> calls;
  std::unique_ptr<CompiledGraph> condition, body;
  std::optional<int64_t> trips; ///< of a loop, where they are known
};

/// A graph, or a loop's condition or body, with its arrays on every device.
struct CompiledGraph {
  const Graph *graph = nullptr;
  Partition partition;
  std::vector<CompiledStep> steps;
  std::vector<std::map<NodeId, Buffer>> buffers; ///< by device
  /// Nodes without a buffer of their own: parameters of a loop, which are nodes of `outer`, and arrays that are updated
  /// in the memory of a parameter.
  std::map<NodeId, NodeId> parameters, updated;
  const CompiledGraph *outer = nullptr; ///< of a loop's condition or body
  bool hasCollectives = false;          ///< also in loops
  /// Of a loop's body, by device and number: copies of parameters that are results at another position.
  std::vector<std::map<size_t, Buffer>> exchanged;
};

class Executable {
public:
  /// Compiles and allocates everything; throws as Program's constructor does. Without `members` only compiles. With
  /// `processes` the only member is that of this rank.
  Executable(hlo::Module source, const Chip &chip, std::vector<std::shared_ptr<Device>> members, ProgramOptions choices,
             std::shared_ptr<ProcessGroup> processes = nullptr);
  ~Executable();

  /// Whether the collective's kernel only moves one buffer to another: then it is the one that plans have by
  /// themselves.
  static bool isPlain(const CompiledGraph &compiled, const Step &step);

  hlo::Module module;
  const Chip &chip;
  std::vector<std::shared_ptr<Device>> devices; ///< of this process; none of a program that is only looked at
  ProgramOptions options;
  std::shared_ptr<ProcessGroup> processes; ///< null where all devices are of this one
  int64_t first = 0;                       ///< the module's number of devices[0]
  bool isLocal(int64_t device) const { return device >= first && device < first + int64_t(devices.size()); }
  std::unique_ptr<Graph> graph;
  std::vector<std::unique_ptr<Stream>> streams; ///< by device
  std::map<hlo::DeviceGroup, std::unique_ptr<Communicator>> communicators;
  std::unique_ptr<CompiledGraph> entry;

private:
  bool namesAlgorithmOf(CollectiveKind kind) const;
  std::string whyApart(const hlo::Instruction &collective, const Matmul &matmul) const;
  void prepare(CompiledGraph &compiled, const Graph &source, bool isLoopBody = false);
  size_t countKernels(const CompiledGraph &compiled) const;
  void collectKernels(CompiledGraph &compiled, std::vector<std::function<void()>> &kernels);
  void compileKernels();
  void compileAll(CompiledGraph &compiled);
  void compileCollective(CompiledGraph &compiled, CompiledStep &step);
  Communicator &communicatorOf(const hlo::DeviceGroup &group);
  std::unique_ptr<Communicator> joinProcesses(const hlo::DeviceGroup &group);
  int computeUnits() const;
  void processesChanged();
  void allocate(CompiledGraph &compiled);

  size_t done = 0, total = 0; ///< kernels
  KernelCache cache;
  std::mutex joining; ///< of `communicators`, which the thread that hears of a failure ends
};

} // namespace heddle::program
