// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parsing, launching, and the walk over blocks; what each operation does is in the tables of the other files.
#include "tests/reference/Evaluator.h"
#include "compiler/dialects/triton/Triton.h"
#include "compiler/dialects/ttg/TritonGpu.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "support/Error.h"
#include "tests/reference/Program.h"

using namespace mlir;
using namespace heddle::reference;

void heddle::reference::registerDialects(DialectRegistry &registry) {
  registry.insert<triton::TritonDialect, triton::gpu::TritonGpuDialect, arith::ArithDialect, cf::ControlFlowDialect,
                  gpu::GPUDialect, LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect, ub::UBDialect>();
}

std::string heddle::reference::describeLocation(Location location) {
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return describeLocation(call.getCallee());
  if (auto name = dyn_cast<NameLoc>(location))
    return describeLocation(name.getChildLoc());
  if (auto fused = dyn_cast<FusedLoc>(location))
    return fused.getLocations().empty() ? "" : describeLocation(fused.getLocations().front());
  if (auto file = dyn_cast<FileLineColLoc>(location))
    return file.getFilename().str() + ":" + std::to_string(file.getLine()) + ":" + std::to_string(file.getColumn());
  return "";
}

const HandlerTable &heddle::reference::handlers() {
  static const HandlerTable table = [] {
    HandlerTable handlers;
    addIntegerHandlers(handlers);
    addFloatHandlers(handlers);
    addConversionHandlers(handlers);
    addShapeHandlers(handlers);
    addRegionHandlers(handlers);
    addDotHandlers(handlers);
    addMemoryHandlers(handlers);
    addBlockHandlers(handlers);
    addControlHandlers(handlers);
    return handlers;
  }();
  return table;
}

namespace {
/// An error that already names its location.
struct LocatedError : heddle::Error {
  using Error::Error;
};
} // namespace

Inputs Program::inputsOf(Operation *op) {
  Inputs inputs;
  for (Value operand : op->getOperands())
    inputs.tiles.push_back(&values.at(operand.getAsOpaquePointer()));
  return inputs;
}

Results Program::copyOperands(OperandRange operands) {
  Results copies;
  for (Value operand : operands)
    copies.push_back(values.at(operand.getAsOpaquePointer()));
  return copies;
}

void Program::bind(ValueRange names, Results results) {
  if (names.size() != results.size())
    throw internalError("the reference evaluator has " + std::to_string(results.size()) + " values for " +
                        std::to_string(names.size()) + " names");
  for (size_t i = 0; i < results.size(); ++i)
    values[names[i].getAsOpaquePointer()] = std::move(results[i]);
}

void Program::execute(Operation *op) {
  auto handler = handlers().find(op->getName().getStringRef());
  if (handler == handlers().end())
    throw inputError("the reference evaluator does not know this operation");
  bind(op->getResults(), handler->second(*this, op, inputsOf(op)));
}

Results Program::runRegion(Region &region, const Results &arguments, Operation **terminator) {
  Block *block = &region.front();
  bind(block->getArguments(), arguments);
  while (true) {
    Operation *op = &block->front();
    try {
      for (; !op->hasTrait<OpTrait::IsTerminator>(); op = op->getNextNode()) {
        if (--launch.operationsLeft < 0)
          throw inputError("the program does not end: operation limit reached");
        execute(op);
      }
    } catch (const LocatedError &) {
      throw;
    } catch (const Error &error) {
      std::string where = describeLocation(op->getLoc());
      throw LocatedError(error.kind, (where.empty() ? "" : where + ": ") + "error: '" +
                                         op->getName().getStringRef().str() + "': " + error.what());
    }
    if (auto branch = dyn_cast<cf::BranchOp>(op)) {
      block = branch.getDest();
      bind(block->getArguments(), copyOperands(branch.getDestOperands()));
    } else if (auto branch = dyn_cast<cf::CondBranchOp>(op)) {
      bool taken = values.at(branch.getCondition().getAsOpaquePointer()).bits[0];
      Results passed = copyOperands(taken ? branch.getTrueDestOperands() : branch.getFalseDestOperands());
      block = taken ? branch.getTrueDest() : branch.getFalseDest();
      bind(block->getArguments(), std::move(passed));
    } else {
      if (terminator)
        *terminator = op;
      return copyOperands(op->getOperands());
    }
  }
}

Results Program::callFunction(Region &body, const Results &arguments) {
  std::unordered_map<const void *, Tile> caller = std::move(values);
  values.clear();
  Results results = runRegion(body, arguments);
  values = std::move(caller);
  return results;
}

// A descriptor is the base; the arguments after it are its sizes (i32) and strides (i64). Outside it reads as zero.
static Tile passDescriptor(ArrayRef<Type> types, std::vector<Argument> &arguments, size_t index) {
  auto rank = size_t(cast<heddle::triton::TensorDescType>(types[index]).getBlockType().getRank());
  if (types.size() - index <= 2 * rank)
    throw heddle::inputError("argument " + std::to_string(index) +
                             " is a descriptor without sizes and strides after it");
  Tile descriptor{types[index],
                  {uint64_t(arguments[index].bytes.data()), uint64_t(heddle::triton::PaddingOption::Zero)}};
  for (size_t i = index + 1; i <= index + 2 * rank; ++i)
    descriptor.bits.push_back(types[i].isInteger(32) ? uint64_t(int64_t(int32_t(arguments[i].bits)))
                                                     : arguments[i].bits);
  return descriptor;
}

void heddle::reference::evaluate(ModuleOp module, const Grid &grid, std::vector<Argument> &arguments,
                                 const Options &options) {
  int count = 0;
  triton::FuncOp kernel = triton::findKernel(module, count);
  if (!kernel)
    throw inputError("the module has " + std::to_string(count) + " public functions instead of one");
  ArrayRef<Type> types = kernel.getArgumentTypes();
  if (types.size() != arguments.size())
    throw inputError("the kernel takes " + std::to_string(types.size()) + " arguments, not " +
                     std::to_string(arguments.size()));
  Results passed;
  for (size_t i = 0; i < types.size(); ++i) {
    if (isa<triton::TensorDescType>(types[i])) {
      passed.push_back(passDescriptor(types, arguments, i));
      continue;
    }
    if (!isa<triton::PointerType>(types[i]) && !types[i].isIntOrFloat())
      throw inputError("the reference evaluator cannot pass argument " + std::to_string(i));
    Argument &argument = arguments[i];
    passed.push_back(filled(types[i], argument.isBuffer ? uint64_t(argument.bytes.data()) : argument.bits));
  }
  Launch launch{Memory(arguments), grid, options, options.maxOperations};
  std::vector<Grid> instances;
  for (int32_t z = 0; z < grid.z; ++z)
    for (int32_t y = 0; y < grid.y; ++y)
      for (int32_t x = 0; x < grid.x; ++x)
        instances.push_back({x, y, z});
  if (options.contrary)
    std::reverse(instances.begin(), instances.end());
  for (const Grid &id : instances)
    Program(launch, id).runRegion(kernel.getBody(), passed);
}

void heddle::reference::evaluateText(const std::string &text, const Grid &grid, std::vector<Argument> &arguments,
                                     const Options &options) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  std::string diagnostics;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    llvm::raw_string_ostream(diagnostics) << diagnostic.getLocation() << ": " << diagnostic << "\n";
    return success();
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  if (!module)
    throw inputError("the module does not parse: " + diagnostics);
  evaluate(*module, grid, arguments, options);
}
