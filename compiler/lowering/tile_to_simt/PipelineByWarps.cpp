// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For chips whose warps copy straight to shared memory (AMD's): tiles that only matmuls read come to a ring there, by
// copies, or by loads and stores where no copies are wide enough; other tiles are carried by the loop in registers.
//
// Rings that copies fill lie as a warp fills contiguous bytes. A tile that is stored is loaded one iteration ahead and
// stored at the end of the iteration, with a ring of one tile after all warps have read that. The last iteration is
// peeled, so that no mask says which iterations there are. With three or more stages the last copies of the loop repeat
// those of the last iteration, into a tile that is not read.
//
// A loop with two dependent matmuls that is marked so (DeferChains.h) has its second one in the next iteration. Rings
// then have a tile more, its first iteration is peeled and not the last one, and the second matmul of the last
// iteration stands after the loop.
#include "compiler/layout/Swizzle.h"
#include "compiler/lowering/simt/Exchanges.h"
#include "compiler/lowering/simt/GpuTarget.h"
#include "compiler/lowering/simt/WarpPipelines.h"
#include "compiler/lowering/tile_to_simt/ChooseRing.h"
#include "compiler/lowering/tile_to_simt/DeferChains.h"
#include "compiler/lowering/tile_to_simt/DeferMatmul.h"
#include "compiler/lowering/tile_to_simt/Relayout.h"
#include "compiler/lowering/tile_to_simt/SplitMatmul.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::Dim;
using layout::LinearLayout;

namespace {

/// A load whose next tile is loaded an iteration ahead: the loop carries it, or stores it to a ring.
struct Held {
  GlobalLoadOp load;
  Operation *before; ///< the next load is issued before it, if the loop carries its tile
  LoopSlice slice;
  std::string why;                         ///< it is not copied straight to shared memory
  std::optional<LinearLayout> shared = {}; ///< how it lies in a ring, where it can be stored to one
  AllocOp ring = {};

  SharedType ringType(int64_t tiles) {
    auto tile = cast<RankedTensorType>(load.getType());
    return SharedType::get(load.getContext(), tiles, tile.getShape(), tile.getElementType(), *shared);
  }
};

/// An iteration to load for.
struct Iteration {
  Value counter;
  SmallVector<Value> scalars;
};

/// Of the rings, in an iteration.
struct RingState {
  Iteration last; ///< for which there are copies
  Value read;     ///< the tile that is read
  Value write;    ///< the tile that the next copies write; null with two stages: the other one
};

class WarpCopies : public LoopPipeliner {
public:
  // Two stages: one iteration hides the loads of the next. Three, where they cost no block.
  WarpCopies(scf::ForOp loop, const PipelineTarget &to) : LoopPipeliner(loop, to, /*usual=*/2) {}

  bool find() override;
  void rewrite(int64_t mostBytes, ProducerWarps *) override;

private:
  bool take(GlobalLoadOp load, std::string &why) override;
  bool hold(GlobalLoadOp load, std::string &why);
  bool fitsRegisters(int64_t more, int parts) const;
  int partsThatFit(int64_t more) const;
  bool readsRings() const;
  bool isCopied(Value operand);
  bool defersSecond();
  /// Of how many iterations copies are in flight or have come that no matmul has read.
  int64_t distance() const { return stages - (chain ? 2 : 1); }

  Iteration first(const LoopSlice &of);
  /// `isLimited`: never beyond the last iteration, which comes after itself.
  Iteration after(const LoopSlice &of, const Iteration &last, bool isLimited);
  /// Whether there is an iteration (i1); null where that is certain.
  Value anyIteration();
  Value inLayout(Value value, const LinearLayout &layout, IRMapping &map);
  void emitCopies(const Iteration &iteration, Value stage);
  Value emitLoad(const Held &held, const Iteration &iteration);
  void waitForCopies(int64_t pending);
  RingState ringState(ValueRange values);
  RingState fillRings();
  RingState advanceRings(const RingState &state);
  void carryStored();
  SmallVector<Value> emitLoads(const std::vector<Held> &all, scf::ForOp in);
  void emitStores(ValueRange tiles, Value slot);
  SmallVector<Value> emitLoops();
  SmallVector<Value> emitLast(Value counter, ValueRange carried, ValueRange tiles, Value readStage, Value slot);
  SmallVector<Value> emitUnpeeled();
  void rewriteLoop();

  using TileKey = std::pair<Value, Attribute>;
  std::vector<Held> held;
  std::vector<Held> stored; ///< those with rings
  int64_t slots = 0;        ///< tiles in each of these
  int parts = 1;            ///< of the loop's matmul
  MatmulChain chain;        ///< of which the second matmul runs in the next iteration
  scf::ForOp unpeeled;      ///< the loop that has it
  llvm::DenseMap<TileKey, Value> outer, inner;
};

} // namespace

static SmallVector<Value> valuesOf(const RingState &state) {
  SmallVector<Value> values = {state.last.counter};
  llvm::append_range(values, state.last.scalars);
  values.push_back(state.read);
  if (state.write)
    values.push_back(state.write);
  return values;
}

//===-- What can be prefetched -----------------------------------------------------------------------------------===//

// What loops carry, operands of the largest matmul or of the largest of its parts along K, tiles that are loaded ahead,
// and an eighth, or for a single matmul a quarter, for all else: LLVM's scheduler reads more of that ahead.
bool WarpCopies::fitsRegisters(int64_t more, int parts) const {
  for (const std::vector<Held> *list : {&held, &stored})
    for (const Held &one : *list)
      more += wordsOf(Value(GlobalLoadOp(one.load).getResult()).getType());
  scf::ForOp in = loop;
  auto dots = in.getBody()->getOps<MatrixDotOp>();
  int64_t most = to.target.registersPerThread(to.warps) * (llvm::hasNItemsOrMore(dots, 2) ? 7 : 6) / 8;
  return carriedWords(loop) + matmulWords(loop) / parts + more <= most;
}

/// How many blocks registers leave room for on a compute unit, but no more than give each SIMD four warps.
static int64_t blocksByRegisters(scf::ForOp loop, const PipelineTarget &to) {
  constexpr int warpsOfSimd = 4;
  int blocks = 1, most = std::max(1, warpsOfSimd * simdsOfUnit / to.warps);
  while (blocks < most &&
         carriedWords(loop) + matmulWords(loop) < to.target.registersPerThread((blocks + 1) * to.warps))
    ++blocks;
  return blocks;
}

bool WarpCopies::find() {
  bool isAny = LoopPipeliner::find();
  int64_t more = 0;
  if (defersSecond()) {
    chain = chainOf(loop);
    more = 1;
  }
  stages += more;
  if (isAsked() || to.stages)
    return isAny;
  int64_t usual = std::exchange(stages, 3 + more), all = to.target.sharedMemoryBytes();
  if (sizeRings(all).bytes > all / blocksByRegisters(loop, to))
    stages = usual;
  return isAny;
}

/// In how many parts along K the loop's matmul is made so that there are registers; 0: there are not. Without stages
/// LLVM's scheduler would read all parts first.
int WarpCopies::partsThatFit(int64_t more) const {
  auto dots = llvm::to_vector(scf::ForOp(loop).getBody()->getOps<MatrixDotOp>());
  for (int parts : {1, 2, 4})
    if (fitsRegisters(more, parts))
      return parts == 1 || (to.warps == 2 * warpsOfGroup && dots.size() == 1 && canSplit(dots.front(), parts)) ? parts
                                                                                                               : 0;
  return 0;
}

/// Whether both operands of the loop's matmul are read from rings.
bool WarpCopies::readsRings() const {
  auto isRead = [&](Value operand) {
    auto convert = operand.getDefiningOp<ConvertLayoutOp>();
    auto trans = convert ? convert.getSrc().getDefiningOp<TransOp>() : TransOp();
    Value from = trans ? trans.getSrc() : convert ? convert.getSrc() : Value();
    auto reads = [&](const auto &one) { return Value(GlobalLoadOp(one.load).getResult()) == from; };
    return from && operand.hasOneUse() && (llvm::any_of(stored, reads) || llvm::any_of(copies, reads));
  };
  return llvm::all_of(scf::ForOp(loop).getBody()->getOps<MatrixDotOp>(),
                      [&](MatrixDotOp dot) { return isRead(dot.getA()) && isRead(dot.getB()); });
}

/// Whether the matmul's operand is read from a ring that copies fill.
bool WarpCopies::isCopied(Value operand) {
  while (operand.getDefiningOp<ConvertLayoutOp>() || operand.getDefiningOp<TransOp>())
    operand = operand.getDefiningOp()->getOperand(0);
  return llvm::any_of(copies, [&](RingCopy &copy) { return copy.load.getResult() == operand; });
}

/// Whether the loop is marked to have its second matmul in the next iteration, and nothing but copies is to prefetch.
bool WarpCopies::defersSecond() {
  MatmulChain found = loop->hasAttr(defersSecondAttribute) ? chainOf(loop) : MatmulChain();
  return found && stored.empty() && held.empty() && isCopied(found.first.getB()) && isCopied(found.second.getB());
}

/// How a tile lies in a ring that the layout of `load` stores to and all matmuls read; nothing where something else
/// reads it too, or where no matmul needs shared memory for it.
static std::optional<LinearLayout> storedLayout(GlobalLoadOp load, const PipelineTarget &to) {
  bool isAll = true;
  SmallVector<TileRead> reads = readsOf(load, isAll);
  auto tile = cast<RankedTensorType>(load.getType());
  if (!isAll || reads.empty() || llvm::all_of(reads, [&](const TileRead &read) {
        return !read.trans && conversionInWarp(read.convert, to.target);
      }))
    return std::nullopt;
  const LinearLayout &from = layoutOf(tile);
  layout::ScratchLayout scratch = layout::chooseScratch(from, reads.front().wanted, int(tile.getElementTypeBitWidth()),
                                                        to.target.sharedMemoryBanks());
  // What repeats there is the rest of the tile here.
  LinearLayout::Input offsets{Dim::Offset, {}};
  std::vector<LinearLayout::Input> inputs = scratch.layout.reshapeOutputs(from.outputs()).inputs();
  for (Dim dim : {Dim::Offset, Dim::Register})
    for (const LinearLayout::Input &input : inputs)
      if (input.dim == dim)
        offsets.bases.insert(offsets.bases.end(), input.bases.begin(), input.bases.end());
  return LinearLayout({offsets}, from.outputs());
}

/// `why`: it is not copied; then, why it is not loaded ahead either.
bool WarpCopies::hold(GlobalLoadOp load, std::string &why) {
  MatrixDotOp dot = firstDotOf(load);
  Held one{load, dot ? dot.getOperation() : load.getOperation(), LoopSlice(loop), why};
  if (!one.slice.add({load.getPointer(), load.getMask(), load.getOther()})) {
    why = takesMoreThanScalars;
    return false;
  }
  if (dot)
    one.shared = storedLayout(load, to);
  int parts = partsThatFit(wordsOf(load.getType()));
  if (parts == 0 || (parts > 1 && !one.shared)) {
    why += ", and there are too few registers for another tile";
    return false;
  }
  if (one.shared)
    storedBytes += bytesOf(one.ringType(1));
  (one.shared ? stored : held).push_back(std::move(one));
  return true;
}

/// Where shared memory has no room for rings, the loop carries their tiles, as far as there are registers.
void WarpCopies::carryStored() {
  for (Held &one : std::exchange(stored, {})) {
    one.shared.reset();
    if (fitsRegisters(wordsOf(one.load.getType()), 1))
      held.push_back(std::move(one));
    else
      decide(one.load, "not prefetched: " + one.why + ", and there are too few registers for another tile");
  }
}

bool WarpCopies::take(GlobalLoadOp load, std::string &why) {
  if (isAskedForRows()) {
    why = "no matmul reads it";
    return hold(load, why);
  }
  std::optional<RingCopy> copy = chooseRing(load, to, why);
  if (!copy)
    return hold(load, why);
  if (!slice.add({load.getPointer(), load.getMask()})) {
    why = takesMoreThanScalars;
    return false;
  }
  copies.push_back(*copy);
  return true;
}

//===-- Iterations -----------------------------------------------------------------------------------------------===//

Iteration WarpCopies::first(const LoopSlice &of) {
  Iteration iteration{loop.getLowerBound(), {}};
  for (unsigned number : of.carried())
    iteration.scalars.push_back(loop.getInitArgs()[number]);
  return iteration;
}

// The upper bound is beyond the counter of an iteration: their distance, unsigned, is right though it may not fit into
// the signed type.
Iteration WarpCopies::after(const LoopSlice &of, const Iteration &last, bool isLimited) {
  IRMapping map = of.at(last.counter, last.scalars);
  of.cloneScalars(b, map);
  Iteration next{arith::AddIOp::create(b, last.counter, loop.getStep()), of.next(map)};
  if (!isLimited)
    return next;
  Value left = arith::SubIOp::create(b, loop.getUpperBound(), last.counter);
  Value isReal = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, left, loop.getStep());
  auto choose = [&](Value &one, Value same) {
    if (one != same)
      one = arith::SelectOp::create(b, isReal, one, same);
  };
  choose(next.counter, last.counter);
  for (auto [one, same] : llvm::zip(next.scalars, last.scalars))
    choose(one, same);
  return next;
}

Value WarpCopies::anyIteration() {
  APInt lower, upper;
  if (matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) &&
      matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)) && lower.slt(upper))
    return {};
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, loop.getLowerBound(), loop.getUpperBound());
}

//===-- Copies and loads -----------------------------------------------------------------------------------------===//

// What the loop does not change is computed once, before it.
Value WarpCopies::inLayout(Value value, const LinearLayout &layout, IRMapping &map) {
  auto tile = dyn_cast<RankedTensorType>(value.getType());
  if (!tile)
    return map.lookupOrDefault(value);
  bool isInside = loop.getRegion().isAncestor(value.getParentRegion());
  llvm::DenseMap<TileKey, Value> &known = isInside ? inner : outer;
  TileKey key{value, LinearAttr::get(value.getContext(), layout)};
  if (Value found = known.lookup(key))
    return found;
  OpBuilder::InsertionGuard guard(b);
  if (!isInside)
    b.setInsertionPoint(copies.front().ring);
  Operation *op = value.getDefiningOp();
  Value result;
  if (!isInside && layoutOf(tile) == layout) {
    result = value;
  } else if (op && isa<ConvertLayoutOp>(op)) {
    result = inLayout(op->getOperand(0), layout, map);
  } else if (op && hasAnyLayout(op)) {
    SmallVector<Value> operands;
    for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
      bool isTile = isa<RankedTensorType>(operand.getType());
      operands.push_back(inLayout(operand, isTile ? operandLayout(op, unsigned(number), layout) : layout, map));
    }
    Operation *made = cloneInLayout(b, op, layout);
    made->setOperands(operands);
    result = made->getResult(0);
  } else {
    Value same = value;
    if (isInside) { // as it is, and then where it is wanted
      SmallVector<Value> operands;
      for (Value operand : op->getOperands()) {
        auto operandTile = dyn_cast<RankedTensorType>(operand.getType());
        operands.push_back(operandTile ? inLayout(operand, layoutOf(operandTile), map) : map.lookupOrDefault(operand));
      }
      Operation *made = b.clone(*op);
      made->setOperands(operands);
      same = made->getResult(cast<OpResult>(value).getResultNumber());
    }
    result = layoutOf(tile) == layout ? same : Value(ConvertLayoutOp::create(b, withLayout(tile, layout), same));
  }
  return known[key] = result;
}

void WarpCopies::emitCopies(const Iteration &iteration, Value stage) {
  IRMapping map = slice.at(iteration.counter, iteration.scalars);
  slice.cloneScalars(b, map);
  inner.clear();
  for (RingCopy &copy : copies) {
    GlobalLoadOp load = copy.load;
    LinearLayout layout = copyLayout(copy.shared, copy.elements, to);
    Value pointers = inLayout(load.getPointer(), layout, map);
    Value mask = load.getMask() ? inLayout(load.getMask(), layout, map) : Value();
    auto made = AsyncCopyOp::create(b, pointers, copy.ring, stage, mask, uint64_t(copy.elements));
    made.setCache(load.getCache());
  }
  AsyncCommitOp::create(b);
}

Value WarpCopies::emitLoad(const Held &one, const Iteration &iteration) {
  IRMapping map = one.slice.at(iteration.counter, iteration.scalars);
  one.slice.clone(b, map);
  return b.clone(*GlobalLoadOp(one.load), map)->getResult(0);
}

// Until a tile is there for all warps, and all have read what lay where the next one goes.
void WarpCopies::waitForCopies(int64_t pending) {
  if (copies.empty())
    return;
  AsyncWaitOp::create(b, uint64_t(pending));
  BarrierOp::create(b, /*warp=*/false, /*copies=*/false, /*shared=*/true, /*bare=*/false);
}

//===-- The loop -------------------------------------------------------------------------------------------------===//

/// A copy of the last iteration's body, for the values that the loop carries to it.
SmallVector<Value> WarpCopies::emitLast(Value counter, ValueRange carried, ValueRange tiles, Value readStage,
                                        Value slot) {
  waitForCopies(0);
  IRMapping map;
  map.map(loop.getInductionVar(), counter);
  map.map(loop.getRegionIterArgs(), carried);
  for (auto [one, tile] : llvm::zip(held, tiles))
    map.map(one.load.getResult(), tile);
  for (Operation &op : loop.getBody()->without_terminator())
    if (llvm::none_of(held, [&](const Held &one) { return one.load == &op; }))
      b.clone(op, map);
  auto results = llvm::map_to_vector(loop.getYieldedValues(), [&](Value value) { return map.lookupOrDefault(value); });
  // Reads of the ring replace some of them.
  auto holder = UnrealizedConversionCastOp::create(b, loop.getResultTypes(), results);
  OpBuilder::InsertionGuard guard(b);
  auto read = [&](GlobalLoadOp load, Value ring, Value stage) {
    readRing(map.lookup(load.getResult()).getDefiningOp<GlobalLoadOp>(), ring, stage);
  };
  for (RingCopy &copy : copies)
    read(copy.load, copy.ring, readStage);
  for (Held &one : stored)
    read(one.load, one.ring, slot);
  if (parts > 1)
    splitMatmul(*holder->getBlock(), parts);
  results = llvm::to_vector(holder.getInputs());
  holder.erase();
  return results;
}

/// What valuesOf made values of.
RingState WarpCopies::ringState(ValueRange values) {
  size_t scalars = slice.carried().size();
  return {{values[0], llvm::to_vector(values.drop_front().take_front(scalars))},
          values[1 + scalars],
          stages > 2 ? values[2 + scalars] : Value()};
}

/// The copies of the first iterations.
RingState WarpCopies::fillRings() {
  RingState state{first(slice), i32(0), {}};
  emitCopies(state.last, i32(0));
  for (int64_t stage = 1; stage < distance(); ++stage) {
    state.last = after(slice, state.last, true);
    emitCopies(state.last, i32(stage));
  }
  if (stages > 2)
    state.write = i32(distance());
  return state;
}

/// Waits for the tile that is read, and begins the copies of the next iteration that has none.
RingState WarpCopies::advanceRings(const RingState &state) {
  waitForCopies(distance() - 1);
  RingState next{after(slice, state.last, stages > 2), nextStage(b, state.read, stages), {}};
  emitCopies(next.last, state.write ? state.write : next.read);
  if (state.write)
    next.write = nextStage(b, state.write, stages);
  return next;
}

/// Loads the next tiles to registers: where code is being added, or, those that `in` carries, each before the first
/// matmul that reads the present one, or where that was loaded.
SmallVector<Value> WarpCopies::emitLoads(const std::vector<Held> &all, scf::ForOp in) {
  SmallVector<Value> tiles;
  for (const Held &one : all) {
    OpBuilder::InsertionGuard guard(b);
    if (!one.shared)
      b.setInsertionPoint(one.before);
    Iteration now{in.getInductionVar(), {}};
    for (unsigned number : one.slice.carried())
      now.scalars.push_back(in.getRegionIterArg(number));
    tiles.push_back(emitLoad(one, after(one.slice, now, false)));
  }
  return tiles;
}

void WarpCopies::emitStores(ValueRange tiles, Value slot) {
  for (auto [one, tile] : llvm::zip(stored, tiles))
    StoreSharedOp::create(b, tile, one.ring, slot);
}

// The loop carries, beside its own: the counter of the next iteration, the state of the rings that copies fill, the
// tile that is read of those that stores fill, tiles in registers.
SmallVector<Value> WarpCopies::emitLoops() {
  SmallVector<Value> inits = llvm::to_vector(loop.getInitArgs());
  size_t own = inits.size();
  inits.push_back(loop.getLowerBound());
  if (!copies.empty())
    llvm::append_range(inits, valuesOf(fillRings()));
  auto loadFirst = [&](const Held &one) { return emitLoad(one, first(one.slice)); };
  SmallVector<Value> tiles = llvm::map_to_vector(stored, loadFirst);
  Value none = i32(0);
  if (slots > 1)
    inits.push_back(none);
  llvm::append_range(inits, llvm::map_to_vector(held, loadFirst));
  emitStores(tiles, none);
  Value bound = boundWithoutOne(b, loop);
  auto made = scf::ForOp::create(b, loop.getLowerBound(), bound, loop.getStep(), inits);
  made->setAttrs(loop->getAttrs());
  auto ringsIn = [&](ValueRange values) {
    return copies.empty() ? RingState() : ringState(values.drop_front(own + 1).drop_back(held.size()));
  };
  auto slotIn = [&](ValueRange values) { return slots > 1 ? values.drop_back(held.size()).back() : none; };
  ValueRange results = made.getResults(), arguments = made.getRegionIterArgs();
  SmallVector<Value> lastResults = emitLast(results[own], results.take_front(own), results.take_back(held.size()),
                                            ringsIn(results).read, slotIn(results));

  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(made.getBody());
  SmallVector<Value> more = {arith::AddIOp::create(b, made.getInductionVar(), loop.getStep())};
  if (!copies.empty())
    llvm::append_range(more, valuesOf(advanceRings(ringsIn(arguments))));
  tiles = emitLoads(stored, made);
  Value slot = slotIn(arguments);
  Value next = slots > 1 ? nextStage(b, slot, slots) : none;
  if (slots > 1)
    more.push_back(next);
  llvm::append_range(more, emitLoads(held, loop));
  SmallVector<Value> yielded = moveBody(loop, made, made.getBody()->end());
  llvm::append_range(yielded, more);
  b.setInsertionPointToEnd(made.getBody());
  emitStores(tiles, next);
  scf::YieldOp::create(b, yielded);
  for (RingCopy &copy : copies)
    readRing(copy.load, copy.ring, ringsIn(arguments).read);
  for (Held &one : stored)
    readRing(one.load, one.ring, slot);
  for (auto [one, tile] : llvm::zip(held, arguments.take_back(held.size()))) {
    one.load.getResult().replaceAllUsesWith(tile);
    one.load.erase();
  }
  if (parts > 1)
    splitMatmul(*made.getBody(), parts);
  return lastResults;
}

/// With all iterations in the loop, which carries, beside its own values, the state of the rings.
SmallVector<Value> WarpCopies::emitUnpeeled() {
  SmallVector<Value> inits = llvm::to_vector(loop.getInitArgs());
  size_t own = inits.size();
  llvm::append_range(inits, valuesOf(fillRings()));
  auto made = scf::ForOp::create(b, loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), inits);
  made->setAttrs(loop->getAttrs());
  made->removeAttr(defersSecondAttribute);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(made.getBody());
  RingState state = ringState(ValueRange(made.getRegionIterArgs()).drop_front(own));
  SmallVector<Value> more = valuesOf(advanceRings(state));
  SmallVector<Value> yielded = moveBody(loop, made, made.getBody()->end());
  llvm::append_range(yielded, more);
  b.setInsertionPointToEnd(made.getBody());
  scf::YieldOp::create(b, yielded);
  for (RingCopy &copy : copies)
    readRing(copy.load, copy.ring, state.read);
  unpeeled = made;
  return llvm::to_vector_of<Value>(made.getResults().take_front(own));
}

void WarpCopies::rewriteLoop() {
  b.setInsertionPoint(loop);
  allocateRings();
  for (Held &one : stored)
    one.ring = AllocOp::create(b, one.ringType(slots));
  SmallVector<Value> results;
  if (Value isAny = anyIteration()) {
    auto branch = scf::IfOp::create(b, loop.getResultTypes(), isAny, /*withElseRegion=*/true);
    bool hasResults = loop.getNumResults() > 0; // else both regions are complete
    b.setInsertionPointToStart(&branch.getElseRegion().front());
    if (hasResults)
      scf::YieldOp::create(b, loop.getInitArgs());
    b.setInsertionPointToStart(&branch.getThenRegion().front());
    results = chain ? emitUnpeeled() : emitLoops();
    if (hasResults)
      scf::YieldOp::create(b, results);
    results = llvm::to_vector_of<Value>(branch.getResults());
  } else {
    results = chain ? emitUnpeeled() : emitLoops();
  }
  loop->replaceAllUsesWith(results);
  loop.erase();
  if (unpeeled)
    deferSecond(unpeeled, chain, /*hasIteration=*/true);
}

void WarpCopies::rewrite(int64_t mostBytes, ProducerWarps *) {
  RingSizes sizes = sizeRings(mostBytes);
  int64_t wanted = stages;
  if (sizes.stages)
    stages = sizes.stages;
  slots = sizes.slots;
  SmallVector<RingCopy> notCopied = sizes.stages ? SmallVector<RingCopy>() : std::exchange(copies, {});
  if (chain && (stages < 3 || !notCopied.empty())) { // a tile is copied to, and two are read
    chain = {};
    --wanted;
  }
  for (RingCopy &copy : notCopied) {
    std::string why = "shared memory has no room for two tiles";
    if (!hold(copy.load, why))
      decide(copy.load, "not prefetched: " + why);
  }
  parts = stored.empty() ? 1 : partsThatFit(0);
  if (slots == 0 || parts == 0 || (parts > 1 && !readsRings())) {
    carryStored();
    parts = 1;
  }
  for (RingCopy &copy : copies)
    decide(copy.load, "prefetched by copies straight to LDS, " +
                          llvm::Twine(copy.elements * copy.ringType(1).getElementBytes()) + " bytes a lane, " +
                          describeStages(wanted, chain ? 1 : 0) + (chain ? ", and a tile more" : ""));
  for (const Held &one : held)
    decide(one.load, "prefetched to registers, one iteration ahead: " + one.why);
  for (const Held &one : stored)
    decide(one.load, "prefetched to registers, one iteration ahead, and stored to a ring of " + llvm::Twine(slots) +
                         (slots > 1 ? " tiles: " : " tile: ") + one.why);
  if (!copies.empty() || !held.empty() || !stored.empty())
    rewriteLoop();
}

std::unique_ptr<LoopPipeliner> simt::pipelineByWarps(scf::ForOp loop, const PipelineTarget &to) {
  return std::make_unique<WarpCopies>(loop, to);
}
