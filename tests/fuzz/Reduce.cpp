// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Drops operations in ever smaller groups, and keeps a drop where the difference stays.
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

// What may be dropped. The region of a reduction or a scan must stay associative, so it goes with its operation or not
// at all.
static std::vector<Operation *> operationsOf(ModuleOp module) {
  std::vector<Operation *> operations;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isa<ModuleOp, triton::FuncOp, arith::ConstantOp>(op) && !op->hasTrait<OpTrait::IsTerminator>())
      operations.push_back(op);
    return isa<triton::ReduceOp, triton::ScanOp>(op) ? WalkResult::skip() : WalkResult::advance();
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

// False when nothing could be dropped.
static bool dropOperations(const std::vector<Operation *> &operations) {
  bool dropped = false;
  for (auto op = operations.rbegin(); op != operations.rend(); ++op) { // nested operations come after their parent
    dropped |= dropOperation(*op);
  }
  return dropped;
}

// Whether `candidate` fails as the whole program did: by a wrong value, or by the same error.
static bool stillDiffers(const FuzzProgram &candidate, Executor &executor, const Difference &original) {
  try {
    auto difference = checkProgram(candidate, executor);
    return difference && difference->failure == original.failure;
  } catch (const Error &) {
    return false; // dropping made the program invalid
  }
}

FuzzProgram heddle::fuzz::reduceProgram(const FuzzProgram &program, Executor &executor, const Difference &original,
                                        int attempts) {
  DialectRegistry registry;
  reference::registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  FuzzProgram smallest = program;
  FuzzProgram single = smallest;
  single.grid = {1, 1, 1};
  if (stillDiffers(single, executor, original))
    smallest = single;
  // Halves, quarters, ... single operations, each from the last to the first, so that users go before what they use.
  for (size_t chunk = 256; chunk > 0; chunk /= 2) {
    for (size_t fromEnd = 0; attempts-- > 0;) {
      OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(smallest.text, ParserConfig(&context));
      std::vector<Operation *> operations = operationsOf(*module);
      if (fromEnd >= operations.size())
        break;
      size_t end = operations.size() - fromEnd, begin = end > chunk ? end - chunk : 0;
      FuzzProgram candidate = smallest;
      if (dropOperations({operations.begin() + begin, operations.begin() + end}) && succeeded(verify(*module))) {
        eraseDeadOperations(*module);
        candidate.text.clear();
        llvm::raw_string_ostream(candidate.text) << *module;
        if (candidate.text != smallest.text && stillDiffers(candidate, executor, original)) {
          smallest = candidate;
          continue;
        }
      }
      fromEnd += chunk;
    }
  }
  return smallest;
}
