// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/fuzz/Reduce.h"
#include "compiler/dialects/triton/Triton.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "support/Error.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::fuzz;

static std::vector<Operation *> operationsOf(ModuleOp module) {
  std::vector<Operation *> operations;
  module.walk([&](Operation *op) {
    if (!isa<ModuleOp, triton::FuncOp, arith::ConstantOp>(op) && !op->hasTrait<OpTrait::IsTerminator>())
      operations.push_back(op);
  });
  return operations;
}

static void eraseDeadOperations(ModuleOp module) {
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<Operation *> dead;
    module.walk([&](Operation *op) {
      if (isOpTriviallyDead(op))
        dead.push_back(op);
    });
    for (Operation *op : dead)
      if (op->use_empty()) {
        op->erase();
        changed = true;
        break; // it may have held others of the list
      }
  }
}

// Removes `op`, with zeros for its results. False when a result has no zero.
static bool dropOperation(Operation *op) {
  OpBuilder builder(op);
  for (Value result : op->getResults()) {
    if (result.use_empty())
      continue;
    if (!getElementTypeOrSelf(result.getType()).isIntOrFloat())
      return false;
    result.replaceAllUsesWith(arith::ConstantOp::create(builder, op->getLoc(), builder.getZeroAttr(result.getType())));
  }
  op->erase();
  return true;
}

static bool stillDiffers(const FuzzProgram &candidate, Executor &executor) {
  try {
    return checkProgram(candidate, executor).has_value();
  } catch (const Error &) {
    return false; // dropping made the program invalid
  }
}

FuzzProgram heddle::fuzz::reduceProgram(const FuzzProgram &program, Executor &executor, int attempts) {
  DialectRegistry registry;
  reference::registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  FuzzProgram smallest = program;
  FuzzProgram single = smallest;
  single.grid = {1, 1, 1};
  if (stillDiffers(single, executor))
    smallest = single;
  // From the last operation to the first, so that users go before what they use.
  size_t fromEnd = 0;
  while (attempts-- > 0) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(smallest.text, ParserConfig(&context));
    std::vector<Operation *> operations = operationsOf(*module);
    if (fromEnd >= operations.size())
      break;
    FuzzProgram candidate = smallest;
    candidate.text.clear();
    if (dropOperation(operations[operations.size() - 1 - fromEnd])) {
      eraseDeadOperations(*module);
      if (succeeded(verify(*module))) {
        llvm::raw_string_ostream(candidate.text) << *module;
        if (stillDiffers(candidate, executor)) {
          smallest = candidate;
          continue;
        }
      }
    }
    ++fromEnd;
  }
  return smallest;
}
