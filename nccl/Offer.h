// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// New communicators are offered to Heddle: their ranks tell each other what they are, over NCCL itself, and all come to
// the same answer.
#pragma once
#include "nccl/Entry.h"

namespace heddle::dropin {

/// The entries of communicators that this process has just made together. Every rank with the drop-in calls it for its
/// own. ncclSuccess, whether Heddle serves them or not; else what went wrong in NCCL, or that ranks did not come.
Result offer(const std::vector<Comm> &comms, std::vector<std::shared_ptr<Entry>> &entries);

} // namespace heddle::dropin
