// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sm_90 target without a GPU: compiles the text up to PTX, takes the LLVM IR of one thread that the compilation had
// on its way, and runs it in the thread interpreter.
#include "compiler/pipeline/Compile.h"
#include "support/Error.h"
#include "tests/executors/Executor.h"
#include "tests/thread_interpreter/ThreadInterpreter.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"

using namespace heddle;

namespace {

class ThreadsExecutor : public executors::Executor {
public:
  explicit ThreadsExecutor(executors::ThreadsOptions options) : options(options) {}

  std::string name() const override { return options.optimised ? "threads" : "threads, not optimised"; }

  void run(const std::string &moduleText, const reference::Grid &grid,
           std::vector<reference::Argument> &arguments) override {
    load(moduleText);
    threads::Launch launch;
    launch.grid = {uint32_t(grid.x), uint32_t(grid.y), uint32_t(grid.z)};
    launch.block.x = uint32_t(package.threads);
    launch.dynamicSharedBytes = uint32_t(package.sharedBytes);
    threads::Options machine;
    if (options.cooperative)
      machine.residentBlocks = unsigned(launch.grid.count());
    threads::ThreadInterpreter interpreter(*module, package.entry, machine);
    for (reference::Argument &argument : arguments) {
      std::string name = "argument " + std::to_string(launch.arguments.size());
      launch.arguments.push_back(argument.isBuffer ? uint64_t(argument.bytes.data()) : argument.bits);
      if (argument.isBuffer)
        interpreter.addMemory(argument.bytes.data(), argument.bytes.size(), name);
    }
    launch.arguments.push_back(0); // the launch's record (binary/CudaAbi.h)
    threads::Report report = interpreter.run(launch);
    if (!report.clean())
      throw internalError("the threads of kernel `" + package.kernel + "`: " + report.text());
  }

private:
  void load(const std::string &moduleText) {
    if (module && moduleText == loadedText)
      return;
    module.reset();
    CompileOptions compileOptions;
    compileOptions.target = "sm_90";
    compileOptions.warps = options.warps;
    compileOptions.warpGroups = options.warpGroups;
    compileOptions.keepTextOf = options.optimised ? "optimise" : "llvm-ir";
    CompileResult result = compile(moduleText, "program", compileOptions);
    llvm::SMDiagnostic problem;
    module = llvm::parseAssemblyString(result.text, problem, context);
    if (!module)
      throw internalError("the printed code of a thread does not parse: " + problem.getMessage().str() + ": " +
                          problem.getLineContents().str());
    package = std::move(result.package);
    loadedText = moduleText;
  }

  executors::ThreadsOptions options;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  Package package;
  std::string loadedText;
};

} // namespace

std::unique_ptr<executors::Executor> executors::makeThreadsExecutor(ThreadsOptions options) {
  return std::make_unique<ThreadsExecutor>(options);
}
