// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "api/Heddle.h"
#include "runtime/Driver.h"
#include "support/SystemMemory.h"
#include <dlfcn.h>
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

/// Opened and closed again: nothing of it is called, so no driver starts up.
MachineReport::Library tryLibrary(const char *name, const char *purpose) {
  MachineReport::Library library{name, purpose, ""};
  if (void *handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL)) {
    dlclose(handle);
  } else {
    const char *reason = dlerror();
    library.problem = reason ? reason : "not found";
  }
  return library;
}

} // namespace

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
    for (int ordinal = 0; ordinal < std::min(driver->deviceCount(), 1); ++ordinal) {
      auto device = driver->open(ordinal);
      report.devices.push_back({device->name(), device->description()});
    }
  report.libraries = {tryLibrary("libcuda.so.1", "NVIDIA CUDA driver"),
                      tryLibrary("libamdhip64.so", "AMD HIP runtime")};
  report.knobs = listKnobs();
  report.unknownVariables = unknownVariables();
  report.version = version();
  report.llvmVersion = llvmVersion();
  return report;
}

} // namespace heddle
