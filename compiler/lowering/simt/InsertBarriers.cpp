// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forward over the control flow: the accesses since the last barrier on any path, and what is in flight.
#include "compiler/lowering/simt/InsertBarriers.h"
#include "compiler/analysis/Uniformity.h"
#include "compiler/lowering/simt/SharedAccesses.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include <set>

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

namespace {

/// How long groups and products are counted; older ones count as that old, and so as in flight for longer.
constexpr int oldest = 16;

using State = std::set<SharedAccess>;

/// What the accesses of `state` are after `change`, which returns whether to keep one.
State changed(const State &state, llvm::function_ref<bool(SharedAccess &)> change) {
  State result;
  for (SharedAccess access : state)
    if (change(access))
      result.insert(access);
  return result;
}

class HazardWalk {
public:
  HazardWalk(triton::FuncOp function, bool inserts) : function(function), uniformity(function), inserts(inserts) {}
  LogicalResult run();

private:
  LogicalResult visit(Operation *op, State &state);
  LogicalResult visitBlock(Block &block, State &state);
  LogicalResult visitIf(scf::IfOp branch, State &state);
  LogicalResult visitLoop(Operation *op, State &state);
  LogicalResult visitAccess(SharedAccess access, State &state);
  LogicalResult insertBefore(Operation *op, State &state);
  LogicalResult report(const SharedAccess &earlier, const SharedAccess &later, StringRef missing);
  bool isDivergent(Operation *op);
  State enterTurns(scf::ForOp loop, const State &state);

  triton::FuncOp function;
  analysis::Uniformity uniformity;
  bool inserts;
  DenseMap<Operation *, int> numbers; ///< of accesses
};

} // namespace

LogicalResult HazardWalk::run() {
  bool isPlaced = true;
  function.walk([&](Operation *op) {
    if (!accessesOf(op).empty())
      numbers.try_emplace(op, int(numbers.size()));
    if (auto alloc = dyn_cast<AllocOp>(op); alloc && !alloc.getStart() && isPlaced) {
      alloc.emitOpError() << "has no place in shared memory: run place-shared-memory first";
      isPlaced = false;
    }
  });
  if (!isPlaced || numbers.empty())
    return success(isPlaced);
  DenseMap<Block *, State> entering;
  for (bool grows = true; grows;) {
    grows = false;
    for (Block &block : function.getBody()) {
      State state = entering[&block];
      if (failed(visitBlock(block, state)))
        return failure();
      for (Block *next : block.getSuccessors())
        for (const SharedAccess &access : state)
          grows |= entering[next].insert(access).second;
    }
  }
  return success();
}

LogicalResult HazardWalk::visitBlock(Block &block, State &state) {
  for (Operation &op : llvm::make_early_inc_range(block))
    if (failed(visit(&op, state)))
      return failure();
  return success();
}

// A copy is over when a wait leaves fewer groups than were made since, a product likewise. A barrier orders what is
// over.
LogicalResult HazardWalk::visit(Operation *op, State &state) {
  using InFlight = SharedAccess::InFlight;
  auto grow = [&](InFlight kind) {
    state = changed(state, [&](SharedAccess &access) {
      access.age += access.inFlight == kind && access.age < oldest;
      return true;
    });
  };
  auto finish = [&](InFlight kind, int64_t leastAge) {
    state = changed(state, [&](SharedAccess &access) {
      if (access.inFlight == kind && access.age >= leastAge)
        access.inFlight = SharedAccess::No, access.age = 0;
      return true;
    });
  };
  if (isa<scf::ForOp, scf::WhileOp>(op))
    return visitLoop(op, state);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return visitIf(branch, state);
  if (isa<BarrierOp>(op) || op->getName().getStringRef() == "gpu.barrier") {
    state = changed(state, [](SharedAccess &access) { return access.inFlight != SharedAccess::No; });
    return success();
  }
  if (isa<AsyncCommitOp>(op))
    grow(SharedAccess::Copy);
  if (auto wait = dyn_cast<AsyncWaitOp>(op))
    finish(SharedAccess::Copy, int64_t(wait.getPending()) + 1);
  if (auto wait = dyn_cast<DotWaitOp>(op))
    finish(SharedAccess::Product, int64_t(wait.getPending()));
  if (isa<DotSharedOp>(op))
    grow(SharedAccess::Product);
  SmallVector<SharedAccess, 2> accesses = accessesOf(op);
  for (SharedAccess &access : accesses) {
    access.number = numbers.lookup(op);
    if (failed(visitAccess(access, state)))
      return failure();
  }
  state.insert(accesses.begin(), accesses.end());
  return success();
}

LogicalResult HazardWalk::visitAccess(SharedAccess access, State &state) {
  const SharedAccess *unordered = nullptr;
  for (const SharedAccess &earlier : state) {
    if (!(earlier.writes || access.writes) || !earlier.part.mayMeet(access.part))
      continue;
    if (earlier.inFlight == SharedAccess::Copy)
      return report(earlier, access, "`simt.async_wait` and a barrier are");
    if (earlier.inFlight == SharedAccess::Product)
      return report(earlier, access, "`simt.dot_wait` and a barrier are");
    unordered = &earlier;
  }
  if (!unordered)
    return success();
  return inserts ? insertBefore(access.op, state) : report(*unordered, access, "a barrier is");
}

LogicalResult HazardWalk::report(const SharedAccess &earlier, const SharedAccess &later, StringRef missing) {
  auto does = [](const SharedAccess &access) { return access.writes ? "writes" : "reads"; };
  auto error = later.op->emitOpError() << does(later) << " bytes of shared memory that '"
                                       << earlier.op->getName().getStringRef() << "' " << does(earlier)
                                       << " before: " << missing << " missing between them";
  error.attachNote(earlier.op->getLoc()) << "the access before";
  return failure();
}

bool HazardWalk::isDivergent(Operation *op) {
  for (; !isa<triton::FuncOp>(op); op = op->getParentOp())
    if (uniformity.isDivergent(op->getBlock()))
      return true;
  return false;
}

LogicalResult HazardWalk::insertBefore(Operation *op, State &state) {
  if (isDivergent(op))
    return op->emitOpError("needs a barrier before it, and stands in a branch or loop that not all threads take alike");
  OpBuilder b(op);
  return visit(BarrierOp::create(b, op->getLoc()), state);
}

LogicalResult HazardWalk::visitIf(scf::IfOp branch, State &state) {
  State after = branch.getElseRegion().empty() ? state : State();
  for (Region &region : branch->getRegions()) {
    State side = state;
    if (region.empty())
      continue;
    if (failed(visitBlock(region.front(), side)))
      return failure();
    after.insert(side.begin(), side.end());
  }
  state = std::move(after);
  return success();
}

/// Tiles of constant numbers as the loop counts them, where it has such numbers for the same ring.
State HazardWalk::enterTurns(scf::ForOp loop, const State &state) {
  DenseMap<Operation *, int64_t> turning; // modulus
  loop.walk([&](Operation *op) {
    for (const SharedAccess &access : accessesOf(op))
      if (access.part.kind == SharedPart::Turn && access.part.loop == loop)
        turning[access.part.object] = access.part.modulus;
  });
  return changed(state, [&](SharedAccess &access) {
    SharedPart &part = access.part;
    auto found = turning.find(part.object);
    if (part.kind == SharedPart::Tile && found != turning.end() && part.number < found->second) {
      part.kind = SharedPart::Turn;
      part.loop = loop;
      part.modulus = found->second;
    }
    return true;
  });
}

// Until another iteration adds nothing to what is outstanding where it begins. What was tile i + c in iteration i is
// tile i + c - 1 as the next one counts, and any tile when the loop is over.
LogicalResult HazardWalk::visitLoop(Operation *op, State &state) {
  auto loop = dyn_cast<scf::ForOp>(op);
  State begin = loop ? enterTurns(loop, state) : state, leaving;
  for (size_t before = ~size_t(0); before != begin.size();) {
    before = begin.size();
    State iteration = begin;
    for (Region &region : op->getRegions()) {
      if (failed(visitBlock(region.front(), iteration)))
        return failure();
      if (region.getRegionNumber() == 0)
        leaving = iteration;
    }
    State next = changed(iteration, [&](SharedAccess &access) {
      SharedPart &part = access.part;
      if (loop && part.loop == loop)
        part.number = (part.number + part.modulus - 1) % part.modulus;
      return true;
    });
    begin.insert(next.begin(), next.end());
  }
  if (loop)
    leaving.insert(state.begin(), state.end());
  state = changed(leaving, [&](SharedAccess &access) {
    if (loop && access.part.loop == loop)
      access.part = {access.part.object};
    return true;
  });
  return success();
}

static LogicalResult walkFunctions(ModuleOp module, bool inserts) {
  for (auto function : module.getOps<triton::FuncOp>())
    if (failed(HazardWalk(function, inserts).run()))
      return failure();
  return success();
}

LogicalResult simt::insertBarriers(ModuleOp module) {
  return walkFunctions(module, /*inserts=*/true);
}

LogicalResult simt::verifyHazards(ModuleOp module) {
  return walkFunctions(module, /*inserts=*/false);
}
