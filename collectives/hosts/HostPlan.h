// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a collective of ranks on several hosts does: within a host the kernels of Communicator, between hosts copies,
// and folds of what was copied. A plan is a pure function of its arguments, so that all ranks have the same one.
#pragma once
#include "collectives/Collective.h"
#include "collectives/Plan.h"
#include "runtime/processes/HostLayout.h"
#include <string>
#include <vector>

namespace heddle {

/// The time of a step: alpha + bytes / beta, where bytes are those that a rank sends.
struct HostModel {
  struct Line {
    double microseconds = 0;        ///< alpha
    double bytesPerMicrosecond = 1; ///< beta: MB/s
    double time(double bytes) const { return microseconds + bytes / bytesPerMicrosecond; }
  };
  Line node; ///< a step between the ranks of one host, or in one rank's memory
  Line rail; ///< an exchange between the ranks of a rail
};
/// `20,2000,50,1000`: node alpha in us and beta in MB/s, then those between hosts. Throws Error{Input}.
HostModel parseHostModel(const std::string &text);
std::string describe(const HostModel &model); ///< as parseHostModel takes it

enum class HostAlgorithm {
  Whole,      ///< all-reduce: each host's whole sum goes to each host, where every rank folds all of them
  Shards,     ///< all-reduce: reduce-scatter in the host, whole shards to each host of the rail, fold, all-gather
  Pieces,     ///< all-reduce: as Shards, but a shard is cut: each host folds one piece and sends it to the others
  HostByHost, ///< the others: one exchange for each host, beside the kernels for the one before
};
const char *hostAlgorithmName(HostAlgorithm algorithm); ///< `hosts_whole`, ...

/// Empty or 0: the plan chooses.
struct HostPlanOptions {
  std::string algorithm; ///< of an all-reduce: `hosts_whole`, `hosts_shards`, `hosts_pieces`
  int64_t chunks = 0;    ///< of an all-reduce, 1 to mostChunks
};

struct HostPlan {
  static constexpr int64_t mostChunks = 64;
  Collective collective; ///< of all ranks, of which there may be more than maxWorldSize
  int hosts = 1, perHost = 1;
  HostAlgorithm algorithm = HostAlgorithm::HostByHost;
  /// All-reduce: elements of each chunk but the last, and of what is left after the last that can be cut.
  std::vector<int64_t> chunks;
  int64_t rest = 0;        ///< elements that no cut fits: they go as Whole
  double microseconds = 0; ///< what the model says
};

/// Throws Error{Input} for a broadcast and a permute, for more than maxWorldSize hosts or ranks of a host, for an
/// algorithm that the collective does not have, and what checkCollective throws for its other fields.
HostPlan makeHostPlan(const Collective &collective, const HostLayout &layout, const HostModel &model,
                      const HostPlanOptions &options = {});

/// The largest part that one exchange of the plan sends to one host.
uint64_t largestPartBytes(const HostPlan &plan);

/// One line that is equal exactly for equal plans.
std::string hostPlanKey(const HostPlan &plan);

//===-- Kernels --------------------------------------------------------------------------------------------------===//

/// The device of a rank.
struct HostKernelOptions {
  const Chip &chip;
  int computeUnits = 0, reservedUnits = 0; ///< as makePlanBeside takes them
};
/// Of the ranks of one host, for parts of `inner` elements.
Plan planOfNode(const HostPlan &plan, CollectiveKind kind, int64_t inner, const HostKernelOptions &options);
/// Of `parts` arrays in one rank's memory.
Plan planOfFold(ElementType type, Reduction reduction, int parts, int64_t elements, const HostKernelOptions &options);
/// Elements of a plan's folds; 0: of nothing.
std::vector<int64_t> foldsOf(const HostPlan &plan);
/// All kernels that a rank runs for the plan, of which some may be equal.
std::vector<Plan> kernelsOf(const HostPlan &plan, const HostKernelOptions &options);
/// The plans that makeHostPlan may choose, whatever the model says, with these options.
std::vector<HostPlan> possibleHostPlans(const Collective &collective, const HostLayout &layout,
                                        const HostPlanOptions &options = {});

/// Checks as checkCollective, for any number of ranks.
void checkHostCollective(const Collective &collective);

/// Folds the parts of one rank's input: an algorithm for PlanOptions::own, of a reduce-scatter of as many ranks as
/// there are parts, which waits for no other rank.
extern const Algorithm foldParts;

namespace reference {
/// The bytes of every rank's output: the ranks of each host folded in order, rounded to the type, and then the hosts in
/// order.
std::vector<std::string> runHostCollective(const HostPlan &plan, const std::vector<std::string> &inputs);
} // namespace reference

} // namespace heddle
