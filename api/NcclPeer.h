// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NCCL beside Heddle in `heddle bench --peer nccl`: what it can do of a collective, its calls, and whether its results
// are within what another order of summing may give.
#pragma once
#include "api/CollectiveTiming.h"
#include "runtime/drivers/cuda/Nccl.h"

namespace heddle {

/// Throws Error{Input} for a peer that is not `nccl`, devices that are not CUDA's, and what NCCL does not have.
void checkPeer(const BenchmarkRequest &request);

/// All-to-all in place is what NCCL does not have.
bool hasNcclCalls(const Collective &collective, bool inPlace);

NcclCollective ncclCollective(const Collective &collective);

/// The elements of rank `rank`'s output that differ by more than each rank's rounding in the element type allows; of
/// integers, minimum, maximum and what is only moved, all that differ.
int64_t countBeyondTolerance(const Collective &collective, int rank, const std::vector<std::string> &inputs,
                             const std::string &seen, const std::string &expected);

} // namespace heddle
