// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The body of a loop is cut at places: before what reads shared memory or begins copies, before a matmul, and before
// what is computed from one. Of the ways to cut it, the one that is estimated to take the fewest cycles is taken, if
// the passes after this one accept it.
#include "compiler/lowering/tile_to_simt/FindStages.h"
#include "compiler/lowering/simt/Exchanges.h"
#include "compiler/lowering/simt/InsertBarriers.h"
#include "compiler/lowering/simt/PlaceShared.h"
#include "compiler/lowering/simt/WarpPipelines.h"
#include "compiler/lowering/tile_to_simt/LoopPipeliner.h"
#include "compiler/lowering/tile_to_simt/StageCosts.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SetVector.h"
#include <fmt/format.h>

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

namespace {

enum class Kind : uint8_t { Memory, Matrix, Vector };

struct Step {
  Kind kind;
  SmallVector<Operation *> ops = {};
  StageWork work = {};
};

/// A loop that begins with a wait for copies and a barrier, and what it does then, step by step.
struct Loop {
  scf::ForOp loop;
  AsyncWaitOp wait = {};
  BarrierOp barrier = {};
  SmallVector<Step> steps = {};
};

/// Numbers of the steps with which stages begin.
using Cut = SmallVector<size_t>;

} // namespace

//===-- Loops that are considered --------------------------------------------------------------------------------===//

static bool isMatmul(Operation *op) {
  return isa<MatrixDotOp, ScaledDotOp>(op);
}

static bool isMemory(Operation *op) {
  return isa<AsyncCopyOp, AsyncBufferCopyOp, AsyncCommitOp, LoadSharedOp>(op);
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

/// Finds the wait and the barrier; false for a loop of another form.
static bool findBegin(Loop &loop) {
  bool isBegun = false, copies = false, multiplies = false;
  for (Operation &op : loop.loop.getBody()->without_terminator()) {
    auto wait = dyn_cast<AsyncWaitOp>(op);
    auto barrier = dyn_cast<BarrierOp>(op);
    if (wait && !loop.wait && !isBegun)
      loop.wait = wait;
    else if (barrier && loop.wait && !loop.barrier && !isBegun)
      loop.barrier = barrier;
    else if ((!isMemory(&op) && !isMemoryEffectFree(&op)) || isa<LoopLikeOpInterface>(op))
      return false;
    isBegun |= isMemory(&op);
    copies |= isa<AsyncCopyOp, AsyncBufferCopyOp>(op);
    multiplies |= isMatmul(&op);
  }
  return loop.barrier && copies && multiplies;
}

static std::optional<Loop> considered(scf::ForOp from, const TimingModel &model) {
  Loop loop{from};
  if (!findBegin(loop))
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
    Kind kind = isMemory(&op) ? Kind::Memory : isMatmul(&op) ? Kind::Matrix : Kind::Vector;
    bool isFree = kind == Kind::Vector && !computed.contains(&op); // addresses, masks: with what comes next
    bool isNew = loop.steps.empty() || (loop.steps.back().kind != kind && !isFree);
    if (isNew)
      loop.steps.push_back({isFree ? Kind::Memory : kind});
    loop.steps.back().ops.push_back(&op);
    inSteps.insert(&op);
    loop.steps.back().work = loop.steps.back().work + workOf(&op, model);
  }
  return loop;
}

//===-- Matmuls in two halves ------------------------------------------------------------------------------------===//

/// That of half a tile along `axis`, whose second half is one bit of the registers; nothing where it is not.
static std::optional<layout::LinearLayout> firstHalf(const layout::LinearLayout &layout, int axis, int64_t half) {
  std::vector<layout::LinearLayout::Input> inputs = layout.inputs();
  std::vector<layout::LinearLayout::Output> outputs = layout.outputs();
  size_t along = 0;
  while (along < outputs.size() && outputs[along].dim != layout::tileDim(axis))
    ++along;
  if (along == outputs.size())
    return std::nullopt;
  std::vector<int64_t> second(outputs.size());
  second[along] = half;
  bool isFound = false;
  for (layout::LinearLayout::Input &input : inputs)
    for (size_t bit = 0; bit < input.bases.size(); ++bit) {
      if (!(input.bases[bit][along] & half))
        continue;
      if (isFound || input.dim != layout::Dim::Register || input.bases[bit] != second)
        return std::nullopt;
      input.bases.erase(input.bases.begin() + long(bit--));
      isFound = true;
    }
  outputs[along].size = half;
  return isFound ? std::optional(layout::LinearLayout(inputs, outputs)) : std::nullopt;
}

static std::optional<layout::LinearLayout> firstHalf(LoadSharedOp load, int axis) {
  auto tile = cast<RankedTensorType>(load.getType());
  return firstHalf(layoutOf(tile), axis, tile.getDimSize(unsigned(axis)) / 2);
}

static bool hasHalves(LoadSharedOp load, int axis) {
  return firstHalf(load, axis) && !load.getRing().getType().isPadded();
}

/// Reads of both halves along `axis` of what `load` reads, before `place`.
static std::array<LoadSharedOp, 2> readHalves(LoadSharedOp load, int axis, Operation *place) {
  auto tile = cast<RankedTensorType>(load.getType());
  SharedType ring = load.getRing().getType();
  SmallVector<int64_t> shape(tile.getShape());
  shape[size_t(axis)] /= 2;
  ImplicitLocOpBuilder b(load.getLoc(), place);
  auto type =
      RankedTensorType::get(shape, tile.getElementType(), LinearAttr::get(b.getContext(), *firstHalf(load, axis)));
  auto whole = SharedType::get(b.getContext(), 1, ring.getShape(), ring.getElementType(), ring.getLayout());
  auto part = SharedType::get(b.getContext(), 1, shape, ring.getElementType(), ring.getLayout());
  Value memory = IndexOp::create(b, whole, load.getRing(), load.getStage());
  std::array<LoadSharedOp, 2> reads;
  for (int64_t number : {0, 1}) {
    SmallVector<int64_t> offsets(shape.size());
    offsets[size_t(axis)] = number * shape[size_t(axis)];
    Value from = SubsliceOp::create(b, part, memory, offsets);
    reads[size_t(number)] = LoadSharedOp::create(b, type, from, Value(), Value());
  }
  return reads;
}

/// Makes two matmuls of the loop's one, along K, so that each holds half of the operands, and copies have until the
/// second to arrive. False, and the loop is as before, where that is not possible.
static bool halveMatmul(scf::ForOp loop) {
  auto dots = llvm::to_vector(loop.getBody()->getOps<MatrixDotOp>());
  if (dots.size() != 1 || !dots.front().getInstruction() || dots.front().getWarpGroups())
    return false;
  MatrixDotOp dot = dots.front();
  auto a = dot.getA().getDefiningOp<LoadSharedOp>(), bb = dot.getB().getDefiningOp<LoadSharedOp>();
  int64_t depth = dot.getA().getType().getShape().back();
  if (!a || !bb || !a->hasOneUse() || !bb->hasOneUse() || !a.getStage() || !bb.getStage() ||
      depth < 2 * int64_t(dot.getInstruction()->getK()) || dot.getA().getType().getRank() != 2)
    return false;
  if (!hasHalves(a, 1) || !hasHalves(bb, 0))
    return false;
  auto left = readHalves(a, 1, dot), right = readHalves(bb, 0, dot);
  OpBuilder b(dot);
  Value sum = dot.getC();
  SmallVector<Operation *> matmuls;
  for (size_t half : {0, 1}) {
    auto made = MatrixDotOp::create(b, dot.getLoc(), dot.getType(), left[half], right[half], sum, *dot.getInstruction(),
                                    dot.getPrecision());
    sum = made;
    matmuls.push_back(made);
  }
  for (LoadSharedOp second : {left[1], right[1]})
    second->moveBefore(matmuls[1]);
  dot.getD().replaceAllUsesWith(sum);
  for (Operation *old : {dot.getOperation(), a.getOperation(), bb.getOperation()})
    old->erase();
  return true;
}

//===-- Ways to cut ----------------------------------------------------------------------------------------------===//

static SmallVector<StageWork> stagesOf(const Loop &loop, const Cut &cut) {
  SmallVector<StageWork> stages;
  for (auto [number, begin] : llvm::enumerate(cut)) {
    size_t end = number + 1 < cut.size() ? cut[number + 1] : loop.steps.size();
    StageWork work;
    for (size_t step = begin; step < end; ++step)
      work = work + loop.steps[step].work;
    stages.push_back(work);
  }
  return stages;
}

static bool isReadFor(const Loop &loop, size_t step) {
  return step + 1 < loop.steps.size() && loop.steps[step].kind == Kind::Memory &&
         loop.steps[step + 1].kind == Kind::Matrix;
}

/// Whether a step waits for the one before it if both are in one stage: a matmul for what it reads, and reads and
/// copies for the matrix unit, which takes instructions one by one.
static bool waitsForLast(const Loop &loop, size_t step) {
  return isReadFor(loop, step - 1) ||
         (loop.steps[step - 1].kind == Kind::Matrix && loop.steps[step].kind == Kind::Memory);
}

/// Stages begin where the kind of step changes, at some of these places; the first with the first step.
static std::vector<std::pair<double, Cut>> waysToCut(const Loop &loop, const TimingModel &model) {
  AsyncWaitOp wait = loop.wait;
  double latency = 0;
  if (wait.getPending() == 0) { // for copies of the same iteration
    latency = model.memoryCycles + model.ldsLatencyCycles;
    for (const Step &step : loop.steps)
      latency += step.work.global;
  }
  constexpr size_t mostPlaces = 8, mostStages = 6;
  std::vector<std::pair<double, Cut>> ways;
  size_t places = std::min(loop.steps.size() - 1, mostPlaces);
  for (size_t chosen = 1; chosen < size_t(1) << places; ++chosen) {
    Cut cut = {0};
    for (size_t place = 0; place < places; ++place)
      if (chosen >> place & 1)
        cut.push_back(place + 1);
    bool waits = false;
    for (size_t step = 0; step < places; ++step)
      waits |= waitsForLast(loop, step + 1) && !(chosen >> step & 1);
    if (cut.size() <= mostStages && !waits)
      ways.emplace_back(cyclesApart(stagesOf(loop, cut), latency), cut);
  }
  llvm::sort(ways);
  return ways;
}

/// What a matmul waits for, and what computes; other reads from LDS are hidden by that.
static double cyclesUncut(const Loop &loop) {
  SmallVector<StageWork> steps;
  for (size_t step = 0; step < loop.steps.size(); ++step)
    if (loop.steps[step].kind != Kind::Memory || isReadFor(loop, step))
      steps.push_back(loop.steps[step].work);
  return cyclesTogether(steps);
}

/// Registers of a thread at the matmul of the loop that needs most: what the loop carries, what stages leave to later
/// ones, and what matmuls read from outside. Addresses take few: contiguous elements share one.
static int64_t registersFor(const Loop &loop, const Cut &cut) {
  scf::ForOp of = loop.loop;
  Block &body = *of.getBody();
  DenseMap<Operation *, size_t> stageOf;
  for (size_t stage = 0; stage < cut.size(); ++stage)
    for (size_t step = cut[stage]; step < (stage + 1 < cut.size() ? cut[stage + 1] : loop.steps.size()); ++step)
      for (Operation *op : loop.steps[step].ops)
        stageOf[op] = stage;
  SmallVector<int64_t> live(cut.size(), carriedWords(of)); // in each stage
  llvm::SetVector<Value> outside;
  for (auto &[op, stage] : stageOf) {
    for (Value operand : op->getOperands())
      if (isMatmul(op) && !of.getRegion().isAncestor(operand.getParentRegion()))
        outside.insert(operand);
    for (Value result : op->getResults()) {
      size_t last = stage;
      for (Operation *user : result.getUsers())
        last = std::max(last, stageOf.lookup(body.findAncestorOpInBlock(*user)));
      auto tile = dyn_cast<RankedTensorType>(result.getType());
      bool isSum = llvm::any_of(result.getUses(), [](OpOperand &use) { // it takes the place of a carried one
        return isMatmul(use.getOwner()) && use.getOperandNumber() == 2;
      });
      if (tile && tile.getElementType().isFloat() && !isSum)
        for (size_t later = stage + 1; later <= last; ++later)
          live[later] += wordsOf(result.getType());
      // What a matmul adds to is there already; other results are on top of what it reads.
      if (isMatmul(op) && !isa<BlockArgument>(op->getOperand(2)) && last > stage)
        live[stage] += wordsOf(result.getType());
    }
  }
  int64_t most = *llvm::max_element(live);
  for (Value value : outside)
    if (Operation *op = value.getDefiningOp(); !op || !op->hasTrait<OpTrait::ConstantLike>())
      most += wordsOf(value.getType());
  return most;
}

//===-- Stages ---------------------------------------------------------------------------------------------------===//

static StringRef labelOf(ArrayRef<Step> steps) {
  bool moves = false, multiplies = false, computes = false;
  for (const Step &step : steps) {
    moves |= step.kind == Kind::Memory;
    multiplies |= step.kind == Kind::Matrix;
    computes |= step.kind == Kind::Vector;
  }
  return multiplies ? (moves ? "memory, matmul" : "matmul")
         : computes ? (moves ? "memory, vector" : "vector")
                    : "memory";
}

static void makeStage(ArrayRef<Step> steps, Operation *place) {
  SmallVector<Operation *> ops;
  for (const Step &step : steps)
    llvm::append_range(ops, step.ops);
  bool isMemory = llvm::all_of(steps, [](const Step &step) { return step.kind == Kind::Memory; });
  OpBuilder b(place);
  simt::makeStage(b, ops.front()->getLoc(), ops, labelOf(steps), isMemory ? 0 : 1);
}

// The wait for the next iteration's copies stands before the last stage: then both groups have waited when one of them
// begins that iteration.
static void rewrite(Loop loop, const Cut &cut) {
  OpBuilder b(loop.loop);
  b.clone(*loop.wait);
  loop.barrier.erase();
  llvm::SetVector<Operation *> inside;
  for (Step &step : loop.steps)
    inside.insert(step.ops.begin(), step.ops.end());
  Operation *first = inside.front();
  for (Operation &op : llvm::make_early_inc_range(loop.loop.getBody()->without_terminator()))
    if (!inside.contains(&op) && &op != loop.wait && first->isBeforeInBlock(&op))
      op.moveBefore(first);
  Operation *end = loop.loop.getBody()->getTerminator();
  ArrayRef<Step> steps = loop.steps;
  for (auto [number, begin] : llvm::enumerate(cut)) {
    bool isLast = number + 1 == cut.size();
    if (isLast)
      loop.wait->moveBefore(end);
    makeStage(steps.slice(begin, (isLast ? steps.size() : cut[number + 1]) - begin), end);
  }
}

//===-- Choice ---------------------------------------------------------------------------------------------------===//

static std::vector<scf::ForOp> loopsOf(ModuleOp module) {
  std::vector<scf::ForOp> loops;
  module.walk([&](scf::ForOp loop) { loops.push_back(loop); });
  return loops;
}

namespace {
/// A way to make stages of a loop.
struct Way {
  double cycles;
  bool isHalved; ///< its matmul is made two first
  Cut cut;
  bool operator<(const Way &other) const {
    return std::tie(cycles, isHalved, cut) < std::tie(other.cycles, other.isHalved, other.cut);
  }
};
} // namespace

/// The loop of this number in a copy of the module, in halves if that is wanted and possible.
static std::optional<Loop> loopInCopy(ModuleOp copy, size_t number, bool isHalved, const TimingModel &model) {
  scf::ForOp loop = loopsOf(copy)[number];
  if (isHalved && !halveMatmul(loop))
    return std::nullopt;
  return considered(loop, model);
}

/// Whether the passes up to verify-hazards accept it: tried on a copy of the module.
static bool isAccepted(ModuleOp module, size_t number, const Way &way, const GpuTarget &target, BlockShape block) {
  OwningOpRef<ModuleOp> copy = module.clone();
  ScopedDiagnosticHandler ignore(module.getContext(), [](Diagnostic &) { return success(); });
  std::optional<Loop> loop = loopInCopy(*copy, number, way.isHalved, *target.timing());
  if (registersFor(*loop, way.cut) > target.registersPerThread(block.warps) * 7 / 8)
    return false;
  rewrite(*loop, way.cut);
  if (failed(mlir::verify(*copy)))
    return false;
  lowerConversions(*copy, target);
  lowerReductions(*copy, block);
  return succeeded(lowerExchanges(*copy, target, block.warps)) &&
         succeeded(placeSharedMemory(*copy, target, block.warps)) && succeeded(pipelineWarps(*copy, block, target)) &&
         succeeded(insertBarriers(*copy, block)) && succeeded(verifyHazards(*copy, block));
}

/// The fastest first.
static std::vector<Way> waysOf(ModuleOp module, size_t number, const Loop &loop, const TimingModel &model) {
  std::vector<Way> ways;
  for (auto &[cycles, cut] : waysToCut(loop, model))
    ways.push_back({cycles, false, cut});
  OwningOpRef<ModuleOp> copy = module.clone();
  if (std::optional<Loop> halves = loopInCopy(*copy, number, true, model))
    for (auto &[cycles, cut] : waysToCut(*halves, model))
      ways.push_back({cycles, true, cut});
  llvm::sort(ways);
  return ways;
}

void simt::findStages(ModuleOp module, const GpuTarget &target, int warps) {
  // Stages that the text has are its author's; assertions are told to all threads at a barrier.
  bool isWritten = module
                       .walk([](Operation *op) {
                         return isa<StageOp, triton::AssertOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
                       })
                       .wasInterrupted();
  if (!target.timing() || warps != 2 * warpsOfGroup || isWritten)
    return;
  const TimingModel &model = *target.timing();
  BlockShape block{int(target.lanesPerWarp()), warps};
  constexpr int mostTried = 6;
  constexpr double leastGain = 0.04;
  for (size_t number = 0; number < loopsOf(module).size(); ++number) {
    scf::ForOp from = loopsOf(module)[number];
    std::optional<Loop> loop = considered(from, model);
    if (!loop || loop->steps.size() < 2)
      continue;
    double uncut = cyclesUncut(*loop);
    int tried = 0;
    std::vector<Way> ways = waysOf(module, number, *loop, model);
    auto taken = ways.end();
    for (auto way = ways.begin(); way != ways.end() && taken == ways.end(); ++way) {
      if (way->cycles > uncut * (1 - leastGain) || tried++ == mostTried)
        break;
      if (isAccepted(module, number, *way, target, block))
        taken = way;
    }
    if (taken != ways.end()) {
      from.emitRemark(fmt::format("a warp pipeline of {} stages: estimated {:.0f} cycles an iteration, {:.0f} without",
                                  taken->cut.size(), taken->cycles, uncut));
      if (taken->isHalved)
        halveMatmul(from);
      rewrite(*considered(from, model), taken->cut);
    } else if (!ways.empty()) {
      from.emitRemark(fmt::format("no warp pipeline: estimated {:.0f} cycles an iteration, {:.0f} without{}",
                                  ways.front().cycles, uncut,
                                  tried ? ", but its stages are not apart, or take too many registers" : ""));
    }
  }
}
