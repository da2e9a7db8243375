// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of NCCL that make, end and ask communicators, with Heddle's part beside NCCL's.
#include "nccl/Group.h"
#include "nccl/Log.h"
#include "nccl/Offer.h"
#include "nccl/Table.h"
#include <functional>
#include <thread>
#include <utility>

namespace heddle::dropin {
namespace {

/// A function that makes a communicator at `place`.
template <typename Make>
Result makeComm(Comm *place, const Config *config, const Make &make) {
  if (InsideNccl::isInside())
    return make();
  Result done;
  {
    InsideNccl inside;
    done = make();
  }
  if (done && done != result::inProgress)
    return done;
  NewComm made{place, done == result::inProgress || (config && config->blocking == 0)};
  if (Group::own().depth > 0) {
    Group::own().newComms.push_back(made);
    return done;
  }
  Result offered = offerAll({made});
  return offered ? offered : done;
}

/// Heddle's part of a communicator that ends when its work has run.
void drop(Comm comm) {
  std::shared_ptr<Entry> entry = Table::shared().find(comm);
  if (!entry)
    return;
  if (entry->offerResult() == result::inProgress)
    entry->end("its communicator was destroyed");
  Table::shared().remove(entry);
  if (!Table::shared().isLeaving())
    entry->waitForWork();
  Table::shared().release(std::move(entry));
}

/// Ends a communicator and what it waits for, also in calls of other threads. Heddle's part and NCCL's end side by
/// side: in a stream with work of both, each may wait for the other.
Result endNow(Comm comm, const std::function<Result()> &endNccl) {
  if (InsideNccl::isInside())
    return endNccl();
  std::shared_ptr<Entry> entry = Table::shared().find(comm);
  std::thread ending;
  if (entry) {
    entry->end("its communicator was aborted");
    ending = std::thread([entry]() mutable {
      entry->waitForCalls();
      Table::shared().remove(entry);
      Table::shared().release(std::move(entry));
    });
  }
  InsideNccl inside;
  Result done = endNccl();
  if (ending.joinable())
    ending.join();
  return done;
}

} // namespace

Result offerAll(const std::vector<NewComm> &made) {
  std::vector<std::shared_ptr<Entry>> entries;
  for (const NewComm &each : made) {
    if (!*each.place) // a rank may be in no part of a split
      continue;
    auto entry = std::make_shared<Entry>(*each.place);
    if (!each.isInBackground) {
      entries.push_back(std::move(entry));
      continue;
    }
    Table::shared().add(entry);
    offerLater(std::move(entry));
  }
  Result done = entries.empty() ? result::success : offer(entries);
  for (auto &entry : entries)
    Table::shared().add(std::move(entry));
  return done;
}

} // namespace heddle::dropin

using namespace heddle::dropin;

HEDDLE_EXPORT Result ncclCommInitRank(Comm *comm, int ranks, UniqueId id, int rank) {
  return makeComm(comm, nullptr, [&] { return nccl().commInitRank(comm, ranks, id, rank); });
}

HEDDLE_EXPORT Result ncclCommInitRankConfig(Comm *comm, int ranks, UniqueId id, int rank, Config *config) {
  return makeComm(comm, config, [&] { return nccl().commInitRankConfig(comm, ranks, id, rank, config); });
}

HEDDLE_EXPORT Result ncclCommInitRankScalable(Comm *comm, int ranks, int rank, int ids, UniqueId *id, Config *config) {
  return makeComm(comm, config, [&] { return nccl().commInitRankScalable(comm, ranks, rank, ids, id, config); });
}

/// Of one process: its ranks' calls are NCCL's.
HEDDLE_EXPORT Result ncclCommInitAll(Comm *comms, int devices, const int *list) {
  InsideNccl inside;
  Result done = nccl().commInitAll(comms, devices, list);
  for (int i = 0; !done && i < devices; ++i)
    Table::shared().forgetEnd(comms[i]);
  return done;
}

HEDDLE_EXPORT Result ncclCommSplit(Comm comm, int color, int key, Comm *made, Config *config) {
  return makeComm(made, config, [&] { return nccl().commSplit(comm, color, key, made, config); });
}

HEDDLE_EXPORT Result ncclCommShrink(Comm comm, int *excluded, int count, Comm *made, Config *config, int flags) {
  return makeComm(made, config, [&] { return nccl().commShrink(comm, excluded, count, made, config, flags); });
}

HEDDLE_EXPORT Result ncclCommGrow(Comm comm, int ranks, const UniqueId *id, int rank, Comm *made, Config *config) {
  return makeComm(made, config, [&] { return nccl().commGrow(comm, ranks, id, rank, made, config); });
}

HEDDLE_EXPORT Result ncclCommFinalize(Comm comm) {
  if (auto entry = InsideNccl::isInside() ? nullptr : Table::shared().find(comm)) {
    (void)entry->waitForOffer();
    entry->waitForWork();
  }
  InsideNccl inside;
  return nccl().commFinalize(comm);
}

HEDDLE_EXPORT Result ncclCommDestroy(Comm comm) {
  if (!InsideNccl::isInside())
    drop(comm);
  InsideNccl inside;
  return nccl().commDestroy(comm);
}

HEDDLE_EXPORT Result ncclCommAbort(Comm comm) {
  return endNow(comm, [&] { return nccl().commAbort(comm); });
}

HEDDLE_EXPORT Result ncclCommRevoke(Comm comm, int flags) {
  return endNow(comm, [&] { return nccl().commRevoke(comm, flags); });
}

HEDDLE_EXPORT Result ncclCommGetAsyncError(Comm comm, Result *error) {
  auto entry = InsideNccl::isInside() ? nullptr : Table::shared().find(comm);
  Entry::Stay stay(entry.get(), Entry::Part::Nccl);
  if (entry && stay && error)
    if (Result offered = entry->offerResult()) { // its thread asks NCCL meanwhile, which does not let two
      *error = offered;
      return result::success;
    }
  Result done = nccl().commGetAsyncError(comm, error);
  if (done == result::success && entry && error && *error == result::success)
    *error = stay ? entry->checkForErrors() : entry->endedError();
  return done;
}

namespace {

/// What ncclGetLastError gave this thread. No destructor: those of other libraries may ask when a thread or the process
/// ends, and what they get then is never freed.
thread_local constinit std::string *lastText = nullptr;

struct LastTextOwner {
  ~LastTextOwner() { delete std::exchange(lastText, nullptr); }
};

} // namespace

/// Valid until the thread asks again, or ends.
HEDDLE_EXPORT const char *ncclGetLastError(Comm comm) {
  static thread_local const LastTextOwner owner;
  (void)&owner; // its constructor registers the destructor
  std::string text;
  if (auto entry = comm ? Table::shared().find(comm) : nullptr)
    text = entry->lastError();
  else if (!comm) // as PyTorch asks
    text = Table::shared().anyError();
  if (text.empty())
    return ncclLastError(comm);
  if (!lastText)
    lastText = new std::string;
  *lastText = "heddle: " + text;
  return lastText->c_str();
}
