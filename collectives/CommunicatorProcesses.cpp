// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The part of a communicator that is for ranks in processes of their own: steps that all take together, what the others
// launch, and what happens when one of them fails or leaves.
#include "collectives/Communicator.h"
#include "runtime/ProcessGroup.h"
#include "runtime/SymmetricMemory.h"
#include "runtime/processes/LaunchRing.h"
#include <fmt/format.h>

namespace heddle {

std::unique_ptr<SymmetricMemory> Communicator::symmetricMemory(uint64_t sizeBytes, const char *name,
                                                               Caching caching) const {
  bool isShared = processGroup && ranks() > 1;
  return isShared ? std::make_unique<SymmetricMemory>(*processGroup, sizeBytes, name, caching)
                  : std::make_unique<SymmetricMemory>(devices, sizeBytes, name, caching);
}

/// Processes go on when all have done it, or throw when one could not.
void Communicator::together(const std::function<void()> &work) const {
  if (!processGroup)
    return work();
  processGroup->agree([&] {
    work();
    return "";
  });
}

/// What processes prepare must be the same. All see the same keys, and so throw the same error.
void Communicator::agreeOn(const Plan &plan, const std::string &key, const OperandWindows &given) const {
  auto check = [&] {
    checkRanks(plan);
    if (given.areGiven())
      checkWindows(given);
  };
  if (!processGroup)
    return check();
  std::vector<std::string> keys = processGroup->agree([&] {
    check();
    if (plan.algorithm->direct && !(plan.windows && given.areGiven()))
      throw inputError(
          fmt::format("`{}` reaches into the operands of other ranks where they lie, and these are in other "
                      "processes",
                      plan.algorithm->name),
          {"operands in windows are reached: Communicator::registerWindow, `heddle bench --registered`",
           "or plan without `direct`, or name another algorithm"});
    return key;
  });
  for (int rank = 1; rank < ranks(); ++rank)
    if (keys[size_t(rank)] != keys[0])
      throw inputError(
          fmt::format("{} prepares something else than {}", processGroup->describe(rank), processGroup->describe(0)),
          {"the ranks of a group prepare the same collectives in the same order",
           fmt::format("plan of rank 0: {}", keys[0]), fmt::format("plan of rank {}: {}", rank, keys[size_t(rank)])});
}

/// The same of what processes do with windows.
void Communicator::agreeOnStep(const std::string &step, const std::function<void()> &check) const {
  std::vector<std::string> steps = processGroup->agree([&] {
    check();
    return step;
  });
  for (int rank = 1; rank < ranks(); ++rank)
    if (steps[size_t(rank)] != steps[0])
      throw inputError(fmt::format("{} asks for {}, {} for {}", processGroup->describe(rank), steps[size_t(rank)],
                                   processGroup->describe(0), steps[0]),
                       {"the ranks of a group register and deregister the same windows in the same order"});
}

/// When a rank has left before its launch `number`.
std::optional<Error> Communicator::leftError(uint64_t number) const {
  for (int rank = 0; rank < ranks(); ++rank)
    if (processGroup->neighbours().hasLeft(rank) && ring->countOf(rank) < number)
      return environmentError(
          fmt::format("{} has left the group after {} launches", processGroup->describe(rank), ring->countOf(rank)));
  return std::nullopt;
}

/// A group that another rank has ended, for a reason that it gave.
std::optional<Error> Communicator::errorOfOthers() const {
  auto failure = processGroup ? processGroup->neighbours().failure() : std::nullopt;
  if (!failure || failure->kind == GroupFailure::Kind::Gone || failure->rank == firstRank)
    return std::nullopt;
  return processGroup->neighbours().failureError();
}

std::optional<Error> Communicator::groupError() const {
  if (!processGroup)
    return std::nullopt;
  auto error = processGroup->neighbours().failureError();
  return error ? error : leftError(UINT64_MAX);
}

void Communicator::leave() {
  if (!processGroup || processGroup->neighbours().failure())
    return;
  bool isIdle = true;
  try {
    isIdle = isIdleWithin(2);
  } catch (const Error &) { // the device may be gone already
  }
  if (!isIdle)
    return abort("it left the group while work of its was not done");
  {
    std::lock_guard lock(mutex);
    failed = true;
  }
  processGroup->neighbours().leave();
}

/// Called with the mutex held, before launch `number` of this process counts.
void Communicator::checkProcesses(const Operation &operation, uint64_t number) {
  Neighbours &neighbours = processGroup->neighbours();
  if (othersChanged || ring->failedRank() >= 0) {
    if (auto error = neighbours.failureError())
      throw *error;
    if (auto error = leftError(number))
      throw *error;
    if (int rank = ring->failedRank(); rank >= 0)
      throw environmentError(processGroup->describe(rank) + " has ended the group",
                             {"make a new group; the first error on that rank says what happened"});
  }
  if (failed) // others count what is recorded
    return;
  ring->record(number, operation.hash);
  auto difference = ring->differenceAt(number, operation.hash);
  if (!difference)
    return;
  const Operation *theirs = nullptr;
  for (const auto &known : operations)
    if (known->hash == difference->hash)
      theirs = known.get();
  throw differenceError(operation, theirs, number, firstRank, processGroup->describe(difference->rank));
}

/// On a thread of the processes' own, so that it happens whatever the program waits for.
void Communicator::processesChanged() {
  Neighbours &neighbours = processGroup->neighbours();
  othersChanged = true;
  bool ends = neighbours.failure().has_value();
  if (!ends) {
    std::lock_guard lock(mutex);
    for (int rank = 0; rank < ranks(); ++rank)
      ends |= neighbours.hasLeft(rank) && ring->countOf(rank) < launched[0];
  }
  if (!ends)
    return;
  ring->fail();
  try {
    endLocalWaits();
  } catch (const std::exception &) { // the waits end at their deadlines
  }
}

/// What ended this rank's work ends that of the others, unless they were first: then their reason comes first here.
void Communicator::tellProcesses(const std::exception_ptr &streamError, std::vector<std::string> &reports) {
  std::string reason = "work of the stream failed";
  if (!reports.empty())
    reason = reports.front();
  try {
    if (streamError)
      std::rethrow_exception(streamError);
  } catch (const std::exception &error) {
    reason = error.what();
  }
  uint64_t number = 0;
  {
    std::lock_guard lock(mutex);
    number = launched[0];
  }
  if (auto left = leftError(number)) {
    reports.insert(reports.begin(), left->what());
    reason = reports.front();
  } else if (std::string silent = processGroup->neighbours().describeSilent(); !silent.empty()) {
    reason += "; " + silent; // the rank that was waited for may have waited for that one
    if (!reports.empty())
      reports.front() = reason;
  }
  abort(reason);
  ring->fail();
  auto failure = processGroup->neighbours().failure();
  if (failure && failure->rank != firstRank)
    reports.insert(reports.begin(), processGroup->neighbours().failureError()->what());
}

} // namespace heddle
