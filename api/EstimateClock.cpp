// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asks the timing model how long each launch of a candidate takes, on its own simulated machine, within a bound.
#include "api/EstimateClock.h"
#include "binary/AmdOccupancy.h"
#include "binary/AmdPackage.h"
#include "binary/LaunchRecord.h"
#include "kernels/RunOnce.h"
#include "simulator/Simulator.h"
#include "simulator/timing/Timing.h"
#include <cstring>
#include <fmt/format.h>

namespace heddle {

using namespace autotune;
using namespace kernels;

/// One call on a simulated device: memory, and the sum of its estimates.
struct EstimateClock::Simulated {
  Simulated(const Chip &chip, uint64_t limit) : chip(chip), simulator(chip.name), limit(limit) {}

  void add(const std::string &name, const ArrayType &type, const std::string &bytes = "") {
    places[name] = simulator.allocate(uint64_t(std::max<int64_t>(type.sizeBytes(), 1)), name);
    std::copy(bytes.begin(), bytes.end(), simulator.bytes(places[name]).begin());
  }

  void run(const Step &step, const Package *package) {
    if (!package) {
      std::span<uint8_t> memory = simulator.bytes(places.at(step.fills));
      std::memset(memory.data(), step.byte, memory.size());
      seconds += double(memory.size()) / (timingOf(chip).memoryBytesPerSecond * timingOf(chip).attainableShare);
      return;
    }
    launch(step, *package);
  }

  void launch(const Step &step, const Package &package) {
    requireAmdPackage(package, "sim:" + chip.name, chip.name);
    simulator::LoadedObject &loaded =
        simulator.load(parseAmdCodeObject(package.binary, fmt::format("the code of kernel `{}`", package.kernel)));
    const AmdKernel &entry = loaded.object.kernel(package.entry);
    simulator::Geometry geometry;
    geometry.groups = {uint32_t(step.grid[0]), uint32_t(step.grid[1]), uint32_t(step.grid[2])};
    geometry.items = {uint32_t(package.threads)};
    geometry.dynamicLdsBytes = uint32_t(package.sharedBytes);
    AmdOccupancy occupancy = occupancyOf(entry, chip, package.threads, int64_t(package.sharedBytes));
    simulator::Timing timing(chip, {.launchGroups = geometry.groupCount(),
                                    .residentGroups = unsigned(std::max<int64_t>(occupancy.groupsPerUnit, 1))});
    simulator::SimulationOptions options;
    options.observer = &timing;
    options.instructionLimit = limit;
    std::vector<std::unique_ptr<simulator::KernelRun>> runs;
    runs.push_back(simulator.prepare(loaded, entry, geometry, segmentOf(step, package, entry), 0, options));
    simulator::SimulationReport report = simulator.run(runs, options);
    if (report.error)
      throw CandidateFailure(report.isEndless ? "time" : "launch", report.error->what());
    instructions += report.statistics.instructions;
    seconds += timing.report().seconds;
  }

  std::string segmentOf(const Step &step, const Package &package, const AmdKernel &entry) {
    std::string segment(entry.kernargBytes, '\0');
    std::vector<AmdArgument> arguments = explicitArguments(entry);
    for (size_t i = 0; i < step.arguments.size(); ++i) {
      const StepArgument &argument = step.arguments[i];
      uint64_t value = argument.buffer.empty() ? uint64_t(argument.value) : places.at(argument.buffer);
      std::memcpy(segment.data() + arguments[i].offset, &value, arguments[i].sizeBytes);
    }
    if (!package.sites.empty()) { // of assertions
      uint64_t record = simulator.allocate(uint64_t(launchRecordBytes), "the launch's record");
      std::memcpy(segment.data() + arguments.back().offset, &record, sizeof record);
    }
    return segment;
  }

  const Chip &chip;
  simulator::Simulator simulator;
  const uint64_t limit; ///< of instructions of a launch; 0: the simulator's
  std::map<std::string, uint64_t> places;
  double seconds = 0;
  uint64_t instructions = 0;
};

EstimateClock::EstimateClock(const Chip &chip, const LibraryKernel &kernel, const Space &space, const HostArrays &given,
                             const DeviceClockOptions &options)
    : chip(chip), kernel(kernel), space(space), compiler(space, chip, options),
      inputs(makeInputs(kernel, space.candidates[0].call, options.inputSeed)) {
  for (const auto &[name, array] : given)
    inputs.at(name).bytes = array.bytes;
}

void EstimateClock::prepare(size_t candidate) {
  auto packages = compiler.packagesOf(candidate);
  const Plan &plan = space.candidates[candidate].plan;
  // A candidate that executes so many times more is slower, or does not end.
  Simulated simulated(chip, candidate == 0 ? 0 : 20 * instructionsOfDefault + 1'000'000);
  try {
    for (const auto &[name, array] : inputs)
      simulated.add(name, array.type, array.bytes);
    for (const std::vector<NamedArray> *arrays : {&plan.results, &plan.temporaries})
      for (const NamedArray &array : *arrays)
        simulated.add(array.name, array.type);
    for (size_t i = 0; i < plan.steps.size(); ++i)
      simulated.run(plan.steps[i], packages[i].get());
  } catch (const Error &error) {
    throw CandidateFailure("launch", error.what());
  }
  if (candidate == 0)
    instructionsOfDefault = simulated.instructions;
  for (const NamedArray &result : plan.results) {
    std::span<uint8_t> memory = simulated.simulator.bytes(simulated.places.at(result.name));
    HostArray array{result.type,
                    std::string(reinterpret_cast<const char *>(memory.data()), size_t(result.type.sizeBytes()))};
    if (candidate == 0) {
      expected[result.name] = std::move(array);
      continue;
    }
    requireSame(result.name, array, expected.at(result.name), kernel.tolerance);
  }
  // A plan without launches takes no time, and a time is above 0.
  microseconds[candidate] = std::max(1e6 * simulated.seconds, 1e-3);
}

} // namespace heddle
