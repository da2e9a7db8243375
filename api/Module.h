// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// HLO modules: run on every rank, and looked into.
#pragma once
#include "api/Collectives.h"
#include "api/Heddle.h"
#include "runtime/processes/Bootstrap.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// Whether a file, or standard input for `-`, is an HLO module: named `.hlo`, or text whose first word is `HloModule`.
bool isModuleFile(const std::string &path);

struct ModuleRequest {
  std::string path; ///< `-` is standard input
  int devices = 0;  ///< 0: as many as the module's header says; else also the number of replicas when it says nothing
  std::optional<BootstrapOptions> processes; ///< runModule: this process is one rank of those, in place of `devices`
  std::string device = "host";               ///< the driver's name; rank r runs on its device r
  std::vector<NamedValue>
      arguments;         ///< NAME is a parameter's name or `p` and its number, with `@RANK` for one rank;
                         ///< VALUE as for a kernel, or `rand:SEED` and a number in the parameter's own shape
  std::string algorithm; ///< of every collective that has it
  bool fuse = true;
  std::string matmuls = "auto"; ///< beside collectives: `auto`, `fused` into their kernels, `apart`
  std::string quantise;         ///< `fp8`: sums of all-reduces; empty: nothing
  bool assembly = false;        ///< describeModule: the instructions of every kernel
  double timeoutSeconds = 30;   ///< of each collective
  int warmup = 0, repeat = 0;   ///< runs after the first; `repeat` of them are timed
  std::function<void(size_t done, size_t all)> progress; ///< while kernels are compiled, on any thread, one
                                                         ///< call at a time
};

struct ModuleResult {
  std::string module;
  int rank = 0;                            ///< of this process
  std::vector<std::vector<Array>> results; ///< by rank; a tuple's arrays one after the other, named by their number
  std::vector<double> milliseconds;        ///< of each timed run: from the launches to the results in host memory
  std::vector<std::string> warnings;       ///< of the reader
  std::vector<std::string> notes;          ///< parameters that were not given: the values used
};

/// Parameters without a value are random, with seed 1000 * number + rank. Throws Error{Input} for the text, the values
/// or the number of devices, and what the devices report.
ModuleResult runModule(const ModuleRequest &request);

/// A module beside itself without fusion: each of its collectives a launch, and the rest as it would be without them.
struct ModuleBenchmark {
  std::string module, description;              ///< of the first device
  std::vector<std::string> devices, algorithms; ///< of the fused collectives
  struct Side {
    size_t launches = 0;  ///< of one run on a device
    BenchmarkTimes times; ///< of a run from memory to memory of the devices; no bandwidths
  };
  Side fused, separate;
  int64_t different = 0;      ///< elements of results whose bits differ between the two
  std::string firstDifferent; ///< `rank 2, result 0, element 5`
};

/// Times both, on equal inputs. Of `timing` iterations, warmup, graphReplays and checks (0: nothing is compared) count;
/// `request.algorithm` is for the fused module alone.
ModuleBenchmark benchmarkModule(const ModuleRequest &request, const BenchmarkRequest &timing);

/// One launch of a module.
struct ModuleStep {
  std::string kind, name, shape, plan, groups, text, assembly;
  std::vector<std::string> fused;
  int depth = 0;
};
struct ModuleDescription {
  std::string module;
  int64_t replicas = 1, partitions = 1;
  std::vector<std::string> parameters, results; ///< `partial.1: f32[4,16]`
  std::vector<ModuleStep> steps;
};
/// Compiles everything and runs nothing; GPUs need not be there.
ModuleDescription describeModule(const ModuleRequest &request);

} // namespace heddle
