// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes the text of a plan's kernel to compile(), with the options that all kernels of collectives have.
#include "collectives/kernel/CompileKernel.h"
#include "collectives/KernelSource.h"
#include "collectives/kernel/CollectiveKernel.h"
#include "compiler/pipeline/CompileModule.h"
#include <map>
#include <mutex>

using namespace mlir;

namespace heddle {

std::string kernelText(const Plan &plan) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadCollectiveDialects(context);
  OwningOpRef<ModuleOp> module = writeKernel(context, plan, BufferOperands(plan.collective.type, plan.streams));
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text;
}

CompileOptions compileOptionsOf(const Plan &plan) {
  CompileOptions options;
  options.chip = plan.chip;
  options.exactMath = true;
  options.verifyEach = false; // what one writer makes of plans is verified where levels end, in all builds
  if (plan.isGpu())
    options.warps = plan.warps;
  return options;
}

Package compileKernel(const Plan &plan) {
  static std::mutex mutex;
  static std::map<std::string, Package> known;
  std::string key = kernelKey(plan);
  {
    std::lock_guard lock(mutex);
    if (auto found = known.find(key); found != known.end())
      return found->second;
  }
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadCollectiveDialects(context);
  OwningOpRef<ModuleOp> module = writeKernel(context, plan, BufferOperands(plan.collective.type, plan.streams));
  Package package = compileModule(*module, key, compileOptionsOf(plan)).package;
  std::lock_guard lock(mutex);
  return known.emplace(key, std::move(package)).first->second;
}

std::shared_ptr<const KernelSource> compiledKernels() {
  struct Compiled : KernelSource {
    Package kernelOf(const Plan &plan) const override { return compileKernel(plan); }
  };
  static const auto compiled = std::make_shared<const Compiled>();
  return compiled;
}

} // namespace heddle
