// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of AMD code objects on the simulator, with arguments by name.
#pragma once
#include "api/Heddle.h"
#include <functional>
#include <optional>

namespace heddle {

/// A wave before one of its instructions, for a debugger that steps through a kernel.
class SimulatedStop {
public:
  virtual ~SimulatedStop() = default;
  virtual std::string line() const = 0;                  ///< `0,0,0 wave 0  0x1638  s_endpgm`
  virtual std::vector<std::string> written() const = 0;  ///< the registers that the wave's last instruction wrote
  virtual std::vector<std::string> operands() const = 0; ///< those that this one reads and writes, as they are now
  /// `v3 = ...` of all lanes, or `s3 = ...`. Throws Error{Input} for a number that the wave has not.
  virtual std::string vectorRegister(unsigned number) const = 0;
  virtual std::string scalarRegister(unsigned number) const = 0;
};

/// On several devices the kernel runs on all of them at once, and NAME=VALUE gives each of them a buffer of its own:
/// `rand:...:SEED` with the seed SEED + device, `ptrs:A` with the addresses of A on all devices. NAME@DEVICE=VALUE is
/// for one device. The numbers `rank` and `devices` are the device's index and their count. Before a buffer's value may
/// stand `host:` (one buffer of the host for all devices), `fine:` or `uncached:`. `f32[4]` holds zeros that
/// are uninitialised for the check `uninitialised`; those of `zeros:f32[4]` count as written.
struct SimulateRequest {
  std::string kernel;                                          ///< may be empty when the object has one
  std::array<int64_t, 3> grid = {1, 1, 1}, block = {64, 1, 1}; ///< workgroups, and work-items of each
  int64_t dynamicLdsBytes = 0;
  std::vector<NamedValue> arguments; ///< by the name in the object's metadata, or by position: `0`, `1`, ...
  std::string kernarg;               ///< the whole argument segment, `@FILE` or a structure; empty: as `arguments` say
  std::vector<NamedValue> buffers;
  std::vector<std::string> outputs; ///< also by position, and NAME@DEVICE for one of several devices
  /// What its prints and assertions say; null: not known. Unless there are none, the kernel gets a record for them.
  std::shared_ptr<const Package> package;
  unsigned devices = 1;
  std::string policy = "earliest";       ///< when memory operations take effect: simulator/machine/Names.cpp
  std::string schedule = "run-to-block"; ///< in which order waves run: likewise
  std::string checks = "none";           ///< `all`, `default`, `none`, `a,b`, `all,-c`, `-c`
  bool caches = false;                   ///< also where nothing implies them
  bool transactions = false;             ///< counts them; implies caches, and goes with no checks
  bool time = false;                     ///< estimates it; implies caches, and goes with one device and no checks
  unsigned timeGroups = 0;  ///< workgroups of a compute unit that are timed; 0: twice those it holds at once
  unsigned traceGroups = 0; ///< of these, those in SimulatedTiming::traceEvents; 0: there is no such file
  bool preloads = true;
  uint64_t seed = 0;
  uint32_t resident = 0;         ///< workgroups alive at once; 0: the chip's compute units
  uint64_t instructionLimit = 0; ///< 0: the default
  unsigned threads = 1; ///< for runs without caches and checks; 0: HEDDLE_HOST_THREADS, else one for each processor
  bool comparesSchedules = false; ///< a second run under round-robin says whether the result is the same
  std::function<void(const std::string &line)> trace;
  /// Called before each instruction; what it throws ends the simulation.
  std::function<void(const SimulatedStop &stop)> step;
};

/// An instruction that a report names, and where in the source it comes from.
struct InstructionPlace {
  uint64_t pc = 0;               ///< in the file
  std::string file;              ///< without folders; empty where the source is not known
  unsigned line = 0, column = 0; ///< 0: not known
};

struct SimulatedFinding {
  std::string check;                    ///< `register-wait`
  std::string text;                     ///< several lines, ending with one
  std::vector<InstructionPlace> places; ///< of the instructions that the text names, in its order
  uint64_t firstPc = 0, secondPc = 0, count = 1;
};

/// What a second run under another schedule made of it.
struct ScheduleHint {
  enum class Result { NotCompared, Same, Different };
  Result result = Result::NotCompared;
  std::vector<std::string> reasons; ///< what differs, or why nothing was compared; may be empty
};

struct SimulatedOutput {
  size_t requested = 0; ///< which of SimulateRequest::outputs it answers
  int device = -1;      ///< of several; -1: on the host, or the only one
  Array array;
};

/// Memory transactions of a kernel: instructions of waves, and lines that the lanes of each touch.
struct SimulatedTransactions {
  struct Count {
    uint64_t instructions = 0, lines = 0;
  };
  Count reads, writes, atomics; ///< of global memory by vector instructions, in lines of `lineBytes`
  Count scalarReads;            ///< in lines of `scalarLineBytes`
  uint64_t lineBytes = 128, scalarLineBytes = 64;
  uint64_t ldsInstructions = 0, scratchInstructions = 0;
  uint64_t l2Hits = 0, l2Misses = 0, l2Writes = 0; ///< lines requested from L2
};

/// An estimate, not a measurement: docs/timing.md.
struct SimulatedTiming {
  struct Share {
    std::string name; ///< `matrix units`
    double share = 0;
  };
  /// What a SIMD waited for most when it could issue nothing.
  struct WaitingInstruction {
    InstructionPlace place;
    std::string text, source; ///< `kernel.py:12`, or nothing
    std::string bound;        ///< the most of it
    uint64_t executed = 0;
    double share = 0; ///< of the time of all SIMDs
  };
  std::string product; ///< whose figures it has: `MI300X`
  double clockHz = 0, cycles = 0, seconds = 0;
  uint64_t computeUnits = 0, activeUnits = 0; ///< those of the chip, and those that get a workgroup
  uint64_t unitGroups = 0, timedGroups = 0, residentGroups = 0;
  std::string occupancyLimit;      ///< what keeps a compute unit from more workgroups: `LDS`
  uint64_t timed = 0, untimed = 0; ///< instructions of the timed workgroups: those in the estimate, those left out
  std::vector<Share> bounds;       ///< of `cycles`; they add up to 1
  double matrixBusy = 0, vectorBusy = 0, ldsBusy = 0; ///< shares of the time that the unit works
  double matrixOperationsPerSecond = 0;               ///< of the launch
  uint64_t ldsInstructions = 0, ldsConflictCycles = 0;
  uint64_t memoryReadBytes = 0, memoryWrittenBytes = 0; ///< of the launch
  double memoryBytesPerSecond = 0, memoryPeakBytesPerSecond = 0;
  std::vector<WaitingInstruction> waiting; ///< the most first
  std::string traceEvents;                 ///< a file in the Chrome trace format
  uint64_t droppedEvents = 0;              ///< which it has no room for
};

struct SimulateResult {
  std::string kernel, chip;
  std::vector<SimulatedOutput> outputs;
  std::vector<SimulatedFinding> findings;
  std::vector<std::string> notes;        ///< what is no finding: reads of slack
  std::optional<ScheduleHint> schedules; ///< where it was asked for
  std::optional<Error> error;            ///< Error{WrongResult}: what ended the kernel early; then there are no outputs
  std::vector<InstructionPlace> errorPlaces;         ///< of the instructions that its notes name
  uint64_t instructions = 0, waves = 0, groups = 0;  ///< instructions are those of waves
  std::optional<SimulatedTransactions> transactions; ///< where they were asked for
  std::optional<SimulatedTiming> timing;             ///< likewise, unless there is an error
  double seconds = 0;        ///< of processor time, of the run alone; with several threads the whole process's
  double elapsedSeconds = 0; ///< on the clock, of the run alone
};

/// Runs a kernel of the code object in `file`; `name` is its name in messages. Throws Error{Input} for an object or
/// arguments that do not fit.
SimulateResult simulateKernel(const std::string &file, const std::string &name, const SimulateRequest &request);

/// The instructions that the simulator has for `gfx942` or `gfx950`, in alphabetical order. Throws Error{Input} for
/// another chip.
std::vector<std::string> simulatedInstructions(const std::string &chip);

} // namespace heddle
