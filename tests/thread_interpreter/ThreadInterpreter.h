// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the per-thread LLVM IR of an NVIDIA kernel on the CPU: warps of 32 lanes, shared memory, barriers, shuffles,
// matrix instructions, asynchronous copies. It is the oracle of the sm_90 target where there is no GPU, and it finds
// races in shared memory and faults of barriers, which a GPU would not report.
#pragma once
#include "tests/thread_interpreter/TensorMap.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace llvm {
class Module;
}

namespace heddle::threads {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

/// What one rank runs. Arguments are the bits of the kernel's parameters, one slot each; pointers are host addresses.
/// Parameters by value are the last ones, and have tensor maps.
struct Launch {
  Dim3 grid;
  Dim3 block; ///< threads; 1024 at most
  uint32_t dynamicSharedBytes = 0;
  std::vector<uint64_t> arguments;
  std::vector<TensorMap> tensorMaps = {};
};

/// How ranks take turns.
enum class Policy {
  RoundRobin, ///< all of them, all their warps
  Random,     ///< some of them, their warps in any order for any number of steps; by the seed
  OneAhead, ///< one runs as far as it can, then the next; the last one runs when all others wait. The seed is the first
};

struct Options {
  uint64_t mostSteps = uint64_t(1) << 28; ///< of a warp, all warps together; beyond: the error "no progress"
  unsigned residentBlocks = 16;           ///< of each rank; those that wait for each other must be resident together
  unsigned quantum = 256;                 ///< steps of a warp before the next one's turn
  uint64_t nanosecondsPerStep = 1;        ///< what the clocks of the device count
  Policy policy = Policy::RoundRobin;
  uint64_t seed = 0;
  bool deviceRaces = false;         ///< look for races in device memory, between threads of all ranks
  bool sameValueWritesRace = false; ///< report two unordered writes of one value to one byte
};

enum class FindingKind {
  SharedRace,      ///< two unordered accesses of different threads to one byte, one of them a write
  UnwrittenShared, ///< a read of a byte of shared memory that no thread wrote
  CopyInFlight,    ///< an access to what an asynchronous copy still writes, or a write to what one still reads
  InactiveLane,    ///< a shuffle from a lane that does not take part
  DeviceRace,      ///< two unordered accesses to device memory, one of them a write, not both strong (DeviceOrder.h)
  BarrierFault, ///< threads wait at a barrier that others never reach, or arrive at an mbarrier in either of two phases
  UnfinishedCopy, ///< a bulk copy that no thread has waited for when its block ends
};

struct Finding {
  FindingKind kind;
  std::string message;
  uint64_t count = 1; ///< how often, for the same pair of instructions
};

struct Report {
  std::string error; ///< what ended the run early, or empty
  std::vector<Finding> findings;
  uint64_t threadInstructions = 0;
  uint64_t warpSteps = 0;

  bool clean() const { return error.empty() && findings.empty(); }
  bool has(FindingKind kind) const;
  std::string text() const; ///< error and findings, one a line
};

/// One lane's execution of inline assembly or of an external function: operands and results are flattened to scalars.
struct LaneCall {
  std::span<const uint64_t> operands;
  std::span<uint64_t> results;
  /// Of the device's clock. To ask is to wait: while all threads do nothing else, time passes (Schedule.cpp).
  std::function<uint64_t()> nanoseconds;
  /// The checked host address of `sizeBytes` of device memory; natural alignment.
  std::function<uint8_t *(uint64_t address, unsigned sizeBytes)> device;
  /// Changes an integer of device memory as one step; what it was. A word may reach past the end of a buffer
  /// (Machine.h: ChangedBytes).
  using Change = std::function<uint64_t(uint64_t before)>;
  std::function<uint64_t(uint64_t address, unsigned sizeBytes, const Change &)> update;
};
using LaneFunction = std::function<void(LaneCall &)>;

class ThreadInterpreter {
public:
  /// The module must outlive the interpreter. Throws Error when the kernel cannot be decoded; the message has the text
  /// of the instruction.
  ThreadInterpreter(const llvm::Module &module, std::string_view kernel, Options options = {});
  ~ThreadInterpreter();

  void addMemory(const void *begin, size_t sizeBytes, std::string name);
  /// Gives a meaning to an inline assembly text, or to an external function by its name; white space in the text does
  /// not matter. Loads, stores and atomics with order and scope have theirs already (instructions/Assembly.cpp).
  void define(std::string text, LaneFunction function);
  /// The number of barriers in the text of the kernel: of the block (barrier.cta.sync in all forms) and of a warp
  /// (bar.warp.sync).
  unsigned barrierCount() const;
  /// Treats the n-th of them, in the order of the text, as absent. Tests show by this that a barrier is needed.
  void removeBarrier(unsigned n);
  void restoreBarriers();

  Report run(const Launch &launch);
  /// All ranks at once, their warps taking turns; memory is visible to all.
  Report run(std::span<const Launch> ranks);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace heddle::threads
