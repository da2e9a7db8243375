// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Accesses of stages that two groups of warps execute at the same time, and barriers of stages that need order nothing.
// A pipeline's barriers order what is two stages apart; no barrier can order what is one apart.
#include "compiler/lowering/simt/HazardWalk.h"
#include "compiler/lowering/simt/InsertBarriers.h"
#include "compiler/lowering/simt/WarpPipelines.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

//===-- What is said of accesses that are not apart --------------------------------------------------------------===//

static const char *does(const SharedAccess &access) {
  return access.writes ? "writes" : "reads";
}

static StageOp stageOf(const SharedAccess &access) {
  return access.op->getParentOfType<StageOp>();
}

namespace {
/// From one stage of a pipeline to the same or another one.
struct StageDistance {
  int64_t from, to;   ///< their numbers
  int64_t iterations; ///< how often an iteration ends between
  int64_t all;        ///< stages that the pipeline has
  int64_t stages() const { return iterations * all + to - from; }
};
} // namespace

/// Nothing where the earlier access is not of the later one's pipeline.
static std::optional<StageDistance> distanceOf(const SharedAccess &earlier, const SharedAccess &later) {
  StageOp stage = stageOf(later), before = stageOf(earlier);
  WarpPipeline pipeline = pipelineOf(stage);
  auto *from = llvm::find(pipeline.stages, before), *to = llvm::find(pipeline.stages, stage);
  if (!before || from == pipeline.stages.end())
    return std::nullopt;
  Block &body = stage.getBody().front();
  Operation *first = body.findAncestorOpInBlock(*earlier.op), *second = body.findAncestorOpInBlock(*later.op);
  bool isInIteration = from < to || (from == to && (first == second || first->isBeforeInBlock(second)));
  int64_t iterations = isInIteration ? 0 : 1;
  for (const SharedAccess &own : accessesOf(earlier.op)) { // each iteration counts a tile that counts one less
    bool counts = own.part.kind == SharedPart::Turn && own.part.loop == pipeline.loop &&
                  earlier.part.kind == SharedPart::Turn && earlier.part.object == own.part.object;
    while (counts && (own.part.number - earlier.part.number - iterations) % own.part.modulus)
      ++iterations;
  }
  return StageDistance{from - pipeline.stages.begin(), to - pipeline.stages.begin(), iterations,
                       int64_t(pipeline.stages.size())};
}

/// How many tiles a ring has to have so that what is read is overwritten two stages later or more: nothing where that
/// depends on something else than their number. A ring of B tiles that is written p iterations ahead in stage c and
/// read in stage r of N has B >= p + ceil((2 + r - c) / N).
static std::optional<int64_t> tilesThatMend(const SharedAccess &earlier, const SharedAccess &later,
                                            const StageDistance &distance) {
  const SharedPart &read = earlier.part, &written = later.part;
  AllocOp object = read.object;
  bool isOne = object && object.getRing().getType().getStages() == 1;
  scf::ForOp loop = pipelineOf(stageOf(later)).loop;
  bool counts = read.kind == SharedPart::Turn && written.kind == SharedPart::Turn && read.loop == loop &&
                written.loop == loop && read.modulus == written.modulus;
  if (earlier.writes || !later.writes || object != written.object || !(isOne || counts) || !loop)
    return std::nullopt;
  int64_t ahead = (isOne ? 1 : read.modulus) - distance.iterations; // the same tile as the one that is read
  return ahead + llvm::divideCeilSigned(2 + distance.from - distance.to, distance.all);
}

// Rule W4: no operation of a stage needs a barrier that the text does not show.
static LogicalResult reportExchange(const SharedAccess &later) {
  StageOp stage = stageOf(later);
  auto error = later.op->emitError()
               << "a reduction, conversion or exchange goes through shared memory from warp to warp, which takes a "
                  "barrier, in stage '"
               << stage.getLabel()
               << "' (rule W4): let one warp have all that is reduced or exchanged, by another layout, or move it "
                  "before the pipeline or after it";
  error.attachNote(stage.getLoc()) << "the stage";
  return failure();
}

/// Which accesses are not apart; why is to be added.
InFlightDiagnostic HazardWalk::tellOverlap(const SharedAccess &earlier, const SharedAccess &later) {
  auto error = later.op->emitError() << nameOf(later.op) << " in stage '" << stageOf(later).getLabel() << "' "
                                     << does(later) << " bytes of shared memory that " << nameOf(earlier.op);
  if (StageOp before = stageOf(earlier))
    error << " in stage '" << before.getLabel() << "'";
  error << " " << does(earlier);
  return error;
}

// Of what is in flight until a wait, the barriers after the wait count.
LogicalResult HazardWalk::reportLateWait(const SharedAccess &earlier, const SharedAccess &later) {
  InFlightDiagnostic error = tellOverlap(earlier, later);
  error << " (rule W7): it is waited for less than two barriers before the stage, and not yet by the other group of "
           "warps";
  error.attachNote(earlier.wait->getLoc())
      << "let this wait stand one stage earlier, or put an empty stage between it and the stage that " << does(later);
  error.attachNote(earlier.op->getLoc()) << "the access before";
  return failure();
}

static SmallVector<BarrierOp> barriersAfter(StageOp stage);

/// What would keep them apart.
static void advise(InFlightDiagnostic &error, const SharedAccess &earlier, const SharedAccess &later,
                   const StageDistance &distance) {
  for (BarrierOp barrier : barriersAfter(stageOf(earlier)))
    if (barrier.getBare()) {
      error.attachNote(barrier.getLoc()) << "this barrier is bare, and orders no accesses: leave `bare` out";
      return;
    }
  Diagnostic &note = error.attachNote(stageOf(later).getLoc());
  note << (distance.stages() == 0 ? "two stages with an empty one between them would keep the two apart"
                                  : "an empty stage between the two would keep them apart");
  if (std::optional<int64_t> tiles = tilesThatMend(earlier, later, distance))
    note << ", or a ring of " << *tiles << " tiles, of which each iteration takes the next";
}

// Rule W7: what stages access that two groups execute at the same time lies apart.
LogicalResult HazardWalk::reportInStages(const SharedAccess &earlier, const SharedAccess &later) {
  if (mode == Mode::Try)
    return failure();
  AllocOp object = later.part.object;
  if (object && object.getScratch() && stageOf(earlier) == stageOf(later))
    return reportExchange(later);
  if (earlier.wait)
    return reportLateWait(earlier, later);
  std::optional<StageDistance> distance = distanceOf(earlier, later);
  bool isSame = distance && distance->stages() == 0;
  InFlightDiagnostic error = tellOverlap(earlier, later);
  error << (isSame ? " before, and no barrier can stand in a stage (rule W7)"
                   : " at the same time in the other group of warps (rule W7)");
  if (distance && !isSame)
    error << ": the stages are " << (distance->stages() == 1 ? "one" : std::to_string(distance->stages())) << " apart, "
          << (distance->iterations ? "over the end of an iteration" : "in one iteration");
  error.attachNote(earlier.op->getLoc()) << "the access before";
  if (distance)
    advise(error, earlier, later, *distance);
  return failure();
}

// Rule W7, of global memory, where barriers of all memory between the stages are not enough.
LogicalResult HazardWalk::reportGlobalInStage(const GlobalAccess &earlier, const GlobalAccess &later) {
  if (mode == Mode::Try)
    return failure();
  auto stage = later.op->getParentOfType<StageOp>();
  auto error =
      later.op->emitError()
      << nameOf(later.op) << " in stage '" << stage.getLabel() << "' accesses global memory that " << nameOf(earlier.op)
      << " may have accessed before in another thread (rule W7): two barriers of all memory are missing between "
         "them; move one of the two out of the pipeline";
  error.attachNote(earlier.op->getLoc()) << "the access before";
  return failure();
}

//===-- Barriers between stages ----------------------------------------------------------------------------------===//

static SmallVector<BarrierOp> barriersAfter(StageOp stage) {
  SmallVector<BarrierOp> barriers;
  auto addUpToStage = [&](Operation *op) {
    for (; op && !isa<StageOp, AlignWarpsOp>(op); op = op->getNextNode())
      if (auto barrier = dyn_cast<BarrierOp>(op); barrier && !barrier.getWarp())
        barriers.push_back(barrier);
  };
  WarpPipeline pipeline = pipelineOf(stage);
  bool isLast = stage == pipeline.stages.back();
  if (pipeline.loop || !isLast)
    addUpToStage(stage->getNextNode());
  if (pipeline.loop && isLast)
    addUpToStage(&stage->getBlock()->front());
  return barriers;
}

bool HazardWalk::widenBarriers(StageOp stage) {
  if (mode != Mode::Insert)
    return false;
  for (StageOp each : pipelineOf(stage).stages)
    for (BarrierOp barrier : barriersAfter(each)) {
      isAgain |= barrier.getShared() || barrier.getBare();
      barrier.setShared(false);
      barrier.setBare(false);
    }
  return isAgain;
}

//===-- Pipelines one after the other ----------------------------------------------------------------------------===//

/// Where the next pipeline begins, if nothing stands between at which all warps must be in step; or null.
ShiftWarpsOp HazardWalk::nextPipeline(AlignWarpsOp end) {
  for (Operation *op = end->getNextNode(); op; op = op->getNextNode()) {
    if (auto begin = dyn_cast<ShiftWarpsOp>(op))
      return begin;
    bool isBegin = isa<BarrierOp>(op) && isa_and_nonnull<ShiftWarpsOp>(op->getNextNode());
    if (op->getNumRegions() || isa<CondBarrierOp>(op) || (isBlockBarrier(op) && !isBegin))
      return {};
  }
  return {};
}

bool HazardWalk::isEnoughWithout(ArrayRef<Operation *> ops) {
  SmallVector<std::pair<Operation *, Operation *>> places; // each before another
  for (Operation *op : ops) {
    places.emplace_back(op, op->getNextNode());
    op->remove();
  }
  bool result = isEnough();
  for (auto [op, next] : llvm::reverse(places))
    if (result) {
      effects.erase(op);
      op->destroy();
    } else {
      next->getBlock()->getOperations().insert(next->getIterator(), op);
    }
  return result;
}

void HazardWalk::narrowBetween(BarrierOp barrier) {
  barrier.setBare(true);
  if (isEnough())
    return;
  barrier.setBare(false);
  barrier.setShared(true);
  if (!isEnough())
    barrier.setShared(false);
}

// A loop's pipeline ends at a barrier; another one keeps the groups a barrier further apart, like an empty stage.
// Straight code ends at none, so that the one before the next pipeline stays.
void HazardWalk::joinPipelines() {
  SmallVector<AlignWarpsOp> ends;
  bool hasHints = false;
  function.walk([&](Operation *op) {
    if (auto end = dyn_cast<AlignWarpsOp>(op))
      ends.push_back(end);
    hasHints |= isa<ScheduleBarrierOp>(op);
  });
  for (AlignWarpsOp end : ends) {
    ShiftWarpsOp begin = nextPipeline(end);
    auto barrier = begin ? dyn_cast<BarrierOp>(begin->getPrevNode()) : BarrierOp();
    if (!barrier || barrier.getWarp())
      continue;
    auto priority = dyn_cast_or_null<SetPriorityOp>(end->getPrevNode());
    bool setsAgain = isa_and_nonnull<SetPriorityOp>(begin->getNextNode());
    Operation *last = priority ? priority->getPrevNode() : end->getPrevNode();
    bool isClosed = isa_and_nonnull<scf::ForOp, BarrierOp>(last);
    bool isJoined = isClosed && isEnoughWithout({end, barrier, begin});
    if (!isJoined && isEnoughWithout({end, begin})) {
      isJoined = true;
      OpBuilder b(barrier);
      if (hasHints)
        ScheduleBarrierOp::create(b, barrier.getLoc(), 0);
      b.setInsertionPointAfter(barrier);
      if (hasHints)
        ScheduleBarrierOp::create(b, barrier.getLoc(), 0);
      narrowBetween(barrier);
    }
    if (isJoined && priority && setsAgain)
      priority.erase();
  }
}

// Those after stages that read shared memory first: their threads need not wait for what they read.
void HazardWalk::narrowInPipelines() {
  SmallVector<BarrierOp> barriers, afterOthers;
  function.walk([&](StageOp stage) {
    bool reads = stage
                     .walk([](Operation *op) {
                       return isa<LoadSharedOp, LoadRepackedOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
                     })
                     .wasInterrupted();
    llvm::append_range(reads ? barriers : afterOthers, barriersAfter(stage));
  });
  llvm::append_range(barriers, afterOthers);
  for (BarrierOp barrier : barriers) {
    bool wasShared = barrier.getShared();
    barrier.setShared(false);
    barrier.setBare(true);
    if (isEnough())
      continue;
    barrier.setBare(false);
    barrier.setShared(true);
    if (!wasShared && !isEnough())
      barrier.setShared(false);
  }
  function.walk([&](ShiftWarpsOp shift) { // the barrier before it
    auto barrier = dyn_cast_or_null<BarrierOp>(shift->getPrevNode());
    if (!barrier || barrier.getWarp() || barrier.getShared() || barrier.getBare())
      return;
    barrier.setShared(true);
    if (!isEnough())
      barrier.setShared(false);
  });
}
