// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Program order of accesses to global memory: a program's operations happen on whole tiles, one after the other, but
// each thread does its part when it comes there. Where one thread may read or write what another one of the block wrote
// or read before, they meet at a barrier first.
#include "compiler/lowering/peer/ExternCalls.h"
#include "compiler/lowering/simt/ThreadEmitter.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

// What a pointer was made from: an argument of the kernel, or a value that may point anywhere.
static Value rootOf(Value pointer) {
  for (SmallPtrSet<void *, 8> seen; seen.insert(pointer.getAsOpaquePointer()).second;) {
    if (auto argument = dyn_cast<BlockArgument>(pointer)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (!loop || argument.getArgNumber() == 0)
        return pointer;
      pointer = loop.getInitArgs()[argument.getArgNumber() - 1];
      continue;
    }
    Operation *op = pointer.getDefiningOp();
    if (auto loop = dyn_cast<scf::ForOp>(op))
      pointer = loop.getInitArgs()[cast<OpResult>(pointer).getResultNumber()];
    else if (isa<AddPtrOp, SplatOp, BroadcastOp, ExpandDimsOp, ReshapeOp, TransOp, ConvertLayoutOp, BitcastOp>(op))
      pointer = op->getOperand(0);
    else
      return pointer;
  }
  return pointer;
}

static bool isKernelArgument(Value root) {
  auto argument = dyn_cast<BlockArgument>(root);
  return argument && isa<FuncOp>(argument.getOwner()->getParentOp()) && argument.getOwner()->isEntryBlock() &&
         isa<PointerType>(argument.getType());
}

static bool isGlobalAccess(Operation *op) {
  return isa<GlobalLoadOp, GlobalStoreOp, GlobalUpdateOp, AtomicCASOp, AtomicLoadOp, AtomicStoreOp, AtomicPollOp,
             AsyncCopyOp, BufferLoadOp, BufferStoreOp>(op);
}

static MemSemantic semanticOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, MemSemantic>(op)
      .Case<GlobalUpdateOp, AtomicCASOp, AtomicLoadOp, AtomicStoreOp, AtomicPollOp>(
          [](auto atomic) { return atomic.getSem(); })
      .Default(MemSemantic::Relaxed);
}

ThreadEmitter::Access ThreadEmitter::globalAccess(Operation *op) {
  Access access;
  access.pointer = op->getOperand(0);
  auto ofBuffer = [&](Value pointer, Value offsets) { std::tie(access.base, access.pointer) = {pointer, offsets}; };
  if (auto load = dyn_cast<BufferLoadOp>(op))
    ofBuffer(load.getPointer(), load.getOffsets());
  if (auto store = dyn_cast<BufferStoreOp>(op))
    ofBuffer(store.getPointer(), store.getOffsets());
  access.root = rootOf(access.base ? access.base : access.pointer);
  access.reads = !isa<GlobalStoreOp, AtomicStoreOp, BufferStoreOp>(op);
  access.writes = !isa<GlobalLoadOp, AtomicLoadOp, AtomicPollOp, AsyncCopyOp, BufferLoadOp>(op);
  access.isScalar = !isa<RankedTensorType>(access.pointer.getType());
  auto load = dyn_cast<GlobalLoadOp>(op);
  access.byOwner = !load || isLoadedByOwner(load);
  if (auto update = dyn_cast<GlobalUpdateOp>(op); update && op->use_empty())
    access.unorderedUpdate = update.getKind();
  return access;
}

bool ThreadEmitter::mayMeet(const Access &earlier, const Access &later) {
  if (!earlier.writes && !later.writes)
    return false;
  if (earlier.unorderedUpdate && earlier.unorderedUpdate == later.unorderedUpdate)
    return false; // sums, maxima, ... whose order nobody sees
  if (writesOnce && !earlier.reads && !later.reads)
    return false;
  if (earlier.root != later.root) {
    // Arguments point to memory of their own; so do, by contract, the places that a program between devices orders
    // itself.
    bool known = isKernelArgument(earlier.root) && isKernelArgument(later.root);
    if (known || ordersItself)
      return false;
  }
  if (earlier.isScalar && later.isScalar && earlier.byOwner && later.byOwner)
    return false; // one thread does both
  if (earlier.pointer == later.pointer && earlier.base == later.base) {
    bool isTile = isa<RankedTensorType>(later.pointer.getType());
    return isOwner(isTile ? layoutOf(later.pointer.getType()) : LinearLayout()) != nullptr;
  }
  return true;
}

// Each once: paths that part and join again and again would double them every time.
void ThreadEmitter::alsoPending(ArrayRef<Access> accesses) {
  for (const Access &access : accesses)
    if (!llvm::is_contained(pending, access))
      pending.push_back(access);
}

void ThreadEmitter::meet() {
  target.barrier(b);
  pending.clear();
}

void ThreadEmitter::meetForScratch() {
  Operation *meeting = shared.meet(b);
  for (Access &access : pending)
    access.since.push_back(meeting);
}

void ThreadEmitter::orderAccess(Operation *op) {
  Access access = globalAccess(op);
  MemSemantic semantic = semanticOf(op);
  bool releases = semantic == MemSemantic::Release || semantic == MemSemantic::AcquireRelease;
  auto conflicts = [&](const Access &earlier) {
    // What the program did before a release is over in every thread.
    bool mustBeOver = releases && !ordersItself && !(earlier.isScalar && earlier.byOwner && access.isScalar);
    return mustBeOver || mayMeet(earlier, access);
  };
  if (!divergent && llvm::any_of(pending, [&](const Access &each) { return each.since.empty() && conflicts(each); }))
    meet();
  while (!divergent) {
    const Access *unordered = llvm::find_if(pending, conflicts);
    if (unordered == pending.end())
      break;
    Operation *last = unordered->since.back(); // the reader's, which is hardly ever left out
    shared.keep(last);
    llvm::erase_if(pending, [&](const Access &earlier) { return llvm::is_contained(earlier.since, last); });
  }
  pending.push_back(access);
}

// What an earlier iteration, or another block, may have done; its pointers are not those of this one.
void ThreadEmitter::expectAccesses(Region &region) {
  region.walk([&](Operation *op) {
    if (!isGlobalAccess(op))
      return;
    Access access = globalAccess(op);
    access.pointer = {};
    pending.push_back(access);
  });
}

// A location that others write at the same time: the threads must not see different values of it.
bool ThreadEmitter::mustAgree(GlobalLoadOp op) {
  if (divergent)
    return false;
  if (op.getIsVolatile())
    return true;
  Value root = rootOf(op.getPointer());
  bool isShared = false;
  source.walk([&](Operation *other) {
    isShared |= isa<GlobalUpdateOp, AtomicCASOp, AtomicLoadOp, AtomicStoreOp, AtomicPollOp>(other) &&
                rootOf(other->getOperand(0)) == root;
  });
  return isShared;
}

// A sum over a tile that is stored, or a number in memory that a program adds to. Other threads have nothing in its
// place, so that it must not decide whether they store.
bool ThreadEmitter::isForOwner(Operation *op) {
  auto isScalar = [](Type type) { return !isa<RankedTensorType>(type); };
  auto uses = [](Operation *of) { return llvm::make_pointer_range(of->getUses()); };
  bool result = !op->use_empty() && llvm::all_of(op->getResultTypes(), isScalar);
  SmallVector<OpOperand *> next(uses(op));
  for (SmallPtrSet<Operation *, 8> seen; result && !next.empty();) {
    OpOperand &use = *next.pop_back_val();
    Operation *user = use.getOwner();
    if (isa<GlobalStoreOp, GlobalUpdateOp, AtomicCASOp, AtomicStoreOp>(user)) { // by a pointer that is a scalar as well
      constexpr unsigned maskNumber = 2;
      result = isa<AtomicCASOp>(user) || use.getOperandNumber() < maskNumber;
      continue;
    }
    result = isPure(user) && !user->hasTrait<mlir::OpTrait::IsTerminator>() && user->getNumRegions() == 0 &&
             llvm::all_of(user->getResultTypes(), isScalar);
    if (seen.insert(user).second)
      llvm::append_range(next, uses(user));
  }
  return result;
}

// Then nobody else loads it, and nobody waits until the others have before it is stored. What the program only reads
// may come early, and into scalar registers.
bool ThreadEmitter::isLoadedByOwner(GlobalLoadOp op) {
  if (op.getIsVolatile() || !isForOwner(op))
    return false;
  Value root = rootOf(op.getPointer());
  auto isWrite = [&](Operation *other) {
    bool writes =
        isa<GlobalStoreOp, GlobalUpdateOp, AtomicCASOp, AtomicStoreOp>(other) && rootOf(other->getOperand(0)) == root;
    return writes ? WalkResult::interrupt() : WalkResult::advance();
  };
  return source.walk(isWrite).wasInterrupted();
}

bool ThreadEmitter::usesPeerCalls() {
  return source
      .walk([](ExternElementwiseOp call) {
        return peer::isExternCallName(call.getSymbol()) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}
