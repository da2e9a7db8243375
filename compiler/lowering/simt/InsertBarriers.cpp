// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forward over the control flow: the accesses since the last barrier on any path, and what is in flight.
#include "compiler/lowering/simt/InsertBarriers.h"
#include "compiler/analysis/Uniformity.h"
#include "compiler/lowering/simt/DirectCopy.h"
#include "compiler/lowering/simt/Exchanges.h"
#include "compiler/lowering/simt/SharedAccesses.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include <set>

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

namespace {

/// How long groups, products and instructions are counted; older ones count as that old, and so as in flight for
/// longer.
constexpr int oldest = 16, mostIssued = 63;

/// What is not ordered with what comes next.
struct State {
  std::set<SharedAccess> shared;
  std::set<std::pair<int, bool>> global; ///< number, and whether its pointers are those of another iteration

  size_t size() const { return shared.size() + global.size(); }
  void add(const State &other) {
    shared.insert(other.shared.begin(), other.shared.end());
    global.insert(other.global.begin(), other.global.end());
  }
  /// `change` returns whether to keep an access.
  void change(llvm::function_ref<bool(SharedAccess &)> change) {
    std::set<SharedAccess> result;
    for (SharedAccess access : shared)
      if (change(access))
        result.insert(access);
    shared = std::move(result);
  }
  void makeStale() {
    std::set<std::pair<int, bool>> result;
    for (auto [number, isStale] : global)
      result.insert({number, true});
    global = std::move(result);
  }
};

/// Whose threads synchronise.
enum class Scope : uint8_t { None, Warp, Block };

class HazardWalk {
public:
  /// Whether it inserts barriers, reports where one is missing, or only fails there.
  enum class Mode : uint8_t { Insert, Report, Try };
  HazardWalk(triton::FuncOp function, BlockShape block, Mode mode)
      : function(function), block(block), order(function, block), uniformity(function), mode(mode) {}
  LogicalResult run();
  /// Leaves out inserted barriers that others make needless: where a loop comes back to accesses before them.
  void dropNeedless();
  /// Makes inserted barriers of the block those for shared memory alone where that is enough.
  void narrowToShared();

private:
  LogicalResult visit(Operation *op, State &state);
  LogicalResult visitBlock(Block &block, State &state);
  LogicalResult visitIf(scf::IfOp branch, State &state);
  LogicalResult visitLoop(Operation *op, State &state);
  LogicalResult visitAccess(SharedAccess access, State &state);
  LogicalResult visitGlobal(Operation *op, State &state);
  void synchronise(State &state, Scope scope);
  Scope neededBetween(const SharedAccess &earlier, const SharedAccess &later);
  LogicalResult insertBefore(Operation *op, State &state, Scope scope);
  LogicalResult report(const SharedAccess &earlier, const SharedAccess &later, StringRef missing);
  bool isDivergent(Operation *op) { return uniformity.isDivergent(op->getBlock()); }
  bool isBlockBarrier(Operation *op);
  void enterTurns(scf::ForOp loop, State &state);

  triton::FuncOp function;
  BlockShape block;
  GlobalOrder order;
  analysis::Uniformity uniformity;
  Mode mode;
  SmallVector<BarrierOp> inserted;
  DenseMap<Operation *, int> numbers; ///< of accesses
  std::vector<GlobalAccess> globals;  ///< by their numbers
  DenseMap<Operation *, std::optional<layout::LinearLayout>> warps;
};

} // namespace

LogicalResult HazardWalk::run() {
  bool isPlaced = true;
  function.walk([&](Operation *op) {
    if (!accessesOf(op).empty())
      numbers.try_emplace(op, int(numbers.size()));
    if (GlobalOrder::isAccess(op)) {
      numbers.try_emplace(op, int(numbers.size()));
      globals.resize(size_t(numbers.lookup(op)) + 1);
      globals.back() = order.accessOf(op);
    }
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
      state.makeStale();
      for (Block *next : block.getSuccessors()) {
        State &to = entering[next];
        size_t before = to.size();
        to.add(state);
        grows |= to.size() != before;
      }
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

// What reports whether an assertion failed, or a wait ended, asks all threads.
bool HazardWalk::isBlockBarrier(Operation *op) {
  return isBarrier(op) || (isa<triton::AssertOp, triton::AtomicPollOp>(op) && !isDivergent(op));
}

void HazardWalk::synchronise(State &state, Scope scope) {
  if (scope == Scope::Block)
    state.global.clear();
  state.change([&](SharedAccess &access) {
    access.isOverInWarp |= access.inFlight == SharedAccess::No;
    return scope == Scope::Warp || access.inFlight != SharedAccess::No;
  });
}

// A copy is over when a wait leaves fewer groups than were made since, a product likewise. A barrier orders what is
// over.
LogicalResult HazardWalk::visit(Operation *op, State &state) {
  using InFlight = SharedAccess::InFlight;
  auto grow = [&](InFlight kind) {
    state.change([&](SharedAccess &access) {
      access.age += access.inFlight == kind && access.age < oldest;
      return true;
    });
  };
  auto finish = [&](InFlight kind, int64_t leastAge) {
    state.change([&](SharedAccess &access) {
      if (access.inFlight == kind && access.age >= leastAge)
        access.inFlight = SharedAccess::No, access.age = access.issued = 0;
      return true;
    });
  };
  if (isa<scf::ForOp, scf::WhileOp>(op))
    return visitLoop(op, state);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return visitIf(branch, state);
  if (isa<AsyncCommitOp>(op))
    grow(SharedAccess::Copy);
  if (auto wait = dyn_cast<AsyncWaitOp>(op)) {
    if (std::optional<uint64_t> instructions = wait.getInstructions())
      state.change([&](SharedAccess &access) {
        if (access.inFlight == SharedAccess::Copy && access.issued >= int64_t(*instructions))
          access.inFlight = SharedAccess::No, access.age = access.issued = 0;
        return true;
      });
    else
      finish(SharedAccess::Copy, int64_t(wait.getPending()) + 1);
  }
  if (auto wait = dyn_cast<DotWaitOp>(op))
    finish(SharedAccess::Product, int64_t(wait.getPending()));
  if (isa<DotSharedOp>(op))
    grow(SharedAccess::Product);
  if (GlobalOrder::isAccess(op) && failed(visitGlobal(op, state)))
    return failure();
  SmallVector<SharedAccess, 2> accesses = accessesOf(op);
  for (SharedAccess &access : accesses) {
    access.number = numbers.lookup(op);
    if (failed(visitAccess(access, state)))
      return failure();
  }
  if (isa<AsyncCopyOp, AsyncBufferCopyOp>(op))
    state.change([&, count = instructionsOfCopy(op, block)](SharedAccess &access) {
      if (access.inFlight == SharedAccess::Copy)
        access.issued = int(std::min<int64_t>(mostIssued, access.issued + count));
      return true;
    });
  state.shared.insert(accesses.begin(), accesses.end());
  if (auto barrier = dyn_cast<BarrierOp>(op); barrier && barrier.getShared()) {
    std::set<std::pair<int, bool>> global = state.global;
    synchronise(state, Scope::Block);
    state.global = std::move(global);
  } else if (barrier || isBlockBarrier(op)) {
    synchronise(state, isBlockBarrier(op) ? Scope::Block : Scope::Warp);
  }
  return success();
}

Scope HazardWalk::neededBetween(const SharedAccess &earlier, const SharedAccess &later) {
  if (!(earlier.writes || later.writes) || !earlier.part.mayOverlap(later.part))
    return Scope::None;
  auto warpOf = [&](Operation *op) -> const std::optional<layout::LinearLayout> & {
    auto [known, isNew] = warps.try_emplace(op);
    if (isNew)
      known->second = warpOfPlaces(op, block.warps);
    return known->second;
  };
  bool isWithin = block.warps == 1;
  if (!isWithin && earlier.part.object && earlier.part.object == later.part.object) {
    std::optional<layout::LinearLayout> before = warpOf(earlier.op);
    isWithin = before && before == warpOf(later.op);
  }
  if (isWithin && earlier.inFlight == SharedAccess::No)
    return earlier.isOverInWarp ? Scope::None : Scope::Warp;
  return Scope::Block;
}

LogicalResult HazardWalk::visitAccess(SharedAccess access, State &state) {
  const SharedAccess *unordered = nullptr;
  Scope needed = Scope::None;
  for (const SharedAccess &earlier : state.shared) {
    Scope between = neededBetween(earlier, access);
    if (between == Scope::None)
      continue;
    // Where it is not known that the bytes are the same, all copies are waited for.
    bool isKnown = earlier.part.object && access.part.object;
    if (earlier.inFlight == SharedAccess::Copy && !isKnown && mode == Mode::Insert && !isDivergent(access.op)) {
      OpBuilder b(access.op);
      if (failed(visit(AsyncWaitOp::create(b, access.op->getLoc(), uint64_t(0)), state)))
        return failure();
      return visitAccess(access, state);
    }
    if (earlier.inFlight == SharedAccess::Copy)
      return report(earlier, access, "`simt.async_wait` and a barrier are");
    if (earlier.inFlight == SharedAccess::Product)
      return report(earlier, access, "`simt.dot_wait` and a barrier are");
    needed = std::max(needed, between);
    unordered = &earlier;
  }
  if (!unordered)
    return success();
  return mode == Mode::Insert ? insertBefore(access.op, state, needed) : report(*unordered, access, "a barrier is");
}

LogicalResult HazardWalk::visitGlobal(Operation *op, State &state) {
  int number = numbers.lookup(op);
  const GlobalAccess &access = globals[size_t(number)];
  const GlobalAccess *unordered = nullptr;
  for (auto [earlier, isStale] : state.global)
    if (order.needsBarrier(globals[size_t(earlier)], isStale, access))
      unordered = &globals[size_t(earlier)];
  if (unordered && !isDivergent(op)) {
    if (mode == Mode::Try)
      return failure();
    if (mode == Mode::Report) {
      auto error = op->emitOpError() << "accesses global memory that '" << unordered->op->getName().getStringRef()
                                     << "' may have accessed before in another thread: a barrier is missing between "
                                     << "them";
      error.attachNote(unordered->op->getLoc()) << "the access before";
      return failure();
    }
    (void)insertBefore(op, state, Scope::Block);
  }
  state.global.insert({number, false});
  return success();
}

LogicalResult HazardWalk::report(const SharedAccess &earlier, const SharedAccess &later, StringRef missing) {
  if (mode == Mode::Try)
    return failure();
  auto does = [](const SharedAccess &access) { return access.writes ? "writes" : "reads"; };
  auto error = later.op->emitOpError() << does(later) << " bytes of shared memory that '"
                                       << earlier.op->getName().getStringRef() << "' " << does(earlier)
                                       << " before: " << missing << " missing between them";
  error.attachNote(earlier.op->getLoc()) << "the access before";
  return failure();
}

LogicalResult HazardWalk::insertBefore(Operation *op, State &state, Scope scope) {
  if (isDivergent(op))
    return op->emitOpError("needs a barrier before it, and stands in a branch or loop that not all threads take alike");
  if (auto known = dyn_cast_or_null<BarrierOp>(op->getPrevNode()); known && known.getWarp()) {
    known.setWarp(scope == Scope::Warp);
    synchronise(state, scope);
    return success();
  }
  // What one thread does and then tells the others stays together.
  Operation *at = op;
  SmallVector<int> between;
  for (Operation *made = op->getPrevNode(); isa<StoreSharedOp>(op) && made; made = made->getPrevNode()) {
    bool isTold = GlobalOrder::isAccess(made) && made->getNumResults() && !isBlockBarrier(made) && isForExchange(made);
    if (!isTold && !isa<AllocOp, triton::SplatOp>(made))
      break;
    if (isTold) {
      at = made;
      between.push_back(numbers.lookup(made));
    }
  }
  OpBuilder b(at);
  inserted.push_back(BarrierOp::create(b, op->getLoc(), /*warp=*/scope == Scope::Warp));
  synchronise(state, scope);
  for (int number : between)
    state.global.insert({number, false});
  return success();
}

LogicalResult HazardWalk::visitIf(scf::IfOp branch, State &state) {
  State after = branch.getElseRegion().empty() ? state : State();
  for (Region &region : branch->getRegions()) {
    State side = state;
    if (region.empty())
      continue;
    if (failed(visitBlock(region.front(), side)))
      return failure();
    after.add(side);
  }
  state = std::move(after);
  return success();
}

/// Tiles of constant numbers as the loop counts them, where it has such numbers for the same ring.
void HazardWalk::enterTurns(scf::ForOp loop, State &state) {
  DenseMap<Operation *, int64_t> turning; // modulus
  loop.walk([&](Operation *op) {
    for (const SharedAccess &access : accessesOf(op))
      if (access.part.kind == SharedPart::Turn && access.part.loop == loop)
        turning[access.part.object] = access.part.modulus;
  });
  state.change([&](SharedAccess &access) {
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
  State begin = state, leaving;
  if (loop)
    enterTurns(loop, begin);
  for (size_t before = ~size_t(0); before != begin.size();) {
    before = begin.size();
    State iteration = begin;
    for (Region &region : op->getRegions()) {
      if (failed(visitBlock(region.front(), iteration)))
        return failure();
      if (region.getRegionNumber() == 0)
        leaving = iteration;
    }
    iteration.makeStale();
    iteration.change([&](SharedAccess &access) {
      SharedPart &part = access.part;
      if (loop && part.loop == loop)
        part.number = (part.number + part.modulus - 1) % part.modulus;
      return true;
    });
    begin.add(iteration);
  }
  leaving.makeStale();
  if (loop)
    leaving.add(state);
  leaving.change([&](SharedAccess &access) {
    if (loop && access.part.loop == loop)
      access.part = {access.part.object};
    return true;
  });
  state = std::move(leaving);
  return success();
}

// Each barrier was needed by the accesses of the text before it. Those of inner loops cost most, and go first.
void HazardWalk::dropNeedless() {
  constexpr size_t most = 64; // of barriers that are tried, each of which takes a walk
  auto depthOf = [](Operation *op) {
    int depth = 0;
    while ((op = op->getParentOp()))
      depth += isa<LoopLikeOpInterface>(op);
    return depth;
  };
  bool hasLoops = !function.getBody().hasOneBlock();
  function.walk([&](LoopLikeOpInterface) { hasLoops = true; });
  if (!hasLoops || inserted.size() > most)
    return;
  llvm::stable_sort(inserted, [&](BarrierOp x, BarrierOp y) { return depthOf(x) > depthOf(y); });
  SmallVector<BarrierOp> kept;
  auto isEnough = [&] { return succeeded(HazardWalk(function, block, Mode::Try).run()); };
  for (BarrierOp barrier : inserted) {
    Operation *next = barrier->getNextNode();
    barrier->remove();
    if (isEnough()) {
      barrier->destroy();
      continue;
    }
    kept.push_back(barrier);
    next->getBlock()->getOperations().insert(next->getIterator(), barrier);
    bool isWarp = barrier.getWarp();
    barrier.setWarp(true);
    if (!isWarp && !isEnough())
      barrier.setWarp(false);
  }
  inserted = std::move(kept);
}

// Only copies in flight gain by it.
void HazardWalk::narrowToShared() {
  constexpr size_t most = 64;
  bool hasCopies = false;
  function.walk([&](Operation *op) { hasCopies |= isa<AsyncCopyOp, AsyncBufferCopyOp>(op); });
  SmallVector<BarrierOp> barriers;
  function.walk([&](BarrierOp barrier) { barriers.push_back(barrier); });
  if (!hasCopies || barriers.size() > most)
    return;
  for (BarrierOp barrier : barriers)
    if (!barrier.getWarp() && llvm::is_contained(inserted, barrier)) {
      barrier.setShared(true);
      if (failed(HazardWalk(function, block, Mode::Try).run()))
        barrier.setShared(false);
    }
}

LogicalResult simt::insertBarriers(ModuleOp module, BlockShape block) {
  for (auto function : module.getOps<triton::FuncOp>()) {
    HazardWalk walk(function, block, HazardWalk::Mode::Insert);
    if (failed(walk.run()))
      return failure();
    walk.dropNeedless();
    walk.narrowToShared();
  }
  return success();
}

LogicalResult simt::verifyHazards(ModuleOp module, BlockShape block) {
  for (auto function : module.getOps<triton::FuncOp>())
    if (failed(HazardWalk(function, block, HazardWalk::Mode::Report).run()))
      return failure();
  return success();
}
