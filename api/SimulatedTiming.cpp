// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Chooses what is timed, and scales the figures of one compute unit to the launch.
#include "api/SimulatedTiming.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle {
namespace {

using namespace simulator;

constexpr size_t mostEvents = 200'000, mostWaiting = 10;

void checkRequest(const SimulateRequest &request, const SimulationOptions &options) {
  if (options.checks.any())
    throw inputError("time is estimated in runs without checks", {"give `--time` or `--checks`"});
  if (request.transactions)
    throw inputError("time is estimated and transactions are counted in runs of their own",
                     {"give `--time` or `--transactions`"});
  if (request.devices > 1)
    throw inputError(fmt::format("time is estimated for one device, and the kernel runs on {}", request.devices),
                     {"give `--time` without `--devices`"});
}

} // namespace

KernelTiming::KernelTiming(const SimulatedKernel &kernel)
    : kernel(kernel), chip(*findSimulated(kernel.object.chip)),
      occupancy(occupancyOf(kernel.kernel, chip, kernel.geometry.itemsPerGroup(), kernel.geometry.dynamicLdsBytes)) {
  const SimulateRequest &request = kernel.request;
  checkRequest(request, kernel.options());
  if (request.traceGroups)
    events = std::make_unique<TraceEvents>(request.traceGroups, mostEvents);
  timing = std::make_unique<Timing>(
      chip, TimingOptions{.launchGroups = kernel.geometry.groupCount(),
                          .residentGroups = unsigned(std::max<int64_t>(occupancy.groupsPerUnit, 1)),
                          .groups = request.timeGroups,
                          .trace = events.get()});
}

/// The instructions for which SIMDs waited longest.
void KernelTiming::addWaiting(const TimingReport &report, uint64_t codeBase, SimulatedTiming &result) const {
  const std::vector<InstructionTime> &times = report.unit.instructions;
  std::vector<size_t> order;
  for (size_t index = 0; index < times.size(); ++index)
    if (times[index].waited() > 0)
      order.push_back(index);
  size_t count = std::min(order.size(), mostWaiting);
  std::partial_sort(order.begin(), order.begin() + ptrdiff_t(count), order.end(), [&](size_t a, size_t b) {
    uint64_t first = times[a].waited(), second = times[b].waited();
    return first != second ? first > second : a < b;
  });
  for (size_t place = 0; place < count; ++place) {
    const InstructionTime &time = times[order[place]];
    const Instruction &instruction = timing->instruction(order[place]).instruction;
    uint64_t pc = instruction.pc - codeBase;
    size_t most = size_t(std::max_element(time.waits.begin(), time.waits.end()) - time.waits.begin());
    result.waiting.push_back({.place = kernel.placeOf(pc),
                              .text = instruction.text,
                              .source = kernel.lineOf(pc),
                              .bound = nameOf(Bound(most)),
                              .executed = time.executed,
                              .share = double(time.waited()) / chip.unit.simds / double(report.unit.cycles)});
  }
}

SimulatedTiming KernelTiming::report(uint64_t codeBase) {
  TimingReport report = timing->report();
  const TimingModel &model = timingOf(chip);
  double simdCycles = double(std::max<uint64_t>(report.unit.cycles, 1)) * chip.unit.simds;
  // Where memory is slower than the compute units, these have less to do.
  double working = report.cycles > 0 ? report.unitCycles / report.cycles : 1;
  SimulatedTiming result;
  result.product = model.product;
  result.clockHz = model.clockHz;
  result.cycles = report.cycles;
  result.seconds = report.seconds;
  result.computeUnits = uint64_t(chip.computeUnits);
  result.activeUnits = report.activeUnits;
  result.unitGroups = report.unitGroups;
  result.timedGroups = report.timedGroups;
  result.residentGroups = report.residentGroups;
  result.occupancyLimit = occupancy.limit();
  result.timed = report.unit.executed;
  result.untimed = report.untimed;
  for (unsigned bound = 0; bound < boundCount; ++bound)
    result.bounds.push_back({nameOf(Bound(bound)), report.shares[bound]});
  result.matrixBusy = double(report.unit.matrixBusy) / simdCycles * working;
  result.vectorBusy = double(report.unit.vectorBusy) / simdCycles * working;
  result.ldsBusy = double(report.unit.ldsBusy) / double(std::max<uint64_t>(report.unit.cycles, 1)) * working;
  result.matrixOperationsPerSecond = report.matrixOperationsPerSecond;
  result.ldsInstructions = report.ldsInstructions;
  result.ldsConflictCycles = report.ldsConflictCycles;
  result.memoryReadBytes = report.traffic.read * lineBytes;
  result.memoryWrittenBytes = report.traffic.written * lineBytes;
  result.memoryPeakBytesPerSecond = model.memoryBytesPerSecond;
  if (report.seconds > 0)
    result.memoryBytesPerSecond = double(result.memoryReadBytes + result.memoryWrittenBytes) / report.seconds;
  addWaiting(report, codeBase, result);
  if (events) {
    result.traceEvents = events->json(fmt::format("compute unit 0 of {}, {}", model.product, kernel.kernel.name));
    result.droppedEvents = events->dropped();
  }
  return result;
}

} // namespace heddle
