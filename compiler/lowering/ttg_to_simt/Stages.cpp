// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stages of warp pipelines. Gluon's own text has a border after each stage, the text after Triton's passes a region for
// each; both become borders, which layouts are resolved around, and then regions of `simt`. Waits and barriers next to
// a border stand between stages.
#include "compiler/dialects/simt/Simt.h"
#include "compiler/dialects/ttg/TritonGpu.h"
#include "compiler/lowering/simt/WarpPipelines.h"
#include "compiler/lowering/ttg_to_simt/TtgToSimt.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using heddle::triton::amdg::ScheduleFenceOp;
using heddle::triton::amdg::stageBorderAttribute;
using heddle::triton::amdg::stageRegionAttribute;

// As Triton spells it.
static constexpr llvm::StringLiteral priorityName = "triton.warp_pipeline.priority";

LogicalResult simt::borderStages(ModuleOp module) {
  module.getContext()->loadDialect<triton::amdg::AmdGpuDialect, SimtDialect>();
  SmallVector<Operation *> found;
  module.walk([&](Operation *op) {
    if (isa<scf::ExecuteRegionOp, ScheduleFenceOp, ROCDL::SchedBarrier, ROCDL::SetPrioOp>(op))
      found.push_back(op);
  });
  for (Operation *op : found) {
    auto region = dyn_cast<scf::ExecuteRegionOp>(op);
    if (isa<ScheduleFenceOp>(op) && op->hasAttr(stageBorderAttribute))
      continue;
    OpBuilder b(op->getContext());
    b.setInsertionPointAfter(op);
    if (Attribute label = op->getAttr(region ? stageRegionAttribute : stageBorderAttribute)) {
      auto border = ScheduleFenceOp::create(b, op->getLoc(), "none");
      border->setAttr(stageBorderAttribute, label);
      if (Attribute priority = op->getAttr(priorityName))
        border->setAttr(priorityName, priority);
    } else if (auto hint = dyn_cast<ScheduleFenceOp>(op)) {
      ScheduleBarrierOp::create(b, op->getLoc(), *triton::amdg::scheduleKinds(hint.getMask()));
    } else if (auto barrier = dyn_cast<ROCDL::SchedBarrier>(op)) {
      if (failed(verify(ScheduleBarrierOp::create(b, op->getLoc(), int64_t(int32_t(barrier.getMask()))))))
        return failure();
    } else if (auto set = dyn_cast<ROCDL::SetPrioOp>(op)) {
      if (failed(verify(SetPriorityOp::create(b, op->getLoc(), int64_t(int16_t(set.getPriority()))))))
        return failure();
    }
    if (region) {
      Block &body = region.getRegion().front();
      op->replaceAllUsesWith(body.getTerminator()->getOperands());
      body.getTerminator()->erase();
      op->getBlock()->getOperations().splice(op->getIterator(), body.getOperations());
    }
    op->erase();
  }
  return success();
}

namespace {

bool isBetweenStages(Operation *op) {
  return isa<BarrierOp, CondBarrierOp, AsyncWaitOp, DotWaitOp, GlobalWaitOp>(op);
}

/// Numbers, views and hints to the scheduler, which may stand between stages as well.
bool isScalarWork(Operation *op) {
  if (isa<ScheduleBarrierOp, SetPriorityOp>(op))
    return true;
  return isPure(op) && op->getNumRegions() == 0 &&
         llvm::none_of(op->getResultTypes(), [](Type type) { return isa<RankedTensorType>(type); });
}

using Operations = SmallVector<Operation *>;

/// The operations of a stage, from those between two borders.
Operations trim(ArrayRef<Operation *> all) {
  auto dropSide = [](ArrayRef<Operation *> ops, bool fromEnd) {
    size_t count = 0, dropped = 0;
    for (; count < ops.size(); ++count) {
      Operation *op = fromEnd ? ops[ops.size() - 1 - count] : ops[count];
      if (isBetweenStages(op))
        dropped = count + 1;
      else if (!isScalarWork(op))
        break;
    }
    return fromEnd ? ops.drop_back(dropped) : ops.drop_front(dropped);
  };
  all = dropSide(dropSide(all, /*fromEnd=*/false), /*fromEnd=*/true);
  return Operations(all);
}

class StageMaker {
public:
  explicit StageMaker(Block &block) : block(block) {}
  LogicalResult run();

private:
  void makeStage(Operations ops, Operation *border);
  Operations takeScalarsUsedOutside(Operations &ops);

  Block &block;
};

} // namespace

/// Scalars that later stages need too are computed before the stage, where their operands allow.
Operations StageMaker::takeScalarsUsedOutside(Operations &ops) {
  llvm::SetVector<Operation *> inside(ops.begin(), ops.end()), taken;
  auto isUsedOutside = [&](Operation *op) {
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      Operation *here = block.findAncestorOpInBlock(*user);
      return !here || !inside.contains(here) || taken.contains(here);
    });
  };
  for (Operation *op : llvm::reverse(ops))
    if (isScalarWork(op) && isUsedOutside(op))
      taken.insert(op);
  Operations outside;
  llvm::SetVector<Operation *> made;
  for (Operation *op : ops) { // those of which all operands are there
    bool isThere = llvm::all_of(op->getOperands(), [&](Value operand) {
      Operation *from = operand.getDefiningOp();
      return !from || !inside.contains(from) || made.contains(from);
    });
    if (taken.contains(op) && isThere) {
      made.insert(op);
      outside.push_back(op);
    }
  }
  llvm::erase_if(ops, [&](Operation *op) { return made.contains(op); });
  return outside;
}

void StageMaker::makeStage(Operations ops, Operation *border) {
  // What is taken out keeps its order, before the stage.
  Operation *place = ops.empty() ? border : ops.front();
  for (Operation *op : takeScalarsUsedOutside(ops)) {
    if (op == place)
      place = op->getNextNode();
    else
      op->moveBefore(place);
  }
  OpBuilder b(border);
  if (!ops.empty()) // waits that the text has before the border stand after the stage
    b.setInsertionPointAfter(ops.back());
  auto label = border->getAttrOfType<StringAttr>(stageBorderAttribute);
  auto priority = border->getAttrOfType<IntegerAttr>(priorityName);
  simt::makeStage(b, border->getLoc(), ops, label ? label.getValue() : "last_cluster",
                  priority ? std::optional(priority.getInt()) : std::nullopt);
}

LogicalResult StageMaker::run() {
  bool isLoop = isa<scf::ForOp>(block.getParentOp());
  Operations open, borders;
  std::vector<std::pair<Operations, Operation *>> pieces;
  for (Operation &op : block) {
    if (isa<ScheduleFenceOp>(op)) {
      borders.push_back(&op);
      pieces.push_back({trim(open), &op});
      open.clear();
    } else if (&op == block.getTerminator()) {
      Operations last = trim(open);
      if (isLoop && !llvm::all_of(last, isScalarWork))
        pieces.push_back({last, &op});
    } else if (!isLoop && pieces.empty() && (isBetweenStages(&op) || isa<LoopLikeOpInterface>(op))) {
      open.clear(); // what comes before a flat pipeline
    } else {
      open.push_back(&op);
    }
  }
  if (pieces.size() < 2)
    return borders.front()->emitError()
           << "the border of the only stage of a pipeline (rule W1): there are two or more stages";
  for (auto &[ops, border] : pieces)
    makeStage(ops, border);
  for (Operation *border : borders)
    border->erase();
  return success();
}

LogicalResult simt::makeStages(triton::FuncOp function) {
  llvm::SetVector<Block *> blocks;
  function.walk([&](ScheduleFenceOp border) { blocks.insert(border->getBlock()); });
  for (Block *block : blocks)
    if (isa<scf::ForOp, triton::FuncOp>(block->getParentOp()) && failed(StageMaker(*block).run()))
      return failure();
  SmallVector<ScheduleFenceOp> ignored; // of a branch, where no pipeline is
  function.walk([&](ScheduleFenceOp border) { ignored.push_back(border); });
  for (ScheduleFenceOp border : ignored)
    border.erase();
  return success();
}
