// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Computes the kernel's values again in the partition's function, tiles in a layout for its warps.
#include "compiler/lowering/tile_to_simt/ProducerWarps.h"
#include "compiler/lowering/simt/PartitionWarps.h"
#include "compiler/lowering/simt/SplitBarriers.h"
#include "compiler/lowering/tile_to_simt/Relayout.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::Dim;
using layout::LinearLayout;

//===-- What can be computed again -------------------------------------------------------------------------------===//

static bool isTile(Value value) {
  return isa<RankedTensorType>(value.getType());
}

namespace {

/// Whether values can be computed by other warps, of a loop in the kernel's one block.
class Recomputable {
public:
  explicit Recomputable(scf::ForOp loop) : loop(loop) {
    for (Operation &op : *loop->getBlock()) {
      writes.add(&op);
      if (&op == loop)
        break;
    }
  }
  bool check(Value value);

private:
  bool checkOperation(Operation *op, bool isOfTiles);

  scf::ForOp loop;
  MemoryWrites writes; ///< until the loop has ended: the partition loads at any time before
  DenseMap<Value, bool> known;
};

} // namespace

bool Recomputable::checkOperation(Operation *op, bool isOfTiles) {
  if (auto load = dyn_cast<GlobalLoadOp>(op)) {
    if (load.getIsVolatile() || writes.mayChange(load.getPointer()))
      return false;
  } else if (isOfTiles ? !hasAnyLayout(op) : !isMemoryEffectFree(op) || llvm::any_of(op->getOperands(), isTile)) {
    return false;
  }
  llvm::SetVector<Value> inner; // of regions
  getUsedValuesDefinedAbove(op->getRegions(), inner);
  bool hasTiles = op->walk([&](Operation *within) {
                      bool isOne = within != op && llvm::any_of(within->getResults(), isTile);
                      return isOne ? WalkResult::interrupt() : WalkResult::advance();
                    }).wasInterrupted();
  return !hasTiles && llvm::all_of(op->getOperands(), [&](Value each) { return check(each); }) &&
         llvm::all_of(inner, [&](Value each) { return check(each); });
}

bool Recomputable::check(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getOwner() == loop->getBlock() || argument.getOwner() == loop.getBody();
  if (auto found = known.find(value); found != known.end())
    return found->second;
  return known[value] = checkOperation(value.getDefiningOp(), isTile(value));
}

/// Whether something from `first` to the loop may write what a copy reads: the partition is ahead of the kernel.
static bool mayChangeBefore(scf::ForOp loop, scf::ForOp first, ArrayRef<RingCopy> copies) {
  MemoryWrites writes;
  for (Operation *op = first; op != loop; op = op->getNextNode())
    writes.add(op);
  return llvm::any_of(copies, [&](RingCopy copy) { return writes.mayChange(copy.load.getPointer()); });
}

bool simt::canHaveProducer(scf::ForOp loop, scf::ForOp first, ArrayRef<RingCopy> copies, const LoopSlice &slice) {
  auto function = dyn_cast<FuncOp>(loop->getParentOp());
  if (!function || !function.getBody().hasOneBlock() || first->getBlock() != loop->getBlock() ||
      mayChangeBefore(loop, first, copies))
    return false;
  // Warps that stop where an assertion fails would leave others waiting.
  WalkResult reports = function.walk(
      [](Operation *op) { return isa<AssertOp, PrintOp>(op) ? WalkResult::interrupt() : WalkResult::advance(); });
  Recomputable recomputable(loop);
  auto check = [&](Value value) { return !value || recomputable.check(value); };
  return !reports.wasInterrupted() && check(loop.getLowerBound()) && check(loop.getUpperBound()) &&
         check(loop.getStep()) &&
         llvm::all_of(slice.carried(),
                      [&](unsigned number) {
                        return check(loop.getInitArgs()[number]) && check(loop.getYieldedValues()[number]);
                      }) &&
         llvm::all_of(copies,
                      [&](RingCopy copy) { return check(copy.load.getPointer()) && check(copy.load.getMask()); });
}

//===-- Positions in rings ---------------------------------------------------------------------------------------===//

SmallVector<Value> RingCounters::first(ImplicitLocOpBuilder &b, int64_t parity) const {
  SmallVector<Value> counters;
  for (size_t i = 0; i < sizes.size(); ++i)
    for (int64_t value : {int64_t(0), parity})
      counters.push_back(arith::ConstantIntOp::create(b, value, 32));
  return counters;
}

SmallVector<Value> RingCounters::next(ImplicitLocOpBuilder &b, ValueRange counters) const {
  SmallVector<Value> next;
  Value zero = arith::ConstantIntOp::create(b, 0, 32), one = arith::ConstantIntOp::create(b, 1, 32);
  for (int64_t size : sizes) {
    Value number = nextStage(b, numberIn(size, counters), size), parity = parityIn(size, counters);
    Value wraps = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, number, zero);
    Value other = arith::XOrIOp::create(b, parity, one);
    next.append({number, arith::SelectOp::create(b, wraps, other, parity)});
  }
  return next;
}

//===-- The partition --------------------------------------------------------------------------------------------===//

/// For the first of its warps: elements of the others are in further registers.
static LinearLayout byWarps(const LinearLayout &layout, int64_t warps) {
  std::vector<LinearLayout::Input> inputs = layout.inputs();
  std::vector<std::vector<int64_t>> more;
  for (LinearLayout::Input &input : inputs)
    if (input.dim == Dim::Warp)
      while (int64_t(1) << input.bases.size() > warps) {
        std::vector<int64_t> basis = input.bases.back();
        if (llvm::any_of(basis, [](int64_t part) { return part != 0; }))
          more.push_back(basis);
        input.bases.pop_back();
      }
  for (LinearLayout::Input &input : inputs)
    if (input.dim == Dim::Register)
      input.bases.insert(input.bases.end(), more.rbegin(), more.rend());
  return LinearLayout(inputs, layout.outputs());
}

namespace {

/// Adds the copies of a loop to the partition.
class CopyLoop {
public:
  CopyLoop(scf::ForOp loop, const LoopSlice &slice, FuncOp partition, IRMapping &known)
      : loop(loop), slice(slice), known(known), b(loop.getLoc(), partition.getBody().front().getTerminator()) {}

  /// Before the partition's end; returns what the loop carries in the end.
  SmallVector<Value> make(ArrayRef<RingCopy> copies, ArrayRef<ProducerObjects> groups, const RingCounters &sizes,
                          ValueRange first);

private:
  Value get(Value value);
  Value getTile(Value value, const LinearLayout &layout);
  /// A pointer or mask of the kernel, in a layout for the partition's warps; null for none.
  Value getSource(Value value) {
    return value ? getTile(value, byWarps(layoutOf(value.getType()), producerWarps)) : Value();
  }
  /// Where the copy of an operation belongs that computes a value of the kernel.
  void setInsertionPointFor(Operation *op);

  scf::ForOp loop, made = {}; ///< the kernel's loop, and the partition's
  const LoopSlice &slice;
  IRMapping &known;
  ImplicitLocOpBuilder b;
  DenseMap<std::pair<Value, Attribute>, Value> tiles;
};

} // namespace

void CopyLoop::setInsertionPointFor(Operation *op) {
  if (made && loop->isAncestor(op))
    b.setInsertionPointToEnd(made.getBody());
  else if (made)
    b.setInsertionPoint(made);
}

Value CopyLoop::get(Value value) {
  if (Value found = known.lookupOrNull(value))
    return found;
  Operation *op = value.getDefiningOp();
  llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  for (Value each : used)
    get(each);
  OpBuilder::InsertionGuard guard(b);
  setInsertionPointFor(op);
  b.clone(*op, known);
  return known.lookup(value);
}

Value CopyLoop::getTile(Value value, const LinearLayout &layout) {
  std::pair<Value, Attribute> key = {value, LinearAttr::get(b.getContext(), layout)};
  if (Value found = tiles.lookup(key))
    return found;
  Operation *op = value.getDefiningOp();
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands())
    operands.push_back(isTile(operand.get())
                           ? getTile(operand.get(), operandLayout(op, operand.getOperandNumber(), layout))
                           : get(operand.get()));
  OpBuilder::InsertionGuard guard(b);
  setInsertionPointFor(op);
  Operation *copy = cloneInLayout(b, op, layout);
  copy->setOperands(operands);
  return tiles[key] = copy->getResult(0);
}

SmallVector<Value> CopyLoop::make(ArrayRef<RingCopy> copies, ArrayRef<ProducerObjects> groups,
                                  const RingCounters &sizes, ValueRange first) {
  SmallVector<Value> carried;
  for (unsigned number : slice.carried())
    carried.push_back(get(loop.getInitArgs()[number]));
  size_t before = carried.size();
  llvm::append_range(carried, first);
  Value from = get(loop.getLowerBound()), to = get(loop.getUpperBound()), step = get(loop.getStep());
  made = scf::ForOp::create(b, from, to, step, carried);
  known.map(loop.getInductionVar(), made.getInductionVar());
  for (auto [number, argument] : llvm::zip(slice.carried(), made.getRegionIterArgs()))
    known.map(loop.getRegionIterArg(number), argument);
  ValueRange counters = made.getRegionIterArgs().drop_front(before);
  SmallVector<std::pair<Value, Value>> sources; // pointers and masks
  for (RingCopy copy : copies) {
    Value pointers = getSource(copy.load.getPointer());
    sources.push_back({pointers, getSource(copy.load.getMask())});
  }
  carried.clear();
  for (unsigned number : slice.carried())
    carried.push_back(get(loop.getYieldedValues()[number]));
  b.setInsertionPointToEnd(made.getBody());
  for (auto [group, objects] : llvm::enumerate(groups)) {
    AllocOp free = objects.free, landed = objects.landed;
    Value object = sizes.numberIn(objects.count, counters);
    WaitArrivalsOp::create(b, known.lookup(free.getRing()), object, sizes.parityIn(objects.count, counters));
    for (auto [copy, source] : llvm::zip(copies, sources)) {
      if (copy.group != int(group))
        continue;
      AllocOp ring = copy.ring;
      Value number = sizes.numberIn(ring.getRing().getType().getStages(), counters);
      AsyncCopyOp::create(b, source.first, known.lookup(ring.getRing()), number, source.second,
                          uint64_t(copy.elements));
    }
    ArriveOp::create(b, known.lookup(landed.getRing()), object, /*copies=*/true);
  }
  llvm::append_range(carried, sizes.next(b, counters));
  scf::YieldOp::create(b, carried);
  return llvm::to_vector(ValueRange(made.getResults()).drop_front(before));
}

//===-- All loops ------------------------------------------------------------------------------------------------===//

static AllocOp makeObjects(ImplicitLocOpBuilder &b, int64_t count, uint64_t common) {
  auto objects = AllocOp::create(b, barrierObjects(b.getContext(), count));
  objects.setCommon(common);
  return objects;
}

void ProducerWarps::begin(scf::ForOp loop, ArrayRef<RingCopy> copies, ArrayRef<int64_t> tiles,
                          ArrayRef<int64_t> objectCounts) {
  constexpr int64_t registers = 40; // of a thread, for addresses
  SmallVector<int64_t> all(tiles);
  llvm::append_range(all, objectCounts);
  sizes.emplace(all);
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  uint64_t common = 0; // barrier objects first: they keep their memory, and scratch memory comes after all that does
  for (int64_t count : objectCounts) {
    ProducerObjects made{makeObjects(b, count, common), makeObjects(b, count, common + 1), count};
    common += 2;
    InitArrivalsOp::create(b, made.landed, producerWarps * lanes);
    InitArrivalsOp::create(b, made.free, kernelWarps);
    objects.push_back(made);
  }
  for (auto [copy, count] : llvm::zip(copies, tiles)) {
    rings.push_back(AllocOp::create(b, RingCopy(copy).ringType(count)));
    rings.back().setCommon(common++);
  }
  std::string name = (kernel.getName() + ".copies").str();
  while (kernel->getParentOfType<ModuleOp>().lookupSymbol(name))
    name += '_';
  StartPartitionsOp::create(b, b.getArrayAttr(FlatSymbolRefAttr::get(b.getContext(), name)));
  counters = sizes->first(b, /*parity=*/0);

  b.setInsertionPointAfter(kernel);
  partition = makePartition(b, kernel, name, {producerWarps, kernelWarps, registers});
  b.setInsertionPointToStart(&partition.getBody().front());
  for (auto [from, to] : llvm::zip(kernel.getArguments(), partition.getArguments()))
    known.map(from, to);
  for (AllocOp ring : rings)
    b.clone(*ring, known);
  for (ProducerObjects group : objects)
    for (AllocOp each : {group.landed, group.free})
      b.clone(*each, known);
  // The phase before the first one is over: nothing has to be free for the first tiles.
  partitionCounters = sizes->first(b, /*parity=*/1);
  ReturnOp::create(b, ValueRange());
}

void ProducerWarps::add(scf::ForOp loop, MutableArrayRef<RingCopy> copies, ArrayRef<int64_t> tiles,
                        ArrayRef<int64_t> objectCounts, const LoopSlice &slice) {
  if (!partition)
    begin(loop, copies, tiles, objectCounts);
  for (auto [copy, ring] : llvm::zip(copies, rings))
    copy.ring = ring;
  partitionCounters = CopyLoop(loop, slice, partition, known).make(copies, objects, *sizes, partitionCounters);
}

void ProducerWarps::setDone(Operation *loop, ValueRange lastCounters) {
  last = loop;
  counters = llvm::to_vector(lastCounters);
}

void ProducerWarps::finish() {
  OpBuilder b(last->getContext());
  b.setInsertionPointAfter(last);
  JoinPartitionsOp::create(b, last->getLoc());
}
