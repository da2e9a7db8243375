// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-inline-calls: the kernel becomes one function. Helpers are completed before they are copied into their
// callers; one that returns early is first given a single exit, because a call may stand in a loop or branch.
#include "compiler/dialects/triton/Triton.h"
#include "compiler/transforms/Passes.h"
#include "mlir/Conversion/ControlFlowToSCF/ControlFlowToSCF.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CFGToSCF.h"
#include "mlir/Transforms/RegionUtils.h"

namespace heddle {
#define GEN_PASS_DEF_INLINECALLSPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle::triton;

namespace {

class Inliner {
public:
  explicit Inliner(ModuleOp module) : symbols(module) {}

  /// Leaves no call in `function`.
  LogicalResult complete(FuncOp function) {
    if (completed.contains(function))
      return success();
    path.push_back(function);
    SmallVector<CallOp> calls;
    function.walk([&](CallOp call) { calls.push_back(call); });
    for (CallOp call : calls)
      if (failed(inlineCall(call)))
        return failure();
    path.pop_back();
    completed.insert(function);
    return success();
  }

private:
  LogicalResult inlineCall(CallOp call) {
    auto callee = symbols.lookup<FuncOp>(call.getCallee());
    if (!callee || callee.isExternal())
      return call.emitError("call of `") << call.getCallee() << "`, which has no body in this module";
    if (llvm::is_contained(path, callee))
      return refuseCycle(call, callee);
    if (failed(complete(callee)) || failed(giveSingleExit(callee)))
      return failure();
    IRMapping values;
    Block &body = callee.getBody().front();
    values.map(body.getArguments(), call.getArgOperands());
    OpBuilder builder(call);
    for (Operation &op : body.without_terminator()) {
      Operation *copy = builder.clone(op, values);
      copy->walk([&](Operation *inner) { inner->setLoc(CallSiteLoc::get(inner->getLoc(), call.getLoc())); });
    }
    for (auto [result, returned] : llvm::zip_equal(call.getResults(), body.getTerminator()->getOperands()))
      result.replaceAllUsesWith(values.lookupOrDefault(returned));
    call.erase();
    return success();
  }

  LogicalResult refuseCycle(CallOp call, FuncOp callee) {
    std::string cycle;
    for (FuncOp function : ArrayRef(llvm::find(path, callee), path.end()))
      cycle += "`" + function.getName().str() + "` calls ";
    return call.emitError("recursive call: ") << cycle << "`" << callee.getName() << "`";
  }

  LogicalResult giveSingleExit(FuncOp function) {
    // Triton's front end leaves a block after each return that nothing comes to.
    IRRewriter rewriter(function.getContext());
    (void)eraseUnreachableBlocks(rewriter, function->getRegions());
    if (function.getBody().hasOneBlock())
      return success();
    ControlFlowToSCFTransformation transformation;
    DominanceInfo dominance(function);
    if (succeeded(transformCFGToSCF(function.getBody(), transformation, dominance)) && function.getBody().hasOneBlock())
      return success();
    return function.emitError("the control flow of `")
           << function.getName() << "` cannot be made structured for inlining";
  }

  SymbolTable symbols;
  SmallVector<FuncOp> path; ///< functions being completed, each called by the one before
  llvm::SmallPtrSet<Operation *, 8> completed;
};

struct InlineCallsPass : heddle::impl::InlineCallsPassBase<InlineCallsPass> {
  void runOnOperation() override {
    Inliner inliner(getOperation());
    SmallVector<FuncOp> functions(getOperation().getOps<FuncOp>());
    for (FuncOp function : functions)
      if (failed(inliner.complete(function)))
        return signalPassFailure();
    for (FuncOp function : functions)
      if (function.isPrivate())
        function.erase();
  }
};

} // namespace
