// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops, conditionals and branches between blocks. Tiles that cross blocks or iterations are carried as their
// registers.
#include "compiler/lowering/simt/RecordCode.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

namespace {
class ControlFlow : public RecordCode {
public:
  using RecordCode::RecordCode;
  void lower(scf::ForOp op);
  void lower(scf::IfOp op);
  void lower(scf::WhileOp op);
  void lower(scf::ConditionOp op) { scf::ConditionOp::create(b, scalar(op.getCondition()), all(op.getArgs())); }
  void lower(scf::YieldOp op) { scf::YieldOp::create(b, all(op.getOperands())); }
  void lower(ReturnOp) { LLVM::ReturnOp::create(b, ValueRange{}); }
  void lower(cf::BranchOp op) { cf::BranchOp::create(b, op.getDest(), all(op.getDestOperands())); }
  void lower(cf::CondBranchOp op);
};
} // namespace

void ControlFlow::lower(scf::ForOp op) {
  auto to = scf::ForOp::create(b, scalar(op.getLowerBound()), scalar(op.getUpperBound()), scalar(op.getStep()),
                               all(op.getInitArgs()), [](OpBuilder &, Location, Value, ValueRange) {});
  to.setUnsignedCmp(op.getUnsignedCmp());
  moveBody(*op.getBody(), *to.getBody(), to.getBody()->getArguments());
  bind(op.getResults(), to.getResults());
}

void ControlFlow::lower(scf::IfOp op) {
  bool hasElse = !op.getElseRegion().empty();
  auto to = scf::IfOp::create(b, threadTypes(op.getResultTypes()), scalar(op.getCondition()),
                              /*addThenBlock=*/true, /*addElseBlock=*/hasElse);
  moveBody(*op.thenBlock(), *to.thenBlock(), {});
  if (hasElse)
    moveBody(*op.elseBlock(), *to.elseBlock(), {});
  bind(op.getResults(), to.getResults());
}

void ControlFlow::lower(scf::WhileOp op) {
  auto to = scf::WhileOp::create(b, threadTypes(op.getResultTypes()), all(op.getInits()), nullptr, nullptr);
  auto move = [&](Block &from, Region &region, bool mayEnd) {
    OpBuilder::InsertionGuard guard(b);
    SmallVector<Type> types = threadTypes(from.getArgumentTypes());
    region.getBlocks().clear();
    Block *block = b.createBlock(&region, {}, types, SmallVector<Location>(types.size(), b.getLoc()));
    if (mayEnd)
      endProgramIf(someProgramFailed(), [] {});
    moveBody(from, *block, block->getArguments());
  };
  // It may wait for a program that is gone.
  bool mayEnd = facts.mayFail && !divergent && !facts.divergent.contains(&op.getAfterBody()->front());
  move(*op.getBeforeBody(), to.getBefore(), false);
  move(*op.getAfterBody(), to.getAfter(), mayEnd);
  bind(op.getResults(), to.getResults());
}

void ControlFlow::lower(cf::CondBranchOp op) {
  cf::CondBranchOp::create(b, scalar(op.getCondition()), op.getTrueDest(), all(op.getTrueDestOperands()),
                           op.getFalseDest(), all(op.getFalseDestOperands()));
}

void simt::addControlFlow(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<ControlFlow, scf::ForOp, scf::IfOp, scf::WhileOp, scf::ConditionOp, scf::YieldOp, ReturnOp, cf::BranchOp,
            cf::CondBranchOp>(patterns, state);
}
