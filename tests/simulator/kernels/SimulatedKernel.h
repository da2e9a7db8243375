// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests: a code object that the build made, and its kernels with C++ values as arguments.
#pragma once
#include "simulator/Simulator.h"
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace heddle::simulator {

/// The bytes of `NAME` among the code objects that tests/simulator/kernels/CMakeLists.txt makes.
std::string readObject(const std::string &name);

class SimulatedObject {
public:
  explicit SimulatedObject(const std::string &name) : SimulatedObject(parseAmdCodeObject(readObject(name), name)) {}
  explicit SimulatedObject(const AmdCodeObject &object) : simulator(object) {}

  template <typename T>
  uint64_t buffer(const std::vector<T> &values, const std::string &name = "buffer") {
    uint64_t address = simulator.allocate(values.size() * sizeof(T), name);
    std::memcpy(simulator.bytes(address).data(), values.data(), values.size() * sizeof(T));
    return address;
  }
  template <typename T>
  std::vector<T> read(uint64_t address) {
    std::span<uint8_t> bytes = simulator.bytes(address);
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }
  /// Arguments in order; each has the size that the kernel's metadata says.
  template <typename... Arguments>
  RunStatistics run(const std::string &name, const Geometry &geometry, Arguments... arguments) {
    std::vector<std::string> bytes;
    (bytes.emplace_back(reinterpret_cast<const char *>(&arguments), sizeof arguments), ...);
    return runBytes(name, geometry, bytes);
  }
  /// The same with the bytes of each argument; those that there are none for are zero. An empty name is the only
  /// kernel.
  RunStatistics runBytes(const std::string &name, const Geometry &geometry, const std::vector<std::string> &arguments) {
    const AmdKernel &kernel = simulator.object().kernel(name);
    std::string segment(kernel.kernargBytes, '\0');
    for (size_t i = 0; i < arguments.size(); ++i) {
      const AmdArgument &argument = kernel.arguments.at(i);
      if (arguments[i].size() != argument.sizeBytes)
        throw std::logic_error("argument " + std::to_string(i) + " of " + kernel.name + " has " +
                               std::to_string(argument.sizeBytes) + " bytes, and is given " +
                               std::to_string(arguments[i].size()));
      segment.replace(argument.offset, argument.sizeBytes, arguments[i]);
    }
    if (watcher)
      return runWatched(kernel, geometry, segment);
    SimulationReport report = simulator.run(kernel, geometry, segment, options);
    for (const Finding &finding : report.findings)
      findings += finding.text();
    if (report.error)
      throw *report.error;
    return report.statistics;
  }

  Simulator simulator;
  SimulationOptions options;
  std::string findings; ///< of all runs, as text
  /// Is told of all that happens, in place of the checks. Its addresses are those of another copy of the code: the
  /// file's plus `watchedBase`.
  Watcher *watcher = nullptr;
  uint64_t watchedBase = 0;

private:
  RunStatistics runWatched(const AmdKernel &kernel, const Geometry &geometry, const std::string &arguments) {
    LoadedObject &loaded = simulator.load(simulator.object());
    watchedBase = loaded.base;
    auto run = simulator.prepare(loaded, kernel, geometry, arguments, 0, options);
    Machine machine(simulator.system, options, watcher);
    machine.begin(*run);
    while (machine.pass())
      ;
    if (run->error)
      throw *run->error;
    return run->statistics;
  }
};

} // namespace heddle::simulator
