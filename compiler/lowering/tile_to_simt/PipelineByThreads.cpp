// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops whose tiles are copied to rings by each thread for itself (sm_90). Copies beyond the last iteration are masked.
#include "compiler/layout/Axes.h"
#include "compiler/layout/MatrixLoad.h"
#include "compiler/lowering/simt/GpuTarget.h"
#include "compiler/lowering/tile_to_simt/DeferMatmul.h"
#include "compiler/lowering/tile_to_simt/LoopPipeliner.h"
#include "compiler/lowering/tile_to_simt/ProducerWarps.h"
#include "compiler/lowering/tile_to_simt/ShareOperands.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::Dim;
using layout::LinearLayout;

namespace {

class ThreadCopies : public LoopPipeliner {
public:
  ThreadCopies(scf::ForOp loop, const PipelineTarget &to)
      : LoopPipeliner(loop, to, /*usual=*/3, /*mostIndexWords=*/16) {}

  bool find() override;
  SmallVector<std::pair<Type, int>> ringsForProducer(int64_t mostBytes, scf::ForOp first) override;
  void rewrite(int64_t mostBytes, ProducerWarps *producer) override;

private:
  bool take(GlobalLoadOp load, std::string &why) override;
  Value isActive(Value counter64);
  Value counterAt(int64_t ahead, Value counter);
  Value counter64At(int64_t ahead, Value counter);
  /// The copies of the iteration `ahead` of that with this counter; carried scalars and indices go from that
  /// iteration's to the next one's. `numberIn`: of the tile in a ring of so many.
  void emitCopies(int64_t ahead, Value counter, SmallVectorImpl<Value> &scalars,
                  llvm::function_ref<Value(int64_t tiles)> numberIn);
  /// The indices behind the scalars, of the iteration `ahead`.
  void appendIndices(int64_t ahead, Value counter, SmallVectorImpl<Value> &scalars);
  void emitPrologue();
  void rebuildLoop();
  bool areInTwoGroups();
  void rebuildForProducer(ProducerWarps &producer);
  MatrixDotOp findOpenMatmul();
  bool hasRoomForTwoBlocks();
  /// The copy that groups of warps read in its ring as this operand of a matmul; null for none.
  RingCopy *copyReadBy(MatrixDotOp dot, int operand);

  MatrixDotOp open;  ///< the matmul that may go on while the next iteration begins, if there is one
  MatmulChain chain; ///< of which the second matmul may run in the next iteration
  SmallVector<Value> scalarsAhead;
};

} // namespace

//===-- What can be copied ---------------------------------------------------------------------------------------===//

bool ThreadCopies::take(GlobalLoadOp load, std::string &why) {
  auto tile = cast<RankedTensorType>(load.getType());
  int64_t elements = int64_t(load.getElements()), bits = tile.getElementTypeBitWidth();
  if (!fillsWithZeros(load)) {
    why = "`other` is not zero";
    return false;
  }
  if (elements * bits < 32) {
    why = "threads read " + std::to_string(elements * bits / 8) + " contiguous bytes of it, and copies 4, 8 or 16";
    return false;
  }
  layout::Shape shape(tile.getShape().begin(), tile.getShape().end());
  RingCopy copy{load, elements, layout::matrixShared(shape, int(bits), contiguousOrder(load))};
  LinearLayout offsets = layoutOf(tile).invertAndCompose(copy.shared);
  for (Dim in : {Dim::Register, Dim::Lane, Dim::Warp})
    for (int bit = 0; bit < offsets.inputBits(in); ++bit) {
      int64_t offset = offsets.basis(in, bit, Dim::Offset);
      bool within = in == Dim::Register && int64_t(1) << bit < elements;
      if (within ? offset != int64_t(1) << bit : offset % elements != 0) {
        why = "what a thread reads is not contiguous in shared memory";
        return false;
      }
    }
  if (!slice.add({load.getPointer(), load.getMask()})) {
    why = takesMoreThanScalars;
    return false;
  }
  copies.push_back(copy);
  return true;
}

bool ThreadCopies::find() {
  if (!LoopPipeliner::find())
    return false;
  open = findOpenMatmul();
  chain = findChain(loop, to.target.registersPerThread(to.warps));
  RingCopy *ofChain = chain ? copyReadBy(chain.second, 1) : nullptr;
  bool isFirstEarly = ofChain && copyReadBy(chain.first, 1) && copyReadBy(chain.first, 1) != ofChain &&
                      (loop.isDefinedOutsideOfLoop(chain.first.getA()) || copyReadBy(chain.first, 0));
  if (!isFirstEarly)
    chain = {};
  // Three stages and a tile more are faster than four (docs/sm_90-code.md).
  isMoreWorthAFourthStage = bool(open);
  isMoreWorthAStage = chain && chain.isDeferrable;
  for (RingCopy *copy :
       {open ? copyReadBy(open, 0) : nullptr, open ? copyReadBy(open, 1) : nullptr, chain ? ofChain : nullptr})
    if (copy)
      copy->isReadLate = true;
  if (areInTwoGroups())
    ofChain->group = 1;
  return true;
}

void ThreadCopies::rewrite(int64_t mostBytes, ProducerWarps *producer) {
  int64_t wanted = stages;
  RingSizes sizes = sizeRings(mostBytes);
  stages = sizes.stages;
  hasMore = sizes.hasMore;
  if (!hasMore)
    chain = {};
  for (const RingCopy &copy : copies)
    decide(copy.load, stages < 2 ? "not prefetched: shared memory has no room for two tiles"
                                 : std::string("prefetched by asynchronous copies") +
                                       (producer ? " of producer warps, " : ", ") + describeStages(wanted));
  if (stages < 2)
    return;
  if (open)
    open.setPending(1);
  bool leavesPending = chain && !chain.isDeferrable && hasRoomForTwoBlocks();
  if (producer) {
    rebuildForProducer(*producer);
  } else {
    emitPrologue();
    rebuildLoop();
  }
  Operation *made = loop;
  if (chain && chain.isDeferrable)
    made = deferSecond(loop, chain);
  else if (leavesPending)
    leavePending(loop, chain);
  if (producer)
    producer->setDone(made, made->getResults().take_back(producer->ringCounters().count()));
}

/// Of shared memory for the rings and for a left operand from outside of the loop. A block that has a multiprocessor to
/// itself, and one group of warps, has nothing that could run beside a pending matmul: it would only take registers.
bool ThreadCopies::hasRoomForTwoBlocks() {
  int64_t bytes = 0;
  for (RingCopy &copy : copies)
    bytes += copy.ringType(tilesOf(copy)).getBytes();
  auto left = cast<RankedTensorType>(chain.first.getA().getType());
  if (loop.isDefinedOutsideOfLoop(chain.first.getA()))
    bytes += left.getNumElements() * left.getElementTypeBitWidth() / 8;
  return 2 * bytes <= to.target.sharedMemoryBytes();
}

RingCopy *ThreadCopies::copyReadBy(MatrixDotOp dot, int number) {
  OperandTile operand = operandTile(dot, number);
  auto *copy = llvm::find_if(copies, [&](RingCopy &each) { return each.load == operand.tile.getDefiningOp(); });
  return copy != copies.end() && groupsReadRing(copy->ringType(1), operand.axisK) ? copy : nullptr;
}

// None when anything else would have to wait for it. Nor with a left operand in registers: ptxas 13.0 gives
// them to other values of the next iteration while the instruction still reads them.
MatrixDotOp ThreadCopies::findOpenMatmul() {
  auto dots = llvm::to_vector(loop.getBody()->getOps<MatrixDotOp>());
  if (dots.size() != 1 || !dots.front().getWarpGroups())
    return {};
  MatrixDotOp dot = dots.front();
  auto sum = dyn_cast<BlockArgument>(dot.getC());
  bool carries = sum && sum.getOwner() == loop.getBody() && sum.hasOneUse() && dot->hasOneUse() &&
                 loop.getYieldedValues()[sum.getArgNumber() - 1] == dot.getD();
  return carries && copyReadBy(dot, 0) && copyReadBy(dot, 1) ? dot : MatrixDotOp();
}

//===-- Rewriting ------------------------------------------------------------------------------------------------===//

static Value toI64(ImplicitLocOpBuilder &b, Value integer) {
  Type wide = b.getI64Type();
  if (integer.getType() == wide)
    return integer;
  return integer.getType().isIndex() ? Value(arith::IndexCastOp::create(b, wide, integer))
                                     : Value(arith::ExtSIOp::create(b, wide, integer));
}

// The counter of a later iteration may lie beyond its type; such iterations are none, which 64 bits tell.
Value ThreadCopies::counter64At(int64_t ahead, Value counter) {
  Value distance = arith::MulIOp::create(b, toI64(b, loop.getStep()), arith::ConstantIntOp::create(b, ahead, 64));
  return arith::AddIOp::create(b, toI64(b, counter), distance);
}

Value ThreadCopies::counterAt(int64_t ahead, Value counter) {
  Type type = counter.getType();
  Value count = arith::ConstantOp::create(b, b.getIntegerAttr(type, ahead));
  return arith::AddIOp::create(b, counter, Value(arith::MulIOp::create(b, loop.getStep(), count)));
}

Value ThreadCopies::isActive(Value counter64) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, counter64, toI64(b, loop.getUpperBound()));
}

void ThreadCopies::appendIndices(int64_t ahead, Value counter, SmallVectorImpl<Value> &scalars) {
  llvm::append_range(scalars,
                     slice.loadIndices(b, counterAt(ahead, counter), scalars, isActive(counter64At(ahead, counter))));
}

void ThreadCopies::emitCopies(int64_t ahead, Value counter, SmallVectorImpl<Value> &scalars,
                              llvm::function_ref<Value(int64_t tiles)> numberIn) {
  Value number = counterAt(ahead, counter), active = isActive(counter64At(ahead, counter));
  IRMapping map = slice.at(number, scalars);
  slice.clone(b, map);
  for (RingCopy &copy : copies) {
    Value own = copy.load.getMask() ? map.lookupOrDefault(copy.load.getMask()) : Value();
    Value mask = maskWhere(b, b.getLoc(), active, own, copy.load.getType());
    AsyncCopyOp::create(b, map.lookupOrDefault(copy.load.getPointer()), copy.ring, numberIn(tilesOf(copy)), mask,
                        uint64_t(copy.elements));
  }
  AsyncCommitOp::create(b);
  scalars = slice.next(map);
  appendIndices(ahead + 1, counter, scalars);
}

void ThreadCopies::emitPrologue() {
  b.setInsertionPoint(loop);
  allocateRings();
  for (unsigned number : slice.carried())
    scalarsAhead.push_back(loop.getInitArgs()[number]);
  appendIndices(0, loop.getLowerBound(), scalarsAhead);
  for (int64_t stage = 0; stage + 1 < stages; ++stage)
    emitCopies(stage, loop.getLowerBound(), scalarsAhead, [&](int64_t) { return i32(stage); });
}

void ThreadCopies::rebuildLoop() {
  SmallVector<Value> inits = llvm::to_vector(loop.getInitArgs());
  unsigned before = unsigned(inits.size());
  llvm::append_range(inits, scalarsAhead);
  llvm::SmallSetVector<int64_t, 2> sizes; // of rings, each of which is counted around
  for (const RingCopy &copy : copies)
    sizes.insert(tilesOf(copy));
  for (size_t i = 0; i < sizes.size(); ++i)
    inits.append({i32(0), i32(stages - 1)});
  scf::ForOp made = scf::ForOp::create(b, loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), inits);
  made->setAttrs(loop->getAttrs());
  b.setInsertionPointAfter(made);
  AsyncWaitOp::create(b, uint64_t(0));
  BarrierOp::create(b); // the rings are free again

  ValueRange added = made.getRegionIterArgs().drop_front(before);
  ValueRange numbers = added.take_back(2 * sizes.size());
  auto placeOf = [&](int64_t tiles) { return size_t(llvm::find(sizes, tiles) - sizes.begin()); };
  b.setInsertionPointToStart(made.getBody());
  AsyncWaitOp::create(b, uint64_t(stages - 2));
  BarrierOp::create(b);
  SmallVector<Value> scalars = llvm::to_vector(added.drop_back(2 * sizes.size()));
  Operation *barrier = &made.getBody()->back();
  bool isBehindMatmul = open && !hasMore;
  if (isBehindMatmul)
    BarrierOp::create(b); // after the wait for the last matmul, which read the tiles
  emitCopies(stages - 1, made.getInductionVar(), scalars,
             [&](int64_t tiles) { return numbers[2 * placeOf(tiles) + 1]; });
  SmallVector<Value> nextNumbers;
  for (auto [i, number] : llvm::enumerate(numbers))
    nextNumbers.push_back(nextStage(b, number, sizes[i / 2]));
  Block::iterator place = isBehindMatmul ? std::next(barrier->getIterator()) : made.getBody()->end();
  SmallVector<Value> yielded = moveBody(loop, made, place);
  b.setInsertionPointToEnd(made.getBody());
  llvm::append_range(yielded, scalars);
  llvm::append_range(yielded, nextNumbers);
  scf::YieldOp::create(b, yielded);
  for (RingCopy &copy : copies)
    readRing(copy.load, copy.ring, numbers[2 * placeOf(tilesOf(copy))]);
  loop->replaceAllUsesWith(made.getResults().take_front(before));
  loop.erase();
  loop = made;
}

// Producer warps pay where two warp groups can be at different places of a loop with a chain: one multiplies while the
// other computes. A loop with a single matmul is as fast with copies by all warps (docs/sm_90-code.md).
SmallVector<std::pair<Type, int>> ThreadCopies::ringsForProducer(int64_t mostBytes, scf::ForOp first) {
  constexpr int groupsApart = 8; // warps
  RingSizes sizes = sizeRings(mostBytes);
  if (!to.target.hasArrivals() || sizes.stages < 2 || to.warps != groupsApart || !chain || !sizes.hasMore ||
      !canHaveProducer(loop, first, copies, slice))
    return {};
  SmallVector<std::pair<Type, int>> rings;
  for (RingCopy &copy : copies)
    rings.push_back({copy.ringType(sizes.stages + (copy.isReadLate ? 1 : 0)), copy.group});
  return rings;
}

/// Whether nothing but the matmul reads what is loaded, or its transposed tile.
static bool isReadOnlyBy(GlobalLoadOp load, MatrixDotOp dot) {
  Value value = load.getResult();
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    if (user == dot)
      return true;
    if (!isa<TransOp, ConvertLayoutOp>(user))
      return false;
    value = user->getResult(0);
  }
  return false;
}

/// Whether the second matmul, which runs an iteration later, alone reads one, and the first one alone the others; and
/// the matmuls take as long as the exponentials of what is between them. Where they take less, further arrivals cost
/// more than tiles gain that are free earlier.
bool ThreadCopies::areInTwoGroups() {
  constexpr int64_t flopsPerExponential = 512; // of a multiprocessor at a time: 8192 of f16 against 16
  if (!chain || !chain.isDeferrable)
    return false;
  auto depthOf = [](MatrixDotOp dot) { return cast<RankedTensorType>(dot.getA().getType()).getDimSize(1); };
  int64_t columns = cast<RankedTensorType>(chain.second.getType()).getDimSize(1);
  bool isBalanced = 2 * (depthOf(chain.first) + columns) >= flopsPerExponential;
  return isBalanced && llvm::all_of(copies, [&](RingCopy &copy) {
           bool isOfSecond = &copy == copyReadBy(chain.second, 1);
           bool isOfFirst = &copy == copyReadBy(chain.first, 0) || &copy == copyReadBy(chain.first, 1);
           return (isOfFirst || isOfSecond) && isReadOnlyBy(copy.load, isOfSecond ? chain.second : chain.first);
         });
}

void ThreadCopies::rebuildForProducer(ProducerWarps &producer) {
  SmallVector<int64_t> tiles = llvm::map_to_vector(copies, [&](RingCopy &copy) { return tilesOf(copy); });
  SmallVector<int64_t> objects = {stages};
  for (RingCopy &copy : copies)
    if (copy.group)
      objects.push_back(tilesOf(copy));
  producer.add(loop, copies, tiles, objects, slice);
  const RingCounters &rings = producer.ringCounters();
  SmallVector<Value> inits = llvm::to_vector(loop.getInitArgs());
  unsigned before = unsigned(inits.size());
  llvm::append_range(inits, producer.firstCounters());
  b.setInsertionPoint(loop);
  auto made = scf::ForOp::create(b, loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), inits);
  made->setAttrs(loop->getAttrs());
  ValueRange counters = made.getRegionIterArgs().drop_front(before);
  SmallVector<Value> yielded = moveBody(loop, made, made.getBody()->end());
  b.setInsertionPointToEnd(made.getBody());
  for (auto [group, objects] : llvm::enumerate(producer.groups())) {
    AllocOp landed = objects.landed, free = objects.free;
    bool isOfSecond = group == 1;
    if (isOfSecond)
      b.setInsertionPoint(copyReadBy(chain.second, 1)->load);
    else
      b.setInsertionPointToStart(made.getBody());
    Value object = rings.numberIn(objects.count, counters);
    auto wait = WaitArrivalsOp::create(b, landed, object, rings.parityIn(objects.count, counters));
    if (isOfSecond)
      chain.wait = wait;
    if (!isOfSecond && producer.groups().size() > 1)
      b.setInsertionPointAfter(chain.first);
    else
      b.setInsertionPointToEnd(made.getBody());
    auto arrive = ArriveOp::create(b, free, object, /*copies=*/false);
    if (isOfSecond)
      chain.arrive = arrive;
  }
  b.setInsertionPointToEnd(made.getBody());
  llvm::append_range(yielded, rings.next(b, counters));
  scf::YieldOp::create(b, yielded);
  for (RingCopy &copy : copies)
    readRing(copy.load, copy.ring, rings.numberIn(tilesOf(copy), counters));
  loop->replaceAllUsesWith(made.getResults().take_front(before));
  loop.erase();
  loop = made;
}

std::unique_ptr<LoopPipeliner> simt::pipelineByThreads(scf::ForOp loop, const PipelineTarget &to) {
  return std::make_unique<ThreadCopies>(loop, to);
}
