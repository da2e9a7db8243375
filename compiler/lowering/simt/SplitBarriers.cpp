// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The barrier at the top of iteration i does two things, and a barrier object stands for each:
//   landed   what all threads copied of the group that the wait before the barrier names can be read after it. Each
//            thread arrives asynchronously, when its copies have landed. With `pending` younger groups in flight there
//            are pending + 1 objects in turn, so that no thread arrives twice in one phase.
//   free     what warps read before it may be overwritten after it. A warp arrives after its last read of an iteration,
//            and waits before the first copy of the next one. A thread waits for each phase before it arrives for the
//            next one, so that one object suffices.
#include "compiler/lowering/simt/SplitBarriers.h"
#include "compiler/lowering/simt/GpuTarget.h"
#include "compiler/lowering/simt/PlaceShared.h"
#include "compiler/lowering/simt/WarpPipelines.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

//===-- Finding --------------------------------------------------------------------------------------------------===//

static constexpr int64_t objectBytes = 8, mostGroups = 8;
static constexpr int64_t mostObjectBytes = (mostGroups + 2) * objectBytes;

namespace {
/// The operations of a loop that its barrier orders.
struct RingLoop {
  scf::ForOp loop;
  AsyncWaitOp wait = {};
  BarrierOp barrier = {};
  AsyncCopyOp firstCopy = {};
  AsyncCommitOp commit = {};
  Operation *lastRead = nullptr;
  int64_t groups() { return int64_t(wait.getPending()) + 1; } ///< between one arrival and the wait for it
};
} // namespace

static bool isBlockBarrier(Operation *op) {
  auto barrier = dyn_cast<BarrierOp>(op);
  return barrier && !barrier.getWarp() && !barrier.getBare();
}

/// Takes the next operation of the body; false where the loop does not qualify.
static bool take(Operation *op, RingLoop &found) {
  if (auto wait = dyn_cast<AsyncWaitOp>(op)) {
    bool isFirst = !found.wait && !found.barrier && !found.firstCopy && !found.lastRead;
    found.wait = wait;
    return isFirst;
  }
  if (isBlockBarrier(op)) {
    bool isNext = found.wait && !found.barrier;
    found.barrier = cast<BarrierOp>(op);
    return isNext;
  }
  if (auto copy = dyn_cast<AsyncCopyOp>(op)) {
    if (!found.firstCopy)
      found.firstCopy = copy;
    return found.barrier && !found.commit;
  }
  if (auto commit = dyn_cast<AsyncCommitOp>(op)) {
    bool isOnly = found.firstCopy && !found.commit;
    found.commit = commit;
    return isOnly;
  }
  // A matmul may make the reads of its operands itself (SourceFacts::lateReads).
  if (isa<DotSharedOp, DotWaitOp, LoadSharedOp, MatrixDotOp>(op)) {
    found.lastRead = op;
    return found.barrier != nullptr;
  }
  auto load = dyn_cast<GlobalLoadOp>(op);
  auto barrier = dyn_cast<BarrierOp>(op);
  return isMemoryEffectFree(op) || (load && !load.getIsVolatile()) || (barrier && barrier.getWarp()) ||
         op->hasTrait<OpTrait::IsTerminator>();
}

/// Whether the block executes it once at most.
static bool isOnce(scf::ForOp loop) {
  for (Operation *parent = loop->getParentOp(); !isa<triton::FuncOp>(parent); parent = parent->getParentOp())
    if (!isa<scf::IfOp>(parent))
      return false;
  return loop->getParentOfType<triton::FuncOp>().getBody().hasOneBlock();
}

static std::optional<RingLoop> findRingLoop(scf::ForOp loop) {
  RingLoop found{loop};
  if (!isOnce(loop))
    return std::nullopt;
  for (Operation &op : *loop.getBody())
    if (!take(&op, found))
      return std::nullopt;
  if (!found.commit || !found.lastRead || found.groups() > mostGroups)
    return std::nullopt;
  return found;
}

//===-- Rewriting ------------------------------------------------------------------------------------------------===//

namespace {
class Splitter {
public:
  Splitter(RingLoop loop, int lanes, int warps)
      : found(loop), lanes(lanes), warps(warps), function(found.loop->getParentOfType<triton::FuncOp>()),
        b(found.wait.getLoc(), function.getContext()) {}
  void run();

private:
  Value constant(int64_t value) { return arith::ConstantIntOp::create(b, value, 32); }
  Value makeObjects(int64_t start, int64_t count, int64_t arrivals);
  void arriveForCopiesBefore();
  void makeIteration(Value number, Value parity, Value turn);
  SmallVector<Value> nextOf(Value number, Value parity, Value turn);
  void endLoop();

  RingLoop found;
  int lanes, warps;
  triton::FuncOp function;
  ImplicitLocOpBuilder b;
  Value landed, free; ///< barrier objects
};
} // namespace

SharedType simt::barrierObjects(MLIRContext *context, int64_t count) {
  layout::LinearLayout one({{layout::Dim::Offset, {}}, {layout::Dim::Register, {}}}, {{layout::Dim::Dim0, 1}});
  return SharedType::get(context, count, {1}, IntegerType::get(context, 64), one, {}, {});
}

Value Splitter::makeObjects(int64_t start, int64_t count, int64_t arrivals) {
  SharedType type = barrierObjects(b.getContext(), count);
  Value objects = AllocOp::create(b, type, b.getI64IntegerAttr(start), /*scratch=*/b.getUnitAttr(),
                                  /*common=*/IntegerAttr());
  InitArrivalsOp::create(b, objects, arrivals);
  return objects;
}

/// Whether an access to shared memory or a group of copies is in it.
static bool hasCopies(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<AsyncCommitOp, AsyncCopyOp>(inner) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

// The groups for which the first iterations wait. An arrival covers all copies of its thread before it: where a group
// cannot be told, one directly before the loop stands for it.
void Splitter::arriveForCopiesBefore() {
  SmallVector<AsyncCommitOp> commits; // the youngest first
  bool isKnown = true;
  for (Operation *at = found.loop; !isa<triton::FuncOp>(at) && isKnown; at = at->getParentOp())
    for (Operation *op = at->getPrevNode(); op && isKnown; op = op->getPrevNode())
      if (auto commit = dyn_cast<AsyncCommitOp>(op))
        commits.push_back(commit);
      else
        isKnown = !op->getNumRegions() || !hasCopies(op);
  for (int64_t number = 0; number < found.groups(); ++number) {
    size_t age = size_t(found.groups() - 1 - number);
    if (age < commits.size())
      b.setInsertionPointAfter(commits[age]);
    else
      b.setInsertionPoint(found.loop);
    ArriveOp::create(b, landed, constant(number), /*copies=*/true);
  }
}

/// The objects' numbers and parities of the iteration that follows.
SmallVector<Value> Splitter::nextOf(Value number, Value parity, Value turn) {
  Value one = constant(1);
  Value after = arith::AddIOp::create(b, number, one);
  Value wraps = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, after, constant(found.groups()));
  Value flips = arith::XOrIOp::create(b, parity, one);
  return {arith::SelectOp::create(b, wraps, constant(0), after), arith::SelectOp::create(b, wraps, flips, parity),
          arith::XOrIOp::create(b, turn, one)};
}

void Splitter::makeIteration(Value number, Value parity, Value turn) {
  b.setInsertionPoint(found.wait);
  WaitArrivalsOp::create(b, landed, number, parity);
  b.setInsertionPoint(found.firstCopy);
  WaitArrivalsOp::create(b, free, constant(0), turn);
  b.setInsertionPointAfter(found.commit);
  ArriveOp::create(b, landed, number, /*copies=*/true);
  Operation *last = found.lastRead; // each phase is waited for before the arrival for the next one
  b.setInsertionPointAfter(last->isBeforeInBlock(found.commit) ? found.commit : last);
  ArriveOp::create(b, free, constant(0), /*copies=*/false);
  found.wait.erase();
  found.barrier.erase();
}

// Warps are in step again before anything that shared memory is used for after the loop.
void Splitter::endLoop() {
  for (Operation *op = found.loop->getNextNode(); op; op = op->getNextNode()) {
    if (isBlockBarrier(op))
      return;
    if (!isMemoryEffectFree(op) && !isa<AsyncWaitOp, DotWaitOp>(op))
      break;
  }
  b.setInsertionPointAfter(found.loop);
  BarrierOp::create(b);
}

void Splitter::run() {
  b.setInsertionPointToStart(&function.getBody().front());
  int64_t start = placedBytes(function); // no other object's: copies may arrive there as long as the block lives
  landed = makeObjects(start, found.groups(), int64_t(warps) * lanes);
  free =
      makeObjects(start + int64_t(llvm::alignTo(uint64_t(found.groups() * objectBytes), scratchAlignment)), 1, warps);
  BarrierOp::create(b);
  arriveForCopiesBefore();
  b.setInsertionPoint(found.loop);
  BarrierOp::create(b); // the loop's own one was also that of what comes before
  ArriveOp::create(b, free, constant(0), /*copies=*/false);
  Value zero = constant(0);
  IRRewriter rewriter(b.getContext());
  auto yield = [&](OpBuilder &builder, Location, ArrayRef<BlockArgument> arguments) {
    b.setInsertionPoint(builder.getInsertionBlock(), builder.getInsertionPoint());
    return nextOf(arguments[0], arguments[1], arguments[2]);
  };
  auto wider = cast<scf::ForOp>(*found.loop.replaceWithAdditionalYields(rewriter, {zero, zero, zero},
                                                                        /*replaceInitOperandUsesInLoop=*/false, yield));
  found.loop = wider;
  auto carried = wider.getRegionIterArgs().take_back(3);
  makeIteration(carried[0], carried[1], carried[2]);
  endLoop();
}

/// Whether two blocks find no room on a multiprocessor: in shared memory, or in registers for what the loop carries.
static bool isAlone(scf::ForOp loop, int64_t sharedBytes, const GpuTarget &target, int warps) {
  int64_t carriedBits = 0; // of a thread
  for (Value argument : loop.getRegionIterArgs())
    if (auto tile = dyn_cast<RankedTensorType>(argument.getType()); tile && tile.getElementType().isIntOrFloat())
      carriedBits += registersOf(tile) * int64_t(tile.getElementTypeBitWidth());
  return 2 * sharedBytes > target.sharedMemoryBytes() || carriedBits >= 32 * target.registersPerThread(2 * warps);
}

void simt::splitBarriers(ModuleOp module, const GpuTarget &target, int warps) {
  if (!target.hasArrivals() || warps <= warpsOfGroup)
    return;
  for (auto function : module.getOps<triton::FuncOp>()) {
    bool asserts = function.walk([](triton::AssertOp) { return WalkResult::interrupt(); }).wasInterrupted();
    bool isSplit = function.walk([](StartPartitionsOp) { return WalkResult::interrupt(); }).wasInterrupted();
    if (asserts || isSplit || isPartition(function))
      continue;
    SmallVector<scf::ForOp> loops;
    function.walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      std::optional<RingLoop> found = findRingLoop(loop);
      int64_t bytes = placedBytes(function);
      if (!found || isShifted(loop) || !isAlone(loop, bytes, target, warps) ||
          bytes + mostObjectBytes > target.sharedMemoryBytes())
        continue;
      loop.emitRemark() << "warps arrive and wait at barrier objects in place of a barrier in each iteration";
      Splitter(*found, target.lanesPerWarp(), warps).run();
    }
  }
}
