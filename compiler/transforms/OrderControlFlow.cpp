// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-order-control-flow: what every lowering relies on of blocks and regions.
#include "compiler/dialects/triton/Triton.h"
#include "compiler/transforms/Passes.h"
#include "mlir/Conversion/ControlFlowToSCF/ControlFlowToSCF.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/RegionGraphTraits.h"
#include "mlir/Transforms/CFGToSCF.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/PostOrderIterator.h"

namespace heddle {
#define GEN_PASS_DEF_ORDERCONTROLFLOWPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle::triton;

namespace {

LogicalResult structureMaps(FuncOp function) {
  bool fine = true;
  function.walk([&](MapElementwiseOp map) {
    if (map.getScalarOp().hasOneBlock())
      return;
    ControlFlowToSCFTransformation transformation;
    DominanceInfo dominance(map);
    fine &= succeeded(transformCFGToSCF(map.getScalarOp(), transformation, dominance));
  });
  return success(fine);
}

void orderBlocks(FuncOp function) {
  IRRewriter rewriter(function.getContext());
  (void)eraseUnreachableBlocks(rewriter, function->getRegions());
  Region &body = function.getBody();
  llvm::ReversePostOrderTraversal<Block *> order(&body.front());
  for (Block *block : SmallVector<Block *>(order.begin(), order.end()))
    block->moveBefore(&body, body.end());
}

struct OrderControlFlowPass : heddle::impl::OrderControlFlowPassBase<OrderControlFlowPass> {
  void runOnOperation() override {
    getOperation()->walk([&](FuncOp function) {
      if (function.isExternal())
        return;
      if (failed(structureMaps(function)))
        return signalPassFailure();
      orderBlocks(function);
    });
  }
};

} // namespace
