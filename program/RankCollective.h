// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A module whose only launch is one collective over all its ranks, such as an all-reduce with residual and RMS norm,
// for ranks that are processes: each compiles it for its own device.
#pragma once
#include "binary/Package.h"
#include "collectives/Plan.h"
#include <string>
#include <string_view>
#include <vector>

namespace heddle::program {

struct RankArray {
  std::string name, type; ///< of the instruction; `bf16`
  uint64_t sizeBytes = 0;
};

struct RankCollective {
  std::string name; ///< of the collective's instruction
  Plan plan;
  Package kernel;
  std::vector<RankArray> arrays; ///< the module's parameters, then its results
  size_t results = 0;            ///< how many of them are results
  /// For each argument of the kernel after the protocol's: the number of its array, or of one of the last two:
  enum : int { Replica = -1, Partition = -2 };
  std::vector<int> arguments;
  int64_t partitions = 1; ///< rank = replica * partitions + partition
};

/// Throws Error{Input} as parseModule and flatten do; for a module of another number of ranks, with several launches,
/// with a collective over a part of the ranks, and with results that its kernel does not make.
RankCollective compileRankCollective(std::string_view text, const std::string &fileName, int ranks, const Chip &chip,
                                     int computeUnits);

} // namespace heddle::program
