// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a thread has between ncclGroupStart and ncclGroupEnd, and how a new communicator is told to Heddle.
#pragma once
#include "nccl/Entry.h"
#include <functional>

#define HEDDLE_EXPORT extern "C" __attribute__((visibility("default")))

namespace heddle::dropin {

/// That NCCL has made, or will have at the end of the group.
struct NewComm {
  Comm *place;
  bool isInBackground; ///< its function does not block
};

/// ncclSuccess, or why the ranks could not tell each other what they are. Those that are in the background are offered
/// there.
Result offerAll(const std::vector<NewComm> &made);

/// Calls from the outermost ncclGroupStart on.
struct Group {
  struct Queued {
    std::shared_ptr<Entry> entry;
    Call call;                               ///< of an other one: communicator and stream
    std::function<Result()> other = nullptr; ///< a call that is NCCL's in any case
    bool isPointToPoint = false;
    bool isDone = false;
  };
  int depth = 0;
  std::vector<Queued> calls; ///< of communicators that Heddle serves; others are NCCL's at once
  std::vector<NewComm> newComms;

  static Group &own(); ///< of this thread, also while it ends
};

} // namespace heddle::dropin
