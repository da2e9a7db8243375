// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Executors of the reference evaluator, on the program as it is and after the tile passes.
#include "tests/executors/Executor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "runtime/drivers/simulated/SimulatedDriver.h"
#include "support/Error.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::executors;
using heddle::reference::Argument;
using heddle::reference::Grid;

namespace {

class ReferenceExecutor : public Executor {
public:
  explicit ReferenceExecutor(uint64_t undefinedBits) : undefinedBits(undefinedBits) {}
  std::string name() const override { return "reference"; }
  void run(const std::string &text, const Grid &grid, std::vector<Argument> &arguments) override {
    heddle::reference::evaluateText(text, grid, arguments, {.undefinedBits = undefinedBits});
  }

private:
  uint64_t undefinedBits;
};

class SimplifiedExecutor : public Executor {
public:
  std::string name() const override { return "contrary reference after canonicalize,cse"; }
  void run(const std::string &text, const Grid &grid, std::vector<Argument> &arguments) override {
    DialectRegistry registry;
    heddle::reference::registerDialects(registry);
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
    if (!module)
      throw inputError("the module does not parse");
    PassManager passes(&context);
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createCSEPass());
    if (failed(passes.run(*module)))
      throw internalError("canonicalize,cse failed");
    std::string simplified;
    llvm::raw_string_ostream(simplified) << *module;
    heddle::reference::evaluateText(simplified, grid, arguments,
                                    {.contrary = true, .undefinedBits = 0x5a5a5a5a5a5a5a5a});
  }
};

} // namespace

std::unique_ptr<Executor> heddle::executors::makeReferenceExecutor(uint64_t undefinedBits) {
  return std::make_unique<ReferenceExecutor>(undefinedBits);
}

std::unique_ptr<Executor> heddle::executors::makeSimplifiedExecutor() {
  return std::make_unique<SimplifiedExecutor>();
}

std::unique_ptr<Executor> heddle::executors::makeExecutor(const std::string &name) {
  llvm::StringRef device = name;
  bool exact = device.consume_back("_exact"), checked = device.consume_back("_checked"),
       cooperative = device.consume_back("_cooperative");
  if (device == "reference")
    return makeReferenceExecutor();
  if (device == "simplified")
    return makeSimplifiedExecutor();
  bool optimised = !device.consume_back("_unoptimised"), predicated = device.consume_back("_predicated");
  int warps = 4;
  llvm::StringRef number = device;
  if (device == "threads" || (number.consume_front("threads") && !number.getAsInteger(10, warps)))
    return makeThreadsExecutor(
        {.optimised = optimised, .predicated = predicated, .cooperative = cooperative, .warps = warps});
  addSimulatedDrivers();
  return makeDeviceExecutor(device.str(), {.checked = checked, .cooperative = cooperative, .exactMath = exact});
}
