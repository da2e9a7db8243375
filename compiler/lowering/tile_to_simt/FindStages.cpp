// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Of the ways to cut the body of a loop (LoopSteps.h), the one that is estimated to take the fewest cycles is taken, if
// the phases after this one accept it.
#include "compiler/lowering/tile_to_simt/FindStages.h"
#include "compiler/lowering/simt/WarpPipelines.h"
#include "compiler/lowering/tile_to_simt/GroupStages.h"
#include "compiler/lowering/tile_to_simt/SplitMatmul.h"
#include "compiler/lowering/tile_to_simt/StageRegisters.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/SetVector.h"
#include <fmt/format.h>
#include <limits>

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

//===-- Stages ---------------------------------------------------------------------------------------------------===//

static StringRef labelOf(ArrayRef<Step> steps) {
  bool moves = false, multiplies = false, computes = false;
  for (const Step &step : steps) {
    moves |= step.kind == Step::Memory;
    multiplies |= step.kind == Step::Matrix;
    computes |= step.kind == Step::Vector;
  }
  return multiplies ? (moves ? "memory, matmul" : "matmul")
         : computes ? (moves ? "memory, vector" : "vector")
                    : "memory";
}

static void makeStage(ArrayRef<Step> steps, Operation *place) {
  SmallVector<Operation *> ops;
  for (const Step &step : steps)
    llvm::append_range(ops, step.ops);
  // A warp with vector code could issue in every cycle, and leave the matrix unit idle.
  bool multiplies = llvm::any_of(steps, [](const Step &step) { return step.kind == Step::Matrix; });
  OpBuilder b(place);
  simt::makeStage(b, ops.front()->getLoc(), ops, labelOf(steps), multiplies ? 1 : 0);
}

// The wait for the next iteration's copies stands before the last stage: then both groups have waited when one of them
// begins that iteration.
static void rewrite(LoopSteps loop, const Cut &cut) {
  OpBuilder b(loop.loop);
  if (loop.wait)
    b.clone(*loop.wait);
  if (loop.barrier)
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
    if (isLast && loop.wait)
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
  int parts; ///< that its matmul is made first
  Cut cut;
  bool operator<(const Way &other) const {
    return std::tie(cycles, parts, cut) < std::tie(other.cycles, other.parts, other.cut);
  }
};
} // namespace

/// Whether what is stored to shared memory is so after all matmuls, from values that are there before the last, and
/// nothing is read after that: such stores may go before the last matmul, and reads before another one. Others are of
/// the text, whose order counts.
static bool storesAtEnd(Block &body) {
  auto stores = body.getOps<StoreSharedOp>();
  Operation *last = nullptr;
  for (Operation &op : body)
    if (isMatmul(&op))
      last = &op;
  if (stores.empty() || !last)
    return stores.empty();
  bool isReadAfter =
      llvm::any_of(body.getOps<LoadSharedOp>(), [&](LoadSharedOp load) { return last->isBeforeInBlock(load); });
  return !isReadAfter && llvm::all_of(stores, [&](StoreSharedOp store) {
    return last->isBeforeInBlock(store) && llvm::all_of(store->getOperands(), [&](Value operand) {
             Operation *from = operand.getDefiningOp();
             return !from || from->getBlock() != &body || from->isBeforeInBlock(last);
           });
  });
}

/// Stores to a ring for the next iteration, which stand at the end, are to be a stage apart from the reads after them:
/// before the last matmul. Where the ring has one tile, they are so from the reads before them too.
static void storeBeforeLastMatmul(Block &body) {
  SmallVector<Operation *> matmuls;
  for (Operation &op : body)
    if (isMatmul(&op))
      matmuls.push_back(&op);
  auto stores = llvm::to_vector(body.getOps<StoreSharedOp>());
  if (stores.empty() || matmuls.size() < 2)
    return;
  Operation *last = matmuls.back(), *before = matmuls[matmuls.size() - 2];
  bool isOnlyTile =
      llvm::any_of(stores, [](StoreSharedOp store) { return store.getRing().getType().getStages() == 1; });
  for (Operation *op = before->getNextNode(); isOnlyTile && op != last;) {
    Operation *next = op->getNextNode();
    if (isa<LoadSharedOp>(op))
      op->moveBefore(before);
    op = next;
  }
  for (StoreSharedOp store : stores)
    store->moveBefore(last);
}

/// Makes the loop's matmul so many, and its order that of stages; false where that is not possible.
static bool prepare(scf::ForOp loop, int parts) {
  if (!storesAtEnd(*loop.getBody()))
    return false;
  if (parts > 1 && !splitMatmul(*loop.getBody(), parts))
    return false;
  storeBeforeLastMatmul(*loop.getBody());
  return true;
}

/// The prepared loop of this number in a copy of the module.
static std::optional<LoopSteps> loopInCopy(ModuleOp copy, size_t number, int parts, const TimingModel &model) {
  scf::ForOp loop = loopsOf(copy)[number];
  return prepare(loop, parts) ? stepsOf(loop, model) : std::nullopt;
}

namespace {
/// Why a loop gets no stages; nothing where it gets some.
struct Refusal {
  std::string why = {};
  /// What the phases after this one have to say: their error, and its notes.
  std::vector<std::pair<Location, std::string>> notes = {};
  explicit operator bool() const { return !why.empty(); }
  void tell(Location location, const Twine &before = "") const {
    InFlightDiagnostic remark = emitRemark(location) << "no warp pipeline: " << before << why;
    for (const auto &[place, text] : notes)
      remark.attachNote(place) << text;
  }
};
} // namespace

/// Whether the phases after this one accept what `change` makes of a copy of the module; it is false where it makes
/// nothing.
static Refusal refusal(ModuleOp module, const StageOptions &options, llvm::function_ref<bool(ModuleOp)> change) {
  OwningOpRef<ModuleOp> copy = module.clone();
  Refusal refusal;
  ScopedDiagnosticHandler keep(module.getContext(), [&](Diagnostic &said) {
    if (said.getSeverity() != DiagnosticSeverity::Error || !refusal.notes.empty())
      return success();
    refusal.notes.emplace_back(said.getLocation(), said.str());
    for (Diagnostic &note : said.getNotes())
      refusal.notes.emplace_back(note.getLocation(), note.str());
    return success();
  });
  if (!change(*copy) || failed(mlir::verify(*copy)) || failed(options.runPhasesAfter(copy)))
    refusal.why = "its stages are not proven apart";
  return refusal;
}

/// Of a way to make stages.
static Refusal refusal(ModuleOp module, size_t number, const Way &way, const StageOptions &options) {
  const GpuTarget &target = options.target;
  int64_t most = target.registersPerThread(options.warps) * 7 / 8, needed = 0;
  Refusal refused = refusal(module, options, [&](ModuleOp copy) {
    std::optional<LoopSteps> loop = loopInCopy(copy, number, way.parts, *target.timing());
    needed = registersFor(*loop, way.cut);
    if (needed > most)
      return false;
    rewrite(*loop, way.cut);
    return true;
  });
  return needed > most ? Refusal{fmt::format("its tiles take {} registers of a thread, of {}", needed, most)} : refused;
}

/// From how many iterations on stages are faster: beginning and ending them, with the groups a stage apart, takes about
/// as long as an iteration.
static int64_t leastIterations(double cycles, double uncut) {
  return cycles < uncut ? int64_t(cycles / (uncut - cycles)) + 1 : std::numeric_limits<int64_t>::max();
}

/// The fastest first.
static std::vector<Way> waysOf(ModuleOp module, size_t number, const TimingModel &model) {
  std::vector<Way> ways;
  for (int parts : {1, 2, 4}) {
    OwningOpRef<ModuleOp> copy = module.clone();
    std::optional<LoopSteps> loop = loopInCopy(*copy, number, parts, model);
    bool isTooFine = loop && loop->wait && parts > 2; // stages as short as their barriers
    if (!loop || loop->steps.size() < 2 || isTooFine)
      continue;
    for (auto &[cycles, cut] : waysToCut(*loop, model))
      ways.push_back({cycles, parts, cut});
  }
  llvm::sort(ways);
  return ways;
}

static bool multiplies(scf::ForOp loop) {
  return llvm::any_of(*loop.getBody(), [](Operation &op) { return isMatmul(&op) || isa<DotSharedOp>(op); });
}

/// Of matmuls of warp groups, the first way that the phases after this one accept.
static void findGroupStages(ModuleOp module, const StageOptions &options) {
  for (size_t number = 0; number < loopsOf(module).size(); ++number) {
    std::vector<GroupWay> ways = waysOfGroups(loopsOf(module)[number]);
    Refusal first = {"stages are made of matmuls by warp groups whose operands are prefetched"};
    auto taken = llvm::find_if(ways, [&](const GroupWay &way) {
      Refusal refused = refusal(module, options, [&](ModuleOp copy) {
        makeGroupStages(loopsOf(copy)[number], way);
        return true;
      });
      bool isAccepted = !refused;
      if (&way == &ways.front())
        first = std::move(refused);
      return isAccepted;
    });
    Location location = loopsOf(module)[number].getLoc();
    if (taken == ways.end()) {
      if (multiplies(loopsOf(module)[number]))
        first.tell(location);
      continue;
    }
    makeGroupStages(loopsOf(module)[number], *taken);
    emitRemark(location) << "a warp pipeline of " << taken->stages
                         << " stages: asked for, there is no estimate of time";
  }
}

/// Where that is known: with the one that stands before the loop or after it (PipelineByWarps.cpp).
static std::optional<int64_t> iterationsOf(scf::ForOp loop) {
  std::optional<APInt> iterations = loop.getStaticTripCount();
  return iterations ? std::optional(iterations->getSExtValue() + 1) : std::nullopt;
}

/// Of the loop of this number, by the estimate.
static void findStagesOf(ModuleOp module, size_t number, const StageOptions &options) {
  const TimingModel &model = *options.target.timing();
  constexpr int mostTried = 6;
  scf::ForOp from = loopsOf(module)[number];
  if (!multiplies(from))
    return;
  std::optional<LoopSteps> loop = stepsOf(from, model);
  std::vector<Way> ways = loop ? waysOf(module, number, model) : std::vector<Way>();
  if (ways.empty()) {
    Refusal{loop ? "it stores to shared memory before a matmul" : whyNoSteps(from).str()}.tell(from.getLoc());
    return;
  }
  double uncut = cyclesUncut(*loop);
  // Estimates for chains of matmuls whose tiles are stored, not copied, are too low by some percent.
  int percent = isChain(*loop) && !loop->wait ? 12 : 6;
  std::optional<int64_t> iterations = iterationsOf(from);
  Refusal why;
  auto taken = ways.end();
  for (auto way = ways.begin(); way != ways.end() && way - ways.begin() < mostTried && taken == ways.end(); ++way) {
    Refusal refused;
    if (!options.isAlways && way->cycles > uncut * (100 - percent) / 100)
      refused = {fmt::format("stages are made where that is {} % less", percent)};
    else if (int64_t least = leastIterations(way->cycles, uncut);
             !options.isAlways && iterations && *iterations < least)
      refused = {fmt::format("they are faster from {} iterations on, and the loop has {}", least, *iterations)};
    else
      refused = refusal(module, number, *way, options);
    if (!refused)
      taken = way;
    if (!why)
      why = refused; // of the fastest
  }
  if (taken == ways.end()) {
    why.tell(from.getLoc(),
             fmt::format("estimated {:.0f} cycles an iteration, {:.0f} without: ", ways.front().cycles, uncut));
    return;
  }
  std::string remark = fmt::format("a warp pipeline of {} stages: estimated {:.0f} cycles an iteration, {:.0f} without",
                                   taken->cut.size(), taken->cycles, uncut);
  if (taken->cycles < uncut && !iterations)
    remark += fmt::format("; faster from about {} iterations on", leastIterations(taken->cycles, uncut));
  from.emitRemark(remark);
  prepare(from, taken->parts);
  rewrite(*stepsOf(from, model), taken->cut);
}

bool simt::findStages(ModuleOp module, const StageOptions &options) {
  const GpuTarget &target = options.target;
  bool isWritten = false, asserts = false;
  module.walk([&](Operation *op) {
    isWritten |= isa<StageOp>(op);
    asserts |= isa<triton::AssertOp>(op);
  });
  bool isOfGroups = options.warps == 2 * warpsOfGroup, isTried = options.isAlways || (isOfGroups && target.timing());
  if (isWritten || !isTried) // stages that the text has are its author's
    return false;
  Refusal ofKernel;
  if (!isOfGroups)
    ofKernel.why = fmt::format("a block has {} warps, not {}", options.warps, 2 * warpsOfGroup);
  else if (asserts)
    ofKernel.why = "the kernel asserts, and a failed assertion is told to all threads at a barrier";
  if (ofKernel) {
    for (scf::ForOp loop : loopsOf(module))
      if (multiplies(loop))
        ofKernel.tell(loop.getLoc());
    return false;
  }
  if (!target.timing()) {
    findGroupStages(module, options);
  } else {
    for (size_t number = 0; number < loopsOf(module).size(); ++number)
      findStagesOf(module, number, options);
  }
  return module.walk([](StageOp) { return WalkResult::interrupt(); }).wasInterrupted();
}
