// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels are left by _longjmp, so the hooks only note why; errors are made afterwards, outside the kernel.
#include "runtime/drivers/host/HostExecution.h"
#include "runtime/LaunchReport.h"
#include "runtime/Print.h"
#include "support/ElementType.h"
#include "support/SystemMemory.h"
#include <algorithm>
#include <csignal>
#include <fmt/format.h>

namespace heddle {
namespace {

constexpr int64_t largestClaim = 256; ///< so that launches of other streams get their turn

HostInstance &instanceOf(const HostProgram *program) {
  return *const_cast<HostInstance *>(static_cast<const HostInstance *>(program));
}

[[noreturn]] void leaveKernel(HostInstance &instance, LeaveReason reason, int32_t site) {
  instance.inKernel = false;
  instance.reason = reason;
  instance.site = site;
  _longjmp(instance.leave, 1);
}

std::array<int32_t, 3> idOf(const HostInstance &instance) {
  return {instance.id[0], instance.id[1], instance.id[2]};
}

std::string instanceNote(const HostInstance &instance) {
  return programNote(idOf(instance));
}

const char *verbOf(const std::string &operation) {
  if (operation.find("store") != std::string::npos)
    return "writes";
  return operation.find("atomic") != std::string::npos ? "updates" : "reads";
}

} // namespace

HostExecution::HostExecution(const Launch &launch, std::shared_ptr<HostModule> theModule,
                             std::shared_ptr<HostMemory::Ticket> ticket, std::shared_ptr<const HostMap> buffers,
                             int slotCount)
    : module(std::move(theModule)), ticket(std::move(ticket)), buffers(std::move(buffers)),
      arguments(argumentSlots(launch)), instanceCount(launch.grid[0] * launch.grid[1] * launch.grid[2]),
      cooperative(launch.cooperative), slots(size_t(slotCount)) {
  if (cooperative) // all live from the start, whenever the system gives each its first moment
    for (size_t i = 0; i < slots.size(); ++i)
      slots[i].running.store(int64_t(i), std::memory_order_relaxed);
  for (int d = 0; d < 3; ++d)
    shared.grid[d] = int32_t(launch.grid[size_t(d)]);
  shared.abiVersion = hostAbiVersion;
  static_assert(sizeof abortFlag == sizeof *shared.abort && std::atomic<uint32_t>::is_always_lock_free);
  shared.abort = reinterpret_cast<const uint32_t *>(&abortFlag);
  shared.stopped = stoppedHook;
  shared.assertFailed = assertHook;
  shared.print = printHook;
  shared.checkAccess = accessHook;
  shared.owner = this;
}

bool HostExecution::claim(int64_t &first, int64_t &last) {
  first = next.load(std::memory_order_relaxed);
  do {
    if (first >= instanceCount || stopping())
      return false;
    int64_t share = (instanceCount - first) / (4 * int64_t(slots.size()));
    last = first + std::clamp<int64_t>(share, 1, largestClaim);
  } while (!next.compare_exchange_weak(first, last, std::memory_order_relaxed));
  return true;
}

void HostExecution::run(HostThread &thread, int slotIndex, int64_t first, int64_t last) {
  HostInstance &instance = thread.instance;
  instance.launch = &shared;
  instance.execution = this;
  instance.lastAllocation = nullptr;
  instance.reason = LeaveReason::None;
  instance.scratch = thread.scratch(package().scratchBytes);
  if (!instance.scratch)
    return fail(
        environmentError(fmt::format("kernel `{}`: out of memory: an instance needs {} bytes of scratch, {} are "
                                     "available",
                                     package().kernel, package().scratchBytes, availableMemoryBytes())));
  Slot &slot = slots[size_t(slotIndex)];
  setFaultTarget(&instance);
  runInstances(instance, slot, first, last);
  setFaultTarget(nullptr);
  slot.running.store(-1, std::memory_order_relaxed);
  if (instance.reason != LeaveReason::None)
    reportLeft(instance);
}

/// The frame that a kernel is left for: no object in it may need a destructor, and nothing changed after _setjmp is
/// read after the jump but members of `instance`.
void HostExecution::runInstances(HostInstance &instance, Slot &slot, int64_t first, int64_t last) {
  if (_setjmp(instance.leave) != 0)
    return;
  const HostEntry entry = module->entry();
  const uint64_t *slotsOfArguments = arguments.data();
  auto at = position(first);
  for (int d = 0; d < 3; ++d)
    instance.id[d] = int32_t(at[size_t(d)]);
  int64_t finished = slot.finished.load(std::memory_order_relaxed);
  instance.inKernel = true;
  for (int64_t linear = first; linear < last && !stopping(); ++linear) {
    slot.running.store(linear, std::memory_order_relaxed);
    entry(&instance, slotsOfArguments);
    slot.finished.store(++finished, std::memory_order_relaxed);
    if (++instance.id[0] == shared.grid[0]) {
      instance.id[0] = 0;
      if (++instance.id[1] == shared.grid[1]) {
        instance.id[1] = 0;
        ++instance.id[2];
      }
    }
  }
  instance.inKernel = false;
}

void HostExecution::stoppedHook(const HostProgram *program, int32_t site) {
  leaveKernel(instanceOf(program), LeaveReason::Stopped, site);
}

void HostExecution::assertHook(const HostProgram *program, int32_t site, int64_t element) {
  HostInstance &instance = instanceOf(program);
  instance.element = element;
  leaveKernel(instance, LeaveReason::AssertFailed, site);
}

void HostExecution::printHook(const HostProgram *program, int32_t site, int32_t operand, const void *data) {
  HostInstance &instance = instanceOf(program);
  instance.inKernel = false;
  try {
    instance.execution->print(instance, site, operand, data);
  } catch (const std::exception &) { // of the sink, or for lack of memory; a kernel's frames cannot be unwound
  }
  instance.inKernel = true;
}

void HostExecution::accessHook(const HostProgram *program, int32_t site, uint64_t address, int32_t sizeBytes,
                               int64_t element) {
  HostInstance &instance = instanceOf(program);
  if (instance.lastAllocation && instance.lastAllocation->holds(address, uint64_t(sizeBytes)))
    return;
  instance.inKernel = false;
  bool holds = instance.execution->accessHolds(instance, address, sizeBytes);
  instance.inKernel = true;
  if (holds)
    return;
  instance.address = address;
  instance.sizeBytes = sizeBytes;
  instance.element = element;
  leaveKernel(instance, LeaveReason::OutOfBounds, site);
}

bool HostExecution::accessHolds(HostInstance &instance, uint64_t address, int32_t sizeBytes) {
  if (const HostAllocation *found = findAllocation(*buffers, address, uint64_t(sizeBytes))) {
    instance.lastAllocation = found;
    return true;
  }
  // Perhaps allocated since the launch began, and handed over through memory.
  return findAllocation(*HostMemory::shared().snapshot(), address, uint64_t(sizeBytes)) != nullptr;
}

/// Lines beyond the limit are counted and not formatted.
void HostExecution::print(const HostInstance &instance, int32_t site, int32_t operand, const void *data) {
  int64_t lines = countPrintLines(siteAt(site), operand, data);
  int64_t left = printLineLimit - printedLines.fetch_add(lines, std::memory_order_relaxed);
  if (left <= 0)
    return;
  formatPrint(siteAt(site), operand, data, idOf(instance), [&](const std::string &line) {
    emitPrintLine(line);
    return --left > 0;
  });
}

void HostExecution::reportLeft(const HostInstance &instance) {
  switch (instance.reason) {
  case LeaveReason::None:
    return;
  case LeaveReason::Stopped: {
    std::lock_guard lock(mutex);
    std::string place = where(instance.site) + siteAt(instance.site).operation;
    bool known = std::find(waitingPlaces.begin(), waitingPlaces.end(), place) != waitingPlaces.end();
    if (timedOut && !known && waitingPlaces.size() < 4)
      waitingPlaces.push_back(place);
    return;
  }
  case LeaveReason::AssertFailed:
    return fail(assertError(instance));
  case LeaveReason::OutOfBounds:
    return fail(boundsError(instance));
  case LeaveReason::Fault:
    return fail(faultError(instance));
  }
}

Error HostExecution::assertError(const HostInstance &instance) const {
  return assertionError(package(), instance.site, idOf(instance), instance.element);
}

/// What an access missed: `buffer "x": index 1024 of 1000 elements` when the nearest buffer is an argument's.
std::string HostExecution::bufferText(const HostInstance &instance) const {
  const HostAllocation *nearest = nearestAllocation(*buffers, instance.address);
  for (size_t i = 0; nearest && i < arguments.size(); ++i) {
    const PackageArgument &argument = package().arguments[i];
    if (!argument.pointer || !nearest->holds(arguments[i], 0))
      continue;
    auto type = findElementType(argument.type);
    int64_t size = type ? elementSizeBytes(*type) : 8, offset = int64_t(instance.address - arguments[i]);
    int64_t index = offset >= 0 ? offset / size : -((-offset + size - 1) / size);
    int64_t count = int64_t(nearest->address + nearest->sizeBytes - arguments[i]) / size;
    return fmt::format("outside buffer \"{}\": index {} of {} elements", argument.name, index, count);
  }
  return fmt::format("outside every buffer, at address {:#x}", instance.address);
}

Error HostExecution::boundsError(const HostInstance &instance) const {
  const std::string &operation = siteAt(instance.site).operation;
  return inputError(
      fmt::format("{}{} {} {} bytes {}", where(instance.site), operation, verbOf(operation), instance.sizeBytes,
                  bufferText(instance)),
      {fmt::format("{}, element {}", instanceNote(instance), instance.element),
       fmt::format("address {:#x} is {}", instance.address, HostMemory::shared().describeAddress(instance.address))});
}

Error HostExecution::faultError(const HostInstance &instance) const {
  bool memoryFault = instance.faultSignal == SIGSEGV || instance.faultSignal == SIGBUS;
  std::string at;
  if (memoryFault && instance.addressKnown)
    at =
        fmt::format(" at address {:#x} ({})", instance.address, HostMemory::shared().describeAddress(instance.address));
  std::vector<std::string> notes = {instanceNote(instance)};
  if (memoryFault && !package().checked)
    notes.push_back("compile with bounds checks (--check) to find the line");
  return inputError(fmt::format("kernel `{}` crashed: {}{}", package().kernel, faultName(instance.faultSignal), at),
                    notes);
}

void HostExecution::fail(Error newError) {
  {
    std::lock_guard lock(mutex);
    if (!error)
      error = std::move(newError);
  }
  abortFlag.store(1, std::memory_order_relaxed);
}

void HostExecution::failByTimeout(double seconds) {
  constexpr size_t shown = 8;
  int64_t finished = 0, running = 0;
  std::string list;
  for (const Slot &slot : slots) {
    finished += slot.finished.load(std::memory_order_relaxed);
    int64_t linear = slot.running.load(std::memory_order_relaxed);
    if (linear < 0)
      continue;
    if (size_t(++running) <= shown) {
      auto [x, y, z] = position(linear);
      list += fmt::format("{}({}, {}, {})", list.empty() ? "" : ", ", x, y, z);
    }
  }
  if (size_t(running) > shown)
    list += fmt::format(" and {} more", running - int64_t(shown));
  std::vector<std::string> notes;
  if (running)
    notes.push_back("still running: program instances " + list);
  if (!cooperative && finished + running < instanceCount)
    notes.push_back(fmt::format("{} instances had not started; launch cooperatively if instances wait for each other",
                                instanceCount - finished - running));
  notes.push_back("if the kernel is only slow, raise HEDDLE_LAUNCH_TIMEOUT or the launch's own limit");
  {
    std::lock_guard lock(mutex);
    timedOut = true;
  }
  fail(inputError(fmt::format("kernel `{}` did not finish within {} s: {} of {} program instances finished",
                              package().kernel, seconds, finished, instanceCount),
                  std::move(notes)));
}

void HostExecution::noteAbandoned(double graceSeconds, int threads, const std::string &lack) {
  std::lock_guard lock(mutex);
  if (!error)
    return;
  error->kind = ErrorClass::Environment;
  if (!lack.empty())
    error->notes.push_back(lack);
  error->notes.push_back(
      fmt::format("it did not leave within {} s of being asked to: {} thread{} still run{} it, and the "
                  "memory it may use is kept until it ends",
                  graceSeconds, threads, threads == 1 ? "" : "s", threads == 1 ? "s" : ""));
}

void HostExecution::finish() {
  int64_t dropped = printedLines.load(std::memory_order_relaxed) - printLineLimit;
  if (dropped > 0)
    emitPrintLine(droppedLinesText(package().kernel, dropped));
  std::lock_guard lock(mutex);
  if (!error)
    return;
  for (const std::string &place : waitingPlaces)
    error->notes.push_back("it was waiting at " + place);
  Error thrown = std::move(*error);
  error.reset();
  throw thrown;
}

std::array<int64_t, 3> HostExecution::position(int64_t linear) const {
  int64_t x = shared.grid[0], y = shared.grid[1];
  return {linear % x, linear / x % y, linear / x / y};
}

const PackageSite &HostExecution::siteAt(int32_t site) const {
  return siteOf(package(), site);
}

std::string HostExecution::where(int32_t site) const {
  return placeText(package(), site);
}

} // namespace heddle
