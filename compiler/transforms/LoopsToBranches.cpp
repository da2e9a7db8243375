// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-loops-to-branches: structured control flow to branches. A loop that is known to run at least once tests at its
// end; MLIR's own conversion tests every loop at its start, and LLVM's loop rotation, which would move the test, takes
// time that grows with the square of the number of loops in a function.
#include "compiler/transforms/Passes.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/DialectConversion.h"

namespace heddle {
#define GEN_PASS_DEF_LOOPSTOBRANCHESPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;

namespace {

/// Whether the bounds are constants that let the loop run at least once, and its counter stays in range.
bool runsAtLeastOnce(scf::ForOp loop) {
  APInt lower, upper, step;
  if (loop.getUnsignedCmp() || !matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) ||
      !matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)) || !matchPattern(loop.getStep(), m_ConstantInt(&step)))
    return false;
  bool overflows = false;
  (void)upper.sadd_ov(step, overflows);
  return lower.slt(upper) && step.isStrictlyPositive() && !overflows;
}

struct TestAtTheEnd : OpRewritePattern<scf::ForOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(scf::ForOp loop, PatternRewriter &rewriter) const override {
    if (!runsAtLeastOnce(loop))
      return failure();
    Location loc = loop.getLoc();
    Block *before = rewriter.getInsertionBlock();
    Block *after = rewriter.splitBlock(before, rewriter.getInsertionPoint());
    Block *first = loop.getBody(), *last = &loop.getRegion().back();
    rewriter.inlineRegionBefore(loop.getRegion(), after);

    SmallVector<Value> entering = {loop.getLowerBound()};
    llvm::append_range(entering, loop.getInitArgs());
    rewriter.setInsertionPointToEnd(before);
    cf::BranchOp::create(rewriter, loc, first, entering);

    Operation *yield = last->getTerminator();
    rewriter.setInsertionPoint(yield);
    Value next = arith::AddIOp::create(rewriter, loc, first->getArgument(0), loop.getStep());
    Value again = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt, next, loop.getUpperBound());
    SmallVector<Value> repeating = {next};
    llvm::append_range(repeating, yield->getOperands());
    SmallVector<Location> places(loop.getNumResults(), loc);
    SmallVector<Value> results;
    for (BlockArgument argument : after->addArguments(loop.getResultTypes(), places))
      results.push_back(argument);
    rewriter.replaceOpWithNewOp<cf::CondBranchOp>(yield, again, first, repeating, after, yield->getOperands());
    rewriter.replaceOp(loop, results);
    return success();
  }
};

struct LoopsToBranches : heddle::impl::LoopsToBranchesPassBase<LoopsToBranches> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<TestAtTheEnd>(&getContext(), /*benefit=*/2);
    populateSCFToControlFlowConversionPatterns(patterns);
    ConversionTarget target(getContext());
    target.addIllegalDialect<scf::SCFDialect>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    ConversionConfig config;
    config.allowPatternRollback = false;
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace
