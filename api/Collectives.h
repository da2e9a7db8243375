// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives for programs: what they are called, how many elements so many bytes are, what a plan does, and how fast
// it runs. Sizes, counts and bandwidths are those of nccl-tests, so that tables can be laid side by side.
#pragma once
#include "collectives/Plan.h"
#include "collectives/hosts/HostPlan.h"
#include "runtime/Driver.h"
#include "runtime/HostGroup.h"
#include "runtime/processes/Bootstrap.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

//===-- Words ----------------------------------------------------------------------------------------------------===//

std::vector<std::string> collectiveNames(); ///< `all-reduce`, `all-gather`, ...
/// Null when `name` is none of them.
const CollectiveKind *findCollective(std::string_view name);
/// Throws Error{Input} listing the names.
CollectiveKind parseCollective(const std::string &name);

/// `sum`, `product` or `prod`, `minimum` or `min`, `maximum` or `max`, `and`, `or`. Throws Error{Input} listing them.
Reduction parseReduction(const std::string &name);
/// Of `--op` for this collective, empty when it was not given: then a sum. Throws Error{Input} for one that only moves.
Reduction parseReductionOf(CollectiveKind kind, const std::string &name);
const char *shortReductionName(Reduction reduction); ///< nccl's: `prod`, `min`, `max`

/// MLIR's spelling, or nccl's: `float`, `half`, `bfloat16`, `int8`, `uint64`, `f8e4m3`, .... Throws Error{Input}.
ElementType parseDatatype(const std::string &name);

/// `512`, `64K`, `1.5M`, `2G`; the units are powers of 1024. Throws Error{Input} naming the option for another text,
/// and for more than 2^56 bytes.
int64_t parseByteSize(const std::string &option, const std::string &text);

//===-- Sizes ----------------------------------------------------------------------------------------------------===//

/// The collective that nccl-tests runs for a size: bytes of a rank's input, for all-gather of its output; where that is
/// cut into one part per rank, each part is rounded down to 16 bytes. Permute goes from each rank to the next.
Collective collectiveOfSize(CollectiveKind kind, ElementType type, Reduction reduction, int ranks, int64_t bytes);
/// The same of ranks on several hosts, of which there may be more.
Collective hostCollectiveOfSize(CollectiveKind kind, ElementType type, Reduction reduction, int ranks, int64_t bytes);
int64_t sizeColumn(const Collective &collective);  ///< bytes of the larger of a rank's input and output
int64_t countColumn(const Collective &collective); ///< elements: of a part where there are parts
double busFactor(CollectiveKind kind, int ranks);  ///< bus bandwidth / algorithm bandwidth

//===-- Plans ----------------------------------------------------------------------------------------------------===//

/// What the devices of a driver are (`host`, `cuda`). GPUs need not be there: a plan and a kernel need the chip only.
const Chip &chipOfDriver(const std::string &driver);

/// The plan for plain buffers on the devices of a driver. Throws as makePlan.
Plan planFor(const Collective &collective, const std::string &driver, const PlanOptions &options);
/// The plan's kernel as tile IR.
std::string planKernelText(const Plan &plan);
/// The algorithm's protocol as a model for the model checker SPIN. Throws Error{Input} for more ranks than it has names
/// for.
std::string planModelText(const Plan &plan);

//===-- Measuring ------------------------------------------------------------------------------------------------===//

struct BenchmarkRequest {
  CollectiveKind kind = CollectiveKind::AllReduce;
  ElementType type = ElementType::F32;
  Reduction reduction = Reduction::Sum;
  std::string driver = "host";
  int devices = 4; ///< the driver's first ones
  /// How this process connects to the others, when each rank is a process: it has one rank and one device, by its
  /// number among the processes of its host. `devices` does not count then. Every process asks for the same.
  std::optional<BootstrapOptions> processes;
  /// Of processes of one host: operands are in a window (collectives/Window.h), so that direct algorithms reach them.
  bool registered = false;
  HostOptions hosts;      ///< of processes that are, or play, several hosts
  std::string hostModel;  ///< as parseHostModel takes it; empty: measured
  int64_t hostChunks = 0; ///< HostPlanOptions::chunks
  std::string peer;       ///< `nccl`: another library, measured beside ours on CUDA devices; empty for none
  PlanOptions plan;
  int iterations = 20, warmup = 1;
  /// Above 0: the calls are captured in a graph for each rank, which is replayed so often. Needs a driver with graphs.
  int graphReplays = 0;
  int checks = 1;             ///< calls with fresh inputs whose every element is compared, after timing
  double timeoutSeconds = 30; ///< of the waits of one call
  bool links = false;         ///< one more call, of which is counted what the devices send each other
  /// Told what is going on, for people who wait; may be empty.
  std::function<void(const std::string &)> progress;
};

/// Microseconds; bandwidths in 1e9 bytes a second.
struct BenchmarkTimes {
  double average = 0; ///< of calls back to back
  /// Of calls that are waited for one by one; of graphs, a replay's time divided by its calls. The slowest rank counts.
  double p50 = 0, minimum = 0, maximum = 0;
  double algorithmBandwidth = 0, busBandwidth = 0;
  int64_t wrong = 0;      ///< elements, of all ranks and checks
  std::string firstWrong; ///< `rank 2, element 5: 1.25, expected 1.5`
};

struct BenchmarkRow {
  Plan plan;                     ///< of ranks on several hosts: its collective alone
  std::optional<HostPlan> hosts; ///< of ranks on several hosts
  BenchmarkTimes outOfPlace, inPlace;
  /// With the peer `nccl`. What it has wrong is beyond the tolerance of sums in another order.
  std::optional<BenchmarkTimes> ncclOutOfPlace, ncclInPlace;
  std::vector<PeerTraffic> links; ///< of one call, with BenchmarkRequest::links
  const char *algorithm() const { return hosts ? hostAlgorithmName(hosts->algorithm) : plan.algorithm->name; }
};

/// Of ranks on several hosts.
struct HostsDescription {
  int hosts = 1;
  std::string layout, transport, model; ///< `2 hosts of 2 ranks`, `unix sockets`, as parseHostModel takes it
};

class HostBenchmark;

/// The group of one run with its devices.
class CollectiveBenchmark {
public:
  /// Throws Error{Input} for options out of range and a peer that cannot do it, and what devices and the peer throw.
  explicit CollectiveBenchmark(BenchmarkRequest request);
  ~CollectiveBenchmark();

  int rank() const; ///< of this process; 0 when all ranks are of one
  std::vector<std::string> deviceNames() const;
  std::string deviceDescription() const; ///< of the first
  std::optional<HostsDescription> hosts() const;
  std::string peerDescription() const; ///< `NCCL 2.27.3 (libnccl.so.2)`; empty without one
  /// Throws Error{Environment} when the buffers do not fit this machine's memory, and what the group throws. Of
  /// processes: collective; times are those of the slowest rank, and wrong elements those of all.
  BenchmarkRow measure(int64_t bytes);

private:
  void joinProcesses(BenchmarkRequest request);
  struct State;
  std::unique_ptr<State> state;                ///< null for several hosts
  std::unique_ptr<HostBenchmark> severalHosts; ///< null for one
};

} // namespace heddle
