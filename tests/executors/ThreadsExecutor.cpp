// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sm_90 target without a GPU: compiles the text up to PTX, takes the LLVM IR of one thread that the compilation had
// in flight, and runs it in the thread interpreter.
#include "compiler/pipeline/Compile.h"
#include "runtime/LaunchReport.h"
#include "support/Error.h"
#include "tests/executors/Executor.h"
#include "tests/thread_interpreter/ThreadInterpreter.h"
#include "tests/thread_interpreter/decode/ParseCode.h"
#include "tests/threads_driver/TensorMaps.h"
#include "llvm/IR/LLVMContext.h"

using namespace heddle;

namespace {

/// The code of one thread, and its package.
class ThreadCode {
public:
  ThreadCode(const std::string &moduleText, const std::string &phase, const executors::ThreadsOptions &wanted) {
    CompileOptions options;
    options.target = "sm_90";
    options.warps = wanted.warps;
    options.warpGroups = wanted.warpGroups;
    options.warpPipelines = parseWarpPipelines("warpPipelines", wanted.warpPipelines);
    options.resumeAfter = wanted.resumeAfter;
    options.keepTextOf = phase;
    CompileResult result = compile(moduleText, "program", options);
    module = threads::parseCode(result.text, context);
    package = std::move(result.package);
  }

  threads::ThreadInterpreter interpreter(threads::Options options = {}) const {
    return threads::ThreadInterpreter(*module, package.entry, options);
  }

  /// A launch over `grid`, whose buffers and record are known to `interpreter`.
  threads::Launch launch(const reference::Grid &grid, std::vector<reference::Argument> &arguments,
                         std::vector<uint64_t> &record, threads::ThreadInterpreter &interpreter) const {
    threads::Launch launch;
    launch.grid = {uint32_t(grid.x), uint32_t(grid.y), uint32_t(grid.z)};
    launch.block.x = uint32_t(package.threads);
    launch.dynamicSharedBytes = uint32_t(package.sharedBytes);
    for (reference::Argument &argument : arguments) {
      std::string name = "argument " + std::to_string(launch.arguments.size());
      launch.arguments.push_back(argument.isBuffer ? uint64_t(argument.bytes.data()) : argument.bits);
      if (argument.isBuffer)
        interpreter.addMemory(argument.bytes.data(), argument.bytes.size(), name);
    }
    launch.tensorMaps = threads::encodeTensorMaps(package, launch.arguments);
    record.assign(package.sites.empty() ? 0 : size_t(launchRecordBytes) / sizeof(uint64_t), 0);
    launch.arguments.push_back(record.empty() ? 0 : uint64_t(record.data()));
    interpreter.addMemory(record.data(), record.size() * sizeof(uint64_t), "the launch's record");
    return launch;
  }

  void requireClean(const threads::Report &report) const {
    if (!report.clean())
      throw internalError("the threads of kernel `" + package.kernel + "`: " + report.text());
  }

  /// What the runtime makes of the record: prints, and the error of an assertion.
  void report(const reference::Grid &grid, const std::vector<uint64_t> &record) const {
    if (!record.empty())
      reportLaunch(package, {grid.x, grid.y, grid.z}, record.data());
  }

private:
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  Package package;
};

class ThreadsExecutor : public executors::Executor {
public:
  explicit ThreadsExecutor(executors::ThreadsOptions options) : options(options) {}

  std::string name() const override {
    return options.predicated ? "threads, predicated" : options.optimised ? "threads" : "threads, not optimised";
  }

  void run(const std::string &moduleText, const reference::Grid &grid,
           std::vector<reference::Argument> &arguments) override {
    if (!code || moduleText != loadedText) {
      const char *phase = options.predicated ? "predicate-accesses" : options.optimised ? "optimise" : "llvm-ir";
      code = std::make_unique<ThreadCode>(moduleText, phase, options);
      loadedText = moduleText;
    }
    threads::Options machine;
    if (options.cooperative)
      machine.residentBlocks = unsigned(grid.x * grid.y * grid.z);
    threads::ThreadInterpreter interpreter = code->interpreter(machine);
    std::vector<uint64_t> record;
    code->requireClean(interpreter.run(code->launch(grid, arguments, record, interpreter)));
    code->report(grid, record);
  }

private:
  executors::ThreadsOptions options;
  std::unique_ptr<ThreadCode> code;
  std::string loadedText;
};

} // namespace

std::unique_ptr<executors::Executor> executors::makeThreadsExecutor(ThreadsOptions options) {
  return std::make_unique<ThreadsExecutor>(options);
}

executors::BarrierTrial executors::tryBarriers(const std::string &moduleText, const reference::Grid &grid,
                                               const std::vector<reference::Argument> &arguments, int warps) {
  ThreadsOptions options;
  options.warps = warps;
  options.warpGroups = false;
  return tryBarriers(moduleText, grid, arguments, options);
}

executors::BarrierTrial executors::tryBarriers(const std::string &moduleText, const reference::Grid &grid,
                                               const std::vector<reference::Argument> &arguments,
                                               const ThreadsOptions &options) {
  ThreadCode code(moduleText, "llvm-ir", options);
  auto run = [&](std::optional<unsigned> without) {
    std::vector<reference::Argument> own = arguments;
    std::vector<uint64_t> record;
    threads::ThreadInterpreter interpreter = code.interpreter();
    threads::Launch launch = code.launch(grid, own, record, interpreter);
    if (without)
      interpreter.removeBarrier(*without);
    return std::pair(interpreter.run(launch), interpreter.barrierCount());
  };
  auto [report, count] = run(std::nullopt);
  code.requireClean(report);
  BarrierTrial trial{count, {}, {}};
  for (unsigned barrier = 0; barrier < count; ++barrier) {
    threads::Report without = run(barrier).first;
    if (!without.has(threads::FindingKind::SharedRace) && !without.has(threads::FindingKind::UnwrittenShared))
      trial.unneeded.push_back(barrier);
    if (without.has(threads::FindingKind::BarrierFault))
      trial.counted.push_back(barrier);
  }
  return trial;
}
