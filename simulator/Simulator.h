// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The simulator's door: devices of one chip, buffers in their memory, code objects, and kernels that run on one or
// several of the devices at once. docs/simulator.md.
#pragma once
#include "binary/AmdCodeObject.h"
#include "simulator/checks/Findings.h"
#include "simulator/machine/Machine.h"
#include <memory>
#include <span>

namespace heddle::simulator {

class Checks;

/// How a run goes, and what is checked.
struct SimulationOptions : RunOptions {
  CheckSet checks;             ///< any of them implies `caches`
  Watcher *observer = nullptr; ///< sees all that happens; only without checks
  /// Called when a check reports two instructions, or one, for the first time, while the later of them executes or its
  /// memory operation takes effect.
  std::function<void(const Finding &finding, const Site &first, const Site &second)> found;
};

struct SimulationReport {
  RunStatistics statistics;
  std::vector<Finding> findings;
  std::vector<ReportLine> notes; ///< what was read of slack
  /// What ended it early, with instruction and place: the kernel does what it must not, reaches an instruction that the
  /// simulator does not know, or does not end.
  std::optional<KernelError> error;
  bool isEndless = false; ///< the error is that the kernel waits for ever or has reached its limit of instructions
};

/// A code object in the memory of the devices.
class LoadedObject {
public:
  virtual ~LoadedObject() = default;
  const AmdCodeObject object;
  uint64_t base = 0, sizeBytes = 0; ///< where the file's address 0 lies, and how far it reaches
  /// The instructions that waves have come to, by address.
  virtual std::vector<const Instruction *> reached() const = 0;

protected:
  explicit LoadedObject(const AmdCodeObject &object) : object(object) {}
};

class Simulator {
public:
  /// Throws Error{Input} for a chip that is not simulated, Error{Environment} when this machine lacks AVX2 and FMA.
  explicit Simulator(const std::string &chip, unsigned devices = 1);
  /// One device with an object in it.
  explicit Simulator(const AmdCodeObject &object);
  ~Simulator();

  const std::string &chip() const { return chipName; }
  unsigned deviceCount() const { return unsigned(system.devices.size()); }

  /// Zeroed memory; returns its address, which is the same for all devices. `owner` is a device, or hostOwner.
  uint64_t allocate(uint64_t sizeBytes, const std::string &name, int owner = 0,
                    Placement placement = Placement::Normal);
  void free(uint64_t address);
  /// The last bytes of this buffer are read at will, and never written: a pattern that the seed says fills them, and
  /// Check::Uninitialised reports what depends on it.
  void setSlack(uint64_t address, uint64_t slackBytes, uint64_t seed);
  /// From now on Check::Uninitialised reports what depends on bytes of this buffer that no kernel has written. How many
  /// such bytes there are, AddressSpace::countUnwritten says.
  void setUninitialised(uint64_t address);
  /// The bytes of what starts at `address`, without slack.
  std::span<uint8_t> bytes(uint64_t address);

  void addDevice(); ///< after those there are

  /// Into the memory of `device`. Throws Error{Input} for an object of another chip.
  LoadedObject &load(const AmdCodeObject &object, unsigned device = 0);
  void unload(LoadedObject &loaded); ///< when no session is left that ran its kernels
  const AmdCodeObject &object() const { return objects.front()->object; } ///< the first one
  LoadedObject &loaded() { return *objects.front(); }                     ///< likewise
  uint64_t codeBase() const { return objects.front()->base; }

  /// A launch: `arguments` are the explicit part of the kernel's argument segment. Throws Error{Input} for a geometry
  /// that does not fit.
  std::unique_ptr<KernelRun> prepare(LoadedObject &loaded, const AmdKernel &kernel, const Geometry &geometry,
                                     const std::string &arguments, unsigned device, const RunOptions &options);
  /// Runs launches side by side until all have ended.
  SimulationReport run(std::span<const std::unique_ptr<KernelRun>> runs, const SimulationOptions &options);
  /// Runs one launch of the first object on the first device.
  SimulationReport run(const AmdKernel &kernel, const Geometry &geometry, const std::string &arguments,
                       const SimulationOptions &options);
  /// The same; throws the report's error.
  RunStatistics launch(const AmdKernel &kernel, const Geometry &geometry, const std::string &arguments,
                       const SimulationOptions &options);

  MemorySystem system;

private:
  friend class Session;
  class Code;
  std::string chipName;
  std::vector<std::unique_ptr<LoadedObject>> objects;
};

/// Kernels that run side by side, more of which may begin while others run. What its checks know ends with it.
class Session {
public:
  Session(Simulator &simulator, const SimulationOptions &options);
  ~Session();

  void begin(KernelRun &run); ///< of Simulator::prepare
  bool pass();                ///< as Machine::pass
  Machine &machine() { return *runner; }
  const std::vector<Finding> &findings() const; ///< up to now
  std::vector<ReportLine> notes() const;        ///< likewise

private:
  Simulator &simulator;
  std::unique_ptr<Checks> checks; ///< null when none are on
  std::unique_ptr<Machine> runner;
};

/// The instructions that can be executed, in alphabetical order. Throws Error{Input} for a chip that is not simulated.
std::vector<std::string> instructionNames(const std::string &chip);

} // namespace heddle::simulator
