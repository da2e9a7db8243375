// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which threads own an element of global memory, and which accesses of two threads may be of one element.
#include "compiler/lowering/simt/GlobalOrder.h"
#include "compiler/lowering/peer/ExternCalls.h"
#include "compiler/lowering/simt/SharedAccesses.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::Dim;

//===-- Owners ---------------------------------------------------------------------------------------------------===//

uint64_t BlockShape::copies(const layout::LinearLayout &layout) const {
  uint64_t lane = layout.hasInput(Dim::Lane) ? layout.freeBits(Dim::Lane) : 0;
  uint64_t warp = layout.hasInput(Dim::Warp) ? layout.freeBits(Dim::Warp) : 0;
  // Places that the layout does not name are copies as well.
  lane |= uint64_t(lanes - 1) & ~uint64_t(layout.inputSize(Dim::Lane) - 1);
  warp |= (llvm::PowerOf2Ceil(uint64_t(warps)) - 1) & ~uint64_t(layout.inputSize(Dim::Warp) - 1);
  return lane | warp * uint64_t(lanes);
}

uint64_t BlockShape::copies(Type type) const {
  return copies(isa<RankedTensorType>(type) ? layoutOf(type) : layout::LinearLayout());
}

//===-- Accesses -------------------------------------------------------------------------------------------------===//

/// What a pointer is made from by an operation that keeps to the same memory; null for none.
static Value sourceOf(Operation *op) {
  if (isa<AddPtrOp, SplatOp, BroadcastOp, ExpandDimsOp, ReshapeOp, TransOp, ConvertLayoutOp, BitcastOp>(op))
    return op->getOperand(0);
  auto load = dyn_cast<LoadSharedOp>(op);
  return load ? sourceOfExchange(load) : Value();
}

/// What a loop carries as this argument is made from it in each iteration: not from another one, as where two pointers
/// are swapped.
static bool staysItself(scf::ForOp loop, unsigned number) {
  Value argument = loop.getRegionIterArg(number), pointer = loop.getYieldedValues()[number];
  while (pointer && pointer != argument) {
    Operation *op = pointer.getDefiningOp();
    if (!op)
      return false;
    auto inner = dyn_cast<scf::ForOp>(op);
    if (!inner) {
      pointer = sourceOf(op);
      continue;
    }
    unsigned innerNumber = cast<OpResult>(pointer).getResultNumber();
    if (!staysItself(inner, innerNumber))
      return false;
    pointer = inner.getInitArgs()[innerNumber];
  }
  return bool(pointer);
}

Value simt::rootOf(Value pointer) {
  for (;;) {
    scf::ForOp loop;
    unsigned number = 0;
    if (auto argument = dyn_cast<BlockArgument>(pointer)) {
      loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (!loop || argument.getArgNumber() == 0)
        return pointer;
      number = argument.getArgNumber() - 1;
    } else if ((loop = dyn_cast<scf::ForOp>(pointer.getDefiningOp()))) {
      number = cast<OpResult>(pointer).getResultNumber();
    }
    Value source = loop ? Value(loop.getInitArgs()[number]) : sourceOf(pointer.getDefiningOp());
    if (!source || (loop && !staysItself(loop, number)))
      return pointer;
    pointer = source;
  }
}

bool simt::isKernelArgument(Value root) {
  auto argument = dyn_cast<BlockArgument>(root);
  return argument && isa<FuncOp>(argument.getOwner()->getParentOp()) && argument.getOwner()->isEntryBlock() &&
         isa<PointerType>(argument.getType());
}

bool GlobalOrder::isAccess(Operation *op) {
  return isa<GlobalLoadOp, GlobalStoreOp, GlobalUpdateOp, GlobalSwapOp, GlobalAtomicLoadOp, GlobalAtomicStoreOp,
             GlobalWaitOp, AsyncCopyOp, AsyncBufferCopyOp, BufferLoadOp, BufferStoreOp, BufferUpdateOp, FenceOp>(op);
}

static MemSemantic semanticOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, MemSemantic>(op)
      .Case<GlobalUpdateOp, BufferUpdateOp, GlobalSwapOp, GlobalAtomicLoadOp, GlobalAtomicStoreOp, GlobalWaitOp>(
          [](auto atomic) { return atomic.getSem(); })
      .Default(MemSemantic::Relaxed);
}

GlobalOrder::GlobalOrder(FuncOp function, BlockShape block) : function(function), block(block) {
  writesOnce = function->hasAttr(peer::writesOnceAttribute);
  function.walk([&](ExternElementwiseOp call) { ordersItself |= peer::isExternCallName(call.getSymbol()); });
}

GlobalAccess GlobalOrder::accessOf(Operation *op) const {
  GlobalAccess access;
  access.op = op;
  if (auto fence = dyn_cast<FenceOp>(op)) { // of all that the block did and does
    access.releases = fence.getSem() != MemSemantic::Acquire;
    access.acquires = fence.getSem() != MemSemantic::Release;
    return access;
  }
  access.pointer = op->getOperand(0);
  auto ofBuffer = [&](Value pointer, Value offsets) { std::tie(access.base, access.pointer) = {pointer, offsets}; };
  if (auto load = dyn_cast<BufferLoadOp>(op))
    ofBuffer(load.getPointer(), load.getOffsets());
  if (auto copy = dyn_cast<AsyncBufferCopyOp>(op))
    ofBuffer(copy.getPointer(), copy.getOffsets());
  if (auto store = dyn_cast<BufferStoreOp>(op))
    ofBuffer(store.getPointer(), store.getOffsets());
  auto update = dyn_cast<BufferUpdateOp>(op);
  if (update)
    ofBuffer(update.getPointer(), update.getOffsets());
  access.root = rootOf(access.base ? access.base : access.pointer);
  access.reads = !isa<GlobalStoreOp, GlobalAtomicStoreOp, BufferStoreOp>(op);
  access.writes =
      !isa<GlobalLoadOp, GlobalAtomicLoadOp, GlobalWaitOp, AsyncCopyOp, AsyncBufferCopyOp, BufferLoadOp>(op);
  access.isScalar = !isa<RankedTensorType>(access.pointer.getType());
  auto load = dyn_cast<GlobalLoadOp>(op);
  access.byOwner = !load || isLoadedByOwner(load);
  if (auto plain = dyn_cast<GlobalUpdateOp>(op); op->use_empty() && (plain || update))
    access.unorderedUpdate = plain ? plain.getKind() : update.getKind();
  MemSemantic semantic = semanticOf(op);
  access.releases = semantic == MemSemantic::Release || semantic == MemSemantic::AcquireRelease;
  access.acquires = isa<GlobalAtomicLoadOp>(op) && semantic == MemSemantic::Acquire && !access.isScalar;
  return access;
}

//===-- Which of them need a barrier -----------------------------------------------------------------------------===//

bool GlobalOrder::mayConflict(const GlobalAccess &earlier, bool isStale, const GlobalAccess &later) const {
  if (!earlier.writes && !later.writes)
    return false;
  if (earlier.unorderedUpdate && earlier.unorderedUpdate == later.unorderedUpdate)
    return false; // sums, maxima, ... whose order nothing sees
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
  if (!isStale && earlier.pointer == later.pointer && earlier.base == later.base)
    return block.copies(later.pointer.getType()) != 0;
  return true;
}

bool GlobalOrder::needsBarrier(const GlobalAccess &earlier, bool isStale, const GlobalAccess &later) const {
  if (earlier.isFence() && later.isFence())
    return false;
  if (earlier.acquires)
    return true;
  bool mustBeOver = later.releases && !ordersItself && !(earlier.isScalar && earlier.byOwner && later.isScalar);
  bool isBetweenAccesses = !earlier.isFence() && !later.isFence();
  return mustBeOver || (isBetweenAccesses && mayConflict(earlier, isStale, later));
}

bool GlobalOrder::mustAgree(GlobalLoadOp op) const {
  if (op.getIsVolatile())
    return true;
  Value root = rootOf(op.getPointer());
  auto isShared = [&](Operation *other) {
    auto ofBuffer = dyn_cast<BufferUpdateOp>(other);
    bool isAtomic = isa<GlobalUpdateOp, GlobalSwapOp, GlobalAtomicLoadOp, GlobalAtomicStoreOp, GlobalWaitOp>(other);
    bool shares =
        (ofBuffer || isAtomic) && rootOf(ofBuffer ? Value(ofBuffer.getPointer()) : other->getOperand(0)) == root;
    return shares ? WalkResult::interrupt() : WalkResult::advance();
  };
  return FuncOp(function).walk(isShared).wasInterrupted();
}

bool simt::isForOwner(Operation *op) {
  auto isScalar = [](Type type) { return !isa<RankedTensorType>(type); };
  auto uses = [](Operation *of) { return llvm::make_pointer_range(of->getUses()); };
  bool result = !op->use_empty() && llvm::all_of(op->getResultTypes(), isScalar);
  SmallVector<OpOperand *> next(uses(op));
  for (SmallPtrSet<Operation *, 8> seen; result && !next.empty();) {
    OpOperand &use = *next.pop_back_val();
    Operation *user = use.getOwner();
    if (isa<GlobalStoreOp, GlobalUpdateOp, GlobalSwapOp, GlobalAtomicStoreOp>(user)) { // by a scalar pointer as well
      unsigned maskNumber = isa<GlobalSwapOp>(user) ? 3 : 2;
      result = use.getOperandNumber() < maskNumber;
      continue;
    }
    result = isPure(user) && !user->hasTrait<mlir::OpTrait::IsTerminator>() && user->getNumRegions() == 0 &&
             llvm::all_of(user->getResultTypes(), isScalar);
    if (seen.insert(user).second)
      llvm::append_range(next, uses(user));
  }
  return result;
}

// Then no other thread loads it, and none waits until the others have before it is stored.
bool GlobalOrder::isLoadedByOwner(GlobalLoadOp op) const {
  if (op.getIsVolatile() || !isForOwner(op))
    return false;
  Value root = rootOf(op.getPointer());
  auto isWrite = [&](Operation *other) {
    bool writes = isa<GlobalStoreOp, GlobalUpdateOp, GlobalSwapOp, GlobalAtomicStoreOp>(other) &&
                  rootOf(other->getOperand(0)) == root;
    return writes ? WalkResult::interrupt() : WalkResult::advance();
  };
  return FuncOp(function).walk(isWrite).wasInterrupted();
}
