// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes the memory of protocols, launches a collective on each stream, and reports which rank waited for which.
#include "collectives/Communicator.h"
#include "binary/PeerAbi.h"
#include "runtime/Device.h"
#include "runtime/Event.h"
#include "runtime/ProcessGroup.h"
#include "runtime/Stream.h"
#include "runtime/SymmetricMemory.h"
#include "runtime/processes/Deadline.h"
#include "runtime/processes/LaunchRing.h"
#include "support/Error.h"
#include "support/Hash.h"
#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <thread>

namespace heddle {

/// Where the latest launch went, when it may be followed by one on another stream.
struct Communicator::Latest {
  bool isTracked = false;       ///< from the first launch into a stream of the caller's on
  std::shared_ptr<Event> event; ///< after those that are not captured
  uint64_t stream = 0;          ///< Stream::id of where `event` was recorded
  uint64_t capture = 0;         ///< Stream::captureId, of the latest capture
  std::shared_ptr<Event> capturedEvent;
  std::shared_ptr<Event> graphEvent; ///< after the collectives of the graph that was launched last
};

/// The stream of one call.
struct Communicator::Target {
  explicit Target(Stream &stream, std::optional<uint64_t> known = std::nullopt)
      : stream(stream), capture(known ? *known : stream.captureId()), id(capture ? 0 : stream.id()) {}
  Stream &stream;
  const uint64_t capture, id; ///< Stream::captureId, and Stream::id where it is not captured
};

/// What the runtime keeps in each rank's device memory for all operations.
struct Communicator::Control {
  uint32_t abort;
  uint32_t unused;
  PeerError error;
};

Communicator::Communicator(std::vector<std::shared_ptr<Device>> members, Options options)
    : Communicator(std::move(members), {}, options) {}

Communicator::Communicator(std::vector<std::shared_ptr<Device>> members, std::vector<Stream *> given, Options options)
    : devices(std::move(members)), firstRank(0), rankCount(int(devices.size())), streams(std::move(given)),
      options(options), launched(devices.size()) {
  checkOptions();
  if (!streams.empty() && streams.size() != devices.size())
    throw inputError(fmt::format("{} streams for a group of {} devices: each has one", streams.size(), devices.size()));
  makeStreams();
  control = std::make_unique<SymmetricMemory>(devices, sizeof(Control), "collective control");
}

Communicator::Communicator(std::unique_ptr<ProcessGroup> processes, Options options)
    : processGroup(std::move(processes)), devices{processGroup->device()}, firstRank(processGroup->rank()),
      rankCount(processGroup->ranks()), options(options), launched(1) {
  together([&] {
    checkOptions();
    makeStreams();
    control = std::make_unique<SymmetricMemory>(devices, sizeof(Control), "collective control");
  });
  ring = std::make_unique<LaunchRing>(processGroup->neighbours(), processGroup->stepSeconds());
  processGroup->neighbours().onChange([this] { processesChanged(); });
}

void Communicator::checkOptions() const {
  if (rankCount == 0 || rankCount > maxWorldSize)
    throw inputError(fmt::format("a group of {} devices: it has 1 to {}", rankCount, maxWorldSize));
  if (!(options.deadlineSeconds > 0) || options.deadlineSeconds > maxDeadlineSeconds)
    throw inputError(
        fmt::format("a deadline of {} s: it is above 0 and at most {} s", options.deadlineSeconds, maxDeadlineSeconds));
}

void Communicator::makeStreams() {
  if (streams.empty())
    for (const auto &device : devices) {
      owned.push_back(device->createStream());
      streams.push_back(owned.back().get());
    }
  for (const auto &device : devices)
    service.push_back(device->createStream());
  latest.resize(devices.size());
}

Communicator::~Communicator() {
  if (processGroup)
    processGroup->neighbours().onChange({});
  try {
    endLocalWaits();
  } catch (const std::exception &) { // the group ends either way
  }
  (void)waitForStreams(); // the memory goes next
  if (!processGroup)
    return;
  try { // the others would wait for a launch that did not do its part
    if (std::vector<std::string> reports = failureReports(); !reports.empty())
      processGroup->neighbours().abort("it left the group while it waited: " + reports.front());
  } catch (const std::exception &) { // they have their deadlines
  }
}

int Communicator::computeUnits() const {
  return processGroup ? processGroup->computeUnits() : fewestComputeUnits(devices);
}

std::vector<int> Communicator::localRanks() const {
  std::vector<int> ranks;
  for (size_t i = 0; i < devices.size(); ++i)
    ranks.push_back(firstRank + int(i));
  return ranks;
}

size_t Communicator::localIndex(int rank) const {
  if (rank < 0 || rank >= rankCount)
    throw inputError(fmt::format("rank {} of a group of {}: ranks are 0 to {}", rank, rankCount, rankCount - 1));
  if (rank < firstRank || rank >= firstRank + int(devices.size()))
    throw inputError(fmt::format("rank {} is of another process, this one has rank {}", rank, firstRank),
                     {"each process of a group launches for its own rank"});
  return size_t(rank - firstRank);
}

std::string Communicator::deviceName(int rank) const {
  return processGroup ? processGroup->deviceName(rank) : devices[size_t(rank)]->name();
}

//===-- Operations -----------------------------------------------------------------------------------------------===//

/// Kernels and memory of one protocolKey. Launches of several operations may share it: they run in the order of the
/// streams, and a round does not care how large the call is that it belongs to.
struct Communicator::Protocol {
  std::string key;
  std::vector<Kernel> kernels;              ///< by rank
  std::unique_ptr<SymmetricMemory> arena;   ///< Plan::arena
  std::unique_ptr<SymmetricMemory> staging; ///< null when the algorithm stages nothing
  std::vector<Buffer> groups;               ///< CollectiveGroups by rank, for operands that are in no windows

  const SymmetricMemory &stagingOrArena() const { return staging ? *staging : *arena; }
};

// Flags tell rounds apart by 32 bits, so a slot must not go unwritten while others count on: calls of different sizes
// share the memory of such packets with none but their like. A slot without flags waits as it is for the next call.
static std::string protocolKey(const Plan &plan) {
  return plan.hasPackets() && plan.packets == PacketForm::LL ? planKey(plan) : kernelKey(plan);
}

void Communicator::checkRanks(const Plan &plan) const {
  if (plan.collective.ranks != ranks())
    throw inputError(fmt::format("a plan for {} ranks in a group of {}", plan.collective.ranks, ranks()));
}

Communicator::Operation &Communicator::prepare(const Plan &plan, const std::string &name, const std::string &memory,
                                               const OperandWindows &given) {
  std::lock_guard one(preparing); // or threads that ask for equal plans at once would get different operations
  std::shared_ptr<void> allowed = devices.front()->allowInCaptures();
  std::string key = planKey(plan) + name + (memory.empty() ? "" : ", memory " + memory);
  if (given.input && given.output)
    key += fmt::format(", input in {}, output in {}", given.input->number, given.output->number);
  std::string shared = memory + protocolKey(plan);
  std::shared_ptr<Protocol> protocol;
  {
    std::lock_guard lock(mutex);
    for (const auto &known : operations) {
      if (known->key == key && known->areWindowsOpen())
        return *known;
      if (known->protocol && known->protocol->key == shared)
        protocol = known->protocol;
    }
  }
  agreeOn(plan, key, given);
  if (!protocol && plan.rounds != 0) {
    protocol = makeProtocol(plan, [&] { return options.kernels->kernelOf(plan); });
    protocol->key = shared;
  }
  std::vector<Buffer> groups;
  if (given.areGiven() && protocol)
    together([&] { groups = describeWindows(*protocol, given); });
  Operation &operation = add(plan, name.empty() ? describe(plan.collective) : name, key, std::move(protocol));
  operation.windows = given;
  operation.groups = std::move(groups);
  return operation;
}

Communicator::Operation &Communicator::prepare(const Plan &plan, const Package &kernel, const std::string &name) {
  agreeOn(plan, processGroup ? planKey(plan) + name + " kernel " + hashHex(kernel.binary) : "");
  return add(plan, name, "", plan.rounds == 0 ? nullptr : makeProtocol(plan, [&] { return kernel; }));
}

Communicator::Operation &Communicator::add(const Plan &plan, const std::string &name, const std::string &key,
                                           std::shared_ptr<Protocol> protocol) {
  auto operation = std::make_unique<Operation>();
  operation->group = this;
  operation->thePlan = plan;
  operation->theName = name;
  operation->key = key;
  operation->hash = hashBytes(planKey(plan) + "\n" + name + "\n" + key);
  operation->protocol = std::move(protocol);
  std::lock_guard lock(mutex);
  operations.push_back(std::move(operation));
  return *operations.back();
}

// Everything that waits or allocates happens here, so that a launch does nothing but launch.
std::shared_ptr<Communicator::Protocol> Communicator::makeProtocol(const Plan &plan,
                                                                   const std::function<Package()> &kernel) {
  auto protocol = std::make_shared<Protocol>();
  if (processGroup) // first what may fail on one rank alone
    together([&] { loadKernels(*protocol, kernel); });
  protocol->arena = symmetricMemory(uint64_t(plan.arena.sizeBytes), "collective arena", Caching::Uncached);
  if (plan.arena.stagingBytes)
    protocol->staging = symmetricMemory(uint64_t(plan.arena.stagingBytes), "collective staging", Caching::Normal);
  if (!processGroup)
    loadKernels(*protocol, kernel);
  // No rank may send before the inboxes of all are ready.
  together([&] {
    for (int rank : localRanks()) {
      writeGroups(protocol->groups[localIndex(rank)], groupsOf(*protocol, rank), rank);
      Stream &stream = *service[localIndex(rank)];
      if (plan.hasPackets() && plan.packets == PacketForm::Lamport)
        stream.fill(protocol->arena->address(rank) + uint64_t(plan.arena.inbox), 0xFF, uint64_t(plan.inboxBytes()));
      stream.synchronize();
    }
  });
  return protocol;
}

void Communicator::loadKernels(Protocol &protocol, const std::function<Package()> &kernel) const {
  Package package = kernel();
  for (const auto &device : devices) {
    protocol.kernels.push_back({device->loadModule(package)});
    protocol.groups.push_back(device->allocate(sizeof(CollectiveGroups), "collective group"));
  }
}

CollectiveGroups Communicator::groupsOf(const Protocol &protocol, int rank) const {
  size_t local = localIndex(rank);
  PeerGroup group{};
  group.rank = uint64_t(rank);
  group.worldSize = uint64_t(ranks());
  for (int peer = 0; peer < ranks(); ++peer)
    group.arena[peer] = protocol.arena->address(peer);
  group.abort = control->address(int(local)) + offsetof(Control, abort);
  group.limitNs = uint64_t(std::clamp(options.deadlineSeconds * 1e9, 1.0, double(maxLimitNs)));
  group.error = control->address(int(local)) + offsetof(Control, error);
  CollectiveGroups both{group, group, {}};
  for (int peer = 0; peer < ranks(); ++peer)
    both.staging.arena[peer] = protocol.stagingOrArena().address(peer);
  return both;
}

void Communicator::writeGroups(const Buffer &into, const CollectiveGroups &groups, int rank) const {
  Stream &stream = *service[localIndex(rank)];
  stream.copyToDevice(into.address(), &groups, sizeof groups);
  stream.synchronize();
}

std::vector<Buffer> Communicator::describeWindows(const Protocol &protocol, const OperandWindows &given) const {
  std::vector<Buffer> all;
  const Window *both[] = {given.input, given.output};
  for (int rank : localRanks()) {
    CollectiveGroups groups = groupsOf(protocol, rank);
    for (size_t operand : {0, 1})
      for (int peer = 0; peer < ranks(); ++peer)
        groups.shift[operand][peer] = both[operand]->shifts[size_t(peer)];
    all.push_back(device(rank)->allocate(sizeof groups, "collective group"));
    writeGroups(all.back(), groups, rank);
  }
  return all;
}

//===-- Launching ------------------------------------------------------------------------------------------------===//

Error Communicator::differenceError(const Operation &mine, const Operation *theirs, uint64_t number, int rank,
                                    const std::string &who) const {
  auto keyOf = [](const Operation &each) { return each.key.empty() ? planKey(each.plan()) : each.key; };
  std::vector<std::string> notes = {"every rank of a group launches the same operations in the same order",
                                    "plan of this rank: " + keyOf(mine)};
  std::string other = "something that this rank has not prepared";
  if (theirs) {
    other = fmt::format("`{}` ({})", theirs->name(), theirs->plan().algorithm->name);
    notes.push_back("plan of the other: " + keyOf(*theirs));
  }
  return inputError(fmt::format("launch {} of rank {} is `{}` ({}), but {} launched {} there", number, numberOf(rank),
                                mine.name(), mine.plan().algorithm->name, who, other),
                    notes);
}

static Error failedBefore() {
  return environmentError("the group has failed before: it runs nothing any more",
                          {"make a new group; the first error, or who aborted it, says what happened"});
}

/// Of waits that failed: the first comes first.
static Error waitError(std::vector<std::string> reports) {
  std::string message = reports.front();
  reports.erase(reports.begin());
  reports.push_back(
      "every rank of a group launches each collective within the deadline; the group has failed for good");
  return environmentError(message, reports);
}

void Communicator::checkOrder(const Operation &operation, int rank) {
  if (ring && ring->failedRank() >= 0)
    processGroup->neighbours().waitForFailure(0.5); // its page is faster than its message, which says why
  std::lock_guard lock(mutex);
  if (processGroup)
    checkProcesses(operation, launched[0] + 1);
  if (failed)
    throw failedBefore();
  size_t number = launched[localIndex(rank)]++;
  if (number == forgotten + order.size())
    order.push_back(&operation);
  // What all ranks have launched is kept a while for messages about it.
  size_t common = *std::min_element(launched.begin(), launched.end());
  for (; order.size() > rememberedLaunches && forgotten + 1 < common; ++forgotten)
    order.pop_front();
  if (order[number - forgotten] != &operation)
    throw differenceError(operation, order[number - forgotten], number + 1, rank, "another rank");
}

void Communicator::launch(Operation &operation, int rank, const std::vector<LaunchArgument> &operands) {
  launchInto(operation, rank, operands, nullptr, std::nullopt);
}

void Communicator::launch(Operation &operation, int rank, const std::vector<LaunchArgument> &operands, Stream &stream,
                          std::optional<uint64_t> capture) {
  launchInto(operation, rank, operands, &stream, capture);
}

/// Null: the rank's own stream.
void Communicator::launchInto(Operation &operation, int rank, const std::vector<LaunchArgument> &operands,
                              Stream *stream, std::optional<uint64_t> capture) {
  size_t local = localIndex(rank);
  if (operation.group != this)
    throw inputError(fmt::format("`{}` was prepared by another group", operation.name()),
                     {"a group launches what its own `prepare` has returned"});
  try {
    if (operation.windows.areGiven())
      checkOperands(operation, rank, operands);
    checkOrder(operation, rank);
    if (!operation.protocol)
      return;
    Stream &into = stream ? *stream : *streams[local];
    if (!stream && !latest[local].isTracked)
      return start(operation, rank, operands, into);
    Target target(into, capture);
    waitForLatest(local, target);
    start(operation, rank, operands, into);
    markLatest(local, target);
  } catch (const Error &error) { // the other ranks would wait for what does not come
    abort(error.what());
    throw;
  }
}

void Communicator::follow(int rank, Stream &stream) {
  Target target(stream);
  if (!target.capture)
    waitForLatest(localIndex(rank), target);
}

void Communicator::mark(int rank, Stream &stream) {
  size_t local = localIndex(rank);
  if (!latest[local].isTracked)
    return;
  if (Target target(stream); !target.capture)
    markLatest(local, target);
}

void Communicator::waitForLatest(size_t local, const Target &target) {
  Latest &before = latest[local];
  if (!before.isTracked) { // all so far went into the rank's own stream
    before.event = devices[local]->createEvent();
    before.capturedEvent = devices[local]->createEvent();
    before.graphEvent = devices[local]->createEvent();
    streams[local]->record(before.event);
    streams[local]->record(before.graphEvent);
    before.isTracked = true;
  }
  // A stream comes after what was recorded in itself. Equal handles do not say that: that of a destroyed stream comes
  // again, and one means another stream on each thread.
  if (!target.capture && (!target.id || target.id != before.stream))
    target.stream.wait(before.event);
  else if (target.capture && before.capture == target.capture)
    target.stream.wait(before.capturedEvent);
  else if (target.capture) // the graphs share protocol memory
    target.stream.waitAcrossGraphs(before.graphEvent);
}

/// An event of its own, not one that is recorded when it is needed: by then the stream may be gone.
void Communicator::markLatest(size_t local, const Target &target) {
  Latest &now = latest[local];
  target.stream.record(target.capture ? now.capturedEvent : now.event);
  if (!target.capture) {
    now.stream = target.id;
    return;
  }
  now.capture = target.capture;
  target.stream.recordAcrossGraphs(now.graphEvent);
}

/// The first error of the streams, or null. Work on the streams of callers has run; its errors are theirs.
std::exception_ptr Communicator::waitForStreams() const {
  std::exception_ptr error = synchronizeAll(streams);
  for (const Latest &each : latest)
    try {
      if (each.isTracked)
        each.event->synchronize();
    } catch (...) {
      error = error ? error : std::current_exception();
    }
  return error;
}

/// Of this rank's work that was launched, not of graphs.
bool Communicator::isIdleWithin(double seconds) {
  std::vector<std::shared_ptr<Event>> events;
  for (size_t local = 0; local < devices.size(); ++local) {
    events.push_back(devices[local]->createEvent());
    streams[local]->record(events.back());
    if (latest[local].isTracked)
      events.push_back(latest[local].event);
  }
  Deadline deadline(seconds);
  auto isReached = [](const std::shared_ptr<Event> &event) { return event->query(); };
  while (!std::all_of(events.begin(), events.end(), isReached)) {
    if (deadline.passed())
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

void Communicator::start(Operation &operation, int rank, const std::vector<LaunchArgument> &operands, Stream &stream) {
  const Protocol &protocol = *operation.protocol;
  const Plan &plan = operation.plan();
  Launch launch;
  size_t local = localIndex(rank);
  launch.kernel = protocol.kernels[local];
  launch.grid = {plan.blocks, 1, 1};
  launch.cooperative = true;
  // The kernel's own deadline comes first, and says more.
  launch.timeoutSeconds = std::min(options.deadlineSeconds + 3600, maxDeadlineSeconds);
  uint64_t tag = 0;
  {
    std::lock_guard lock(mutex);
    tag = launched[local];
  }
  const Buffer &group = (operation.groups.empty() ? protocol.groups : operation.groups)[local];
  launch.arguments = {group,
                      DeviceAddress(protocol.arena->address(rank)),
                      DeviceAddress(group.address() + offsetof(CollectiveGroups, staging)),
                      DeviceAddress(protocol.stagingOrArena().address(rank)),
                      ScalarBits{uint64_t(rank)},
                      ScalarBits{tag},
                      ScalarBits{uint64_t(plan.collective.outer)},
                      ScalarBits{uint64_t(plan.collective.inner)}};
  launch.arguments.insert(launch.arguments.end(), operands.begin(), operands.end());
  stream.launch(launch);
}

//===-- Errors ---------------------------------------------------------------------------------------------------===//

void Communicator::abort() {
  abort("it was asked to");
}

void Communicator::abort(const std::string &reason) {
  endLocalWaits();
  if (processGroup)
    processGroup->neighbours().abort(reason);
}

void Communicator::endLocalWaits() {
  {
    std::lock_guard lock(mutex);
    failed = true; // the word stays set: a launch from now on would end at its first wait that is not over at once
  }
  uint32_t one = 1;
  for (size_t local = 0; local < devices.size(); ++local) {
    Stream &stream = *service[local];
    stream.copyToDevice(control->address(int(local)) + offsetof(Control, abort), &one, sizeof one);
    stream.synchronize();
  }
}

int Communicator::numberOf(int rank) const {
  return processGroup ? processGroup->neighbours().numberOf(rank) : rank;
}

uint64_t Communicator::errorAddress(int rank) const {
  return control->address(int(localIndex(rank))) + offsetof(Control, error);
}

std::string Communicator::failureReport(int rank) {
  Control seen{};
  size_t local = localIndex(rank);
  Stream &stream = *service[local];
  stream.copyToHost(&seen, control->address(int(local)), sizeof seen);
  stream.synchronize();
  const PeerError &error = seen.error;
  if (PeerErrorState(error.state) != PeerErrorState::Written)
    return "";
  std::string name = "a collective";
  {
    std::lock_guard lock(mutex);
    if (error.tag > forgotten && error.tag <= forgotten + order.size())
      name = "`" + order[error.tag - 1 - forgotten]->name() + "`";
  }
  bool isRank = error.peer < uint32_t(ranks());
  const char *why = PeerErrorReason(error.reason) == PeerErrorReason::Abort ? "was aborted while waiting" : "waited";
  return fmt::format("{}, launch {}: rank {} ({}) {} {:.3g} s for rank {} ({}), block {}: expected epoch {}, saw {}",
                     name, error.tag, numberOf(rank), deviceName(rank), why, double(error.elapsedNs) * 1e-9,
                     isRank ? numberOf(int(error.peer)) : int(error.peer), isRank ? deviceName(int(error.peer)) : "?",
                     error.block, error.expected, error.seen);
}

void Communicator::synchronize() {
  check(waitForStreams());
}

std::optional<Error> Communicator::failure() {
  std::optional<Error> waited = waitFailure();
  return waited ? waited : errorOfOthers();
}

std::optional<Error> Communicator::waitFailure() {
  std::shared_ptr<void> allowed = devices.front()->allowInCaptures();
  std::vector<std::string> reports = failureReports();
  if (reports.empty())
    return std::nullopt;
  {
    std::lock_guard lock(mutex);
    failed = true;
  }
  if (processGroup)
    tellProcesses(nullptr, reports);
  return waitError(std::move(reports));
}

std::vector<std::string> Communicator::failureReports() {
  std::vector<std::string> reports;
  for (int rank : localRanks())
    if (std::string report = failureReport(rank); !report.empty())
      reports.push_back(report);
  return reports;
}

void Communicator::check(std::exception_ptr streamError) {
  std::vector<std::string> reports = failureReports();
  if (reports.empty() && !streamError)
    return;
  {
    std::lock_guard lock(mutex);
    failed = true; // first, so that no rank joins that would not be waited for
  }
  // Other ranks may still be at work, perhaps in the memory of this one: the caller is told when none is.
  (void)waitForStreams();
  reports = failureReports();
  if (processGroup)
    tellProcesses(streamError, reports);
  if (!streamError)
    throw waitError(std::move(reports));
  // The work itself failed on some rank: that comes first, and what the others waited for is its consequence.
  try {
    std::rethrow_exception(streamError);
  } catch (const Error &error) {
    std::vector<std::string> notes = error.notes;
    notes.insert(notes.end(), reports.begin(), reports.end());
    throw Error(error.kind, error.what(), notes);
  }
}

} // namespace heddle
