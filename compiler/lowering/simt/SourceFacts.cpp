// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One walk over the kernel before the first pattern is applied, since patterns replace what they look at.
#include "compiler/lowering/simt/SourceFacts.h"
#include "compiler/analysis/AxisInfo.h"
#include "compiler/analysis/Uniformity.h"
#include "compiler/layout/Axes.h"
#include "compiler/lowering/simt/PlaceShared.h"
#include "compiler/lowering/simt/WarpPipelines.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

//===-- Reads of shared memory -----------------------------------------------------------------------------------===//

// A sum within one thread, which alone needs it. LLVM would combine in all threads, as late as the result is needed:
// until then all parts would live in registers.
static bool isReducedByOwner(TileReduceOp reduce) {
  bool mayEnd = reduce.getCombine().walk([](AssertOp) { return WalkResult::interrupt(); }).wasInterrupted();
  return !mayEnd && layout::staysInRegisters(layoutOf(reduce.getSources()[0].getType()), int(reduce.getAxis())) &&
         isForOwner(reduce);
}

// Reads of a stage are those of pipelined loops; an author who reads views has placed the reads himself. A sum that one
// thread needs is read by that thread. Memory has to be as it was until the one reader, and hold the whole tile.
static bool canReadLate(LoadSharedOp op) {
  if (!op.getTile().hasOneUse() || op.getRing().getType().getParts() > 1)
    return false;
  Operation *user = *op.getTile().user_begin();
  auto dot = dyn_cast<MatrixDotOp>(user);
  auto reduce = dyn_cast<TileReduceOp>(user);
  bool isOperand = dot && (op.getTile() == dot.getA() || op.getTile() == dot.getB());
  bool readsLate = isOperand ? op.getStage() && dot.getInstruction()
                             : reduce && isReducedByOwner(reduce) && !analysis::isAny(reduce);
  if (!readsLate || user->getBlock() != op->getBlock())
    return false;
  for (Operation *between = op->getNextNode(); between != user; between = between->getNextNode())
    if (!isMemoryEffectFree(between) && !isa<GlobalLoadOp, LoadSharedOp>(between))
      return false;
  return true;
}

//===-- Loads ----------------------------------------------------------------------------------------------------===//

// A tile that is needed only for stores of its elements, which one owner among copies does.
static bool isForStores(GlobalLoadOp op) {
  auto tile = dyn_cast<RankedTensorType>(op.getType());
  if (!tile || op.getIsVolatile() || op->use_empty())
    return false;
  auto hasLayout = [&](Type type) {
    auto other = dyn_cast<RankedTensorType>(type);
    return other && other.getShape() == tile.getShape() && other.getEncoding() == tile.getEncoding();
  };
  SmallVector<Operation *> next = {op};
  for (SmallPtrSet<Operation *, 8> seen; !next.empty();) {
    Operation *made = next.pop_back_val();
    for (OpOperand &use : made->getUses()) {
      Operation *user = use.getOwner();
      constexpr unsigned valueNumber = 1;
      if (isa<GlobalStoreOp>(user) && use.getOperandNumber() == valueNumber)
        continue;
      if (!isPure(user) || !user->hasTrait<mlir::OpTrait::Elementwise>() ||
          !llvm::all_of(user->getResultTypes(), hasLayout))
        return false;
      if (seen.insert(user).second)
        next.push_back(user);
    }
  }
  return true;
}

//===-- Conversions to f8 ----------------------------------------------------------------------------------------===//

// Whether all elements of `tile` are within the largest numbers of `type`, or NaN: they need no clamp then.
static bool isWithinRange(Value tile, FloatType type) {
  auto clamp = tile.getDefiningOp<ClampFOp>();
  double largest = llvm::APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
  auto isBound = [&](Value bound) {
    FloatAttr number;
    if (auto splat = bound.getDefiningOp<SplatOp>())
      bound = splat.getSrc();
    SplatElementsAttr all;
    if (matchPattern(bound, m_Constant(&all)) && isa<FloatType>(all.getElementType()))
      return std::abs(all.getSplatValue<APFloat>().convertToDouble()) <= largest;
    return matchPattern(bound, m_Constant(&number)) && std::abs(number.getValueAsDouble()) <= largest;
  };
  return clamp && isBound(clamp.getMin()) && isBound(clamp.getMax());
}

//===-- All facts ------------------------------------------------------------------------------------------------===//

SourceFacts::SourceFacts(FuncOp function, const GpuTarget &target, int warps) {
  GlobalOrder order(function, {target.lanesPerWarp(), warps});
  analysis::Uniformity uniformity(function);
  sharedAlignment = scratchAlignment;
  function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (divergent.contains(op->getParentOp()) || uniformity.isDivergent(op->getBlock()))
      divergent.insert(op);
    // Regions that are run for elements are copied; what stands in them goes with its operation.
    Operation *parent = op->getParentOp();
    if (parent == function || (isa<scf::SCFDialect>(parent->getDialect()) && toLower.contains(parent)))
      toLower.insert(op);
    lookAt(op, order);
    if (isa<BarrierOp>(op) && isShifted(op))
      shifted.insert(op);
    copiesDirectly |= isa<AsyncCopyOp, AsyncBufferCopyOp>(op) && !target.hasAsyncCopies();
  });
  findGroups(function);
}

/// Whether what the analysis says of operations on these values holds for all numbers. It takes numbers as not negative
/// where nothing says otherwise, and quotients and remainders of tiles round towards zero; what loops carry may have
/// been divided before.
static bool isCertain(ValueRange values) {
  SmallVector<Value> work(values);
  DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!isa<RankedTensorType>(value.getType()) || !seen.insert(value).second)
      continue;
    Operation *by = value.getDefiningOp();
    if (!by || by->getNumRegions() || isa<arith::DivSIOp, arith::RemSIOp>(by))
      return false;
    llvm::append_range(work, by->getOperands());
  }
  return true;
}

static SmallVector<int64_t, 4> equalGroupsOf(arith::CmpIOp op, const analysis::AxisAnalysis &axes) {
  const analysis::AxisInfo &left = axes.of(op.getLhs()), &right = axes.of(op.getRhs());
  SmallVector<int64_t, 4> lengths;
  // Two numbers that both count up keep their distance, but not their order where one of them wraps around.
  for (auto [axis, facts] : llvm::enumerate(axes.of(op.getResult()).axes))
    lengths.push_back(left.axes[axis].contiguity > 1 && right.axes[axis].contiguity > 1 ? 1 : facts.constancy);
  return lengths;
}

/// Along the axis where the groups are longest.
static SourceFacts::CountedGroups countedGroupsOf(Operation *op, const analysis::AxisAnalysis &axes) {
  const analysis::AxisInfo &dividend = axes.of(op->getOperand(0)), &divisor = axes.of(op->getOperand(1));
  SourceFacts::CountedGroups longest;
  for (int64_t axis = 0; axis < dividend.rank(); ++axis) {
    const analysis::Axis &from = dividend.axes[size_t(axis)], &by = divisor.axes[size_t(axis)];
    int64_t length = std::min({from.contiguity, from.divisibility, by.constancy, divisor.divisorOfAll()});
    if (length > longest.length)
      longest = {int(axis), length};
  }
  return longest;
}

void SourceFacts::findGroups(FuncOp function) {
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    if (isa<arith::CmpIOp, arith::DivSIOp, arith::RemSIOp, arith::DivUIOp, arith::RemUIOp>(op) &&
        isa<RankedTensorType>(op->getResult(0).getType()) && isCertain(op->getOperands()))
      ops.push_back(op);
  });
  if (ops.empty())
    return;
  analysis::AxisAnalysis axes(function);
  for (Operation *op : ops)
    if (auto comparison = dyn_cast<arith::CmpIOp>(op)) {
      SmallVector<int64_t, 4> lengths = equalGroupsOf(comparison, axes);
      if (llvm::any_of(lengths, [](int64_t length) { return length > 1; }))
        equalGroups[op] = std::move(lengths);
    } else if (CountedGroups groups = countedGroupsOf(op, axes); groups.length > 1) {
      countedGroups[op] = groups;
    }
}

void SourceFacts::lookAt(Operation *op, const GlobalOrder &order) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](AssertOp) {
        mayFail = true;
        siteOf[op] = sites.of(op);
      })
      .Case([&](simt::PrintOp print) {
        siteOf[op] = sites.ofPrint(op, {print.getPrefix(), print.getHex(), print.getValues(), print.getIsSigned()});
      })
      .Case([&](AllocOp alloc) { sharedAlignment = alloc.getScratch() ? sharedAlignment : memoryAlignment; })
      .Case([&](DotSharedOp) { publishes = multiplies = true; })
      .Case<BulkLoadOp, BulkStoreOp>([&](auto) { publishes = true; })
      .Case<MatrixDotOp, DotOp>([&](auto) { multiplies = true; })
      .Case([&](GlobalLoadOp load) {
        if (!divergent.contains(op) && order.mustAgree(load))
          agreeing.insert(op);
        if (order.isLoadedByOwner(load))
          byOwner.insert(op);
        else if (!agreeing.contains(op) && isForStores(load))
          forStores.insert(op);
      })
      .Case([&](TileReduceOp reduce) {
        if (isReducedByOwner(reduce))
          byOwner.insert(op);
      })
      .Case([&](LoadSharedOp load) {
        if (!canReadLate(load))
          return;
        lateReads.insert(op);
        toLower.erase(op);
      })
      .Case<arith::TruncFOp, FpToFpOp>([&](auto convert) {
        auto narrow = dyn_cast<FloatType>(elementTypeOf(convert->getResult(0).getType()));
        if (narrow && isFp8(narrow) && isWithinRange(convert->getOperand(0), narrow))
          withinRange.insert(op);
      })
      .Default([](Operation *) {});
}

void SourceFacts::takeOver(Operation *source, Operation *copy, bool isDivergent) {
  SmallVector<Operation *> sources, copies;
  source->walk([&](Operation *op) { sources.push_back(op); });
  copy->walk([&](Operation *op) { copies.push_back(op); });
  for (auto [from, to] : llvm::zip_equal(sources, copies)) {
    toLower.insert(to);
    bool differs = isDivergent || divergent.contains(from);
    differs ? (void)divergent.insert(to) : (void)divergent.erase(to);
    if (auto site = siteOf.find(from); site != siteOf.end())
      siteOf[to] = site->second;
    if (auto groups = equalGroups.find(from); groups != equalGroups.end())
      equalGroups[to] = SmallVector<int64_t, 4>(groups->second);
    else
      equalGroups.erase(to);
    if (auto groups = countedGroups.find(from); groups != countedGroups.end())
      countedGroups[to] = CountedGroups(groups->second);
    else
      countedGroups.erase(to);
    for (DenseSet<Operation *> *set : {&agreeing, &byOwner, &forStores, &withinRange})
      set->contains(from) ? (void)set->insert(to) : (void)set->erase(to);
  }
}
