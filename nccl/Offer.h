// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// New communicators are offered to Heddle: their ranks tell each other what they are, over NCCL itself, and all come to
// the same answer.
#pragma once
#include "nccl/Entry.h"

namespace heddle::dropin {

/// Of communicators that this process has just made together, which no other thread uses yet but to end them. Every
/// rank with the drop-in calls it for its own. ncclSuccess, whether Heddle serves them or not; else what went wrong in
/// NCCL, or that ranks did not come. The entries are settled then.
Result offer(const std::vector<std::shared_ptr<Entry>> &entries);

/// The same for one that NCCL makes in the background: on a thread of its own, when NCCL is done with it. Until then
/// Entry::offerResult is ncclInProgress.
void offerLater(std::shared_ptr<Entry> entry);
int offersInBackground(); ///< threads

} // namespace heddle::dropin
