// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// With N stages, the group ahead executes stage i in phase i and the following group in phase i + 1. Each phase ends at
// a barrier: the one before stage k for the group ahead is the one before stage k - 1 for the following group. The
// barrier before the first stage of a loop closes its iterations.
#include "compiler/lowering/simt/WarpPipelines.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

//===-- Finding pipelines ----------------------------------------------------------------------------------------===//

/// What may stand between two stages beside waits and barriers: what computes values, and hints.
static bool isBeside(Operation *op) {
  bool votes = op->walk([](Operation *inner) {
                   return analysis::isAny(inner) ? WalkResult::interrupt() : WalkResult::advance();
                 }).wasInterrupted();
  return isa<ScheduleBarrierOp, SetPriorityOp, AsyncCommitOp, AllocOp, ArriveOp>(op) ||
         (isMemoryEffectFree(op) && !isa<LoopLikeOpInterface>(op) && !votes);
}

static bool isBlockBarrier(Operation *op) {
  auto barrier = dyn_cast<BarrierOp>(op);
  return barrier && !barrier.getWarp();
}

static bool isWait(Operation *op) {
  return isa<AsyncWaitOp, DotWaitOp, WaitArrivalsOp>(op);
}

/// Whether a pipeline goes on after `op`.
static bool continues(Operation *op) {
  return isBeside(op) || isBlockBarrier(op) || isWait(op);
}

WarpPipeline simt::pipelineOf(StageOp stage) {
  WarpPipeline pipeline;
  if ((pipeline.loop = dyn_cast<scf::ForOp>(stage->getParentOp()))) {
    llvm::append_range(pipeline.stages, stage->getBlock()->getOps<StageOp>());
    return pipeline;
  }
  Operation *first = stage;
  for (Operation *op = stage; op && (isa<StageOp>(op) || continues(op)); op = op->getPrevNode())
    if (isa<StageOp>(op))
      first = op;
  for (Operation *op = first; op && (isa<StageOp>(op) || continues(op)); op = op->getNextNode())
    if (auto next = dyn_cast<StageOp>(op))
      pipeline.stages.push_back(next);
  return pipeline;
}

// Both stand in one block (rule S73).
bool simt::isShifted(Operation *op) {
  for (; op && !isa<triton::FuncOp>(op); op = op->getParentOp())
    for (Operation *before = op->getPrevNode(); before && !isa<AlignWarpsOp>(before); before = before->getPrevNode())
      if (isa<ShiftWarpsOp>(before))
        return true;
  return false;
}

StageOp simt::makeStage(OpBuilder &b, Location location, ArrayRef<Operation *> ops, StringRef label,
                        std::optional<int64_t> priority) {
  Block *block = b.getInsertionBlock();
  llvm::SetVector<Operation *> inside(ops.begin(), ops.end());
  auto isOutside = [&](OpOperand &use) {
    Operation *here = block->findAncestorOpInBlock(*use.getOwner());
    return !here || !inside.contains(here);
  };
  SmallVector<Value> left;
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUses(), isOutside))
        left.push_back(result);
  auto stage = StageOp::create(b, location, TypeRange(ValueRange(left)), b.getStringAttr(label),
                               priority ? b.getI64IntegerAttr(*priority) : IntegerAttr());
  Block &body = stage.getBody().emplaceBlock();
  for (auto [value, result] : llvm::zip(left, stage.getResults()))
    value.replaceUsesWithIf(result, isOutside);
  for (Operation *op : ops)
    op->moveBefore(&body, body.end());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&body);
  YieldOp::create(b, location, left);
  return stage;
}

namespace {

/// What stands between two stages, in the order of the text.
struct Slot {
  Operation *end; ///< what follows: a stage, or the end of the loop's body
  SmallVector<Operation *> ops = {};
  BarrierOp barrier = {}; ///< of the text
  bool hasWait = false;
};

class Shifter {
public:
  Shifter(const WarpPipeline &pipeline, BlockShape block, const GpuTarget &target)
      : stages(pipeline.stages), loop(pipeline.loop), block(block), target(target) {
    hasPriorities = target.takesHints() && llvm::any_of(stages, [](StageOp stage) { return stage.getPriority(); });
  }
  LogicalResult check(analysis::Uniformity &uniformity);
  LogicalResult run();

private:
  LogicalResult find(Operation *from, Slot &slot);
  void close(OpBuilder &b, const Slot &slot, StageOp next);
  void setPriority(OpBuilder &b, int64_t priority) {
    if (hasPriorities)
      SetPriorityOp::create(b, loc(), priority);
  }
  static int64_t priorityOf(StageOp stage) { return int64_t(stage.getPriority().value_or(0)); }
  Location loc() { return loop ? loop.getLoc() : first().getLoc(); }
  StageOp first() const { return stages.front(); }
  StageOp last() const { return stages.back(); }

  ArrayRef<StageOp> stages;
  scf::ForOp loop;
  BlockShape block;
  const GpuTarget &target;
  bool hasPriorities = false;
};

} // namespace

/// What ends a pipeline of straight code after this stage, though a stage follows without a loop between; or null.
static Operation *endAfter(StageOp last) {
  Operation *end = nullptr;
  for (Operation *op = last->getNextNode(); op && !isa<LoopLikeOpInterface>(op); op = op->getNextNode()) {
    if (isa<StageOp>(op))
      return end;
    if (!end && !continues(op))
      end = op;
  }
  return nullptr;
}

constexpr const char *notBetween = "stands between two stages of a warp pipeline (rule W3): there may be waits, one "
                                   "barrier, and what computes values there; put it into a stage";

//===-- Rules ----------------------------------------------------------------------------------------------------===//

LogicalResult Shifter::check(analysis::Uniformity &uniformity) {
  StageOp first = this->first();
  // Rule W3: what stands between stages waits, or computes values.
  if (Operation *between = loop ? nullptr : endAfter(last()))
    return between->emitOpError() << notBetween;
  // Rule W1: there is a stage to be apart by.
  if (stages.size() < 2)
    return first.emitOpError() << "'" << first.getLabel()
                               << "' is the only stage of a pipeline (rule W1): there are two or more stages";
  // Rule W5: each of two groups has a warp on each of a multiprocessor's four schedulers.
  if (block.warps != 2 * warpsOfGroup)
    return first.emitOpError() << "'" << first.getLabel() << "' is of a warp pipeline in a block of " << block.warps
                               << " warps (rule W5): there are " << 2 * warpsOfGroup << ", in two groups of "
                               << warpsOfGroup << "; launch the kernel with " << 2 * warpsOfGroup << " warps";
  // Rule W6: all warps execute each stage, equally often.
  if (uniformity.isDivergent(first->getBlock()))
    return first.emitOpError() << "'" << first.getLabel()
                               << "' stands in a branch or loop that not all threads take alike (rule W6): the groups "
                                  "would wait for each other at different barriers";
  if (!loop && isa<LoopLikeOpInterface>(first->getParentOp()))
    return first.emitOpError() << "'" << first.getLabel()
                               << "' stands in a loop that is not `scf.for` (rule W6): stages are pipelined in loops "
                                  "that count";
  for (StageOp stage : stages) {
    WalkResult walked = stage.getBody().walk([&](Operation *op) {
      // Rule W4: no operation of a stage needs a barrier that the text does not show; shared memory: HazardWalk.
      if (analysis::isAny(op))
        return op->emitOpError() << "asks all threads of the block, which takes a barrier, in stage '"
                                 << stage.getLabel() << "' (rule W4): move it before the pipeline or after it",
               WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return failure();
  }
  return success();
}

/// The operations from `from` up to a stage, or to the end of the block.
LogicalResult Shifter::find(Operation *from, Slot &slot) {
  for (Operation *op = from; op != slot.end; op = op->getNextNode()) {
    auto barrier = dyn_cast<BarrierOp>(op);
    // Rule W3: there is one barrier between two stages, and nothing that accesses memory.
    if (barrier && slot.barrier) {
      auto error =
          op->emitOpError() << "is the second barrier between two stages (rule W3): put an empty stage between "
                               "the two, in which the groups are a barrier apart";
      error.attachNote(slot.barrier.getLoc()) << "the first barrier";
      return failure();
    }
    if (!continues(op))
      return op->emitOpError() << notBetween;
    if (barrier)
      slot.barrier = barrier;
    slot.hasWait |= isWait(op);
    slot.ops.push_back(op);
  }
  return success();
}

//===-- Barriers -------------------------------------------------------------------------------------------------===//

/// Whether the text has a wait for a matmul after its barrier there: the matmul goes on while warps wait for each
/// other.
static bool waitsAfterBarrier(const Slot &slot) {
  auto *barrier = llvm::find(slot.ops, BarrierOp(slot.barrier).getOperation());
  return slot.barrier && std::any_of(barrier, slot.ops.end(), [](Operation *op) { return isa<DotWaitOp>(op); });
}

/// Before what ends `slot`, after its waits; the text's own barrier keeps its kind.
void Shifter::close(OpBuilder &b, const Slot &slot, StageOp next) {
  if (waitsAfterBarrier(slot))
    return;
  b.setInsertionPoint(slot.end);
  setPriority(b, priorityOf(next));
  if (target.takesHints())
    ScheduleBarrierOp::create(b, slot.end->getLoc(), 0);
  if (slot.barrier)
    BarrierOp(slot.barrier)->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
  else
    BarrierOp::create(b, slot.end->getLoc(), /*warp=*/false, /*copies=*/false, /*shared=*/true, /*bare=*/false);
  if (target.takesHints())
    ScheduleBarrierOp::create(b, slot.end->getLoc(), 0);
}

LogicalResult Shifter::run() {
  SmallVector<Slot> between;
  for (size_t i = 1; i < stages.size(); ++i) {
    between.push_back({stages[i]});
    if (failed(find(StageOp(stages[i - 1])->getNextNode(), between.back())))
      return failure();
  }
  Block *body = first()->getBlock();
  Slot top{stages.front()}, bottom{body->getTerminator()};
  if (loop) {
    if (failed(find(&body->front(), top)) || failed(find(last()->getNextNode(), bottom)))
      return failure();
    if (top.barrier && bottom.barrier) {
      auto error = BarrierOp(top.barrier).emitOpError()
                   << "and the barrier at the end of the loop both stand between its last stage and its first (rule "
                      "W3): put an empty stage between the two";
      error.attachNote(BarrierOp(bottom.barrier).getLoc()) << "the barrier at the end";
      return failure();
    }
  }
  OpBuilder b(body->getParentOp()->getContext());
  for (auto [slot, stage] : llvm::zip(between, stages.drop_front()))
    close(b, slot, stage);
  bool isClosedAtTop = loop && (top.barrier || (top.hasWait && !bottom.barrier));
  if (loop)
    close(b, isClosedAtTop ? top : bottom, stages.front());

  Operation *begin = loop ? loop.getOperation() : first().getOperation();
  auto shared = [&] { BarrierOp::create(b, loc(), /*warp=*/false, /*copies=*/false, /*shared=*/true, /*bare=*/false); };
  b.setInsertionPoint(begin);
  BarrierOp::create(b, loc()); // insert-barriers makes it one for shared memory where that is enough
  ShiftWarpsOp::create(b, loc());
  setPriority(b, priorityOf(stages.front()));
  b.setInsertionPointAfter(loop ? loop.getOperation() : last().getOperation());
  if (isClosedAtTop)
    shared(); // the one after the last iteration
  setPriority(b, 0);
  AlignWarpsOp::create(b, loc());
  return success();
}

LogicalResult simt::pipelineWarps(ModuleOp module, BlockShape block, const GpuTarget &target) {
  for (auto function : module.getOps<triton::FuncOp>()) {
    llvm::SetVector<Operation *> firsts;
    function.walk([&](StageOp stage) { firsts.insert(pipelineOf(stage).stages.front()); });
    if (firsts.empty())
      continue;
    bool asserts = function.walk([](triton::AssertOp) { return WalkResult::interrupt(); }).wasInterrupted();
    analysis::Uniformity uniformity(function);
    for (Operation *first : firsts) {
      WarpPipeline pipeline = pipelineOf(cast<StageOp>(first));
      Shifter shifter(pipeline, block, target);
      if (failed(shifter.check(uniformity)) || (!asserts && failed(shifter.run())))
        return failure();
    }
    if (asserts) {
      firsts.front()->emitWarning("stages of a warp pipeline are executed one after the other: the kernel asserts, and "
                                  "a failed assertion is told to all threads at a barrier");
      inlineStages(function);
    }
  }
  return success();
}

//===-- Inlining -------------------------------------------------------------------------------------------------===//

void simt::inlineStages(Operation *root) {
  SmallVector<StageOp> stages;
  root->walk([&](StageOp stage) { stages.push_back(stage); });
  for (StageOp stage : stages) {
    Block &body = stage.getBody().front();
    stage->replaceAllUsesWith(body.getTerminator()->getOperands());
    body.getTerminator()->erase();
    stage->getBlock()->getOperations().splice(stage->getIterator(), body.getOperations());
    stage->erase();
  }
}
