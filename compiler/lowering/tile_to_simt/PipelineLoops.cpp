// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Chooses the loads and the number of iterations, sizes the rings, and hands the loop to one of two pipeliners.
#include "compiler/lowering/tile_to_simt/PipelineLoops.h"
#include "compiler/lowering/simt/Exchanges.h"
#include "compiler/lowering/simt/GpuTarget.h"
#include "compiler/lowering/simt/PlaceShared.h"
#include "compiler/lowering/tile_to_simt/ProducerWarps.h"
#include "compiler/lowering/tile_to_simt/ShareOperands.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

LoopPipeliner::~LoopPipeliner() = default;

static constexpr StringLiteral stagesName = "tt.num_stages"; // Triton's

static int64_t stagesOf(scf::ForOp loop, const PipelineTarget &to, int64_t usual) {
  if (auto own = loop->getAttrOfType<IntegerAttr>(stagesName))
    return own.getInt();
  return to.stages ? to.stages : usual;
}

LoopPipeliner::LoopPipeliner(scf::ForOp loop, const PipelineTarget &to, int64_t usual, int64_t mostIndexWords)
    : loop(loop), to(to), stages(stagesOf(loop, to, usual)), b(loop.getLoc(), loop), slice(loop, mostIndexWords) {}

bool LoopPipeliner::isAsked() {
  return loop->hasAttr(stagesName);
}

int64_t simt::wordsOf(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  if (!tile)
    return 1;
  int64_t bits = tile.getElementType().isIntOrFloat() ? tile.getElementTypeBitWidth() : 64;
  return int64_t(llvm::divideCeil(registersOf(tile) * bits, 32));
}

int64_t simt::carriedWords(scf::ForOp loop) {
  int64_t words = 0;
  for (Value argument : loop.getRegionIterArgs())
    if (isa<RankedTensorType>(argument.getType()))
      words += wordsOf(argument.getType());
  return words;
}

int64_t simt::matmulWords(scf::ForOp loop) {
  int64_t most = 0;
  for (auto dot : loop.getBody()->getOps<MatrixDotOp>()) {
    bool isCarried = isa<BlockArgument>(dot.getC()) || carriedWords(loop) >= wordsOf(dot.getType());
    int64_t sum = isCarried && dot->hasOneUse() ? 0 : wordsOf(dot.getType());
    most = std::max(most, wordsOf(dot.getA().getType()) + wordsOf(dot.getB().getType()) + sum);
  }
  return most;
}

bool LoopPipeliner::isAlone(int64_t mostBytes) const {
  return 2 * ringBytes(mostBytes) > to.target.sharedMemoryBytes() || !leavesRegistersForTwo();
}

bool LoopPipeliner::leavesRegistersForTwo() const {
  return carriedWords(loop) + matmulWords(loop) < to.target.registersPerThread(2 * to.warps);
}

int64_t LoopPipeliner::bytesOf(SharedType tile) {
  constexpr uint64_t alignment = 1024;
  return int64_t(llvm::alignTo(uint64_t(tile.getTileBytes()), alignment));
}

/// Whether its matmuls use each element of an operand for few others.
static bool hasFewRows(scf::ForOp loop) {
  auto dots = loop.getBody()->getOps<MatrixDotOp>();
  return llvm::all_of(dots, [](MatrixDotOp dot) {
    return llvm::any_of(cast<RankedTensorType>(dot.getType()).getShape(), [](int64_t size) { return size <= 32; });
  });
}

LoopPipeliner::RingSizes LoopPipeliner::sizeCopies(int64_t mostBytes) const {
  int64_t bytes = 0, more = 0;
  for (RingCopy copy : copies) {
    int64_t tile = bytesOf(copy.ringType(1));
    bytes += tile;
    more += copy.isReadLate ? tile : 0;
  }
  auto fitting = [&](int64_t beside) { return bytes ? std::min(stages, (mostBytes - beside) / bytes) : 0; };
  int64_t with = fitting(more), without = fitting(0);
  // Two blocks on a multiprocessor hide more than a barrier takes, and more do where loads take longer than matmuls.
  int64_t most = hasFewRows(loop) ? 8 : 2;
  auto blocks = [&](int64_t ring) {
    return std::min(most, to.target.sharedMemoryBytes() / std::max<int64_t>(1, ring));
  };
  bool costsNoBlock = blocks(with * bytes + more) == blocks(without * bytes);
  bool isWorth = isMoreWorthAStage || (costsNoBlock && (with == without || (with >= 3 && isMoreWorthAFourthStage)));
  if (more && with >= 2 && isWorth)
    return {with * bytes + more, with, true};
  return without < 2 ? RingSizes() : RingSizes{without * bytes, without, false};
}

// Rings that stores fill have two tiles, which saves a barrier, where these fit and leave memory for the blocks that
// hide more than that; else one.
LoopPipeliner::RingSizes LoopPipeliner::sizeRings(int64_t mostBytes) const {
  constexpr int64_t enoughBlocks = 4;
  for (int64_t slots = storedBytes ? 2 : 0; slots > 0; --slots) {
    int64_t stored = slots * storedBytes;
    RingSizes sizes = stored <= mostBytes ? sizeCopies(mostBytes - stored) : RingSizes();
    bool isCrowded = slots > 1 && leavesRegistersForTwo() && enoughBlocks * stored >= to.target.sharedMemoryBytes();
    if (stored > mostBytes || isCrowded || (!copies.empty() && !sizes.bytes))
      continue;
    sizes.bytes += stored;
    sizes.slots = slots;
    return sizes;
  }
  if (RingSizes sizes = sizeCopies(mostBytes); sizes.bytes || copies.empty())
    return sizes;
  // One tile of each has to be stored: a copy would need a second one.
  int64_t all = storedBytes;
  for (RingCopy copy : copies)
    all += bytesOf(copy.ringType(1));
  return all <= mostBytes ? RingSizes{all, 0, false, 1} : RingSizes();
}

void LoopPipeliner::allocateRings() {
  for (RingCopy &copy : copies)
    copy.ring = AllocOp::create(b, copy.ringType(tilesOf(copy)));
}

Value LoopPipeliner::i32(int64_t value) {
  return arith::ConstantIntOp::create(b, value, 32);
}

bool simt::fillsWithZeros(GlobalLoadOp load) {
  Value other = load.getOther();
  return !other || matchPattern(other, m_Zero()) || matchPattern(other, m_PosZeroFloat());
}

layout::Order simt::contiguousOrder(GlobalLoadOp load) {
  layout::Order order = {int(load.getAxis())};
  for (int axis = int(cast<RankedTensorType>(load.getType()).getRank()); axis-- > 0;)
    if (axis != order[0])
      order.push_back(axis);
  return order;
}

std::string LoopPipeliner::describeStages(int64_t wanted, int64_t late) const {
  std::string text = std::to_string(stages - late) + " stages";
  return stages < wanted ? text + " (" + std::to_string(wanted - late) + " do not fit into shared memory)" : text;
}

void LoopPipeliner::tellDecisions() const {
  for (auto &[location, what] : decisions)
    emitRemark(location) << what;
}

// Asynchronous copies take rows too, as the sums by which an attention's backward pass divides: each thread then finds
// what it needs of one in shared memory. They copy at least 32 bits.
static bool isOperand(GlobalLoadOp load, const GpuTarget &target) {
  auto tile = dyn_cast<RankedTensorType>(load.getType());
  if (!tile || !tile.getElementType().isIntOrFloat() || tile.getElementTypeBitWidth() < 8 || !firstDotOf(load))
    return false;
  bool isRow = tile.getRank() == 1 && target.hasAsyncCopies() && fillsWithZeros(load) &&
               int64_t(load.getElements()) * tile.getElementTypeBitWidth() >= 32;
  return tile.getRank() >= 2 || isRow;
}

/// Whether it is a loop without matmuls that asks for stages itself, on a chip whose loops carry tiles in registers.
bool LoopPipeliner::isAskedForRows() {
  return isAsked() && !to.target.hasAsyncCopies() && loop.getBody()->getOps<MatrixDotOp>().empty() &&
         loop.getBody()->getOps<ScaledDotOp>().empty();
}

bool LoopPipeliner::find() {
  bool hasRows = isAskedForRows();
  if (loop.getNumResults() == 0 && !hasRows)
    return false;
  const char *ofLoop = loop.getUnsignedCmp() ? "the loop's counter is unsigned" : "";
  const MemoryWrites &writes = slice.loopWrites();
  bool isAny = false;
  for (GlobalLoadOp load : loop.getBody()->getOps<GlobalLoadOp>()) {
    if (hasRows ? !isa<RankedTensorType>(load.getType()) : !isOperand(load, to.target))
      continue;
    if (stages < 2) {
      decide(load, "not prefetched: the loop has 1 stage");
      continue;
    }
    std::string why = load.getIsVolatile()                  ? "it is volatile"
                      : writes.isUnknown()                  ? "the loop writes memory"
                      : writes.mayChange(load.getPointer()) ? "the loop stores through the same pointer argument"
                                                            : ofLoop;
    if (why.empty() && take(load, why))
      isAny = true;
    else
      decide(load, "not prefetched: " + why);
  }
  return isAny;
}

/// Those of loops with something to prefetch; the others tell why there is nothing, if they are to tell.
static std::vector<std::unique_ptr<LoopPipeliner>> findPipelines(FuncOp function, const PipelineTarget &to,
                                                                 bool tells = false) {
  std::vector<std::unique_ptr<LoopPipeliner>> pipeliners;
  function.walk([&](scf::ForOp loop) {
    if (!isInnermost(loop))
      return;
    std::unique_ptr<LoopPipeliner> pipeliner =
        to.target.hasAsyncCopies() ? pipelineByThreads(loop, to) : pipelineByWarps(loop, to);
    if (pipeliner->find())
      pipeliners.push_back(std::move(pipeliner));
    else if (tells)
      pipeliner->tellDecisions();
  });
  return pipeliners;
}

/// Whether all have the same producer warps; or none has such.
static bool haveProducer(ArrayRef<std::unique_ptr<LoopPipeliner>> pipeliners, const PipelineTarget &to,
                         int64_t mostBytes) {
  if (!to.hasProducers || llvm::none_of(pipeliners, [&](auto &pipeliner) { return pipeliner->isAlone(mostBytes); }))
    return false;
  scf::ForOp first = pipeliners.front()->getLoop();
  auto rings = pipeliners.front()->ringsForProducer(mostBytes, first);
  return !rings.empty() && llvm::all_of(pipeliners.drop_front(), [&](auto &pipeliner) {
    return pipeliner->ringsForProducer(mostBytes, first) == rings;
  });
}

/// With rings of at most so many bytes.
static void rewrite(FuncOp function, ArrayRef<std::unique_ptr<LoopPipeliner>> pipeliners, const PipelineTarget &to,
                    int64_t mostBytes) {
  bool hasProducer = haveProducer(pipeliners, to, mostBytes);
  ProducerWarps producer(function, to.warps, to.target.lanesPerWarp());
  for (auto &pipeliner : pipeliners)
    pipeliner->rewrite(mostBytes, hasProducer ? &producer : nullptr);
  if (hasProducer)
    producer.finish();
}

// As simplify-pipelines does.
static void simplify(ModuleOp module) {
  IRRewriter rewriter(module.getContext());
  DominanceInfo dominance(module);
  eliminateCommonSubExpressions(rewriter, dominance, module);
  module.walk([](LoopLikeOpInterface loop) { moveLoopInvariantCode(loop); });
}

namespace {
/// A block with rings.
struct Trial {
  int64_t parts = 0; ///< matmuls, or parts of them, that have their operands in scratch memory
  int64_t bytes = 0; ///< of shared memory
};
} // namespace

// On a copy, with rings of at most so many bytes; nothing where not everything finds its place in shared memory.
static std::optional<Trial> tryRings(ModuleOp module, const PipelineTarget &to, int64_t ringBytes) {
  OwningOpRef<ModuleOp> copy = module.clone();
  ScopedDiagnosticHandler ignore(module.getContext(), [](Diagnostic &) { return success(); });
  int count = 0;
  FuncOp function = findKernel(*copy, count);
  rewrite(function, findPipelines(function, to), to, ringBytes);
  if (failed(shareOperands(*copy)))
    return std::nullopt;
  simplify(*copy);
  lowerConversions(*copy, to.target);
  lowerReductions(*copy, {to.target.lanesPerWarp(), to.warps});
  if (failed(lowerExchanges(*copy, to.target, to.warps)) || failed(placeSharedMemory(*copy, to.target, to.warps)))
    return std::nullopt;
  Trial trial{0, placedBytes(function)};
  copy->walk([&](DotScratchOp) { ++trial.parts; });
  return trial;
}

// Matmuls whose operands go through scratch memory are not cut into more parts for the sake of rings. `sharesUnit`: two
// blocks that fit into a compute unit's memory without rings fit with them.
static bool fits(ModuleOp module, const PipelineTarget &to, int64_t ringBytes, bool sharesUnit) {
  std::optional<Trial> with = tryRings(module, to, ringBytes);
  if (!with)
    return false;
  int64_t half = to.target.sharedMemoryBytes() / 2;
  bool isCrowded = sharesUnit && !to.target.hasAsyncCopies() && with->bytes > half;
  if (with->parts == 0 && !isCrowded)
    return true;
  Trial without = tryRings(module, to, 0).value_or(Trial());
  return with->parts <= without.parts && !(isCrowded && without.bytes <= half);
}

/// How many bytes rings may have at most. Loops come one after the other, and their rings share memory.
static int64_t mostRingBytes(ModuleOp module, const PipelineTarget &to,
                             ArrayRef<std::unique_ptr<LoopPipeliner>> pipeliners) {
  int64_t bytes = to.target.sharedMemoryBytes();
  auto largestRing = [&] {
    int64_t largest = 0;
    for (auto &pipeliner : pipeliners)
      largest = std::max(largest, pipeliner->ringBytes(bytes));
    return largest;
  };
  auto isAsked = [&](int64_t ring) { // by a loop with such a ring
    return to.stages || llvm::any_of(pipeliners, [&](auto &pipeliner) {
             return pipeliner->ringBytes(bytes) == ring && pipeliner->isAsked();
           });
  };
  bool sharesUnit = llvm::all_of(pipeliners, [](auto &pipeliner) { return pipeliner->mayShareUnit(); });
  for (bytes = largestRing(); bytes && !fits(module, to, bytes, sharesUnit && !isAsked(bytes)); bytes = largestRing())
    --bytes; // a stage less for the largest
  return bytes;
}

LogicalResult simt::pipelineLoops(ModuleOp module, const PipelineTarget &wanted) {
  int count = 0;
  FuncOp function = findKernel(module, count);
  if (!function)
    return module.emitError() << "expected one public 'tt.func', found " << count;
  PipelineTarget to = wanted;
  std::vector<std::unique_ptr<LoopPipeliner>> pipeliners = findPipelines(function, to, true);
  int64_t bytes = mostRingBytes(module, to, pipeliners);
  // Barrier objects need memory too, and rings are used until all copies are over: that is not worth a stage.
  if (haveProducer(pipeliners, to, to.target.sharedMemoryBytes()) || haveProducer(pipeliners, to, bytes)) {
    to.hasProducers = false;
    int64_t without = mostRingBytes(module, to, pipeliners);
    to.hasProducers = bytes >= without;
    bytes = without;
  }
  rewrite(function, pipeliners, to, bytes);
  for (auto &pipeliner : pipeliners)
    pipeliner->tellDecisions();
  return success();
}
