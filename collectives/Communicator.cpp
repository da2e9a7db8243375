// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collectives/Communicator.h"
#include "binary/PeerAbi.h"
#include "collectives/kernel/CompileKernel.h"
#include "runtime/Device.h"
#include "runtime/Stream.h"
#include "runtime/SymmetricMemory.h"
#include "support/Error.h"
#include <algorithm>
#include <cstddef>
#include <fmt/format.h>

namespace heddle {

/// What the runtime keeps in each rank's device memory for all operations.
struct Communicator::Control {
  uint32_t abort;
  uint32_t unused;
  PeerError error;
};

Communicator::Communicator(std::vector<std::shared_ptr<Device>> members, Options options)
    : Communicator(std::move(members), {}, options) {}

Communicator::Communicator(std::vector<std::shared_ptr<Device>> members, std::vector<Stream *> given, Options options)
    : devices(std::move(members)), streams(std::move(given)), options(options), launched(devices.size()) {
  if (devices.empty() || devices.size() > size_t(maxWorldSize))
    throw inputError(fmt::format("a group of {} devices: it has 1 to {}", devices.size(), maxWorldSize));
  if (!streams.empty() && streams.size() != devices.size())
    throw inputError(fmt::format("{} streams for a group of {} devices: each has one", streams.size(), devices.size()));
  if (!(options.deadlineSeconds > 0) || options.deadlineSeconds > maxDeadlineSeconds)
    throw inputError(
        fmt::format("a deadline of {} s: it is above 0 and at most {} s", options.deadlineSeconds, maxDeadlineSeconds));
  if (streams.empty())
    for (const auto &device : devices) {
      owned.push_back(device->createStream());
      streams.push_back(owned.back().get());
    }
  for (const auto &device : devices)
    service.push_back(device->createStream());
  control = std::make_unique<SymmetricMemory>(devices, sizeof(Control), "collective control");
}

Communicator::~Communicator() {
  try {
    abort();
  } catch (const std::exception &) { // the group ends either way
  }
  (void)synchronizeAll(streams); // the memory goes next
}

//===-- Operations -----------------------------------------------------------------------------------------------===//

/// Kernels and memory of one protocolKey. Launches of several operations may share it: they run in the order of the
/// streams, and a round does not care how large the call is that it belongs to.
struct Communicator::Protocol {
  std::string key;
  std::vector<Kernel> kernels;              ///< by rank
  std::unique_ptr<SymmetricMemory> arena;   ///< Plan::arena
  std::unique_ptr<SymmetricMemory> staging; ///< null when the algorithm stages nothing
  std::vector<Buffer> groups;               ///< two PeerGroups by rank: of arena and staging

  const SymmetricMemory &stagingOrArena() const { return staging ? *staging : *arena; }
};

// Flags tell rounds apart by 32 bits, so a slot must not go unwritten while others count on: calls of different sizes
// share the memory of such packets with none but their like. A slot without flags waits as it is for whoever comes.
static std::string protocolKey(const Plan &plan) {
  return plan.hasPackets() && plan.packets == PacketForm::LL ? planKey(plan) : kernelKey(plan);
}

void Communicator::checkRanks(const Plan &plan) const {
  if (plan.collective.ranks != ranks())
    throw inputError(fmt::format("a plan for {} ranks in a group of {}", plan.collective.ranks, ranks()));
}

Communicator::Operation &Communicator::prepare(const Plan &plan, const std::string &name) {
  checkRanks(plan);
  std::lock_guard one(preparing); // or threads that ask for equal plans at once would get different operations
  std::string key = planKey(plan) + name;
  std::shared_ptr<Protocol> protocol;
  {
    std::lock_guard lock(mutex);
    for (const auto &known : operations) {
      if (known->key == key)
        return *known;
      if (known->protocol && known->protocol->key == protocolKey(plan))
        protocol = known->protocol;
    }
  }
  if (!protocol && plan.rounds != 0) {
    protocol = makeProtocol(plan, compileKernel(plan));
    protocol->key = protocolKey(plan);
  }
  Operation &made = add(plan, name.empty() ? describe(plan.collective) : name, std::move(protocol));
  made.key = key;
  return made;
}

Communicator::Operation &Communicator::prepare(const Plan &plan, const Package &kernel, const std::string &name) {
  checkRanks(plan);
  return add(plan, name, plan.rounds == 0 ? nullptr : makeProtocol(plan, kernel));
}

Communicator::Operation &Communicator::add(const Plan &plan, const std::string &name,
                                           std::shared_ptr<Protocol> protocol) {
  auto operation = std::make_unique<Operation>();
  operation->group = this;
  operation->thePlan = plan;
  operation->theName = name;
  operation->protocol = std::move(protocol);
  std::lock_guard lock(mutex);
  operations.push_back(std::move(operation));
  return *operations.back();
}

// Everything that waits or allocates happens here, so that a launch does nothing but launch.
std::shared_ptr<Communicator::Protocol> Communicator::makeProtocol(const Plan &plan, const Package &kernel) {
  auto protocol = std::make_shared<Protocol>();
  protocol->arena = std::make_unique<SymmetricMemory>(devices, uint64_t(plan.arena.sizeBytes), "collective arena");
  if (plan.arena.stagingBytes)
    protocol->staging = std::make_unique<SymmetricMemory>(devices, uint64_t(plan.arena.stagingBytes),
                                                          "collective staging", Caching::Normal);
  for (int rank = 0; rank < ranks(); ++rank) {
    Device &device = *devices[size_t(rank)];
    protocol->kernels.push_back({device.loadModule(kernel)});
    protocol->groups.push_back(device.allocate(2 * sizeof(PeerGroup), "collective group"));
    PeerGroup group{};
    group.rank = uint64_t(rank);
    group.worldSize = uint64_t(ranks());
    for (int peer = 0; peer < ranks(); ++peer)
      group.arena[peer] = protocol->arena->address(peer);
    group.abort = control->address(rank) + offsetof(Control, abort);
    group.limitNs = uint64_t(std::clamp(options.deadlineSeconds * 1e9, 1.0, double(maxLimitNs)));
    group.error = control->address(rank) + offsetof(Control, error);
    PeerGroup both[] = {group, group};
    for (int peer = 0; peer < ranks(); ++peer)
      both[1].arena[peer] = protocol->stagingOrArena().address(peer);
    Stream &stream = *service[size_t(rank)];
    stream.copyToDevice(protocol->groups.back(), both);
    if (plan.hasPackets() && plan.packets == PacketForm::Lamport)
      stream.fill(protocol->arena->address(rank) + uint64_t(plan.arena.inbox), 0xFF, uint64_t(plan.inboxBytes()));
    stream.synchronize();
  }
  return protocol;
}

//===-- Launching ------------------------------------------------------------------------------------------------===//

void Communicator::checkOrder(const Operation &operation, int rank) {
  std::lock_guard lock(mutex);
  if (failed)
    throw environmentError("the group has failed before: it runs nothing any more",
                           {"make a new group; the first error, or who aborted it, says what happened"});
  size_t number = launched[size_t(rank)]++;
  if (number == forgotten + order.size())
    order.push_back(&operation);
  // What all ranks have launched is kept a while for messages about it.
  size_t common = *std::min_element(launched.begin(), launched.end());
  for (; order.size() > rememberedLaunches && forgotten + 1 < common; ++forgotten)
    order.pop_front();
  if (order[number - forgotten] == &operation)
    return;
  const Operation &first = *order[number - forgotten];
  throw inputError(fmt::format("launch {} of rank {} is `{}` ({}), but another rank launched `{}` ({}) there",
                               number + 1, rank, operation.name(), operation.plan().algorithm->name, first.name(),
                               first.plan().algorithm->name),
                   {"every rank of a group launches the same operations in the same order",
                    "plan of this rank: " + planKey(operation.plan()), "plan of the other: " + planKey(first.plan())});
}

void Communicator::launch(Operation &operation, int rank, const std::vector<LaunchArgument> &operands) {
  if (rank < 0 || rank >= ranks())
    throw inputError(fmt::format("rank {} of a group of {}: ranks are 0 to {}", rank, ranks(), ranks() - 1));
  if (operation.group != this)
    throw inputError(fmt::format("`{}` was prepared by another group", operation.name()),
                     {"a group launches what its own `prepare` has returned"});
  try {
    checkOrder(operation, rank);
    if (operation.protocol)
      start(operation, rank, operands);
  } catch (const Error &) { // the other ranks would wait for what does not come
    abort();
    throw;
  }
}

void Communicator::start(Operation &operation, int rank, const std::vector<LaunchArgument> &operands) {
  const Protocol &protocol = *operation.protocol;
  const Plan &plan = operation.plan();
  Launch launch;
  launch.kernel = protocol.kernels[size_t(rank)];
  launch.grid = {plan.blocks, 1, 1};
  launch.cooperative = true;
  // The kernel's own deadline comes first, and says more.
  launch.timeoutSeconds = std::min(options.deadlineSeconds + 3600, maxDeadlineSeconds);
  uint64_t tag = 0;
  {
    std::lock_guard lock(mutex);
    tag = launched[size_t(rank)];
  }
  const Buffer &group = protocol.groups[size_t(rank)];
  launch.arguments = {group,
                      DeviceAddress(protocol.arena->address(rank)),
                      DeviceAddress(group.address() + sizeof(PeerGroup)),
                      DeviceAddress(protocol.stagingOrArena().address(rank)),
                      ScalarBits{uint64_t(rank)},
                      ScalarBits{tag},
                      ScalarBits{uint64_t(plan.collective.outer)},
                      ScalarBits{uint64_t(plan.collective.inner)}};
  launch.arguments.insert(launch.arguments.end(), operands.begin(), operands.end());
  streams[size_t(rank)]->launch(launch);
}

//===-- Errors ---------------------------------------------------------------------------------------------------===//

void Communicator::abort() {
  {
    std::lock_guard lock(mutex);
    failed = true; // the word stays set: a launch from now on would end at its first wait that is not over at once
  }
  uint32_t one = 1;
  for (int rank = 0; rank < ranks(); ++rank) {
    Stream &stream = *service[size_t(rank)];
    stream.copyToDevice(control->address(rank) + offsetof(Control, abort), &one, sizeof one);
    stream.synchronize();
  }
}

std::string Communicator::failureReport(int rank) {
  Control seen{};
  Stream &stream = *service[size_t(rank)];
  stream.copyToHost(&seen, control->address(rank), sizeof seen);
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
  const char *why = PeerErrorReason(error.reason) == PeerErrorReason::Abort ? "was aborted while waiting" : "waited";
  return fmt::format("{}, launch {}: rank {} ({}) {} {:.3g} s for rank {} ({}), block {}: expected epoch {}, saw {}",
                     name, error.tag, rank, devices[size_t(rank)]->name(), why, double(error.elapsedNs) * 1e-9,
                     error.peer, error.peer < devices.size() ? devices[error.peer]->name() : "?", error.block,
                     error.expected, error.seen);
}

void Communicator::synchronize() {
  check(synchronizeAll(streams));
}

std::vector<std::string> Communicator::failureReports() {
  std::vector<std::string> reports;
  for (int rank = 0; rank < ranks(); ++rank)
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
    failed = true; // first, so that nobody joins who would not be waited for
  }
  // Other ranks may still be at work, perhaps in the memory of this one: the caller is told when nobody is.
  (void)synchronizeAll(streams);
  reports = failureReports();
  if (!streamError) {
    std::string message = reports.front();
    reports.erase(reports.begin());
    reports.push_back(
        "every rank of a group launches each collective within the deadline; the group has failed for good");
    throw environmentError(message, reports);
  }
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
