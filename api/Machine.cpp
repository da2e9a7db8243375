// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asks the processor, the drivers and their libraries what is there, for `heddle doctor`.
#include "api/Heddle.h"
#include "chips/Chip.h"
#include "runtime/Driver.h"
#include "runtime/drivers/simulated/SimulatedDriver.h"
#include "runtime/drivers/simulated/SimulationSettings.h"
#include "support/SystemMemory.h"
#include <fstream>
#include <thread>

namespace heddle {
namespace {

std::string processorModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (size_t colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return "unknown";
}

void addPeer(const Driver &driver, int ordinal, int other, MachineReport::Device &entry) {
  entry.peers.push_back(driver.canAccessPeer(ordinal, other));
  PeerLink link = ordinal == other ? PeerLink() : driver.linkBetween(ordinal, other);
  entry.links.push_back(link.hops > 1 ? link.kind + ", " + std::to_string(link.hops) + " hops" : link.kind);
}

/// Every device of a driver of GPUs; one of those that are all the same.
void addDevices(Driver &driver, std::vector<MachineReport::Device> &devices) {
  bool virtualDevices = driver.isVirtual();
  int count = virtualDevices ? 1 : driver.deviceCount();
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    MachineReport::Device entry;
    entry.name = driver.name() + ":" + std::to_string(ordinal);
    try {
      auto device = driver.open(ordinal);
      MemoryInfo memory = device->memoryInfo();
      entry.description = device->description();
      entry.target = device->chip().name;
      entry.memoryBytes = memory.totalBytes;
      entry.freeBytes = memory.freeBytes;
      for (int other = 0; other < count && !virtualDevices; ++other)
        addPeer(driver, ordinal, other, entry);
    } catch (const Error &error) {
      entry.problem = error.what();
    }
    devices.push_back(std::move(entry));
  }
}

/// Asked of the driver, which has opened the library already.
MachineReport::Library reportOf(const std::string &name, const std::string &library, const std::string &purpose) {
  for (Driver *driver : allDrivers())
    if (driver->name() == name)
      return {library, purpose, driver->description(), driver->problem()};
  return {};
}

} // namespace

void useSimulatedDevices() {
  addSimulatedDrivers();
}

MachineReport examineMachine() {
  MachineReport report;
  report.processor = processorModel();
  try {
    report.target = resolveHostProcessor("native");
  } catch (const Error &error) {
    report.targetProblem = error.what();
  }
  report.cores = int(std::thread::hardware_concurrency());
  report.memoryBytes = physicalMemoryBytes();
  for (Driver *driver : allDrivers())
    addDevices(*driver, report.devices);
  report.libraries = {reportOf("cuda", cudaLibrary(), "NVIDIA CUDA driver"),
                      reportOf("hip", hipLibrary(), "AMD HIP runtime")};
  for (const Chip *chip : allChips())
    if (chip->links.perPair)
      report.links.push_back({chip->name, chip->links.perPair, chip->links.bytesPerSecond});
  report.knobs = listKnobs();
  for (Knob &knob : report.knobs)
    if (knob.problem.empty())
      knob.problem = simulationProblem(knob.name);
  report.unknownVariables = unknownVariables();
  report.version = version();
  report.llvmVersion = llvmVersion();
  return report;
}

} // namespace heddle
