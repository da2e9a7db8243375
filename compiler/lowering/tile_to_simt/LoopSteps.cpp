// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recognises the loops that are considered, and lists the places where each may be cut.
#include "compiler/lowering/tile_to_simt/LoopSteps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

//===-- Loops that are considered --------------------------------------------------------------------------------===//

bool simt::isMatmul(Operation *op) {
  return isa<MatrixDotOp, ScaledDotOp>(op);
}

static bool isMemory(Operation *op) {
  return isa<AsyncCopyOp, AsyncBufferCopyOp, AsyncCommitOp, LoadSharedOp, StoreSharedOp, GlobalLoadOp>(op);
}

/// What of the body is computed from the results of matmuls, with them.
static llvm::SetVector<Operation *> matmulsAndUsers(Block &body) {
  llvm::SetVector<Operation *> found;
  for (Operation &op : body.without_terminator()) {
    bool isOne = isMatmul(&op);
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *from = operand.getDefiningOp())
          isOne |= found.contains(body.findAncestorOpInBlock(*from));
    });
    if (isOne)
      found.insert(&op);
  }
  return found;
}

/// Finds the wait and the barrier of a loop with copies straight to shared memory; why a loop is of another form.
static StringRef findBegin(LoopSteps &loop) {
  bool isBegun = false, copies = false, stores = false, multiplies = false;
  for (Operation &op : loop.loop.getBody()->without_terminator()) {
    auto wait = dyn_cast<AsyncWaitOp>(op);
    auto barrier = dyn_cast<BarrierOp>(op);
    if (wait && !loop.wait && !isBegun)
      loop.wait = wait;
    else if (barrier && loop.wait && !loop.barrier && !isBegun)
      loop.barrier = barrier;
    else if (isa<LoopLikeOpInterface>(op))
      return "a loop stands in it";
    else if (!isMemory(&op) && !isMemoryEffectFree(&op))
      return isa<GlobalStoreOp, BufferStoreOp>(op) ? "it stores to global memory"
                                                   : "it does more than load, copy, multiply and compute";
    isBegun |= isMemory(&op);
    copies |= isa<AsyncCopyOp, AsyncBufferCopyOp>(op);
    stores |= isa<StoreSharedOp>(op);
    multiplies |= isMatmul(&op);
  }
  bool hasRing = copies ? bool(loop.barrier) : stores;
  return !multiplies ? "it has no matmul" : !hasRing ? "its tiles do not come to a ring in LDS" : "";
}

StringRef simt::whyNoSteps(scf::ForOp from) {
  LoopSteps loop{from};
  return findBegin(loop);
}

std::optional<LoopSteps> simt::stepsOf(scf::ForOp from, const TimingModel &model) {
  LoopSteps loop{from};
  if (!findBegin(loop).empty())
    return std::nullopt;
  Block &body = *from.getBody();
  llvm::SetVector<Operation *> computed = matmulsAndUsers(body);
  llvm::DenseSet<Operation *> inSteps;
  for (Operation &op : body.without_terminator()) {
    // Numbers stand before the stages, but those that tiles of a stage give.
    bool isTile = llvm::any_of(op.getResultTypes(), [](Type type) { return isa<RankedTensorType>(type); }) ||
                  llvm::any_of(op.getOperands(), [&](Value operand) {
                    Operation *from = operand.getDefiningOp();
                    return from && inSteps.contains(from);
                  });
    if (&op == loop.wait || &op == loop.barrier || (!isMemory(&op) && !isTile && !computed.contains(&op)))
      continue;
    Step::Kind kind = isMemory(&op) ? Step::Memory : isMatmul(&op) ? Step::Matrix : Step::Vector;
    bool isFree = kind == Step::Vector && !computed.contains(&op); // addresses, masks: with what comes next
    bool isNew = loop.steps.empty() || (loop.steps.back().kind != kind && !isFree);
    if (isNew)
      loop.steps.push_back({isFree ? Step::Memory : kind});
    loop.steps.back().ops.push_back(&op);
    inSteps.insert(&op);
    StageWork work = workOf(&op, model);
    if (loop.steps.back().kind == Step::Vector)
      work.computed = work.vector;
    loop.steps.back().work = loop.steps.back().work + work;
  }
  return loop;
}

//===-- Ways to cut ----------------------------------------------------------------------------------------------===//

/// The stage before which what the loop loads must have come: the last one, where copies are waited for, or that of the
/// stores.
static size_t stageThatWaits(const LoopSteps &loop, const Cut &cut) {
  size_t stage = cut.size() - 1;
  for (size_t step = loop.steps.size(); !loop.wait && step-- > 0;)
    if (llvm::any_of(loop.steps[step].ops, [](Operation *op) { return isa<StoreSharedOp>(op); }))
      stage = size_t(llvm::upper_bound(cut, step) - cut.begin()) - 1;
  return stage;
}

static bool isReadFor(const LoopSteps &loop, size_t step) {
  return step + 1 < loop.steps.size() && loop.steps[step].kind == Step::Memory &&
         loop.steps[step + 1].kind == Step::Matrix;
}

/// Whether a step waits for the one before it if both are in one stage: a matmul for what it reads, and reads and
/// copies for the matrix unit, which takes instructions one by one.
static bool waitsForLast(const LoopSteps &loop, size_t step) {
  return isReadFor(loop, step - 1) ||
         (loop.steps[step - 1].kind == Step::Matrix && loop.steps[step].kind == Step::Memory);
}

/// `ofWait`: cycles for which a step waits for the one before it, in one stage.
static SmallVector<StageWork> stagesOf(const LoopSteps &loop, const Cut &cut, double ofWait) {
  SmallVector<StageWork> stages;
  for (auto [number, begin] : llvm::enumerate(cut)) {
    size_t end = number + 1 < cut.size() ? cut[number + 1] : loop.steps.size();
    StageWork work;
    for (size_t step = begin; step < end; ++step) {
      work = work + loop.steps[step].work;
      work.waits += step > begin && waitsForLast(loop, step) ? ofWait : 0;
    }
    stages.push_back(work);
  }
  return stages;
}

bool simt::isChain(const LoopSteps &loop) {
  auto count = [&](Step::Kind kind) {
    return llvm::count_if(loop.steps, [&](auto &step) { return step.kind == kind; });
  };
  return count(Step::Matrix) > 1 && count(Step::Vector) > 0;
}

std::vector<std::pair<double, Cut>> simt::waysToCut(const LoopSteps &loop, const TimingModel &model) {
  AsyncWaitOp wait = loop.wait;
  double latency = 0;
  if (!wait || wait.getPending() == 0) { // for copies or loads of the same iteration
    latency = model.memoryCycles + model.ldsLatencyCycles;
    for (const Step &step : loop.steps)
      latency += step.work.global;
  }
  constexpr size_t mostPlaces = 8, mostStages = 8;
  std::vector<std::pair<double, Cut>> ways;
  size_t places = std::min(loop.steps.size() - 1, mostPlaces);
  // Of two matmuls in a stage the second one's operands are read while the first one is executed.
  bool isOfChain = isChain(loop);
  double ofWait = model.ldsLatencyCycles;
  for (size_t chosen = 1; chosen < size_t(1) << places; ++chosen) {
    Cut cut = {0};
    for (size_t place = 0; place < places; ++place)
      if (chosen >> place & 1)
        cut.push_back(place + 1);
    bool waits = false;
    for (size_t step = 0; step < places; ++step)
      waits |= waitsForLast(loop, step + 1) && !(chosen >> step & 1);
    if (cut.size() > mostStages || (waits && !isOfChain))
      continue;
    double cycles = cyclesApart(stagesOf(loop, cut, ofWait), {latency, stageThatWaits(loop, cut), !wait});
    ways.emplace_back(cycles, cut);
  }
  llvm::sort(ways);
  return ways;
}

/// What a matmul waits for, and what computes; other reads from LDS are hidden by that.
double simt::cyclesUncut(const LoopSteps &loop) {
  SmallVector<StageWork> all, waited;
  for (size_t step = 0; step < loop.steps.size(); ++step) {
    all.push_back(loop.steps[step].work);
    if (loop.steps[step].kind != Step::Memory || isReadFor(loop, step))
      waited.push_back(all.back());
  }
  return loop.wait ? cyclesTogether(waited) : cyclesFree(all);
}
