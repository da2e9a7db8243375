// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Propagates divergence from its sources through values and control flow until nothing changes.
#include "compiler/analysis/Uniformity.h"
#include "compiler/dialects/simt/Simt.h"
#include "compiler/dialects/triton/Triton.h"
#include "mlir/Analysis/DataFlow/SparseAnalysis.h"
#include "mlir/Analysis/DataFlow/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::analysis;
using namespace heddle::triton;

namespace {

// ---- Values by their operands ----

struct Agreement {
  enum State { Unknown, Uniform, Divergent } state = Unknown;
  bool operator==(const Agreement &) const = default;
  static Agreement join(const Agreement &a, const Agreement &b) { return {std::max(a.state, b.state)}; }
  void print(raw_ostream &os) const {
    os << (state == Divergent ? "divergent" : state == Uniform ? "uniform" : "unknown");
  }
};
using AgreementLattice = dataflow::Lattice<Agreement>;

/// A wait for a word whose upper half tells one write of it from all others: every thread that gets the word gets the
/// same one. A thread whose time ran out may have another; then the kernel fails, and since a barrier counts only
/// threads that have not ended, none waits for ever.
bool waitsForOneWrite(ExternElementwiseOp call) {
  StringRef symbol = call.getSymbol();
  return symbol.starts_with("__heddle_atomicspinwait_") && symbol.contains("_hi") &&
         !isa<RankedTensorType>(call.getType());
}

/// Whether its results may differ from thread to thread though its operands do not.
bool isSource(Operation *op) {
  if (auto call = dyn_cast<ExternElementwiseOp>(op))
    return (!call.getPure() || call->getNumOperands() == 0) && !waitsForOneWrite(call);
  if (isa<ElementwiseInlineAsmOp, simt::WarpIdOp>(op))
    return true;
  if (isa<LoadOp, AtomicRMWOp, AtomicCASOp, AtomicLoadOp, AtomicPollOp, simt::GlobalLoadOp, simt::GlobalUpdateOp,
          simt::BufferUpdateOp, simt::GlobalSwapOp, simt::GlobalAtomicLoadOp, simt::GlobalWaitOp, simt::AllocOp,
          simt::PrintRoomOp>(op) ||
      isa<RegionBranchOpInterface>(op))
    return false;
  bool hasScalar = llvm::any_of(op->getResultTypes(), [](Type type) { return !isa<RankedTensorType>(type); });
  return hasScalar && !isMemoryEffectFree(op);
}

class ValueAnalysis : public dataflow::SparseForwardDataFlowAnalysis<AgreementLattice> {
public:
  using SparseForwardDataFlowAnalysis::SparseForwardDataFlowAnalysis;

  LogicalResult visitOperation(Operation *op, ArrayRef<const AgreementLattice *> operands,
                               ArrayRef<AgreementLattice *> results) override {
    Agreement together{isSource(op) ? Agreement::Divergent : Agreement::Uniform};
    constexpr unsigned deadline = 2; // of a wait, by each thread's own clock
    auto call = dyn_cast<ExternElementwiseOp>(op);
    bool isWait = call && waitsForOneWrite(call);
    for (auto [number, operand] : llvm::enumerate(operands)) {
      if (isWait && number == deadline)
        continue;
      if (operand->getValue().state == Agreement::Unknown)
        return success(); // it is visited again
      together = Agreement::join(together, operand->getValue());
    }
    if (isa<AtomicPollOp, simt::GlobalWaitOp>(op) || isAny(op))
      together.state = Agreement::Uniform;
    for (AgreementLattice *result : results)
      propagateIfChanged(result, result->join(together));
    return success();
  }

  /// A loop's counter is what its bounds are.
  void visitNonControlFlowArguments(Operation *op, const RegionSuccessor &successor,
                                    ArrayRef<AgreementLattice *> arguments, unsigned first) override {
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop || successor.isParent())
      return SparseForwardDataFlowAnalysis::visitNonControlFlowArguments(op, successor, arguments, first);
    ProgramPoint *point = getProgramPointBefore(&loop.getRegion().front());
    AgreementLattice *counter = getLatticeElement(loop.getInductionVar());
    for (Value bound : {loop.getLowerBound(), loop.getStep()})
      propagateIfChanged(counter, counter->join(getLatticeElementFor(point, bound)->getValue()));
  }

  void setToEntryState(AgreementLattice *lattice) override {
    auto argument = dyn_cast<BlockArgument>(lattice->getAnchor());
    bool isParameter = argument && isa<FunctionOpInterface>(argument.getOwner()->getParentOp());
    propagateIfChanged(lattice, lattice->join(Agreement{isParameter ? Agreement::Uniform : Agreement::Divergent}));
  }
};

// ---- Values and code by what decides on them ----

class ControlAnalysis : public DataFlowAnalysis {
public:
  ControlAnalysis(DataFlowSolver &solver, llvm::DenseSet<Block *> &blocks) : DataFlowAnalysis(solver), blocks(blocks) {}

  LogicalResult initialize(Operation *top) override {
    function = top;
    top->walk([&](Operation *op) { (void)visit(getProgramPointAfter(op)); });
    return success();
  }

  LogicalResult visit(ProgramPoint *point) override {
    Operation *op = point->getPrevOp();
    auto differs = [&](Value value) {
      return getOrCreateFor<AgreementLattice>(point, value)->getValue().state == Agreement::Divergent;
    };
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      bool isDivergent = false;
      for (Value bound : {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
        isDivergent |= differs(bound);
      if (isDivergent)
        diverge(op);
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      if (differs(loop.getConditionOp().getCondition()))
        diverge(op);
    } else if (isa<scf::IfOp, scf::IndexSwitchOp>(op)) {
      if (differs(op->getOperand(0)))
        diverge(op);
    } else if (isa<cf::CondBranchOp, cf::SwitchOp>(op)) {
      if (differs(op->getOperand(0)))
        divergeBetween(op->getBlock());
    } else if (isa<RegionBranchOpInterface>(op) && !isa<simt::StageOp>(op)) {
      diverge(op); // nothing says which value decides
    }
    return success();
  }

private:
  void mark(Value value) {
    auto *lattice = getOrCreate<AgreementLattice>(value);
    propagateIfChanged(lattice, lattice->join(Agreement{Agreement::Divergent}));
  }

  /// The regions of `op`, and the results, which are of one region or another, or of one iteration or another.
  void diverge(Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        blocks.insert(&block);
    for (Value result : op->getResults())
      mark(result);
  }

  /// From a divergent branch at the end of `from` to where its ways come together.
  void divergeBetween(Block *from) {
    Block *end = from->getSuccessor(0);
    for (Block *next : from->getSuccessors())
      end = end ? dominance.findNearestCommonDominator(end, next) : nullptr;
    llvm::SetVector<Block *> between;
    auto reach = [&](Block *block) {
      for (Block *next : block->getSuccessors())
        if (next != end)
          between.insert(next);
    };
    reach(from);
    for (size_t i = 0; i < between.size(); ++i)
      reach(between[i]);
    for (Block *block : between) {
      blocks.insert(block);
      llvm::for_each(block->getArguments(), [&](Value argument) { mark(argument); });
      for (Operation &op : *block)
        for (Value result : op.getResults()) // that of one iteration or another
          if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !isWithin(user, between); }))
            mark(result);
    }
    if (end)
      llvm::for_each(end->getArguments(), [&](Value argument) { mark(argument); });
  }

  bool isWithin(Operation *op, const llvm::SetVector<Block *> &between) const {
    for (; op && op != function; op = op->getParentOp())
      if (between.contains(op->getBlock()))
        return true;
    return false;
  }

  llvm::DenseSet<Block *> &blocks;
  Operation *function = nullptr;
  PostDominanceInfo dominance;
};

} // namespace

bool heddle::analysis::isAny(Operation *op) {
  if (!isa<ReduceOp, simt::TileReduceOp>(op) || op->getNumOperands() != 1 || !op->getResult(0).getType().isInteger(1))
    return false;
  Block &block = op->getRegion(0).front();
  auto combine = dyn_cast<arith::OrIOp>(block.front());
  return combine && block.getTerminator()->getOperand(0) == combine.getResult() &&
         combine.getLhs() != combine.getRhs() && combine->getNextNode() == block.getTerminator();
}

Uniformity::Uniformity(Operation *function) {
  // Most kernels have nothing that makes threads differ, and need no solver.
  auto found = function->walk(
      [&](Operation *op) { return op != function && isSource(op) ? WalkResult::interrupt() : WalkResult::advance(); });
  if (!found.wasInterrupted())
    return;
  DataFlowSolver solver(DataFlowConfig().setInterprocedural(false));
  dataflow::loadBaselineAnalyses(solver);
  solver.load<ValueAnalysis>();
  solver.load<ControlAnalysis>(blocks);
  bool isSolved = succeeded(solver.initializeAndRun(function));
  auto take = [&](Value value) {
    const auto *lattice = solver.lookupState<AgreementLattice>(value);
    if (!isSolved || !lattice || lattice->getValue().state != Agreement::Uniform)
      values.insert(value);
  };
  function->walk([&](Block *block) {
    llvm::for_each(block->getArguments(), take);
    for (Operation &op : *block)
      llvm::for_each(op.getResults(), take);
    if (!isSolved)
      blocks.insert(block);
  });
}

bool Uniformity::mayDifferInWarp(Value value) const {
  llvm::SetVector<Value> seen;
  seen.insert(value);
  for (size_t i = 0; i < seen.size(); ++i) {
    Operation *op = seen[i].getDefiningOp();
    if (!isDivergent(seen[i]) || isa_and_nonnull<simt::WarpIdOp>(op))
      continue;
    if (!op || op->getNumRegions() || !isMemoryEffectFree(op) || isa<ElementwiseInlineAsmOp, ExternElementwiseOp>(op))
      return true;
    seen.insert(op->operand_begin(), op->operand_end());
  }
  return false;
}

bool Uniformity::isDivergent(Block *block) const {
  for (; block; block = block->getParentOp() ? block->getParentOp()->getBlock() : nullptr)
    if (blocks.contains(block))
      return true;
  return false;
}
