// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forward over the control flow: the accesses since the last barrier on any path. A view counts as all of its memory
// object, but for slots of constant numbers; a memory object that comes through control flow
// may be any.
#include "compiler/lowering/simt/InsertBarriers.h"
#include "compiler/analysis/Uniformity.h"
#include "compiler/dialects/simt/Simt.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

namespace {

/// Slots of a memory object, as elements, half open; all of it where that is not known.
struct Part {
  Operation *object = nullptr; ///< simt.alloc; null: any
  int64_t first = 0, last = std::numeric_limits<int64_t>::max();

  bool overlaps(const Part &other) const {
    if (object && other.object && object != other.object)
      return false;
    return !object || !other.object || (first < other.last && other.first < last);
  }
  auto operator<=>(const Part &) const = default;
};

/// The stages of a ring that a view is of, as far as constants tell.
Part partOf(Value memory, Value stage = {}) {
  std::optional<int64_t> slot;
  auto note = [&](Value number) {
    APInt constant;
    slot.reset();
    if (matchPattern(number, m_ConstantInt(&constant)))
      slot = constant.getSExtValue();
  };
  bool isOfRing = true, indexed = stage != nullptr; // isOfRing: slots are those of the allocation
  if (stage)
    note(stage);
  int64_t elements = cast<SharedType>(memory.getType()).getTileElements();
  while (Operation *op = memory.getDefiningOp()) {
    if (isa<AllocOp>(op)) {
      Part all{op};
      if (indexed && slot && isOfRing)
        return {op, *slot * elements, (*slot + 1) * elements};
      return all;
    }
    if (auto index = dyn_cast<IndexOp>(op)) {
      isOfRing &= !indexed;
      if (!indexed)
        note(index.getStage());
      indexed = true;
      elements = index.getRing().getType().getTileElements();
    } else if (auto view = dyn_cast<ViewOp>(op)) {
      SharedType from = view.getSource().getType(), to = view.getResult().getType();
      isOfRing &= !indexed || (from.getTileBytes() == to.getTileBytes() && from.getStages() == to.getStages());
    } else if (!isa<SubsliceOp>(op)) {
      break;
    }
    memory = op->getOperand(0);
  }
  return {};
}

struct Access {
  Part part;
  bool writes;
  auto operator<=>(const Access &) const = default;
};
using State = std::set<Access>;

class BarrierInserter {
public:
  explicit BarrierInserter(triton::FuncOp function) : function(function), uniformity(function) {}

  LogicalResult run() {
    noteLastUses();
    DenseMap<Block *, State> entering;
    for (bool changed = true; changed;) {
      changed = false;
      for (Block &block : function.getBody()) {
        State state = entering[&block];
        if (failed(visitBlock(block, state)))
          return failure();
        for (Block *next : block.getSuccessors())
          for (const Access &access : state)
            changed |= entering[next].insert(access).second;
      }
    }
    return success();
  }

private:
  /// The last operation of an allocation's block that uses it or a view of it.
  void noteLastUses() {
    function.walk([&](AllocOp alloc) {
      Operation *last = alloc;
      SmallVector<Value> views = {alloc.getRing()};
      while (!views.empty())
        for (Operation *user : views.pop_back_val().getUsers()) {
          Operation *here = alloc->getBlock()->findAncestorOpInBlock(*user);
          if (here && last->isBeforeInBlock(here))
            last = here;
          if (isa<IndexOp, SubsliceOp, ViewOp>(user))
            views.push_back(user->getResult(0));
        }
      lastUses[alloc] = last;
    });
  }

  /// Whether the bytes of `later` may be those of an object that is not alive there: it was before, or in an iteration
  /// before.
  bool mayReuse(const Access &earlier, AllocOp later) {
    Operation *object = earlier.part.object;
    if (!object || object == later)
      return !object;
    Operation *here = object->getBlock()->findAncestorOpInBlock(*later);
    bool isAlive = here && object->isBeforeInBlock(here) && !lastUses[object]->isBeforeInBlock(here);
    return !isAlive;
  }

  LogicalResult insertBefore(Operation *op, State &state) {
    if (isDivergent(op))
      return op->emitOpError(
          "needs a barrier before it, and stands in a branch or loop that not all threads take alike");
    OpBuilder b(op);
    BarrierOp::create(b, op->getLoc());
    state.clear();
    return success();
  }

  bool isDivergent(Operation *op) {
    for (; !isa<triton::FuncOp>(op); op = op->getParentOp())
      if (uniformity.isDivergent(op->getBlock()))
        return true;
    return false;
  }

  LogicalResult visitAccess(Operation *op, const Access &access, State &state) {
    bool conflicts = llvm::any_of(state, [&](const Access &earlier) {
      return (earlier.writes || access.writes) && earlier.part.overlaps(access.part);
    });
    if (conflicts && failed(insertBefore(op, state)))
      return failure();
    state.insert(access);
    return success();
  }

  LogicalResult visit(Operation *op, State &state) {
    if (op->getNumRegions() && isa<scf::ForOp, scf::WhileOp, scf::IfOp>(op))
      return visitRegions(op, state);
    if (auto store = dyn_cast<StoreSharedOp>(op))
      return visitAccess(op, {partOf(store.getRing(), store.getStage()), true}, state);
    if (auto load = dyn_cast<LoadSharedOp>(op))
      return visitAccess(op, {partOf(load.getRing(), load.getStage()), false}, state);
    if (auto alloc = dyn_cast<AllocOp>(op)) {
      if (llvm::any_of(state, [&](const Access &earlier) { return mayReuse(earlier, alloc); }))
        return insertBefore(op, state);
      return success();
    }
    if (isa<BarrierOp>(op) || op->getName().getStringRef() == "gpu.barrier")
      state.clear();
    return success();
  }

  LogicalResult visitBlock(Block &block, State &state) {
    for (Operation &op : llvm::make_early_inc_range(block))
      if (failed(visit(&op, state)))
        return failure();
    return success();
  }

  /// Until another iteration adds nothing to what is outstanding where it begins.
  LogicalResult visitRegions(Operation *op, State &state) {
    if (isa<scf::IfOp>(op)) {
      State after = op->getRegion(1).empty() ? state : State();
      for (Region &region : op->getRegions()) {
        State branch = state;
        if (region.empty())
          continue;
        if (failed(visitBlock(region.front(), branch)))
          return failure();
        after.insert(branch.begin(), branch.end());
      }
      state = after;
      return success();
    }
    for (size_t before = ~size_t(0); before != state.size();) {
      before = state.size();
      State iteration = state, leaving;
      for (Region &region : op->getRegions()) {
        if (failed(visitBlock(region.front(), iteration)))
          return failure();
        if (region.getRegionNumber() == 0)
          leaving = iteration;
      }
      if (isa<scf::WhileOp>(op))
        leaves[op] = leaving;
      state.insert(iteration.begin(), iteration.end());
    }
    if (isa<scf::WhileOp>(op))
      state = leaves[op];
    return success();
  }

  triton::FuncOp function;
  analysis::Uniformity uniformity;
  DenseMap<Operation *, Operation *> lastUses;
  DenseMap<Operation *, State> leaves;
};

} // namespace

LogicalResult simt::insertBarriers(ModuleOp module) {
  for (auto function : module.getOps<triton::FuncOp>())
    if (failed(BarrierInserter(function).run()))
      return failure();
  return success();
}
