// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of NCCL that the drop-in takes: those that make, end and ask communicators, groups of calls, and the
// collectives that Heddle may make. Everything else is NCCL's (Forward.cpp).
#include "nccl/Log.h"
#include "nccl/Offer.h"
#include "nccl/Settings.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <shared_mutex>
#include <thread>

namespace heddle::dropin {
namespace {

//===-- The end of the process -----------------------------------------------------------------------------------===//

// PyTorch's threads abort communicators while its main thread is in exit(), where CUDA shuts down: from then on
// Heddle's part of a communicator is left to the end of the process.
std::atomic<bool> isExiting = false;
std::atomic<int> releasing = 0; ///< threads that release entries

/// Registered when CUDA has been initialised, so that it runs before what CUDA has registered.
void beforeExit() {
  constexpr int longest = 2000; // milliseconds
  isExiting = true;
  for (int turn = 0; turn < longest && releasing > 0; ++turn)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void watchForExit() {
  static const int registered = std::atexit(beforeExit);
  (void)registered;
}

/// Ends Heddle's part of a communicator. Graphs hold addresses of a captured one's memory: it stays.
void release(std::shared_ptr<Entry> entry) {
  ++releasing;
  if (entry->wasCaptured() || isExiting)
    (void)new std::shared_ptr<Entry>(std::move(entry));
  entry.reset();
  --releasing;
}

//===-- Communicators --------------------------------------------------------------------------------------------===//

/// The communicators that were offered. Never destroyed: other threads may call while the process ends.
class Table {
public:
  static Table &shared() {
    static auto *table = new Table;
    return *table;
  }
  std::shared_ptr<Entry> find(Comm comm) {
    std::shared_lock lock(mutex);
    auto found = entries.find(comm);
    return found == entries.end() ? nullptr : found->second;
  }
  void add(std::shared_ptr<Entry> entry) {
    watchForExit();
    std::unique_lock lock(mutex);
    entries[entry->comm] = std::move(entry);
  }
  std::shared_ptr<Entry> take(Comm comm) {
    std::unique_lock lock(mutex);
    auto node = entries.extract(comm);
    return node.empty() ? nullptr : node.mapped();
  }

  /// The first error of any; an empty text for none.
  std::string anyError() {
    std::shared_lock lock(mutex);
    for (const auto &[comm, entry] : entries)
      if (std::string text = entry->lastError(); !text.empty())
        return text;
    return "";
  }

  /// Those that were made without waiting are offered at their first call that can wait.
  void postpone(Comm comm) {
    std::unique_lock lock(mutex);
    postponed.insert(comm);
  }
  bool isPostponed(Comm comm) {
    std::shared_lock lock(mutex);
    return postponed.count(comm) > 0;
  }
  void forget(Comm comm) {
    std::unique_lock lock(mutex);
    postponed.erase(comm);
  }

private:
  std::shared_mutex mutex;
  std::map<Comm, std::shared_ptr<Entry>> entries;
  std::set<Comm> postponed;
};

/// Of this thread: calls from the outermost ncclGroupStart on.
struct Group {
  int depth = 0;
  std::vector<Call> calls;      ///< that Heddle may make; others are NCCL's at once
  std::vector<Comm *> newComms; ///< places of communicators that are there at the end
};
thread_local Group group;

void logCall(const Entry *entry, const Call &call, const char *who, const char *how) {
  constexpr const char *names[] = {"AllReduce", "AllGather", "ReduceScatter", "AlltoAll"};
  if (!logsCalls())
    return;
  const char *type = typeName(call.type);
  say("rank %d of %d: %s %zu bytes, %zu %s: %s (%s)", entry ? entry->rank : -1, entry ? entry->ranks : -1,
      names[int(call.kind)], call.count * size_t(typeBytes(call.type)), call.count, type ? type : "elements", who, how);
}

/// NCCL's call, in the order of the communicator's work.
Result performByNccl(Entry *entry, const Call &call, const char *why) {
  logCall(entry, call, "nccl", why);
  if (!entry || !entry->isServed())
    return callNccl(call);
  if (Result failed = entry->beforeNccl(call.stream))
    return failed;
  Result done = callNccl(call);
  if (group.depth == 0) // else its work comes at the end of the group
    entry->afterNccl(call.stream);
  return done;
}

Result performByHeddle(Entry &entry, const Call &call, const Entry::Decision &decision) {
  logCall(&entry, call, "heddle", decision.how);
  return entry.perform(call, decision);
}

Result offerAll(const std::vector<Comm> &comms);

/// NCCL goes on with it in the background; all ranks are at the same call.
Result offerPostponed(Comm comm) {
  constexpr int longest = 120'000; // milliseconds
  Result state = result::inProgress;
  for (int turn = 0; turn < longest && state == result::inProgress; ++turn) {
    if (Result done = nccl().commGetAsyncError(comm, &state))
      return done;
    if (state == result::inProgress)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (state) // is the call's to say
    return result::success;
  Table::shared().forget(comm);
  return offerAll({comm});
}

Result perform(const Call &call) {
  if (InsideNccl::isInside())
    return callNccl(call);
  std::shared_ptr<Entry> entry = Table::shared().find(call.comm);
  if (!entry && group.depth == 0 && Table::shared().isPostponed(call.comm) &&
      (settings().driver == "host" || !isCapturing(call.stream))) {
    if (Result failed = offerPostponed(call.comm))
      return failed;
    entry = Table::shared().find(call.comm);
  }
  if (!entry)
    return performByNccl(nullptr, call, "its communicator was not offered yet");
  if (entry->isServed() && group.depth > 0) {
    group.calls.push_back(call);
    return result::success;
  }
  Entry::Decision decision = entry->decide(call);
  if (decision.error)
    return decision.error;
  return decision.collective ? performByHeddle(*entry, call, decision) : performByNccl(entry.get(), call, decision.how);
}

/// Makes entries for communicators that are complete.
Result offerAll(const std::vector<Comm> &comms) {
  std::vector<std::shared_ptr<Entry>> entries;
  Result done = offer(comms, entries);
  for (auto &entry : entries)
    Table::shared().add(std::move(entry));
  return done;
}

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
  if (done == result::inProgress || (!done && config && config->blocking == 0)) {
    if (*place)
      Table::shared().postpone(*place);
    return done;
  }
  if (done)
    return done;
  if (group.depth > 0) {
    group.newComms.push_back(place);
    return done;
  }
  return *place ? offerAll({*place}) : done; // a rank may be in no part of a split
}

/// A communicator has exactly one call in the group: then Heddle may make it. Several are fused by NCCL. That is alike
/// on all ranks, whatever other communicators and sends the group has.
bool isOnlyCall(const std::vector<Call> &calls, const Call &call) {
  return std::count_if(calls.begin(), calls.end(), [&](const Call &other) { return other.comm == call.comm; }) == 1;
}

struct Kept {
  std::shared_ptr<Entry> entry;
  Call call;
  Entry::Decision decision;
};

/// Gives to NCCL's group, which is still open, what is not Heddle's; the rest is returned.
std::vector<Kept> divide(const std::vector<Call> &calls, Result &first) {
  std::vector<Kept> kept;
  for (const Call &call : calls) {
    std::shared_ptr<Entry> entry = Table::shared().find(call.comm);
    Entry::Decision decision;
    decision.how = "one of several in a group";
    if (entry && isOnlyCall(calls, call))
      decision = entry->decide(call);
    if (decision.collective) {
      kept.push_back({entry, call, decision});
      continue;
    }
    Result done = decision.error ? decision.error : performByNccl(entry.get(), call, decision.how);
    first = first ? first : done;
  }
  return kept;
}

Result endGroup() {
  Group ended = std::move(group);
  group = {};
  group.depth = 1; // NCCL's is open
  Result first = result::success;
  std::vector<Kept> kept = divide(ended.calls, first);
  group.depth = 0;
  Result end;
  {
    InsideNccl inside;
    end = nccl().groupEnd();
  }
  first = first ? first : end;
  for (const Call &call : ended.calls) {
    bool isKept = std::any_of(kept.begin(), kept.end(), [&](const Kept &each) { return each.call.comm == call.comm; });
    if (auto entry = Table::shared().find(call.comm); entry && !isKept)
      entry->afterNccl(call.stream);
  }
  for (const Kept &each : kept) {
    Result done = performByHeddle(*each.entry, each.call, each.decision);
    first = first ? first : done;
  }
  std::vector<Comm> comms;
  for (Comm *place : ended.newComms)
    if (*place)
      comms.push_back(*place);
  if (first == result::inProgress)
    for (Comm comm : comms)
      Table::shared().postpone(comm);
  return first || comms.empty() ? first : offerAll(comms);
}

/// Heddle's part of a communicator that ends when its work has run.
void drop(Comm comm) {
  Table::shared().forget(comm);
  std::shared_ptr<Entry> entry = Table::shared().take(comm);
  if (!entry)
    return;
  if (!isExiting)
    entry->waitForWork();
  release(std::move(entry));
}

/// Ends a communicator and what it waits for. Heddle's part and NCCL's end side by side: in a stream with work of both,
/// each may wait for the other.
Result endNow(Comm comm, const std::function<Result()> &endNccl) {
  if (InsideNccl::isInside())
    return endNccl();
  Table::shared().forget(comm);
  std::shared_ptr<Entry> entry = Table::shared().take(comm);
  if (entry && (entry->wasCaptured() || entry->isPreparing()))
    entry->abort("its communicator was aborted");
  std::thread ending;
  if (entry)
    ending = std::thread([ended = std::move(entry)]() mutable { release(std::move(ended)); });
  InsideNccl inside;
  Result done = endNccl();
  if (ending.joinable())
    ending.join();
  return done;
}

} // namespace
} // namespace heddle::dropin

using namespace heddle::dropin;

#define HEDDLE_EXPORT extern "C" __attribute__((visibility("default")))

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
  return nccl().commInitAll(comms, devices, list);
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
  if (auto entry = InsideNccl::isInside() ? nullptr : Table::shared().find(comm))
    entry->waitForWork();
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
  Result done = nccl().commGetAsyncError(comm, error);
  auto entry = InsideNccl::isInside() ? nullptr : Table::shared().find(comm);
  if (done == result::success && entry && error && *error == result::success)
    *error = entry->checkForErrors();
  return done;
}

HEDDLE_EXPORT const char *ncclGetLastError(Comm comm) {
  static thread_local auto &kept = *new std::string; // destructors of the process's end may ask
  std::string text;
  if (auto entry = comm ? Table::shared().find(comm) : nullptr)
    text = entry->lastError();
  else if (!comm) // as PyTorch asks
    text = Table::shared().anyError();
  if (text.empty())
    return ncclLastError(comm);
  kept = "heddle: " + text;
  return kept.c_str();
}

HEDDLE_EXPORT Result ncclGroupStart() {
  Result done;
  {
    InsideNccl inside;
    done = nccl().groupStart();
  }
  group.depth += done == result::success && !InsideNccl::isInside();
  return done;
}

HEDDLE_EXPORT Result ncclGroupEnd() {
  if (!InsideNccl::isInside() && group.depth == 1)
    return endGroup();
  group.depth -= !InsideNccl::isInside() && group.depth > 0;
  InsideNccl inside;
  return nccl().groupEnd();
}

/// Ends the group without its work: NCCL is told what there was.
HEDDLE_EXPORT Result ncclGroupSimulateEnd(void *info) {
  if (!InsideNccl::isInside() && group.depth == 1) {
    for (const Call &call : group.calls)
      callNccl(call);
    group = {};
  }
  InsideNccl inside;
  return nccl().groupSimulateEnd(info);
}

HEDDLE_EXPORT Result ncclAllReduce(const void *input, void *output, size_t count, int type, int reduction, Comm comm,
                                   Stream stream) {
  return perform({Call::Kind::AllReduce, input, output, count, type, reduction, comm, stream});
}

HEDDLE_EXPORT Result ncclAllGather(const void *input, void *output, size_t count, int type, Comm comm, Stream stream) {
  return perform({Call::Kind::AllGather, input, output, count, type, 0, comm, stream});
}

HEDDLE_EXPORT Result ncclReduceScatter(const void *input, void *output, size_t count, int type, int reduction,
                                       Comm comm, Stream stream) {
  return perform({Call::Kind::ReduceScatter, input, output, count, type, reduction, comm, stream});
}

HEDDLE_EXPORT Result ncclAlltoAll(const void *input, void *output, size_t count, int type, Comm comm, Stream stream) {
  return perform({Call::Kind::AllToAll, input, output, count, type, 0, comm, stream});
}
