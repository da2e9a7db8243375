// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A matmul in flight is waited for where the loop waits for it: between two stages.
#include "compiler/lowering/tile_to_simt/GroupStages.h"
#include "compiler/lowering/simt/WarpPipelines.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

namespace {

/// Operations that stand together: a stage, a wait for a matmul, or what is computed at the end of an iteration.
struct Piece {
  enum Kind : uint8_t { Matmul, Memory, Vector, Wait, End } kind;
  SmallVector<Operation *> ops = {};
  bool isStage() const { return kind < Wait; }
  const char *label() const { return kind == Matmul ? "matmul" : kind == Memory ? "memory" : "vector"; }
};

struct GroupLoop {
  AsyncWaitOp wait = {};                       ///< for copies of all warps
  SmallVector<BarrierOp> barriers = {};        ///< after it
  SmallVector<Operation *> producerWaits = {}; ///< waits for those of producer warps
  SmallVector<Operation *> early = {};         ///< numbers, addresses, masks
  SmallVector<Piece> pieces = {};
  /// The wait for the matmul of the iteration before, at the end of this one, where it leaves this one's pending.
  DotWaitOp late = {};

  size_t stages() const {
    return size_t(llvm::count_if(pieces, [](const Piece &piece) { return piece.isStage(); }));
  }
};

} // namespace

static bool isCopy(Operation *op) {
  return isa<AsyncCopyOp, AsyncCommitOp>(op);
}

/// Whether something of `op` is computed from what `computed` gives.
static bool dependsOn(Operation *op, const llvm::SetVector<Operation *> &computed) {
  return op
      ->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (Operation *from = operand.getDefiningOp(); from && computed.contains(from))
            return WalkResult::interrupt();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

/// Tiles are free when the matmul that reads them is over: after the last wait for one. False where another matmul has
/// begun since; the loop then gets no stages.
static bool addArrival(SmallVectorImpl<Piece> &pieces, Operation *arrive) {
  auto last = llvm::find_if(llvm::reverse(pieces), [](const Piece &piece) { return piece.kind != Piece::Vector; });
  bool isOver = last != pieces.rend() && last->kind == Piece::Wait;
  if (isOver)
    last->ops.push_back(arrive);
  return isOver;
}

static std::optional<GroupLoop> piecesOf(scf::ForOp loop) {
  GroupLoop found;
  llvm::SetVector<Operation *> computed;
  bool multiplies = false, copies = false;
  auto add = [&](Piece::Kind kind, Operation *op) {
    if (found.pieces.empty() || found.pieces.back().kind != kind)
      found.pieces.push_back({kind});
    found.pieces.back().ops.push_back(op);
  };
  for (Operation &each : loop.getBody()->without_terminator()) {
    Operation *op = &each;
    auto wait = dyn_cast<AsyncWaitOp>(op);
    auto barrier = dyn_cast<BarrierOp>(op);
    bool isBegun = multiplies || copies || !found.barriers.empty();
    if (wait && !found.wait && !isBegun) {
      found.wait = wait;
    } else if (barrier && !barrier.getWarp() && found.wait) {
      found.barriers.push_back(barrier);
    } else if (isa<DotSharedOp>(op)) {
      add(Piece::Matmul, op);
      multiplies = true;
      computed.insert(op);
    } else if (isa<DotWaitOp>(op)) {
      add(Piece::Wait, op);
      computed.insert(op);
    } else if (isa<WaitArrivalsOp>(op) && !multiplies) {
      found.producerWaits.push_back(op);
    } else if (isa<ArriveOp>(op) && addArrival(found.pieces, op)) {
    } else if (isCopy(op)) {
      add(Piece::Memory, op);
      copies = true;
    } else if (isMemoryEffectFree(op) && !isa<LoopLikeOpInterface>(op)) {
      if (!dependsOn(op, computed)) {
        found.early.push_back(op);
        continue;
      }
      add(Piece::Vector, op);
      computed.insert(op);
    } else {
      return std::nullopt;
    }
  }
  bool copiesItself = !found.barriers.empty() && copies,
       hasProducer = !found.producerWaits.empty() && !found.wait && !copies;
  if (!multiplies || !(copiesItself || hasProducer))
    return std::nullopt;
  if (found.pieces.size() > 2 && found.pieces.back().kind == Piece::Vector)
    if (Piece &last = found.pieces.back(); found.pieces[found.pieces.size() - 2].kind == Piece::Wait)
      last.kind = Piece::End; // scales a sum
  if (found.pieces.back().kind == Piece::Wait)
    if (auto late = dyn_cast<DotWaitOp>(found.pieces.back().ops.back()); late.getPending() > 0)
      found.late = late;
  return found.stages() < 2 ? std::nullopt : std::optional(found);
}

/// Puts the copies where they are wanted.
static void placeCopies(GroupLoop &found, GroupWay::Copies place) {
  if (place == GroupWay::InPlace)
    return;
  SmallVector<Piece> pieces = {{Piece::Memory}};
  for (Piece &piece : found.pieces) {
    if (piece.kind == Piece::Memory)
      llvm::append_range(pieces.front().ops, piece.ops);
    else if (piece.isStage() && pieces.back().kind == piece.kind) // copies stood between
      llvm::append_range(pieces.back().ops, piece.ops);
    else
      pieces.push_back(piece);
  }
  found.pieces = std::move(pieces);
}

/// After how many stages all copies have begun.
static size_t stagesUpToCopies(const GroupLoop &found) {
  size_t stage = 0, last = 0;
  for (const Piece &piece : found.pieces) {
    stage += piece.isStage();
    last = llvm::any_of(piece.ops, isCopy) ? stage : last;
  }
  return last;
}

// A wait that is for one group more than the loop's own leaves none in flight where that leaves one.
std::vector<GroupWay> simt::waysOfGroups(scf::ForOp loop) {
  std::vector<GroupWay> ways;
  for (GroupWay::Copies place : {GroupWay::InPlace, GroupWay::First}) {
    std::optional<GroupLoop> found = piecesOf(loop);
    if (!found)
      return {};
    if (!found->wait && place != GroupWay::InPlace)
      continue;
    placeCopies(*found, place);
    if (found->stages() < 2)
      continue;
    if (!found->wait) {
      ways.push_back({place, found->stages(), found->stages(), false});
      continue;
    }
    for (size_t after = found->stages(); after > 0; --after) {
      bool waitsLonger = after < stagesUpToCopies(*found);
      if (!waitsLonger || found->wait.getPending() > 0)
        ways.push_back({place, found->stages(), after, waitsLonger});
    }
  }
  auto rank = [](const GroupWay &way) {
    return std::tuple(way.stages, way.waitsLonger, way.copies, -int64_t(way.waitAfter));
  };
  llvm::sort(ways, [&](const GroupWay &x, const GroupWay &y) { return rank(x) < rank(y); });
  return ways;
}

// What a matmul adds to is waited for directly before it, not at the end of the iteration before: the copies between
// overwrite what the one before that has read.
static void waitBeforeMatmul(scf::ForOp loop, GroupLoop &found) {
  DotWaitOp late = found.late;
  auto *first = llvm::find_if(found.pieces, [](const Piece &piece) { return piece.kind == Piece::Matmul; });
  SmallVector<Value> carried;
  for (auto [argument, yielded] : llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues()))
    if (yielded == late.getD())
      carried.push_back(argument);
  if (carried.size() != 1 || !late->hasOneUse())
    return;
  OpBuilder b(first->ops.front());
  auto wait = DotWaitOp::create(b, late.getLoc(), late.getType(), carried.front(), 0);
  carried.front().replaceAllUsesExcept(wait.getD(), wait);
  late->replaceAllUsesWith(ValueRange(late.getStarted()));
  found.pieces.insert(first, Piece{Piece::Wait, {wait}});
  found.pieces.pop_back();
  late.erase();
}

void simt::makeGroupStages(scf::ForOp loop, const GroupWay &way) {
  GroupLoop found = *piecesOf(loop);
  placeCopies(found, way.copies);
  if (way.copies == GroupWay::First && found.late && found.pieces.back().ops.size() == 1)
    waitBeforeMatmul(loop, found);
  OpBuilder b(loop);
  if (found.wait)
    b.clone(*found.wait);
  for (BarrierOp barrier : found.barriers)
    barrier.erase();
  Operation *end = loop.getBody()->getTerminator();
  llvm::append_range(found.early, found.producerWaits);
  for (Operation *op : found.early)
    op->moveBefore(end);
  size_t made = 0;
  bool isPlaced = !found.wait;
  auto placeWait = [&] {
    if (made == way.waitAfter && !std::exchange(isPlaced, true))
      found.wait->moveBefore(end);
  };
  for (auto [number, piece] : llvm::enumerate(found.pieces)) {
    bool isStageNext = number + 1 < found.pieces.size() && found.pieces[number + 1].kind == Piece::Vector;
    if (piece.isStage()) {
      placeWait();
      b.setInsertionPoint(end);
      makeStage(b, piece.ops.front()->getLoc(), piece.ops, piece.label(), std::nullopt);
      ++made;
      continue;
    }
    // The wait for what the next stage computes from stands after the barrier between the stages: before it, ptxas
    // would move that code before the barrier too, where the other group computes.
    if (piece.kind == Piece::Wait && isStageNext && made > 0) {
      placeWait();
      b.setInsertionPoint(end);
      BarrierOp::create(b, piece.ops.front()->getLoc());
    }
    for (Operation *op : piece.ops)
      op->moveBefore(end);
  }
  placeWait();
  if (way.waitsLonger)
    found.wait.setPending(found.wait.getPending() - 1);
}
