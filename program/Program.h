// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An HLO module made ready for a number of devices, and its runs: every device runs the same launches in its own
// stream, collectives through a communicator per group.
#pragma once
#include "binary/Package.h"
#include "frontend/hlo/Hlo.h"
#include "program/Partition.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace heddle {
class Device;
class ProcessGroup;
class Stream;
struct Chip;
} // namespace heddle

namespace heddle::program {

/// The elements of an array, row-major whatever its layout in the text; pred as bytes of 0 and 1.
struct ArrayBytes {
  hlo::Shape shape;
  std::string bytes;
};

/// Collectives and the matmuls beside them: one kernel where that is expected to be faster, wherever there is such a
/// kernel, or nowhere.
enum class MatmulFusion { Auto, Fused, Apart };
/// `auto`, `fused`, `apart`; throws Error{Input} for others.
MatmulFusion parseMatmulFusion(const std::string &name);

struct ProgramOptions {
  PartitionOptions partition;
  MatmulFusion matmuls = MatmulFusion::Auto;
  bool quantisesSums = false; ///< all-reduces of sums send FP8 with a scale for 128 elements (docs/modules.md)
  /// Of every collective that has it and whose kernel can fuse code (Algorithm::direct cannot); empty: plans choose.
  std::string algorithm;
  double deadlineSeconds = 30; ///< of each collective
  /// Of each other kernel and of each loop with all its trips; 0: HEDDLE_LAUNCH_TIMEOUT, and none for loops.
  double limitSeconds = 0;
  std::function<void(size_t done, size_t all)> progress; ///< while kernels are compiled, on any thread, one
                                                         ///< call at a time; may be empty
};

/// A step, kernel or collective or loop, as `heddle inspect` shows it.
struct StepDescription {
  std::string kind;               ///< `kernel`, `all-reduce`, `while`
  std::string name;               ///< of the instruction
  std::string shape;              ///< of what it makes
  std::string plan;               ///< lines: of a collective describe(plan), once per group size; the trips of a loop
                                  ///< that counts; what an update in place writes
  std::string algorithm;          ///< of a collective's largest group
  std::string groups;             ///< `{0,1},{2,3}`
  std::vector<std::string> fused; ///< instructions computed inside a collective's kernel
  std::string text;               ///< tile IR of the kernel (of the largest group)
  std::optional<Package> package; ///< the kernel, where it was asked for; nothing for what launches none
  int depth = 0;                  ///< nesting in loops
};

/// Throws an input error unless the module is for so many ranks, each a process.
void requireProcesses(const hlo::Module &module, int ranks);

class Program {
public:
  /// Compiles every kernel. Device number replica * partitions + partition of the module is `devices[number]`. Throws
  /// Error{Input} when the module is for another number of devices, and as flatten and makePlan do.
  Program(hlo::Module module, std::vector<std::shared_ptr<Device>> devices, ProgramOptions options = {});
  /// Of processes: each makes one, collectively, and has the device of its rank. What goes in and out of a run is of
  /// that device alone, so that there is one of each. Processes that fail end the runs of all others.
  Program(hlo::Module module, std::shared_ptr<ProcessGroup> processes, ProgramOptions options = {});
  /// For describe() only: devices of this chip need not be there.
  Program(hlo::Module module, const Chip &chip, ProgramOptions options);
  ~Program();

  const hlo::Module &module() const;
  /// Packages come on demand: those of plain collectives are kept by communicators only, and compiled again.
  enum class Packages { Without, With };
  std::vector<StepDescription> describe(Packages packages = Packages::Without) const;

  /// The shapes of the entry's arrays, tuples taken apart.
  std::vector<hlo::Shape> parameterShapes() const;
  std::vector<hlo::Shape> resultShapes() const;

  /// inputs[device][parameter] to results[device][result]. Throws Error{Input} for inputs that do not fit, and what the
  /// devices report; after an error of a collective the program has failed for good.
  std::vector<std::vector<ArrayBytes>> run(const std::vector<std::vector<ArrayBytes>> &inputs);

  /// For measuring: after a run, its launches once more on what lies in the devices' memory. Returns at once unless
  /// there are loops, which cannot be captured in graphs either. What it throws is like an error of run.
  void launch();
  void finish(); ///< waits for the launches and reports what failed
  bool hasLoops() const;
  /// What the last run, or launch, launched on a device, every trip of its loops counted; of the device that had most.
  size_t launches() const;
  const std::vector<std::shared_ptr<Device>> &devices() const;
  std::vector<Stream *> streams() const; ///< by device

private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation;
};

} // namespace heddle::program
