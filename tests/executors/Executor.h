// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A way to run a tile program. The fuzzer compares two of them; the numerical tests hold each against plain C++.
#pragma once
#include "tests/reference/Evaluator.h"
#include <memory>

namespace heddle::executors {

class Executor {
public:
  virtual ~Executor() = default;
  virtual std::string name() const = 0;
  /// Runs the kernel of `moduleText` over `grid` and updates the buffers among `arguments` in place. Throws Error when
  /// it cannot.
  virtual void run(const std::string &moduleText, const reference::Grid &grid,
                   std::vector<reference::Argument> &arguments) = 0;
};

/// The reference evaluator; undefined values hold `undefinedBits`.
std::unique_ptr<Executor> makeReferenceExecutor(uint64_t undefinedBits = 0);
/// The reference evaluator on the program after `canonicalize` and `cse`, with the other choice wherever the language
/// leaves one: checks folds, the printed text, and that no output rule asks for more than the language gives.
std::unique_ptr<Executor> makeSimplifiedExecutor();

struct DeviceOptions {
  bool checked = false;               ///< compiled with bounds checks; for `host` only
  bool cooperative = false;           ///< every program instance lives at once
  int warps = 4;                      ///< of a block of a GPU
  int stages = 0;                     ///< CompileOptions::stages
  bool warpGroups = true;             ///< CompileOptions::warpGroups
  bool exactMath = false;             ///< CompileOptions::exactMath
  std::string warpPipelines = "auto"; ///< CompileOptions::warpPipelines
};
/// A device of the runtime (`host:0`, `cuda:1`), and the compiler's target for it. Keeps the kernel of the last text,
/// so that running it again costs no compilation.
std::unique_ptr<Executor> makeDeviceExecutor(const std::string &device, DeviceOptions options = {});

struct ThreadsOptions {
  bool optimised = true;              ///< the code after LLVM's optimiser; else that before it
  bool predicated = false;            ///< the code that becomes PTX, with accesses in inline assembly
  bool cooperative = false;           ///< every program instance lives at once
  int warps = 4;                      ///< of a block
  bool warpGroups = true;             ///< CompileOptions::warpGroups
  std::string warpPipelines = "auto"; ///< CompileOptions::warpPipelines
  std::string resumeAfter = {};       ///< CompileOptions::resumeAfter
};
/// The code for `sm_90`, one thread's LLVM IR, in the thread interpreter. A race in shared memory or a fault of a
/// barrier is an error.
std::unique_ptr<Executor> makeThreadsExecutor(ThreadsOptions options = {});

struct BarrierTrial {
  unsigned barriers = 0;          ///< of the block or of a warp, in the code of a thread before LLVM's optimiser
  std::vector<unsigned> unneeded; ///< those without which no race is seen, in the order of the text
  std::vector<unsigned> counted;  ///< those without which threads wait for others that never come
};
/// Runs the kernel for `sm_90` in the thread interpreter, before LLVM's optimiser, then once more without each of its
/// barriers. Throws when the run with all barriers is not clean.
BarrierTrial tryBarriers(const std::string &moduleText, const reference::Grid &grid,
                         const std::vector<reference::Argument> &arguments, const ThreadsOptions &options);
/// The same of a block of `warps`, without matmuls of warp groups.
BarrierTrial tryBarriers(const std::string &moduleText, const reference::Grid &grid,
                         const std::vector<reference::Argument> &arguments, int warps = 4);

/// By name: `reference`, `simplified`, `host`, `host_checked` (with bounds checks), `host_cooperative`, `threads`,
/// `threads8` (with so many warps; 4), `threads_cooperative`, `threads_unoptimised`, `threads_predicated`, or what
/// openDevice takes
/// (`cuda:0`), `cuda:0_cooperative`, `cuda:0_exact` (without approximations). Throws Error{Input} for others.
std::unique_ptr<Executor> makeExecutor(const std::string &name);

} // namespace heddle::executors
