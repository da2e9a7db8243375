// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels of a partition's steps, as packages; knows MLIR inside only.
#pragma once
#include "binary/Package.h"
#include "collectives/Plan.h"
#include "program/Partition.h"
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace heddle::program {

/// What the runtime needs to launch a step's kernel. Arguments (after the protocol's for a collective): the addresses
/// of `inputs`, then of `outputs`, then the replica's and the partition's number (i32).
struct StepKernel {
  std::string name; ///< for messages and --dump
  Package package;
  std::string text; ///< tile IR
  std::vector<NodeId> inputs, outputs;
  int64_t blocks = 0; ///< program instances; 0 when there is nothing to do
};

/// Kernels of one text are compiled once, also by several threads; for one chip, and with options that differ in
/// nothing but warps. Their packages are the same, with the name of the one that was first.
class KernelCache {
public:
  /// `make` may throw; every thread that waits for the text gets the exception.
  Package get(const std::string &text, int warps, const std::function<Package()> &make);

private:
  std::mutex mutex;
  std::map<std::pair<std::string, int>, std::shared_future<Package>> known;
};

/// The kernel of a step without a collective, for a chip that lives as long as the call: one stored node, or what is
/// made of rows. `cache` may be null.
StepKernel makeKernel(const Graph &graph, const Partition &partition, const Step &step, const Chip &chip,
                      KernelCache *cache = nullptr);

/// None for what is no collective.
std::optional<CollectiveKind> kindOf(hlo::Opcode opcode);

/// The collective of a step as a group of `ranks` runs it; `sources` are those of a permute. Throws Error{Input} with
/// the instruction's location.
Collective collectiveOf(const Graph &graph, NodeId node, int ranks, const std::vector<int> &sources);

/// The tiles of a matmul in the kernel of a collective of so many ranks.
MatmulTiles tilesBeside(CollectiveKind kind, int64_t ranks, const Matmul &matmul, const Chip &chip);

/// The most blocks of such a kernel.
int mostBlocksBeside(CollectiveKind kind, int64_t ranks);

/// Why a kernel of a collective and its matmul would need too much memory; empty: it does not.
std::string whyNoRoom(CollectiveKind kind, int64_t ranks, const Matmul &matmul, const Chip &chip);

/// How the collective of a step with a matmul is planned. Where the matmul comes first, its tiles are the rows of the
/// collective, and `collective` becomes the one of whole tiles.
PlanOptions planOptionsFor(const Graph &graph, const Step &step, const Chip &chip, int computeUnits,
                           Collective &collective);
/// A line on the tiles of a step's matmul.
std::string describeTiles(const Graph &graph, const Step &step, const Plan &plan);

/// The collective's kernel with the element-wise code before and after it.
StepKernel makeCollectiveKernel(const Graph &graph, const Partition &partition, const Step &step, const Plan &plan);

} // namespace heddle::program
