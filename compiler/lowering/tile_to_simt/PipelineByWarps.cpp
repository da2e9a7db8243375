// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For chips whose warps copy straight to shared memory (AMD's). A tile that only matmuls read is copied to a ring in
// shared memory, in a layout in which a warp fills contiguous bytes; any other tile is loaded one iteration ahead, to
// registers that the loop carries. The last iteration is peeled, so that no mask says which iterations there are. With
// three or more stages the last copies of the loop repeat those of the last iteration, into a tile that is not read.
#include "compiler/layout/Axes.h"
#include "compiler/layout/MatrixLoad.h"
#include "compiler/lowering/simt/DirectCopy.h"
#include "compiler/lowering/simt/GpuTarget.h"
#include "compiler/lowering/tile_to_simt/LoopPipeliner.h"
#include "compiler/lowering/tile_to_simt/Relayout.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::Dim;
using layout::LinearLayout;

namespace {

/// A load whose tiles go straight to a ring.
struct Copy {
  GlobalLoadOp load;
  int64_t elements; ///< of a lane, by one instruction
  SharedType tile;  ///< of one stage
  LinearLayout addresses;
  AllocOp ring;

  SharedType ringType(int64_t stages) {
    return SharedType::get(load.getContext(), stages, tile.getShape(), tile.getElementType(), tile.getLayout());
  }
};

/// A load whose next tile the loop carries.
struct Held {
  GlobalLoadOp load;
  MatrixDotOp before; ///< the next load is issued before it
  LoopSlice slice;
  std::string why;               ///< it is not copied straight to shared memory
  SmallVector<Operation *> next; ///< what loads the next tile, in order
};

/// An iteration to load for.
struct Iteration {
  Value counter;
  SmallVector<Value> scalars;
};

class WarpCopies : public LoopPipeliner {
public:
  WarpCopies(scf::ForOp loop, const PipelineTarget &to, int64_t stages)
      : LoopPipeliner(loop, stages), to(to), slice(loop) {}

  void rewrite(int64_t mostBytes) override;

private:
  int64_t stageBytes() const override;
  bool take(GlobalLoadOp load, std::string &why) override;
  std::optional<Copy> describe(GlobalLoadOp load, std::string &why) const;
  std::optional<Copy> describeRing(GlobalLoadOp load, int64_t elements, ArrayRef<LinearLayout> wanted, bool transposed,
                                   std::string &why) const;
  bool hold(GlobalLoadOp load, std::string &why);
  bool fitsRegisters(int64_t more) const;

  Iteration first(const LoopSlice &of);
  /// `isLimited`: never beyond the last iteration, which comes after itself.
  Iteration after(const LoopSlice &of, const Iteration &last, bool isLimited);
  /// Whether there is an iteration (i1); null where that is certain.
  Value anyIteration();
  Value inLayout(Value value, const LinearLayout &layout, IRMapping &map);
  void emitCopies(const Iteration &iteration, Value stage);
  Value emitLoad(const Held &held, const Iteration &iteration);
  void waitForCopies(int64_t pending);
  Value lastButOne();
  SmallVector<Value> emitLoops();
  SmallVector<Value> emitLast(Value counter, ValueRange carried, ValueRange tiles, Value readStage);
  void rewriteLoop();

  using TileKey = std::pair<Value, Attribute>;
  const PipelineTarget &to;
  SmallVector<Copy> copies;
  std::vector<Held> held;
  LoopSlice slice; ///< of the copies
  llvm::DenseMap<TileKey, Value> outer, inner;
};

} // namespace

//===-- What can be prefetched -----------------------------------------------------------------------------------===//

int64_t WarpCopies::stageBytes() const {
  int64_t bytes = 0;
  for (const Copy &copy : copies)
    bytes += tileBytes(Value(GlobalLoadOp(copy.load).getResult()).getType());
  return bytes;
}

/// The layouts in which matmuls want the tile, as it lies in memory; nothing where something else reads it.
static std::optional<SmallVector<LinearLayout>> layoutsRead(GlobalLoadOp load) {
  SmallVector<LinearLayout> wanted;
  for (Operation *user : load->getUsers()) {
    if (isa<ConvertLayoutOp>(user)) {
      wanted.push_back(layoutOf(user->getResult(0).getType()));
      continue;
    }
    auto trans = dyn_cast<TransOp>(user);
    if (!trans)
      return std::nullopt;
    for (Operation *convert : trans->getUsers()) {
      if (!isa<ConvertLayoutOp>(convert))
        return std::nullopt;
      layout::Order order(trans.getOrder().begin(), trans.getOrder().end());
      wanted.push_back(layout::permuteAxes(layoutOf(convert->getResult(0).getType()), layout::inverseOrder(order)));
    }
  }
  return wanted;
}

/// The layout of a tile whose copies fill `shared`, `elements` of each lane after those of the lane before.
static LinearLayout copyLayout(const LinearLayout &shared, int64_t elements, int lanes, int warps) {
  const std::vector<std::vector<int64_t>> &offsets = shared.inputs()[0].bases;
  std::vector<int64_t> none(shared.outputs().size(), 0);
  size_t at = 0;
  auto take = [&](LinearLayout::Input &input, int64_t size) {
    for (int64_t bit = 1; bit < size; bit *= 2, ++at)
      input.bases.push_back(at < offsets.size() ? offsets[at] : none);
  };
  LinearLayout::Input registers{Dim::Register, {}}, lane{Dim::Lane, {}}, warp{Dim::Warp, {}};
  take(registers, elements);
  take(lane, lanes);
  take(warp, warps);
  for (; at < offsets.size(); ++at)
    registers.bases.push_back(offsets[at]);
  return LinearLayout({registers, lane, warp}, shared.outputs());
}

/// A ring that is read without bank conflicts, if the target reads it by 8 bytes or more at once.
std::optional<Copy> WarpCopies::describeRing(GlobalLoadOp load, int64_t elements, ArrayRef<LinearLayout> wanted,
                                             bool transposed, std::string &why) const {
  auto tile = cast<RankedTensorType>(load.getType());
  auto bits = int(tile.getElementTypeBitWidth()), banks = to.target.sharedMemoryBanks();
  layout::Shape shape(tile.getShape().begin(), tile.getShape().end());
  LinearLayout shared = transposed ? layout::copiedSharedTransposed(wanted.front(), bits, orderOf(load), banks)
                                   : layout::copiedShared(shape, bits, orderOf(load), banks);
  Copy copy{load,
            elements,
            SharedType::get(load.getContext(), 1, tile.getShape(), tile.getElementType(), shared),
            copyLayout(shared, elements, to.target.lanesPerWarp(), to.warps),
            {}};
  std::optional<DirectCopy> plan = planDirectCopy(copy.addresses, copy.tile, elements, to.target, why);
  if (!plan || plan->elements != elements || plan->usesOtherLanes) {
    if (why.empty())
      why = "waves cannot fill its rows in shared memory";
    return std::nullopt;
  }
  bool isRead = llvm::all_of(wanted, [&](const LinearLayout &layout) {
    LinearLayout offsets = copy.tile.offsetsOf(layout);
    if (transposed)
      return layout::findTransposedRead(offsets, bits).has_value();
    return int64_t(bits) << layout::contiguousRegisterBits(offsets, 128 / bits).size() >= 64;
  });
  if (!isRead)
    why = "matmuls read less than 8 contiguous bytes of it at once";
  return isRead ? std::optional(copy) : std::nullopt;
}

// A copy takes an instruction for its address in LDS and one for itself, a load and a store to LDS of 16 bytes as many:
// narrower copies take more.
std::optional<Copy> WarpCopies::describe(GlobalLoadOp load, std::string &why) const {
  constexpr int64_t bytes = 16;
  int64_t bits = elementTypeOf(load.getType()).getIntOrFloatBitWidth(),
          contiguous = int64_t(load.getElements()) * bits / 8;
  std::optional<SmallVector<LinearLayout>> wanted = layoutsRead(load);
  SmallVector<int64_t> widths = to.target.directCopyBytes();
  if (!llvm::is_contained(widths, bytes))
    why = widths.empty() ? "the chip has no copies straight to LDS"
                         : "the chip copies " + std::to_string(widths.front()) +
                               " bytes of a lane at once, which takes more instructions than loads";
  else if (contiguous < bytes)
    why = "lanes read " + std::to_string(contiguous) + " contiguous bytes of it, and copies 16";
  else if (!fillsWithZeros(load))
    why = "`other` is not zero";
  else if (!wanted || wanted->empty())
    why = "it has a use other than a matmul";
  if (!why.empty())
    return std::nullopt;
  bool mayTranspose = to.target.readsTransposed(int(bits)) && wanted->front().outputs().size() == 2;
  std::optional<Copy> copy = describeRing(load, bytes * 8 / bits, *wanted, /*transposed=*/false, why);
  if (!copy && mayTranspose)
    copy = describeRing(load, bytes * 8 / bits, *wanted, /*transposed=*/true, why);
  return copy;
}

static int64_t registersOfTile(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  if (!tile)
    return 1;
  int64_t bits = tile.getElementType().isIntOrFloat() ? tile.getElementTypeBitWidth() : 64;
  return llvm::divideCeil(registersOf(tile) * bits, 32);
}

// What loops carry, operands of the largest matmul, tiles that are held, and a quarter for all else.
bool WarpCopies::fitsRegisters(int64_t more) const {
  int64_t carried = 0, operands = 0;
  scf::ForOp of = loop;
  for (Value argument : of.getRegionIterArgs())
    carried += registersOfTile(argument.getType());
  for (auto dot : of.getBody()->getOps<MatrixDotOp>())
    operands = std::max(operands, registersOfTile(dot.getA().getType()) + registersOfTile(dot.getB().getType()));
  for (const Held &one : held)
    more += registersOfTile(Value(GlobalLoadOp(one.load).getResult()).getType());
  return carried + operands + more <= to.target.registersPerThread(to.warps) * 3 / 4;
}

/// `why`: it is not copied; then, why it is not held either.
bool WarpCopies::hold(GlobalLoadOp load, std::string &why) {
  Held one{load, firstDotOf(load), LoopSlice(loop), why, {}};
  if (!one.slice.add({load.getPointer(), load.getMask(), load.getOther()})) {
    why = takesMoreThanScalars;
    return false;
  }
  if (!fitsRegisters(registersOfTile(load.getType()))) {
    why += ", and there are too few registers for another tile";
    return false;
  }
  held.push_back(std::move(one));
  return true;
}

bool WarpCopies::take(GlobalLoadOp load, std::string &why) {
  std::optional<Copy> copy = describe(load, why);
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
  for (Copy &copy : copies) {
    GlobalLoadOp load = copy.load;
    Value pointers = inLayout(load.getPointer(), copy.addresses, map);
    Value mask = load.getMask() ? inLayout(load.getMask(), copy.addresses, map) : Value();
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
  BarrierOp::create(b, /*warp=*/false, /*shared=*/true);
}

//===-- The loop -------------------------------------------------------------------------------------------------===//

// The bound of the loop without its last iteration, where there is one. From 0 on, the difference does not overflow.
Value WarpCopies::lastButOne() {
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound();
  if (APInt least; matchPattern(lower, m_ConstantInt(&least)) && least.isNonNegative())
    return arith::SubIOp::create(b, upper, loop.getStep());
  Value distance = arith::SubIOp::create(b, upper, lower);
  Value isMore = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, distance, loop.getStep());
  return arith::SelectOp::create(b, isMore, arith::SubIOp::create(b, upper, loop.getStep()), lower);
}

/// A copy of the last iteration's body, for the values that the loop carries to it.
SmallVector<Value> WarpCopies::emitLast(Value counter, ValueRange carried, ValueRange tiles, Value readStage) {
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
  for (Copy &copy : copies) {
    auto load = map.lookup(Value(GlobalLoadOp(copy.load).getResult())).getDefiningOp<GlobalLoadOp>();
    readRing(load, copy.ring, readStage);
  }
  results = llvm::to_vector(holder.getInputs());
  holder.erase();
  return results;
}

// The loop carries, beside its own: the counter of the next iteration; what the last copies were for, the numbers of
// the tile that is read and of the tile that is written, which of two is the next one to read; tiles in registers.
SmallVector<Value> WarpCopies::emitLoops() {
  SmallVector<Value> inits = llvm::to_vector(loop.getInitArgs());
  size_t before = inits.size(), scalars = slice.carried().size();
  inits.push_back(loop.getLowerBound());
  if (!copies.empty()) {
    Iteration last = first(slice);
    emitCopies(last, i32(0));
    for (int64_t stage = 1; stage + 1 < stages; ++stage) {
      last = after(slice, last, true);
      emitCopies(last, i32(stage));
    }
    inits.push_back(last.counter);
    llvm::append_range(inits, last.scalars);
    inits.push_back(i32(0));
    if (stages > 2)
      inits.push_back(i32(stages - 1));
  }
  for (const Held &one : held)
    inits.push_back(emitLoad(one, first(one.slice)));

  Value bound = lastButOne();
  auto made = scf::ForOp::create(b, loop.getLowerBound(), bound, loop.getStep(), inits);
  made->setAttrs(loop->getAttrs());
  auto after = [&](ValueRange values, size_t from, size_t count) {
    return llvm::to_vector(values.drop_front(before + from).take_front(count));
  };
  ValueRange results = made.getResults();
  SmallVector<Value> lastResults = emitLast(results[before], results.take_front(before), results.take_back(held.size()),
                                            copies.empty() ? Value() : results[before + 2 + scalars]);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(made.getBody());
  SmallVector<Value> arguments(made.getRegionIterArgs().begin(), made.getRegionIterArgs().end());
  SmallVector<Value> yieldedMore = {arith::AddIOp::create(b, made.getInductionVar(), loop.getStep())};
  Value readStage;
  if (!copies.empty()) {
    waitForCopies(stages - 2);
    Iteration last{arguments[before + 1], after(arguments, 2, scalars)};
    readStage = arguments[before + 2 + scalars];
    Value nextRead = nextStage(b, readStage, stages);
    Value writeStage = stages > 2 ? arguments[before + 3 + scalars] : nextRead;
    last = this->after(slice, last, stages > 2);
    emitCopies(last, writeStage);
    yieldedMore.push_back(last.counter);
    llvm::append_range(yieldedMore, last.scalars);
    yieldedMore.push_back(nextRead);
    if (stages > 2)
      yieldedMore.push_back(nextStage(b, writeStage, stages));
  }
  b.setInsertionPointToEnd(made.getBody());
  for (Held &one : held) {
    Operation *end = made.getBody()->empty() ? nullptr : &made.getBody()->back();
    Iteration now{made.getInductionVar(), {}};
    for (unsigned number : one.slice.carried())
      now.scalars.push_back(made.getRegionIterArg(number));
    yieldedMore.push_back(emitLoad(one, this->after(one.slice, now, false)));
    for (auto op = end ? std::next(end->getIterator()) : made.getBody()->begin(); op != made.getBody()->end(); ++op)
      one.next.push_back(&*op);
  }

  SmallVector<Value> yielded = moveBody(loop, made, made.getBody()->end());
  llvm::append_range(yielded, yieldedMore);
  b.setInsertionPointToEnd(made.getBody());
  scf::YieldOp::create(b, yielded);
  for (Held &one : held)
    for (Operation *op : one.next)
      op->moveBefore(one.before);
  for (Copy &copy : copies)
    readRing(copy.load, copy.ring, readStage);
  for (auto [one, tile] : llvm::zip(held, ArrayRef(arguments).take_back(held.size()))) {
    one.load.getResult().replaceAllUsesWith(tile);
    one.load.erase();
  }
  return lastResults;
}

void WarpCopies::rewriteLoop() {
  b.setInsertionPoint(loop);
  for (Copy &copy : copies)
    copy.ring = AllocOp::create(b, copy.ringType(stages));
  SmallVector<Value> results;
  if (Value isAny = anyIteration()) {
    auto branch = scf::IfOp::create(b, loop.getResultTypes(), isAny, /*withElseRegion=*/true);
    b.setInsertionPointToStart(&branch.getElseRegion().front());
    scf::YieldOp::create(b, loop.getInitArgs());
    b.setInsertionPointToStart(&branch.getThenRegion().front());
    scf::YieldOp::create(b, emitLoops());
    results = llvm::to_vector_of<Value>(branch.getResults());
  } else {
    results = emitLoops();
  }
  loop->replaceAllUsesWith(results);
  loop.erase();
}

void WarpCopies::rewrite(int64_t mostBytes) {
  int64_t bytes = ringBytes(mostBytes), wanted = stages;
  if (bytes)
    stages = bytes / stageBytes();
  SmallVector<Copy> all = bytes ? SmallVector<Copy>() : std::exchange(copies, {});
  for (Copy &copy : all) {
    std::string why = "shared memory has no room for two tiles";
    if (!hold(copy.load, why))
      decide(copy.load, "not prefetched: " + why);
  }
  for (const Copy &copy : copies)
    decide(copy.load, "prefetched by copies straight to LDS, " +
                          llvm::Twine(copy.elements * copy.tile.getElementBytes()) + " bytes a lane, " +
                          describeStages(wanted));
  for (const Held &one : held)
    decide(one.load, "prefetched to registers, one iteration ahead: " + one.why);
  if (!copies.empty() || !held.empty())
    rewriteLoop();
}

// Two stages: one iteration hides the loads of the next. More take shared memory that other blocks could have.
std::unique_ptr<LoopPipeliner> simt::pipelineByWarps(scf::ForOp loop, const PipelineTarget &to) {
  constexpr int64_t usual = 2;
  auto stages = loop->getAttrOfType<IntegerAttr>("tt.num_stages");
  return std::make_unique<WarpCopies>(loop, to, stages ? stages.getInt() : to.stages ? to.stages : usual);
}
