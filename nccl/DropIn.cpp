// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of NCCL that Heddle may serve: collectives and groups of calls. Those of communicators are in
// Communicators.cpp; everything else is NCCL's (Forward.cpp).
#include "nccl/Group.h"
#include "nccl/Log.h"
#include "nccl/Settings.h"
#include "nccl/Table.h"
#include <algorithm>
#include <deque>
#include <utility>

namespace heddle::dropin {

/// No destructor, as destructors of other libraries may call when a thread or the process ends.
static thread_local constinit Group *ownGroup = nullptr;

namespace {
struct GroupOwner {
  ~GroupOwner() { delete std::exchange(ownGroup, nullptr); }
};
} // namespace

Group &Group::own() {
  static thread_local const GroupOwner owner;
  (void)&owner; // its constructor registers the destructor
  if (!ownGroup)
    ownGroup = new Group;
  return *ownGroup;
}

namespace {

void logCall(const Entry *entry, const Call &call, const char *who, const char *how) {
  constexpr const char *names[] = {"AllReduce", "AllGather", "ReduceScatter", "AlltoAll"};
  if (!logsCalls())
    return;
  const char *type = typeName(call.type);
  say("rank %d of %d: %s %zu bytes, %zu %s: %s (%s)", entry ? entry->rank : -1, entry ? entry->ranks : -1,
      names[int(call.kind)], call.count * size_t(typeBytes(call.type)), call.count, type ? type : "elements", who, how);
}

/// NCCL's call with its handle, if that has not ended.
Result callNcclOf(Entry *entry, const std::function<Result()> &make) {
  Entry::Stay stay(entry, Entry::Part::Nccl);
  if (!stay)
    return entry->endedError();
  InsideNccl inside;
  return make();
}

/// Alone, in the order of the communicator's work.
Result performByNccl(Entry *entry, Stream stream, const std::function<Result()> &make) {
  if (!entry || !entry->isServed())
    return callNcclOf(entry, make);
  if (Result failed = entry->beforeNccl(stream))
    return failed;
  Result done = entry->finishNccl(callNcclOf(entry, make), settings().deadline);
  entry->afterNccl(stream);
  return done;
}

Result performByNccl(Entry *entry, const Call &call, const char *why) {
  logCall(entry, call, "nccl", why);
  if (entry && entry->isServed())
    if (Result failed = entry->checkRanks(call))
      return failed;
  return performByNccl(entry, call.stream, [&] { return callNccl(call); });
}

/// By Heddle, or by NCCL when that turns out not to be possible on all ranks.
Result performAlone(Entry &entry, const Call &call) {
  Entry::Decision decision = entry.decide(call);
  if (decision.error)
    return decision.error;
  if (!decision.collective)
    return performByNccl(&entry, call, decision.how);
  logCall(&entry, call, "heddle", decision.how);
  return entry.perform(call, decision);
}

/// Calls `run(entry)`, with null for a communicator that is NCCL's alone, when the offer is over.
template <typename Run>
Result withEntry(Comm comm, const Run &run) {
  std::shared_ptr<Entry> entry = Table::shared().find(comm);
  if (!entry) // one that has ended meanwhile is no handle of NCCL's any more
    return Table::shared().hasEnded(comm) ? Result(result::remoteError) : run(entry);
  Entry::Stay stay(entry.get(), Entry::Part::Call);
  if (!stay)
    return entry->endedError();
  if (Result failed = entry->waitForOffer())
    return entry->hasEnded() ? entry->endedError() : failed;
  return run(entry);
}

Result perform(const Call &call) {
  if (InsideNccl::isInside())
    return callNccl(call);
  return withEntry(call.comm, [&](const std::shared_ptr<Entry> &entry) {
    if (!entry)
      return performByNccl(nullptr, call, "its communicator is NCCL's alone");
    if (Group::own().depth == 0 || !entry->isServed())
      return performAlone(*entry, call);
    Group::own().calls.push_back({entry, call});
    return result::success;
  });
}

/// A call that is NCCL's in any case.
template <typename Make>
Result performOther(Comm comm, Stream stream, bool isPointToPoint, const Make &make) {
  if (InsideNccl::isInside())
    return make();
  return withEntry(comm, [&](const std::shared_ptr<Entry> &entry) {
    if (Group::own().depth == 0 || !entry || !entry->isServed())
      return performByNccl(entry.get(), stream, make);
    Call what{};
    what.comm = comm;
    what.stream = stream;
    Group::own().calls.push_back({entry, what, make, isPointToPoint});
    return result::success;
  });
}

//===-- Groups ---------------------------------------------------------------------------------------------------===//

/// Makes the calls of a group one after the other, in the order of the program's, so that a rank that makes the same
/// calls without a group has the same order. NCCL's group, which is open, takes its own up to the next of Heddle's.
class GroupRun {
public:
  explicit GroupRun(std::vector<Group::Queued> &calls) : calls(calls) {}

  Result run() {
    for (Group::Queued &each : calls)
      if (!each.isDone)
        step(each);
    closeNccl();
    return first;
  }

private:
  using Queued = Group::Queued;

  void keep(Result done) {
    if (!first || first == result::inProgress)
      first = done ? done : first;
  }

  void step(Queued &queued) {
    if (queued.isPointToPoint) { // those of a group wait for each other
      give([](const Queued &other) { return other.isPointToPoint; }, "");
      return;
    }
    auto isSame = [&](const Queued &other) { return !other.isPointToPoint && other.call.comm == queued.call.comm; };
    if (std::count_if(calls.begin(), calls.end(), isSame) > 1) {
      // NCCL fuses them, by an algorithm for all together: so they are in one group on all ranks.
      give(isSame, "one of several in a group");
      return;
    }
    if (queued.other || !queued.entry->isForHeddle(queued.call)) {
      give(isSame, queued.other ? "" : queued.entry->decide(queued.call).how);
      return;
    }
    closeNccl(); // to prepare may wait for ranks that first make what comes before
    queued.isDone = true;
    Entry::Stay stay(queued.entry.get(), Entry::Part::Call);
    keep(stay ? performAlone(*queued.entry, queued.call) : queued.entry->endedError());
  }

  /// Those of the group that `isMeant` says, to NCCL's group.
  template <typename IsMeant>
  void give(const IsMeant &isMeant, const char *why) {
    if (!isOpen) {
      InsideNccl inside;
      keep(nccl().groupStart());
      isOpen = true;
    }
    for (Queued &each : calls)
      if (!each.isDone && isMeant(each))
        keep(giveOne(each, why));
  }

  Result giveOne(Queued &each, const char *why) {
    Entry &entry = *each.entry;
    each.isDone = true;
    if (!each.other) {
      logCall(&entry, each.call, "nccl", why);
      if (Result failed = entry.checkRanks(each.call))
        return failed;
    }
    if (std::none_of(given.begin(), given.end(), [&](const Queued *other) { return isBeside(*other, each); })) {
      if (!stays.emplace_back(&entry, Entry::Part::Nccl)) // to the end of NCCL's group
        return entry.endedError();
      if (Result failed = entry.beforeNccl(each.call.stream))
        return failed;
      given.push_back(&each);
    }
    return callNcclOf(&entry, each.other ? each.other : [&] { return callNccl(each.call); });
  }

  static bool isBeside(const Queued &a, const Queued &b) {
    return a.entry == b.entry && a.call.stream == b.call.stream;
  }

  void closeNccl() {
    if (!std::exchange(isOpen, false))
      return;
    Result end;
    {
      InsideNccl inside;
      end = nccl().groupEnd();
    }
    stays.clear();
    for (const Queued *each : given) {
      if (end == result::inProgress)
        keep(each->entry->finishNccl(end, settings().deadline));
      each->entry->afterNccl(each->call.stream);
    }
    if (given.empty() || end != result::inProgress)
      keep(end);
    given.clear();
  }

  std::vector<Queued> &calls;
  std::vector<const Queued *> given; ///< to NCCL's group that is open: one of each communicator and stream
  std::deque<Entry::Stay> stays;     ///< of those communicators
  bool isOpen = true;
  Result first = result::success;
};

Result endGroup() {
  Group ended = std::move(Group::own());
  Group::own() = {};
  Result done = GroupRun(ended.calls).run();
  if (done && done != result::inProgress)
    return done;
  for (NewComm &made : ended.newComms)
    made.isInBackground |= done == result::inProgress;
  Result offered = offerAll(ended.newComms);
  return offered ? offered : done;
}

} // namespace
} // namespace heddle::dropin

using namespace heddle::dropin;

HEDDLE_EXPORT Result ncclGroupStart() {
  Result done;
  {
    InsideNccl inside;
    done = nccl().groupStart();
  }
  Group::own().depth += done == result::success && !InsideNccl::isInside();
  return done;
}

HEDDLE_EXPORT Result ncclGroupEnd() {
  if (!InsideNccl::isInside() && Group::own().depth == 1)
    return endGroup();
  Group::own().depth -= !InsideNccl::isInside() && Group::own().depth > 0;
  InsideNccl inside;
  return nccl().groupEnd();
}

/// Ends the group without its work: NCCL is told what there was.
HEDDLE_EXPORT Result ncclGroupSimulateEnd(void *info) {
  if (!InsideNccl::isInside() && Group::own().depth == 1) {
    for (const Group::Queued &each : Group::own().calls)
      (void)(each.other ? each.other() : callNccl(each.call));
    Group::own() = {};
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

HEDDLE_EXPORT Result ncclSend(const void *input, size_t count, int type, int peer, Comm comm, Stream stream) {
  return performOther(comm, stream, true, [=] { return nccl().send(input, count, type, peer, comm, stream); });
}

HEDDLE_EXPORT Result ncclRecv(void *output, size_t count, int type, int peer, Comm comm, Stream stream) {
  return performOther(comm, stream, true, [=] { return nccl().receive(output, count, type, peer, comm, stream); });
}

HEDDLE_EXPORT Result ncclBroadcast(const void *input, void *output, size_t count, int type, int root, Comm comm,
                                   Stream stream) {
  return performOther(comm, stream, false,
                      [=] { return nccl().broadcast(input, output, count, type, root, comm, stream); });
}

HEDDLE_EXPORT Result ncclBcast(void *buffer, size_t count, int type, int root, Comm comm, Stream stream) {
  return performOther(comm, stream, false,
                      [=] { return nccl().broadcastInPlace(buffer, count, type, root, comm, stream); });
}

HEDDLE_EXPORT Result ncclReduce(const void *input, void *output, size_t count, int type, int reduction, int root,
                                Comm comm, Stream stream) {
  return performOther(comm, stream, false,
                      [=] { return nccl().reduce(input, output, count, type, reduction, root, comm, stream); });
}

HEDDLE_EXPORT Result ncclGather(const void *input, void *output, size_t count, int type, int root, Comm comm,
                                Stream stream) {
  return performOther(comm, stream, false,
                      [=] { return nccl().gather(input, output, count, type, root, comm, stream); });
}

HEDDLE_EXPORT Result ncclScatter(const void *input, void *output, size_t count, int type, int root, Comm comm,
                                 Stream stream) {
  return performOther(comm, stream, false,
                      [=] { return nccl().scatter(input, output, count, type, root, comm, stream); });
}
