// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The walk itself: states at the ends of blocks are joined until they no longer grow.
#include "compiler/lowering/simt/HazardWalk.h"
#include "compiler/lowering/simt/DirectCopy.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

/// How long groups, matmuls and instructions are counted; older ones count as that old, and so as in flight for
/// longer.
constexpr int oldest = 16, mostIssued = 63;

HazardWalk::HazardWalk(triton::FuncOp function, BlockShape block, Mode mode)
    : function(function), block(block), order(function, block), uniformity(function), mode(mode) {}

LogicalResult HazardWalk::run() {
  bool isPlaced = true;
  function.walk([&](Operation *op) {
    note(op);
    if (auto alloc = dyn_cast<AllocOp>(op); alloc && !alloc.getStart() && isPlaced) {
      alloc.emitOpError() << "has no place in shared memory: run place-shared-memory first";
      isPlaced = false;
    }
  });
  if (!isPlaced || failed(checkConditional()))
    return failure();
  LogicalResult result = visitFunction();
  while (std::exchange(isAgain, false))
    result = visitFunction();
  return result;
}

void HazardWalk::note(Operation *op) {
  Effect effect = {accessesOf(op), GlobalOrder::isAccess(op)};
  bool isOther = isa<scf::ForOp, scf::WhileOp, scf::IfOp, StageOp, AsyncCommitOp, AsyncWaitOp, BulkWaitOp, DotWaitOp,
                     BarrierOp, CondBarrierOp, ShiftWarpsOp, AlignWarpsOp, triton::ReturnOp>(op);
  if (effect.accesses.empty() && !effect.isGlobal && !isOther && !isBlockBarrier(op))
    return;
  int number = numbers.try_emplace(op, int(numbers.size())).first->second;
  for (SharedAccess &access : effect.accesses) {
    access.number = number;
    if (access.part.kind == SharedPart::Turn)
      turning[access.part.loop][access.part.object] = access.part.modulus;
  }
  if (effect.isGlobal) {
    globals.resize(size_t(number) + 1);
    globals.back() = order.accessOf(op);
  }
  effects.insert_or_assign(op, std::move(effect));
}

LogicalResult HazardWalk::visitFunction() {
  DenseMap<Block *, HazardState> entering;
  for (bool grows = true; grows;) {
    grows = false;
    for (Block &block : function.getBody()) {
      HazardState state = entering[&block];
      if (failed(visitBlock(block, state)))
        return failure();
      state.makeStale();
      for (Block *next : block.getSuccessors()) {
        HazardState &to = entering[next];
        size_t before = to.size();
        to.add(state);
        grows |= to.size() != before;
      }
    }
  }
  return success();
}

LogicalResult HazardWalk::visitBlock(Block &block, HazardState &state) {
  for (Operation &op : llvm::make_early_inc_range(block))
    if (failed(visit(&op, state)))
      return failure();
  return success();
}

// What reports whether an assertion failed, or a wait ended, asks all threads.
bool HazardWalk::isBlockBarrier(Operation *op) {
  return isBarrier(op) || (isa<triton::AssertOp, GlobalWaitOp>(op) && !isDivergent(op));
}

// Of warps that are n barriers apart, the first may access what comes after n barriers while the last is before them.
void HazardWalk::synchronise(HazardState &state, Scope scope) {
  if (scope == Scope::Block) {
    state.changeGlobal([&](GlobalHazard &access) { return ++access.barriers <= state.conditional; });
  } else {
    state.changeGlobal([](GlobalHazard &access) { return access.isInWarp = true; });
  }
  state.change([&](SharedAccess &access) {
    if (access.inFlight == SharedAccess::No)
      access.since = std::max(access.since, scope);
    if (scope != Scope::Block || access.inFlight != SharedAccess::No)
      return true;
    return ++access.barriers <= state.conditional;
  });
}

// It counts for what was over when the warp came to it: after a barrier that waits for it, or, of copies, after a wait.
void HazardWalk::passBare(HazardState &state) {
  auto pass = [&](auto &access) { return ++access.barriers <= state.conditional; };
  state.changeGlobal([&](GlobalHazard &access) { return access.barriers == 0 || pass(access); });
  state.change([&](SharedAccess &access) {
    bool isCopied = access.inFlight == SharedAccess::No && isa<AsyncCopyOp, AsyncBufferCopyOp>(access.op);
    return (access.barriers == 0 && !isCopied) || pass(access);
  });
}

// All warps have executed as many barriers: what one of them ordered for some warps is ordered for all.
void HazardWalk::alignWarps(HazardState &state) {
  --state.conditional;
  auto isOpen = [&](auto &access) {
    bool isOver = access.barriers > state.conditional;
    if (state.conditional == 0)
      access.barriers = 0;
    return !isOver;
  };
  state.changeGlobal(isOpen);
  state.change(isOpen);
}

/// The accesses of this kind that are over by `wait`.
static void end(HazardState &state, SharedAccess::InFlight kind, Operation *wait,
                llvm::function_ref<bool(const SharedAccess &)> isOver) {
  state.change([&](SharedAccess &access) {
    if (access.inFlight == kind && isOver(access)) {
      access.inFlight = SharedAccess::No;
      access.age = access.issued = 0;
      access.wait = wait;
    }
    return true;
  });
}

static void grow(HazardState &state, SharedAccess::InFlight kind) {
  state.change([&](SharedAccess &access) {
    access.age += access.inFlight == kind && access.age < oldest;
    return true;
  });
}

// A copy is over when a wait leaves fewer groups than were made since, or no more instructions than were issued since.
void HazardWalk::endInFlight(Operation *op, HazardState &state) {
  auto isOld = [](uint64_t pending) {
    return [=](const SharedAccess &access) { return access.age >= int64_t(pending); };
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](AsyncWaitOp wait) {
        std::optional<uint64_t> instructions = wait.getInstructions();
        end(state, SharedAccess::Copy, op, [&](const SharedAccess &access) {
          return instructions ? access.issued >= int64_t(*instructions) : access.age > int64_t(wait.getPending());
        });
      })
      .Case([&](DotWaitOp wait) { end(state, SharedAccess::Matmul, op, isOld(wait.getPending())); })
      .Case([&](BulkWaitOp wait) { end(state, SharedAccess::Bulk, op, isOld(wait.getPending())); })
      .Case([&](ArriveOp arrive) { // the program waits at the object
        if (arrive.getCopies())
          state.change([](SharedAccess &access) { return access.inFlight != SharedAccess::Copy; });
      });
}

/// What is in flight grows older by what begins after it.
static void ageInFlight(Operation *op, HazardState &state) {
  if (isa<AsyncCommitOp>(op))
    grow(state, SharedAccess::Copy);
  if (isa<DotSharedOp>(op))
    grow(state, SharedAccess::Matmul);
  if (isa<BulkStoreOp>(op))
    grow(state, SharedAccess::Bulk);
}

// A barrier orders what is over.
void HazardWalk::visitBarrier(Operation *op, HazardState &state) {
  auto barrier = dyn_cast<BarrierOp>(op);
  if (barrier && barrier.getBare()) {
    passBare(state);
  } else if (barrier && barrier.getShared()) {
    std::set<GlobalHazard> global = state.global;
    synchronise(state, Scope::Block);
    state.global = std::move(global);
  } else if (barrier || isBlockBarrier(op)) {
    synchronise(state, isBlockBarrier(op) ? Scope::Block : barrier.getCopies() ? Scope::WarpBeforeCopies : Scope::Warp);
  }
  state.conditional += isa<CondBarrierOp, ShiftWarpsOp>(op);
  if (isa<AlignWarpsOp>(op))
    alignWarps(state);
}

LogicalResult HazardWalk::visit(Operation *op, HazardState &state) {
  auto found = effects.find(op);
  if (found == effects.end())
    return success();
  const Effect &effect = found->second;
  if (isa<scf::ForOp, scf::WhileOp>(op))
    return visitLoop(op, state);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return visitIf(branch, state);
  if (auto stage = dyn_cast<StageOp>(op))
    return visitBlock(stage.getBody().front(), state);
  endInFlight(op, state);
  // Another block may get the memory that a store in flight still reads.
  bool isRead =
      llvm::any_of(state.shared, [](const SharedAccess &each) { return each.inFlight == SharedAccess::Bulk; });
  if (isa<triton::ReturnOp>(op) && isRead && mode == Mode::Insert)
    return insertBulkWait(op, state);
  ageInFlight(op, state);
  if (effect.isGlobal && failed(visitGlobal(op, state)))
    return failure();
  for (const SharedAccess &access : effect.accesses)
    if (failed(visitAccess(access, state)))
      return failure();
  if (isa<AsyncCopyOp, AsyncBufferCopyOp>(op))
    state.change([&, count = instructionsOfCopy(op, block)](SharedAccess &access) {
      if (access.inFlight == SharedAccess::Copy)
        access.issued = int(std::min<int64_t>(mostIssued, access.issued + count));
      return true;
    });
  if (!isa<BulkLoadOp>(op)) // the waits at its barrier object order what comes after it
    state.shared.insert(effect.accesses.begin(), effect.accesses.end());
  visitBarrier(op, state);
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
  if (isWithin && earlier.inFlight == SharedAccess::No) {
    Scope needed = later.inFlight == SharedAccess::Copy ? Scope::WarpBeforeCopies : Scope::Warp;
    return earlier.since >= needed ? Scope::None : needed;
  }
  return Scope::Block;
}

LogicalResult HazardWalk::visitAccess(SharedAccess access, HazardState &state) {
  const SharedAccess *unordered = nullptr;
  Scope needed = Scope::None;
  for (const SharedAccess &earlier : state.shared) {
    Scope between = neededBetween(earlier, access);
    if (between == Scope::None)
      continue;
    // A program that does not wait for what it reads has a fault. One of which that is not known is waited for.
    bool isFault = earlier.part.isSame(access.part);
    bool isInStage = state.conditional && access.op->getParentOfType<StageOp>();
    if (earlier.inFlight == SharedAccess::Copy && !isFault && mode == Mode::Insert && !isInStage)
      return failed(insertWaitBetween(earlier.op, access.op, state)) ? failure() : visitAccess(access, state);
    if (earlier.inFlight == SharedAccess::Copy)
      return report(earlier, access, "`async_wait` and a barrier are");
    // Barrier objects may order a bulk copy with what other warps do, which the walk does not see.
    if (earlier.inFlight == SharedAccess::Matmul && isa<BulkLoadOp>(access.op) && !isFault)
      continue;
    if (earlier.inFlight == SharedAccess::Bulk && !isFault && mode == Mode::Insert)
      return failed(insertBulkWait(access.op, state)) ? failure() : visitAccess(access, state);
    if (earlier.inFlight == SharedAccess::Bulk)
      return report(earlier, access, "`bulk_wait` (`async_tma_store_wait`) and a barrier are");
    if (earlier.inFlight == SharedAccess::Matmul)
      return report(earlier, access, "`dot_wait` and a barrier are");
    needed = std::max(needed, between);
    unordered = &earlier;
  }
  if (!unordered)
    return success();
  if (needed == Scope::Block && state.conditional && access.op->getParentOfType<StageOp>())
    return reportInStages(*unordered, access);
  if (mode != Mode::Insert)
    return report(*unordered, access, "a barrier is");
  if (failed(insertBefore(access.op, state, needed)))
    return failure();
  return state.conditional ? visitAccess(access, state) : success(); // it may take another one
}

// The plain accesses of one warp are made in their order.
Scope HazardWalk::neededBetween(const GlobalHazard &earlier, const GlobalAccess &later) {
  const GlobalAccess &before = globals[size_t(earlier.number)];
  if (!order.needsBarrier(before, earlier.isStale, later))
    return Scope::None;
  auto isPlain = [](Operation *op) { return isa<GlobalLoadOp, GlobalStoreOp, BufferLoadOp, BufferStoreOp>(op); };
  if (block.warps > 1 || !isPlain(before.op) || !isPlain(later.op))
    return Scope::Block;
  return earlier.isInWarp ? Scope::None : Scope::Warp;
}

LogicalResult HazardWalk::visitGlobal(Operation *op, HazardState &state) {
  int number = numbers.lookup(op);
  const GlobalAccess &access = globals[size_t(number)];
  Scope needed = Scope::None;
  auto findUnordered = [&]() -> const GlobalAccess * {
    const GlobalAccess *unordered = nullptr;
    needed = Scope::None;
    for (const GlobalHazard &earlier : state.global)
      if (Scope between = neededBetween(earlier, access); between != Scope::None) {
        needed = std::max(needed, between);
        unordered = &globals[size_t(earlier.number)];
      }
    return unordered;
  };
  if (isDivergent(op)) { // where no barrier of the block can stand
    if (const GlobalAccess *unordered = access.isFence() ? findUnordered() : nullptr)
      return reportGlobal(*unordered, access);
  } else
    while (const GlobalAccess *unordered = findUnordered()) {
      if (mode != Mode::Insert)
        return reportGlobal(*unordered, access);
      if (auto stage = op->getParentOfType<StageOp>(); stage && state.conditional)
        return widenBarriers(stage) ? failure() : reportGlobalInStage(*unordered, access);
      if (failed(insertBefore(op, state, needed)))
        return failure();
    }
  state.global.insert({number});
  return success();
}

/// In words that fit the operation's name in each dialect that is lowered to it.
std::string HazardWalk::nameOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case<LoadSharedOp, LoadRepackedOp>([](auto) { return "a load from shared memory"; })
      .Case<StoreSharedOp>([](auto) { return "a store to shared memory"; })
      .Case<AsyncCopyOp, AsyncBufferCopyOp>([](auto) { return "an asynchronous copy"; })
      .Case<DotSharedOp>([](auto) { return "an asynchronous matmul"; })
      .Case<BulkLoadOp>([](auto) { return "a bulk copy to shared memory"; })
      .Case<BulkStoreOp>([](auto) { return "a bulk copy from shared memory"; })
      .Case<GlobalLoadOp, BufferLoadOp>([](auto) { return "a load"; })
      .Case<GlobalStoreOp, BufferStoreOp>([](auto) { return "a store"; })
      .Case<FenceOp>([](auto) { return "a fence"; })
      .Default([](Operation *op) { return ("`" + op->getName().getStringRef() + "`").str(); });
}

LogicalResult HazardWalk::reportGlobal(const GlobalAccess &earlier, const GlobalAccess &later) {
  if (mode == Mode::Try)
    return failure();
  // Rule K10: so are accesses to global memory in different threads of a block.
  const char *does = later.isFence()     ? " releases global memory that "
                     : earlier.isFence() ? " accesses global memory, which "
                                         : " accesses global memory that ";
  const char *did = earlier.isFence() ? " acquires" : " may have accessed";
  auto error = later.op->emitError() << nameOf(later.op) << does << nameOf(earlier.op) << did
                                     << " before in another thread: a barrier is missing between them";
  error.attachNote(earlier.op->getLoc()) << "the access before";
  return failure();
}

/// The last wait for copies between `copy` and `access`, where both are in one block; null for none.
static AsyncWaitOp waitBetween(Operation *copy, Operation *access) {
  if (copy->getBlock() != access->getBlock() || !copy->isBeforeInBlock(access))
    return {};
  for (Operation *before = access->getPrevNode(); before != copy; before = before->getPrevNode())
    if (auto wait = dyn_cast<AsyncWaitOp>(before))
      return wait;
  return {};
}

LogicalResult HazardWalk::report(const SharedAccess &earlier, const SharedAccess &later, StringRef missing) {
  if (mode == Mode::Try)
    return failure();
  // Rule K9: two accesses to the same bytes of shared memory, one of which writes, are ordered by a barrier, and by a
  // wait where the first is a copy or a matmul in flight.
  auto does = [](const SharedAccess &access) { return access.writes ? "writes" : "reads"; };
  auto error = later.op->emitError() << nameOf(later.op) << " " << does(later) << " bytes of shared memory that "
                                     << nameOf(earlier.op) << " " << does(earlier) << " before: " << missing
                                     << " missing between them";
  error.attachNote(earlier.op->getLoc()) << "the access before";
  auto isGroup = [&] {
    if (earlier.op->getBlock() != later.op->getBlock() || !earlier.op->isBeforeInBlock(later.op))
      return true;
    for (Operation *next = earlier.op->getNextNode(); next != later.op; next = next->getNextNode())
      if (isa<AsyncCommitOp>(next))
        return true;
    return false;
  };
  if (earlier.inFlight == SharedAccess::Copy && !isGroup())
    error.attachNote(earlier.op->getLoc()) << "the copy is in no group when it is waited for: commit one after it";
  AsyncWaitOp wait = earlier.inFlight == SharedAccess::Copy ? waitBetween(earlier.op, later.op) : AsyncWaitOp();
  if (wait && wait.getPending())
    error.attachNote(wait.getLoc()) << "this wait lets " << wait.getPending()
                                    << (wait.getPending() == 1 ? " group" : " groups")
                                    << " of copies be in flight, and the copy may be in one of them";
  return failure();
}

LogicalResult HazardWalk::visitIf(scf::IfOp branch, HazardState &state) {
  HazardState after = branch.getElseRegion().empty() ? state : HazardState();
  for (Region &region : branch->getRegions()) {
    HazardState side = state;
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
void HazardWalk::enterTurns(scf::ForOp loop, HazardState &state) {
  auto rings = turning.find(loop);
  if (rings == turning.end())
    return;
  state.change([&](SharedAccess &access) {
    SharedPart &part = access.part;
    auto found = rings->second.find(part.object);
    if (part.kind == SharedPart::Tile && found != rings->second.end() && part.number < found->second) {
      part.kind = SharedPart::Turn;
      part.loop = loop;
      part.modulus = found->second;
    }
    return true;
  });
}

/// Whether the bounds are constants that give an iteration; `most`: and no more than so many.
static bool hasIteration(scf::ForOp loop, std::optional<uint64_t> most = std::nullopt) {
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound()),
                         upper = getConstantIntValue(loop.getUpperBound()), step = getConstantIntValue(loop.getStep());
  if (loop.getUnsignedCmp() || !lower || !upper || *lower >= *upper)
    return false;
  uint64_t distance = uint64_t(*upper) - uint64_t(*lower); // beyond int64_t from the lowest numbers to the highest
  return !most || (step && *step > 0 && (distance - 1) / uint64_t(*step) < *most);
}

// Until another iteration adds nothing to what is outstanding where it begins. What was tile i + c in iteration i is
// tile i + c - 1 as the next one counts, and any tile when the loop is over.
LogicalResult HazardWalk::visitLoop(Operation *op, HazardState &state) {
  auto loop = dyn_cast<scf::ForOp>(op);
  HazardState begin = state, leaving;
  if (loop)
    enterTurns(loop, begin);
  bool isOnce = loop && hasIteration(loop, 1);
  for (size_t before = ~size_t(0); before != begin.size();) {
    before = begin.size();
    HazardState iteration = begin;
    for (Region &region : op->getRegions()) {
      if (failed(visitBlock(region.front(), iteration)))
        return failure();
      if (region.getRegionNumber() == 0)
        leaving = iteration;
    }
    if (isOnce)
      break;
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
  if (loop && !hasIteration(loop))
    leaving.add(state);
  leaving.change([&](SharedAccess &access) {
    if (loop && access.part.loop == loop)
      access.part = {access.part.object};
    return true;
  });
  state = std::move(leaving);
  return success();
}
